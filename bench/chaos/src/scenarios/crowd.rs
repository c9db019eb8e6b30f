//! One client takes all connections and keeps them: with one request each and then silence, and with heads that never
//! end. Other clients must get responses meanwhile.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::strangers::{APP, request, short};
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Address of the crowd, different from that of the other clients.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The server's default limit; fewer if the limit of open files is lower.
const MOST: usize = 16_384;
const QUICK: usize = 2_000;
/// Open files of the server and of this program beside the crowd's connections.
const OTHER_FILES: u64 = 500;
/// Longest latency of the other clients.
const IN_TIME: Duration = Duration::from_secs(2);
/// Connections of one thread of the crowd.
const SHARE: usize = 1_024;
/// Closed connections that it reopens in 200 ms: it must keep places, not flood.
const ANEW: usize = 8;
/// The crowd's lowest local port. It chooses its ports itself: with thousands of closed connections in TIME_WAIT, the
/// kernel's search for a free one takes milliseconds, and the crowd would be late.
const FIRST_PORT: u16 = 10_240;
/// Ports that are tried for one connection.
const TRIES: usize = 1_000;

/// The bytes that each connection of the crowd sends, once.
#[derive(Clone, Copy)]
enum Says {
    Request,
    HalfHead,
}

/// Silence after a request, then slow heads.
pub fn crowd(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let allowed = places(stage.is_quick);
    let options = ["--connections", &allowed.to_string(), "--admin", "127.0.0.1:0"];
    let server = Server::start(stage, &Setup::ruby(APP, 2, 3).with(&options))?;
    for (says, words) in [(Says::Request, "asks once and is silent"), (Says::HalfHead, "never ends its heads")] {
        stage.doing(format!("a crowd of {} {words}", allowed + allowed / 10));
        let crowd = Crowd::gather(server.port, allowed + allowed / 10, says);
        let is_full = pace::within(Duration::from_secs(60), || crowd.size() >= allowed);
        findings.expect(is_full, || format!("only {} of {allowed} connections could be taken", crowd.size()));
        // The crowd's own requests were queued first and are answered first.
        let is_calm = pace::within(Duration::from_secs(60), || answer_time(server.port) < IN_TIME / 2);
        findings.expect(is_calm, || "the crowd's own requests were not all answered within a minute".to_owned());
        let load = server.load_of(&short()?, 4);
        pause(stage.lasts(30.0, 5.0));
        findings.count("those who poll", &load.end(), &[]);
        findings.remark(format!("a crowd that {words} came {} times for {allowed} places", crowd.came()));
    }
    findings.bound(IN_TIME);
    let is_said = pace::within(Duration::from_secs(5), || server.log().contains("no places for connections left"));
    findings.expect(is_said, || "the log does not say that there were no places for connections left".to_owned());
    match displaced(&server.log()) {
        Some(many) if many > 0 => {
            findings.remark(format!("{many} connections were closed for others, say the metrics"))
        }
        other => findings.complain(format!("foolsgold_connections_displaced_total is {other:?}")),
    }
    Ok(server.recover_and_end(findings))
}

/// Time of one request from connecting to the end of the response, or to an error.
fn answer_time(port: u16) -> Duration {
    let begun = Instant::now();
    let _ = request(port, "/", "Connection: close\r\n").and_then(|mut stream| stream.read_to_end(&mut Vec::new()));
    begun.elapsed()
}

/// The server's limit of connections: as many files may be open here and there.
fn places(is_quick: bool) -> usize {
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, maximum: limits.maximum });
    let files = limits.maximum.unwrap_or(u64::MAX).saturating_sub(OTHER_FILES) * 10 / 11;
    usize::try_from(files).unwrap_or(MOST).min(if is_quick { QUICK } else { MOST })
}

/// The metric of displaced connections, from the address in the log.
fn displaced(log: &str) -> Option<u64> {
    let (_, rest) = log.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let mut text = String::new();
    let mut stream = request(port.parse().ok()?, "/metrics", "Connection: close\r\n").ok()?;
    stream.read_to_string(&mut text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("foolsgold_connections_displaced_total "));
    line?.trim().parse().ok()
}

/// Connections of one client, reopened when they are closed, until this value is dropped.
struct Crowd {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    size: AtomicUsize,
    came: AtomicUsize,
    /// Number of ports that were tried.
    ports: AtomicUsize,
}

impl Shared {
    /// A socket bound to the crowd's address and a free port.
    fn socket(&self) -> io::Result<OwnedFd> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        set_socket_reuseaddr(&socket, true)?;
        let bound = (0..TRIES).find_map(|_| bind(&socket, &SocketAddrV4::new(ADDRESS, self.port())).ok());
        bound.map(|()| socket).ok_or_else(|| ErrorKind::AddrInUse.into())
    }

    fn port(&self) -> u16 {
        let count = usize::from(u16::MAX - FIRST_PORT);
        let tried = u16::try_from(self.ports.fetch_add(1, Ordering::AcqRel) % count).unwrap_or(0);
        FIRST_PORT + tried
    }
}

impl Crowd {
    fn gather(port: u16, count: usize, says: Says) -> Crowd {
        let shared = Arc::new(Shared::default());
        for first in (0..count).step_by(SHARE) {
            let theirs = shared.clone();
            thread::spawn(move || hold(port, SHARE.min(count - first), says, &theirs));
        }
        Crowd { shared }
    }

    fn size(&self) -> usize {
        self.shared.size.load(Ordering::Acquire)
    }

    fn came(&self) -> usize {
        self.shared.came.load(Ordering::Acquire)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
    }
}

fn hold(port: u16, count: usize, says: Says, shared: &Shared) {
    let mut streams: Vec<TcpStream> = Vec::new();
    let mut is_gathered = false;
    while !shared.is_over.load(Ordering::Acquire) {
        let before = streams.len();
        streams.retain(is_open);
        shared.size.fetch_sub(before - streams.len(), Ordering::AcqRel);
        let most = if is_gathered { count.min(streams.len() + ANEW) } else { count };
        is_gathered = true;
        while streams.len() < most && !shared.is_over.load(Ordering::Acquire) {
            let Ok(stream) = one(port, says, shared) else { break };
            streams.push(stream);
            shared.size.fetch_add(1, Ordering::AcqRel);
            shared.came.fetch_add(1, Ordering::AcqRel);
        }
        pause(Duration::from_millis(200));
    }
}

fn one(port: u16, says: Says, shared: &Shared) -> io::Result<TcpStream> {
    let socket = shared.socket()?;
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    let mut stream = TcpStream::from(socket);
    stream.write_all(match says {
        Says::Request => b"GET / HTTP/1.1\r\nHost: crowd\r\n\r\n",
        Says::HalfHead => b"GET / HTTP/1.1\r\nHost: crowd\r\nX-Slow: ",
    })?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Reads all available bytes; returns whether the connection is open.
fn is_open(stream: &TcpStream) -> bool {
    let mut stream = stream;
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
