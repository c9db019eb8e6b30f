//! The application of FoolsGold: its page, its counter over sixteen interpreters, and its twin on another server.

use std::fs;
use std::process::{Command, Stdio};

use crate::support;
use crate::support::{Client, Server, at_once, server, within};

const ID: &str = "{id}";
const COUNT: &str = "{count}";

fn serve() -> Server {
    let config = server::repository().join("apps/fools-gold/config.ru");
    let options = ["-t", "16", "--access-log", "off", "-b", "tcp://127.0.0.1:0", config.to_str().unwrap()];
    Server::spawn(server::folder(), &[], &options)
}

fn template() -> String {
    fs::read_to_string(server::repository().join("apps/fools-gold/page.html")).unwrap()
}

/// The id and the count of a page that is otherwise exactly the template.
fn values(page: &str) -> (String, u64) {
    let template = template();
    let (top, rest) = template.split_once(COUNT).unwrap();
    let (middle, bottom) = rest.split_once(ID).unwrap();
    let inner = page.strip_prefix(top).and_then(|page| page.strip_suffix(bottom)).expect("the template around them");
    let (count, id) = inner.split_once(middle).expect("the template between them");
    (id.to_owned(), count.parse().unwrap())
}

fn is_uuid_v4(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && parts[2].starts_with('4')
        && parts[3].starts_with(['8', '9', 'a', 'b'])
}

#[test]
fn the_page_is_the_template_with_an_id_and_a_count() {
    let server = serve();
    let reply = server.get("/fools-gold");
    assert_eq!(reply.status, 200, "{}", server.log());
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    let (id, count) = values(&reply.text());
    assert!(is_uuid_v4(&id), "{id}");
    assert_eq!(count, 1);
    assert_ne!(values(&server.text("/fools-gold")).0, id);
}

#[test]
fn everything_else_is_in_its_place() {
    let server = serve();
    let reply = server.get("/");
    assert_eq!((reply.status, reply.header("location")), (302, Some("/fools-gold")));
    let reply = server.get("/fools-gold/pyrite.svg");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("image/svg+xml")));
    assert!(reply.text().starts_with("<svg"));
    assert_eq!(server.get("/silver").status, 404);
    let reply = server.client().post("/fools-gold", "x");
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(values(&server.text("/fools-gold")).1, 1, "only the page counts");
}

#[test]
fn the_counter_grows_by_exactly_one_per_request_over_sixteen_interpreters() {
    let server = serve();
    let each = 5_000 / 16 + 1;
    let page = |client: &mut Client| {
        let reply = client.get("/fools-gold");
        assert_eq!(reply.status, 200);
        values(&reply.text())
    };
    let mut seen: Vec<(String, u64)> = at_once(&server, 16, |client| (0..each).map(|_| page(client)).collect());
    let mut counts: Vec<u64> = seen.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(1..=16 * each), "a number is missing or came twice");
    let all = seen.len();
    seen.sort();
    seen.dedup_by(|one, other| one.0 == other.0);
    assert_eq!(seen.len(), all, "an id came twice");
}

#[test]
fn the_twin_answers_the_same_bytes_apart_from_id_and_count() {
    let missing = |name: &str| Command::new(name).arg("--version").output().is_err();
    if missing("ruby") || missing("puma") {
        eprintln!("skipped: the twin needs ruby and puma on this machine");
        return;
    }
    let folder = server::folder();
    let socket = folder.join("twin.sock");
    let config = server::repository().join("apps/fools-gold/twin/config.ru");
    let mut puma = Command::new("puma");
    puma.args(["-q", "-w", "0", "-t", "1:1", "-e", "production", "-b"]).arg(format!("unix://{}", socket.display()));
    puma.arg(config).current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _twin = server::KillOnDrop(puma.spawn().unwrap());
    assert!(within(support::MAX_WAIT, || std::os::unix::net::UnixStream::connect(&socket).is_ok()), "puma is up");
    let server = serve();
    for (path, status) in [("/fools-gold", 200), ("/fools-gold/pyrite.svg", 200), ("/", 302), ("/silver", 404)] {
        let (ours, theirs) = (server.get(path), Client::unix(&socket).get(path));
        assert_eq!((ours.status, theirs.status), (status, status), "{path}");
        for name in ["content-type", "content-length", "cache-control", "location"] {
            assert_eq!(ours.header(name), theirs.header(name), "{path} {name}");
        }
        if path == "/fools-gold" {
            let (id, count) = values(&theirs.text());
            assert!(is_uuid_v4(&id), "{id}");
            assert_eq!((count, values(&ours.text()).1), (1, 1));
        } else {
            assert!(ours.body == theirs.body, "{path}");
        }
    }
}
