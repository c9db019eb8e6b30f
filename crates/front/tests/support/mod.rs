//! A served test engine and a raw-byte client. Everything waits with a deadline, and nothing sleeps.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{
    Body, Engine, Input, Meter, Reply, Request, Responder, Response, ResponseHead, Sink, Status, body, reply,
};
use front::{AccessLog, Bind, Ended, Limits, Listener, LogFormat, Settings, Stop};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Time after which a test fails.
pub const SOON: Duration = Duration::from_secs(10);

/// Names and values of headers.
pub type Headers = &'static [(&'static str, &'static str)];

type Act = Box<dyn Fn(Request) -> Reply + Send + Sync>;

/// An engine that answers by a closure and records its calls.
pub struct TestEngine {
    act: Act,
    pub calls: AtomicUsize,
    pub targets: Mutex<VecDeque<String>>,
    pub shows_faults: AtomicBool,
    /// Counts what the front refuses or gives up.
    pub meter: Arc<Meter>,
}

impl Engine for TestEngine {
    fn call(&self, request: Request) -> Reply {
        self.targets.lock().unwrap().push_back(format!("{} {}", request.method, request.target));
        let reply = (self.act)(request);
        // Counted after the closure: tests wait for the count and then check its effects.
        self.calls.fetch_add(1, Ordering::SeqCst);
        reply
    }

    /// `/app/shop` belongs to `shop`, and so on.
    fn app_of(&self, request: &Request) -> Option<Arc<str>> {
        request.path.strip_prefix("/app/").map(Arc::from)
    }

    fn meter_of(&self, _: Option<&str>) -> Option<Arc<Meter>> {
        Some(self.meter.clone())
    }

    fn shows_faults(&self, _: Option<&str>) -> bool {
        self.shows_faults.load(Ordering::SeqCst)
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn close(&self) {}
}

pub fn limits() -> Limits {
    Limits {
        header_bytes: 8192,
        header_count: 20,
        header_time: SOON,
        body_bytes: 1 << 20,
        body_memory_bytes: 1 << 16,
        body_time: SOON,
        keep_alive: SOON,
        connections: 100,
        connections_per_client: None,
        spare_files: 0,
        write_time: SOON,
        spool_bytes: 1 << 30,
        queue_wait: Duration::from_secs(3),
        request_time: SOON,
        drain_time: SOON,
        websocket_drain: Duration::ZERO,
    }
}

pub fn settings() -> Settings {
    Settings {
        limits: limits(),
        trusted: Vec::new(),
        access_log: None,
        passes_underscores: true,
        remote_address: front::RemoteAddress::Socket,
        scheme: None,
        more_connections: "",
        json_errors: false,
        counts: Default::default(),
    }
}

/// Settings with other limits.
pub fn limited(change: impl FnOnce(&mut Limits)) -> Settings {
    let mut settings = settings();
    change(&mut settings.limits);
    settings
}

/// Settings with an access log, and what is written to it.
pub fn logged(format: LogFormat) -> (Settings, Shelf) {
    let shelf = Shelf::default();
    (Settings { access_log: shelf.log(format), ..settings() }, shelf)
}

pub fn full(text: &str) -> Response {
    Response { head: ResponseHead::default(), body: Body::Full(Bytes::copy_from_slice(text.as_bytes())) }
}

pub fn with(status: i64, headers: &[(&str, &str)], body: Body) -> Response {
    let mut head = ResponseHead::default();
    head.set_status(status).unwrap();
    for (name, value) in headers {
        head.add(name.as_bytes(), value.as_bytes()).unwrap();
    }
    Response { head, body }
}

/// The bytes of a request's body.
pub fn content(input: Input) -> Vec<u8> {
    match input {
        Input::Memory(bytes) => bytes.to_vec(),
        Input::File(file, length) => {
            let mut bytes = vec![0; length as usize];
            std::os::unix::fs::FileExt::read_exact_at(&**file, &mut bytes, 0).unwrap();
            bytes
        }
        _ => Vec::new(),
    }
}

/// A listener on a free TCP port, whose connections wait until it is served.
pub fn listeners() -> Vec<Listener> {
    front::listen(&["tcp://127.0.0.1:0".parse().unwrap()]).unwrap()
}

/// A front that serves until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub stop: Stop,
    pub engine: Arc<TestEngine>,
    serving: Option<JoinHandle<Ended>>,
    runtime: Option<Runtime>,
}

