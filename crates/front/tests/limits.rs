//! Every limit and the response when it is exceeded.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Body, Fault, Meter, Reply, Responder, body, reply};
use front::Settings;
use support::{Client, SOON, Server, eventually, full, limited, listeners, logged, settings, with};

const SHORT: Duration = Duration::from_millis(80);

fn post(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

#[test]
fn too_many_or_too_long_headers_are_431() {
    let settings = settings();
    let counts = settings.counts.clone();
    let server = Server::echo(settings);
    let many = (0..30).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    let long = format!("x: {}\r\n", "y".repeat(9000));
    for headers in [many, long.clone(), long.repeat(100)] {
        let answer = server.ask(format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert!(answer.contains("connection: close"));
    }
    let endless = server.ask(format!("GET / HTTP/1.1\r\nHost: a\r\nx: {}", "y".repeat(20_000)));
    assert!(endless.starts_with("HTTP/1.1 431 "), "{endless}");
    let target = server.ask(format!("GET /{}", "y".repeat(20_000)));
    assert!(target.starts_with("HTTP/1.1 414 "), "{target}");
    assert_eq!((server.calls(), counts.refused(), counts.answers()), (0, 5, [0, 0, 0, 5, 0]));
}

/// hyper allows a hundred headers, and a buffer of 400 KiB, unless it is told otherwise.
#[test]
fn a_head_may_be_as_large_as_its_limits_say_and_no_larger() {
    let mut settings = settings();
    settings.limits.header_count = 150;
    settings.limits.header_bytes = 1 << 20;
    let server = Server::echo(settings);
    let mut client = server.connect();
    for (count, status) in [(150, 200), (151, 431)] {
        let more: String = (1..count).map(|n| format!("x-{n}: y\r\n")).collect();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{more}\r\n"));
        assert_eq!(client.response().status, status, "{count} headers");
    }
    let start = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ";
    for (bytes, status) in [(1 << 20, 200), ((1 << 20) + 1, 431)] {
        let answer = server.ask(format!("{start}{}\r\n\r\n", "y".repeat(bytes - start.len() - 4)));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{bytes} bytes: {answer}");
    }
    // hyper gets a longer one, with three bytes for each of these.
    let start = format!("GET /{} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ", "<".repeat(21_000));
    let answer = server.ask(format!("{start}{}\r\n\r\n", "y".repeat((1 << 20) - start.len() - 4)));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_head_that_does_not_end_is_408_however_it_drips() {
    let server = Server::echo(limited(|limits| limits.header_time = SHORT));
    let answer = server.ask("GET / HTTP/1.1\r\nHost:");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let mut client = server.connect();
    client.stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let ends = Instant::now() + support::SOON;
    let mut answer = Vec::new();
    while !answer.starts_with(b"HTTP/1.1 408 ") {
        assert!(Instant::now() < ends);
        let _ = client.stream.write_all(b"x");
        let mut bytes = [0; 1000];
        let count = client.stream.read(&mut bytes).unwrap_or(0);
        answer.extend_from_slice(&bytes[..count]);
    }
    assert_eq!(server.calls(), 0);
}

#[test]
fn a_second_head_that_does_not_end_is_408_too() {
    let server = Server::echo(limited(|limits| limits.header_time = SHORT));
    let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT");
    assert_eq!(client.response().status, 200);
    assert_eq!(client.response().status, 408);
    assert!(client.is_closed());
}

/// After an answer the one limit holds, before the first request the other.
#[test]
fn a_connection_that_is_idle_and_one_that_has_asked_nothing_have_a_limit_each() {
    let short = 5 * SHORT;
    for (keep_alive, header_time) in [(SOON, short), (short, SOON)] {
        let mut settings = settings();
        settings.limits.keep_alive = keep_alive;
        settings.limits.header_time = header_time;
        let server = Server::echo(settings);
        let (mut idle, mut silent) = (server.connect(), server.connect());
        assert_eq!(idle.get("/").status, 200);
        let (over, stays) = if keep_alive == short { (&mut idle, &mut silent) } else { (&mut silent, &mut idle) };
        assert!(over.is_closed());
        std::thread::park_timeout(short);
        assert_eq!(stays.get("/").status, 200, "{keep_alive:?} {header_time:?}");
    }
}

/// It has given its buffers back after half a second, and during a drain it would be closed after a second.
#[test]
fn a_connection_that_was_idle_for_long_takes_a_request_in_whatever_pieces_it_comes() {
    let server = Server::echo(settings());
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!(client.get("/").text(), "empty");
        std::thread::park_timeout(Duration::from_millis(1200));
        for piece in ["PO", "ST / HTTP/1.1\r\nHost: a\r\nContent-Le", "ngth: 5\r\n\r\nhe", "llo"] {
            client.send(piece);
            std::thread::park_timeout(Duration::from_millis(20));
        }
        assert_eq!(client.response().text(), "hello");
    }
}

/// A server that reports a call of `/held`, and answers it when it is let go.
fn gated(io_threads: usize, settings: Settings) -> (Server, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (entered, has_entered) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let gate = Mutex::new((entered, may_go));
    let server = Server::on(listeners(), io_threads, settings, move |request| {
        if request.path == "/held" {
            let gate = gate.lock().unwrap();
            gate.0.send(()).unwrap();
            gate.1.recv_timeout(SOON).unwrap();
        }
        Reply::ready(Ok(full(&request.path)))
    });
    (server, has_entered, go)
}

/// The only I/O thread is held up just when an idle connection is due to be closed, and its next request comes then.
#[test]
fn a_request_that_comes_while_the_end_of_its_connection_is_due_is_answered() {
    let (mut server, has_entered, go) = gated(1, limited(|limits| limits.keep_alive = SHORT * 6));
    let [mut first, mut second, mut idle] = [(); 3].map(|()| server.connect());
    for client in [&mut first, &mut second, &mut idle] {
        assert_eq!(client.get("/").status, 200);
    }
    let held = "GET /held HTTP/1.1\r\nHost: a\r\n\r\n";
    first.send(held);
    has_entered.recv_timeout(SOON).unwrap();
    // When the thread is free again, it finds both at once: this request, and that the idle connection is due.
    second.send(held);
    std::thread::park_timeout(SHORT * 7);
    go.send(()).unwrap();
    has_entered.recv_timeout(SOON).unwrap();
    idle.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    go.send(()).unwrap();
    assert_eq!(idle.response().text(), "/late");
    server.stop.drain();
    server.ended();
}

/// The I/O thread of the connection that is to be closed for a new one is held up, and its next request comes then.
#[test]
fn a_request_that_comes_while_its_connection_is_to_be_closed_for_another_is_answered() {
    let settings = limited(|limits| limits.connections = 4);
    let counts = settings.counts.clone();
    let (server, has_entered, go) = gated(2, settings);
    // By turns on the thread that accepts and on the other one.
    let [mut first, mut holds, mut third, mut idle] = [(); 4].map(|()| server.connect());
    for client in [&mut idle, &mut first, &mut third] {
        assert_eq!(client.get("/").status, 200);
    }
    holds.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    has_entered.recv_timeout(SOON).unwrap();
    idle.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    // Two are to be closed for this one: what has been idle the longest cannot be now.
    assert_eq!(server.connect().get("/new").text(), "/new");
    assert!(counts.displaced_connections() >= 1);
    go.send(()).unwrap();
    assert_eq!(holds.response().text(), "/held");
    assert_eq!(idle.response().text(), "/late");
    // Beside these only the new one has ended.
    eventually("the count of those that were closed", || {
        counts.accepted() - counts.open() == counts.displaced_connections() + 1
    });
}

/// The thread that accepts is held up. Connections are on it and on the other one by turns.
#[test]
fn a_connection_of_one_thread_is_served_while_another_thread_is_held_up() {
    let (server, has_entered, go) = gated(2, settings());
    let [mut holds, mut other] = [(); 2].map(|()| server.connect());
    for client in [&mut holds, &mut other] {
        assert_eq!(client.get("/").status, 200);
    }
    holds.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    has_entered.recv_timeout(SOON).unwrap();
    assert_eq!(other.get("/other").text(), "/other");
    go.send(()).unwrap();
    assert_eq!(holds.response().text(), "/held");
}

/// The only I/O thread is held up just when the drain begins, and the kernel holds the connection. When the listener
/// is closed, the kernel resets what was not accepted.
#[test]
fn a_connection_that_waits_to_be_accepted_when_a_drain_begins_is_served() {
    let (mut server, has_entered, go) = gated(1, settings());
    let mut holds = server.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    has_entered.recv_timeout(SOON).unwrap();
    let mut late = server.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    server.stop.drain();
    go.send(()).unwrap();
    for (client, text) in [(&mut holds, "/held"), (&mut late, "/late")] {
        let got = client.response();
        assert_eq!((got.text().as_str(), got.header("connection")), (text, Some("close")));
        assert!(client.is_closed());
    }
    let ended = server.ended();
    assert_eq!((ended.finished, ended.cut), (2, 0));
}

/// As by a function in C, which cannot be interrupted.
#[test]
fn a_shutdown_does_not_wait_for_a_thread_that_is_held_up_and_says_what_the_others_did() {
    let (mut server, has_entered, go) = gated(2, limited(|limits| limits.drain_time = SHORT));
    let [mut idle, mut holds] = [(); 2].map(|()| server.connect());
    for client in [&mut idle, &mut holds] {
        assert_eq!(client.get("/").status, 200);
    }
    holds.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    has_entered.recv_timeout(SOON).unwrap();
    server.stop.drain();
    let ended = server.ended();
    assert_eq!(ended.finished + ended.cut, 1, "the idle one: {ended:?}");
    go.send(()).unwrap();
}

#[test]
fn a_client_beyond_its_connections_is_closed_and_counted_and_a_trusted_peer_may_have_more() {
    for is_trusted in [false, true] {
        let mut settings = settings();
        settings.limits.connections_per_client = Some(1);
        if is_trusted {
            settings.trusted.push("private".parse().unwrap());
        }
        let counts = settings.counts.clone();
        let server = Server::echo(settings);
        let (mut first, mut second) = (server.connect(), server.connect());
        assert_eq!(first.get("/").status, 200);
        if is_trusted {
            assert_eq!(second.get("/").status, 200);
        } else {
            assert!(second.is_closed());
        }
        assert_eq!(counts.refused_connections(), u64::from(!is_trusted));
        assert_eq!(first.get("/").status, 200);
    }
}

#[test]
fn who_is_slow_to_send_a_request_gives_its_place_to_another_client_and_is_told_so() {
    for (part, what) in [("GET / HTTP/1.1\r\nHo".to_owned(), "head"), (post(10) + "x", "body")] {
        let settings = limited(|limits| limits.connections = 1);
        let counts = settings.counts.clone();
        let server = Server::echo(settings);
        let mut slow = server.send(part);
        assert_eq!(server.connect().get("/").text(), "empty");
        let answer = slow.rest();
        let why = format!("there are no places for connections left, and the {what} of the request came slowly\n");
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains(&why), "{answer}");
        assert_eq!(counts.displaced_connections(), 1);
    }
}

/// Slow is who has sent nothing for a tenth of a second. On a busy machine a byte may come too late: one of several
/// attempts must go well.
#[test]
fn who_sends_a_body_byte_by_byte_keeps_its_place() {
    let is_kept = || {
        let server = Server::echo(limited(|limits| limits.connections = 1));
        let mut steady = server.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 40\r\n\r\n");
        let mut waiting = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        for _ in 0..40 {
            std::thread::park_timeout(Duration::from_millis(15));
            steady.send("x");
        }
        let answer = steady.rest();
        drop(steady);
        assert_eq!(waiting.response().status, 200);
        answer.starts_with("HTTP/1.1 200 ")
    };
    assert!((0..5).any(|_| is_kept()));
}

/// The limit is that of a wait for more, as long as it comes at a decent rate. On a busy machine a piece may come too
/// late: one of several attempts must go well.
#[test]
fn a_body_may_take_longer_than_its_next_bytes() {
    let is_read = || {
        let time = 5 * SHORT;
        let server = Server::echo(limited(|limits| limits.body_time = time));
        let begun = Instant::now();
        let mut client = server.send(post(15_000));
        for _ in 0..15 {
            std::thread::park_timeout(SHORT / 2);
            client.send("x".repeat(1000));
        }
        assert!(begun.elapsed() > time);
        client.head().status == 200
    };
    assert!((0..5).any(|_| is_read()));
}

/// The timer of a running request is not that of an idle connection, whose time is over at once here.
#[test]
fn without_keep_alive_a_connection_has_one_request_which_may_take_its_time() {
    let (server, kept) = Server::keeping(limited(|limits| limits.keep_alive = Duration::ZERO));
    let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the call", || server.calls() == 1);
    std::thread::park_timeout(SHORT);
    kept.lock().unwrap().pop().unwrap().send(Ok(full("late")), Duration::ZERO);
    let got = client.response();
    assert_eq!((got.status, got.text().as_str()), (200, "late"));
    assert!(client.is_closed());
}

/// The first piece may wait for the other one on a busy machine: one of several attempts must go well.
#[test]
fn the_time_in_which_a_head_comes_is_no_time_of_its_application() {
    let server = Server::start(|request| {
        let millis = (request.complete - request.received).as_millis();
        Reply::ready(Ok(full(&millis.to_string())))
    });
    let is_known = || {
        let mut client = server.send("GET / HTTP/1.1\r\n");
        std::thread::park_timeout(SHORT);
        client.send("Host: a\r\n\r\n");
        client.response().text().parse::<u128>().unwrap() >= SHORT.as_millis() / 2
    };
    assert!((0..5).any(|_| is_known()));
}

/// Otherwise its place would be taken for two seconds. On a busy machine it may take longer: one of several attempts
/// must go well.
#[test]
fn a_connection_is_over_at_once_when_nothing_more_is_to_be_read_from_its_client() {
    let is_quick = || {
        let settings = settings();
        let counts = settings.counts.clone();
        let server = Server::echo(settings);
        let begun = Instant::now();
        let (mut stays, mut refused) = (server.connect(), server.connect());
        stays.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(stays.response().status, 200);
        refused.send("GET / HTTP/1.1\r\n\r\n");
        let answer = refused.rest();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        // More of this one was discarded until now.
        drop(refused);
        eventually("the end of both", || counts.accepted() == 2 && counts.open() == 0);
        begun.elapsed() < Duration::from_secs(1)
    };
    assert!((0..5).any(|_| is_quick()));
}

/// Otherwise it would keep its place for two seconds. On a busy machine they may be over: one of several attempts must
/// go well.
#[test]
fn a_connection_that_has_had_its_last_response_gives_its_place_to_another() {
    let is_given = || {
        let settings = limited(|limits| limits.connections = 1);
        let counts = settings.counts.clone();
        let server = Server::echo(settings);
        let mut refused = server.send("GET / HTTP/1.1\r\n\r\n");
        assert_eq!(refused.response().status, 400);
        assert_eq!(server.connect().get("/").status, 200);
        counts.displaced_connections() == 1
    };
    assert!((0..5).any(|_| is_given()));
}

/// What is read after the last response is discarded.
#[test]
fn a_client_that_sends_without_end_after_its_last_response_is_let_go() {
    let server = Server::echo(limited(|limits| limits.body_time = Duration::from_millis(300)));
    let mut client = server.send("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.response().status, 400);
    let piece = vec![b'x'; 1 << 20];
    let end = Instant::now() + Duration::from_secs(20);
    while client.stream.write_all(&piece).is_ok() {
        assert!(Instant::now() < end, "it is read from for ever");
    }
}

#[test]
fn a_client_that_sends_without_end_after_its_last_response_does_not_hold_the_end_of_the_server() {
    /// Time for which what it sends is read in any case.
    const PAUSE: Duration = Duration::from_secs(2);
    let mut server = Server::echo(limited(|limits| limits.drain_time = 6 * SOON));
    let mut client = server.send("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.response().status, 400);
    let piece = vec![b'x'; 1 << 16];
    let begun = Instant::now();
    while begun.elapsed() < PAUSE {
        client.stream.write_all(&piece).unwrap();
    }
    server.stop.drain();
    let drains = Instant::now();
    let sending = std::thread::spawn(move || while client.stream.write_all(&piece).is_ok() {});
    assert_eq!(server.ended().cut, 0);
    assert!(drains.elapsed() < SOON / 2, "{:?}", drains.elapsed());
    sending.join().unwrap();
}

/// Milliseconds of the first request in a log of JSON.
fn ms(log: &str) -> f64 {
    let (_, rest) = log.split_once("\"ms\":").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_connection_is_idle_from_the_end_of_its_answer_on_however_slowly_that_is_read() {
    let (mut settings, shelf) = logged(front::LogFormat::Json);
    // While the client reads what its kernel holds, the response is written and the connection is idle.
    settings.limits.keep_alive = SHORT * 30;
    let server = Server::with(settings, |request| {
        // More than the socket buffers hold.
        let length = if request.path == "/long" { 32 << 20 } else { 1 };
        Reply::ready(Ok(with(200, &[], Body::Full(Bytes::from(vec![0; length])))))
    });
    let mut client = server.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the server has the whole answer", || server.calls() == 1);
    let since = Instant::now();
    eventually("an idle connection would be closed", || since.elapsed() > SHORT * 32);
    assert_eq!(shelf.text(), "", "the response is not written");
    assert_eq!(client.head().header("content-length"), Some("33554432"));
    (0..32).for_each(|_| drop(client.exactly(1 << 20)));
    assert_eq!(client.get("/").status, 200);
    assert!(client.is_closed());
    eventually("both lines", || shelf.text().lines().count() == 2);
    let text = shelf.text();
    assert!(ms(&text) >= (SHORT * 32).as_secs_f64() * 1e3 && !text.contains("client_gone"), "{text}");
}

#[test]
fn a_body_over_the_limit_is_413() {
    let server = Server::echo(limited(|limits| limits.body_bytes = 1000));
    // At once, by its length, before a byte of it arrives, and without asking for it.
    let mut client = server.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n");
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    // By counting, while the client continues to send.
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(format!("200\r\n{}\r\n", "x".repeat(512)).repeat(200));
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let answer = server.ask(post(2_000_000) + &"x".repeat(2_000_000));
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(server.calls(), 0);
    assert_eq!(server.send(post(1000) + &"x".repeat(1000)).response().body.len(), 1000);
}

/// A reset could overtake the response, which some systems then discard.
#[test]
fn a_client_that_goes_on_sending_after_its_last_response_is_not_reset() {
    let server = Server::echo(limited(|limits| limits.body_bytes = 1000));
    let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (request, status) in [
        (post(100_000), 413),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        // The second one is read with the first.
        (last.repeat(2), 200),
    ] {
        let mut client = server.send(&request);
        assert_eq!(client.response().status, status, "{request:?}");
        client.assert_not_reset();
    }
    // What comes while the last request is answered is not read before the end.
    let (server, has_entered, go) = gated(1, settings());
    let mut client = server.send("GET /held HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    has_entered.recv_timeout(SOON).unwrap();
    client.send("more");
    std::thread::park_timeout(SHORT);
    go.send(()).unwrap();
    assert_eq!(client.response().text(), "/held");
    client.assert_not_reset();
}

#[test]
fn a_body_that_does_not_end_is_408() {
    let server = Server::echo(limited(|limits| limits.body_time = SHORT));
    for (length, sent) in [(10, 5), (500_000, 300_000)] {
        let answer = server.ask(post(length) + &"x".repeat(sent));
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    assert_eq!(server.calls(), 0);
}

#[test]
fn a_request_whose_body_is_refused_is_counted_and_recorded() {
    let mut settings = settings();
    settings.limits.body_bytes = 1000;
    settings.limits.body_time = SHORT;
    let server = Server::echo(settings);
    let no_chunk = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".to_owned();
    let trailer = format!("x: {}\r\n\r\n", "a".repeat(9_000));
    let long_trailer = format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{trailer}");
    let meter = &server.engine.meter;
    for (request, status, fault) in
        [(post(1001), 413, "body_too_large"), (post(10), 408, "body_late"), (no_chunk, 400, "body_malformed")]
    {
        let answer = server.ask(&request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        let at = Fault::NAMES.iter().position(|(name, _)| *name == fault).unwrap();
        let past = &meter.recorder.read().failed[0];
        let seen = (past.fault.as_str(), past.method.as_str(), past.path.as_str());
        assert_eq!((meter.faults()[at], seen), (1, (fault, "POST", "/")));
        assert!(answer.contains(&past.id) && !past.why.is_empty(), "{past:?} {answer}");
    }
    // Another status than that of the fault.
    let answer = server.ask(&long_trailer);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let past = &meter.recorder.read().failed[0];
    assert_eq!((past.fault.as_str(), past.status), ("body_malformed", Some(431)));
    assert_eq!((meter.turned_away(), meter.answers(), server.calls()), (4, [0; 5], 0));
    // With time for the body, or it could be over before the client has gone.
    let server = Server::echo(support::settings());
    let meter = &server.engine.meter;
    drop(server.send(post(10) + "x"));
    eventually("the client has gone", || meter.faults()[0] == 1);
    assert_eq!((meter.turned_away(), meter.recorder.read().failed.len()), (1, 0));
}

#[test]
fn bodies_stay_in_memory_or_go_to_a_file() {
    let server = Server::echo(settings());
    let mut client = server.connect();
    for (length, wanted) in [(0, "empty".to_owned()), (65_536, "a".repeat(65_536))] {
        client.send(post(length) + &"a".repeat(length));
        assert_eq!(client.response().text(), wanted);
    }
    client.send(post(500_000) + &"a".repeat(500_000));
    assert_eq!(client.response().text(), "file of 500000, sum 48500000");
}

#[test]
fn faults_have_their_statuses() {
    let (settings, shelf) = logged(front::LogFormat::Text);
    let faults = vec![
        (Fault::QueueFull(3), 503),
        (Fault::QueueWait(SHORT), 503),
        (Fault::QueuePaused(SHORT), 503),
        (Fault::QueueLate(SHORT), 503),
        (Fault::OutOfFiles, 503),
        (Fault::Stopping, 503),
        (Fault::OutOfTime(SHORT.into()), 504),
        (Fault::OutOfMemory(3.into()), 500),
        (Fault::App(Box::default()), 500),
        (Fault::BadAnswer("secret".into()), 500),
        (Fault::Broken("secret".into()), 500),
        (Fault::WorkerDied("secret".into()), 502),
    ];
    let given = Mutex::new([&faults[..], &[(Fault::ClientGone, 0)]].concat());
    let server = Server::with(settings, move |_| Reply::ready(Err(given.lock().unwrap().remove(0).0)));
    let mut client = server.connect();
    for (fault, status) in faults {
        let got = client.get("/");
        assert_eq!(got.status, status, "{fault:?}");
        assert_eq!(got.header("retry-after"), (status == 503).then_some("3"));
        assert!(!got.text().contains("secret"));
        assert!(got.text().contains(got.header("x-request-id").unwrap()));
    }
    // To a client that has gone, no response is sent.
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.rest(), "");
    eventually("the lines are there", || shelf.text().lines().count() == 13);
    let text = shelf.text();
    assert!(text.contains(" 503 ") && text.contains(" queue_full"), "{text}");
    assert!(text.contains(" GET / - 0 ") && text.ends_with(" client_gone\n"), "{text}");
}

#[test]
fn who_is_refused_is_told_to_come_again_after_the_wait_in_the_queue_within_a_minute() {
    for (queue_wait, seconds) in [
        (Duration::ZERO, "1"),
        (Duration::from_millis(1999), "1"),
        (Duration::from_secs(60), "60"),
        (Duration::from_secs(61), "60"),
        (front::FOREVER, "10"),
    ] {
        let settings = limited(|limits| limits.queue_wait = queue_wait);
        let server = Server::with(settings, |_| Reply::ready(Err(Fault::QueueFull(3))));
        assert_eq!(server.connect().get("/").header("retry-after"), Some(seconds), "{queue_wait:?}");
    }
}

/// As on the admin listener.
#[test]
fn errors_are_json_where_that_is_set_whatever_the_client_accepts() {
    let mut settings = settings();
    settings.json_errors = true;
    let server = Server::with(settings, |_| Reply::ready(Err(Fault::Stopping)));
    for (request, error) in [
        ("GET / HTTP/1.0\r\nAccept: text/html\r\n\r\n", "Service Unavailable"),
        ("GET\r\n\r\n", "the request line has no target"),
        ("POST / HTTP/1.0\r\nContent-Length: 1048577\r\n\r\n", "the body is too large"),
    ] {
        let answer = server.ask(request);
        assert!(answer.contains("\r\ncontent-type: application/json\r\n"), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{{\"error\":\"{error}\"}}\n")), "{answer}");
    }
}

#[test]
fn an_engine_that_is_late_is_504() {
    let (server, _kept) = Server::keeping(limited(|limits| limits.request_time = SHORT));
    server.engine.shows_faults.store(true, Ordering::SeqCst);
    let mut client = server.connect();
    for _ in 0..2 {
        let begun = Instant::now();
        let got = client.get("/");
        assert!(got.status == 504 && got.text().contains("the application took longer than 80ms\n"), "{}", got.text());
        assert!(begun.elapsed() >= SHORT);
    }
    let meter = &server.engine.meter;
    let failed = meter.recorder.read().failed;
    assert_eq!((meter.turned_away(), failed.len()), (2, 2), "the engine has not ended: {failed:?}");
    assert!(failed.iter().all(|past| past.fault == "out_of_time" && past.path == "/"), "{failed:?}");
}

#[test]
fn a_client_that_reads_nothing_is_cut_off() {
    for is_one_piece in [false, true] {
        let (mut settings, shelf) = logged(front::LogFormat::Json);
        settings.limits.write_time = SHORT;
        let server = Server::with(settings, move |_| {
            if is_one_piece {
                return Reply::ready(Ok(with(200, &[], Body::Full(Bytes::from(vec![0; 64 << 20])))));
            }
            let (sink, source) = body::stream(1 << 30);
            for _ in 0..1024 {
                sink.send_blocking(Bytes::from(vec![0; 1 << 16]), Instant::now()).unwrap();
            }
            sink.finish();
            Reply::ready(Ok(with(200, &[], Body::Stream(source))))
        });
        let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        // Not read here: the entry is written when the server closes the connection.
        eventually("the connection is cut", || shelf.text().contains("client_gone"));
        let text = shelf.text();
        assert!(ms(&text) >= SHORT.as_secs_f64() * 1e3 && text.lines().count() == 1, "{text}");
        assert_eq!(client.head().status, 200);
        let got = client.rest().len();
        assert!(got < 64 << 20);
        // Of a stream, the sizes of its chunks are among what the client has.
        assert!(!is_one_piece || text.contains(&format!("\"bytes\":{got},")), "{got} bytes came: {text}");
    }
}

/// The front has handed the whole response to hyper by then.
#[test]
fn a_client_that_reads_nothing_of_a_response_in_one_piece_is_counted_and_recorded() {
    let (mut settings, _) = logged(front::LogFormat::Text);
    settings.limits.write_time = SHORT;
    let meter: Arc<Meter> = Arc::default();
    let theirs = meter.clone();
    let server = Server::with(settings, move |request| {
        let (responder, reply) = reply::metered(&theirs, &request, Instant::now());
        responder.send(Ok(with(200, &[], Body::Full(Bytes::from(vec![0; 64 << 20])))), Duration::ZERO);
        reply
    });
    let mut client = server.send("POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1");
    // No time of the application.
    std::thread::park_timeout(4 * SHORT);
    let complete = Instant::now();
    client.send("2");
    eventually("the record", || !meter.recorder.read().failed.is_empty());
    let failed = meter.recorder.read().failed;
    assert!(failed[0].took_ms <= complete.elapsed().as_secs_f64() * 1e3, "{failed:?}");
    let seen = (failed[0].path.as_str(), failed[0].status, failed[0].fault.as_str());
    assert_eq!(seen, ("/page", Some(200), "client_gone"));
    assert_eq!((failed.len(), meter.faults().iter().sum::<u64>(), meter.answers()), (1, 1, [0, 1, 0, 0, 0]));
}

/// Reads slowly and all the time, for longer than a write may take; `check` is called after each piece.
fn read_slowly(client: &mut Client, check: impl Fn(Duration)) {
    let begun = Instant::now();
    // The server's kernel holds some megabytes, and reports room for more only when a third of that is free.
    while begun.elapsed() < Duration::from_millis(3_500) {
        drop(client.exactly(32 << 10));
        std::thread::park_timeout(Duration::from_millis(60));
        check(begun.elapsed());
    }
}

/// Connects a client with a small buffer, so that the kernel says soon what was read.
fn connect_with_small_buffer(server: &Server) -> Client {
    let client = server.connect();
    rustix::net::sockopt::set_socket_recv_buffer_size(&client.stream, 64 * 1024).unwrap();
    client
}

/// The event loop reports room in a socket only when much of its buffer is free. What is tried before the client is let
/// go is a part of the file here, and no memory of the server.
#[test]
fn a_client_that_reads_a_file_slowly_and_all_the_time_is_not_let_go() {
    const BYTES: u64 = 64 << 20;
    let (mut settings, shelf) = logged(front::LogFormat::Json);
    settings.limits.write_time = Duration::from_secs(1);
    let server = Server::with(settings, |_| {
        let file = tempfile::tempfile().unwrap();
        file.set_len(BYTES).unwrap();
        Reply::ready(Ok(with(200, &[], Body::File(file, BYTES))))
    });
    let mut client = connect_with_small_buffer(&server);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    read_slowly(&mut client, |after| assert_eq!(shelf.text(), "", "after {after:?}"));
}

/// As a client on a slow line to which an application sends events, or a file.
#[test]
fn a_client_that_reads_a_hijacked_connection_slowly_and_all_the_time_is_not_let_go() {
    let settings = limited(|limits| limits.write_time = Duration::from_secs(1));
    let is_cut = Arc::new(AtomicBool::new(false));
    let theirs = is_cut.clone();
    let server = Server::with(settings, move |_| {
        let (ours, app) = body::duplex(1 << 16);
        let is_cut = theirs.clone();
        std::thread::spawn(move || {
            let chunk = Bytes::from(vec![b'x'; 1 << 16]);
            while app.outgoing.send_blocking(chunk.clone(), Instant::now() + SOON).is_ok() {}
            is_cut.store(true, Ordering::SeqCst);
        });
        Reply::ready(Ok(with(200, &[], Body::Upgrade(ours))))
    });
    let mut client = connect_with_small_buffer(&server);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    read_slowly(&mut client, |after| assert!(!is_cut.load(Ordering::SeqCst), "after {after:?}"));
}

/// Hints fill its buffer here; usually the response before them has.
#[test]
fn a_client_that_reads_slowly_and_all_the_time_is_not_let_go_for_an_early_hint() {
    let settings = limited(|limits| limits.write_time = Duration::from_secs(1));
    let (server, kept) = Server::leaving(settings, |request| {
        let (responder, reply) = reply::pair();
        (reply, (responder, request.hints))
    });
    let mut client = connect_with_small_buffer(&server);
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    eventually("the call", || server.calls() == 1);
    let (responder, hints) = kept.lock().unwrap().pop().unwrap();
    let hints = hints.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let theirs = is_over.clone();
    let hinting = std::thread::spawn(move || {
        let mut links = http::HeaderMap::new();
        links.insert("link", http::HeaderValue::from_str(&"x".repeat(16 << 10)).unwrap());
        while !theirs.load(Ordering::SeqCst) {
            hints.send(links.clone());
            std::thread::park_timeout(Duration::from_millis(1));
        }
    });
    read_slowly(&mut client, |_| {});
    is_over.store(true, Ordering::SeqCst);
    hinting.join().unwrap();
    responder.send(Ok(full("all")), SOON);
    assert!(client.rest().ends_with("\r\n\r\nall"));
}

#[test]
fn a_response_that_a_stop_cuts_off_is_logged_as_cut_off() {
    let (settings, shelf) = logged(front::LogFormat::Json);
    let large = Bytes::from(vec![0; 64 << 20]);
    let server = Server::with(settings, move |_| Reply::ready(Ok(with(200, &[], Body::Full(large.clone())))));
    let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    server.stop.now();
    eventually("the line", || shelf.text().contains("\"fault\":\"stopping\""));
}

#[test]
fn a_slow_reader_does_not_hold_the_sink_until_the_spool_is_full() {
    let settings = limited(|limits| limits.spool_bytes = 32 << 20);
    let sent: std::sync::Arc<Mutex<Option<usize>>> = Mutex::new(None).into();
    let theirs = sent.clone();
    let server = Server::with(settings, move |_| {
        let (sink, source) = body::stream(1 << 16);
        let theirs = theirs.clone();
        std::thread::spawn(move || {
            let chunk = Bytes::from(vec![b'x'; 1 << 16]);
            let send = |_: &u32| sink.send_blocking(chunk.clone(), Instant::now() + support::SOON).is_ok();
            let count = (0..256).take_while(send).count();
            sink.finish();
            *theirs.lock().unwrap() = Some(count);
        });
        Reply::ready(Ok(with(200, &[], Body::Stream(source))))
    });
    let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("all 16 MiB are taken", || *sent.lock().unwrap() == Some(256));
    assert_eq!(client.response().body.len(), 16 << 20);
}

#[test]
fn nobody_is_kept_out_by_those_who_ask_nothing() {
    let settings = limited(|limits| limits.connections = 4);
    let held: Mutex<Vec<Responder>> = Mutex::default();
    let server = Server::with(settings, move |request| {
        if request.path == "/held" {
            let (responder, reply) = reply::pair();
            held.lock().unwrap().push(responder);
            return reply;
        }
        for responder in held.lock().unwrap().drain(..) {
            responder.send(Ok(support::full("held")), Duration::ZERO);
        }
        Reply::ready(Ok(support::full("new")))
    });
    let mut asks = server.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the call", || server.calls() == 1);
    // Clients that send nothing, half a head, half a body.
    let mut idle = [String::new(), "GET /".to_owned(), post(10)].map(|bytes| server.send(bytes));
    let mut more: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let begun = Instant::now();
    assert_eq!(server.connect().get("/").body, b"new");
    assert!(begun.elapsed() < support::SOON / 2, "{:?}", begun.elapsed());
    // The silent ones are evicted, but not those that have begun a request or wait for a response.
    assert!(idle[0].is_closed() && more[0].is_closed());
    assert_eq!(asks.response().body, b"held");
    idle[2].send("b".repeat(10));
    assert_eq!(idle[2].response().status, 200);
}
