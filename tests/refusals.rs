//! Every connection with a bad request on it ends with a whole answer, and every answer has its line in the access log,
//! which says what was refused and why: for known mistakes by a table, and for good requests with each byte changed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::{MAX_WAIT, Server, app, within};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::Value;

/// Short times, so that a request which lost its end has its answer soon, too.
const QUICK: [&str; 8] =
    ["--header-time", "200ms", "--body-time", "200ms", "--keep-alive", "200ms", "--header-bytes", "8KiB"];

fn serve(form: &str) -> Server {
    let options = [&["-t", "2", "--access-log", form], &QUICK[..]].concat();
    Server::start(&app("", "env[\"rack.input\"].read.bytesize"), &options)
}

/// One answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    id: String,
    body: Vec<u8>,
}

/// All answers in what a server sent until it closed, or what is wrong with it.
fn answers(mut bytes: &[u8]) -> Result<Vec<Answer>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let wrong = || format!("not an answer: {}", bytes.escape_ascii());
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(wrong)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong())?;
        let status: u16 = head.get(9..12).and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let length: usize = match header("content-length:") {
            Some(length) => length.parse().map_err(|_| wrong())?,
            None if status == 100 => 0,
            None => return Err(wrong()),
        };
        let rest = &bytes[end + 4..];
        let body = rest.get(..length).ok_or_else(wrong)?.to_vec();
        if status != 100 {
            found.push(Answer { status, id: header("x-request-id:").unwrap_or_default().to_owned(), body });
        }
        bytes = &rest[length..];
    }
    Ok(found)
}

/// Sends from an address of its own, by which the lines of the log are known, and reads until the server closes.
fn ask(port: u16, from: Ipv4Addr, bytes: &[u8]) -> Vec<u8> {
    let own = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&own, &SocketAddrV4::new(from, 0)).unwrap();
    connect(&own, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut stream = TcpStream::from(own);
    stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    // It may have been answered and closed before all was sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    assert!(ended.is_ok(), "{}: {ended:?} after {}", bytes.escape_ascii(), answer.escape_ascii());
    answer
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 1 + (number >> 16) as u8, (number >> 8) as u8, number as u8)
}

/// The lines for requests, by the client's address.
fn lines(server: &Server) -> HashMap<Ipv4Addr, Vec<Value>> {
    let mut found: HashMap<Ipv4Addr, Vec<Value>> = HashMap::new();
    for line in server.log().lines().filter(|line| line.contains("\"client\":")) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let client = line["client"].as_str().unwrap().parse().unwrap();
        found.entry(client).or_default().push(line);
    }
    found
}

/// What is wrong with the answers to a request, and with the lines about them.
fn complaint(received: &[u8], lines: &[Value]) -> Option<String> {
    let answers = match answers(received) {
        Ok(answers) => answers,
        Err(wrong) => return Some(wrong),
    };
    if answers.is_empty() || answers.len() != lines.len() {
        return Some(format!("{} answers and {} lines", answers.len(), lines.len()));
    }
    for (answer, line) in answers.iter().zip(lines) {
        let is_told = line["status"] == answer.status
            && line["id"] == answer.id.as_str()
            && !answer.id.is_empty()
            && line["bytes"] == answer.body.len();
        let is_good = answer.status == 200 && line["reason"].is_null();
        let is_refused = (400..=505).contains(&answer.status)
            && !answer.body.is_empty()
            && line["reason"].as_str().is_some_and(|reason| !reason.is_empty())
            && line["fault"].as_str().is_some_and(|fault| !fault.is_empty());
        if !is_told || !(is_good || is_refused) {
            return Some(format!("{answer:?} and {line}"));
        }
    }
    None
}

