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
        match self {
            ExitReason::Crash => "crash",
            ExitReason::OutOfMemory => "out_of_memory",
            ExitReason::MaxRequests => "max_requests",
            ExitReason::Memory => "memory",
            ExitReason::Hung => "hung",
            ExitReason::Timeout => "timeout",
            ExitReason::Recycle => "recycle",
            ExitReason::Signal => "signal",
            ExitReason::Order => "order",
            ExitReason::Scale => "scale",
            ExitReason::Idle => "idle",
            ExitReason::Pressure | ExitReason::PressureReplaced => "memory_pressure",
        }
    }

    /// Returns the words for the log.
    pub fn words(self) -> &'static str {
        match self {
            ExitReason::Crash => "exited",
            ExitReason::OutOfMemory => "killed by the kernel, out of memory",
            ExitReason::MaxRequests => "served its number of requests (--max-requests)",
            ExitReason::Memory => "uses too much memory (--worker-memory)",
            ExitReason::Hung => "did not answer the server, timed out (--worker-timeout)",
            ExitReason::Timeout => "a request timed out in it",
            ExitReason::Recycle => "recycle",
            ExitReason::Signal => "a signal asked it to exit",
            ExitReason::Order => "kill-worker",
            ExitReason::Scale => "fewer workers wanted",
            ExitReason::Idle => "idle (--idle-time)",
            ExitReason::Pressure | ExitReason::PressureReplaced => "memory is short",
        }
    }

    /// Returns whether another worker takes its place.
    pub fn has_successor(self) -> bool {
        !matches!(self, ExitReason::Scale | ExitReason::Idle | ExitReason::Pressure)
    }
}
