//! The environment of requests, the same on both engines, and as Puma 8 has it but where a row says otherwise
//! (`bin/rack-env` compares them). Underscores, proxies and their headers are in proxy.rs.

use crate::rack::LINT;
use crate::support;
use crate::support::{Server, ruby};

/// Answers its environment, a line for each string in it, and its body.
const ECHO: &str = r##"
run lambda { |env|
  lines = env.map { |key, value| value.is_a?(String) ? "#{key}=#{value}\n" : "" }
  [200, { "content-type" => "text/plain" }, [lines.join + "(body)=#{env["rack.input"].read}\n"]]
}
"##;

/// A key and its value; `-` where it must not be there.
type Pairs = &'static [(&'static str, &'static str)];

/// A request, a line feed standing for CRLF, and what the application finds.
const ROWS: &[(&str, Pairs)] = &[
    (
        "GET /a/b?c=d HTTP/1.1\nHost: a\n\n",
        &[("REQUEST_PATH", "/a/b"), ("REQUEST_URI", "/a/b?c=d"), ("PATH_INFO", "/a/b"), ("CONTENT_LENGTH", "-")],
    ),
    ("OPTIONS * HTTP/1.1\nHost: a\n\n", &[("REQUEST_PATH", "*"), ("PATH_INFO", "*")]),
    // RFC 9112 section 3.2.2: the authority counts. Puma takes the Host.
    (
        "GET http://b.example:81/p?q=1 HTTP/1.1\nHost: a\n\n",
        &[("REQUEST_PATH", "/p"), ("REQUEST_URI", "http://b.example:81/p?q=1"), ("HTTP_HOST", "b.example:81")],
    ),
    ("GET https://a/p HTTP/1.1\nHost: a\n\n", &[("rack.url_scheme", "http"), ("HTTPS", "-"), ("SERVER_PORT", "80")]),
    ("GET //a//b HTTP/1.1\nHost: a\n\n", &[("PATH_INFO", "//a//b"), ("REQUEST_PATH", "//a//b")]),
    ("GET /a/../%62 HTTP/1.1\nHost: a\n\n", &[("PATH_INFO", "/a/../%62"), ("REQUEST_PATH", "/a/../%62")]),
    ("GET /q? HTTP/1.1\nHost: a\n\n", &[("QUERY_STRING", ""), ("REQUEST_URI", "/q?")]),
    // A body in chunks has been read: its length is known, and its coding gone (RFC 3875 section 4.1.2).
    (
        "POST /p HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n3\nabc\n4;x=y\ndefg\n0\n\n",
        &[("CONTENT_LENGTH", "7"), ("HTTP_TRANSFER_ENCODING", "-"), ("(body)", "abcdefg")],
    ),
    (
        "POST /p HTTP/1.1\nHost: a\nTransfer-Encoding: CHUNKED\n\n0\n\n",
        &[("CONTENT_LENGTH", "0"), ("HTTP_TRANSFER_ENCODING", "-"), ("(body)", "")],
    ),
    (
        "GET /g HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTrailer: X-Sum\n\n1\na\n0\nX-Sum: 1\n\n",
        &[("CONTENT_LENGTH", "1"), ("HTTP_TRAILER", "X-Sum"), ("HTTP_X_SUM", "-"), ("(body)", "a")],
    ),
    ("POST /p HTTP/1.1\nHost: a\nContent-Length: 0\n\n", &[("CONTENT_LENGTH", "0"), ("(body)", "")]),
    ("POST /p HTTP/1.1\nHost: a\nContent-Type: a/b\n\n", &[("CONTENT_LENGTH", "-"), ("CONTENT_TYPE", "a/b")]),
    ("GET /g HTTP/1.1\nHost: a\nContent-Length: 2\n\nab", &[("CONTENT_LENGTH", "2"), ("(body)", "ab")]),
    (
        "POST /p HTTP/1.0\nContent-Length: 1\n\na",
        &[("CONTENT_LENGTH", "1"), ("SERVER_PROTOCOL", "HTTP/1.0"), ("HTTP_HOST", "-"), ("(body)", "a")],
    ),
    (
        "POST /p HTTP/1.1\nHost: a\nContent-Encoding: gzip\nContent-Length: 1\n\na",
        &[("HTTP_CONTENT_ENCODING", "gzip"), ("CONTENT_LENGTH", "1")],
    ),
    // Puma joins cookies with a comma, which is part of a cookie.
    ("GET / HTTP/1.1\nHost: a\nCookie: a=1\nCookie: b=2\n\n", &[("HTTP_COOKIE", "a=1; b=2")]),
    ("GET / HTTP/1.1\nHost: a\nX-A:\nX-A: b\n\n", &[("HTTP_X_A", ", b")]),
    ("GET / HTTP/1.1\nHost: a\nX-Space: \t a  b \t\n\n", &[("HTTP_X_SPACE", "a  b")]),
    ("GET / HTTP/1.1\nHost: a:\n\n", &[("HTTP_HOST", "a:"), ("SERVER_NAME", "a"), ("SERVER_PORT", "80")]),
    // Puma lets the client say which version this is.
    ("GET / HTTP/1.1\nHost: a\nVersion: HTTP/9.9\n\n", &[("HTTP_VERSION", "HTTP/1.1")]),
    (
        "GET / HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\n\n",
        &[("HTTP_CONNECTION", "Upgrade"), ("HTTP_UPGRADE", "websocket")],
    ),
];

