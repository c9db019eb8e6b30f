//! Snapshots and orders, as an operator uses them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what should not be")]

mod support;

use std::fs;
use std::time::{Duration, Instant};

use engine::snapshot::WorkerView;
use engine::{Engine, Fault, Input, Order, Snapshot};
use engine_ruby::{Budget, Settings, User};
use http::Method;
use support::{App, request, settings, start, start_with, within};

const PATIENCE: Duration = Duration::from_secs(20);
/// An application that waits in /wait for a file, dies of /die, and answers with its process id otherwise.
const WORK: &str = r#"
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/wait" then sleep 0.005 until File.exist?(File.join(__dir__, env["QUERY_STRING"]))
    when "/sleep" then sleep
    when "/raise" then raise "ouch"
    end
    [200, { "content-type" => "text/plain" }, [Process.pid.to_s]]
  end)
"#;

fn get(target: &str) -> engine::Request {
    request(Method::GET, target, Input::Empty)
}

fn let_go(app: &App, name: &str) {
    fs::write(app.folder.path().join(name), "").unwrap();
}

/// Takes snapshots until one fulfils a condition.
#[track_caller]
fn see(app: &App, is_so: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let seen = within(PATIENCE, || is_so(&app.engine.snapshot()));
    let snapshot = app.engine.snapshot();
    assert!(seen, "{snapshot:#?}");
    snapshot
}

fn ready(snapshot: &Snapshot) -> Vec<&WorkerView> {
    snapshot.workers.iter().filter(|worker| worker.state == "ready").collect()
}

#[test]
fn a_snapshot_shows_workers_and_what_they_run() {
    let app = start(WORK, 2, 2).unwrap();
    let mut asked = get("/wait?go");
    asked.id = "the-one".to_owned();
    let waiting = app.ask(asked);
    let snapshot = see(&app, |snapshot| {
        ready(snapshot).len() == 2
            && snapshot.workers.iter().any(|worker| !worker.running.is_empty())
            && snapshot.workers.iter().all(|worker| worker.pss_kib.is_some())
            && snapshot.molds.iter().all(|mold| mold.pss_kib.is_some())
    });
    let worker = snapshot.workers.iter().find(|worker| !worker.running.is_empty()).unwrap();
    let run = &worker.running[0];
    assert_eq!((run.id.as_str(), run.method.as_str(), run.path.as_str()), ("the-one", "GET", "/wait"));
    assert_eq!((snapshot.engine.as_str(), worker.threads, snapshot.molds.len()), ("ruby", 2, 1));
    assert_eq!((snapshot.status.capacity, snapshot.status.idle, snapshot.pool.wanted), (4, 3, 2));
    assert!(snapshot.runtime.contains("ruby") && snapshot.runtime.contains(", rack "), "{}", snapshot.runtime);
    let_go(&app, "go");
    assert_eq!(waiting.recv_timeout(PATIENCE).unwrap().result.unwrap().head.status, 200);
}

#[test]
fn there_are_as_many_workers_as_somebody_says() {
    let app = start(WORK, 1, 1).unwrap();
    let busy = app.ask(get("/wait?go"));
    app.engine.order(Order::Scale { min: 4, max: 4 }).unwrap();
    see(&app, |snapshot| ready(snapshot).len() == 4);
    app.engine.order(Order::Scale { min: 1, max: 1 }).unwrap();
    // The busy one stays: idle workers go first.
    let snapshot = see(&app, |snapshot| snapshot.workers.len() == 1);
    assert_eq!((snapshot.workers[0].id, snapshot.restarts_by.get("scale")), (1, Some(&3)));
    assert_eq!(snapshot.status.restarts, 0, "fewer is no restart");
    let_go(&app, "go");
    assert!(busy.recv_timeout(PATIENCE).unwrap().result.is_ok());
    let refused = app.engine.order(Order::Scale { min: 3, max: 2 }).unwrap_err();
    assert!(refused.contains("MAX not below MIN"), "{refused}");
}

#[test]
fn what_was_ordered_shows_in_the_next_snapshot() {
    let app = start(WORK, 1, 1).unwrap();
    for max in 2..200 {
        app.engine.order(Order::Scale { min: 1, max }).unwrap();
        assert_eq!(app.engine.snapshot().pool.max, max);
    }
}

#[test]
fn in_a_pause_requests_wait_and_then_all_are_answered() {
    let app = start(WORK, 2, 1).unwrap();
    assert_eq!(app.engine.order(Order::Resume).unwrap(), "it was not paused");
    app.engine.order(Order::Pause).unwrap();
    let mut short = get("/");
    short.queue_deadline = Instant::now() + Duration::from_millis(50);
    let mut shorter = get("/");
    (shorter.queue_deadline, shorter.deadline) = (short.queue_deadline, short.queue_deadline);
    let (waiting, late) = (app.ask(short), app.ask(shorter));
    let answer = late.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(answer.result, Err(Fault::QueuePaused(_))), "its whole time is over");
    see(&app, |snapshot| snapshot.is_paused && snapshot.status.queued == 1 && snapshot.oldest_wait_ms > 200.0);
    assert_eq!(app.engine.order(Order::Resume).unwrap(), "resumed: 1 request waited");
    assert!(waiting.recv_timeout(PATIENCE).unwrap().result.is_ok(), "its time in the queue stood still");
}

