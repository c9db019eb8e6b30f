//! What is logged of requests: the access log with one line for each, faults, and headers that were left out. What a
//! client sends cannot begin a new line, cannot fill the log with warnings, and secrets in a query are not shown.

pub(crate) mod access_log;
pub(crate) mod dropped;
pub(crate) mod fault_log;
pub(crate) mod log_line;
pub(crate) mod notices;
pub(crate) mod query_log;
