//! Behaviour of users' applications: connections opened while they are loaded, requests that end their worker,
//! WebSockets during a deploy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use loadgen::Workload;
use rustix::process::Signal;

use crate::app;
use crate::findings::Findings;
use crate::pace::{self, each, each_until_enough, pause};
use crate::processes;
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// An application in bench/chaos/apps.
pub const APP: &str = "bench/chaos/apps/strangers.ru";
/// Longest latency: a death, a load or a pause may cause a wait.
const LONGEST: Duration = Duration::from_secs(6);

/// Quick requests.
pub fn short() -> Result<Workload, String> {
    app::workload(&[r#"{ "path": "/", "exactly": "short\n" }"#])
}

/// Starts a server that answers each line with the same line, a moment later, on any number of connections. Returns its
/// port.
fn upstream() -> Result<u16, String> {
    let failed = |error: std::io::Error| format!("the upstream: {error}");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    // It ends with this program.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo(&stream));
        }
    });
    Ok(port)
}

fn echo(stream: &TcpStream) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        pause(Duration::from_millis(1));
        let mut writer = stream;
        if writer.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// An application that connects while it is loaded, in several workers, which are killed and reloaded: no request may
/// get another one's response.
pub fn shared_connection(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let asks: Vec<String> = (0..200)
        .map(|number| format!(r#"{{ "path": "/ask?token-{number}", "exactly": "token-{number}\n" }}"#))
        .collect();
    let asks = app::workload(&asks.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut setup = Setup::ruby(APP, 3, 2);
    setup.env.push(("UPSTREAM", upstream()?.to_string()));
    let server = Server::start(stage, &setup)?;
    findings.expect(server.log().contains("so each worker loads it itself"), || {
        "the log does not say that the application holds a connection".to_owned()
    });
    let load = server.load(&asks);
    stage.doing("kills and reloads");
    let mut killed = 0;
    each(Duration::from_secs(2), stage.lasts(30.0, 6.0), || {
        killed += usize::from(server.workers().first().is_some_and(|one| processes::signal(*one, Signal::KILL)));
        pause(Duration::from_millis(500));
        server.reload(&mut findings);
    });
    findings.remark(format!("{killed} workers were killed"));
    findings.expect(killed > 0, || "no worker could be killed".to_owned());
    Ok(server.finish(load, LONGEST, findings))
}

/// Requests that end their worker, two at a time, beside others.
pub fn poison(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &Setup::ruby(APP, 2, 3))?;
    let load = server.load_of(&short()?, 8);
    stage.doing("sends poison");
    let port = server.port;
    let time = stage.lasts(30.0, 6.0);
    let poisoners: Vec<JoinHandle<Poisoned>> =
        ["/exit", "/segv"].into_iter().map(|path| thread::spawn(move || poisoned(port, path, time))).collect();
    let seen: Vec<Poisoned> = poisoners.into_iter().map(|one| one.join().unwrap_or_default()).collect();
    let sent: u32 = seen.iter().map(|one| one.refused).sum();
    // On a slow machine, three new workers may take as long as a request may wait.
    let others = seen.into_iter().filter_map(|one| one.other).filter(|_| !pace::is_busy());
    findings.complaints.extend(others.map(|other| format!("poison was not answered with 502 but with {other}")));
    findings.remark(format!("{sent} requests ended three workers each"));
    findings.expect(sent > 2, || format!("only {sent} requests with poison were answered with 502"));
    findings.count("those beside them", &load.end(), &[]);
    findings.bound(LONGEST);
    Ok(server.recover_and_end(findings))
}

/// The responses to requests that end their worker.
#[derive(Debug, Default)]
struct Poisoned {
    /// Number of those with status 502.
    refused: u32,
    /// Path and first line of the first one with another status, or the error in its place.
    other: Option<String>,
}

/// Requests a path that ends workers, for this time and on until two responses had status 502.
fn poisoned(port: u16, path: &str, time: Duration) -> Poisoned {
    let mut seen = Poisoned::default();
    each_until_enough(Duration::from_millis(200), time, || {
        let answer = request(port, path, "Connection: close\r\n").map(|mut stream| {
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        });
        let head = match answer {
            Ok(answer) => answer.lines().next().unwrap_or("nothing").to_owned(),
            Err(error) => error.to_string(),
        };
        if head.starts_with("HTTP/1.1 502") {
            seen.refused += 1;
        } else {
            seen.other.get_or_insert_with(|| format!("{path}: {head}"));
        }
        seen.refused > 1
    });
    seen
}

/// Sends a request without reading the response.
pub fn request(port: u16, path: &str, headers: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n").as_bytes())?;
    Ok(stream)
}

/// Fifty WebSockets at each reload and at the shutdown: each must get 1001, and none may delay the server.
pub fn websockets(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let mut server = Server::start(stage, &Setup::ruby(APP, 2, 3))?;
    let load = server.load_of(&short()?, 8);
    let rounds = if stage.is_quick { 2 } else { 8 };
    for _ in 0..rounds {
        let sockets = open_websockets(server.port, 50);
        stage.doing("reloads");
        pause(Duration::from_millis(500));
        server.signal(Signal::USR1);
        all_told_to_go(sockets, &mut findings);
    }
    findings.count("the clients", &load.end(), &[]);
    findings.remark(format!("{} WebSockets were told to go away", (rounds + 1) * 50));
    server.wait_for_recovery(&mut findings);
    let sockets = open_websockets(server.port, 50);
    pause(Duration::from_millis(500));
    let began = Instant::now();
    server.end(&mut findings);
    let took = began.elapsed();
    findings.expect(took < pace::allowed(LONGEST), || format!("the end took {took:?}"));
    all_told_to_go(sockets, &mut findings);
    Ok(findings)
}

fn open_websockets(port: u16, count: usize) -> Vec<JoinHandle<Result<(), String>>> {
    (0..count).map(|_| thread::spawn(move || until_told_to_go(port))).collect()
}

/// Reads messages until the server closes the WebSocket, and answers the close frame.
fn until_told_to_go(port: u16) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let handshake = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut stream = request(port, "/websocket", handshake).map_err(failed)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).map_err(failed)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        return Err(String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned());
    }
    loop {
        let mut start = [0; 2];
        stream.read_exact(&mut start).map_err(|error| format!("no close frame: {error}"))?;
        let mut payload = vec![0; usize::from(start[1])];
        stream.read_exact(&mut payload).map_err(failed)?;
        match start[0] {
            0x81 if payload == b"tick" => {}
            0x88 if payload == [0x03, 0xE9] => break,
            other => return Err(format!("a frame {other:#x} with {payload:?}")),
        }
    }
    stream.write_all(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE9]).map_err(failed)?;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map_err(failed)?;
    if rest.is_empty() { Ok(()) } else { Err(format!("after the close frame: {rest:?}")) }
}

fn all_told_to_go(sockets: Vec<JoinHandle<Result<(), String>>>, findings: &mut Findings) {
    let ends = sockets.into_iter().map(|socket| socket.join().unwrap_or_else(|_| Err("crashed".into())));
    let bad: Vec<String> = ends.filter_map(Result::err).collect();
    findings.expect(bad.is_empty(), || format!("{} WebSockets ended otherwise; one: {}", bad.len(), bad[0]));
}
