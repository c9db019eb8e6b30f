//! Lets an engine work on the I/O thread that handed it a request without holding up that thread's event loop: the work
//! is done between two turns of the loop. When it does not end soon, another OS thread goes on with the loop, and the
//! connections on it notice nothing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::answer::Answer;

/// What is to be done between two turns.
pub type Work = Box<dyn FnOnce(&Arc<IoThread>) + Send>;

/// Starts another OS thread that goes on with the event loop; false where the machine refused it.
pub type Start = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// One I/O thread, whichever OS thread it is at the moment.
pub struct IoThread {
    state: Mutex<State>,
    start: Start,
}

#[derive(Default)]
struct State {
    /// Counts the OS threads it has been.
    term: u64,
    work: VecDeque<Work>,
    /// Given between two turns: their futures live on the event loop, and are woken there without a system call.
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// Wakes the event loop.
    waker: Option<Waker>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<IoThread>>> = const { RefCell::new(None) };
    /// The term of which this OS thread is doing work.
    static WORKING: Cell<Option<u64>> = const { Cell::new(None) };
}

impl fmt::Debug for IoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IoThread")
    }
}

impl IoThread {
    /// An I/O thread whose event loop `start` can give to another OS thread.
    pub fn new(start: Start) -> IoThread {
        IoThread { state: Mutex::default(), start }
    }

    /// The I/O thread that the calling OS thread is, if it is one.
    pub fn current() -> Option<Arc<IoThread>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The calling OS thread is this I/O thread from now on.
    pub fn enter(self: &Arc<IoThread>) {
        CURRENT.set(Some(self.clone()));
    }

    /// Has something done after the present turn of the event loop, which the caller belongs to.
    pub fn defer(&self, work: Work) {
        let mut state = self.state.lock();
        state.work.push_back(work);
        // The loop looks for all of it when it is woken once.
        let waker = if state.work.len() == 1 { state.waker.clone() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ready when the event loop of the OS thread of this term has to stop: for work, or because another one goes on
    /// with it. To be polled by nothing but the event loop.
    pub fn poll_work(&self, term: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.term != term {
            return Poll::Ready(());
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        let answers = mem::take(&mut state.answers);
        let has_work = !state.work.is_empty();
        drop(state);
        for (way, answer) in answers {
            let _ = way.send(answer);
        }
        if has_work { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Does the work there is. False when another OS thread is this I/O thread by now: the caller ends.
    pub fn work(self: &Arc<IoThread>, term: u64) -> bool {
        loop {
            let work = {
                let mut state = self.state.lock();
                if state.term != term {
                    return false;
                }
                match state.work.pop_front() {
                    Some(work) => work,
                    None => return true,
                }
            };
            WORKING.set(Some(term));
            work(self);
            WORKING.set(None);
        }
    }

    /// Which OS thread it is, counted from 0.
    pub fn term(&self) -> u64 {
        self.state.lock().term
    }

    /// The OS thread of this term does not come back from its work: has another one go on.
    pub fn replace(&self, term: u64) {
        let mut state = self.state.lock();
        if state.term != term || !(self.start)(term + 1) {
            return;
        }
        state.term += 1;
        let waker = state.waker.take();
        drop(state);
        // It may have come back just now.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Sends an answer: after the work at hand where the calling OS thread does some, and at once anywhere else.
///
/// Never inlined: the caller may have come from another OS thread since it began, and must not have kept the address of
/// a thread-local variable.
#[inline(never)]
pub(crate) fn deliver(way: oneshot::Sender<Answer>, answer: Answer) {
    let unsent = match WORKING.get() {
        None => Some((way, answer)),
        Some(term) => CURRENT.with_borrow(|current| {
            let Some(current) = current else { return Some((way, answer)) };
            let mut state = current.state.lock();
            if state.term != term {
                return Some((way, answer));
            }
            state.answers.push((way, answer));
            None
        }),
    };
    if let Some((way, answer)) = unsent {
        let _ = way.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::{Fault, reply};

    fn io_thread(started: &Arc<AtomicU64>) -> Arc<IoThread> {
        let started = started.clone();
        Arc::new(IoThread::new(Box::new(move |term| {
            started.store(term, Ordering::SeqCst);
            true
        })))
    }

    fn turn(io: &IoThread) -> Poll<()> {
        io.poll_work(io.term(), &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn answers_of_work_are_given_in_the_next_turn() {
        let io = io_thread(&Arc::default());
        let (responder, mut reply) = reply::pair();
        io.enter();
        assert!(turn(&io).is_pending());
        io.defer(Box::new(move |_| responder.send(Err(Fault::Stopping), Duration::ZERO)));
        assert!(turn(&io).is_ready());
        assert!(io.work(0));
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || Future::poll(std::pin::Pin::new(&mut reply), &mut context);
        assert!(poll().is_pending());
        assert!(turn(&io).is_pending());
        assert!(poll().is_ready());
    }

    #[test]
    fn an_os_thread_that_was_replaced_ends_and_its_answer_goes_out_at_once() {
        let started = Arc::default();
        let io = io_thread(&started);
        let (responder, mut reply) = reply::pair();
        io.enter();
        let late: Arc<AtomicU64> = Arc::default();
        let seen = late.clone();
        io.defer(Box::new(move |io| {
            io.replace(0);
            io.replace(0);
            responder.send(Err(Fault::Stopping), Duration::ZERO);
        }));
        io.defer(Box::new(move |_| seen.store(1, Ordering::SeqCst)));
        assert!(!io.work(0));
        assert_eq!((started.load(Ordering::SeqCst), late.load(Ordering::SeqCst)), (1, 0));
        let mut context = Context::from_waker(Waker::noop());
        assert!(Future::poll(std::pin::Pin::new(&mut reply), &mut context).is_ready());
        assert!(turn(&io).is_ready());
        assert!(io.work(1));
        assert_eq!(late.load(Ordering::SeqCst), 1);
    }
}
