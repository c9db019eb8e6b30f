//! HTTP/1.0 and 1.1 as a client meets it: connections that stay, requests that come in a row, bodies in chunks, and
//! several sockets of both kinds.

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
        ("/length", "text(env[\"CONTENT_LENGTH\"].inspect)"),
        ("/trailer", "text(env.keys.select { |k| k.include?(\"X_LATE\") }.inspect + env[\"rack.input\"].read)"),
        ("/te", "text(env[\"HTTP_TRANSFER_ENCODING\"].inspect)"),
        ("/each", "b = Object.new; def b.each; yield \"one\"; yield \"two\"; end; [200, {}, b]"),
        ("/stream", "[200, {}, lambda { |s| 3.times { |n| s.write(\"#{n};\") }; s.close }]"),
        ("/drip", DRIP),
        ("/close", "[200, { \"connection\" => \"close\" }, [\"bye\"]]"),
        ("/close-too", "[200, { \"connection\" => [\"x\", \"close\"] }, [\"bye\"]]"),
        ("/emptied", "[200, {}, env[\"REQUEST_METHOD\"] == \"HEAD\" ? [] : [\"gold\"]]"),
        ("/204", "[204, {}, []]"),
        ("/304", "[304, {}, []]"),
    ];
    Server::start(&paths(&cases), &["-t", "2"])
}

#[test]
fn a_connection_serves_many_requests() {
    let server = echo();
    let mut client = server.client();
    for _ in 0..100 {
        let reply = client.get("/");
        assert_eq!((reply.status, reply.text().as_str(), reply.version.as_str()), (200, "gold", "HTTP/1.1"));
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let server = echo();
    let mut client = server.client();
    let mut all = String::new();
    for n in 0..50 {
        let body = format!("request {n}");
        all.push_str(&format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    }
    client.send(all).unwrap();
    for n in 0..50 {
        assert_eq!(client.reply().unwrap().text(), format!("request {n}"));
    }
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let server = echo();
    let mut client = server.client();
    let get = client.get("/");
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(client.get("/").text(), "gold", "the next answer begins where the head ended");
}

#[test]
fn answers_without_a_body_leave_the_connection_in_order() {
    let server = echo();
    let mut client = server.client();
    for (path, status) in [("/204", 204), ("/304", 304), ("/204", 204)] {
        let reply = client.get(path);
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("transfer-encoding"), None);
        if status == 204 {
            assert_eq!(reply.header("content-length"), None);
        }
    }
    assert_eq!(client.get("/").text(), "gold");
}

#[test]
fn expect_100_continue_is_answered_before_the_body() {
    let server = echo();
    let mut client = server.client();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n").unwrap();
    assert_eq!(client.head().unwrap().status, 100);
    client.send("body").unwrap();
    assert_eq!(client.reply().unwrap().text(), "body");
}

#[test]
fn chunks_come_in_and_the_application_sees_a_length_or_none_but_never_the_coding() {
    let server = echo();
    let mut client = server.client();
    let chunks = "Transfer-Encoding: chunked\n\n3\nfoo\n6;ext=1\n'sgold\n0\n\n";
    assert_eq!(client.ask(&format!("POST /echo HTTP/1.1\nHost: a\n{chunks}")).text(), "foo'sgold");
    let length = client.ask(&format!("POST /length HTTP/1.1\nHost: a\n{chunks}")).text();
    assert!(length == "\"9\"" || length == "nil", "{length}");
    let coding = client.ask(&format!("POST /te HTTP/1.1\nHost: a\n{chunks}")).text();
    assert!(coding == "nil" || coding == "\"chunked\"", "{coding}");
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
fn a_length_with_leading_zeros_is_a_plain_number_for_the_application() {
    let server = echo();
    let mut client = server.client();
    for (length, body, seen) in [("005", "hello", "\"5\""), ("0010", "0123456789", "\"10\""), ("000", "", "\"0\"")] {
        let reply = client.ask(&format!("POST /length HTTP/1.1\nHost: a\nContent-Length: {length}\n\n{body}"));
        assert_eq!(reply.text(), seen);
    }
}

#[test]
fn trailers_are_dropped_cleanly() {
    let server = echo();
    let mut client = server.client();
    let body = "3\nabc\n0\nX-Late: 1\nX-Late-Too: 2\n\n";
    let reply = client.ask(&format!("POST /trailer HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n{body}"));
    assert_eq!(reply.text(), "[]abc");
    assert_eq!(client.get("/").text(), "gold", "nothing of the trailers is taken for a request");
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
fn http_1_0_is_answered_without_chunks_and_closed() {
    let server = echo();
    for path in ["/", "/stream", "/each"] {
        let mut client = server.client();
        let reply = client.ask(&format!("GET {path} HTTP/1.0\n\n"));
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("transfer-encoding"), None, "{path}");
        assert!(client.is_closed(), "{path}");
    }
}

#[test]
fn http_1_0_keeps_the_connection_when_asked() {
    let server = echo();
    let mut client = server.client();
    for _ in 0..3 {
        let reply = client.ask("GET / HTTP/1.0\nConnection: keep-alive\n\n");
        assert_eq!(reply.text(), "gold");
        assert_eq!(reply.header("connection").map(str::to_ascii_lowercase).as_deref(), Some("keep-alive"));
    }
}

#[test]
fn connection_close_is_obeyed_from_both_sides() {
    let server = echo();
    let mut client = server.client();
    let reply = client.ask("GET / HTTP/1.1\nHost: a\nConnection: close\n\n");
    assert_eq!((reply.text().as_str(), reply.header("connection")), ("gold", Some("close")));
    assert!(client.is_closed());
    let mut client = server.client();
    assert_eq!(client.get("/close").text(), "bye");
    assert!(client.is_closed(), "the application asked for the end");
    let mut client = server.client();
    assert_eq!(client.get("/close-too").header("connection"), Some("close"));
    assert!(client.is_closed(), "in the second of two values");
}

#[test]
fn head_says_nothing_of_the_length_where_the_application_has_emptied_the_body() {
    let server = echo();
    let mut client = server.client();
    client.send("HEAD /emptied HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, None));
    assert_eq!(client.get("/emptied").header("content-length"), Some("4"));
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
fn a_request_byte_by_byte_is_a_request() {
    let server = echo();
    let mut client = server.client();
    for byte in b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" {
        client.send([*byte]).unwrap();
    }
    assert_eq!(client.reply().unwrap().text(), "abc");
}

#[test]
fn every_answer_has_a_date_and_its_own_length() {
    let server = echo();
    let reply = server.get("/");
    assert_eq!(reply.header("content-length"), Some("4"));
    assert!(reply.header("date").is_some_and(|date| date.ends_with(" GMT")), "{:?}", reply.headers);
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
    assert!(server.ended(support::MAX_WAIT).is_some_and(|status| status.success()));
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