impl Server {
    pub fn start(act: impl Fn(Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::with(settings(), act)
    }

    /// Answers with the request body, and with its length if it is large.
    pub fn echo(settings: Settings) -> Server {
        Server::with(settings, |request| {
            let text = match request.input {
                Input::Memory(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Input::File(_, length) => {
                    let sum = content(request.input).iter().map(|byte| u64::from(*byte)).sum::<u64>();
                    format!("file of {length}, sum {sum}")
                }
                _ => "empty".into(),
            };
            Reply::ready(Ok(full(&text)))
        })
    }

    /// Answers by a closure, which returns each reply with a value for the test. The values are collected.
    pub fn leaving<T: Send + 'static>(
        settings: Settings,
        act: impl Fn(Request) -> (Reply, T) + Send + Sync + 'static,
    ) -> (Server, Arc<Mutex<Vec<T>>>) {
        let left: Arc<Mutex<Vec<T>>> = Arc::default();
        let theirs = left.clone();
        let server = Server::with(settings, move |request| {
            let (reply, one) = act(request);
            theirs.lock().unwrap().push(one);
            reply
        });
        (server, left)
    }

    /// Answers nothing: the test has the responders of the calls.
    pub fn keeping(settings: Settings) -> (Server, Arc<Mutex<Vec<Responder>>>) {
        Server::leaving(settings, |_| {
            let (responder, reply) = reply::pair();
            (reply, responder)
        })
    }

    /// Answers with streams, and gives the test their sinks.
    pub fn streaming(settings: Settings, headers: Headers) -> (Server, Arc<Mutex<Vec<Sink>>>) {
        Server::leaving(settings, move |_| {
            let (sink, source) = body::stream(1 << 16);
            (Reply::ready(Ok(with(200, headers, Body::Stream(source)))), sink)
        })
    }

    /// Answers with upgrades of this status, and gives the test the application's ends of the connections.
    pub fn upgrading(status: i64, headers: Headers) -> (Server, Arc<Mutex<Vec<engine::Duplex>>>) {
        Server::leaving(settings(), move |_| {
            let (ours, app) = body::duplex(1 << 16);
            (Reply::ready(Ok(with(status, headers, Body::Upgrade(ours)))), app)
        })
    }

    pub fn with(settings: Settings, act: impl Fn(Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::on(listeners(), 2, settings, act)
    }

    /// Serves these listeners, the first of which is on TCP, with this number of I/O threads.
    pub fn on(
        listeners: Vec<Listener>,
        io_threads: usize,
        settings: Settings,
        act: impl Fn(Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let Bind::Tcp(address) = listeners[0].local() else { panic!("not TCP") };
        let (calls, targets, shows_faults, meter) = Default::default();
        let engine = Arc::new(TestEngine { act: Box::new(act), calls, targets, shows_faults, meter });
        let stop = Stop::new();
        let theirs = engine.clone();
        let ending = stop.clone();
        let serving = runtime.spawn(async move {
            let io_threads = front::IoThreads::start(io_threads).unwrap();
            front::serve(listeners, &io_threads, theirs, Arc::new(settings), ending).unwrap().await
        });
        Server { address, stop, engine, serving: Some(serving), runtime: Some(runtime) }
    }

    pub fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Connects and sends the bytes.
    pub fn send(&self, bytes: impl AsRef<[u8]>) -> Client {
        let mut client = self.connect();
        client.send(bytes);
        client
    }

    /// Sends the bytes and reads everything until the server closes.
    pub fn ask(&self, bytes: impl AsRef<[u8]>) -> String {
        self.send(bytes).rest()
    }

    pub fn calls(&self) -> usize {
        self.engine.calls.load(Ordering::SeqCst)
    }

    /// Waits until serving has ended.
    pub fn ended(&mut self) -> Ended {
        let serving = self.serving.take().unwrap();
        self.runtime.as_ref().unwrap().block_on(async { tokio::time::timeout(SOON, serving).await.unwrap().unwrap() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A response as it arrived.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may have closed already; its response is checked later.
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Goes on sending for a while after the last response, and finds only the end of the connection.
    #[track_caller]
    pub fn assert_not_reset(&mut self) {
        for _ in 0..10 {
            // After a reset this fails, from the second time on.
            self.stream.write_all(&[b'x'; 10_000]).unwrap();
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self.stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(self.rest(), "");
    }

    /// Everything until the server closes; a reset counts as a close. Fails if it stays open.
    pub fn rest(&mut self) -> String {
        if let Err(error) = self.stream.read_to_end(&mut self.buffer) {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "open after {:?}", String::from_utf8_lossy(&self.buffer));
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }

    /// Whether the server closes in time, without a further byte.
    pub fn is_closed(&mut self) -> bool {
        let is_end = match self.stream.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            // A reset is an end, and silence is none.
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        self.buffer.is_empty() && is_end
    }

    fn more(&mut self) {
        let mut bytes = [0; 65536];
        let count = self.stream.read(&mut bytes).expect("bytes in time");
        assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&self.buffer));
        self.buffer.extend_from_slice(&bytes[..count]);
    }

    /// Bytes up to and including the mark.
    pub fn until(&mut self, mark: &str) -> String {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark.as_bytes()) {
                let taken: Vec<u8> = self.buffer.drain(..at + mark.len()).collect();
                return String::from_utf8_lossy(&taken).into_owned();
            }
            self.more();
        }
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.more();
        }
        self.buffer.drain(..count).collect()
    }

    pub fn head(&mut self) -> Got {
        let head = self.until("\r\n\r\n");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Got { status, head, body: Vec::new() }
    }

    /// One whole response, with a length or chunked.
    pub fn response(&mut self) -> Got {
        let mut got = self.head();
        if let Some(len) = got.header("content-length") {
            got.body = self.exactly(len.parse().unwrap());
        } else if got.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(self.until("\r\n").trim(), 16).unwrap();
                got.body.extend(self.exactly(size));
                self.until("\r\n");
                if size == 0 {
                    break;
                }
            }
        }
        got
    }

    pub fn get(&mut self, path: &str) -> Got {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.response()
    }
}

/// The moment at which a test that waits from now on fails.
pub fn soon() -> Instant {
    Instant::now() + SOON
}

/// Polls until the check holds.
pub fn eventually(what: &str, check: impl Fn() -> bool) {
    let ends = soon();
    while !check() {
        assert!(Instant::now() < ends, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Runs a scene until it goes well, at most `attempts` times: on a busy machine, the server or the test may be stopped
/// for longer than the other waits for it.
pub fn repeated(attempts: u32, scene: impl Fn() -> Option<()>) {
    assert!((0..attempts).any(|_| scene().is_some()), "it has never gone well");
}

/// A log that tests can read.
#[derive(Clone, Default)]
pub struct Shelf(pub Arc<Mutex<Vec<u8>>>);

impl Shelf {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    pub fn log(&self, format: LogFormat) -> Option<AccessLog> {
        Some(AccessLog::new(format, front::QueryLog::default(), self.clone(), Arc::default()))
    }
}

impl Write for Shelf {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
