//! The metrics that Prometheus gets. docs/metrics.md explains each; a test compares the names.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use engine::fault::Culprit;
use engine::{Fault, Snapshot};
use machine::MemoryUse;

use crate::admin::histogram::{Peaks, Reading};
use crate::admin::history::History;
use crate::admin::process::Process;
use crate::admin::prometheus::{Family, Value};
use crate::admin::state::{AdminState, RunningServer};
use crate::admin::view::{by_hundreds, known_kib, sizes_of};
use crate::apps::app::App;
use crate::apps::deploy_record::DeployOutcome;
use crate::log::files::LogView;

/// Exit reasons of workers that are always shown.
const ENDS: [&str; 7] = ["crash", "hung", "max_requests", "memory", "memory_pressure", "out_of_memory", "timeout"];

/// States of workers that are always shown.
const STATES: [&str; 6] = ["booting", "ready", "out_of_band", "draining", "hung", "stopped"];

type MetricRow = (Vec<(&'static str, String)>, Value);

/// State of an application from which its metrics are made.
#[derive(Default)]
struct Shown {
    labels: Vec<(&'static str, String)>,
    snapshot: Snapshot,
    /// Sizes of the workers and of the molds of all generations.
    sizes: [Vec<Option<u64>>; 2],
    reading: Reading,
    longest: Peaks,
    faults: [u64; Fault::NAMES.len()],
    generation: u64,
    last_deploy: Option<(bool, f64)>,
    is_reloading: bool,
}

impl Shown {
    fn of(app: &App, history: &History) -> Shown {
        let current = app.current();
        let seen = app.snapshot_of(&current);
        let sizes = sizes_of(&seen);
        let snapshot = seen.all;
        let reading = Reading::of(app.meter());
        let last = app.deploys().into_iter().next();
        Shown {
            labels: vec![("app", app.name().to_owned()), ("engine", snapshot.engine.clone())],
            snapshot,
            sizes,
            reading,
            longest: history.longest(app.name(), &reading),
            faults: app.meter().faults(),
            generation: current.number,
            last_deploy: last.map(|deploy| (deploy.outcome != DeployOutcome::Failed, deploy.at_ms as f64 / 1e3)),
            is_reloading: app.is_reloading(),
        }
    }

    fn row(&self, value: Value) -> MetricRow {
        (self.labels.clone(), value)
    }

    fn with(&self, more: &[(&'static str, &str)], value: Value) -> MetricRow {
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
        (self.labels.iter().cloned().chain(more).collect(), value)
    }
}

/// All metrics; while the server starts, those of the process only.
pub fn families(state: &AdminState) -> Vec<Family> {
    let mut families = of_process(&Process::look());
    let since = state.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    families.push(one("process_start_time_seconds", "When the process of the server started", Value::Gauge(since)));
    families.extend(of_memory(state.memory.measure()));
    families.extend(of_log(&state.logs.view()));
    let ready = state.running().is_some_and(|running| running.server.unready().is_none());
    families.push(one("foolsgold_ready", "1 when load balancers should send requests", gauge(ready)));
    let Some(running) = state.running() else { return families };
    families.extend(of_server(running));
    let apps: Vec<Shown> = running.server.apps().all().iter().map(|app| Shown::of(app, &state.history)).collect();
    families.extend(of_requests(&apps));
    families.extend(of_workers(&apps));
    families.extend(of_deploys(&apps));
    families
}

fn of_process(process: &Process) -> Vec<Family> {
    let kib = |size: Option<u64>| size.map(|kib| Value::Gauge(kib as f64 * 1024.0));
    let number = |number: Option<u64>| number.map(|number| Value::Gauge(number as f64));
    let known = |name, help, value: Option<Value>| value.map(|value| one(name, help, value));
    [
        known("process_cpu_seconds", "Processor time of the server", Some(Value::Sum(process.cpu_s))),
        known(
            "process_resident_memory_bytes",
            "Resident memory of the server without its workers",
            kib(process.rss_kib),
        ),
        known(
            "foolsgold_memory_pss_bytes",
            "Proportional set size (PSS) of the server without its workers",
            kib(process.pss_kib),
        ),
        known("process_threads", "Threads of the server", number(process.threads)),
        known("process_open_fds", "Open files and sockets of the server", number(process.open_files)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_memory(in_use: Option<MemoryUse>) -> Vec<Family> {
    let Some(seen) = in_use else { return Vec::new() };
    let bytes = |name, help, bytes: u64| one(name, help, Value::Gauge(bytes as f64));
    vec![
        bytes("foolsgold_memory_limit_bytes", "Memory limit: of the control group, or the machine", seen.limit),
        bytes("foolsgold_memory_used_bytes", "Memory used by all processes within that limit", seen.used),
        one(
            "foolsgold_memory_short",
            "1 when memory is so short that the kernel may soon kill a process",
            gauge(seen.is_short()),
        ),
    ]
}

fn of_log(log: &LogView) -> Vec<Family> {
    let lost = Value::Count(log.lost_lines);
    let help = "Lines of the log that could not be written, or were dropped";
    vec![
        one("foolsgold_log_lost_lines", help, lost),
        one("foolsgold_log_failing", "1 when a file of the log cannot be written", gauge(log.is_failing())),
    ]
}

fn of_server(running: &RunningServer) -> Vec<Family> {
    let server = &running.server;
    let counts = &running.counts;
    let build = vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("mruby", engine_mruby::version())];
    let answers = by_hundreds(counts.answers()).into_iter();
    let answers = answers.map(|(code, count)| (vec![("code", code.to_owned())], Value::Count(count)));
    vec![
        family("foolsgold_build_info", "Always 1; the labels have the versions", [(build, Value::Gauge(1.0))]),
        one("foolsgold_draining", "1 when the server is shutting down", gauge(server.is_draining())),
        one("foolsgold_connections", "Open connections", Value::Gauge(counts.open() as f64)),
        one("foolsgold_connections_accepted", "Connections since the start", Value::Count(counts.accepted())),
        one(
            "foolsgold_connections_displaced",
            "Connections closed for new ones, at the limit of connections",
            Value::Count(counts.displaced_connections()),
        ),
        one(
            "foolsgold_connections_refused",
            "Connections refused to clients at their limit",
            Value::Count(counts.refused_connections()),
        ),
        one("foolsgold_refused", "Requests whose head was refused", Value::Count(counts.refused())),
        family("foolsgold_http_responses", "Responses by status class, those of the server itself included", answers),
    ]
}

fn of_requests(apps: &[Shown]) -> Vec<Family> {
    let answers = apps.iter().flat_map(|app| {
        let rows = by_hundreds(app.reading.answers).into_iter();
        rows.map(|(code, count)| app.with(&[("code", code)], Value::Count(count)))
    });
    let errors = apps.iter().flat_map(|app| {
        let named = Fault::NAMES.iter().zip(app.faults);
        named.map(|((fault, whose), count)| {
            app.with(&[("culprit", culprit(*whose)), ("fault", fault)], Value::Count(count))
        })
    });
    vec![
        each(apps, "foolsgold_requests_ended", "Requests answered, failed, refused or left by their clients", |app| {
            Value::Count(app.reading.requests)
        }),
        family("foolsgold_requests", "Responses of the application by status class", answers),
        family("foolsgold_errors", "Requests without a response of the application, by culprit and fault", errors),
        each(apps, "foolsgold_queue_time_seconds", "Time that requests waited in the queue", |app| {
            Value::Times(Box::new(app.reading.queue))
        }),
        each(apps, "foolsgold_service_time_seconds", "Time that the application took to respond", |app| {
            Value::Times(Box::new(app.reading.service))
        }),
        gauges(apps, "foolsgold_queue_time_max_seconds", "Longest wait in the queue in the last minute", |app| {
            app.longest.queue_us as f64 / 1e6
        }),
        gauges(
            apps,
            "foolsgold_service_time_max_seconds",
            "Longest time that the application took to respond in the last minute",
            |app| app.longest.service_us as f64 / 1e6,
        ),
        gauges(apps, "foolsgold_queue_depth", "Requests in the queue", |app| app.snapshot.status.queued as f64),
        gauges(apps, "foolsgold_queue_oldest_seconds", "Time that the first request in the queue has waited", |app| {
            app.snapshot.oldest_wait_ms / 1e3
        }),
        gauges(apps, "foolsgold_places", "Requests that can run at once", |app| app.snapshot.status.capacity as f64),
        gauges(apps, "foolsgold_places_busy", "Requests that are running", |app| app.snapshot.status.busy as f64),
        each(apps, "foolsgold_paused", "1 during a pause", |app| gauge(app.snapshot.is_paused)),
        each(
            apps,
            "foolsgold_queue_newest_first",
            "1 when, in the last half minute, the newest requests began before older ones",
            |app| gauge(app.snapshot.is_newest_first),
        ),
    ]
}

fn of_workers(apps: &[Shown]) -> Vec<Family> {
    let states = apps.iter().flat_map(|app| {
        // All states are always present, so that their graphs have no holes.
        let mut counts = BTreeMap::from(STATES.map(|state| (state, 0_u32)));
        for worker in &app.snapshot.workers {
            *counts.entry(worker.state.as_str()).or_default() += 1;
        }
        counts.into_iter().map(move |(state, count)| app.with(&[("state", state)], Value::Gauge(f64::from(count))))
    });
    let restarts = apps.iter().flat_map(|app| {
        // From the start, so that the first exit of each kind is seen as a step.
        let mut counts: BTreeMap<&str, u64> = ENDS.into_iter().map(|reason| (reason, 0)).collect();
        counts.extend(app.snapshot.restarts_by.iter().map(|(reason, count)| (reason.as_str(), *count)));
        counts.into_iter().map(move |(reason, count)| app.with(&[("reason", reason)], Value::Count(count)))
    });
    let memory = apps.iter().flat_map(|app| {
        let [workers, molds] = &app.sizes;
        let kinds = [("workers", known_kib(workers)), ("molds", known_kib(molds))];
        kinds.into_iter().filter_map(move |(kind, kib)| {
            kib.map(|kib| app.with(&[("process", kind)], Value::Gauge(kib as f64 * 1024.0)))
        })
    });
    vec![
        family("foolsgold_workers", "Workers by state", states),
        gauges(apps, "foolsgold_workers_min", "Least number of workers", |app| app.snapshot.pool.min as f64),
        gauges(apps, "foolsgold_workers_max", "Greatest number of workers", |app| app.snapshot.pool.max as f64),
        gauges(apps, "foolsgold_workers_wanted", "Number of workers that is wanted now", |app| {
            app.snapshot.pool.wanted as f64
        }),
        each(apps, "foolsgold_workers_held_by_memory", "1 when a worker was not added for lack of memory", |app| {
            gauge(app.snapshot.pool.is_held_by_memory)
        }),
        each(apps, "foolsgold_worker_restarts", "Workers that were replaced", |app| {
            Value::Count(app.snapshot.status.restarts)
        }),
        family("foolsgold_worker_ends", "Workers that exited, by reason", restarts),
        family("foolsgold_memory_bytes", "Proportional set sizes (PSS) of the application's processes", memory),
    ]
}

fn of_deploys(apps: &[Shown]) -> Vec<Family> {
    let last =
        |of: fn((bool, f64)) -> Value| apps.iter().filter_map(move |app| app.last_deploy.map(|last| app.row(of(last))));
    vec![
        gauges(apps, "foolsgold_generation", "Number of the generation that gets requests", |app| {
            app.generation as f64
        }),
        each(apps, "foolsgold_reloading", "1 while new code is being loaded", |app| gauge(app.is_reloading)),
        family("foolsgold_last_deploy_ok", "0 when the last deploy failed", last(|(is_ok, _)| gauge(is_ok))),
        family(
            "foolsgold_last_deploy_time_seconds",
            "Time at which the last deploy began",
            last(|(_, at)| Value::Gauge(at)),
        ),
    ]
}

fn family(name: &'static str, help: &'static str, rows: impl IntoIterator<Item = MetricRow>) -> Family {
    Family { name, help, rows: rows.into_iter().collect() }
}

fn one(name: &'static str, help: &'static str, value: Value) -> Family {
    family(name, help, [(Vec::new(), value)])
}

fn each(apps: &[Shown], name: &'static str, help: &'static str, of: impl Fn(&Shown) -> Value) -> Family {
    family(name, help, apps.iter().map(|app| app.row(of(app))))
}

fn gauges(apps: &[Shown], name: &'static str, help: &'static str, of: impl Fn(&Shown) -> f64) -> Family {
    each(apps, name, help, |app| Value::Gauge(of(app)))
}

fn gauge(truth: bool) -> Value {
    Value::Gauge(f64::from(u8::from(truth)))
}

fn culprit(culprit: Culprit) -> &'static str {
    match culprit {
        Culprit::Client => "client",
        Culprit::App => "app",
        Culprit::Engine => "engine",
        Culprit::Load => "load",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::admin::state::ServerFolders;

    /// The memory of an application by kind of process, in bytes.
    fn memory(workers: &[Option<u64>], molds: &[Option<u64>]) -> Vec<(String, f64)> {
        let shown = Shown { sizes: [workers.to_vec(), molds.to_vec()], ..Shown::default() };
        let all = of_workers(&[shown]);
        let family = all.into_iter().find(|family| family.name == "foolsgold_memory_bytes").unwrap();
        let rows = family.rows.into_iter().map(|(labels, value)| {
            let Value::Gauge(bytes) = value else { panic!("{value:?} is no gauge") };
            (labels[0].1.clone(), bytes)
        });
        rows.collect()
    }

    #[test]
    fn memory_that_is_not_known_is_not_shown_as_none() {
        let row = |kind: &str, kib: u32| (kind.to_owned(), f64::from(kib) * 1024.0);
        assert!(memory(&[None, None], &[None]).is_empty());
        assert_eq!(memory(&[None], &[]), [row("molds", 0)]);
        assert_eq!(memory(&[Some(3), None, Some(4)], &[Some(5)]), [row("workers", 7), row("molds", 5)]);
    }

    #[test]
    fn while_applications_are_loaded_the_start_of_the_process_is_shown() {
        let state = AdminState::new(ServerFolders::default(), Arc::default(), Arc::default());
        let all = families(&state);
        let started = all.iter().find(|family| family.name == "process_start_time_seconds");
        let Some([(_, Value::Gauge(at))]) = started.map(|family| family.rows.as_slice()) else { panic!("{all:?}") };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((0.0..60.0).contains(&(now - at)), "{at}");
    }
}
