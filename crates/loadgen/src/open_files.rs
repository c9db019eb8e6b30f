//! The limit of open files (`ulimit -n`). Each connection takes one. A connection beyond the limit fails at once, for
//! which no server is to blame.

use rustix::process::{Resource, getrlimit};

/// Open files that are left to this program where a load takes as many connections as there may be.
const RESERVED: u64 = 200;

/// Least number of open files beside the connections of a load, in this program or in a load tool.
const LEAST_RESERVED: u64 = 64;

/// Reason why a load of this many clients cannot be made here: connections beyond the limit would count as failures of
/// the server.
pub(crate) fn too_many(clients: u32) -> Option<String> {
    let limit = limit();
    let needed = u64::from(clients) + LEAST_RESERVED;
    let words = format!("{clients} clients need {needed} open files, and no more than {limit} may be open here");
    (needed > limit).then(|| format!("{words}: raise the limit (ulimit -n {needed}) of the shell that starts this"))
}

/// The number of wanted connections, or as many as may be open beside `others`.
pub(crate) fn allowed(wanted: u32, others: u32) -> u32 {
    let most = limit().saturating_sub(RESERVED + u64::from(others));
    wanted.min(u32::try_from(most).unwrap_or(u32::MAX))
}

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
