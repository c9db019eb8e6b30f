//! A client on a bad line.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::Ask;
use crate::fault::Fault;
use crate::judge::judge;

/// The bytes that are sent slowly, one at a time.
const TRICKLED: usize = 1_000;
/// Bytes read at a time.
const SIP: usize = 16;
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The slow part of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowStyle {
    /// Sends the head of its request slowly.
    Head,
    /// Sends the body of its request slowly.
    Body,
    /// Reads the response slowly.
    Reader,
}

/// Results of all slow clients, on one thread.
#[derive(Debug, Default)]
pub(crate) struct SlowClientCounts {
    open: Cell<u64>,
    most: Cell<u64>,
    refused: Cell<u64>,
    closed: Cell<u64>,
    done: Cell<u64>,
    failed: Cell<u64>,
    /// The first wrong answer, described.
    pub wrong: RefCell<Option<String>>,
}

/// The end of an exchange.
enum End {
    /// All was sent, and all was read: these bytes.
    Done(Vec<u8>),
    /// The server closed the connection, with a word or without one.
    Closed,
    /// The scenario has ended.
    Over,
}

/// Asks again and again, slowly, until `end`.
pub(crate) async fn trickle(
    port: u16,
    style: SlowStyle,
    ask: &Ask,
    pace: Duration,
    end: Instant,
    counts: &SlowClientCounts,
) {
    while Instant::now() < end {
        match timeout(CONNECT_LIMIT, connect(port, style)).await {
            Ok(Ok(stream)) => {
                add(&counts.open, 1);
                counts.most.set(counts.most.get().max(counts.open.get()));
                let ended = exchange(stream, style, &ask.path, pace, end).await;
                counts.open.set(counts.open.get().saturating_sub(1));
                match ended {
                    End::Done(answer) => {
                        add(&counts.done, 1);
                        counts.note(judged(ask, style, &answer).await);
                    }
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

async fn connect(port: u16, style: SlowStyle) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if style == SlowStyle::Reader {
        // With the default buffer the kernel would read the response for it.
        socket.set_recv_buffer_size(2_048)?;
    }
    let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn exchange(mut stream: TcpStream, style: SlowStyle, path: &str, pace: Duration, end: Instant) -> End {
    let (at_once, slowly) = request(style, path);
    if stream.write_all(at_once.as_bytes()).await.is_err() {
        return End::Closed;
    }
    let mut bytes = [0; SIP];
    let mut answer = Vec::new();
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
            Ok(Ok(0)) if answer.is_empty() => return End::Closed,
            Ok(Ok(0)) => return End::Done(answer),
            Ok(Err(_)) => return End::Closed,
            Ok(Ok(count)) => answer.extend_from_slice(&bytes[..count]),
            // Nothing yet.
            Err(_) => {}
        }
    }
}

/// The part of a request that is sent at once, and the part that is sent slowly.
fn request(style: SlowStyle, path: &str) -> (String, String) {
    let head = format!("{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
    let rest = "x".repeat(TRICKLED);
    match style {
        SlowStyle::Head => (format!("GET {head}X-Slow: "), format!("{rest}\r\n\r\n")),
        SlowStyle::Body => {
            let about = format!("Content-Type: text/plain\r\nContent-Length: {TRICKLED}\r\n");
            (format!("POST {head}{about}\r\n"), rest)
        }
        SlowStyle::Reader => (format!("GET {head}\r\n"), String::new()),
    }
}

/// Whether an answer that was read to its end is the right one. To a POST no right answer is known, since `ask` has
/// that to a GET: any answer that is whole and valid HTTP will do.
async fn judged(ask: &Ask, style: SlowStyle, answer: &[u8]) -> Result<(), Fault> {
    let (status, body) = read(answer).await.map_err(|error| Fault::of_exchange(&error))?;
    match style {
        SlowStyle::Body => Ok(()),
        SlowStyle::Head | SlowStyle::Reader => judge(ask, status, &body),
    }
}

/// Status and body of an answer that is all here.
async fn read(answer: &[u8]) -> Result<(u16, Bytes), hyper::Error> {
    // A pipe that has room for the answer and for the request, which nobody reads.
    let (ours, mut theirs) = duplex(answer.len().max(TRICKLED));
    let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await?;
    let asked = sender.send_request(Request::new(Empty::<Bytes>::new()));
    let arrives = async {
        // Hyper takes an answer only after its request.
        let _ = theirs.read(&mut [0; TRICKLED]).await;
        let _ = theirs.write_all(answer).await;
        drop(theirs);
    };
    let whole = async {
        let answer = asked.await?;
        let status = answer.status().as_u16();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    };
    let ((), _, read) = tokio::join!(arrives, connection, whole);
    read
}

impl SlowClientCounts {
    /// An answer was read to its end.
    fn note(&self, verdict: Result<(), Fault>) {
        let Err(fault) = verdict else { return };
        add(&self.failed, 1);
        if matches!(fault, Fault::Wrong(_)) {
            self.wrong.borrow_mut().get_or_insert_with(|| format!("to a slow client: {}", fault.in_words()));
        }
    }

    /// Number of requests that came to an end: answered, or closed by the server.
    pub fn ended(&self) -> u64 {
        self.done.get() + self.closed.get()
    }

    /// For a person.
    pub fn in_words(&self, wanted: u32) -> String {
        let most = self.most.get();
        let closed = self.closed.get();
        let refused = self.refused.get();
        let done = self.done.get();
        let failed = self.failed.get();
        format!(
            "{wanted} slow clients (a third each sends its head, sends its body, reads its answer slowly): {most} at \
             most were connected at a time, {done} came to their end, {failed} of these without the right answer, the \
             server closed {closed}, and {refused} got no connection"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyRule, on_this_thread};

    /// An application that takes a form answers it otherwise than it shows it.
    #[test]
    fn any_whole_answer_to_a_post_will_do() {
        let ask = Ask::get("/").with_body(BodyRule::Exactly(b"gold".to_vec()));
        let of = |style, answer: &str| on_this_thread(judged(&ask, style, answer.as_bytes())).unwrap();
        let right = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngold";
        let other = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthanks";
        let refused = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let broken = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nthanks";
        for answer in [right, other, refused] {
            assert_eq!(of(SlowStyle::Body, answer), Ok(()), "{answer:?}");
        }
        for style in [SlowStyle::Head, SlowStyle::Reader] {
            assert_eq!(of(style, right), Ok(()), "{style:?}");
            assert!(matches!(of(style, other), Err(Fault::Wrong(_))), "{style:?}");
            assert!(matches!(of(style, refused), Err(Fault::Status(404, _))), "{style:?}");
        }
        for style in [SlowStyle::Head, SlowStyle::Body, SlowStyle::Reader] {
            assert!(of(style, broken).is_err(), "{style:?}");
        }
    }
}
