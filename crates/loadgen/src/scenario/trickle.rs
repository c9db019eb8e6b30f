//! A client on a bad line.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

/// Number of bytes that are sent slowly, one at a time.
const TRICKLED: usize = 1_000;
/// Bytes read at a time.
const SIP: usize = 16;
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The slow part of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Sends the head of its request slowly.
    Head,
    /// Sends the body of its request slowly.
    Body,
    /// Reads the response slowly.
    Reader,
}

/// Results of all slow clients, on one thread.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    open: Cell<u64>,
    most: Cell<u64>,
    refused: Cell<u64>,
    closed: Cell<u64>,
    done: Cell<u64>,
}

/// The end of an exchange.
enum End {
    /// Everything was sent and read.
    Done,
    /// The server closed the connection, with a response or without one.
    Closed,
    /// The scenario has ended.
    Over,
}

/// Sends requests slowly, one after the other, until `end`.
pub(crate) async fn trickle(port: u16, style: Style, path: &str, pace: Duration, end: Instant, counts: &Counts) {
    while Instant::now() < end {
        match timeout(CONNECT_LIMIT, connect(port, style)).await {
            Ok(Ok(stream)) => {
                add(&counts.open, 1);
                counts.most.set(counts.most.get().max(counts.open.get()));
                let ended = exchange(stream, style, path, pace, end).await;
                counts.open.set(counts.open.get().saturating_sub(1));
                match ended {
                    End::Done => add(&counts.done, 1),
                    End::Closed => add(&counts.closed, 1),
                    End::Over => return,
                }
            }
            _ => add(&counts.refused, 1),
        }
        // A refused client does not return at once: the clients are slow, and no flood.
        sleep(pace).await;
    }
}

fn add(cell: &Cell<u64>, many: u64) {
    cell.set(cell.get() + many);
}

async fn connect(port: u16, style: Style) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if style == Style::Reader {
        // With the default buffer the kernel would read the response for it.
        socket.set_recv_buffer_size(2_048)?;
    }
    let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn exchange(mut stream: TcpStream, style: Style, path: &str, pace: Duration, end: Instant) -> End {
    let (at_once, slowly) = request(style, path);
    if stream.write_all(at_once.as_bytes()).await.is_err() {
        return End::Closed;
    }
    let mut bytes = [0; SIP];
    for byte in slowly.as_bytes() {
        if Instant::now() >= end {
            return End::Over;
        }
        // An early response is a refusal: the connection will not be used any more.
        if timeout(pace, stream.peek(&mut bytes)).await.is_ok() {
            return End::Closed;
        }
        if stream.write_all(&[*byte]).await.is_err() {
            return End::Closed;
        }
    }
    loop {
        if Instant::now() >= end {
            return End::Over;
        }
        sleep(pace).await;
        match timeout(pace, stream.read(&mut bytes)).await {
            Ok(Ok(0)) => return End::Done,
            Ok(Err(_)) => return End::Closed,
            // Some bytes, or none yet.
            Ok(Ok(_)) | Err(_) => {}
        }
    }
}

/// The part of a request that is sent at once, and the part that is sent slowly.
fn request(style: Style, path: &str) -> (String, String) {
    let head = format!("{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
    let rest = "x".repeat(TRICKLED);
    match style {
        Style::Head => (format!("GET {head}X-Slow: "), format!("{rest}\r\n\r\n")),
        Style::Body => {
            let about = format!("Content-Type: text/plain\r\nContent-Length: {TRICKLED}\r\n");
            (format!("POST {head}{about}\r\n"), rest)
        }
        Style::Reader => (format!("GET {head}\r\n"), String::new()),
    }
}

impl Counts {
    /// The results in words.
    pub fn in_words(&self, wanted: u32) -> String {
        let most = self.most.get();
        let closed = self.closed.get();
        let refused = self.refused.get();
        let done = self.done.get();
        format!(
            "{wanted} slow clients (a third each sends its head, sends its body, reads its answer slowly): {most} at \
             most were connected at a time, {done} came to their end, the server closed {closed}, and {refused} got \
             no connection"
        )
    }
}
