//! The engine from outside: real Ruby processes, requests through the engine's interface, snapshots and orders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what should not be")]

mod support;

use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use engine::snapshot::WorkerView;
use engine::{Body, Engine, Fault, Order, Response, Snapshot};
use engine_ruby::Settings;
use support::{App, get, io_thread, settings, start, start_with, within};

/// Longest wait for what happens at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// An application that waits in /wait for a file, sleeps in /sleep, fails in /raise, and answers with its process id.
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
fn an_answer_of_which_nobody_has_seen_anything_is_given_by_another_worker() {
    let source = "run ->(env) {
      next [200, {}, ['whole']] if File.exist?(File.join(__dir__, 'died'))
      body = Enumerator.new do |out|
        out << 'half'
        sleep 0.02
        File.write(File.join(__dir__, 'died'), '')
        Process.kill(:KILL, $$)
      end
      [200, {}, body]
    }";
    let app = start(source, 1, 1).unwrap();
    // The answer begins, and its worker dies, before the client has read any of it. The end of the worker is counted
    // before its requests are looked at.
    let reply = app.engine.call(get("/"));
    let seen = || (app.engine.status().restarts, app.engine.status().served);
    assert!(within(PATIENCE, || seen() == (1, 1)), "{:?}", seen());
    let answer = io_thread().block_on(reply);
    let Ok(Response { body: Body::Full(body), .. }) = answer.result else { panic!("{answer:?}") };
    assert_eq!(body, "whole");
}

#[test]
fn a_long_string_is_read_out_of_the_memory_of_its_worker_and_arrives_whole() {
    let source = "
      FoolsGold::Channel.prepend(Module.new {
        def lend(_, size) = super.tap { $lent = size }
        def send_pieces(*) = super.tap { $sent = true }
      })
      run(lambda do |env|
        text = (0...300_000).map(&:to_s).join
        body = Object.new
        # What the application does to its string after it was sent concerns nobody.
        body.define_singleton_method(:each) do |&block|
          $lent = $sent = nil
          block.call(text)
          text.clear
          block.call(\" #{$lent} #{$sent.inspect}\")
        end
        [200, {}, body]
      end)";
    let app = start(source, 1, 2).unwrap();
    let whole: String = (0..300_000).map(|number| number.to_string()).collect();
    let whole = format!("{whole} {} nil", whole.len());
    for _ in 0..3 {
        assert!(app.get("/") == Ok((200, whole.clone())));
    }
}

#[test]
fn a_long_string_of_a_forked_process_is_not_read_from_the_memory_of_its_worker() {
    let source = "
      run(lambda do |env|
        body = Enumerator.new do |out|
          pid = fork do
            out << 'C' * 1_500_000
            exit! 0
          end
          own = 'P' * 1_500_000
          Process.wait(pid)
          out << own.byteslice(0, 1)
        end
        [200, {}, body]
      end)";
    let app = start(source, 1, 1).unwrap();
    let whole = "C".repeat(1_500_000) + "P";
    for _ in 0..2 {
        assert!(app.get("/") == Ok((200, whole.clone())));
    }
}

/// The policy (sched(7)) of the calling thread: field 41 of its stat (proc_pid_stat(5)).
fn policy() -> String {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The third field of the file is the first one behind the name.
    stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(41 - 3).unwrap().to_owned()
}

#[test]
fn beside_a_native_worker_that_cannot_be_loaded_io_threads_keep_their_scheduling_policy() {
    let name = "print [RUBY_ENGINE, RbConfig::CONFIG['ruby_version'], RUBY_PLATFORM].join('-')";
    let name = Command::new("ruby").args(["-e", name]).output().unwrap().stdout;
    let name = String::from_utf8(name).unwrap();
    let native = vec![format!("/nonexistent/{name}-0123456789abcdef/foolsgold_native.so").into()];
    let with = |rackup: &std::path::Path| Settings { native, ..settings(rackup, 1, 1) };
    let app = start_with("run ->(_) { [200, {}, []] }", with).unwrap();
    assert_eq!(app.engine.fact("native"), Some("no"));
    // It runs what it was given in order.
    let (sender, receiver) = mpsc::channel();
    io_thread().spawn(async move {
        let _ = sender.send(policy());
    });
    assert_eq!(receiver.recv_timeout(PATIENCE).unwrap(), policy());
}
