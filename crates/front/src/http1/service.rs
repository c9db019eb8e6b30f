//! The life of a request: [`answer`] takes it from a head that hyper has parsed to a response that hyper writes.

use std::fmt;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use engine::{Answer, Duplex, Fault, Input, Reply};
use hyper::body::{Body, Incoming};

use crate::connection::link::Link;
use crate::connection::upgraded::Upgraded;
use crate::request::context::RequestContext;
use crate::request::intake::{self, IntakeError};
use crate::response::out::Out;
use crate::response::reply::{self, Outcome};

/// Time after the deadline when the front answers itself. The engine keeps deadlines itself and normally answers first.
const GRACE: Duration = Duration::from_millis(50);

/// The client disconnected before its request was complete, so there is no response to send.
#[derive(Debug)]
pub(crate) struct ClientGone;

impl fmt::Display for ClientGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client went away")
    }
}

impl std::error::Error for ClientGone {}

/// Serves a request.
pub(crate) async fn answer(
    link: Arc<Link>,
    request: http::Request<Incoming>,
) -> Result<http::Response<Out>, ClientGone> {
    let (mut head, body) = request.into_parts();
    let mut context = RequestContext::new(link, &mut head);

    // Most requests have no body, and most responses do not stream. The futures for these are boxed, since hyper moves
    // this one for each request.
    let input = if body.is_end_stream() {
        Input::Empty
    } else {
        match Box::pin(intake::read(body, &context.link)).await {
            Ok(input) => {
                context.link.body_read();
                input
            }
            Err(problem) => {
                let fault = problem.fault(&context.link);
                context.refused(head, &fault);
                if matches!(problem, IntakeError::Gone) {
                    return Err(ClientGone);
                }
                return Ok(reply::intake(context, &problem, &fault));
            }
        }
    };

    let (reply, complete, deadline) = context.call(head, input);
    let deadline = reply.due().unwrap_or(deadline);

    let answer = match wait(&context.link, reply, deadline).await {
        Waited::Answer(answer) => answer,
        Waited::Late(reply) => {
            context.link.wait_until(None);
            let limit = deadline.saturating_duration_since(complete);
            context.give_up(reply, Fault::OutOfTime(limit.into()))
        }
        Waited::Takeover(duplex, reply) => {
            upgrade(&context.link.clone(), context.taken_over(duplex, Some(reply))).await
        }
    };
    let result = context.answered(answer);

    if let Some(duplex) = context.link.out_of_band.take_takeover() {
        return upgrade(&context.link.clone(), context.taken_over(duplex, None)).await;
    }
    match result {
        Err(Fault::ClientGone) => Err(ClientGone),
        Err(fault) => Ok(reply::fault(context, &fault)),
        Ok(response) if reply::must_wait(&response) => Ok(Box::pin(reply::late_response(context, response)).await),
        Ok(response) => match reply::response(context, response) {
            Outcome::Http(response) => Ok(response),
            Outcome::Upgrade(link, upgraded) => upgrade(&link, upgraded).await,
        },
    }
}

/// Passes the connection to its task, which drops this future as soon as hyper has written everything.
async fn upgrade<T>(link: &Arc<Link>, upgraded: Upgraded) -> T {
    link.upgrade(upgraded);
    pending().await
}

enum Waited {
    Answer(Box<Answer>),
    Late(Reply),
    Takeover(Duplex, Reply),
}

/// Waits for the engine's answer, the deadline, or a takeover. Polls once before setting a deadline: an engine that
/// runs in this thread has its answer ready.
async fn wait(link: &Arc<Link>, mut reply: Reply, deadline: Instant) -> Waited {
    let mut is_first = true;
    let waited = poll_fn(|cx| {
        if let Poll::Ready(answer) = reply.poll_boxed(cx) {
            return Poll::Ready(Some(answer));
        }
        if std::mem::take(&mut is_first) {
            // The wire's timer watches this deadline: no timer is created per request.
            link.wait_until(Some(deadline + GRACE));
        }
        if link.deadline.is_passed() || link.out_of_band.has_takeover() { Poll::Ready(None) } else { Poll::Pending }
    })
    .await;
    match waited {
        Some(answer) => {
            link.wait_until(None);
            if reply.is_deferred() {
                link.has_yielded();
            }
            Waited::Answer(answer)
        }
        None => match link.out_of_band.take_takeover() {
            Some(duplex) => Waited::Takeover(duplex, reply),
            None => Waited::Late(reply),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, F: Future>(_: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_request_is_small() {
        // hyper moves the future for each request: a large one would cost time.
        assert!(size(answer) <= 1408, "{}", size(answer));
    }
}
