//! One timer for all deadlines of a connection. It is rarely set: a deadline later than the current one is checked when
//! that expires, since deadlines nearly always move forward. A busy connection thus sets no timer at all.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Instant;

use tokio::time::Sleep;

/// The timer, created when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct DeadlineTimer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl DeadlineTimer {
    /// Whether the timer is still to expire, and does so by this time: the task is woken then.
    pub(crate) fn expires_by(&self, until: Instant) -> bool {
        let due = tokio::time::Instant::from_std(until);
        self.sleep.as_ref().is_some_and(|sleep| sleep.deadline() <= due && !sleep.is_elapsed())
    }

    /// Whether the deadline has passed; if not, the task is woken by then.
    pub(crate) fn is_over(&mut self, cx: &mut Context<'_>, until: Instant) -> bool {
        // A task that is woken asks again. A busy connection asks several times for each request, and this is cheaper
        // than to read the clock each time.
        if self.expires_by(until) {
            return false;
        }
        if Instant::now() >= until {
            return true;
        }
        let due = tokio::time::Instant::from_std(until);
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                sleep.as_mut().reset(due);
                sleep
            }
            None => self.sleep.insert(Box::pin(tokio::time::sleep_until(due))),
        };
        // The timer was just set, so this only registers the task.
        let _ = sleep.as_mut().poll(cx);
        false
    }
}
