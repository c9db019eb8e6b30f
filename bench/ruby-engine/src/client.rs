//! A client with one keep-alive connection over a plain socket. It never retries: failures are counted.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Read timeout, longer than any server here may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest response that is accepted.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub body: Option<String>,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// A client.
pub struct Client {
    port: u16,
    /// Whether each request has a new connection.
    fresh: bool,
    stream: Option<TcpStream>,
    /// Bytes that were read and not yet parsed.
    buffer: Vec<u8>,
}

/// Length of a body.
enum Length {
    Bytes(usize),
    Chunked,
    UntilTheEnd,
}

impl Request {
    /// A GET of this path.
    pub fn get(path: impl Into<String>) -> Request {
        Request { method: "GET", path: path.into(), body: None }
    }

    fn bytes(&self, fresh: bool) -> Vec<u8> {
        let method = self.method;
        let path = &self.path;
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        if fresh {
            text.push_str("Connection: close\r\n");
        }
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        } else {
            text.push_str("\r\n");
        }
        text.into_bytes()
    }
}

impl Client {
    /// A client that keeps its connection as long as the server does.
    pub fn kept(port: u16) -> Client {
        Client { port, fresh: false, stream: None, buffer: Vec::new() }
    }

    /// A client with a new connection for each request.
    pub fn fresh(port: u16) -> Client {
        Client { fresh: true, ..Client::kept(port) }
    }

    /// Sends a request and returns the response. After an error the next call opens a new connection.
    pub fn call(&mut self, request: &Request) -> Result<Answer, String> {
        let outcome = self.exchange(request);
        match &outcome {
            Ok((_, true)) => {}
            _ => {
                if let Some(stream) = self.stream.take() {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                self.buffer.clear();
            }
        }
        outcome.map(|(answer, _)| answer)
    }

    /// The response, and whether the connection may be used again.
    fn exchange(&mut self, request: &Request) -> Result<(Answer, bool), String> {
        if self.stream.is_none() {
            let said = |error: std::io::Error| format!("connecting: {}", error.kind());
            let stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(said)?;
            stream.set_nodelay(true).map_err(said)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(said)?;
            self.stream = Some(stream);
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        stream.write_all(&request.bytes(self.fresh)).map_err(|error| format!("sending: {}", error.kind()))?;
        let end = self.read_until(|buffer| find(buffer, b"\r\n\r\n"), "the head")?;
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let (status, length, kept) = read_head(&head)?;
        let body = match length {
            Length::Bytes(bytes) => {
                self.read_until(|buffer| (buffer.len() >= bytes).then_some(bytes), "the body")?;
                self.buffer.drain(..bytes).collect()
            }
            Length::Chunked => self.read_chunks()?,
            Length::UntilTheEnd => {
                while self.read_more("the body")? {}
                std::mem::take(&mut self.buffer)
            }
        };
        if !self.buffer.is_empty() {
            return Err("bytes after the answer".into());
        }
        Ok((Answer { status, body }, kept && !self.fresh))
    }

    fn read_chunks(&mut self) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let end = self.read_until(|buffer| find(buffer, b"\r\n"), "a chunk's length")?;
            let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(text.trim().split(';').next().unwrap_or_default(), 16)
                .map_err(|_| format!("a chunk of length {text:?}"))?;
            self.read_until(|buffer| (buffer.len() >= size + 2).then_some(size), "a chunk")?;
            body.extend(self.buffer.drain(..size));
            if self.buffer.drain(..2).ne(*b"\r\n") {
                return Err("a chunk does not end where it should".into());
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn read_until(&mut self, done: impl Fn(&[u8]) -> Option<usize>, what: &str) -> Result<usize, String> {
        loop {
            if let Some(at) = done(&self.buffer) {
                return Ok(at);
            }
            if !self.read_more(what)? {
                return Err(format!("the connection ended in {what}"));
            }
        }
    }

    /// Reads more; returns whether there was any.
    fn read_more(&mut self, what: &str) -> Result<bool, String> {
        if self.buffer.len() > ANSWER_BYTES_MAX {
            return Err(format!("{what} is longer than {ANSWER_BYTES_MAX} bytes"));
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        let mut bytes = [0; 16 * 1024];
        loop {
            match stream.read(&mut bytes) {
                Ok(count) => {
                    self.buffer.extend_from_slice(&bytes[..count]);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("reading {what}: {}", error.kind())),
            }
        }
    }
}

/// Status, length of the body, and whether the connection stays open.
fn read_head(head: &[u8]) -> Result<(u16, Length, bool), String> {
    let text = std::str::from_utf8(head).map_err(|_| "a head that is not text")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status: u16 = status.ok_or_else(|| format!("a first line {first:?}"))?;
    let mut kept = true;
    let mut length = if status == 204 || status == 304 { Length::Bytes(0) } else { Length::UntilTheEnd };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = Length::Bytes(value.parse().map_err(|_| format!("a length of {value:?}"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            length = Length::Chunked;
        } else if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
            kept = false;
        }
    }
    let kept = kept && !matches!(length, Length::UntilTheEnd);
    Ok((status, length, kept))
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Serves these responses on the same connection, each after one read.
    fn serve(answers: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn bodies_of_all_kinds_are_read() {
        let port = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none",
            "HTTP/1.1 502 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n2\r\n..\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nthe rest",
        ]);
        let mut client = Client::kept(port);
        let mut call = || client.call(&Request::get("/")).unwrap();
        assert_eq!(call(), Answer { status: 200, body: b"one".to_vec() });
        assert_eq!(call(), Answer { status: 502, body: b"two..".to_vec() });
        assert_eq!(call(), Answer { status: 200, body: b"the rest".to_vec() });
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let port = serve(&["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal"]);
        let error = Client::kept(port).call(&Request::get("/")).unwrap_err();
        assert!(error.contains("ended in the body"), "{error}");
    }
}
