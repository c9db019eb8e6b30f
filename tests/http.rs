//! HTTP as a client of the whole program meets it: odd targets, bodies that come slowly, and several sockets of both
//! kinds. Versions, keep-alive, pipelining, HEAD, chunks and trailers are in front/tests/protocol.rs, and what the
//! application finds of a request in environment.rs.

use std::path::PathBuf;

use crate::support;
use crate::support::{Client, Server, app, paths, server};

/// Writes twice, and in between waits for a file.
const DRIP: &str = "[200, {}, lambda { |s| s.write(\"first\"); s.flush; sleep 0.01 until File.exist?(\"go\"); \
                    s.write(\"second\"); s.close }]";

fn echo() -> Server {
    let cases = [
        ("/", "text(\"gold\")"),
        ("/echo", "text(env[\"rack.input\"].read)"),
        ("/each", "b = Object.new; def b.each; yield \"one\"; yield \"two\"; end; [200, {}, b]"),
        ("/stream", "[200, {}, lambda { |s| 3.times { |n| s.write(\"#{n};\") }; s.close }]"),
        ("/drip", DRIP),
    ];
    Server::start(&paths(&cases), &["-t", "2"])
}

#[test]
fn targets_and_headers_that_are_not_quite_right_are_taken_as_by_other_servers() {
    let ru = app("", "[env['PATH_INFO'], env['QUERY_STRING'], env['REQUEST_URI'], env['HTTP_X_L'].to_s.bytes].inspect");
    let server = Server::start(&ru, &["-t", "1"]);
    let mut client = server.client();
    for (target, seen) in [
        (&b"/a#b"[..], r#"["/a", "", "/a", []]"#),
        (b"/a?b=c#d?e", r#"["/a", "b=c", "/a?b=c", []]"#),
        (b"/caf\xe9?q=\xfc", r#"["/caf%E9", "q=%FC", "/caf%E9?q=%FC", []]"#),
        (b"/<`>?<\"`>", r#"["/%3C%60%3E", "%3C%22`%3E", "/%3C%60%3E?%3C%22`%3E", []]"#),
        (b"http://h/caf\xe9#b", r#"["/caf%E9", "", "http://h/caf%E9", []]"#),
    ] {
        // What comes right behind it is a request of its own, however long the target has become.
        let request =
            [b"GET ", target, b" HTTP/1.1\r\nHost: a\r\n\r\nGET /behind HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        client.send(request).unwrap();
        assert_eq!(client.reply().unwrap().text(), seen, "{}", target.escape_ascii());
        assert!(client.reply().unwrap().text().starts_with("[\"/behind\""));
    }
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-L: caf\xe9\r\n\r\n").unwrap();
    assert!(client.reply().unwrap().text().contains("[99, 97, 102, 233]"), "as they came");
    assert_eq!(client.ask(&format!("GET / HTTP/1.1\nHost: a\nCookie: a={}\n\n", "x".repeat(80_000))).status, 200);
    let long = [b"GET /", "<".repeat(30_000).as_bytes(), b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    client.send(long).unwrap();
    assert_eq!(client.reply().unwrap().status, 414, "too long when it is encoded");
}

#[test]
fn bodies_of_unknown_length_arrive_whole_and_a_slow_one_as_it_is_made() {
    let server = echo();
    let mut client = server.client();
    assert_eq!(client.get("/stream").text(), "0;1;2;");
    assert_eq!(client.get("/each").text(), "onetwo");
    client.send("GET /drip HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(client.head().unwrap().header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.chunk().unwrap().unwrap(), b"first", "sent while the application still runs");
    std::fs::write(server.folder.join("go"), "").unwrap();
    assert_eq!(client.chunk().unwrap().unwrap(), b"second");
    assert_eq!(client.chunk().unwrap(), None);
    assert_eq!(client.get("/").text(), "gold");
}

#[test]
fn a_bad_chunk_is_refused_also_on_a_connection_that_asked_for_an_upgrade() {
    let server = echo();
    for upgrade in ["", "Upgrade: x\r\n"] {
        let mut client = server.client();
        let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\n{upgrade}Transfer-Encoding: chunked\r\n\r\n");
        client.send(format!("{head}g\r\n")).unwrap();
        assert_eq!(client.head().unwrap().status, 400, "{upgrade:?}");
    }
}

#[test]
fn several_sockets_of_both_kinds_serve_the_same_application() {
    let folder = server::folder_with(&[("config.ru", &paths(&[("/", "text(FoolsGold.requests.increment)")]))]);
    let socket: PathBuf = folder.join("gold.sock");
    let unix = format!("unix://{}", socket.display());
    let options = ["-t", "2", "-b", "tcp://127.0.0.1:0", "-b", &unix, "-b", "tcp://127.0.0.1:0"];
    let mut server = Server::spawn(folder, &[], &options);
    assert_eq!(server.text("/"), "1");
    let mut client = Client::unix(&socket);
    assert_eq!(client.get("/").text(), "2");
    assert_eq!(client.get("/").text(), "3");
    server.signal(rustix::process::Signal::TERM);
    drop(client);
    server.must_end();
    assert!(!socket.exists(), "the socket file goes with the server");
}

#[test]
fn a_stale_socket_file_is_replaced_and_a_live_one_is_not() {
    let folder = server::folder_with(&[("config.ru", &paths(&[("/", "text(1)")]))]);
    let socket = folder.join("gold.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "left behind by a dead server");
    let unix = format!("unix://{}", socket.display());
    let server = Server::spawn(folder, &[], &["-b", &unix, "-t", "1"]);
    assert!(support::within(support::MAX_WAIT, || std::os::unix::net::UnixStream::connect(&socket).is_ok()));
    assert_eq!(Client::unix(&socket).get("/").text(), "1");
    let (second, said) = server::run(&server.folder, &[], &["-b", &unix, "-t", "1"]);
    assert!(!second.status.success() && said.contains("gold.sock"), "{said}");
    assert_eq!(Client::unix(&socket).get("/").text(), "1", "the first one goes on");
}

#[test]
fn a_client_that_has_said_all_and_shuts_its_side_gets_its_answer() {
    let server = echo();
    let requests = [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ];
    for request in requests {
        for round in 0..20 {
            let mut client = server.client();
            client.send(request).unwrap();
            client.end_sending();
            assert_eq!(client.reply().unwrap().status, 200, "round {round} of {request:?}");
            assert_eq!(client.rest().unwrap(), b"", "and then the connection ends");
        }
    }
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    let server = Server::start(&app("", "env['PATH_INFO']"), &["--keep-alive", "0"]);
    for path in ["/a", "/b"] {
        let mut client = server.client();
        let reply = client.get(path);
        assert_eq!((reply.header("connection"), reply.text().as_str()), (Some("close"), path));
        assert!(client.is_closed(), "{path}");
    }
    // A body that comes slowly is waited for all the same.
    let mut client = server.client();
    client.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1").unwrap();
    assert_eq!(server.text("/meanwhile"), "/meanwhile");
    client.send("2").unwrap();
    assert_eq!(client.reply().unwrap().text(), "/slow");
}