/// Requests whose environment Lint has nothing against.
const LINTED_ROWS: &[(&str, Pairs)] = &[
    (
        "GET /x HTTP/1.1\nHost: a\n\n",
        &[("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", ""), ("QUERY_STRING", ""), ("SERVER_PROTOCOL", "HTTP/1.1")],
    ),
    (
        "GET /x HTTP/1.1\nHost: a\n\n",
        &[("rack.url_scheme", "http"), ("REMOTE_ADDR", "127.0.0.1"), ("CONTENT_LENGTH", "-"), ("HTTP_NONE", "-")],
    ),
    ("BREW /x HTTP/1.1\nHost: a\n\n", &[("REQUEST_METHOD", "BREW")]),
    ("OPTIONS * HTTP/1.1\nHost: a\n\n", &[("PATH_INFO", "*")]),
    ("GET /a%20b%2Fc HTTP/1.1\nHost: a\n\n", &[("PATH_INFO", "/a%20b%2Fc")]),
    ("GET http://a.example/p?q=1 HTTP/1.1\nHost: a.example\n\n", &[("PATH_INFO", "/p")]),
    ("GET http://a.example HTTP/1.1\nHost: a.example\n\n", &[("PATH_INFO", "/")]),
    ("GET /x?a=%26&b HTTP/1.1\nHost: a\n\n", &[("QUERY_STRING", "a=%26&b")]),
    ("GET /x?a?b HTTP/1.1\nHost: a\n\n", &[("QUERY_STRING", "a?b")]),
    (
        "GET /x HTTP/1.1\nHost: gold.example:81\n\n",
        &[("SERVER_NAME", "gold.example"), ("SERVER_PORT", "81"), ("HTTP_HOST", "gold.example:81")],
    ),
    ("GET /x HTTP/1.1\nHost: gold.example\n\n", &[("SERVER_PORT", "80")]),
    ("GET /x HTTP/1.1\nHost: [::1]:81\n\n", &[("SERVER_NAME", "[::1]")]),
    ("GET /x HTTP/1.1\nHost: a\nX-Gold-Of-Fools: 1\n\n", &[("HTTP_X_GOLD_OF_FOOLS", "1")]),
    ("GET /x HTTP/1.1\nHost: a\nAccept: a\nAccept: b\n\n", &[("HTTP_ACCEPT", "a, b")]),
    // An underscore cannot pose as a dash.
    ("GET /x HTTP/1.1\nHost: a\nX_Real_Ip: 1\n\n", &[("HTTP_X_REAL_IP", "-")]),
    ("GET /x HTTP/1.1\nHost: a\nX-G: gr\u{fc}n\n\n", &[("HTTP_X_G", "gr\u{fc}n")]),
    ("POST /x HTTP/1.1\nHost: a\nContent-Type: a/b\nContent-Length: 0\n\n", &[("CONTENT_TYPE", "a/b")]),
    ("POST /x HTTP/1.1\nHost: a\nContent-Length: 2\n\nab", &[("CONTENT_LENGTH", "2"), ("HTTP_CONTENT_LENGTH", "-")]),
];

#[track_caller]
fn assert_found(server: &Server, rows: &[(&str, Pairs)]) {
    for (request, pairs) in rows {
        let reply = server.client().ask(request);
        let text = reply.text();
        // Nor is a key missing from the page of an error.
        assert_eq!(reply.status, 200, "{request:?}\n{text}\n{}", server.log());
        for (key, expected) in *pairs {
            let start = format!("{key}=");
            let found = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or("-");
            assert_eq!(found, *expected, "{key} of {request:?}\n{text}\n{}", server.log());
        }
    }
}

#[test]
fn both_engines_give_the_same_environment_as_puma_does() {
    for server in [Server::start(ECHO, &["-t", "1"]), ruby::serve(ECHO, &["-w", "1", "-t", "1"])] {
        assert_found(&server, ROWS);
    }
}

