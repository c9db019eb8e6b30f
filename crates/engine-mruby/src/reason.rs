//! Why an interpreter is replaced.

/// A reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The application could not be loaded into it.
    Load,
    /// A request in it used up its time or its memory.
    Spoilt,
    /// Each request has a fresh one.
    Fresh,
    /// It has served its number of requests.
    MaxRequests,
    /// All are replaced.
    Recycle,
    /// Somebody who operates the server has said so.
    Order,
}

impl Reason {
    /// The word for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Load => "load",
            Reason::Spoilt => "timeout",
            Reason::Fresh => "fresh",
            Reason::MaxRequests => "max_requests",
            Reason::Recycle => "recycle",
            Reason::Order => "order",
        }
    }

    /// For the log.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Load => "the application did not load",
            Reason::Spoilt => "a request timed out or used up its memory",
            Reason::Fresh => "a fresh interpreter for each request",
            Reason::MaxRequests => "served its number of requests (--max-requests)",
            Reason::Recycle => "recycle",
            Reason::Order => "kill-worker",
        }
    }
}
