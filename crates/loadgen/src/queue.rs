//! The queue of an open loop: requests that are due, and connections that wait for them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::Notify;

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// Time when it should be sent.
    pub due: Instant,
    /// Index of its kind in the workload.
    pub place: usize,
}

/// The queue between the loop that knows the times and the connections, all on one thread.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: RefCell<VecDeque<Job>>,
    idle: Cell<usize>,
    closed: Cell<bool>,
    news: Notify,
}

impl Queue {
    /// Adds a request. Returns whether a connection is idle for it.
    pub fn push(&self, job: Job) -> bool {
        let mut jobs = self.jobs.borrow_mut();
        jobs.push_back(job);
        let has_idle = self.idle.get() >= jobs.len();
        // The longest waiting connection is woken first.
        self.news.notify_one();
        has_idle
    }

    /// Closes the queue: no more requests will be added.
    pub fn close(&self) {
        self.closed.set(true);
        self.news.notify_waiters();
    }

    /// The request that has been due longest; `None` when the queue is closed and empty.
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