/// Lint answers 500 to an environment that breaks the SPEC, which has no such line.
#[test]
fn the_environment_is_what_the_spec_wants() {
    let linted = format!("require_relative \"lint\"\nuse Lint\n{ECHO}");
    let files = [("lint.rb", LINT), ("config.ru", linted.as_str())];
    assert_found(&Server::files(&files, &["--engine", "mruby", "-t", "1"]), LINTED_ROWS);
    let linted = format!("require_relative \"common\"\nuse Linted\n{ECHO}");
    let server = ruby::serve(&linted, &["-w", "1", "-t", "1"]);
    assert_found(&server, LINTED_ROWS);
    ruby::assert_clean(&server);
}

/// What an application may ask its input for, and what comes of it without a body and with `abc`; a class stands for an
/// exception. Where they differ from Puma's, it is because Puma's two kinds of input do.
const INPUT_ROWS: &[(&str, &str, &str)] = &[
    // First: a request that closes its empty input must not close that of the requests after it.
    ("[i.close, i.lineno]", "[nil, 0]", "[nil, 0]"),
    ("i.read", "\"\"", "\"abc\""),
    ("i.read(2)", "nil", "\"ab\""),
    ("i.read(0)", "\"\"", "\"\""),
    ("i.read(-1)", "ArgumentError", "ArgumentError"),
    ("b = +\"old\"; i.read(9, b); b", "\"\"", "\"abc\""),
    ("[i.seek(0), i.pos]", "[0, 0]", "[0, 0]"),
    ("i.pos = 0; i.tell", "0", "0"),
    ("i.seek(-1)", "Errno::EINVAL", "Errno::EINVAL"),
    ("[i.rewind, i.eof?, i.size, i.length]", "[0, true, 0, 0]", "[0, false, 3, 3]"),
    ("i.string", "\"\"", "\"abc\""),
    ("i.sync = true; i.sync", "true", "true"),
    ("i.flush.equal?(i)", "true", "true"),
    ("i.set_encoding(Encoding::UTF_8).equal?(i)", "true", "true"),
    ("i.binmode.equal?(i)", "true", "true"),
    ("i.external_encoding == Encoding::BINARY", "true", "true"),
    ("[i.getc, i.getbyte, i.gets]", "[nil, nil, nil]", "[\"a\", 98, \"c\"]"),
    ("i.gets(chomp: true)", "nil", "\"abc\""),
    ("i.readline", "EOFError", "\"abc\""),
    ("i.readpartial(9)", "EOFError", "\"abc\""),
    ("i.readlines", "[]", "[\"abc\"]"),
    ("a = []; i.each { |l| a << l }; i.each_byte { |b| a << b }; a", "[]", "[\"abc\"]"),
    ("i.each_line.to_a + i.each_char.to_a", "[]", "[\"abc\"]"),
    ("[i.tty?, i.fileno, i.internal_encoding]", "[false, nil, nil]", "[false, nil, nil]"),
];

#[test]
fn an_input_without_a_body_answers_what_one_with_a_body_does() {
    let app = support::numbered(INPUT_ROWS.iter().map(|(code, ..)| {
        let asked = format!("i = env[\"rack.input\"]; ({code})");
        format!("text(begin; ({asked}).inspect; rescue StandardError => e; e.class.to_s; end)")
    }));
    for server in [Server::start(&app, &["-t", "1"]), ruby::serve(&app, &["-w", "1", "-t", "1"])] {
        for (at, (code, empty, full)) in INPUT_ROWS.iter().enumerate() {
            assert_eq!(server.text(&format!("/{at}")), *empty, "{code}\n{}", server.log());
            assert_eq!(server.client().post(&format!("/{at}"), "abc").text(), *full, "{code}\n{}", server.log());
        }
    }
}

/// As with Puma, where a single process says so.
#[test]
fn one_worker_that_stays_alone_is_no_multiprocess() {
    let app = "run ->(env) { [200, {}, [env[\"rack.multiprocess\"].to_s]] }";
    assert_eq!(ruby::serve(app, &["-w", "1"]).text("/"), "false");
    assert_eq!(ruby::serve(app, &["-w", "2"]).text("/"), "true");
    assert_eq!(ruby::serve(app, &["--min-workers", "1", "--max-workers", "3"]).text("/"), "true");
}

/// As a client sends them who does not know how much there will be: more than is kept in memory.
#[test]
fn a_long_body_in_chunks_has_a_length_too() {
    let request = format!(
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n{}0\n\n",
        format!("{:x}\n{}\n", 10_000, "x".repeat(10_000)).repeat(30)
    );
    for server in [Server::start(ECHO, &["-t", "1"]), ruby::serve(ECHO, &["-w", "1", "-t", "1"])] {
        let text = server.client().ask(&request).text();
        assert!(text.contains("\nCONTENT_LENGTH=300000\n"), "{}", server.log());
        assert!(text.contains(&format!("(body)={}\n", "x".repeat(300_000))), "{}", server.log());
    }
}
