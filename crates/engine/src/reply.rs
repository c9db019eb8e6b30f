//! The way back: one answer for one request, and word of the client's going in the other direction.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::fault::Fault;
use crate::io_thread::deliver;
use crate::meter::Meter;
use crate::request::Request;
use crate::response::Response;
use crate::snapshot::Past;

/// What came of a request.
#[derive(Debug)]
pub struct Answer {
    /// The response, or why there is none.
    pub result: Result<Response, Fault>,
    /// How long it waited for a place.
    pub queued: Duration,
}

/// A future of the answer. Dropping it says that nobody waits any more.
#[derive(Debug)]
pub struct Reply {
    way: oneshot::Receiver<Answer>,
    due: Option<Instant>,
    is_deferred: bool,
}

/// The engine's end: sends the answer once.
pub struct Responder {
    way: oneshot::Sender<Answer>,
    meter: Option<(Arc<Meter>, Instant)>,
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responder")
    }
}

/// A fresh pair.
pub fn pair() -> (Responder, Reply) {
    let (sender, receiver) = oneshot::channel();
    (Responder { way: sender, meter: None }, Reply { way: receiver, due: None, is_deferred: false })
}

/// A fresh pair whose answer is counted, unless the server asks itself.
pub fn metered(meter: &Arc<Meter>, request: &Request) -> (Responder, Reply) {
    let (mut responder, reply) = pair();
    responder.meter = (!request.is_own).then(|| (meter.clone(), Instant::now()));
    (responder, reply)
}

impl Reply {
    /// An answer that is known already.
    pub fn ready(result: Result<Response, Fault>) -> Reply {
        let (responder, reply) = pair();
        responder.send(result, Duration::ZERO);
        reply
    }

    /// When it must be there, if that is not what the request said when it was handed in: applications may have times
    /// of their own.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sets that.
    pub fn with_due(self, due: Instant) -> Reply {
        Reply { due: Some(due), ..self }
    }

    /// Its answer is made as [`crate::IoThread`] work: who waits for it has let all else that was ready go first.
    pub fn deferred(self) -> Reply {
        Reply { is_deferred: true, ..self }
    }

    /// Whether that was said.
    pub fn is_deferred(&self) -> bool {
        self.is_deferred
    }
}

impl Responder {
    /// Sends the answer. Whether anybody still waits makes no difference to the sender.
    pub fn send(self, result: Result<Response, Fault>, queued: Duration) {
        self.send_noting(result, queued, Past::default);
    }

    /// The same of a request that is recorded when it was slow or failed: `about` says who it is and who ran it.
    pub fn send_noting(self, result: Result<Response, Fault>, queued: Duration, about: impl FnOnce() -> Past) {
        if let Some((meter, since)) = &self.meter {
            let ran = since.elapsed().saturating_sub(queued);
            match &result {
                Ok(response) => meter.answered(response.head.status.as_u16(), queued, ran),
                Err(fault) => meter.failed(fault, queued),
            }
            meter.recorder.note(&result, queued, ran, about);
        }
        deliver(self.way, Answer { result, queued });
    }

    /// Whether the client has gone: a request that has not begun need not be run.
    pub fn is_abandoned(&self) -> bool {
        self.way.is_closed()
    }
}

impl Future for Reply {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        Pin::new(&mut self.way).poll(context).map(|received| {
            received.unwrap_or_else(|_| Answer {
                result: Err(Fault::Broken("the engine dropped the request without an answer".into())),
                queued: Duration::ZERO,
            })
        })
    }
}
