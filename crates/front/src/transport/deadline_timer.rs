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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    use super::*;
    use crate::tests_support::block_on;

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(60);

    /// Asks once whether the deadline has passed.
    async fn is_over(timer: &mut DeadlineTimer, until: Instant) -> bool {
        poll_fn(|cx| Poll::Ready(timer.is_over(cx, until))).await
    }

    /// Waits until the deadline has passed, woken by nothing but the timer.
    async fn wait(timer: &mut DeadlineTimer, until: Instant) {
        let over = poll_fn(|cx| if timer.is_over(cx, until) { Poll::Ready(()) } else { Poll::Pending });
        tokio::time::timeout(LONG / 2, over).await.unwrap();
        assert!(Instant::now() >= until);
    }

    #[test]
    fn a_task_is_woken_by_the_earliest_deadline_and_again_by_the_next() {
        block_on(async {
            let mut timer = DeadlineTimer::default();
            let start = Instant::now();
            assert!(is_over(&mut timer, start).await && !timer.expires_by(start + LONG), "nothing is waited for");
            assert!(!is_over(&mut timer, start + LONG).await);
            assert!(timer.expires_by(start + LONG) && !timer.expires_by(start + LONG - SHORT));
            wait(&mut timer, start + SHORT).await;
            assert!(!timer.expires_by(start + LONG), "it has expired, and is not set again");
            wait(&mut timer, Instant::now() + SHORT).await;
        });
    }

    #[test]
    fn a_later_deadline_waits_until_the_earlier_one_has_passed() {
        block_on(async {
            let mut timer = DeadlineTimer::default();
            let earlier = Instant::now() + SHORT;
            let later = earlier + SHORT / 10;
            assert!(!is_over(&mut timer, earlier).await && !is_over(&mut timer, later).await);
            assert!(timer.expires_by(earlier), "it was left as it was");
            wait(&mut timer, later).await;
        });
    }
}
