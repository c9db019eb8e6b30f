//! Shutdown. One value ([`Stop`]) tells everything that serves to stop; all is gone when the last [`Guard`] is dropped.
//! The numbers in [`Ended`] are for the log only, and no decision depends on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::sync::{Notify, futures::Notified, mpsc};

/// Levels of a stop; 0 means that none was requested.
const DRAINING: u8 = 1;
const CUTTING: u8 = 2;

/// A request to stop, for everything that serves. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    level: AtomicU8,
    changed: Notify,
}

impl Stop {
    /// A stop that has not been requested.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Stops accepting; running requests may finish, for up to the drain time.
    pub fn drain(&self) {
        self.raise(DRAINING);
    }

    /// Cuts off all connections at once.
    pub fn now(&self) {
        self.raise(CUTTING);
    }

    /// Whether a stop of either kind was requested.
    pub fn is_draining(&self) -> bool {
        self.0.level.load(Ordering::Acquire) >= DRAINING
    }

    /// Whether all connections are to be cut off.
    pub fn is_now(&self) -> bool {
        self.0.level.load(Ordering::Acquire) >= CUTTING
    }

    fn raise(&self, level: u8) {
        self.0.level.fetch_max(level, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }

    /// Ready at the next change after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Waits until a stop of either kind is requested.
    pub(crate) async fn draining(&self) {
        self.reached(DRAINING).await;
    }

    /// Waits until all connections are to be cut off.
    pub(crate) async fn cutting(&self) {
        self.reached(CUTTING).await;
    }

    async fn reached(&self, level: u8) {
        loop {
            // Created before the level is read, so that a change in between is not missed.
            let changed = self.changed();
            if self.0.level.load(Ordering::Acquire) >= level {
                return;
            }
            changed.await;
        }
    }
}

/// Outcome of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Connections that ended by themselves after the stop was requested.
    pub finished: usize,
    /// Connections that were cut off because the drain time was over, or by [`Stop::now`].
    pub cut: usize,
}

/// Held by every connection; the last one dropped wakes [`ConnectionsClosed::all`].
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    _alive: mpsc::Sender<()>,
    counts: Arc<DrainCounts>,
}

/// Waits until all guards are dropped.
#[derive(Debug)]
pub(crate) struct ConnectionsClosed {
    last: mpsc::Receiver<()>,
    counts: Arc<DrainCounts>,
}

#[derive(Debug, Default)]
pub(crate) struct DrainCounts {
    finished: AtomicUsize,
    cut: AtomicUsize,
}

pub(crate) fn guard() -> (Guard, ConnectionsClosed) {
    let (sender, last) = mpsc::channel(1);
    let counts = Arc::new(DrainCounts::default());
    (Guard { _alive: sender, counts: counts.clone() }, ConnectionsClosed { last, counts })
}

impl Guard {
    pub(crate) fn finished(&self) {
        self.counts.finished.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self) {
        self.counts.cut.fetch_add(1, Ordering::Relaxed);
    }
}

impl DrainCounts {
    pub(crate) fn now(&self) -> Ended {
        Ended { finished: self.finished.load(Ordering::Relaxed), cut: self.cut.load(Ordering::Relaxed) }
    }
}

impl ConnectionsClosed {
    /// The counters, for an end that does not wait for all connections.
    pub(crate) fn counts(&self) -> Arc<DrainCounts> {
        self.counts.clone()
    }

    pub(crate) async fn all(mut self) -> Ended {
        // No message is ever sent: this returns when the last sender is dropped.
        let _ = self.last.recv().await;
        self.counts.now()
    }
}
