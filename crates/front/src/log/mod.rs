//! Logs about requests: the access log, faults, and headers that were left out. A client's input cannot begin a new
//! line or fill the log with warnings, and secrets in a query are not shown.

pub(crate) mod access_log;
pub(crate) mod body_fault;
pub(crate) mod dropped;
pub(crate) mod fault_log;
pub(crate) mod log_line;
pub(crate) mod notices;
pub(crate) mod query_log;
pub(crate) mod record;
