//! What an application on the Ruby engine gets: the environment, and bodies of every size.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support;
use crate::support::{Server, ruby};

const APP: &str = include_str!("apps/ruby/requests.ru");

/// The environment of one request.
fn env(server: &Server, request: &str) -> HashMap<String, String> {
    let reply = ruby::expect(server, server.client().ask(request), 200);
    let text = reply.text();
    text.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.into(), value.into())).collect()
}

/// A request, a key that environment.rs does not ask both engines for, and its value; `-` where it must not be there.
const ENV: &[(&str, &str, &str)] = &[
    ("GET /env HTTP/1.1\nHost: a\nX-Forwarded-Proto: https\n\n", "rack.url_scheme", "https"),
    ("GET /env HTTP/1.1\nHost: a\nX-Forwarded-Proto: https\n\n", "HTTPS", "on"),
    ("GET /env HTTP/1.1\nHost: a\nX-Forwarded-Proto: https\n\n", "SERVER_PORT", "443"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.multithread", "true"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.multiprocess", "false"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.run_once", "false"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.hijack?", "true"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.input", "object"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.errors", "object"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.hijack", "object"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.early_hints", "-"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.after_reply", "[]"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.response_finished", "[]"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "GATEWAY_INTERFACE", "CGI/1.2"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "rack.version", "[1, 6]"),
    ("GET /env HTTP/1.1\nHost: a\n\n", "puma.mark_as_io_bound", "object"),
    ("GET /env HTTP/1.1\nHost: a\nX-Request-Start: t=1\n\n", "puma.request_body_wait", "-"),
];

/// A copy of the descriptor, and pages of the file that `sendfile` has put into a pipe, outlive the request.
#[test]
fn what_the_application_keeps_of_a_body_stays_as_it_was_when_others_come() {
    let app = "run(lambda do |env|
      input = env['rack.input']
      body = input.read
      input.rewind
      if body[0] == 'a'
        $piped, into = IO.pipe
        IO.copy_stream(input, into, 60_000)
        into.close
      end
      $kept = input.dup if body[0] == 'b'
      was = body[0] == 'e' ? [$piped.read.squeeze, $kept.pread(3, 0)] : []
      [200, {}, [[*was, body.squeeze, input.size].join(' ')]]
    end)";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = server.client();
    for (letter, length, was) in
        [("a", 300_000, ""), ("b", 400_000, ""), ("c", 200_000, ""), ("d", 500_000, ""), ("e", 150_000, "a bbb ")]
    {
        let said = client.post("/", letter.repeat(length).as_bytes()).text();
        assert_eq!(said, format!("{was}{letter} {length}"));
    }
}

#[test]
fn the_environment_is_complete() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    for (request, key, expected) in ENV {
        let env = env(&server, request);
        let found = env.get(*key).map_or("-", String::as_str);
        assert_eq!(found, *expected, "{key} of {request}\n{env:#?}");
    }
    let found = env(&server, ENV[0].0);
    assert!(found["SERVER_SOFTWARE"].starts_with("FoolsGold"), "{found:?}");
    let star = server.client().ask("OPTIONS * HTTP/1.1\nHost: a\n\n");
    assert_eq!(ruby::expect(&server, star, 404).text(), "no case for *");
    let odd = server.client().ask("POST /encodings HTTP/1.1\nHost: a\nX-A: 1\nContent-Length: 1\n\na");
    assert_eq!(odd.text(), "[[], true]", "strings of the environment are binary");
    ruby::assert_clean(&server);
}

/// More different sets of headers than the front tells its workers of in advance.
const HEADERS: usize = 300;

