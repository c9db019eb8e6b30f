//! One client that takes all connections there are does not keep others out: they are answered at once, by closing what
//! is idle, then what sends slowly, and never an answer that is still owed.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Client, Server, paths, server, within};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// Much shorter than any time after which a connection is closed by itself (30 s for heads, 65 s between requests).
const AT_ONCE: Duration = Duration::from_secs(8);
const PLACES: usize = 200;

fn serve(options: &[&str]) -> Server {
    let cases = [
        ("/", "text(\"gold\")"),
        ("/hold", "until File.exist?(\"go\"); sleep 0.01; end; text(\"held\")"),
        ("/big", "[200, {}, [\"x\" * 20_000_000]]"),
    ];
    let places = PLACES.to_string();
    let own = ["-t", "2", "--connections", &places, "--admin", "127.0.0.1:0"];
    Server::start(&paths(&cases), &[&own[..], options].concat())
}

/// Connections of an attacker, each of which says so much and then nothing.
fn attackers(server: &Server, count: usize, said: &str) -> Vec<Client> {
    let attacker = |_| {
        let mut client = server.client();
        let _ = client.send(said);
        client
    };
    (0..count).map(attacker).collect()
}

/// Others come one after another, each on a connection of its own, and are answered.
fn others_are_answered(server: &Server) {
    for number in 0..20 {
        let begun = Instant::now();
        assert_eq!(server.text("/"), "gold", "number {number}");
        assert!(begun.elapsed() < AT_ONCE, "number {number} waited {:?}\n{}", begun.elapsed(), server.log());
    }
}

#[test]
fn connections_that_ask_no_more_are_closed_for_others() {
    let server = serve(&[]);
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut all = attackers(&server, 2 * PLACES, get);
    for client in &mut all {
        assert_eq!(client.reply().unwrap().text(), "gold", "a request that was sent is answered");
    }
    others_are_answered(&server);
    assert!(server.metric("foolsgold_connections_displaced_total") >= PLACES as f64);
    let said = "there are no places for connections left (200 connections are allowed): 1 closed for new ones, this \
                time one that asked nothing, from 127.0.0.1; --connections allows more";
    server.must_log(said);
    assert!(server.log().matches("places for connections").count() < 10, "{}", server.log());
}

#[test]
fn connections_that_say_nothing_are_closed_for_others() {
    let server = serve(&[]);
    let _all = attackers(&server, 2 * PLACES, "");
    others_are_answered(&server);
}

#[test]
fn heads_and_bodies_that_come_slowly_are_given_up_for_others() {
    let heads = ("GET /head HTTP/1.1\r\nHost: a\r\nX: ", "the head of the request came slowly");
    let bodies =
        ("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", "the body of the request came slowly");
    // Nothing more is read of a head that has come with the request before it.
    let pipelined = (
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
        "the body of the request came slowly",
    );
    for (said, why) in [heads, bodies, pipelined] {
        let server = serve(&[]);
        let mut all = attackers(&server, 2 * PLACES, said);
        others_are_answered(&server);
        let mut replies = std::iter::from_fn(|| all[0].reply().ok());
        let first = replies.find(|reply| reply.text() != "gold").unwrap();
        assert!(first.status == 408 && first.text().contains(why), "{}", first.text());
        server.must_log(&format!("\"there are no places for connections left, and {why}\""));
    }
}

#[test]
fn who_has_just_come_has_time_to_ask_though_others_are_slow() {
    let server = serve(&[]);
    let _slow = attackers(&server, PLACES, "GET /head HTTP/1.1\r\nHost: a\r\nX: ");
    // They count as slow after a second.
    assert!(!within(Duration::from_millis(1100), || false));
    let mut new = server.client();
    let _silent = attackers(&server, 5, "");
    assert_eq!(new.get("/").text(), "gold", "those that were here before, and are slow, go first");
    server.must_log("1 closed for new ones, this time one whose request came slowly, from 127.0.0.1");
}

#[test]
fn a_half_read_request_is_given_up_only_when_nobody_is_idle() {
    let server = serve(&["--connections", "3"]);
    let mut slow = server.client();
    slow.send("GET / HTTP/1.1\r\nHost: a\r\n").unwrap();
    let mut upload = server.client();
    upload.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na").unwrap();
    for _ in 0..20 {
        let mut idle = server.client();
        assert_eq!(idle.get("/").text(), "gold");
        std::mem::forget(idle);
    }
    slow.send("\r\n").unwrap();
    upload.send("b").unwrap();
    assert_eq!((slow.reply().unwrap().status, upload.reply().unwrap().status), (200, 200));
}

#[test]
fn the_one_that_was_idle_the_longest_goes_first() {
    let server = serve(&["--connections", "3"]);
    let mut all: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for turn in [0, 1, 2, 0] {
        assert_eq!(all[turn].get("/").text(), "gold");
    }
    let mut new = server.client();
    assert_eq!(new.get("/").text(), "gold");
    assert!(all[1].is_closed());
    for client in [0, 2] {
        assert_eq!(all[client].get("/").text(), "gold");
    }
}

