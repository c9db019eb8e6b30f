//! Hostile requests: too long in each of their parts, and a thousand mutations of good ones with a fixed seed. The
//! application writes down every call it gets, so that a wrong call cannot pass unseen; after each request the server
//! must still be there and answer. The table of known attacks is in front/tests/hostile.rs.

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
  call = [env[\"REQUEST_METHOD\"], path, body.bytesize, odd.inspect]
  store.set(\"call#{n}\", call.join(\" \"))
  [200, {}, [\"ok\"]]
}
";

fn serve() -> Server {
    let quick = ["--header-time", "2s", "--body-time", "2s", "--keep-alive", "2s"];
    let small = ["-t", "1", "--header-bytes", "16KiB", "--body-bytes", "64KiB", "--access-log", "off"];
    Server::start(APP, &[&quick[..], &small].concat())
}

/// What the application was called with since the last time.
fn calls(server: &Server) -> Vec<String> {
    server.text("/calls").lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// Sends, ends, and reads all that comes back.
fn exchange(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut client = server.client();
    let _ = client.send(bytes);
    client.end_sending();
    client.rest().unwrap_or_default()
}

fn status(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer);
    text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok())
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
        let answer = exchange(&server, request.as_bytes());
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
    let words: Vec<&str> = call.splitn(4, ' ').collect();
    let [method, path, length, odd] = words[..] else { return false };
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
        exchange(&server, &bytes);
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
