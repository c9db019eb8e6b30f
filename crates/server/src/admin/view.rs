//! Status of the server and its applications, as the control API prints it. docs/control.md documents the fields.

use std::collections::BTreeMap;
use std::iter;
use std::time::Instant;

use engine::{Fault, Snapshot, unix_ms};
use machine::Memory;
use serde::Serialize;

use crate::admin::histogram::{Histogram, Reading, Summary, rounded};
use crate::admin::history::{Recent, Sample, ServerSample};
use crate::admin::process::Process;
use crate::admin::state::{AdminState, RunningServer};
use crate::apps::app::{App, AppSnapshot};
use crate::apps::deploy_record::DeployRecord;
use crate::log::files::LogView;

/// Status of server and applications.
#[derive(Debug, Serialize)]
pub struct StatusView {
    pub server: ServerView,
    pub apps: Vec<AppView>,
}

/// Status of the server.
#[derive(Debug, Serialize)]
pub struct ServerView {
    pub version: String,
    pub pid: u32,
    /// `starting`, `serving`, `draining`.
    pub state: String,
    pub ready: bool,
    /// When the program started, in milliseconds since 1970, and the seconds since then; loading counts.
    pub since_ms: u64,
    pub uptime_s: f64,
    /// Time since the shutdown began.
    pub draining_s: Option<f64>,
    /// Working directory at the start, by the shell's name for it, and folder of the application.
    pub started_in: String,
    pub folder: String,
    pub listeners: Vec<String>,
    pub control: Option<String>,
    pub admin: Option<String>,
    pub connections: Connections,
    /// Responses by status class, the server's own included.
    pub answers: BTreeMap<&'static str, u64>,
    /// Requests whose head was refused.
    pub refused: u64,
    pub process: Process,
    /// Memory of the control group or machine; none if the kernel does not report it.
    pub memory: Option<MemoryView>,
    pub log: LogView,
}

/// Memory of the control group around the server, or of the machine, whichever has less left.
#[derive(Debug, Serialize)]
pub struct MemoryView {
    pub limit_kib: u64,
    /// Used by all processes, without what the kernel can reclaim at once.
    pub used_kib: u64,
    pub is_machine: bool,
    /// Whether the kernel may soon kill a process.
    pub is_short: bool,
}

/// Connections, now and since the start.
#[derive(Debug, Default, Serialize)]
pub struct Connections {
    pub open: u64,
    pub accepted: u64,
    /// Closed for new ones, as all places were taken.
    pub displaced: u64,
    /// Closed at once, as their client had reached its limit.
    pub refused: u64,
}

/// Status of an application.
#[derive(Debug, Serialize)]
pub struct AppView {
    pub name: String,
    pub host: Option<String>,
    pub prefix: String,
    pub rackup: String,
    pub environment: String,
    pub generation: u64,
    pub is_reloading: bool,
    /// Numbers of old generations that finish their requests.
    pub leaving: Vec<u64>,
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Memory of the processes of all generations; none if the kernel does not report it, or for interpreters.
    pub memory_kib: Option<u64>,
    pub recent: Recent,
    /// Queue and service times since the start of the server.
    pub queue_time: Summary,
    pub service_time: Summary,
    /// Requests that are over, each once, whatever has become of them.
    pub requests: u64,
    pub answers: BTreeMap<&'static str, u64>,
    /// Requests without an answer of the application, by fault; faults that never happened are left out.
    pub faults: BTreeMap<&'static str, u64>,
    pub last_deploy: Option<DeployRecord>,
}

impl StatusView {
    /// The status with all applications, or with the one of this name.
    pub fn look(state: &AdminState, running: &RunningServer, app: Option<&str>) -> StatusView {
        let apps = running.server.apps().all().iter().filter(|one| app.is_none_or(|name| one.name() == name));
        StatusView {
            server: ServerView::look(state, running),
            apps: apps.map(|app| AppView::look(state, app)).collect(),
        }
    }
}

impl ServerView {
    /// The status of a server that loads its applications.
    pub fn starting(state: &AdminState) -> ServerView {
        ServerView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            state: "starting".to_owned(),
            ready: false,
            since_ms: unix_ms(state.since),
            uptime_s: rounded(state.begun.elapsed().as_secs_f64()),
            draining_s: None,
            started_in: state.place.started_in.clone(),
            folder: state.place.folder.display().to_string(),
            listeners: Vec::new(),
            control: state.control(),
            admin: state.admin(),
            connections: Connections::default(),
            answers: BTreeMap::new(),
            refused: 0,
            process: Process::look(),
            memory: MemoryView::look(state),
            log: state.logs.view(),
        }
    }

    fn look(state: &AdminState, running: &RunningServer) -> ServerView {
        let server = &running.server;
        let counts = &running.counts;
        ServerView {
            state: running.state().to_owned(),
            ready: server.unready().is_none(),
            draining_s: server.draining_for().map(|time| rounded(time.as_secs_f64())),
            listeners: running.listeners.clone(),
            connections: Connections {
                open: counts.open(),
                accepted: counts.accepted(),
                displaced: counts.displaced_connections(),
                refused: counts.refused_connections(),
            },
            answers: by_hundreds(counts.answers()),
            refused: counts.refused(),
            ..ServerView::starting(state)
        }
    }
}

