//! Requests from many threads, more than there are interpreters: the queue, its limits, and the two modes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{app, app_with, get, settings, until, wait, within};
use engine::{Engine, Fault, IoThread};
use engine_mruby::Settings;

const MIXED: &str = "
COUNT = [0]
run ->(env) {
  COUNT[0] += 1
  case env['PATH_INFO']
  when '/sleep' then sleep 0.005
  when '/work' then 20_000.times { |i| i.to_s }
  when '/raise' then raise 'no'
  when '/loop' then while true; end
  when '/stream'
    body = Enumerator.new { |y| 20.times { |i| y << ('x' * 10_000); sleep 0.001 if i == 10 } }
    return [200, {}, body]
  when '/count' then return [200, {}, [COUNT[0].to_s]]
  when '/late' then FoolsGold.store['ran'] = true
  end
  [200, {}, ['fine ' + env['QUERY_STRING']]]
}";

/// A reload closes the old engine while I/O threads have requests that they have not offered to its queue yet.
#[test]
fn what_was_accepted_before_the_engine_is_closed_is_answered() {
    let app = app("run ->(_) { [200, {}, ['fine']] }");
    let io = Arc::new(IoThread::new(Box::new(|_| false)));
    io.enter();
    let accepted = app.engine.call(get("/"));
    assert_eq!(app.engine.unfinished(), 1);
    app.engine.close();
    let refused = app.engine.call(get("/"));
    assert_eq!(app.engine.unfinished(), 1);
    assert!(io.work(0));
    assert!(io.poll_work(0, &mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(wait(accepted).result.unwrap().head.status, 200);
    assert!(matches!(wait(refused).result, Err(Fault::Stopping)));
    assert_eq!(app.engine.unfinished(), 0);
}

#[test]
fn every_request_of_many_threads_gets_its_own_answer() {
    let app = app_with(MIXED, Settings { interpreters: 4, queue_places: 1000, ..settings() });
    let answered = AtomicU32::new(0);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (app, answered) = (&app, &answered);
            scope.spawn(move || {
                for turn in 0..60 {
                    let id = format!("{thread}-{turn}");
                    match turn % 6 {
                        0 => assert_eq!(app.body(&format!("/sleep?{id}")), format!("fine {id}")),
                        1 => assert_eq!(app.body(&format!("/work?{id}")), format!("fine {id}")),
                        2 => assert!(matches!(app.fault(get("/raise")), Fault::App(_))),
                        3 => assert_eq!(app.body("/stream").len(), 200_000),
                        4 if turn % 12 == 4 => {
                            assert!(app.call(within("/loop", 20)).result.is_err());
                        }
                        // A client that disconnects at once.
                        4 => drop(app.engine.call(get("/sleep"))),
                        _ => assert_eq!(app.body(&format!("/?{id}")), format!("fine {id}")),
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.load(Ordering::Relaxed), 480);
    until("all are idle", || app.engine.status().idle == 4);
    assert_eq!(app.engine.status().queued, 0);
}

#[test]
fn a_full_queue_refuses_and_a_long_wait_ends() {
    let settings = Settings { interpreters: 1, queue_places: 1, ..settings() };
    let meter = settings.meter.clone();
    let app = app_with(MIXED, settings);
    let stuck = app.engine.call(within("/loop", 400));
    let mut impatient = get("/");
    impatient.queue_deadline = Instant::now() + Duration::from_millis(50);
    let impatient = app.engine.call(impatient);
    assert!(matches!(app.fault(get("/")), Fault::QueueFull(1)));
    let begin = Instant::now();
    assert!(matches!(wait(impatient).result, Err(Fault::QueueWait(_))));
    assert!(begin.elapsed() < Duration::from_millis(300));
    assert!(matches!(wait(stuck).result, Err(Fault::OutOfTime(_))));
    assert_eq!(app.body("/?x"), "fine x");
    let waits: u64 = meter.queue.read().0.iter().sum();
    assert_eq!((waits, meter.turned_away()), (3, 1), "who is refused at once has not waited");
}

#[test]
fn a_request_whose_client_left_the_queue_is_never_run() {
    let app = app_with(MIXED, Settings { interpreters: 1, ..settings() });
    let stuck = app.engine.call(within("/loop", 100));
    drop(app.engine.call(get("/late")));
    assert!(wait(stuck).result.is_err());
    assert_eq!(app.body("/?a"), "fine a");
    // The answer is sent shortly before the call is counted.
    until("it is idle", || app.engine.status().idle == 1);
    assert_eq!(app.engine.status().served, 2, "the stuck one and the last one");
}

#[test]
fn a_request_of_the_server_itself_is_not_among_those_that_were_served() {
    let app = app_with(MIXED, Settings { interpreters: 1, ..settings() });
    for is_own in [true, false, true] {
        let mut request = get("/?a");
        request.is_own = is_own;
        assert!(wait(app.engine.call(request)).result.is_ok());
    }
    // The answer is sent shortly before the call is counted.
    until("it is idle", || app.engine.status().idle == 1);
    let snapshot = app.engine.snapshot();
    assert_eq!((snapshot.status.served, snapshot.workers[0].served), (1, 1));
}

#[test]
fn prefork_keeps_state_fresh_keeps_none_and_a_number_of_requests_renews() {
    let one = |settings: Settings| app_with(MIXED, Settings { interpreters: 1, ..settings });
    let kept = one(settings());
    assert_eq!((kept.body("/count"), kept.body("/count")), ("1".into(), "2".into()));
    let fresh = one(Settings { fresh: true, ..settings() });
    assert_eq!((fresh.body("/count"), fresh.body("/count")), ("1".into(), "1".into()));
    let recycled = one(Settings { max_requests: 2, ..settings() });
    let counts: Vec<String> = (0..5).map(|_| recycled.body("/count")).collect();
    assert_eq!(counts, ["1", "2", "1", "2", "1"]);
}

#[test]
fn a_closed_engine_refuses_what_is_new() {
    let app = app(MIXED);
    app.engine.close();
    assert!(matches!(app.fault(get("/")), Fault::Stopping));
}

#[test]
fn an_application_that_no_longer_loads_answers_with_its_error_until_it_does() {
    let app = app_with(
        "raise 'gone' if FoolsGold.store['broken']\n\
         run ->(env) { FoolsGold.store['broken'] = env['QUERY_STRING'] == 'break'; [200, {}, ['fine']] }",
        Settings { interpreters: 1, fresh: true, ..settings() },
    );
    assert_eq!(app.body("/?break"), "fine");
    match app.fault(get("/after")) {
        Fault::App(error) => assert_eq!(error.message, "gone"),
        other => panic!("{other:?}"),
    }
    let failed = app.engine.recorded().failed.remove(0);
    assert_eq!((failed.method.as_str(), failed.path.as_str(), failed.worker), ("GET", "/after", Some(0)));
}
