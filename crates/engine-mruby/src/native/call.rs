//! The context of a native function of the engine, and the one it makes for functions of the libraries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ruby_native::{Context, Folders, Handles, Raise, Work, raise};

use crate::response_writer::ResponseWriter;
use crate::run_state::{Clock, RunState};
use crate::shared::Shared;
use crate::timers::Timers;

/// Time by which a wait may end before the clock of the run state shows its end.
const CLOCKS_DIFFER: Duration = Duration::from_millis(5);

/// The context of one call of a native function.
pub struct Call<'a> {
    /// State shared by all interpreters of the engine.
    pub shared: &'a Shared,
    /// Rust values that belong to objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Folders in which the application may open files.
    pub folders: &'a Folders,
    /// The request under way and its time limits.
    pub work: Running<'a>,
}

/// The request under way, or the loading of the application, with its time limits.
pub struct Running<'a> {
    /// The response writer; None while the application is loaded.
    pub writer: Option<&'a mut ResponseWriter>,
    /// Time limits of the blocks that run (Timeout.timeout).
    pub timers: &'a mut Timers,
    /// The run state, which has the deadline.
    pub run_state: &'a Arc<RunState>,
    /// The clock of the deadline and of the limits.
    pub clock: Clock,
}

impl Call<'_> {
    /// The context of a native function of a library, which knows nothing of this engine.
    pub fn context(&mut self) -> Context<'_> {
        Context {
            memory_bytes: self.shared.settings.memory_bytes,
            handles: self.handles,
            folders: self.folders,
            work: &mut self.work,
        }
    }
}

impl Work for Running<'_> {
    fn is_request(&self) -> bool {
        self.writer.is_some()
    }

    fn migrate(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.migrate();
        }
    }

    fn flush(&mut self) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.hurry();
        }
    }

    fn until(&self) -> Instant {
        self.clock.instant(self.run_state.deadline().min(self.timers.next()))
    }

    fn overdue(&mut self) -> Option<Raise> {
        let now = self.clock.at(Instant::now());
        if self.run_state.is_late(now) {
            return Some(raise("FoolsGold::RequestTimeout", "the request took longer than it may"));
        }
        if !self.timers.expire(now) {
            return None;
        }
        self.run_state.set_soon(self.timers.next());
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
        let run_state = self.run_state.clone();
        let clock = self.clock;
        Box::new(move |now| run_state.is_late(clock.at(now)))
    }
}
