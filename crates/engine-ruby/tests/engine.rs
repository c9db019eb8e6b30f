//! The engine from outside: real Ruby processes, requests through the seam.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what should not be")]

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::body::Source;
use engine::{Answer, Body, Engine, Fault, Input, Request};
use engine_ruby::{RubyEngine, Settings, StartError};
use http::{HeaderMap, Method};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle};

/// One event loop for all tests of this file.
fn lane() -> Handle {
    static LANE: OnceLock<Handle> = OnceLock::new();
    let lane = LANE.get_or_init(|| {
        let (told, telling) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            told.send(runtime.handle().clone()).unwrap();
            runtime.block_on(std::future::pending::<()>());
        });
        telling.recv().unwrap()
    });
    lane.clone()
}

struct App {
    engine: Arc<RubyEngine>,
    _folder: TempDir,
}

impl Drop for App {
    fn drop(&mut self) {
        self.engine.stop(Duration::from_secs(5));
    }
}

fn settings(rackup: &Path, workers: usize, threads: usize) -> Settings {
    Settings {
        ruby: "ruby".into(),
        rackup: rackup.to_owned(),
        gemfile: None,
        hooks: None,
        native: None,
        environment: "test".to_owned(),
        tag: "test".to_owned(),
        workers,
        threads,
        queue_places: 100,
        boot_time: Duration::from_secs(60),
        kill_time: Duration::from_millis(500),
        called_off: Arc::default(),
    }
}

fn start(source: &str, workers: usize, threads: usize) -> Result<App, StartError> {
    let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_test_writer().try_init();
    let folder = tempfile::tempdir().unwrap();
    let rackup = folder.path().join("config.ru");
    std::fs::write(&rackup, source).unwrap();
    let engine = RubyEngine::start(settings(&rackup, workers, threads), vec![lane()])?;
    Ok(App { engine, _folder: folder })
}

fn request(method: Method, target: &str, input: Input) -> Request {
    Request {
        headers: HeaderMap::from_iter([(http::header::HOST, "example.org".parse().unwrap())]),
        input,
        ..Request::sample(method, target)
    }
}

impl App {
    fn call(&self, request: Request) -> Answer {
        let reply = self.engine.call(request);
        let (told, telling) = mpsc::channel();
        lane().spawn(async move {
            let _ = told.send(reply.await);
        });
        telling.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    fn get(&self, target: &str) -> Result<(u16, String), Fault> {
        self.read(request(Method::GET, target, Input::Empty))
    }

    fn read(&self, request: Request) -> Result<(u16, String), Fault> {
        let response = self.call(request).result?;
        let body = match response.body {
            Body::Empty => String::new(),
            Body::Full(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Body::Stream(source) => drain(source)?,
            other => panic!("an unexpected body: {other:?}"),
        };
        Ok((response.head.status.as_u16(), body))
    }
}

fn drain(mut source: Source) -> Result<String, Fault> {
    let mut body = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while let Some(chunk) = source.next_blocking(until).map_err(|fault| fault.expect("a chunk in time"))? {
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap())
}

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
