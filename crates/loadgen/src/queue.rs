//! The requests of an open loop that are due, and the connections that wait for them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::Notify;

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// When it should be sent.
    pub due: Instant,
    /// Which ask it is.
    pub place: usize,
}

/// Between the one who knows the times and the connections. On one thread.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: RefCell<VecDeque<Job>>,
    idle: Cell<usize>,
    closed: Cell<bool>,
    news: Notify,
}

impl Queue {
    /// One more is due. Says whether some connection is free for it.
    pub fn push(&self, job: Job) -> bool {
        let mut jobs = self.jobs.borrow_mut();
        jobs.push_back(job);
        let has_idle = self.idle.get() >= jobs.len();
        // Those are woken first who have waited longest.
        self.news.notify_one();
        has_idle
    }

    /// There will be no more.
    pub fn close(&self) {
        self.closed.set(true);
        self.news.notify_waiters();
    }

    /// The one that has been due longest; none when there will be no more.
    pub async fn next(&self) -> Option<Job> {
        self.idle.set(self.idle.get() + 1);
        let job = loop {
            let first = self.jobs.borrow_mut().pop_front();
            if first.is_some() || self.closed.get() {
                break first;
            }
            self.news.notified().await;
        };
        self.idle.set(self.idle.get() - 1);
        job
    }
}
