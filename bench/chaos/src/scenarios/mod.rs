//! The scenarios.

mod containers;
mod crowd;
mod deaths;
mod deploys;
mod drain;
mod full;
mod logs;
mod memory;
mod overload;
mod pauses;
mod pool;
mod proxy;
mod strangers;
mod stuck;

use std::time::Duration;

use crate::findings::Findings;
use crate::stage::Stage;

/// A scenario.
#[derive(Debug)]
pub struct Scenario {
    /// Name on the command line and in the table.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// Time limit in seconds: in full, and with `--quick`.
    pub limit_s: (u64, u64),
    /// Runs it.
    pub run: fn(&Stage) -> Result<Findings, String>,
}

impl Scenario {
    /// The time limit.
    pub fn limit(&self, is_quick: bool) -> Duration {
        Duration::from_secs(if is_quick { self.limit_s.1 } else { self.limit_s.0 })
    }
}

const fn scenario(
    name: &'static str,
    limit_s: (u64, u64),
    run: fn(&Stage) -> Result<Findings, String>,
    about: &'static str,
) -> Scenario {
    Scenario { name, about, limit_s, run }
}

/// All scenarios, in their order.
pub static ALL: [Scenario; 34] = [
    scenario("kill-storm", (180, 90), deaths::storm, "most workers are killed at once, again and again (Sinatra)"),
    scenario(
        "kill-storm-rails",
        (180, 120),
        deaths::storm_rails,
        "most workers are killed at once, again and again (Rails)",
    ),
    scenario("kill-all", (180, 90), deaths::all_at_once, "all workers are killed at once, every other second"),
    scenario("mold-death", (180, 90), deaths::mold, "the mold is killed, and a worker that it would replace"),
    scenario("frozen-worker", (180, 90), deaths::frozen, "a worker is stopped and answers nothing any more"),
    scenario("stuck", (180, 90), stuck::ruby, "some requests never end, some are deaf, others are quick (Sinatra)"),
    scenario("stuck-mruby", (180, 90), stuck::mruby, "some requests never end or take all memory (mruby)"),
    scenario("disk-full", (180, 90), full::disk, "no room for spool files, while bodies come and slow clients read"),
    scenario("file-size", (180, 90), full::file_size, "files may not grow beyond half a megabyte (RLIMIT_FSIZE)"),
    scenario("open-files", (180, 90), full::open_files, "connections use up all open files, and a worker dies"),
    scenario("overload", (240, 120), overload::ruby, "five times as many requests come as can be answered (Sinatra)"),
    scenario("reload-storm", (420, 120), deploys::storm, "new code every second (Sinatra)"),
    scenario("reload-storm-mruby", (420, 90), deploys::storm_mruby, "new code every second (mruby)"),
    scenario("reload-broken", (300, 120), deploys::broken, "new code that does not boot, is unfit, hangs (Sinatra)"),
    scenario("reload-broken-mruby", (300, 120), deploys::broken_mruby, "the same on embedded interpreters"),
    scenario("upgrade", (420, 150), deploys::upgrade, "a new program takes the sockets over (SIGUSR2)"),
    scenario("scale", (300, 90), pool::scale, "from one worker to eight and back"),
    scenario("max-requests", (180, 90), pool::max_requests, "workers are replaced after 200 requests"),
    scenario("max-requests-mruby", (180, 90), pool::max_requests_mruby, "interpreters are replaced after 20 requests"),
    scenario("memory-limit", (180, 90), pool::memory, "workers leak and are replaced when they are too large"),
    scenario("log-rotation", (180, 90), logs::rotation, "log files are moved away"),
    scenario("drain-streams", (180, 90), drain::ruby, "SIGTERM while long streams are open (Sinatra)"),
    scenario("drain-mruby", (180, 90), drain::mruby, "SIGTERM while slow clients read (mruby)"),
    scenario(
        "shared-connection",
        (180, 90),
        strangers::shared_connection,
        "the application connects while it is loaded; workers die and code is reloaded",
    ),
    scenario("poison", (180, 90), strangers::poison, "requests that end their worker, beside others"),
    scenario("pauses", (240, 120), pauses::known, "all places are held, all workers are stopped, for a moment"),
    scenario(
        "websockets",
        (240, 120),
        strangers::websockets,
        "fifty WebSockets are open at each reload and at the end",
    ),
    scenario(
        "unix-proxy",
        (420, 150),
        proxy::unix,
        "nginx of another user before a Unix socket, while code is reloaded and the program upgraded",
    ),
    scenario("refusals", (300, 120), pauses::random, "forty pauses of up to three seconds, of workers and a database"),
    scenario("paused-machine", (300, 120), pauses::machine, "all processes of the server are stopped for a while"),
    scenario("crowd", (240, 120), crowd::crowd, "one client takes all connections and keeps them"),
    scenario("memory", (600, 500), memory::short, "the control group's memory runs out in eight ways"),
    scenario("read-only", (180, 90), containers::read_only, "no file system can be written but /dev/shm"),
    scenario("orphans", (180, 90), containers::orphans, "as process 1, with an application that leaves orphans"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_used_twice() {
        let mut names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
