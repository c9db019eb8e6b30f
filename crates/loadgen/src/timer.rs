//! A precise timer: tokio's has a resolution of a millisecond, which is longer than many responses take.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A timer of the kernel (timerfd).
pub(crate) struct Timer {
    file: AsyncFd<OwnedFd>,
}

impl Timer {
    /// Creates a timer; must be called within a runtime.
    // `new` is deprecated because the descriptor of a stranger's type may change under it; that of an `OwnedFd` cannot.
    // What replaces it is unsafe to call.
    #[allow(deprecated)]
    pub fn new() -> Result<Timer, String> {
        let file = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
        let file = file.map_err(|error| format!("no timer: {error}"))?;
        Ok(Timer { file: AsyncFd::new(file).map_err(|error| format!("no timer: {error}"))? })
    }

    /// Returns at this time, or at once if it has passed.
    pub async fn wait_until(&self, time: Instant) -> Result<(), String> {
        loop {
            let left = time.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.ring_after(left).await.map_err(|error| format!("the timer failed: {error}"))?;
        }
    }

    async fn ring_after(&self, left: Duration) -> std::io::Result<()> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        timerfd_settime(
            self.file.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )?;
        loop {
            let mut ready = self.file.readable().await?;
            let rung = ready.try_io(|file| rustix::io::read(file.get_ref(), &mut [0_u8; 8]).map_err(Into::into));
            if let Ok(read) = rung {
                return read.map(drop);
            }
        }
    }
}
