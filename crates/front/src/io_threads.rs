//! The I/O threads of the server, each with one event loop and the connections given to it for their whole life. No
//! work moves between threads for balance: with handlers this short, waking another thread costs more than the work. A
//! new connection goes to the thread with the fewest connections.
//!
//! An engine's work on an I/O thread runs between two iterations of the event loop ([`IoThread`]). If it blocks, a new
//! OS thread takes over the event loop, and the old one ends when its work returns.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::thread;

use engine::{IoThread, panic_words};
use parking_lot::Mutex;
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};
use tokio::sync::oneshot;

/// The I/O threads of a server. Dropping this ends them, with all their connections.
#[derive(Debug)]
pub struct IoThreads(Arc<[IoThreadHandle]>);

#[derive(Debug)]
pub(crate) struct IoThreadHandle {
    number: usize,
    handle: Handle,
    /// Cloned by every connection, so that the number of clones is the number of connections.
    connections: Arc<()>,
    /// Dropping it ends the thread.
    _open: oneshot::Sender<()>,
}

impl IoThreads {
    /// Starts this many threads, at least one.
    pub fn start(count: usize) -> io::Result<IoThreads> {
        let io_threads: io::Result<Vec<IoThreadHandle>> = (0..count.max(1)).map(IoThreadHandle::start).collect();
        Ok(IoThreads(io_threads?.into()))
    }

    /// Handles of their event loops, for an engine that reads connections of its own.
    pub fn handles(&self) -> Vec<Handle> {
        self.0.iter().map(|thread| thread.handle.clone()).collect()
    }

    /// Another handle on the same threads.
    pub(crate) fn share(&self) -> IoThreads {
        IoThreads(self.0.clone())
    }

    /// Enters the event loop of the first thread, which accepts: until the guard is dropped, the calling thread
    /// registers listeners there.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.0[0].handle.enter()
    }

    /// Runs an accept loop, on the first thread.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.0[0].handle.spawn(work));
    }

    /// The thread with the fewest connections.
    pub(crate) fn least_busy(&self) -> &IoThreadHandle {
        let least_busy = self.0.iter().min_by_key(|thread| Arc::strong_count(&thread.connections));
        least_busy.unwrap_or(&self.0[0])
    }
}

impl IoThreadHandle {
    /// Whether this is the thread that accepts.
    pub(crate) fn accepts(&self) -> bool {
        self.number == 0
    }

    /// Runs a connection.
    pub(crate) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let counted = self.connections.clone();
        drop(self.handle.spawn(async move {
            connection.await;
            drop(counted);
        }));
    }

    fn start(number: usize) -> io::Result<IoThreadHandle> {
        let (open, closed) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let looped = Arc::new_cyclic(|weak: &Weak<EventLoop>| {
            let weak = weak.clone();
            let io = IoThread::new(Box::new(move |term| {
                let started = weak.upgrade().map(|looped| looped.start(term));
                if let Some(Err(error)) = &started {
                    tracing::error!(target: "front", "cannot start a thread to replace a blocked I/O thread: {error}");
                }
                matches!(started, Some(Ok(())))
            }));
            EventLoop { number, runtime, closed: Mutex::new(closed), io: Arc::new(io) }
        });
        looped.start(0)?;
        Ok(IoThreadHandle { number, handle, connections: Arc::new(()), _open: open })
    }
}

/// An event loop, apart from the OS thread that runs it.
struct EventLoop {
    number: usize,
    runtime: Runtime,
    closed: Mutex<oneshot::Receiver<()>>,
    io: Arc<IoThread>,
}

/// Reason why the event loop stops.
enum Pause {
    /// To do work of an engine.
    Work,
    /// For good.
    End,
}

impl EventLoop {
    fn start(self: Arc<EventLoop>, term: u64) -> io::Result<()> {
        let builder = thread::Builder::new().name(format!("io {}", self.number));
        builder.spawn(move || self.run(term)).map(drop)
    }

    fn run(self: Arc<EventLoop>, term: u64) {
        self.io.enter();
        while let Pause::Work = self.runtime.block_on(poll_fn(|context| self.poll_pause(term, context))) {
            match catch_unwind(AssertUnwindSafe(|| self.io.work(term))) {
                Ok(true) => {}
                Ok(false) => break,
                // The other connections of this thread would hang if it ended. The panic has dropped the responder of
                // the request, so its client gets an answer.
                Err(panic) => tracing::error!(target: "front", "{}", panic_words(&*panic)),
            }
        }
        // The last of its OS threads shuts it down.
        if let Some(EventLoop { runtime, .. }) = Arc::into_inner(self) {
            runtime.shutdown_background();
        }
    }

    fn poll_pause(&self, term: u64, context: &mut Context<'_>) -> Poll<Pause> {
        if self.io.poll_work(term, context).is_ready() {
            return Poll::Ready(Pause::Work);
        }
        let mut closed = self.closed.lock();
        Pin::new(&mut *closed).poll(context).map(|_| Pause::End)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_goes_to_a_thread_with_no_more_of_them_than_any_other() {
        let io_threads = IoThreads::start(3).unwrap();
        let mut counts = [0; 3];
        for _ in 0..12 {
            let thread = io_threads.least_busy();
            assert_eq!(Some(&counts[thread.number]), counts.iter().min(), "{counts:?}");
            thread.spawn(std::future::pending());
            counts[thread.number] += 1;
        }
        assert_eq!(IoThreads::start(0).unwrap().handles().len(), 1, "there is always one");
    }

    #[test]
    fn an_event_loop_goes_on_after_work_that_has_panicked() {
        let io_threads = IoThreads::start(1).unwrap();
        let (sender, receiver) = mpsc::channel();
        let later = sender.clone();
        io_threads.run(async move {
            let io = IoThread::current().unwrap();
            io.defer(Box::new(|_| panic!("pyrite")));
            io.defer(Box::new(move |_| sender.send("work").unwrap()));
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok("work"));
        io_threads.run(async move { later.send("the loop").unwrap() });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok("the loop"));
    }

    #[test]
    fn an_os_thread_that_takes_over_an_event_loop_is_set_up_like_the_one_before() {
        thread_local! {
            static IS_SET_UP: Cell<bool> = const { Cell::new(false) };
        }
        let io_threads = IoThreads::start(1).unwrap();
        let (sender, receiver) = mpsc::channel();
        io_threads.run(async move {
            let io = IoThread::current().unwrap();
            io.set_up(|| IS_SET_UP.set(true));
            sender.send(IS_SET_UP.get()).unwrap();
            let first = thread::current().id();
            io.defer(Box::new(|io| io.replace(io.term())));
            while thread::current().id() == first {
                tokio::task::yield_now().await;
            }
            sender.send(IS_SET_UP.get()).unwrap();
        });
        for which in ["the first one", "the next one"] {
            assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(true), "{which}");
        }
    }
}
