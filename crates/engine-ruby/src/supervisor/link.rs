//! The connections of one process.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use crate::dispatch::claims::Claims;
use crate::wire::control::Control;

/// The connections of a mold or a worker, until it is dropped.
#[derive(Default)]
pub struct Link {
    /// The sending end of its control connection.
    pub control: Option<Arc<Control>>,
    /// The connections of its threads with their numbers, until dispatch takes them.
    pub threads: Vec<(u32, StdStream)>,
    /// What the worker has asked for to share with this process.
    pub claims: Option<Arc<Claims>>,
    /// It has out-of-band hooks, which run between requests.
    pub has_out_of_band: bool,
}
