//! A client that sends the bytes it is given and reads one response at a time, by Content-Length, chunks or the end of
//! the connection. It has a deadline for everything and no cleverness: no redirects, no retries, no pool.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};

use super::MAX_WAIT;

/// One response.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    /// In the order in which they came, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A TCP or a Unix socket.
trait Stream: Read + Write + Send + AsFd {}

impl<S: Read + Write + Send + AsFd> Stream for S {}

/// One connection.
pub struct Client(BufReader<Box<dyn Stream>>);

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Client {
    pub fn tcp(port: u16) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::on(Box::new(stream))
    }

    pub fn over(stream: TcpStream) -> Client {
        Client::on(Box::new(stream))
    }

    pub fn unix(path: &Path) -> Client {
        // The file is there before anybody listens.
        let mut stream = UnixStream::connect(path);
        super::within(MAX_WAIT, || {
            if stream.is_err() {
                stream = UnixStream::connect(path);
            }
            stream.is_ok()
        });
        Client::on(Box::new(stream.unwrap()))
    }

    fn on(stream: Box<dyn Stream>) -> Client {
        let mut client = Client(BufReader::new(stream));
        client.set_timeout(MAX_WAIT);
        client
    }

    /// Sets how long a read or a write may take from now on.
    pub fn set_timeout(&mut self, limit: Duration) {
        for direction in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(self.0.get_ref(), direction, Some(limit)).unwrap();
        }
    }

    /// Sends bytes; an error is not a failure, since the server may have closed for a reason under test.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())
    }

    /// Says that nothing more is sent.
    pub fn end_sending(&self) {
        let _ = shutdown(self.0.get_ref(), Shutdown::Write);
    }

    /// Sends a request without a body.
    pub fn send_get(&mut self, path: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).unwrap();
    }

    /// Sends a request, whose lines end with LF here, and reads the response.
    pub fn ask(&mut self, request: &str) -> Reply {
        self.send(request.replace('\n', "\r\n")).unwrap();
        self.reply().unwrap()
    }

    /// Sends a request without a body and reads the response.
    pub fn get(&mut self, path: &str) -> Reply {
        self.get_as(path, "test")
    }

    /// The same for a certain host.
    pub fn get_as(&mut self, path: &str, host: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).unwrap();
        self.reply().unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// Sends a request with a body and reads the response.
    pub fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        self.send(format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len())).unwrap();
        self.send(body).unwrap();
        self.reply().unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// Reads a whole response.
    pub fn reply(&mut self) -> io::Result<Reply> {
        let mut reply = self.head()?;
        if reply.status >= 200 && reply.status != 204 && reply.status != 304 {
            reply.body = self.body(&reply)?;
        }
        Ok(reply)
    }

    /// Reads status line and headers only: for HEAD, for 100, and for a body to be read bit by bit.
    pub fn head(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not a status line: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(Reply { status, headers, body: Vec::new() });
            }
            let (name, value) =
                line.split_once(':').ok_or_else(|| io::Error::other(format!("not a header: {line:?}")))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// The body of an answer whose head has been read.
    pub fn body(&mut self, reply: &Reply) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(mut chunk) = self.chunk()? {
                body.append(&mut chunk);
            }
        } else if let Some(length) = reply.header("content-length") {
            let length: usize = length.parse().map_err(io::Error::other)?;
            body.resize(length, 0);
            self.0.read_exact(&mut body)?;
        } else {
            self.0.read_to_end(&mut body)?;
        }
        Ok(body)
    }

    /// One chunk of a chunked body; none after the last, whose trailers are read too.
    pub fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line()?;
        let length = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16)
            .map_err(|_| io::Error::other(format!("not a chunk length: {line:?}")))?;
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk)?;
        let mut after = self.line()?;
        if length > 0 {
            return Ok(Some(chunk));
        }
        while !after.is_empty() {
            after = self.line()?;
        }
        Ok(None)
    }

    /// Reads whatever still comes, until the server closes.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// Whether the server has closed, waiting for it. A reset counts as closing.
    pub fn is_closed(&mut self) -> bool {
        match self.0.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            let got = String::from_utf8_lossy(&line).into_owned();
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("closed after {got:?}")));
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map_err(io::Error::other)
    }
}
