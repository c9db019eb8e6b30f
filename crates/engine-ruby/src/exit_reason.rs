//! The reasons for which a worker exits.

/// The reason for which a worker exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitReason {
    /// It exited by itself or was killed from outside.
    Crash,
    /// The kernel killed it because memory was full.
    OutOfMemory,
    /// It has served its maximum number of requests.
    MaxRequests,
    /// It uses more memory than a worker may.
    Memory,
    /// It has not answered pings for too long.
    Hung,
    /// A request in it timed out.
    Timeout,
    /// All workers are being replaced by order.
    Recycle,
    /// It received a signal that asks it to exit, possibly from itself.
    Signal,
    /// An operator ordered it.
    Order,
    /// The number of workers was reduced.
    Scale,
    /// It was idle for too long.
    Idle,
    /// The control group or the machine is short of memory, and there are fewer workers from now on.
    Pressure,
    /// The control group or the machine is short of memory; another worker takes its place when there is room for it.
    PressureReplaced,
}

impl ExitReason {
    /// Returns the label for metrics.
    pub fn name(self) -> &'static str {
        self.label_and_words().0
    }

    /// Returns the words for the log.
    pub fn words(self) -> &'static str {
        self.label_and_words().1
    }

    /// Returns the label and the words.
    fn label_and_words(self) -> (&'static str, &'static str) {
        match self {
            ExitReason::Crash => ("crash", "exited"),
            ExitReason::OutOfMemory => ("out_of_memory", "killed by the kernel, out of memory"),
            ExitReason::MaxRequests => ("max_requests", "served its number of requests (--max-requests)"),
            ExitReason::Memory => ("memory", "uses too much memory (--worker-memory)"),
            ExitReason::Hung => ("hung", "did not answer the server, timed out (--worker-timeout)"),
            ExitReason::Timeout => ("timeout", "a request timed out in it"),
            ExitReason::Recycle => ("recycle", "recycle"),
            ExitReason::Signal => ("signal", "a signal asked it to exit"),
            ExitReason::Order => ("order", "kill-worker"),
            ExitReason::Scale => ("scale", "fewer workers wanted"),
            ExitReason::Idle => ("idle", "idle (--idle-time)"),
            ExitReason::Pressure | ExitReason::PressureReplaced => ("memory_pressure", "memory is short"),
        }
    }

    /// Returns whether another worker takes its place.
    pub fn has_successor(self) -> bool {
        !matches!(self, ExitReason::Scale | ExitReason::Idle | ExitReason::Pressure)
    }
}
