//! The outcome of a request, as the engine sends it to the front.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::fault::Fault;
use crate::response::{Body, Response};
use crate::tally::Tally;

/// The outcome of a request.
#[derive(Debug)]
pub struct Answer {
    /// The response, or the fault that prevented one.
    pub result: Result<Response, Fault>,
    /// Time the request waited for a free worker.
    pub queued: Duration,
    /// The count of the response, which stays open until the front knows whether it can send the response.
    pub tally: Tally,
    /// Receiver of the answer that replaces this one, if the engine withdraws the stream in it before the front has
    /// claimed it.
    pub(crate) replacement: Option<oneshot::Receiver<Box<Answer>>>,
}

impl Answer {
    /// An answer that cannot be withdrawn, and that no meter counts.
    pub fn new(result: Result<Response, Fault>, queued: Duration) -> Answer {
        Answer { result, queued, tally: Tally::default(), replacement: None }
    }

    /// Claims the stream of this answer, or returns the receiver of the replacement if the stream was withdrawn.
    pub(crate) fn take_replacement(&mut self) -> Option<oneshot::Receiver<Box<Answer>>> {
        let replacement = self.replacement.take()?;
        match &self.result {
            Ok(Response { body: Body::Stream(source), .. }) if !source.claim() => {
                self.tally.cancel();
                Some(replacement)
            }
            _ => None,
        }
    }
}
