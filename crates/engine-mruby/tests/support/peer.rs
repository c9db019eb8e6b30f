//! A server for tests of clients: on a free port, with a function that runs each connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A server. Its threads end with their connection, or with the test's process.
pub struct Peer {
    pub port: u16,
    /// Number of connections so far.
    pub connections: Arc<AtomicUsize>,
}

impl Peer {
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, serve) = (connections.clone(), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let serve = serve.clone();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                thread::spawn(move || serve(stream));
            }
        });
        Peer { port, connections }
    }
}

/// A child process, which is killed when this value is dropped.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a program that was started serves on this port.
pub fn await_port(port: u16) {
    super::until("a server listens on the port", || TcpStream::connect(("127.0.0.1", port)).is_ok());
}

/// An HTTP request: its first line, its headers as they came, and its body.
pub struct Asked {
    pub line: String,
    pub headers: String,
    pub body: String,
}

/// Reads the next request of a connection.
pub fn asked(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&header.to_lowercase());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line: line.trim().to_owned(), headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Sends a whole response, and leaves the connection open.
pub fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}").as_bytes())
}
