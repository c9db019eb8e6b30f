//! The end of the server: what was accepted is answered, nothing new is, and the exit says success. Interrupted,
//! or past its drain time, it ends at once.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, MAX_WAIT, Server, paths, within};
use rustix::process::Signal;

fn serve(options: &[&str]) -> Server {
    let cases = [
        ("/", "text(\"gold\")"),
        ("/short", "sleep 0.02; text(\"short\")"),
        ("/hold", "FoolsGold.store.increment(\"held\"); sleep 0.4; text(\"held\")"),
        ("/held", "text(FoolsGold.store.get(\"held\") || 0)"),
        ("/for-ever", "FoolsGold.store.increment(\"held\"); loop { sleep 0.01 }"),
        ("/stream", "[200, {}, lambda { |s| 5.times { |n| s.write(\"#{n};\"); sleep 0.1 }; s.close }]"),
    ];
    Server::start(&paths(&cases), options)
}

#[test]
fn what_runs_and_what_waits_is_answered_and_nothing_new_is_taken() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = serve(&["-t", "4"]);
        let mut clients: Vec<Client> = (0..12).map(|_| server.send_get("/hold")).collect();
        assert!(within(MAX_WAIT, || server.text("/held").parse::<u32>().unwrap() >= 4), "the first four run");
        server.signal(signal);
        for client in &mut clients {
            let reply = client.reply().unwrap();
            assert_eq!((reply.status, reply.text().as_str()), (200, "held"));
        }
        server.must_end();
        assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
    }
}

#[test]
fn a_stream_that_runs_is_finished_and_nobody_can_connect_meanwhile() {
    let mut server = serve(&["-t", "2"]);
    let mut client = server.send_get("/stream");
    assert_eq!(client.head().unwrap().status, 200);
    server.signal(Signal::TERM);
    let is_closed = within(Duration::from_millis(350), || TcpStream::connect(("127.0.0.1", server.port)).is_err());
    assert!(server.is_alive(), "the stream takes half a second");
    assert!(is_closed, "a connection that nobody will serve must be refused at once");
    let all: Vec<u8> = std::iter::from_fn(|| client.chunk().unwrap()).flatten().collect();
    assert_eq!(String::from_utf8_lossy(&all), "0;1;2;3;4;");
    server.must_end();
}

#[test]
fn idle_connections_do_not_delay_the_end() {
    let mut server = serve(&["-t", "2", "--drain-time", "60s"]);
    let mut idle: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for client in &mut idle {
        assert_eq!(client.get("/").text(), "gold");
    }
    let begun = Instant::now();
    server.end(Signal::TERM);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// One request on a connection of its own. `None`: it was never accepted. `Some(false)`: accepted and lost.
fn once(port: u16) -> (Option<bool>, Instant) {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return (None, Instant::now()) };
    let connected = Instant::now();
    stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    let sent = stream.write_all(b"GET /short HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    match sent.and_then(|()| stream.read_to_string(&mut answer)) {
        Ok(_) if answer.contains("short") => (Some(true), connected),
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer, no end"),
        _ => (Some(false), connected),
    }
}

#[test]
fn under_load_no_connection_made_before_the_signal_is_lost() {
    let mut server = serve(&["-t", "8"]);
    let port = server.port;
    let stop = AtomicBool::new(false);
    let (served, lost, signalled) = thread::scope(|scope| {
        let load = || {
            let mut outcomes = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let (outcome, connected) = once(port);
                let Some(whole) = outcome else { break };
                outcomes.push((whole, connected));
            }
            outcomes
        };
        let clients: Vec<_> = (0..16).map(|_| scope.spawn(load)).collect();
        assert!(within(MAX_WAIT, || server.log().matches("/short").count() > 200), "load is on");
        let signalled = Instant::now();
        server.end(Signal::TERM);
        stop.store(true, Ordering::Relaxed);
        let outcomes: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        let lost = outcomes.iter().filter(|(whole, connected)| !whole && *connected < signalled).count();
        (outcomes.len(), lost, signalled)
    });
    assert_eq!(lost, 0, "of {served} requests; signal {:?} ago", signalled.elapsed());
}

#[test]
fn an_interrupt_after_the_signal_ends_it_at_once() {
    let mut server = serve(&["-t", "2"]);
    let _client = server.send_get("/for-ever");
    assert!(within(MAX_WAIT, || server.text("/held") != "0"));
    server.signal(Signal::TERM);
    assert!(server.ended(Duration::from_millis(300)).is_none(), "it waits for what runs");
    let begun = Instant::now();
    server.ended_by(Signal::INT);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_cut(&server);
}

/// The request that was cut off has its line, although a script still ran it when the process ended.
fn assert_cut(server: &Server) {
    let log = server.log();
    assert!(log.lines().any(|line| line.contains(" GET /for-ever - ") && line.ends_with(" stopping")), "{log}");
}

#[test]
fn what_runs_longer_than_the_drain_time_is_cut() {
    let mut server = serve(&["-t", "2", "--drain-time", "500ms"]);
    let _client = server.send_get("/for-ever");
    assert!(within(MAX_WAIT, || server.text("/held") != "0"));
    let begun = Instant::now();
    server.ended_by(Signal::TERM);
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(450) && took < Duration::from_secs(4), "{took:?}");
    assert_cut(&server);
}
