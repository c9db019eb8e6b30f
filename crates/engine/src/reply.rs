//! The channel for one answer to one request, which also tells the engine when the client has disconnected.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::fault::Fault;
use crate::io_thread::deliver;
use crate::meter::Meter;
use crate::request::Request;
use crate::response::{Body, Response};
use crate::snapshot::Past;
use crate::tally::Tally;

/// A future of the answer. Dropping it tells the engine that the client has disconnected.
#[derive(Debug)]
pub struct Reply {
    receiver: oneshot::Receiver<Box<Answer>>,
    due: Option<Instant>,
    is_deferred: bool,
}

/// The engine's end of the channel, which sends one answer.
pub struct Responder {
    /// Takes the answer in a box, since it moves several times on its way. `None` once it is sent.
    sender: Option<oneshot::Sender<Box<Answer>>>,
    count: Option<Count>,
    replacement: Option<oneshot::Receiver<Box<Answer>>>,
    role: Role,
}

/// The meter that counts an answer, and the times of its request.
#[derive(Clone)]
struct Count {
    meter: Arc<Meter>,
    /// When the engine received the request.
    since: Instant,
    /// When the request was complete.
    complete: Instant,
}

impl Count {
    /// Whether the front has given up the request, and so has counted it. True once.
    fn takes_given_up(&self) -> bool {
        self.meter.takes_given_up(self.complete)
    }
}

/// Which answer of its request a responder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The first.
    First,
    /// One that would replace a stream, which has added its times to the meter.
    Spare,
    /// The one that replaces a stream that is withdrawn.
    Replacement,
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responder")
    }
}

/// Creates a channel.
pub fn pair() -> (Responder, Reply) {
    let (sender, receiver) = oneshot::channel();
    let responder = Responder { sender: Some(sender), count: None, replacement: None, role: Role::First };
    (responder, Reply { receiver, due: None, is_deferred: false })
}

/// Creates a channel whose answer is counted in `meter`, unless the request is the server's own; `since` is when the
/// engine received it.
pub fn metered(meter: &Arc<Meter>, request: &Request, since: Instant) -> (Responder, Reply) {
    let (mut responder, reply) = pair();
    responder.count = (!request.is_own).then(|| Count { meter: meter.clone(), since, complete: request.complete });
    (responder, reply)
}

impl Reply {
    /// A reply whose answer is known already.
    pub fn ready(result: Result<Response, Fault>) -> Reply {
        let (responder, reply) = pair();
        responder.send(result, Duration::ZERO);
        reply
    }

    /// Deadline of the answer if it differs from that of the request as it was handed in, since an application may have
    /// a time-out of its own.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sets the deadline of the answer.
    pub fn with_due(mut self, due: Instant) -> Reply {
        self.due = Some(due);
        self
    }

    /// Marks the answer as made by [`crate::IoThread`] work: it is not ready before the current iteration of the event
    /// loop is over.
    pub fn deferred(mut self) -> Reply {
        self.is_deferred = true;
        self
    }

    /// Whether the answer is made by [`crate::IoThread`] work.
    pub fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// Stops waiting for an answer that is late. Returns the answer if it has just come, else the fault, which this
    /// meter counts and records at once: the engine may take any time to end the request, and does not count it then.
    /// `complete` is the time when the request was complete; `about` gives its identity.
    pub fn give_up(
        mut self,
        fault: Fault,
        complete: Instant,
        meter: &Meter,
        about: impl FnOnce() -> Past,
    ) -> Box<Answer> {
        // Before the engine can see that the channel is closed.
        meter.note_given_up(complete);
        self.receiver.close();
        if let Ok(mut answer) = self.receiver.try_recv()
            && answer.take_replacement().is_none()
        {
            meter.takes_given_up(complete);
            return answer;
        }
        meter.give_up(&fault, complete, about);
        Box::new(Answer::new(Err(fault), Duration::ZERO))
    }

    /// As the future, with the answer in the box in which it comes.
    pub fn poll_boxed(&mut self, context: &mut Context<'_>) -> Poll<Box<Answer>> {
        loop {
            let mut answer = match ready!(Pin::new(&mut self.receiver).poll(context)) {
                Ok(answer) => answer,
                Err(_) => {
                    let why = "the engine dropped the request without an answer".to_owned();
                    return Poll::Ready(Box::new(Answer::new(Err(Fault::Broken(why)), Duration::ZERO)));
                }
            };
            match answer.take_replacement() {
                Some(receiver) => self.receiver = receiver,
                None => return Poll::Ready(answer),
            }
        }
    }
}

/// An answer that comes too late, and whose stream the engine has withdrawn, counts nothing: what replaces it does.
impl Drop for Reply {
    fn drop(&mut self) {
        self.receiver.close();
        if let Ok(mut answer) = self.receiver.try_recv() {
            drop(answer.take_replacement());
        }
    }
}

