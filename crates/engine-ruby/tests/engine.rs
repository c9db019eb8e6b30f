//! The engine from outside: real Ruby processes, and requests through the engine's interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what should not be")]

mod support;

use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Body, Engine, Fault, Input, Response};
use engine_ruby::{Settings, StartError};
use http::Method;
use support::{io_thread, request, settings, start, start_with, within};

/// Longest wait for what happens at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn requests_are_answered_by_the_workers() {
    let app = start(
        "run ->(env) { [200, {'content-type' => 'text/plain'}, [env['PATH_INFO'], '?', env['QUERY_STRING']]] }",
        2,
        1,
    )
    .unwrap();
    for number in 0..50 {
        assert_eq!(app.get(&format!("/{number}?a=b")), Ok((200, format!("/{number}?a=b"))));
    }
    assert_eq!(app.engine.status().served, 50);
}

#[test]
fn bodies_of_every_size_arrive_whole() {
    let app = start("run ->(env) { b = env['rack.input'].read; [200, {}, [b.bytesize.to_s, ' ', b.sum.to_s]] }", 1, 1)
        .unwrap();
    for size in [0, 1, 1000, 100_000, 2_000_000] {
        let body = Bytes::from(vec![b'x'; size]);
        let sum = size * usize::from(b'x') % 65536;
        let input = if size == 0 { Input::Empty } else { Input::Memory(body) };
        assert_eq!(app.read(request(Method::POST, "/", input)), Ok((200, format!("{size} {sum}"))));
    }
}

#[test]
fn an_application_that_cannot_be_loaded_says_why() {
    match start("raise ArgumentError, 'not today'", 1, 1) {
        Err(StartError::App(error)) => {
            assert_eq!((error.class.as_str(), error.message.as_str()), ("ArgumentError", "not today"));
            assert!(error.backtrace[0].contains("config.ru:1"), "{:?}", error.backtrace);
        }
        other => panic!("{:?}", other.map(|_| ()).map_err(|error| error.to_string())),
    }
}

#[test]
fn an_answer_of_which_nobody_has_seen_anything_is_given_by_another_worker() {
    let source = "run ->(env) {
      next [200, {}, ['whole']] if File.exist?(File.join(__dir__, 'died'))
      body = Enumerator.new do |out|
        out << 'half'
        sleep 0.1
        File.write(File.join(__dir__, 'died'), '')
        Process.kill(:KILL, $$)
      end
      [200, {}, body]
    }";
    let app = start(source, 1, 1).unwrap();
    // The answer begins, and its worker dies, before the client has read any of it.
    let reply = app.engine.call(request(Method::GET, "/", Input::Empty));
    assert!(within(PATIENCE, || app.engine.status().restarts == 1));
    let answer = io_thread().block_on(reply);
    let Ok(Response { body: Body::Full(body), .. }) = answer.result else { panic!("{answer:?}") };
    assert_eq!(body, "whole");
}

#[test]
fn what_the_application_raises_is_a_fault_and_nothing_more() {
    let app = start("run ->(env) { env['PATH_INFO'] == '/raise' ? raise('ouch') : [200, {}, ['ok']] }", 1, 1).unwrap();
    let Err(Fault::App(error)) = app.get("/raise") else { panic!("no fault") };
    assert_eq!((error.class.as_str(), error.message.as_str()), ("RuntimeError", "ouch"));
    assert_eq!(app.get("/"), Ok((200, "ok".to_owned())));
}

#[test]
fn a_body_that_is_made_as_it_goes_streams() {
    let app =
        start("run ->(env) { [200, {}, Enumerator.new { |y| 3.times { |i| y << \"#{i}\\n\" } }] }", 1, 1).unwrap();
    assert_eq!(app.get("/"), Ok((200, "0\n1\n2\n".to_owned())));
    let app = start("run ->(env) { [200, {}, ->(s) { s.write('a'); s << 'b'; s.close }] }", 1, 1).unwrap();
    assert_eq!(app.get("/"), Ok((200, "ab".to_owned())));
}

#[test]
fn a_killed_worker_costs_no_safe_request_and_others_a_clear_fault() {
    let source = r"run(lambda do |env|
      first = env['PATH_INFO'] == '/once' && !File.exist?(MARK) && File.write(MARK, '')
      Process.kill(:KILL, $$) if first || env['PATH_INFO'] == '/die'
      [200, {}, ['ok']]
    end)";
    let mark = tempfile::tempdir().unwrap();
    let source = format!("MARK = {:?}\n{source}", mark.path().join("mark"));
    let app = start(&source, 2, 1).unwrap();
    assert_eq!(app.get("/once"), Ok((200, "ok".to_owned())));
    assert!(matches!(app.get("/die"), Err(Fault::WorkerDied(_))), "poison must end after its replays");
    let posted = app.read(request(Method::POST, "/die", Input::Empty));
    assert!(matches!(posted, Err(Fault::WorkerDied(_))));
    assert_eq!(app.get("/"), Ok((200, "ok".to_owned())));
}

#[test]
fn a_request_over_its_time_is_answered_and_its_worker_replaced() {
    let app = start("run ->(env) { sleep 60 if env['PATH_INFO'] == '/sleep'; [200, {}, [$$.to_s]] }", 1, 1).unwrap();
    let (_, before) = app.get("/").unwrap();
    let mut late = request(Method::GET, "/sleep", Input::Empty);
    late.deadline = Instant::now() + Duration::from_millis(200);
    let began = Instant::now();
    assert!(matches!(app.read(late), Err(Fault::OutOfTime(_))));
    assert!(began.elapsed() < Duration::from_secs(5));
    let (_, after) = app.get("/").unwrap();
    assert_ne!(before, after, "a worker with an interrupted request is replaced");
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

#[test]
fn a_long_string_whose_client_leaves_or_whose_worker_dies_holds_nobody() {
    let source = "run ->(env) { env['PATH_INFO'] == '/long' ? [200, {}, ['x' * 20_000_000]] : [200, {}, [$$.to_s]] }";
    let app = start(source, 1, 1).unwrap();
    let begun = |answer: engine::Answer| match answer.result {
        Ok(Response { body: Body::Stream(source), .. }) => source,
        other => panic!("{other:?}"),
    };
    let mut source = begun(app.call(request(Method::GET, "/long", Input::Empty)));
    assert!(source.next_blocking(Instant::now() + PATIENCE).unwrap().is_some());
    drop(source);
    let pid = app.get("/").unwrap().1;
    let mut source = begun(app.call(request(Method::GET, "/long", Input::Empty)));
    assert!(source.next_blocking(Instant::now() + PATIENCE).unwrap().is_some());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.parse().unwrap()), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    assert!(matches!(support::drain(source), Err(Fault::WorkerDied(_))));
    assert_ne!(app.get("/").unwrap().1, pid);
}

/// The policy (sched(7)) of the calling thread: field 41 of its stat (proc_pid_stat(5)).
fn policy() -> String {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
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
    let (told, telling) = mpsc::channel();
    io_thread().spawn(async move {
        let _ = told.send(policy());
    });
    assert_eq!(telling.recv_timeout(PATIENCE).unwrap(), policy());
}
