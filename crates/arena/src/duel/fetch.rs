//! Sends one request on a connection of its own and reads the whole response. Used to learn and check answers, not for
//! load.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::answer::Answer;
use super::request::DuelRequest;

/// `Host` of every request, whatever the port: pages that contain their own address stay the same.
pub const HOST: &str = "localhost";
/// Longest response body that is accepted.
const ANSWER_BYTES_MAX: usize = 64 << 20;
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Framing of a response body (RFC 9112, section 6.3).
enum Length {
    Bytes(usize),
    Chunked,
    UntilTheEnd,
}

struct Reader<'a> {
    stream: TcpStream,
    buffer: Vec<u8>,
    deadline: Instant,
    /// When to call the function once because the answer is slow.
    slow: Option<(Instant, &'a mut dyn FnMut())>,
    is_late: bool,
}

/// Reason why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Message with the request in it.
    pub words: String,
    /// Whether the server took the request and did not answer in time.
    pub is_late: bool,
}

/// Fetches the answer of the server on this port of 127.0.0.1, within `limit`.
pub fn fetch(port: u16, asked: &DuelRequest, limit: Duration) -> Result<Answer, Unanswered> {
    fetch_with_notice(port, asked, limit, (limit, &mut || {}))
}

/// Fetches an answer and calls the function in `slow` once if none has come after that time.
pub fn fetch_with_notice(
    port: u16,
    asked: &DuelRequest,
    limit: Duration,
    slow: (Duration, &mut dyn FnMut()),
) -> Result<Answer, Unanswered> {
    let mut is_late = false;
    exchange(port, asked, limit, slow, &mut is_late).map_err(|error| {
        let asked = asked.in_words();
        let seconds = limit.as_secs_f64();
        let words =
            if is_late { format!("{asked}: no answer within {seconds} s") } else { format!("{asked}: {error}") };
        Unanswered { words, is_late }
    })
}

fn exchange(
    port: u16,
    asked: &DuelRequest,
    limit: Duration,
    slow: (Duration, &mut dyn FnMut()),
    is_late: &mut bool,
) -> Result<Answer, String> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let connected = TcpStream::connect_timeout(&address, CONNECT_LIMIT.min(limit));
    let mut stream = connected.map_err(|error| format!("no connection: {error}"))?;
    let cannot = |error: std::io::Error| format!("the request could not be sent: {error}");
    stream.set_write_timeout(Some(limit)).map_err(cannot)?;
    // A server may answer and close before it has read the whole request; its answer still counts.
    let sent = stream.write_all(&head(asked)).and_then(|()| stream.write_all(&asked.body));
    let now = Instant::now();
    let slow = Some((now + slow.0, slow.1));
    let mut reader = Reader { stream, buffer: Vec::new(), deadline: now + limit, slow, is_late: false };
    let answer = reader.answer(&asked.method);
    *is_late = reader.is_late;
    match (answer, sent) {
        (Ok(answer), _) => Ok(answer),
        (Err(_), Err(error)) => Err(cannot(error)),
        (Err(error), Ok(())) => Err(error),
    }
}

fn head(asked: &DuelRequest) -> Vec<u8> {
    let mut text = format!("{} {} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n", asked.method, asked.path);
    for (name, value) in &asked.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !asked.is_safe() {
        text.push_str(&format!("content-length: {}\r\n", asked.body.len()));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

impl Reader<'_> {
    fn answer(&mut self, method: &str) -> Result<Answer, String> {
        let (mut answer, mut length) = loop {
            let end = self.read_until("the head", |buffer| find(buffer, b"\r\n\r\n"))?;
            let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
            let (answer, length) = read_head(&head)?;
            // An interim response, such as 103 with early hints, has no body; the answer comes after it.
            if !matches!(answer.status, 100 | 102..=199) {
                break (answer, length);
            }
        };
        // For HEAD some servers close the connection, others give the length that the body would have.
        if method == "HEAD" {
            length = Length::Bytes(0);
        }
        answer.body = match length {
            Length::Bytes(bytes) => {
                self.read_until("the body", |buffer| (buffer.len() >= bytes).then_some(bytes))?;
                self.buffer.drain(..bytes).collect()
            }
            Length::Chunked => self.chunks()?,
            Length::UntilTheEnd => {
                while self.read_more("the body")? {}
                std::mem::take(&mut self.buffer)
            }
        };
        Ok(answer)
    }

    fn chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let end = self.read_until("a chunk's length", |buffer| find(buffer, b"\r\n"))?;
            let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&line).into_owned();
            let digits = text.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16).map_err(|_| format!("a chunk of length {digits:?}"))?;
            if size == 0 {
                return Ok(body);
            }
            let whole = size.saturating_add(2);
            self.read_until("a chunk", |buffer| (buffer.len() >= whole).then_some(whole))?;
            body.extend(self.buffer.drain(..size));
            self.buffer.drain(..2);
        }
    }

    fn read_until(&mut self, what: &str, done: impl Fn(&[u8]) -> Option<usize>) -> Result<usize, String> {
        loop {
            if let Some(at) = done(&self.buffer) {
                return Ok(at);
            }
            if !self.read_more(what)? {
                return Err(format!("the connection ended in {what}"));
            }
        }
    }

    /// Reads more bytes into the buffer; false at the end of the stream.
    fn read_more(&mut self, what: &str) -> Result<bool, String> {
        if self.buffer.len() > ANSWER_BYTES_MAX {
            return Err(format!("{what} is longer than {ANSWER_BYTES_MAX} bytes"));
        }
        let mut bytes = [0; 16 * 1024];
        loop {
            let now = Instant::now();
            if let Some((_, tell)) = self.slow.take_if(|(when, _)| *when <= now) {
                tell();
            }
            let next = self.slow.as_ref().map_or(self.deadline, |(when, _)| self.deadline.min(*when));
            if self.deadline <= now {
                self.is_late = true;
                return Err(format!("no answer in time while reading {what}"));
            }
            let left = next.saturating_duration_since(now).max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
            match self.stream.read(&mut bytes) {
                Ok(count) => {
                    self.buffer.extend_from_slice(&bytes[..count]);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
                Err(error) => return Err(format!("reading {what}: {error}")),
            }
        }
    }
}

