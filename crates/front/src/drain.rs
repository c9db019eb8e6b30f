//! The end, designed first: one value goes down to whoever must stop, and "all gone" comes up when the last holder
//! of a [`Guard`] lets go. Nobody counts to know that; the numbers in [`Ended`] are for the log only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::sync::{Notify, futures::Notified, mpsc};

/// Levels of a stop; 0 is none.
const DRAINING: u8 = 1;
const CUTTING: u8 = 2;

/// Tells everything that serves to end. Clones are the same value.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    level: AtomicU8,
    changed: Notify,
}

impl Stop {
    /// A value that has not been triggered.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Stops accepting; what runs may finish, for up to the drain time.
    pub fn drain(&self) {
        self.raise(DRAINING);
    }

    /// Cuts everything off at once.
    pub fn now(&self) {
        self.raise(CUTTING);
    }

    /// Whether an end has been asked for, of either kind.
    pub fn is_draining(&self) -> bool {
        self.0.level.load(Ordering::Acquire) >= DRAINING
    }

    /// Whether everything is to end at once.
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

    /// Waits until an end has been asked for.
    pub(crate) async fn draining(&self) {
        self.reached(DRAINING).await;
    }

    /// Waits until everything is to end at once.
    pub(crate) async fn cutting(&self) {
        self.reached(CUTTING).await;
    }

    async fn reached(&self, level: u8) {
        loop {
            // Made before the look, so that a change in between is not missed.
            let changed = self.changed();
            if self.0.level.load(Ordering::Acquire) >= level {
                return;
            }
            changed.await;
        }
    }
}

/// How serving came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Connections that ended by themselves, from the moment of the stop.
    pub finished: usize,
    /// Connections that were cut off because the drain time was over, or by [`Stop::now`].
    pub cut: usize,
}

/// Held by every connection; the last one dropped wakes [`Gone::all`].
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    _alive: mpsc::Sender<()>,
    counts: Arc<Counts>,
}

/// Waits for the guards.
#[derive(Debug)]
pub(crate) struct Gone {
    last: mpsc::Receiver<()>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    finished: AtomicUsize,
    cut: AtomicUsize,
}

pub(crate) fn guard() -> (Guard, Gone) {
    let (sender, last) = mpsc::channel(1);
    let counts = Arc::new(Counts::default());
    (Guard { _alive: sender, counts: counts.clone() }, Gone { last, counts })
}

impl Guard {
    pub(crate) fn finished(&self) {
        self.counts.finished.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self) {
        self.counts.cut.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counts {
    pub(crate) fn now(&self) -> Ended {
        Ended { finished: self.finished.load(Ordering::Relaxed), cut: self.cut.load(Ordering::Relaxed) }
    }
}

impl Gone {
    /// The numbers, for an end that does not wait for all.
    pub(crate) fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }

    pub(crate) async fn all(mut self) -> Ended {
        // Nobody ever sends: this returns when the last sender is gone.
        let _ = self.last.recv().await;
        self.counts.now()
    }
}
