//! The reasons for which a worker exits.

/// The reason for which a worker exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
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
    /// The control group or the machine is short of memory.
    Pressure,
}

impl Reason {
    /// Returns the label for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Crash => "crash",
            Reason::OutOfMemory => "out_of_memory",
            Reason::MaxRequests => "max_requests",
            Reason::Memory => "memory",
            Reason::Hung => "hung",
            Reason::Timeout => "timeout",
            Reason::Recycle => "recycle",
            Reason::Signal => "signal",
            Reason::Order => "order",
            Reason::Scale => "scale",
            Reason::Idle => "idle",
            Reason::Pressure => "memory_pressure",
        }
    }

    /// Returns the words for the log.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Crash => "exited",
            Reason::OutOfMemory => "killed by the kernel, out of memory",
            Reason::MaxRequests => "served its number of requests (--max-requests)",
            Reason::Memory => "uses too much memory (--worker-memory)",
            Reason::Hung => "did not answer the server, timed out (--worker-timeout)",
            Reason::Timeout => "a request timed out in it",
            Reason::Recycle => "recycle",
            Reason::Signal => "a signal asked it to exit",
            Reason::Order => "kill-worker",
            Reason::Scale => "fewer workers wanted",
            Reason::Idle => "idle (--idle-time)",
            Reason::Pressure => "memory is short",
        }
    }

    /// Returns whether another worker takes its place.
    pub fn has_successor(self) -> bool {
        !matches!(self, Reason::Scale | Reason::Idle | Reason::Pressure)
    }
}