/// Parses the head: an answer without its body, and the framing of that body.
fn read_head(head: &[u8]) -> Result<(Answer, Length), String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let is_http = first.starts_with("HTTP/1.");
    let status = first.get(9..12).filter(|_| is_http).and_then(|digits| digits.parse().ok());
    let status: u16 = status.ok_or_else(|| format!("no HTTP: it begins with {first:?}"))?;
    let mut answer = Answer { status, ..Answer::default() };
    let (mut bytes, mut encoding) = (None, None);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => bytes = Some(value),
            "transfer-encoding" => encoding = Some(value),
            "content-type" => answer.content_type = value.to_owned(),
            "location" => answer.location = value.to_owned(),
            _ => {}
        }
    }
    // Transfer-Encoding takes precedence over Content-Length.
    let length = match (encoding, bytes) {
        _ if status == 204 || status == 304 => Length::Bytes(0),
        (Some(encoding), _) if encoding.to_ascii_lowercase().ends_with("chunked") => Length::Chunked,
        (Some(_), _) | (None, None) => Length::UntilTheEnd,
        (None, Some(bytes)) => Length::Bytes(bytes.parse().map_err(|_| format!("a length of {bytes:?}"))?),
    };
    Ok((answer, length))
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Serves this answer once; the thread returns the request that came.
    fn serve(answer: &'static str) -> (u16, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        });
        (port, served)
    }

    #[test]
    fn answers_of_all_kinds_are_read() {
        let rows = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\ncontent-type: text/x\r\n\r\none", 200, "one"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\ntwo\r\n1\r\n!\r\n0\r\n\r\n", 200, "two!"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n1\r\n!\r\n0\r\n\r\n", 200, "!"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200, ""),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\ncontent-length: 3\r\n\r\nthe rest", 200, "the rest"),
            ("HTTP/1.0 404 No\r\n\r\nthe rest", 404, "the rest"),
            ("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, ""),
            ("HTTP/1.1 204 None\r\n\r\n", 204, ""),
            ("HTTP/1.1 103 Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none", 200, "one"),
            ("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 404 No\r\n\r\nthe rest", 404, "the rest"),
        ];
        for (text, status, body) in rows {
            let (port, served) = serve(text);
            let answer = fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap();
            assert_eq!((answer.status, answer.body.as_slice()), (status, body.as_bytes()), "{text}");
            assert!(served.join().unwrap().starts_with("GET /a HTTP/1.1\r\nhost: localhost\r\n"));
        }
        let (port, served) = serve("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n");
        assert_eq!(fetch(port, &DuelRequest::new("HEAD", "/a"), LIMIT).unwrap().body, b"");
        served.join().unwrap();
    }

    #[test]
    fn bodies_and_headers_are_sent() {
        let (port, served) = serve("HTTP/1.1 201 OK\r\ncontent-length: 0\r\n\r\n");
        let headers = vec![("content-type".to_owned(), "a/b".to_owned())];
        let asked = DuelRequest { headers, body: b"{}".to_vec(), ..DuelRequest::new("POST", "/a") };
        fetch(port, &asked, LIMIT).unwrap();
        let request = served.join().unwrap();
        assert!(request.contains("content-type: a/b\r\ncontent-length: 2\r\n"), "{request}");
    }

    #[test]
    fn what_is_no_answer_says_so() {
        for (text, part) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "ended in the body"),
            ("SSH-2.0\r\n\r\n", "no HTTP"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "a chunk of length"),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "a length of"),
        ] {
            let (port, served) = serve(text);
            let error = fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap_err();
            assert!(error.words.starts_with("GET /a: ") && error.words.contains(part), "{error:?}");
            assert!(!error.is_late);
            served.join().unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = fetch(port, &DuelRequest::new("GET", "/a"), Duration::from_millis(50)).unwrap_err();
        assert!(error.is_late && error.words.contains("no answer within"), "{error:?}");
        drop(listener);
        assert!(fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap_err().words.contains("no connection"));
    }
}