impl Responder {
    /// Sends the answer. It does not matter if the client has disconnected.
    pub fn send(self, result: Result<Response, Fault>, queued: Duration) {
        self.send_noting(result, queued, Past::default);
    }

    /// Sends the answer, and records a request that was slow, failed or refused; `about` gives its identity and worker.
    /// Counts a fault; a response is counted when the front has looked at it ([`Tally`]), or as the fault
    /// [`Fault::ClientGone`] if the client has disconnected.
    pub fn send_noting(self, result: Result<Response, Fault>, queued: Duration, about: impl FnOnce() -> Past) {
        self.send_counting(result, Some(queued), about);
    }

    /// Sends the fault of a request that is refused at once, as no queue has taken it: it is counted and recorded, and
    /// is not among those that have waited.
    pub fn turn_away(self, fault: Fault, about: impl FnOnce() -> Past) {
        self.send_counting(Err(fault), None, about);
    }

    /// `waited` is the time in the queue of a request that was not refused at once.
    fn send_counting(
        mut self,
        result: Result<Response, Fault>,
        waited: Option<Duration>,
        about: impl FnOnce() -> Past,
    ) {
        let queued = waited.unwrap_or_default();
        let mut tally = Tally::default();
        let is_abandoned = self.is_abandoned();
        let Some(sender) = self.sender.take() else { return };
        if let Some(count) = self.count.take() {
            let ran = waited.map_or(Duration::ZERO, |queued| count.since.elapsed().saturating_sub(queued));
            if is_abandoned && count.takes_given_up() {
                // The front's record lacks the worker and the application's backtrace, which the engine knows.
                if let Err(fault @ Fault::OutOfTime(_)) = &result {
                    count.meter.recorder.note_anew(fault, queued, ran, about());
                }
            } else {
                let meter = count.meter;
                let outcome = result.as_ref().map(|response| response.head.status.as_u16());
                match waited {
                    _ if self.role != Role::First => {}
                    Some(queued) => meter.add_times(queued, outcome.is_ok().then_some(ran)),
                    None => meter.turn_away(),
                }
                meter.recorder.note(outcome, queued, ran, about);
                // A connection that the application has taken over may be over by now.
                let is_taken = matches!(&result, Ok(Response { body: Body::Taken, .. }));
                match outcome {
                    Ok(_) if is_abandoned && !is_taken => meter.failed(&Fault::ClientGone),
                    Ok(status) => tally = Tally::new(meter, status),
                    Err(fault) => meter.failed(fault),
                }
            }
        }
        deliver(sender, Box::new(Answer { result, queued, tally, replacement: self.replacement.take() }));
    }

    /// Sends an answer with a stream that can be withdrawn ([`Sink::take_back`](crate::Sink::take_back)). If it is, the
    /// responder that this returns sends the answer that counts.
    pub fn send_for_now(mut self, response: Response, queued: Duration, about: impl FnOnce() -> Past) -> Responder {
        let (sender, receiver) = oneshot::channel();
        // If the client has disconnected, it gets neither answer: the first one counts the request.
        let count = self.count.clone().filter(|_| !self.is_abandoned());
        self.replacement = Some(receiver);
        self.send_noting(Ok(response), queued, about);
        Responder { sender: Some(sender), count, replacement: None, role: Role::Spare }
    }

    /// Notes that the stream that this one's answer replaces is withdrawn: the request is counted here from now on.
    pub fn replace_withdrawn(&mut self) {
        self.role = Role::Replacement;
    }

    /// Whether the client has disconnected: a request that has not begun need not run.
    pub fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// Counts a request that is dropped without an answer: its client has disconnected while it waited in the queue.
impl Drop for Responder {
    fn drop(&mut self) {
        if self.role == Role::Spare || self.sender.is_none() {
            return;
        }
        let Some(count) = &self.count else { return };
        let is_abandoned = self.is_abandoned();
        if is_abandoned && count.takes_given_up() {
            return;
        }
        if self.role == Role::First {
            count.meter.add_times(count.since.elapsed(), None);
        }
        let fault = if is_abandoned { Fault::ClientGone } else { Fault::Broken(String::new()) };
        count.meter.failed(&fault);
    }
}

impl Future for Reply {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        self.poll_boxed(context).map(|answer| *answer)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::body::{Sink, stream};
    use crate::response::{Body, ResponseHead};

    /// Polls a reply once.
    pub fn poll(reply: &mut Reply) -> Poll<Answer> {
        Pin::new(reply).poll(&mut Context::from_waker(std::task::Waker::noop()))
    }

    /// A stream that was sent and can be withdrawn.
    fn sent() -> (Reply, Sink, Responder) {
        sent_by(pair())
    }

