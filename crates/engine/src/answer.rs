//! What came of a request, as it goes from the engine to the front.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::fault::Fault;
use crate::response::{Body, Response};

/// What came of a request.
#[derive(Debug)]
pub struct Answer {
    /// The response, or why there is none.
    pub result: Result<Response, Fault>,
    /// How long it waited for a place.
    pub queued: Duration,
    /// Where another answer comes, if the stream in this one is taken back before anybody has looked at it.
    pub(crate) again: Option<oneshot::Receiver<Answer>>,
}

impl Answer {
    /// One that stays.
    pub fn new(result: Result<Response, Fault>, queued: Duration) -> Answer {
        Answer { result, queued, again: None }
    }

    /// Where the answer comes instead, if the stream in this one was taken back.
    pub(crate) fn other_way(&mut self) -> Option<oneshot::Receiver<Answer>> {
        let again = self.again.take()?;
        match &self.result {
            Ok(Response { body: Body::Stream(source), .. }) if !source.claim() => Some(again),
            _ => None,
        }
    }
}
