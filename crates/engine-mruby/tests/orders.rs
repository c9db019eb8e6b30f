//! Snapshots of the interpreters for operators, and their orders.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::{App, app, app_with, get, settings, wait};
use engine::{Engine, Fault, Order, Snapshot};
use engine_mruby::Settings;

const APP: &str = "
COUNT = [0]
run ->(env) {
  COUNT[0] += 1
  case env['PATH_INFO']
  when '/sleep' then sleep 2
  when '/doze' then sleep
  when '/loop' then while true; end
  when '/raise' then raise 'ouch'
  end
  [200, {}, [COUNT[0].to_s]]
}";

/// Waits until a snapshot of the engine meets the condition, and returns that snapshot.
#[track_caller]
fn see(app: &App, is_so: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let snapshot = app.engine.snapshot();
        if is_so(&snapshot) {
            return snapshot;
        }
        assert!(Instant::now() < end, "{snapshot:#?}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_snapshot_shows_interpreters_and_long_requests() {
    let app = app(APP);
    assert_eq!(app.body("/"), "1");
    thread::scope(|scope| {
        scope.spawn(|| app.body("/sleep"));
        let snapshot = see(&app, |snapshot| {
            snapshot.workers.iter().any(|worker| worker.running.iter().any(|run| !run.path.is_empty()))
        });
        let run = snapshot.workers.iter().find_map(|worker| worker.running.first()).unwrap();
        assert_eq!((run.method.as_str(), run.path.as_str()), ("GET", "/sleep"));
        assert_eq!((snapshot.workers.len(), snapshot.pool.max, snapshot.engine.as_str()), (2, 2, "mruby"));
        assert!(snapshot.runtime.contains("mruby"), "{}", snapshot.runtime);
    });
    let snapshot = see(&app, |snapshot| snapshot.workers.iter().map(|worker| worker.served).sum::<u64>() == 2);
    assert!(snapshot.workers.iter().all(|worker| worker.running.is_empty()), "{snapshot:?}");
}

#[test]
fn in_a_pause_requests_wait_and_then_all_are_answered() {
    let app = app(APP);
    app.engine.order(Order::Pause).unwrap();
    let mut first = get("/");
    first.queue_deadline = Instant::now() + Duration::from_millis(20);
    let replies = [app.engine.call(first), app.engine.call(get("/"))];
    thread::park_timeout(Duration::from_millis(100));
    let snapshot = see(&app, |snapshot| snapshot.is_paused && snapshot.oldest_wait_ms > 50.0);
    assert_eq!((snapshot.status.queued, snapshot.status.idle), (2, 2));
    assert_eq!(app.engine.order(Order::Resume).unwrap(), "resumed: 2 requests waited");
    for reply in replies {
        assert!(wait(reply).result.is_ok());
    }
    assert_eq!(app.engine.order(Order::Resume).unwrap(), "it was not paused");
}

/// Nothing runs in a pause. An engine that is late by more than a moment is taken for an application that took too
/// long: the client then gets a 504, and the log has an error.
#[test]
fn a_request_whose_time_ends_in_a_pause_is_refused_at_once() {
    let app = app(APP);
    app.engine.order(Order::Pause).unwrap();
    // The watchdog sleeps by then.
    thread::park_timeout(Duration::from_millis(200));
    let ends = Instant::now() + Duration::from_millis(50);
    let mut request = get("/");
    (request.deadline, request.queue_deadline) = (ends, ends);
    let fault = wait(app.engine.call(request)).result.unwrap_err();
    assert!(matches!(fault, Fault::QueuePaused(_)), "{fault:?}");
    assert!(ends.elapsed() < Duration::from_millis(500), "{:?} too late", ends.elapsed());
}

#[test]
fn interpreters_are_replaced_all_or_one_by_its_number() {
    let app = app_with(APP, Settings { interpreters: 1, ..settings() });
    assert_eq!((app.body("/"), app.body("/")), ("1".into(), "2".into()));
    app.engine.order(Order::Recycle).unwrap();
    assert_eq!(app.body("/"), "1");
    app.engine.order(Order::EndWorker { worker: 0, now: false }).unwrap();
    assert_eq!(app.body("/"), "1");
    let by = see(&app, |snapshot| snapshot.status.restarts == 2).restarts_by;
    assert_eq!((by.get("recycle"), by.get("order")), (Some(&1), Some(&1)), "{by:?}");
    let refused = app.engine.order(Order::EndWorker { worker: 7, now: true }).unwrap_err();
    assert_eq!(refused, "there is no interpreter 7: there are 0 to 0");
    let refused = app.engine.order(Order::Scale { min: 1, max: 2 }).unwrap_err();
    assert!(refused.contains("1 here: another number counts after a reload where foolsgold.toml has it"), "{refused}");
    assert!(app.engine.order(Order::Backtraces(0)).unwrap_err().contains("embedded interpreters"));
}

/// `busy` and `foolsgold_places_busy` are requests that run.
#[test]
fn an_interpreter_that_loads_the_application_anew_is_neither_idle_nor_busy() {
    let slow = format!("ends = Time.now + 0.5\nnil while Time.now < ends\n{APP}");
    let app = app_with(&slow, Settings { interpreters: 1, ..settings() });
    app.engine.order(Order::Recycle).unwrap();
    let snapshot = see(&app, |snapshot| (snapshot.status.idle, snapshot.status.busy) == (0, 0));
    assert_eq!(snapshot.status.capacity, 1);
    assert_eq!((app.body("/"), app.engine.status().restarts), ("1".into(), 1));
}

/// The loading counted as failed, and the next request got its error.
#[test]
fn an_interpreter_that_is_ended_at_once_while_it_loads_the_application_loads_it() {
    let slow = format!("ends = Time.now + 0.5\nnil while Time.now < ends\n{APP}");
    let app = app_with(&slow, Settings { interpreters: 1, ..settings() });
    app.engine.order(Order::Recycle).unwrap();
    see(&app, |snapshot| snapshot.workers[0].state == "booting");
    app.engine.order(Order::EndWorker { worker: 0, now: true }).unwrap();
    assert_eq!(app.body("/"), "1");
}

#[test]
fn a_request_that_runs_away_can_be_ended_at_once() {
    let app = app_with(APP, Settings { interpreters: 1, ..settings() });
    for path in ["/loop", "/doze"] {
        thread::scope(|scope| {
            let stuck = scope.spawn(|| {
                let mut request = get(path);
                // As without a time limit (--request-time none).
                request.deadline = Instant::now() + Duration::from_secs(3600);
                app.fault(request)
            });
            see(&app, |snapshot| snapshot.workers[0].running.iter().any(|run| run.path == path));
            app.engine.order(Order::EndWorker { worker: 0, now: true }).unwrap();
            let begin = Instant::now();
            let fault = stuck.join().unwrap();
            let is_told = matches!(&fault, Fault::WorkerDied(how) if how.starts_with("it was ended, by kill-worker"));
            assert!(is_told, "{path}: {fault:?}");
            assert!(begin.elapsed() < Duration::from_secs(5), "{path}: {:?}", begin.elapsed());
        });
        assert_eq!(app.body("/"), "1", "{path}: another has taken its place");
    }
}

#[test]
fn what_was_slow_or_failed_is_recorded_and_all_is_counted() {
    let slow = Settings { slow_time: Duration::from_millis(500), ..settings() };
    let meter = slow.meter.clone();
    let app = app_with(APP, slow);
    assert!(matches!(app.fault(get("/raise")), Fault::App(_)));
    app.body("/sleep");
    app.body("/");
    let recorded = app.engine.recorded();
    assert_eq!((recorded.failed.len(), recorded.slow.len()), (1, 1), "{recorded:#?}");
    assert_eq!((recorded.failed[0].path.as_str(), recorded.failed[0].worker), ("/raise", Some(1)));
    assert_eq!((recorded.slow[0].path.as_str(), recorded.slow[0].status), ("/sleep", Some(200)));
    assert!(recorded.failed[0].why.contains("ouch"), "{recorded:#?}");
    let (counts, _) = meter.service.read();
    assert_eq!((counts.iter().sum::<u64>(), meter.faults().iter().sum::<u64>()), (2, 1));
}
