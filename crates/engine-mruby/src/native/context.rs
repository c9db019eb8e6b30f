//! What a native function may touch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::exchange::Exchange;
use crate::gauge::{Clock, Gauge};
use crate::handles::Handles;
use crate::resources::Resources;
use crate::shared::Shared;
use crate::timers::Timers;
use crate::value::{Raise, raise};

/// By so much at most.
const CLOCKS_DIFFER: Duration = Duration::from_millis(5);

/// What a native function may touch.
pub struct Context<'a> {
    /// What all interpreters share.
    pub shared: &'a Shared,
    /// The request under way; none while the application is loaded.
    pub exchange: Option<&'a mut Exchange>,
    /// What is held for objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Its folders, and the memory of its databases.
    pub resources: &'a mut Resources,
    /// How long blocks may take.
    pub timers: &'a mut Timers,
    /// Until when all of it may run.
    pub gauge: &'a Arc<Gauge>,
    /// The clock of the gauge.
    pub clock: Clock,
}

impl Context<'_> {
    /// To be called before anything that may wait, and before anything is borrowed or locked: the request goes on in a
    /// thread where it holds up no other.
    pub fn leave(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.leave();
        }
    }

    /// When whatever waits must be over.
    pub fn until(&self) -> Instant {
        self.clock.instant(self.gauge.deadline().min(self.timers.next()))
    }

    /// What is to be raised when that time has come, if it has.
    pub fn overdue(&mut self) -> Option<Raise> {
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

    /// The same after a wait that took all of the time: another clock may have ended it a little early.
    pub fn overdue_by_now(&mut self) -> Option<Raise> {
        let left = self.until().saturating_duration_since(Instant::now());
        if left < CLOCKS_DIFFER {
            #[expect(clippy::disallowed_methods, reason = "off the I/O thread, for the rest of a wait")]
            std::thread::sleep(left);
        }
        self.overdue()
    }

    /// To be called every few milliseconds by what can take long, and before what can block: whether it may go on.
    pub fn tick(&mut self) -> Result<(), Raise> {
        self.leave();
        self.overdue().map_or(Ok(()), Err)
    }
}
