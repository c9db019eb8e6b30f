//! The reasons for replacing an interpreter.

/// The reason for replacing an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The application could not be loaded into it.
    Load,
    /// A request in it timed out.
    Timeout,
    /// A request in it met the memory limit.
    Memory,
    /// The setting `fresh`: each request gets a new interpreter.
    Fresh,
    /// The interpreter has served `max_requests` requests.
    MaxRequests,
    /// A recycle order replaces all interpreters.
    Recycle,
    /// A kill-worker order named this interpreter.
    Order,
}

impl Reason {
    /// Label of the reason in metrics and in structured log fields, and its text in log lines.
    pub fn label_and_words(self) -> (&'static str, &'static str) {
        match self {
            Reason::Load => ("load", "the application did not load"),
            Reason::Timeout => ("timeout", "a request timed out"),
            Reason::Memory => ("memory", "a request used up its memory (--memory-limit)"),
            Reason::Fresh => ("fresh", "a fresh interpreter for each request"),
            Reason::MaxRequests => ("max_requests", "served its number of requests (--max-requests)"),
            Reason::Recycle => ("recycle", "recycle"),
            Reason::Order => ("order", "kill-worker"),
        }
    }
}