#[rustfmt::skip]
/// What is sent; its status; method and target in the log; words of the reason.
const MISTAKES: &[(&[u8], u16, &str, &str, &str)] = &[
    (b"GET /a\r\n\r\n", 400, "GET", "/a", "has no version"),
    (b"GET /a HTTP/1.1\r\n\r\n", 400, "GET", "/a", "needs a Host"),
    (b"GET /\xe9#b HTTP/1.1\r\n\r\n", 400, "GET", "/%E9", "needs a Host"),
    (b"GET /a HTTP/1.1\r\nHost:\r\n\r\n", 400, "GET", "/a", "the Host header is empty"),
    (b"GET /a HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n", 400, "GET", "/a", "a control character"),
    (b"GET /a HTTP/1.1\r\nHost: a\r\nX(Y: a\r\n\r\n", 400, "GET", "/a", "the name of a header"),
    (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "GET", "/a", "a space"),
    (b"GET /a HTTP/2.0\r\nHost: a\r\n\r\n", 505, "GET", "/a", "only HTTP/1 is spoken"),
    (b"GET http://a%2e/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "GET", "http://a%2e/", "the host of the target"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "", "", "this is TLS"),
    (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n", 400, "PROXY", "TCP4", "the PROXY protocol"),
    (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x01\x02\x03\x04", 400, "", "", "the PROXY protocol"),
    (b"GET /late HTTP/1.1\r\nHos", 408, "GET", "/late", "did not arrive in time"),
    (b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", 408, "POST", "/a", "the body did not arrive"),
    (b"PUT /t HTTP/1.1\r\nHost:a\r\nTransfer-Encoding:chunked\r\n\r\n0\r\nfoo b\r\n\r\n", 400, "PUT", "/t", "trailer"),
    (b"PUT /t HTTP/1.1\r\nHost:a\r\nTransfer-Encoding:chunked\r\n\r\n0\r\nX(Y: z\r\n\r\n", 400, "PUT", "/t", "trailer"),
    (b"PUT /t HTTP/1.1\r\nHost:a\r\nTransfer-Encoding:chunked\r\n\r\n1\r\nab\r\n", 400, "PUT", "/t", "longer than"),
    (b"PUT /t HTTP/1.1\r\nHost:a\r\nTransfer-Encoding:chunked\r\n\r\nxyz\r\n", 400, "PUT", "/t", "size of a chunk"),
];

#[test]
fn the_log_says_what_was_refused_and_why() {
    let server = serve("json");
    let received: Vec<Vec<u8>> =
        MISTAKES.iter().enumerate().map(|(number, mistake)| ask(server.port, address(number), mistake.0)).collect();
    assert!(within(MAX_WAIT, || lines(&server).len() == MISTAKES.len()), "{}", server.log());
    let lines = lines(&server);
    for (number, (sent, status, method, target, reason)) in MISTAKES.iter().enumerate() {
        let sent = sent.escape_ascii();
        let line = &lines[&address(number)];
        assert_eq!(complaint(&received[number], line), None, "{sent}");
        let said = |key: &str| line[0][key].as_str().unwrap_or_default();
        assert_eq!(
            (&line[0]["status"], said("method"), said("target")),
            (&Value::from(*status), *method, *target),
            "{sent}"
        );
        assert!(said("reason").contains(reason), "{sent}: {}", said("reason"));
        let text = String::from_utf8_lossy(&received[number]).into_owned();
        assert!(text.contains(said("reason")), "the client is told, too: {text}");
    }
}

#[test]
fn lines_of_text_have_it_at_their_end() {
    let server = serve("text");
    let reply = {
        server.client().send("GET /a?b HTTP/1.1\r\nX: y\r\n\r\n").unwrap();
        server.get("/c")
    };
    assert_eq!(reply.status, 200);
    let reply = server.client().ask("GET /a?b HTTP/1.1\nX: y\n\n");
    let id = reply.header("x-request-id").unwrap();
    server.must_log(&format!("{id} refused \"HTTP/1.1 needs a Host header\"\n"));
    assert!(reply.text().ends_with(&format!("request {id}\n")), "{}", reply.text());
    let log = server.log();
    let line = log.lines().find(|line| line.contains(id)).unwrap();
    assert!(line.contains(&format!(" 127.0.0.1 GET /a?b 400 {} ", reply.body.len())), "{line}");
}

#[test]
fn a_refused_head_request_has_no_body() {
    let server = serve("off");
    let mut client = server.client();
    client.send("HEAD / HTTP/1.1\r\n\r\n").unwrap();
    let rest = String::from_utf8(client.rest().unwrap()).unwrap();
    assert!(rest.starts_with("HTTP/1.1 400 ") && rest.ends_with("\r\n\r\n"), "{rest}");
}

#[test]
fn what_hyper_has_limits_for_is_no_limit_here() {
    let server = serve("text");
    let upload = |chunks: String| {
        let mut client = server.client();
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        client.send(chunks).unwrap();
        client.reply().unwrap()
    };
    let signed = format!("400;chunk-signature={}\r\n{}\r\n", "a".repeat(64), "x".repeat(0x400));
    assert_eq!(upload(signed.repeat(500) + "0\r\n\r\n").text(), "512000", "42 KB of chunk extensions");
    let trailers = format!("1\r\nx\r\n0\r\n{}\r\n", "Trailer: value\r\n".repeat(200));
    assert_eq!(upload(trailers).text(), "1", "200 trailers");
    assert_eq!(upload(format!("0\r\nX: {}\r\n\r\n", "y".repeat(20_000))).status, 431, "beyond --header-bytes");
}

/// Good requests, in which each byte is changed.
const GOOD: [&str; 4] = [
    "GET /a?b=c HTTP/1.1\r\nHost: h:80\r\nX-Y: z \r\nConnection: close\r\n\r\n",
    "POST http://h/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
    "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
     2;a=\"b\"\r\nab\r\n10; c = d\r\n0123456789abcdef\r\n0\r\nTr: x\r\n\r\n",
    "PUT /p HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab",
];
const BYTES: &[u8] = b"\0\x01\t\n\r \"#%(,/09:;<=?A[\\a`{\x7f\x80\xc3\xff";

/// Each byte of the good requests replaced by each of these, by nothing, and some of these before it.
fn mutants() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for good in GOOD {
        for at in 0..good.len() {
            let changed = |by: &[u8], taken: usize| {
                let mut bytes = good.as_bytes().to_vec();
                bytes.splice(at..at + taken, by.iter().copied());
                bytes
            };
            all.extend(BYTES.iter().map(|byte| changed(&[*byte], 1)));
            all.extend(BYTES.iter().step_by(3).map(|byte| changed(&[*byte], 0)));
            all.push(changed(&[], 1));
        }
    }
    all
}

#[test]
fn whatever_byte_is_wrong_there_is_an_answer_and_a_line_about_it() {
    let mut server = serve("json");
    let mutants = Arc::new(mutants());
    let received: Arc<Mutex<HashMap<usize, Vec<u8>>>> = Arc::default();
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..32)
        .map(|_| {
            let (mutants, received, next, port) = (mutants.clone(), received.clone(), next.clone(), server.port);
            thread::spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mutant) = mutants.get(number) else { return };
                    // A client that a busy machine keeps from sending at once is closed like any silent one.
                    let tries = (0..3).map(|_| ask(port, address(number), mutant));
                    let answer = tries.into_iter().find(|answer| !answer.is_empty()).unwrap_or_default();
                    received.lock().unwrap().insert(number, answer);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert!(server.is_alive());
    within(Duration::from_secs(5), || lines(&server).len() == mutants.len());
    let (lines, received) = (lines(&server), received.lock().unwrap());
    let complaints: Vec<String> = mutants
        .iter()
        .enumerate()
        .filter_map(|(number, mutant)| {
            let own = lines.get(&address(number)).map_or(&[][..], Vec::as_slice);
            let complaint = complaint(&received[&number], own)?;
            Some(format!("{}: {complaint}", mutant.escape_ascii()))
        })
        .collect();
    let shown = complaints.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(complaints.is_empty(), "{} of {}:\n{shown}", complaints.len(), mutants.len());
}