#[test]
fn an_answer_that_is_owed_is_never_cut_off() {
    let server = serve(&["--connections", "4", "--queue", "10"]);
    let mut held = attackers(&server, 4, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut new = server.send_get("/");
    server.must_log("none can be closed, since all wait for answers");
    std::fs::write(server.folder.join("go"), "").unwrap();
    for client in &mut held {
        assert_eq!(client.reply().unwrap().text(), "held");
    }
    assert_eq!(new.reply().unwrap().text(), "gold");
}

#[test]
fn those_that_take_nothing_of_their_answers_are_cut_off_for_others() {
    let server = serve(&["--connections", "20", "--write-time", "300s"]);
    let mut all = attackers(&server, 20, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    for client in &mut all {
        assert_eq!(client.head().unwrap().status, 200);
    }
    let begun = Instant::now();
    assert_eq!(server.text("/"), "gold");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    server.must_log("1 closed for new ones, this time one that took nothing of its answer, from 127.0.0.1");
}

/// Limits the open files of the server to those that it has now, and this many more.
fn allow_files(server: &Server, more: u64) {
    let open = support::ruby::open_files(server.id()) as u64;
    let limit = Rlimit { current: Some(open + more), maximum: Some(open + more) };
    prlimit(Pid::from_raw(server.id().cast_signed()), Resource::Nofile, limit).unwrap();
}

#[test]
fn open_files_are_taken_back_from_idle_connections() {
    let mut server = serve(&["--connections", "1000"]);
    allow_files(&server, 100);
    let _all = attackers(&server, 200, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    others_are_answered(&server);
    assert!(server.log().contains("there are no open files left") && server.log().contains("; LimitNOFILE= in a"));
    assert!(server.is_alive());
}

#[test]
fn slow_uploads_give_their_open_files_to_others() {
    let mut server = serve(&["--connections", "1000", "--body-memory", "4KiB"]);
    allow_files(&server, 100);
    // Each takes a connection and a temporary file, and never ends.
    let part = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{}", "x".repeat(20_000));
    let _all = attackers(&server, 200, &part);
    for _ in 0..5 {
        let large = server.client().post("/", vec![b'x'; 1_000_000]);
        assert_eq!(large.text(), "gold", "{}", server.log());
    }
    assert!(!server.log().contains("Too many open files"), "{}", server.log());
    assert!(server.is_alive());
}

#[test]
fn idle_connections_leave_open_files_for_everything_else() {
    let options = ["--engine", "ruby", "--ruby", &support::ruby::program(), "-w", "2", "--connections", "1000"];
    let server = serve(&options);
    allow_files(&server, 90);
    let _all = attackers(&server, 200, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    others_are_answered(&server);
    server.done(&["reload"]);
    let large = server.client().post("/", vec![b'x'; 1_000_000]);
    assert_eq!(large.text(), "gold", "{}", server.log());
    assert!(!server.log().contains("Too many open files"), "{}", server.log());
}

/// Sets the server's limit of open files. Its hard limit stays, so that the limit can be raised again.
fn limit_files(server: &Server, limit: Option<u64>) {
    let limit = Rlimit { current: limit, maximum: getrlimit(Resource::Nofile).maximum };
    prlimit(Pid::from_raw(server.id().cast_signed()), Resource::Nofile, limit).unwrap();
}

/// Leaves the server no number for another open file.
fn take_all_files(server: &Server) {
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap();
    let open: HashSet<u64> = files.map(|file| file.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    limit_files(server, (0..).find(|number| !open.contains(number)));
}

/// An application that answers with a file, by its name.
const FILE: &str = "LARGE = File.join(__dir__, 'large')\n\
                    class Large\n  def to_path; LARGE; end\n  def each; yield 'each'; end\nend\n\
                    run lambda { |env|\n  case env['PATH_INFO']\n\
                    \x20 when '/file' then [200, {}, Large.new]\n\
                    \x20 when '/part' then [206, { 'content-length' => '4' }, Large.new]\n\
                    \x20 else [200, {}, ['gold']]\n  end\n}";
const FILE_OPTIONS: [&str; 6] = ["-t", "1", "--connections", "1000", "--admin", "127.0.0.1:0"];

#[test]
fn files_of_responses_take_open_files_of_idle_connections() {
    files_take_open_files("ruby", || support::ruby::serve(FILE, &[&FILE_OPTIONS[..], &["-w", "1"]].concat()));
}

#[test]
fn so_do_those_of_the_embedded_engine() {
    files_take_open_files("mruby", || Server::start(FILE, &[&FILE_OPTIONS[..], &["--engine", "mruby"]].concat()));
}

fn files_take_open_files(engine: &str, serve: impl Fn() -> Server) {
    let large = vec![b'x'; 1_000_000];
    let serve = || {
        let server = serve();
        std::fs::write(server.folder.join("large"), &large).unwrap();
        server
    };
    let server = serve();
    let mut asks = server.client();
    assert_eq!(asks.get("/").text(), "gold");
    let mut idle = attackers(&server, 20, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    for client in &mut idle {
        assert_eq!(client.reply().unwrap().text(), "gold");
    }
    take_all_files(&server);
    let part = asks.get("/part");
    assert_eq!((part.status, part.text()), (206, "each".to_owned()), "{}", server.log());
    let reply = asks.get("/file");
    assert_eq!(reply.status, 200, "{}\n{}", reply.text(), server.log());
    assert!(reply.body == large);

    // Nobody is there whose connection could be closed.
    let server = serve();
    let mut asks = server.client();
    assert_eq!(asks.get("/").text(), "gold");
    let mut answered = 1;
    let is_refused = || {
        // Again: something may just have been open for a moment.
        take_all_files(&server);
        let reply = asks.get("/file");
        answered += u32::from(reply.status == 200);
        reply.status == 503 && reply.header("retry-after").is_some()
    };
    assert!(within(support::MAX_WAIT, is_refused), "{}", server.log());
    assert!(server.logs("raise the server's limit of open files") && server.logs(" out_of_files"), "{}", server.log());
    limit_files(&server, getrlimit(Resource::Nofile).maximum);
    let of = format!("app=\"app\",engine=\"{engine}\"");
    let refused = format!("foolsgold_errors_total{{{of},culprit=\"load\",fault=\"out_of_files\"}}");
    assert_eq!(server.metric(&refused), 1.0);
    assert_eq!(server.metric(&format!("foolsgold_requests_total{{{of},code=\"2xx\"}}")), f64::from(answered));
    assert!(server.done(&["recorder", "--json"]).contains("\"out_of_files\""));
}

/// Its own connection is the only one that could be closed for it.
#[test]
fn an_upload_for_which_no_file_can_be_opened_may_come_again() {
    let server = serve(&["--connections", "1000", "--body-memory", "4KiB"]);
    let is_refused = || {
        let mut uploads = server.client();
        assert_eq!(uploads.get("/").text(), "gold");
        take_all_files(&server);
        let reply = uploads.post("/", vec![b'x'; 20_000]);
        limit_files(&server, getrlimit(Resource::Nofile).maximum);
        reply.status == 503 && reply.header("retry-after").is_some()
    };
    assert!(within(support::MAX_WAIT, is_refused), "{}", server.log());
    assert!(server.logs("raise the server's limit of open files") && server.logs(" out_of_files"), "{}", server.log());
    assert!(server.status()["apps"][0]["faults"]["out_of_files"].as_u64() >= Some(1), "{}", server.status());
    assert!(server.done(&["recorder", "--json"]).contains("\"out_of_files\""));
}

#[test]
fn who_waits_for_a_place_when_the_server_ends_is_answered() {
    let mut server = serve(&["--connections", "2", "--queue", "10"]);
    let mut held = attackers(&server, 2, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut new = server.send_get("/");
    server.must_log("none can be closed, since all wait for answers");
    server.signal(rustix::process::Signal::TERM);
    server.must_log("shutting down: running requests have");
    std::fs::write(server.folder.join("go"), "").unwrap();
    for client in &mut held {
        assert_eq!(client.reply().unwrap().text(), "held");
    }
    assert_eq!(new.reply().unwrap().text(), "gold", "{}", server.log());
    server.must_end();
}

/// A connection from an address of this machine.
fn from(address: [u8; 4], port: u16) -> TcpStream {
    let own = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&own, &SocketAddrV4::new(Ipv4Addr::from(address), 0)).unwrap();
    connect(&own, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
    TcpStream::from(own)
}

#[test]
fn a_client_has_no_more_connections_than_it_may_have() {
    let options = ["--connections-per-client", "3", "--trust-proxy", "127.0.0.9"];
    let server = serve(&options);
    let mut own: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for client in &mut own {
        assert_eq!(client.get("/").text(), "gold");
    }
    let mut more = server.client();
    let _ = more.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(more.is_closed());
    for address in [[127, 0, 0, 2], [127, 0, 0, 9], [127, 0, 0, 9], [127, 0, 0, 9], [127, 0, 0, 9]] {
        let mut other = Client::over(from(address, server.port));
        assert_eq!(other.get("/").text(), "gold", "{address:?}");
        own.push(other);
    }
    drop(own.remove(0));
    assert!(within(support::MAX_WAIT, || {
        let mut again = server.client();
        again.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_ok() && again.reply().is_ok()
    }));
    assert!(server.metric("foolsgold_connections_refused_total") >= 1.0);
    server.must_log("1 refused of clients that have all 3 connections they may have, this time one from 127.0.0.1");
}

#[test]
fn connections_over_a_unix_socket_are_of_no_client() {
    let folder = server::folder_with(&[("config.ru", &paths(&[("/", "text(\"gold\")")]))]);
    let path = folder.join("gold.sock");
    let unix = format!("unix://{}", path.display());
    let options = ["-t", "1", "-b", &unix, "--connections-per-client", "1", "--trust-proxy", "none"];
    let _server = Server::spawn(folder, &[], &options);
    let mut all: Vec<Client> = (0..3).map(|_| Client::unix(&path)).collect();
    for client in &mut all {
        assert_eq!(client.get("/").text(), "gold");
    }
}