#[test]
fn headers_of_any_name_arrive_and_do_not_leak_into_the_next_request() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut client = server.client();
    for number in 0..3 * HEADERS {
        let key = number % HEADERS;
        let reply = client.ask(&format!("GET /env?{number} HTTP/1.1\nHost: a\nX-Key-{key}: v{number}\n\n"));
        let text = ruby::expect(&server, reply, 200).text();
        assert!(text.contains(&format!("HTTP_X_KEY_{key}=v{number}\n")), "{text}");
        assert!(text.contains(&format!("QUERY_STRING={number}\n")), "{text}");
        assert_eq!(text.matches("HTTP_X_KEY").count(), 1, "{text}");
    }
    // All characters that a name may have (RFC 9110 section 5.6.2), and an empty value, last.
    let odd = "GET /env HTTP/1.1\nHost: a\nX!#$%&'*+.^`|~: odd\nX-Empty:\n\n";
    let env = env(&server, odd);
    assert_eq!(env.get("HTTP_X!#$%&'*+.^`|~").map(String::as_str), Some("odd"), "{env:#?}");
    assert_eq!(env.get("HTTP_X_EMPTY").map(String::as_str), Some(""), "{env:#?}");
    assert_eq!(env.get("rack.hijack?").map(String::as_str), Some("true"));
    let odd = client.ask("POST /encodings HTTP/1.1\nHost: a\nX~: 1\nContent-Length: 1\n\na");
    assert_eq!(odd.text(), "[[], true]");
    for bytes in [1000, 1019, 1020, 30_000] {
        let reply = client.ask(&format!("GET /env HTTP/1.1\nHost: a\n{}: long\n\n", "x".repeat(bytes)));
        let text = ruby::expect(&server, reply, 200).text();
        assert!(text.contains(&format!("HTTP_{}=long\n", "X".repeat(bytes))), "a name of {bytes} bytes: {text}");
    }
    assert!(!server.log().contains(" exited"), "no worker died of it\n{}", server.log());
    ruby::assert_clean(&server);
}

/// A path, a body, and what the application makes of it.
const BODIES: &[(&str, &[u8], &str)] = &[
    ("/length", b"", "0"),
    ("/length", b"abc", "3"),
    ("/parts", b"abcdefghij", "abcd|efgh|ij"),
    ("/buffer", b"abcdef", "abc"),
    ("/gets", b"ab\nc\n\nlast", "3,2,1,4"),
    ("/each", b"ab\nc\n\nlast", "3,2,1,4"),
    ("/end", b"abc", "[\"\", nil, nil]"),
    ("/end", b"", "[\"\", nil, nil]"),
    ("/unread", b"abc", "unread"),
];

/// Whether a body can be read again: Rack 3 has no `rewind`, and its Lint none either.
fn rewinds(server: &Server) -> bool {
    server.log().contains(", rack 2.")
}

#[test]
fn the_body_of_a_request_is_read_in_every_way() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let mut client = server.client();
    for (path, body, expected) in BODIES {
        let reply = client.post(path, body);
        assert_eq!(ruby::expect(&server, reply, 200).text(), *expected, "{path}");
    }
    // Below and above what is held in memory, what goes in a frame, and what goes in a buffer.
    for size in [1, 4096, 65_536, 112 << 10, (112 << 10) + 1, 512 << 10, (512 << 10) + 1, 3 << 20] {
        let body: Vec<u8> = (0..size).map(|at: u32| (at % 251) as u8).collect();
        assert_eq!(client.post("/length", &body).text(), size.to_string());
        assert_eq!(client.post("/count", &body).text(), size.to_string());
        assert_eq!(client.post("/read", &body).text().len(), 64);
        assert_eq!(client.post("/read", &body).text(), client.post("/read", &body).text());
        if rewinds(&server) {
            assert_eq!(client.post("/again", &body).text(), size.to_string(), "rewinds after {size} bytes");
        }
        assert_eq!(client.post("/unread", &body).text(), "unread", "the next request is not in what was not read");
    }
    ruby::assert_clean(&server);
}

#[test]
fn chunked_bodies_and_forms_arrive_whole() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let mut client = server.client();
    let head = "POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n")).unwrap();
    assert_eq!(ruby::expect(&server, client.reply().unwrap(), 200).text(), "7");
    let mut large = String::from(head);
    (0..300).for_each(|_| write!(large, "1000\r\n{}\r\n", "x".repeat(4096)).unwrap());
    client.send(format!("{large}0\r\n\r\n")).unwrap();
    assert_eq!(ruby::expect(&server, client.reply().unwrap(), 200).text(), (300 * 4096).to_string());
    let form = "a=1&b=gold";
    let request = "POST /form HTTP/1.1\nHost: a\nContent-Type: application/x-www-form-urlencoded\n";
    let reply = client.ask(&format!("{request}Content-Length: {}\n\n{form}", form.len()));
    assert_eq!(reply.text(), form);
    let part = "Content-Disposition: form-data; name=\"up\"; filename=\"f\"\r\nContent-Type: a/b\r\n\r\n";
    let body = format!("--B\r\n{part}{}\r\n--B--\r\n", "x".repeat(900_000));
    let request = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n";
    client.send(format!("{request}Content-Length: {}\r\n\r\n{body}", body.len())).unwrap();
    assert_eq!(ruby::expect(&server, client.reply().unwrap(), 200).text(), "up=900000");
    ruby::assert_clean(&server);
}