    fn sent_by((responder, reply): (Responder, Reply)) -> (Reply, Sink, Responder) {
        let (sink, source) = stream(9);
        let response = Response { head: ResponseHead::default(), body: Body::Stream(source) };
        let replacement = responder.send_for_now(response, Duration::ZERO, Past::default);
        (reply, sink, replacement)
    }

    #[test]
    fn a_stream_that_is_taken_back_unseen_is_replaced_by_another_answer() {
        let (mut reply, sink, replacement) = sent();
        assert!(sink.take_back() && !replacement.is_abandoned());
        drop(sink);
        assert!(poll(&mut reply).is_pending());
        let body = Body::Full(Bytes::from("gold"));
        replacement.send(Ok(Response { head: ResponseHead::default(), body }), Duration::ZERO);
        let Poll::Ready(answer) = poll(&mut reply) else { panic!("it has not come") };
        assert!(matches!(answer.result.unwrap().body, Body::Full(body) if body == "gold"));
    }

    #[test]
    fn a_request_that_its_engine_drops_is_answered_all_the_same() {
        let (responder, mut reply) = pair();
        assert!(poll(&mut reply).is_pending() && !responder.is_abandoned());
        drop(responder);
        assert!(matches!(poll(&mut reply), Poll::Ready(Answer { result: Err(Fault::Broken(_)), .. })));
    }

    #[test]
    fn a_stream_that_was_seen_stays() {
        let (mut reply, sink, replacement) = sent();
        assert!(matches!(poll(&mut reply), Poll::Ready(Answer { result: Ok(_), .. })));
        assert!(!sink.take_back() && replacement.is_abandoned());
    }

    #[test]
    fn of_a_stream_and_the_fault_that_replaces_it_the_fault_is_counted() {
        let meter = Arc::new(Meter::default());
        let (mut reply, sink, replacement) =
            sent_by(metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now()));
        assert!(sink.take_back());
        replacement.send(Err(Fault::WorkerDied("killed".to_owned())), Duration::ZERO);
        assert!(matches!(poll(&mut reply), Poll::Ready(Answer { result: Err(Fault::WorkerDied(_)), .. })));
        assert_eq!((meter.answers(), meter.faults().iter().sum::<u64>()), ([0; 5], 1));
        assert_eq!(meter.queue.read().0.iter().sum::<u64>(), 1, "it is one request");
        assert_eq!(meter.recorder.read().failed[0].fault, "worker_died");
    }

