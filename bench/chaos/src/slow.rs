//! Slow clients: each reads one response at a given pace and checks that it is complete.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::pace::pause;

/// Settings of a slow client.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Path of the request.
    pub path: &'static str,
    /// Largest read in bytes.
    pub bytes: usize,
    /// Pause between two reads.
    pub pace: Duration,
    /// Length of the right response.
    pub length: usize,
    /// Its last bytes.
    pub ending: &'static str,
    /// Time for the whole response.
    pub limit: Duration,
}

/// A running client, with its result.
pub type Reading = JoinHandle<Result<(), String>>;

/// Starts clients, each in a thread of its own.
pub fn readers(port: u16, count: usize, reader: &Reader) -> Vec<Reading> {
    let one = || {
        let reader = reader.clone();
        thread::spawn(move || read(port, &reader).map_err(|why| format!("GET {}: {why}", reader.path)))
    };
    (0..count).map(|_| one()).collect()
}

/// Waits for clients; returns the errors.
pub fn outcome(readings: Vec<Reading>) -> Vec<String> {
    let ends = readings.into_iter().map(|reading| reading.join().unwrap_or_else(|_| Err("crashed".into())));
    ends.filter_map(Result::err).collect()
}

/// Uses HTTP/1.0: the response ends with the connection, so its length shows whether it is complete.
fn read(port: u16, reader: &Reader) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).map_err(failed)?;
    stream.write_all(format!("GET {} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", reader.path).as_bytes()).map_err(failed)?;
    let end = Instant::now() + reader.limit;
    let mut got = Vec::new();
    let mut piece = vec![0; reader.bytes];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => got.extend_from_slice(&piece[..bytes]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(format!("it broke off after {} bytes: {error}", got.len())),
        }
        if Instant::now() > end {
            return Err(format!("{} bytes after {:?}, and no end", got.len(), reader.limit));
        }
        pause(reader.pace);
    }
    judge(&got, reader)
}

fn judge(got: &[u8], reader: &Reader) -> Result<(), String> {
    let Some(at) = got.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Err(format!("no whole head in {} bytes", got.len()));
    };
    let head = String::from_utf8_lossy(&got[..at]);
    let body = &got[at + 4..];
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(status.to_owned());
    }
    if body.len() != reader.length || !body.ends_with(reader.ending.as_bytes()) {
        return Err(format!("{} bytes, not the right {}", body.len(), reader.length));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_not_right() {
        let second = Duration::from_secs(1);
        let reader = Reader { path: "/", bytes: 1, pace: second, length: 6, ending: "end", limit: second };
        assert_eq!(judge(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nabcend", &reader), Ok(()));
        assert!(judge(b"HTTP/1.1 200 OK\r\n\r\nabcen", &reader).is_err());
        assert!(judge(b"HTTP/1.1 503 No\r\n\r\nabcend", &reader).is_err());
        assert!(judge(b"HTTP/1.1 200 OK\r\n", &reader).is_err());
    }
}
