//! Work of an engine on the I/O thread that handed it a request. The work runs between two iterations of the thread's
//! event loop. If it takes too long, another OS thread takes over the event loop, without effect on its connections.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::answer::Answer;

/// A job that runs between two iterations of the event loop.
pub type Work = Box<dyn FnOnce(&Arc<IoThread>) + Send>;

/// Starts the OS thread of this term, which takes over the event loop; false if the operating system refused.
pub type Start = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// An I/O thread: an event loop, which moves from one OS thread to another when work on it blocks.
pub struct IoThread {
    state: Mutex<State>,
    start: Start,
}

#[derive(Default)]
struct State {
    /// Number of the OS thread that runs the event loop, counted from 0.
    term: u64,
    work: VecDeque<Work>,
    /// Answers to deliver at the next poll: their receivers live on this event loop, and waking them there costs no
    /// system call.
    answers: Vec<(oneshot::Sender<Box<Answer>>, Box<Answer>)>,
    /// Waker of the event loop.
    waker: Option<Waker>,
    /// Called by each OS thread that takes over the event loop.
    set_up: Option<fn()>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<IoThread>>> = const { RefCell::new(None) };
    /// The term in which this OS thread is doing work.
    static WORKING: Cell<Option<u64>> = const { Cell::new(None) };
}

impl fmt::Debug for IoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IoThread")
    }
}

impl IoThread {
    /// Creates an I/O thread; `start` moves its event loop to another OS thread.
    pub fn new(start: Start) -> IoThread {
        IoThread { state: Mutex::default(), start }
    }

    /// The I/O thread whose event loop the calling OS thread runs, if any.
    pub fn current() -> Option<Arc<IoThread>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Declares that the calling OS thread runs this event loop.
    pub fn enter(self: &Arc<IoThread>) {
        CURRENT.set(Some(self.clone()));
        let set_up = self.state.lock().set_up;
        if let Some(set_up) = set_up {
            set_up();
        }
    }

    /// Sets what an attribute of OS threads needs, such as their scheduling policy: calls `set_up` on the calling OS
    /// thread, which runs this event loop, and later on each that takes the event loop over. Replaces an earlier one.
    pub fn set_up(&self, set_up: fn()) {
        self.state.lock().set_up = Some(set_up);
        set_up();
    }

    /// Queues work to be done after the current iteration of the event loop. Called on that loop only.
    pub fn defer(&self, work: Work) {
        let mut state = self.state.lock();
        state.work.push_back(work);
        // One wake-up suffices: the loop then does all work that is queued.
        let waker = if state.work.len() == 1 { state.waker.clone() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Delivers pending answers. Ready when the event loop of the OS thread of this term must stop: for work, or
    /// because another OS thread has taken over. Polled by the event loop only.
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
        for (sender, answer) in answers {
            let _ = sender.send(answer);
        }
        if has_work { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Does all queued work. Returns false if another OS thread has taken over meanwhile, after which the caller ends.
    /// If work panics, the caller logs that and continues with the event loop and the rest of the work.
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
            let _working = Working::begin(term);
            work(self);
        }
    }

    /// The current term: the number of the OS thread that runs the event loop, counted from 0.
    pub fn term(&self) -> u64 {
        self.state.lock().term
    }

    /// Moves the event loop to another OS thread, because the one of this term is stuck in its work.
    pub fn replace(&self, term: u64) {
        let mut state = self.state.lock();
        if state.term != term || !(self.start)(term + 1) {
            return;
        }
        state.term += 1;
        let waker = state.waker.take();
        drop(state);
        // The stuck OS thread may have returned to the loop just now; the waker makes it see the new term.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Guard that marks this OS thread as doing work. A panic drops it, too.
struct Working;

impl Working {
    fn begin(term: u64) -> Working {
        WORKING.set(Some(term));
        Working
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        WORKING.set(None);
    }
}

/// Sends an answer: after the current work if the calling OS thread does any as an I/O thread, else at once.
///
/// Never inlined: the caller may have moved to another OS thread since it began, and must not have kept the address of
/// a thread-local variable.
#[inline(never)]
pub(crate) fn deliver(sender: oneshot::Sender<Box<Answer>>, answer: Box<Answer>) {
    let unsent = match WORKING.get() {
        None => Some((sender, answer)),
        Some(term) => CURRENT.with_borrow(|current| {
            let Some(current) = current else { return Some((sender, answer)) };
            let mut state = current.state.lock();
            if state.term != term {
                return Some((sender, answer));
            }
            state.answers.push((sender, answer));
            None
        }),
    };
    if let Some((sender, answer)) = unsent {
        let _ = sender.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::reply::tests::poll;
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
        assert!(poll(&mut reply).is_pending());
        assert!(turn(&io).is_pending());
        assert!(poll(&mut reply).is_ready());
    }

    #[test]
    fn after_work_that_panics_its_request_is_answered_and_the_rest_is_done() {
        let io = io_thread(&Arc::default());
        let (responder, mut panicked) = reply::pair();
        let (other, mut rest) = reply::pair();
        io.enter();
        io.defer(Box::new(move |_| {
            let _responder = responder;
            panic!("pyrite");
        }));
        io.defer(Box::new(move |_| other.send(Err(Fault::Stopping), Duration::ZERO)));
        let work = || io.work(0);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        assert_eq!(WORKING.get(), None, "answers go out at once again");
        assert!(matches!(poll(&mut panicked), Poll::Ready(Answer { result: Err(Fault::Broken(_)), .. })));
        assert!(turn(&io).is_ready() && io.work(0));
        assert!(turn(&io).is_pending() && poll(&mut rest).is_ready());
    }

    #[test]
    fn what_an_os_thread_needs_is_set_up_at_once_and_by_each_that_takes_over() {
        thread_local! { static SET_UP: Cell<u32> = const { Cell::new(0) } }
        let io = io_thread(&Arc::default());
        io.set_up(|| SET_UP.set(SET_UP.get() + 1));
        assert_eq!(SET_UP.get(), 1);
        let successor = std::thread::spawn(move || {
            io.enter();
            SET_UP.get()
        });
        assert_eq!(successor.join().unwrap(), 1);
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
        assert!(poll(&mut reply).is_ready());
        assert!(turn(&io).is_ready());
        assert!(io.work(1));
        assert_eq!(late.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_loop_for_which_there_is_no_other_os_thread_stays_in_its_own() {
        let io = Arc::new(IoThread::new(Box::new(|_| false)));
        io.enter();
        io.defer(Box::new(|io| io.replace(0)));
        assert!(io.work(0));
        assert_eq!((io.term(), turn(&io)), (0, Poll::Pending));
    }

    struct Woken(AtomicU64);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_loop_is_woken_once_for_its_work_and_when_it_moves() {
        let (io, woken) = (io_thread(&Arc::default()), Arc::new(Woken(AtomicU64::new(0))));
        let waker = Waker::from(woken.clone());
        let count = || woken.0.load(Ordering::SeqCst);
        io.enter();
        assert!(IoThread::current().is_some_and(|current| Arc::ptr_eq(&current, &io)));
        assert!(io.poll_work(0, &mut Context::from_waker(&waker)).is_pending());
        for _ in 0..2 {
            io.defer(Box::new(|_| ()));
            assert_eq!(count(), 1);
        }
        io.replace(0);
        assert_eq!((io.term(), count()), (1, 2));
    }
}