impl MemoryView {
    fn look(state: &AdminState) -> Option<MemoryView> {
        let seen = state.memory.measure()?;
        let (limit_kib, used_kib) = (seen.limit / 1024, seen.used / 1024);
        Some(MemoryView { limit_kib, used_kib, is_machine: seen.is_machine, is_short: seen.is_short() })
    }
}

impl AppView {
    fn look(state: &AdminState, app: &App) -> AppView {
        let current = app.current();
        let reading = Reading::of(app.meter());
        let faults = Fault::NAMES.iter().zip(app.meter().faults()).filter(|(_, count)| *count > 0);
        let seen = app.snapshot_of(&current);
        let memory_kib = known_kib(&sizes_of(&seen).concat());
        let mut snapshot = seen.all;
        snapshot.oldest_wait_ms = rounded(snapshot.oldest_wait_ms);
        AppView {
            name: app.name().to_owned(),
            host: current.settings.host.clone(),
            prefix: current.settings.prefix.clone(),
            rackup: current.spec.rackup.display().to_string(),
            environment: current.settings.environment.clone(),
            generation: current.number,
            is_reloading: app.is_reloading(),
            leaving: app.leaving().iter().map(|old| old.number).collect(),
            snapshot,
            memory_kib,
            recent: state.history.recent(app.name(), &reading, Instant::now()),
            queue_time: Histogram::summary(&reading.queue),
            service_time: Histogram::summary(&reading.service),
            requests: reading.requests,
            answers: by_hundreds(reading.answers),
            faults: faults.map(|((name, _), count)| (*name, count)).collect(),
            last_deploy: app.deploys().into_iter().next(),
        }
    }
}

/// A sample of the server for the history.
pub fn sample_server(memory: &Memory, share_kib: Option<u64>) -> ServerSample {
    let memory = memory.measure();
    ServerSample {
        memory_kib: share_kib,
        memory_used_kib: memory.map(|seen| seen.used / 1024),
        memory_limit_kib: memory.map(|seen| seen.limit / 1024),
    }
}

/// A sample of an application for the history.
pub fn sample(app: &App, seen: &AppSnapshot, server: ServerSample) -> Sample {
    let snapshot = &seen.all;
    Sample {
        reading: Reading::take(app.meter()),
        queued: snapshot.status.queued,
        oldest_wait_ms: snapshot.oldest_wait_ms,
        busy: snapshot.status.busy,
        capacity: snapshot.status.capacity,
        workers: snapshot.workers.len(),
        memory_kib: known_kib(&sizes_of(seen).concat()),
        server,
    }
}

/// Sizes of an application's processes, also of those in which old code finishes its requests: of its workers, and of
/// its molds.
pub fn sizes_of(seen: &AppSnapshot) -> [Vec<Option<u64>>; 2] {
    let generations = || iter::once(&seen.all).chain(&seen.old);
    let workers = generations().flat_map(|one| &one.workers).map(|worker| worker.pss_kib);
    let molds = generations().flat_map(|one| &one.molds).map(|mold| mold.pss_kib);
    [workers.collect(), molds.collect()]
}

/// The sum of the sizes that are known; `None` where there are processes and no size is known.
pub fn known_kib(sizes: &[Option<u64>]) -> Option<u64> {
    let is_known = sizes.is_empty() || sizes.iter().any(Option::is_some);
    is_known.then(|| sizes.iter().flatten().sum())
}

/// Counts by status class (`2xx`), zeros included.
pub fn by_hundreds(counts: [u64; 5]) -> BTreeMap<&'static str, u64> {
    ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(counts).collect()
}

#[cfg(test)]
mod tests {
    use engine::snapshot::{MoldView, WorkerView};

    use super::*;

    #[test]
    fn processes_of_old_code_have_memory_too() {
        let generation = |worker, mold| Snapshot {
            workers: vec![WorkerView { pss_kib: worker, ..WorkerView::default() }],
            molds: vec![MoldView { pss_kib: mold, ..MoldView::default() }],
            ..Snapshot::default()
        };
        let seen = AppSnapshot { all: generation(Some(1), None), old: vec![generation(Some(20), Some(300))] };
        assert_eq!(sizes_of(&seen), [vec![Some(1), Some(20)], vec![None, Some(300)]]);
        assert_eq!(known_kib(&sizes_of(&seen).concat()), Some(321));
    }
}
