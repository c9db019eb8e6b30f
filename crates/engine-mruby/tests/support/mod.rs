//! An engine with a given config.ru, and requests to it without HTTP.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

pub mod peer;
pub mod table;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use engine::{Answer, Body, Engine, Fault, Request};
use engine_mruby::{MrubyEngine, Settings, StartError};
use http::Method;
use tempfile::TempDir;

/// An engine and the folder of its application.
pub struct App {
    /// The engine with the application loaded.
    pub engine: Arc<MrubyEngine>,
    _folder: TempDir,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future in this thread.
pub fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        assert!(Instant::now() < deadline, "no answer in 30 seconds");
        thread::park_timeout(Duration::from_millis(100));
    }
}

/// Waits until a condition holds, for ten seconds at most.
#[track_caller]
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "after ten seconds still not: {what}");
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// Settings of two interpreters with small limits.
pub fn settings() -> Settings {
    Settings {
        rackup: "config.ru".into(),
        environment: "test".into(),
        interpreters: 2,
        fresh: false,
        max_requests: 0,
        max_requests_jitter: 0,
        slow_time: Duration::from_secs(1),
        meter: Default::default(),
        memory_bytes: 32 << 20,
        queue_places: 10,
        app: None,
        boot_time: std::time::Duration::from_secs(60),
        keep: engine_mruby::Keep::default(),
    }
}

/// Settings of one interpreter with enough memory for whole programs (256 MiB).
pub fn single() -> Settings {
    Settings { interpreters: 1, memory_bytes: 256 << 20, ..settings() }
}

/// Starts an application.
pub fn try_app(config: &str, settings: Settings) -> Result<App, StartError> {
    try_files(&[("config.ru", config)], settings)
}

/// Starts an application of several files.
pub fn try_files(files: &[(&str, &str)], settings: Settings) -> Result<App, StartError> {
    App::start(folder(files), settings)
}

/// A folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder in the temporary folder");
        std::fs::write(path, text).expect("a file in the temporary folder");
    }
    folder
}

/// Starts an application that must load.
pub fn app(config: &str) -> App {
    app_with(config, settings())
}

/// An application that runs the file of the folder that the path names, in a fresh interpreter, and answers with its
/// trace (tests/programs/trace.rb).
pub fn programs(folder: &Path) -> App {
    let settings = Settings { interpreters: 1, fresh: true, memory_bytes: 128 << 20, ..settings() };
    let trace = include_str!("../programs/trace.rb");
    let folder = folder.display();
    let run = format!("->(env) {{ [200, {{}}, [Programs.run('{folder}' + env['PATH_INFO']).join(\"\\n\")]] }}");
    app_with(&format!("FoolsGold.allow_read('{folder}')\n{trace}\nrun {run}"), settings)
}

/// Starts an application that must load.
pub fn app_with(config: &str, settings: Settings) -> App {
    try_app(config, settings).unwrap_or_else(|error| panic!("{error}"))
}

/// A request for a path.
pub fn get(path: &str) -> Request {
    Request::sample(Method::GET, path)
}

/// A request for a path that has this time.
pub fn within(path: &str, milliseconds: u64) -> Request {
    let mut request = get(path);
    request.deadline = Instant::now() + Duration::from_millis(milliseconds);
    request
}

/// Runs Ruby code in a request and returns its value, inspected.
pub fn eval(code: &str) -> String {
    let config = format!("def check\n{code}\nend\nrun ->(env) {{ [200, {{}}, [check.inspect]] }}");
    app(&config).body("/")
}

/// Checks the value of Ruby code, inspected.
#[track_caller]
pub fn assert_eval(code: &str, expected: &str) {
    assert_eq!(eval(code), expected, "{code}");
}

/// The folder of gems that bin/gems fills.
pub fn gems() -> PathBuf {
    let gems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/gems");
    let Ok(gems) = gems.canonicalize() else { panic!("the gems are not there: run bin/gems, or all of bin/setup") };
    gems
}

/// A response: status, headers as text, body.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl App {
    /// Starts the application of a folder.
    pub fn start(folder: TempDir, settings: Settings) -> Result<App, StartError> {
        let settings = Settings { rackup: folder.path().join("config.ru"), ..settings };
        MrubyEngine::start(settings).map(|engine| App { engine, _folder: folder })
    }

    /// Calls the application and waits for its answer.
    pub fn call(&self, request: Request) -> Answer {
        wait(self.engine.call(request))
    }

    /// The response to a request; a fault fails the test.
    pub fn got(&self, request: Request) -> Got {
        let response = match self.call(request).result {
            Ok(response) => response,
            Err(fault) => panic!("{fault:?}"),
        };
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        Got { status: response.head.status.as_u16(), headers, body: read(response.body) }
    }

    /// The body of the response to a path.
    pub fn body(&self, path: &str) -> String {
        self.got(get(path)).body
    }

    /// The fault of a request; a response fails the test.
    pub fn fault(&self, request: Request) -> Fault {
        self.call(request).result.map(|response| panic!("{response:?}")).unwrap_err()
    }
}

/// Calls a path that never ends, with a deadline of some milliseconds. Checks that the request fails within `soon`, and
/// that the next one is answered.
#[track_caller]
pub fn assert_ends_in_time(app: &App, path: &str, milliseconds: u64, soon: Duration) {
    let begin = Instant::now();
    match app.fault(within(path, milliseconds)) {
        Fault::OutOfTime(_) => {}
        Fault::App(error) if error.class == "FoolsGold::RequestTimeout" => {}
        other => panic!("{path}: {other:?}"),
    }
    assert!(begin.elapsed() < soon, "{path} took {:?}", begin.elapsed());
    assert_eq!(app.body("/ok"), "fine", "after {path}");
}

/// Calls a path that never ends: it holds up neither its caller nor requests for `/ok`, and ends at its deadline.
#[track_caller]
pub fn assert_holds_nobody_up(app: &App, path: &str) {
    let begin = Instant::now();
    let stuck = app.engine.call(within(path, 1000));
    assert!(begin.elapsed() < Duration::from_millis(400), "{path} held the I/O thread for {:?}", begin.elapsed());
    while begin.elapsed() < Duration::from_millis(800) {
        let asked = Instant::now();
        assert_eq!(app.body("/ok"), "fine");
        assert!(asked.elapsed() < Duration::from_millis(400), "during {path}: {:?}", asked.elapsed());
    }
    match wait(stuck).result {
        Err(Fault::OutOfTime(_)) => {}
        other => panic!("{path}: {other:?}"),
    }
    assert!(begin.elapsed() < Duration::from_secs(3), "{path} took {:?}", begin.elapsed());
}

/// The whole text of a body.
pub fn read(body: Body) -> String {
    let bytes = bytes_of(body).unwrap_or_else(|fault| panic!("{fault:?}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The whole body, or the fault with which it broke off.
pub fn bytes_of(body: Body) -> Result<Vec<u8>, Fault> {
    let mut all = Vec::new();
    match body {
        Body::Empty | Body::Unasked => {}
        Body::Full(bytes) => all.extend_from_slice(&bytes),
        Body::File(mut file, _) => {
            std::io::Read::read_to_end(&mut file, &mut all).unwrap();
        }
        Body::Stream(mut source) => {
            let deadline = Instant::now() + Duration::from_secs(20);
            while let Some(chunk) = source.next_blocking(deadline).map_err(|fault| fault.expect("in time"))? {
                all.extend_from_slice(&chunk);
            }
        }
        other => panic!("{other:?}"),
    }
    Ok(all)
}
