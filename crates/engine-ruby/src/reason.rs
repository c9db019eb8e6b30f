//! Why a worker ends.

/// A reason, when there is one; a worker that ends without any has crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It ended by itself, or by somebody else.
    Crash,
    /// The kernel has killed it because memory was full.
    OutOfMemory,
    /// It has served its number of requests.
    MaxRequests,
    /// It needs too much memory.
    Memory,
    /// It has not answered for too long.
    Hung,
    /// A request in it was over its time.
    Timeout,
    /// All are replaced.
    Recycle,
    /// It was sent a signal that asks it to end, or has sent it to itself.
    Signal,
    /// Somebody who operates the server has said so.
    Order,
    /// Fewer are wanted.
    Scale,
    /// It had nothing to do.
    Idle,
    /// The server as a whole is short of memory.
    Pressure,
}

impl Reason {
    /// The word for metrics.
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

    /// For the log.
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

    /// Whether a successor takes its place.
    pub fn has_successor(self) -> bool {
        !matches!(self, Reason::Scale | Reason::Idle | Reason::Pressure)
    }
}