#[test]
fn a_worker_is_ended_by_its_number_and_another_comes() {
    let app = start(WORK, 2, 1).unwrap();
    let snapshot = see(&app, |snapshot| ready(snapshot).len() == 2);
    let (first, second) = (snapshot.workers[0].id, snapshot.workers[1].id);
    app.engine.order(Order::EndWorker { worker: first, now: false }).unwrap();
    app.engine.order(Order::EndWorker { worker: second, now: true }).unwrap();
    let snapshot =
        see(&app, |snapshot| ready(snapshot).len() == 2 && snapshot.workers.iter().all(|worker| worker.id > second));
    assert_eq!(snapshot.restarts_by.get("order"), Some(&2), "{:?}", snapshot.restarts_by);
    let refused = app.engine.order(Order::EndWorker { worker: first, now: true }).unwrap_err();
    assert!(refused.starts_with(&format!("there is no worker {first}: there are ")), "{refused}");
}

#[test]
fn backtraces_come_back_to_whoever_asks() {
    let app = start(WORK, 1, 2).unwrap();
    let _waiting = app.ask(get("/sleep"));
    see(&app, |snapshot| snapshot.workers.iter().any(|worker| worker.running.len() == 1));
    let found = within(PATIENCE, || {
        let text = app.engine.order(Order::Backtraces(1)).unwrap();
        text.contains("thread slot 1:") && text.contains("config.ru") && text.contains("sleep")
    });
    assert!(found, "{:?}", app.engine.order(Order::Backtraces(1)));
    app.engine.order(Order::EndWorker { worker: 1, now: true }).unwrap();
}

#[test]
fn all_are_replaced_one_at_a_time_and_nothing_is_lost() {
    let app = start(WORK, 3, 1).unwrap();
    let before = see(&app, |snapshot| ready(snapshot).len() == 3);
    let last = before.workers[2].id;
    app.engine.order(Order::Recycle).unwrap();
    let mut fewest = usize::MAX;
    let done = within(PATIENCE, || {
        assert!(app.get("/").is_ok());
        let snapshot = app.engine.snapshot();
        fewest = fewest.min(ready(&snapshot).len());
        snapshot.workers.len() == 3 && snapshot.workers.iter().all(|worker| worker.id > last)
    });
    assert!(done && fewest >= 2, "{fewest} {:#?}", app.engine.snapshot());
    assert_eq!(app.engine.snapshot().restarts_by.get("recycle"), Some(&3));
}

#[test]
fn what_was_slow_or_failed_is_recorded_with_its_backtrace() {
    let slow = |rackup: &std::path::Path| Settings { slow_time: Duration::from_millis(300), ..settings(rackup, 1, 1) };
    let app = start_with(WORK, slow).unwrap();
    let mut late = get("/sleep");
    (late.id, late.deadline) = ("late".to_owned(), Instant::now() + Duration::from_millis(500));
    assert!(matches!(app.read(late), Err(Fault::OutOfTime(_))));
    assert!(matches!(app.get("/raise"), Err(Fault::App(_))));
    let recorded = || app.engine.recorded();
    let is_traced = || recorded().failed.iter().any(|past| past.id == "late" && !past.backtrace.is_empty());
    let found = within(PATIENCE, is_traced);
    let recorded = recorded();
    assert!(found && recorded.failed.len() == 2, "{recorded:#?}");
    let (raised, late) = (&recorded.failed[0], &recorded.failed[1]);
    assert_eq!((raised.path.as_str(), raised.fault.as_str()), ("/raise", "app_error"));
    assert!(raised.why.contains("ouch") && raised.backtrace[0].contains("config.ru"), "{raised:?}");
    assert_eq!((late.fault.as_str(), late.worker, late.method.as_str()), ("out_of_time", Some(1), "GET"));
    assert!(late.backtrace[0].contains("config.ru") && late.pid.is_some() && late.took_ms > 400.0, "{late:?}");
    assert_eq!(recorded.slow.len(), 1, "{recorded:#?}");
}

#[test]
fn several_applications_share_a_number_of_workers() {
    let budget = Budget::new(3);
    let shared = |rackup: &std::path::Path| Settings {
        min_workers: 0,
        max_workers: 3,
        budget: Some(budget.clone()),
        ..settings(rackup, 0, 1)
    };
    let (one, other) = (start_with(WORK, shared).unwrap(), start_with(WORK, shared).unwrap());
    let waiting: Vec<_> = (0..4).map(|_| one.ask(get("/wait?go"))).collect();
    see(&one, |snapshot| ready(snapshot).len() == 3);
    let theirs = other.ask(get("/"));
    // All are busy, but the other application has no worker at all: one is given up as soon as it has answered.
    see(&one, |snapshot| snapshot.workers.iter().any(|worker| worker.state == "draining"));
    let_go(&one, "go");
    assert!(theirs.recv_timeout(PATIENCE).unwrap().result.is_ok());
    assert!(waiting.into_iter().all(|waiting| waiting.recv_timeout(PATIENCE).unwrap().result.is_ok()));
    assert!(one.get("/").is_ok() && other.get("/").is_ok());
    let both = || one.engine.snapshot().workers.len() + other.engine.snapshot().workers.len();
    // On a busy machine a second one may be given up before the first has gone.
    assert!(within(PATIENCE, || (2..=3).contains(&both())), "{}", both());
}

#[test]
fn ruby_runs_as_another_user() {
    if !fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0) {
        return; // Only root can.
    }
    let source = r#"
      run ->(env) { [200, {}, [[Process.uid, Process.gid, Process.groups.inspect, ENV["HOME"]].join(" ")]] }
    "#;
    let user = User::find("nobody", None).unwrap();
    let (uid, gid, home) = (user.uid, user.gid, user.home.display().to_string());
    let app = start_with(source, |rackup| {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(rackup.parent().unwrap(), open).unwrap();
        Settings { user: Some(user), ..settings(rackup, 1, 1) }
    });
    let (_, text) = app.unwrap().get("/").unwrap();
    assert!(text.starts_with(&format!("{uid} {gid} [")) && text.ends_with(&home), "{text}");
}
