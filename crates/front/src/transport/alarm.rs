//! One timer for all of a connection's waits. It is set rarely: a later moment than the one it is set for is left to
//! the next look, since moments nearly always only move on. A busy connection so costs no timer at all.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Instant;

use tokio::time::Sleep;

/// The timer. It is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Whether the moment has come; if not, the task will be woken by then.
    pub(crate) fn is_over(&mut self, cx: &mut Context<'_>, until: Instant) -> bool {
        if Instant::now() >= until {
            return true;
        }
        let until = tokio::time::Instant::from_std(until);
        let sleep = match &mut self.sleep {
            Some(sleep) if sleep.deadline() <= until && !sleep.is_elapsed() => return false,
            Some(sleep) => {
                sleep.as_mut().reset(until);
                sleep
            }
            None => self.sleep.insert(Box::pin(tokio::time::sleep_until(until))),
        };
        // Just set: this only registers the task.
        let _ = sleep.as_mut().poll(cx);
        false
    }
}
