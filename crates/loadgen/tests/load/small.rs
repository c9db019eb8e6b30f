//! A small server that answers as its paths say: rightly, wrongly, late, not at all.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as Turn, Notify};

/// Length of the body of `/large`.
pub const LARGE: usize = 1 << 20;

/// State of the server, which tests read and change while it runs.
#[derive(Default)]
pub struct Control {
    /// Requests by path.
    pub asked: Mutex<BTreeMap<String, u64>>,
    /// Connections that were accepted.
    pub connections: AtomicU64,
    /// Time before which nothing is answered.
    pub frozen: Mutex<Option<Instant>>,
    /// Whether all connections end without a response.
    pub dead: AtomicBool,
    /// Number of requests after which the server ends for good, if it is not 0.
    pub last: AtomicU64,
    total: AtomicU64,
    turn: Turn<()>,
    end: Notify,
}

pub struct Small {
    pub port: u16,
    pub control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl Small {
    pub fn start() -> Small {
        let control = Arc::new(Control::default());
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(&control);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                sender.send(listener.local_addr().expect("an address").port()).expect("somebody who waits");
                tokio::select! {
                    () = accept(listener, Arc::clone(&shared)) => {}
                    () = shared.end.notified() => {}
                }
            });
        });
        Small { port: receiver.recv().expect("the port"), control, thread: Some(thread) }
    }

    pub fn connections(&self) -> u64 {
        self.control.connections.load(Ordering::SeqCst)
    }

    pub fn asked(&self, path: &str) -> u64 {
        lock(&self.control.asked).get(path).copied().unwrap_or(0)
    }

    pub fn freeze_for(&self, time: Duration) {
        *lock(&self.control.frozen) = Some(Instant::now() + time);
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.control.end.notify_one();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, control: Arc<Control>) {
    while let Ok((stream, _)) = listener.accept().await {
        control.connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(stream, Arc::clone(&control)));
    }
}

async fn serve(mut stream: TcpStream, control: Arc<Control>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Ok(Some((head, body))) = read_request(&mut stream, &mut buffer).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        *lock(&control.asked).entry(path.clone()).or_default() += 1;
        let last = control.last.load(Ordering::SeqCst);
        if last > 0 && control.total.fetch_add(1, Ordering::SeqCst) + 1 >= last {
            control.end.notify_one();
            return;
        }
        let frozen = *lock(&control.frozen);
        if let Some(until) = frozen {
            tokio::time::sleep_until(until.into()).await;
        }
        if control.dead.load(Ordering::SeqCst) {
            return;
        }
        let lower = head.to_ascii_lowercase();
        let keep = if lower.contains("http/1.0") {
            lower.contains("connection: keep-alive")
        } else {
            !lower.contains("connection: close")
        };
        if answer(&mut stream, &path, body, keep, &control).await.is_err() || !keep {
            return;
        }
    }
}

async fn answer(stream: &mut TcpStream, path: &str, body: usize, keep: bool, control: &Control) -> io::Result<()> {
    let count = lock(&control.asked).get(path).copied().unwrap_or(0);
    let connection = if keep { "keep-alive" } else { "close" };
    let whole = |status: &str, text: &str| {
        let length = text.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n{text}")
    };
    let gone = || Err(io::Error::from(io::ErrorKind::ConnectionAborted));
    let text = match path {
        "/wrong" => whole("200 OK", "hallo\n"),
        // One in fifty, or in a thousand; the very first one; those on a connection that ends with it.
        "/liar" if count % 50 == 0 => whole("200 OK", "hallo\n"),
        "/seldom" if count % 1000 == 0 => whole("200 OK", "hallo\n"),
        "/first" if count == 1 => whole("200 OK", "hallo\n"),
        "/closing" if !keep => whole("200 OK", "hallo\n"),
        // A queue that is worked off after the third request.
        "/full" if count <= 3 => whole("503 Service Unavailable", "queue full\n"),
        "/status" => whole("500 Internal Server Error", "sorry\n"),
        "/garbage" => "this is no HTTP\r\n\r\n".into(),
        // More than was asked for: always, and seldom.
        "/twice" => whole("200 OK", "hello\n").repeat(2),
        "/tail" if count % 300 == 0 => whole("200 OK", "hello\n") + "garbage",
        "/upload" => whole("200 OK", &format!("{body} bytes\n")),
        "/tight" => whole("200 OK", "hello\n").replace("Length: ", "Length:"),
        "/large" => whole("200 OK", &"x".repeat(LARGE)),
        "/close" => return gone(),
        "/cut" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello\n").await?;
            return gone();
        }
        "/hang" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return gone();
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            whole("200 OK", "hello\n")
        }
        "/limited" => {
            // One at a time, so that about 200 are answered per second.
            let _turn = control.turn.lock().await;
            tokio::time::sleep(Duration::from_millis(4)).await;
            whole("200 OK", "hello\n")
        }
        _ => whole("200 OK", "hello\n"),
    };
    stream.write_all(text.as_bytes()).await
}

/// Reads a request; returns its head and the length of its body.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<(String, usize)>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            let length = length.unwrap_or(0);
            while buffer.len() < end + 4 + length {
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
            buffer.drain(..end + 4 + length);
            return Ok(Some((head, length)));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
