//! What a native function of the engine's own may touch, and what it does for those of the libraries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ruby_native::{Context, Folders, Handles, Raise, Work, raise};

use crate::exchange::Exchange;
use crate::gauge::{Clock, Gauge};
use crate::shared::Shared;
use crate::timers::Timers;

/// By so much at most.
const CLOCKS_DIFFER: Duration = Duration::from_millis(5);

/// What a native function of the engine's own may touch.
pub struct Call<'a> {
    /// What all interpreters share.
    pub shared: &'a Shared,
    /// What is held for objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Where files may be.
    pub folders: &'a Folders,
    /// The request under way, and its time.
    pub work: Running<'a>,
}

/// The request under way, or the loading of the application.
pub struct Running<'a> {
    /// The request; none while the application is loaded.
    pub exchange: Option<&'a mut Exchange>,
    /// How long blocks may take.
    pub timers: &'a mut Timers,
    /// Until when all of it may run.
    pub gauge: &'a Arc<Gauge>,
    /// The clock of the gauge.
    pub clock: Clock,
}

impl Call<'_> {
    /// What a function of a library may touch.
    pub fn context(&mut self) -> Context<'_> {
        Context {
            memory_bytes: self.shared.memory_bytes,
            handles: self.handles,
            folders: self.folders,
            work: &mut self.work,
        }
    }
}

impl Work for Running<'_> {
    fn is_request(&self) -> bool {
        self.exchange.is_some()
    }

    fn leave(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.leave();
        }
    }

    fn flush(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            let _ = exchange.hurry();
        }
    }

    fn until(&self) -> Instant {
        self.clock.instant(self.gauge.deadline().min(self.timers.next()))
    }

    fn overdue(&mut self) -> Option<Raise> {
        let now = self.clock.at(Instant::now());
        if self.gauge.is_late(now) {
            return Some(raise("FoolsGold::RequestTimeout", "the request took longer than it may"));
        }
        if !self.timers.expire(now) {
            return None;
        }
        self.gauge.set_soon(self.timers.next());
        Some(raise("Timeout::ExitException", "execution expired"))
    }

    fn overdue_by_now(&mut self) -> Option<Raise> {
        let left = self.until().saturating_duration_since(Instant::now());
        if left < CLOCKS_DIFFER {
            #[expect(clippy::disallowed_methods, reason = "off the I/O thread, for the rest of a wait")]
            std::thread::sleep(left);
        }
        self.overdue()
    }

    fn end(&self) -> Box<dyn Fn(Instant) -> bool> {
        let gauge = self.gauge.clone();
        let clock = self.clock;
        Box::new(move |now| gauge.is_late(clock.at(now)))
    }
}
