//! Malicious and broken requests: each gets its status, and the engine gets none that it must not see.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use engine::Reply;
use support::{Server, full, listeners, settings};

/// (input, statuses in order, requests that the engine may see)
type Case = (&'static str, &'static [u16], &'static [&'static str]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Request lines.
    ("GET\r\n\r\n", &[400], &[]),
    ("GET /\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1 x\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\nHost: a\n\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", &[400], &[]),
    ("GET / HTTP/1.1\rHost: a\r\n\r\n", &[400], &[]),
    ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", &[505], &[]),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", &[505], &[]),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[505], &[]),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", &[505], &[]),
    ("GET / HTTP/11\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / FTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("G\u{0}T / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    (" / HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("\u{16}\u{3}\u{1}\u{0}\u{a5}\u{1}\u{0}\n\r\n", &[400], &[]),
    ("EHLO mail.example\r\nMAIL FROM:<a@b>\r\n\r\n", &[400], &[]),
    ("*1\r\n$4\r\nPING\r\n\r\n", &[400], &[]),
    // Targets.
    ("GET x HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET a.example:80 HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET /\u{1b}[2J HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET http://a b/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", &[501], &[]),
    ("CONNECT /x HTTP/1.1\r\nHost: a\r\n\r\n", &[501], &[]),
    // Hosts.
    ("GET / HTTP/1.1\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: \"a\"\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.0\r\nHost: a b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost:\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n", &[400], &[]),
    ("GET http://a:99999/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: [1::2::3]\r\n\r\n", &[400], &[]),
    // Headers.
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: y\r\n z\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: y\r\n\tz\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx\t: z\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\n: z\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nxyz\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: a\u{0}b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: a\u{1}b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: a\u{7f}b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx: a\rb\r\n\r\n", &[400], &[]),
    // A carriage return as the end of the head, as in CVE-2025-23167.
    ("GET / HTTP/1.1\r\nHost: a\r\n\rGET /2 HTTP/1.1\r\nHost: a\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx\u{0}: b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx\u{e9}: b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nx(y): b\r\n\r\n", &[400], &[]),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n", &[200], &["GET /"]),
    ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
        &[200], &["POST /"]),
    // Framing: what follows a body must never be taken for another request, nor the other way round.
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1a\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\na", &[413], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na", &[400], &[]),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", &[501], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n : chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;bad[=x\r\nhello\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\n0\n\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;\u{0}\r\na\r\n0\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;x\ny\r\na\r\n0\r\n\r\n", &[400], &[]),
    // A size line may not end within quotes, as in CVE-2026-2332 and CVE-2026-33870.
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;x=\"y\r\na\r\n0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
        &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: \u{0}\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n x\r\n\r\n", &[400], &[]),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n0\r\n\r\n", &[400], &[]),
    // A request of any method may have a body, whatever its head says about the connection or expects.
    ("GET /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 19\r\n\r\nGET /x HTTP/1.1\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
        &[200, 200], &["GET /1", "GET /2"]),
    ("HEAD /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
        &[200, 200], &["HEAD /1", "GET /2"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 1\r\n\r\naGET /2 HTTP/1.0\r\n\r\n",
        &[200, 200], &["POST /1", "GET /2"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\
      Content-Length: 1\r\n\r\naGET /2 HTTP/1.0\r\n\r\n", &[200, 200], &["POST /1", "GET /2"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
        &[100, 200, 400], &["POST /1"]),
    // What follows the last request of a connection is not read as a request.
    ("GET /1 HTTP/1.1\r\nTE: gzip\r\nConnection: TE, close\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        &[200], &["GET /1"]),
    ("GET /1 HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", &[200], &["GET /1"]),
    // A valid request before an invalid one is answered, and nothing after the invalid one is.
    ("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n", &[200, 400], &["GET /1"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost:a\r\nHost: b\r\n\r\n",
        &[200, 400], &["POST /1"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /2 HTTP/1.1\n\n",
        &[200, 400], &["POST /1"]),
    ("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd\r\n\r\nGET /2 HTTP/1.0\r\nHost: a\r\n\r\n",
        &[200, 200], &["POST /1", "GET /2"]),
    // Unusual, but valid.
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1 ;a\r\nx\r\n0\t;c\r\n\r\n",
        &[200], &["POST /"]),
    ("\r\n\r\nGET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["GET /1"]),
    ("GET /1 HTTP/1.0\r\n\r\n", &[200], &["GET /1"]),
    ("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["OPTIONS *"]),
    ("GET http://b/1?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["GET http://b/1?x"]),
    ("GET /\u{fc}%00%0d%0a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["GET /\u{fc}%00%0d%0a"]),
    ("M-SEARCH /1 HTTP/1.1\r\nHost:a\r\nConnection: close\r\n\r\n", &[200], &["M-SEARCH /1"]),
    ("GET /a?b#c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["GET /a?b"]),
    ("GET /<`>?<\"> HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &[200], &["GET /%3C%60%3E?%3C%22%3E"]),
    ("GET http://b/1 HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", &[200], &["GET http://b/1"]),
];

fn statuses(answer: &str) -> Vec<u16> {
    let marks = answer.match_indices("HTTP/1.");
    marks.filter_map(|(at, _)| answer.get(at + 9..at + 12)?.parse().ok()).collect()
}

#[test]
fn each_hostile_request_has_its_answer_in_whatever_pieces_it_arrives() {
    let server = Server::echo(settings());
    for (sent, wanted, seen) in CASES {
        for piece in [usize::MAX, 7] {
            server.engine.targets.lock().unwrap().clear();
            let mut client = server.connect();
            sent.as_bytes().chunks(piece).for_each(|bytes| client.send(bytes));
            let answer = client.rest();
            assert_eq!(statuses(&answer), *wanted, "{sent:?} in pieces of {piece} got {answer:?}");
            let targets = server.engine.targets.lock().unwrap();
            assert_eq!(targets.iter().collect::<Vec<_>>(), *seen, "{sent:?} in pieces of {piece}");
        }
    }
}

#[test]
fn a_request_with_random_bytes_in_it_is_called_once_or_refused_and_always_answered() {
    let server = Server::echo(settings());
    // A linear congruential generator: the same bytes at each run.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let base = b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nX: y\r\nConnection: close\r\n\r\nabc";
    let (mut called, mut refused) = (0, 0);
    for _ in 0..1000 {
        let mut bytes = base.to_vec();
        for _ in 0..1 + next() % 3 {
            let at = next() % 60;
            bytes[at] = b"\r\n\0 :;,\t\x7f\xff#*/0a"[next() % 15];
        }
        let mut client = server.send(&bytes);
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = client.rest();
        let found = statuses(&answer);
        let calls: Vec<String> = server.engine.targets.lock().unwrap().drain(..).collect();
        // Each input has the end of a head. Where that of the first one comes earlier, a second one may be refused.
        let is_refusal = |status: &u16| (400..=505).contains(status);
        let is_right = match (&calls[..], &found[..]) {
            ([], [refusal]) => is_refusal(refusal),
            ([_], [200]) => true,
            ([_], [200, refusal]) => is_refusal(refusal),
            _ => false,
        };
        assert!(is_right, "{}: {calls:?}, {answer}", bytes.escape_ascii());
        called += calls.len();
        refused += usize::from(calls.is_empty());
    }
    assert!(called > 50 && refused > 50, "{called} calls, {refused} refusals");
    assert_eq!(server.connect().get("/").status, 200);
}

/// Its address is unknown by then, and to the application a client without an address is one on this machine.
#[test]
fn who_has_reset_the_connection_before_it_is_served_makes_no_call() {
    let listeners = listeners();
    let front::Bind::Tcp(address) = listeners[0].local() else { panic!("not TCP") };
    let mut reset = TcpStream::connect(address).unwrap();
    // Behind the request comes more than is read ahead while it is served: the reset after that goes unnoticed.
    write!(reset, "GET /reset HTTP/1.1\r\nHost: a\r\n\r\n{}", "x".repeat(50_000)).unwrap();
    rustix::net::sockopt::set_socket_linger(&reset, Some(Duration::ZERO)).unwrap();
    drop(reset);

    let mut server = Server::on(listeners, 1, settings(), |request| {
        Reply::ready(Ok(full(&format!("{:?}", request.peer.remote_ip))))
    });
    let answer = server.ask("GET /second HTTP/1.0\r\n\r\n");
    assert!(answer.ends_with("Some(\"127.0.0.1\")"), "{answer}");
    assert_eq!(*server.engine.targets.lock().unwrap(), ["GET /second"]);
    server.stop.drain();
    server.ended();
}
