//! A connection that leaves HTTP, on its way from the service to the connection's task.

use bytes::Bytes;
use engine::{Duplex, Reply};

use crate::log::record::Record;
use crate::parse::websocket::Tracker;

/// A connection that leaves HTTP, with what is needed to relay its bytes between client and application.
pub(crate) struct Upgraded {
    /// Response head to send first; empty if the application writes everything itself.
    pub(crate) head: Bytes,
    /// The front's end of the bytes exchanged with the application.
    pub(crate) duplex: Duplex,
    /// Kept while the application runs, since dropping it would mean that the client has disconnected.
    pub(crate) reply: Option<Reply>,
    /// Data of the request for the access log, if there is one.
    pub(crate) record: Option<Box<Record>>,
    /// Follows the WebSocket frames that the application sends.
    pub(crate) tracker: Tracker,
}