    #[test]
    fn a_request_that_is_refused_at_once_is_counted_and_recorded_and_has_not_waited() {
        let meter = Arc::new(Meter::default());
        let (responder, mut reply) = metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now());
        responder.turn_away(Fault::QueueFull(3), || Past { id: "one".to_owned(), ..Past::default() });
        let Poll::Ready(answer) = poll(&mut reply) else { panic!("it has not come") };
        assert_eq!((answer.result.unwrap_err(), answer.queued), (Fault::QueueFull(3), Duration::ZERO));
        assert_eq!((meter.queue.read().0.iter().sum::<u64>(), meter.turned_away()), (0, 1));
        assert_eq!(meter.faults().iter().sum::<u64>(), 1);
        let refused = &meter.recorder.read().refused[0];
        assert_eq!((refused.id.as_str(), refused.queued_ms, refused.took_ms), ("one", 0.0, 0.0));
    }

    #[test]
    fn a_response_is_counted_when_the_front_has_looked_at_it() {
        let meter = Arc::new(Meter::default());
        let (responder, mut reply) = metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now());
        responder.send(Ok(Response { head: ResponseHead::default(), body: Body::Empty }), Duration::ZERO);
        let Poll::Ready(answer) = poll(&mut reply) else { panic!("it has not come") };
        assert_eq!((meter.answers(), meter.service.read().0.iter().sum::<u64>()), ([0; 5], 1));
        drop(answer);
        assert_eq!(meter.answers(), [0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_client_that_has_gone_before_its_answer_is_counted_once_as_such() {
        let meter = Arc::new(Meter::default());
        let ask = || metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now());
        let counted = || {
            let gone = Fault::NAMES.iter().position(|(name, _)| *name == "client_gone").unwrap();
            (meter.faults()[gone], meter.faults().iter().sum::<u64>(), meter.queue.read().0.iter().sum::<u64>())
        };
        let (responder, reply) = ask();
        drop(reply);
        // It waited, and is dropped unseen.
        drop(responder);
        assert_eq!(counted(), (1, 1, 1));
        let (responder, reply) = ask();
        drop(reply);
        responder.send(Ok(Response { head: ResponseHead::default(), body: Body::Empty }), Duration::ZERO);
        assert_eq!((counted(), meter.answers()), ((2, 2, 2), [0; 5]));
        // A connection that the application has taken over is over before the application returns.
        let (responder, reply) = ask();
        drop(reply);
        responder.send(Ok(Response { head: ResponseHead::default(), body: Body::Taken }), Duration::ZERO);
        assert_eq!((counted(), meter.answers()), ((2, 2, 3), [0, 1, 0, 0, 0]));
        let (responder, reply) = ask();
        drop(reply);
        let (_sink, source) = stream(9);
        let response = Response { head: ResponseHead::default(), body: Body::Stream(source) };
        let second = responder.send_for_now(response, Duration::ZERO, Past::default);
        second.send(Err(Fault::WorkerDied("killed".to_owned())), Duration::ZERO);
        assert_eq!(counted(), (3, 3, 4));
    }

    #[test]
    fn a_client_that_leaves_while_its_request_is_to_run_again_is_counted_once_whether_it_had_looked_or_not() {
        for has_looked in [true, false] {
            let meter = Arc::new(Meter::default());
            let (mut reply, sink, mut replacement) =
                sent_by(metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now()));
            assert!(sink.take_back());
            replacement.replace_withdrawn();
            assert!(!has_looked || poll(&mut reply).is_pending());
            drop(reply);
            assert!(replacement.is_abandoned());
            drop(replacement);
            assert_eq!((meter.faults()[0], meter.faults().iter().sum::<u64>()), (1, 1), "{has_looked}");
            assert_eq!((meter.answers(), meter.queue.read().0.iter().sum::<u64>()), ([0; 5], 1), "{has_looked}");
        }
        // Of a stream that is not withdrawn the status counts.
        let meter = Arc::new(Meter::default());
        let (reply, _sink, replacement) =
            sent_by(metered(&meter, &Request::sample(http::Method::GET, "/"), Instant::now()));
        drop((reply, replacement));
        assert_eq!((meter.answers(), meter.faults().iter().sum::<u64>()), ([0, 1, 0, 0, 0], 0));
    }

    #[test]
    fn a_client_that_has_gone_wants_no_other_answer() {
        let (reply, sink, replacement) = sent();
        drop(reply);
        assert!(!sink.take_back() && replacement.is_abandoned());
    }

    #[test]
    fn a_request_that_the_front_gives_up_is_counted_at_once_and_not_when_its_engine_ends() {
        let late = || Fault::OutOfTime(Duration::from_secs(3).into());
        let past = |worker| Past { id: "one".to_owned(), worker, ..Past::default() };
        let fine = || Ok(Response { head: ResponseHead::default(), body: Body::Empty });
        let gives_up = |ends: &dyn Fn(Responder), has_come: bool, worker: Option<u32>| {
            let meter = Arc::new(Meter::default());
            let request = Request::sample(http::Method::GET, "/");
            let (responder, reply) = metered(&meter, &request, Instant::now());
            let responder = if has_come {
                responder.send(fine(), Duration::ZERO);
                None
            } else {
                Some(responder)
            };
            let answer = reply.give_up(late(), request.complete, &meter, || past(None));
            assert_eq!(answer.result.is_ok(), has_come);
            drop(answer);
            let counted = || {
                let ended = meter.queue.read().0.iter().sum::<u64>() + meter.turned_away();
                (meter.answers(), meter.faults().iter().sum::<u64>(), ended)
            };
            let expected = if has_come { ([0, 1, 0, 0, 0], 0, 1) } else { ([0; 5], 1, 1) };
            assert_eq!(counted(), expected);
            if let Some(responder) = responder {
                ends(responder);
            }
            assert_eq!(counted(), expected);
            let failed = meter.recorder.read().failed;
            assert_eq!(failed.first().map(|past| past.worker), (!has_come).then_some(worker), "{failed:?}");
            assert!(failed.len() < 2 && !meter.takes_given_up(request.complete));
        };
        gives_up(&drop::<Responder>, true, None);
        gives_up(&drop::<Responder>, false, None);
        gives_up(&|responder: Responder| responder.send(fine(), Duration::ZERO), false, None);
        let ends = |responder: Responder| responder.send_noting(Err(late()), Duration::ZERO, || past(Some(7)));
        gives_up(&ends, false, Some(7));
    }

    #[test]
    fn only_requests_of_clients_are_counted_and_a_reply_keeps_its_deadline() {
        for (is_own, count) in [(false, 1), (true, 0)] {
            let meter = Arc::new(Meter::default());
            let request = Request { is_own, ..Request::sample(http::Method::GET, "/") };
            let (responder, reply) = metered(&meter, &request, Instant::now());
            responder.send(Err(Fault::Stopping), Duration::ZERO);
            assert_eq!(meter.faults().iter().sum::<u64>(), count);
            assert_eq!((reply.due(), reply.is_deferred()), (None, false));
            let reply = reply.with_due(request.deadline).deferred();
            assert_eq!((reply.due(), reply.is_deferred()), (Some(request.deadline), true));
        }
    }
}
