//! The limit of open files (`ulimit -n`). Each connection is one; one too many fails at once, for which no server is to
//! blame.

use rustix::process::{Resource, getrlimit};

/// Open files that this program needs beside its connections.
const KEPT: u64 = 200;

/// Open files that a load needs beside the connections of its clients, here or in a tool that makes it.
const BESIDE: u64 = 64;

/// Why a load of so many clients cannot be made here. A connection too many would fail at once, which would count
/// against the server.
pub(crate) fn too_many(clients: u32) -> Option<String> {
    let limit = getrlimit(Resource::Nofile).current?;
    let needed = u64::from(clients) + BESIDE;
    let words = format!("{clients} clients need {needed} open files, and no more than {limit} may be open here");
    (needed > limit).then(|| format!("{words}: raise the limit (ulimit -n {needed}) of the shell that starts this"))
}

/// As many of these connections as may be open beside so many others.
pub(crate) fn allowed(wanted: u32, others: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = limit.saturating_sub(KEPT + u64::from(others));
    wanted.min(u32::try_from(most).unwrap_or(u32::MAX))
}
