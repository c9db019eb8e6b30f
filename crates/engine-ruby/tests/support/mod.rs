//! Support for tests of the engine: an event loop, an application in a folder of its own, requests and their answers.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Answer, Body, Engine, Fault, IoThread, Request};
use engine_ruby::{Preload, RubyEngine, Settings, StartError};
use http::{HeaderMap, Method};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle};

/// One event loop for all tests.
pub fn io_thread() -> Handle {
    static IO_THREAD: OnceLock<Handle> = OnceLock::new();
    let io_thread = IO_THREAD.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            Arc::new(IoThread::new(Box::new(|_| false))).enter();
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            sender.send(runtime.handle().clone()).unwrap();
            runtime.block_on(std::future::pending::<()>());
        });
        receiver.recv().unwrap()
    });
    io_thread.clone()
}

/// A running application.
pub struct App {
    pub engine: Arc<RubyEngine>,
    pub folder: TempDir,
}

impl Drop for App {
    fn drop(&mut self) {
        self.engine.stop(Duration::from_secs(5));
    }
}

/// Returns plain settings.
pub fn settings(rackup: &Path, workers: usize, threads: usize) -> Settings {
    Settings {
        preload: Preload::Yes,
        ruby: "ruby".into(),
        rackup: rackup.to_owned(),
        gemfile: None,
        lockfile: None,
        load_path: Vec::new(),
        hooks: None,
        hooks_kind: String::new(),
        hooks_names: Vec::new(),
        limits_heaps: true,
        is_passenger: false,
        retries_hooks: false,
        evaluated: None,
        native: Vec::new(),
        needs_native: false,
        environment: "test".to_owned(),
        environment_variables: vec!["RACK_ENV", "APP_ENV", "RAILS_ENV"],
        variables: Vec::new(),
        tag: "test".to_owned(),
        app: None,
        user: None,
        open_files: None,
        min_workers: workers,
        max_workers: workers,
        first_workers: workers,
        computing_bounds: None,
        idle_time: Duration::from_secs(300),
        budget: None,
        linger: Duration::from_secs(30),
        called_off: Arc::default(),
        is_shutting_down: Arc::default(),
        max_requests: 0,
        max_requests_jitter: 0,
        worker_memory: None,
        worker_timeout: Duration::from_secs(60),
        oob_gc: false,
        is_batch: true,
        early_hints: false,
        slow_time: Duration::from_secs(1),
        meter: Arc::default(),
        threads,
        max_threads: 0,
        spares_databases: false,
        queue_places: 100,
        boot_time: Duration::from_secs(60),
        kill_time: Duration::from_millis(500),
    }
}

/// Starts an application with this source.
pub fn start(source: &str, workers: usize, threads: usize) -> Result<App, StartError> {
    start_with(source, |rackup| settings(rackup, workers, threads))
}

/// Starts an application with this source and changed settings.
pub fn start_with(source: &str, with: impl FnOnce(&Path) -> Settings) -> Result<App, StartError> {
    let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_test_writer().try_init();
    let folder = tempfile::tempdir().unwrap();
    let rackup = folder.path().join("config.ru");
    std::fs::write(&rackup, source).unwrap();
    let engine = RubyEngine::start(with(&rackup), vec![io_thread()])?;
    Ok(App { engine, folder })
}

/// A GET of a client.
pub fn get(target: &str) -> Request {
    let headers = HeaderMap::from_iter([(http::header::HOST, "example.org".parse().unwrap())]);
    Request { headers, ..Request::sample(Method::GET, target) }
}

impl App {
    /// Sends a request; its answer comes later.
    pub fn ask(&self, request: Request) -> mpsc::Receiver<Answer> {
        let reply = self.engine.call(request);
        let (sender, receiver) = mpsc::channel();
        io_thread().spawn(async move {
            let _ = sender.send(reply.await);
        });
        receiver
    }

    pub fn get(&self, target: &str) -> Result<(u16, String), Fault> {
        self.read(get(target))
    }

    /// Sends a request, and returns the status and the body of its answer.
    pub fn read(&self, request: Request) -> Result<(u16, String), Fault> {
        let response = self.ask(request).recv_timeout(Duration::from_secs(30)).unwrap().result?;
        let mut body = Vec::new();
        match response.body {
            Body::Empty => {}
            Body::Full(bytes) => body.extend_from_slice(&bytes),
            Body::Stream(mut source) => {
                let until = Instant::now() + Duration::from_secs(20);
                while let Some(chunk) = source.next_blocking(until).map_err(|fault| fault.expect("a chunk in time"))? {
                    body.extend_from_slice(&chunk);
                }
            }
            other => panic!("an unexpected body: {other:?}"),
        }
        Ok((response.head.status.as_u16(), String::from_utf8(body).unwrap()))
    }
}

/// Waits until a condition holds; returns false if it does not in time.
pub fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > end {
            return false;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    true
}
