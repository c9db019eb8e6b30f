//! A connection to Redis with limits on time and size. It is our own client because the protocol is small and the
//! limits matter: a reply that never ends, or claims to be enormous, must harm its own request only.

pub mod calls;
mod error;
mod reply;

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use error::too_much;
use ruby_native::Tree;

pub use error::RedisError;

/// The address of a Redis server.
pub enum Place<'a> {
    /// A host name or IP address, and a port.
    Tcp(&'a str, u16),
    /// The path of a Unix socket.
    Unix(&'a Path),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// An open connection to a Redis server.
pub struct RedisConnection {
    stream: Stream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been read.
    at: usize,
    until: Instant,
    /// Bytes that the current replies may still take.
    left: usize,
}

impl RedisConnection {
    /// Connects to a server until `until` at the latest.
    pub fn open(place: &Place<'_>, until: Instant) -> Result<RedisConnection, RedisError> {
        let stream = match place {
            Place::Unix(path) => unix(path, until).map(Stream::Unix),
            Place::Tcp(host, port) => tcp(host, *port, until).map(Stream::Tcp),
        };
        let stream = stream.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => RedisError::Time,
            _ => RedisError::Connect(error.to_string()),
        })?;
        Ok(RedisConnection { stream, buffer: Vec::new(), at: 0, until, left: 0 })
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), RedisError> {
        while !bytes.is_empty() {
            let left = Some(self.time_left()?);
            let written = match &mut self.stream {
                Stream::Tcp(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
                Stream::Unix(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
            };
            match written {
                Ok(0) => return Err(RedisError::Lost("it takes no more".into())),
                Ok(count) => bytes = &bytes[count..],
                Err(error) => self.look_at(error)?,
            }
        }
        Ok(())
    }

    fn time_left(&self) -> Result<Duration, RedisError> {
        time_until(self.until).map_err(|_| RedisError::Time)
    }

    /// Ok where the read or write should be repeated after this error, else the error for the caller.
    fn look_at(&self, error: io::Error) -> Result<(), RedisError> {
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                self.time_left().map(|_| ())
            }
            _ => Err(RedisError::Lost(error.to_string())),
        }
    }

    /// Reads until there are `wanted` unread bytes in the buffer.
    fn fill(&mut self, wanted: usize) -> Result<(), RedisError> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        while self.buffer.len() < wanted {
            let time = Some(self.time_left()?);
            let mut part = [0; 16 << 10];
            let read = match &mut self.stream {
                Stream::Tcp(stream) => stream.set_read_timeout(time).and_then(|()| stream.read(&mut part)),
                Stream::Unix(stream) => stream.set_read_timeout(time).and_then(|()| stream.read(&mut part)),
            };
            match read {
                Ok(0) => return Err(RedisError::Lost("it was closed".into())),
                Ok(count) => {
                    self.left = self.left.checked_sub(count).ok_or_else(too_much)?;
                    self.buffer.extend_from_slice(&part[..count]);
                }
                Err(error) => self.look_at(error)?,
            }
        }
        Ok(())
    }
}

/// The time left until an instant; an error where there is none.
fn time_until(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Connects to a Unix socket. `connect` waits while the server's queue of connections is full; on Linux the time limit
/// for sending ends that wait as well.
fn unix(path: &Path, until: Instant) -> io::Result<UnixStream> {
    let left = time_until(until)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(left))?;
    let address = SocketAddrUnix::new(path)?;
    rustix::io::retry_on_intr(|| connect(&socket, &address))?;
    Ok(UnixStream::from(socket))
}

fn tcp(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    first_that_accepts(&addresses(host, port, until)?, until)
}

/// Connects to the first of these addresses that accepts. Each has an equal share of the time that is left: one that
/// does not answer (IPv6 behind a firewall that drops) leaves the others theirs.
fn first_that_accepts(addresses: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (address, untried) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = time_until(until)? / u32::try_from(untried).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Resolves a host name in a thread of its own, so that a lookup that hangs blocks that thread and not the request.
fn addresses(host: &str, port: u16, until: Instant) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = sync_channel(1);
    let name = host.to_owned();
    thread::Builder::new().name("lookup".into()).spawn(move || {
        // Sending fails only after the request has given up.
        let _ = sender.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect));
    })?;
    let left = until.saturating_duration_since(Instant::now());
    receiver.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Appends a command as a RESP array of bulk strings; an error for nil, true, false and nested values, and for a float:
/// Ruby has its own way of printing them.
pub fn encode(command: &[Tree], out: &mut Vec<u8>) -> Result<(), String> {
    out.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
    for part in command {
        let text = match part {
            Tree::Str(bytes) | Tree::Bytes(bytes) | Tree::Sym(bytes) | Tree::Raw(bytes) => bytes.clone(),
            Tree::Int(number) => number.to_string().into_bytes(),
            Tree::Float(_) => return Err("Unsupported command argument type: Float".into()),
            Tree::Nil => return Err("Unsupported command argument type: NilClass".into()),
            Tree::Bool(_) => return Err("Unsupported command argument type: true or false".into()),
            Tree::Array(_) | Tree::Hash(_) => return Err("Unsupported command argument type: nested too deep".into()),
        };
        out.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
        out.extend_from_slice(&text);
        out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::net::{bind, listen};

    use super::*;

    #[test]
    fn an_address_that_does_not_answer_leaves_the_others_their_time() {
        let full = TcpListener::bind("127.0.0.1:0").unwrap();
        // The kernel drops what comes once the queue is full.
        listen(&full, 0).unwrap();
        let silent = full.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&silent, Duration::from_millis(200)) {
            waiting.push(stream);
        }
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let accepts = server.local_addr().unwrap();
        let begin = Instant::now();
        let stream = first_that_accepts(&[silent, silent, accepts], begin + Duration::from_millis(900)).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), accepts);
        assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
        let error = first_that_accepts(&[silent], Instant::now() + Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_unix_socket_whose_server_accepts_nothing_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let server = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&server, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&server, 0).unwrap();
        let open = || RedisConnection::open(&Place::Unix(&path), Instant::now() + Duration::from_millis(100));
        // The kernel keeps one or a few connections until they are accepted.
        let begin = Instant::now();
        let mut waiting = Vec::new();
        let error = loop {
            match open() {
                Ok(connection) => waiting.push(connection),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, RedisError::Time), "{error:?} after {} connections", waiting.len());
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    }
}
