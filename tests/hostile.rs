//! Malformed and hostile requests: a table of known attacks, each sent in several ways, and a thousand mutations of
//! good requests with a fixed seed. The application writes down every call it gets, so that a wrong call cannot pass
//! unseen; after each request the server must still be there and answer.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, Reply, Rng, Server};

/// Writes down each call; `/calls` gives them and forgets them.
const APP: &str = "
run lambda { |env|
  store = FoolsGold.store
  path = env[\"PATH_INFO\"]
  if path == \"/calls\"
    all = (1..(store.get(\"n\") || 0)).map { |n| store.get(\"call#{n}\").to_s }
    store.clear
    next [200, {}, [all.join(\"\\n\")]]
  end
  body = env[\"rack.input\"].read
  odd = env.keys.select { |key|
    value = env[key]
    value.is_a?(String) && [\"\\r\", \"\\n\", \"\\0\"].any? { |char| value.include?(char) }
  }
  n = store.increment(\"n\")
  call = [env[\"REQUEST_METHOD\"], path, body.bytesize, odd.inspect, env[\"HTTP_X_WRONG\"].inspect]
  store.set(\"call#{n}\", call.join(\" \"))
  [200, {}, [\"ok\"]]
}
";

fn serve() -> Server {
    let quick = ["--header-time", "2s", "--body-time", "2s", "--keep-alive", "2s"];
    let mut options = vec!["-t", "1", "--header-bytes", "16KiB", "--body-bytes", "64KiB", "--access-log", "off"];
    options.extend(quick);
    Server::start(APP, &options)
}

/// Requests that must never reach the application. `@` stands for the target, `~` for a good Host line.
const REFUSED: &[(&str, &str)] = &[
    ("HTTP/0.9", "GET @\r\n\r\n"),
    ("two spaces", "GET  @ HTTP/1.1\r\n~\r\n"),
    ("a tab for a space", "GET\t@ HTTP/1.1\r\n~\r\n"),
    ("a space at the end of the line", "GET @ HTTP/1.1 \r\n~\r\n"),
    ("a space first", " GET @ HTTP/1.1\r\n~\r\n"),
    ("a space in the target", "GET @ x HTTP/1.1\r\n~\r\n"),
    ("no version", "GET @ \r\n~\r\n"),
    ("version in lower case", "GET @ http/1.1\r\n~\r\n"),
    ("version without a dot", "GET @ HTTP/11\r\n~\r\n"),
    ("version without a minor", "GET @ HTTP/1.\r\n~\r\n"),
    ("version 2.0", "GET @ HTTP/2.0\r\n~\r\n"),
    ("version 3.0", "GET @ HTTP/3.0\r\n~\r\n"),
    ("another protocol", "GET @ RTSP/1.0\r\n~\r\n"),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("NUL in the method", "GE\0T @ HTTP/1.1\r\n~\r\n"),
    ("a bracket in the method", "GE(T @ HTTP/1.1\r\n~\r\n"),
    ("a control character in the target", "GET @\u{1} HTTP/1.1\r\n~\r\n"),
    ("NUL in the target", "GET @\0 HTTP/1.1\r\n~\r\n"),
    ("DEL in the target", "GET @\u{7f} HTTP/1.1\r\n~\r\n"),
    ("a carriage return in the target", "GET @\rX: y HTTP/1.1\r\n~\r\n"),
    ("a target without a slash", "GET x@ HTTP/1.1\r\n~\r\n"),
    ("an asterisk for GET", "GET * HTTP/1.1\r\n~\r\n"),
    ("a line without a colon", "GET @ HTTP/1.1\r\n~X-Wrong\r\n\r\n"),
    ("a space in a name", "GET @ HTTP/1.1\r\n~X Wrong: 1\r\n\r\n"),
    ("a space before the colon", "GET @ HTTP/1.1\r\n~X-Wrong : 1\r\n\r\n"),
    ("a tab before the colon", "GET @ HTTP/1.1\r\n~X-Wrong\t: 1\r\n\r\n"),
    ("no name", "GET @ HTTP/1.1\r\n~: 1\r\n\r\n"),
    ("NUL in a name", "GET @ HTTP/1.1\r\n~X-Wr\0ng: 1\r\n\r\n"),
    ("a byte above ASCII in a name", "GET @ HTTP/1.1\r\n~X-Wr\u{f6}ng: 1\r\n\r\n"),
    ("NUL in a value", "GET @ HTTP/1.1\r\n~X-Wrong: a\0b\r\n\r\n"),
    ("a carriage return in a value", "GET @ HTTP/1.1\r\n~X-Wrong: a\rb: c\r\n\r\n"),
    ("ESC in a value", "GET @ HTTP/1.1\r\n~X-Wrong: \u{1b}[31m\r\n\r\n"),
    ("obs-fold", "GET @ HTTP/1.1\r\n~X-Wrong: a\r\n b\r\n\r\n"),
    ("obs-fold with a tab", "GET @ HTTP/1.1\r\n~X-Wrong: a\r\n\tb\r\n\r\n"),
    ("a fold before any header", "GET @ HTTP/1.1\r\n X-Wrong: a\r\n~\r\n"),
    ("no Host", "GET @ HTTP/1.1\r\n\r\n"),
    ("two Hosts", "GET @ HTTP/1.1\r\n~Host: b\r\n\r\n"),
    ("a space in Host", "GET @ HTTP/1.1\r\nHost: a b\r\n\r\n"),
    ("a path in Host", "GET @ HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ("a user in Host", "GET @ HTTP/1.1\r\nHost: u@b\r\n\r\n"),
    ("a port that is none", "GET @ HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    ("Content-Length with a plus", "POST @ HTTP/1.1\r\n~Content-Length: +5\r\n\r\nhello"),
    ("a negative Content-Length", "POST @ HTTP/1.1\r\n~Content-Length: -5\r\n\r\nhello"),
    ("a hexadecimal Content-Length", "POST @ HTTP/1.1\r\n~Content-Length: 0x5\r\n\r\nhello"),
    ("an empty Content-Length", "POST @ HTTP/1.1\r\n~Content-Length:\r\n\r\nhello"),
    ("letters in Content-Length", "POST @ HTTP/1.1\r\n~Content-Length: 5a\r\n\r\nhello"),
    ("a space in Content-Length", "POST @ HTTP/1.1\r\n~Content-Length: 5 5\r\n\r\nhello"),
    ("two different Content-Lengths", "POST @ HTTP/1.1\r\n~Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    ("a list of different Content-Lengths", "POST @ HTTP/1.1\r\n~Content-Length: 5, 6\r\n\r\nhello!"),
    ("a Content-Length beyond 64 bits", "POST @ HTTP/1.1\r\n~Content-Length: 99999999999999999999\r\n\r\nhello"),
    ("an unknown coding", "POST @ HTTP/1.1\r\n~Transfer-Encoding: gold\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    ("chunked not last", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    (
        "chunked overruled by a second line",
        "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    ("a coding that only ends like chunked", "POST @ HTTP/1.1\r\n~Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ("a chunk length with letters", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"),
    ("a negative chunk length", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"),
    ("a chunk length with 0x", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"),
    (
        "a chunk length beyond 64 bits",
        "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
    ),
    ("no chunk length", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n"),
    ("a chunk longer than it says", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n"),
    ("chunks that never end", "POST @ HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
    ("a body that stops early", "POST @ HTTP/1.1\r\n~Content-Length: 50\r\n\r\nhello"),
    ("a head that never ends", "GET @ HTTP/1.1\r\n~X-A: 1\r\n"),
    ("the greeting of TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}"),
    ("the greeting of SSH", "SSH-2.0-OpenSSH_9.6\r\n"),
    ("a mail", "EHLO mail.example\r\nMAIL FROM:<a@b>\r\n"),
    ("a redis command", "*1\r\n$4\r\nPING\r\n"),
];

/// Requests with a second one hidden in them: only `/outer` may be called, or nothing.
const SMUGGLED: &[(&str, &str)] = &[
    ("CL.TE", "POST /outer HTTP/1.1\r\n~Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n!"),
    ("TE.CL", "POST /outer HTTP/1.1\r\n~Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n!"),
    (
        "TE with a space before the colon",
        "POST /outer HTTP/1.1\r\n~Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n!",
    ),
    ("TE folded", "POST /outer HTTP/1.1\r\n~Transfer-Encoding:\r\n chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n!"),
    (
        "TE in HTTP/1.0",
        "POST /outer HTTP/1.0\r\n~Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n!",
    ),
    ("a bare CR before the header", "POST /outer HTTP/1.1\r\n~X: y\rContent-Length: 0\r\n\r\n!"),
    (
        "a line feed in a chunk extension",
        "POST /outer HTTP/1.1\r\n~Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\n!",
    ),
];

fn fill(template: &str, target: &str) -> Vec<u8> {
    // Templates are written as text; a character above ASCII stands for that one byte.
    template.replace('@', target).replace('~', "Host: test\r\n").chars().map(|c| c as u32 as u8).collect()
}

/// What the application was called with since the last time.
fn calls(server: &Server) -> Vec<String> {
    server.text("/calls").lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// Sends, ends, and reads all that comes back.
fn exchange(server: &Server, before: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let mut client = server.client();
    if !before.is_empty() {
        client.send(before).unwrap();
        assert_eq!(client.reply().unwrap().status, 200);
    }
    for piece in pieces {
        if client.send(piece).is_err() {
            break;
        }
    }
    client.end_sending();
    client.rest().unwrap_or_default()
}

fn status(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer);
    text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok())
}

#[test]
fn known_attacks_never_reach_the_application() {
    let mut server = serve();
    let good = b"GET /before HTTP/1.1\r\nHost: test\r\n\r\n";
    let mut failures = Vec::new();
    for (name, template) in REFUSED {
        for way in ["at once", "in two pieces", "after a good one"] {
            let bytes = fill(template, "/attack");
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            let answer = match way {
                "at once" => exchange(&server, b"", &[&bytes]),
                "in two pieces" => exchange(&server, b"", &[head, tail]),
                _ => exchange(&server, good, &[&bytes]),
            };
            let called: Vec<String> = calls(&server).into_iter().filter(|call| !call.contains("/before")).collect();
            if !called.is_empty() {
                failures.push(format!("{name}, {way}: the application was called: {called:?}"));
            }
            if status(&answer).is_some_and(|status| status < 400) {
                failures.push(format!("{name}, {way}: answered {:?}", status(&answer)));
            }
        }
    }
    assert!(server.is_alive());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn no_request_is_smuggled_inside_another() {
    let mut server = serve();
    let mut failures = Vec::new();
    for (name, template) in SMUGGLED {
        let hidden = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n";
        let bytes = fill(&template.replace('!', hidden), "");
        let body = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        for size in [bytes.len(), body, 1] {
            exchange(&server, b"", &bytes.chunks(size).collect::<Vec<_>>());
            let called = calls(&server);
            if called.len() > 1 || called.iter().any(|call| !call.contains("/outer")) {
                failures.push(format!("{name}, by {size} bytes: {called:?}"));
            }
        }
    }
    assert!(server.is_alive());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn overlong_everything_is_refused() {
    let server = serve();
    let long = "a".repeat(40_000);
    let requests = [
        format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("GET / HTTP/1.1{long}\r\nHost: a\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\n{long}: 1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(5_000)),
        format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;{long}\r\nhello\r\n0\r\n\r\n"),
        format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}5\r\nhello\r\n0\r\n\r\n",
            "0".repeat(40_000)
        ),
        format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: {long}\r\n\r\n"),
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 80000\r\n\r\n{long}{long}"),
        "\r\n".repeat(40_000),
    ];
    for request in &requests {
        let shown: String = request.chars().take(60).collect();
        let answer = exchange(&server, b"", &[request.as_bytes()]);
        assert!(status(&answer).is_none_or(|status| status >= 400), "{shown:?}: {:?}", status(&answer));
        assert_eq!(calls(&server), Vec::<String>::new(), "{shown:?}");
    }
}

const GOOD: &[&str] = &[
    "GET /mutant HTTP/1.1\r\nHost: test\r\nAccept: */*\r\nX-Fine: yes\r\n\r\n",
    "POST /mutant?a=b HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
    "POST /mutant HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\n\r\n",
    "PUT /mutant HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc",
    "OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
    "GET http://test/mutant HTTP/1.1\r\nHost: test\r\nCookie: a=1\r\nCookie: b=2\r\nExpect: 100-continue\r\n\r\n",
];
const POISON: &[&[u8]] = &[
    b"\0",
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b":",
    b"%00",
    b"\x7f",
    b"\x80",
    b"\xff\xfe",
    b";",
    b",",
    b"chunked",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 7\r\n",
    b"Host: other\r\n",
    b"0\r\n\r\n",
    b"../",
    b"HTTP/1.1",
    b"-1",
    b"\x1b[2J",
    b"9999999999",
];

fn mutate(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = GOOD[rng.below(GOOD.len())].as_bytes().to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len());
        match rng.below(7) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.remove(at)),
            3 => bytes.truncate(at.max(1)),
            4 => {
                let poison = POISON[rng.below(POISON.len())];
                bytes.splice(at..at, poison.iter().copied());
            }
            5 => {
                let end = (at + 1 + rng.below(20)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let line = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
                let poison = POISON[rng.below(POISON.len())];
                bytes.splice(line..line, poison.iter().copied());
            }
        }
        if bytes.is_empty() {
            bytes.push(b'x');
        }
    }
    bytes
}

/// A call is wrong if any of it could not stand in a well-formed request.
fn is_sane(call: &str) -> bool {
    let words: Vec<&str> = call.splitn(5, ' ').collect();
    let [method, path, length, odd, _] = words[..] else { return false };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !method.is_empty()
        && method.bytes().all(token)
        && (path.starts_with('/') || path == "*" || method == "CONNECT")
        && !path.bytes().any(|byte| byte <= b' ' || byte == 0x7f)
        && length.parse::<u32>().is_ok_and(|length| length < 1000)
        && odd == "[]"
}

#[test]
fn a_thousand_mutants_make_no_wrong_call_and_no_crash() {
    let mut server = serve();
    let mut rng = Rng::new(0x5eed_f001);
    let mut seen = 0;
    for number in 0..1_000 {
        let bytes = mutate(&mut rng);
        exchange(&server, b"", &[&bytes]);
        let shown = bytes.escape_ascii().to_string();
        assert!(server.is_alive(), "mutant {number} ended the server: {shown}\n{}", server.log());
        for call in calls(&server) {
            seen += 1;
            assert!(is_sane(&call), "mutant {number} made the call {call:?}: {shown}");
        }
    }
    assert!(seen > 100, "only {seen} mutants were good enough to be called: too wild to mean anything");
}

#[test]
fn an_application_cannot_be_made_to_write_headers_of_the_attackers() {
    let ru = "run lambda { |env| [302, { \"location\" => \"/to?\" + CGI.unescape(env[\"QUERY_STRING\"]) }, []] }\n";
    let server = Server::start(ru, &["-t", "1"]);
    let queries = ["%0d%0aX-Injected:%201", "%0aX-Injected:%201", "%0d%0a%0d%0a<html>", "%00", "a%0dX-Injected:1"];
    for query in queries {
        let reply: Reply = server.get(&format!("/?{query}"));
        assert_eq!(reply.header("x-injected"), None, "{query}: {:?}", reply.headers);
        assert!(!reply.text().contains("<html>") || reply.status == 500, "{query}: {}", reply.text());
    }
}

#[test]
fn slow_senders_hold_up_nobody() {
    let server = serve();
    let mut slow: Vec<Client> = (0..300).map(|_| server.client()).collect();
    for client in &mut slow {
        client.send("POST /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n").unwrap();
    }
    let begun = Instant::now();
    for step in 0..20 {
        for client in &mut slow {
            // Half of them drip header bytes, half body bytes; those the server has closed already do not matter.
            let _ = client.send(if step == 0 { "X: y\r\n\r\n" } else { "z" });
        }
        assert_eq!(server.get("/quick").status, 200);
        thread::yield_now();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(calls(&server).iter().all(|call| call.contains("/quick")), "no unfinished request was run");
}