#[test]
fn many_uploads_at_once_do_not_mix() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "3"]);
    thread::scope(|scope| {
        for number in 0..8_usize {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for round in 0..10 {
                    let size = (number * 100_003 + round * 7001) % 900_000;
                    assert_eq!(client.post("/length", vec![b'x'; size]).text(), size.to_string());
                }
            });
        }
    });
    ruby::assert_clean(&server);
}

const UPLOAD: u64 = 1 << 30;
const PIECE: usize = 1 << 20;

/// More than this no process may take for an upload: a file is read and written in pieces.
const GROWTH_KIB: u64 = 24 << 10;

#[test]
fn a_large_upload_takes_constant_memory() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    server.client().post("/count", vec![b'x'; PIECE]);
    let pids: Vec<u32> = [server.id()].into_iter().chain(ruby::processes(server.id())).collect();
    let memory = || pids.iter().map(|pid| ruby::pss_kib(*pid)).sum::<u64>();
    let before = memory();
    let (peak, is_over) = (AtomicU64::new(before), AtomicBool::new(false));
    let reply = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peak.fetch_max(memory(), Ordering::Relaxed);
                thread::park_timeout(Duration::from_millis(50));
            }
        });
        let mut client = server.client();
        client.send(format!("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: {UPLOAD}\r\n\r\n")).unwrap();
        let piece = vec![b'x'; PIECE];
        let sent = (0..UPLOAD / PIECE as u64).try_for_each(|_| client.send(&piece));
        let reply = client.reply();
        is_over.store(true, Ordering::Relaxed);
        sent.unwrap();
        reply.unwrap()
    });
    assert_eq!(ruby::expect(&server, reply, 200).text(), UPLOAD.to_string());
    let growth = peak.into_inner().saturating_sub(before);
    assert!(growth < GROWTH_KIB, "{growth} KiB more for an upload of {UPLOAD} bytes");
}

/// Time between the head of a slow upload and its body.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends a head with this line in it and, after a pause, a body of one byte. Returns the time before that, and the
/// environment of the request.
fn upload_slowly(server: &Server, line: &str) -> (f64, String) {
    let mut client = server.client();
    let head = format!("POST /env HTTP/1.1\r\nHost: a\r\n{line}Expect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    client.send(head).unwrap();
    assert_eq!(client.head().unwrap().status, 100, "the server has the head");
    support::within(PAUSE, || false);
    let last = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    client.send("x").unwrap();
    (last, ruby::expect(server, client.reply().unwrap(), 200).text())
}

/// The number that follows these words at the beginning of a line.
fn number_after(words: &str, text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(words)).map(|number| number.parse().unwrap())
}

/// Monitoring takes the time in the queue from the start of a request, and adds workers when that grows. From the start
/// that a proxy has set it subtracts the time of the upload, in milliseconds.
#[test]
fn the_time_of_an_upload_is_no_time_in_the_queue() {
    const WAIT: &str = "puma.request_body_wait=";
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let (last, text) = upload_slowly(&server, "");
    let start = number_after("HTTP_X_REQUEST_START=t=", &text).unwrap();
    assert!(start > last - 0.05, "{start}, and the last byte was sent at {last}");
    assert_eq!(number_after(WAIT, &text), None, "it would be subtracted once more");
    let (_, text) = upload_slowly(&server, "X-Request-Start: t=1\r\n");
    let wait = number_after(WAIT, &text).unwrap();
    assert!(wait >= PAUSE.as_secs_f64() * 1e3, "{wait} ms\n{text}");
    assert!(wait < 60_000.0, "{wait} ms\n{text}");
}
