//! The limit of open files (`ulimit -n`). Each connection is one; one too many fails at once, for which no server is to
//! blame.

use rustix::process::{Resource, getrlimit};

/// Open files that this program needs beside its connections.
const KEPT: u64 = 200;

/// As many of these connections as may be open beside so many others.
pub(crate) fn allowed(wanted: u32, others: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = limit.saturating_sub(KEPT + u64::from(others));
    wanted.min(u32::try_from(most).unwrap_or(u32::MAX))
}
