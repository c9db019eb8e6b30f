//! Exceptions and wrong answers: what the client sees and what the log says. The parts of Ruby's exceptions that
//! middleware relies on (`raise` alone, `$!`, `cause`, `ensure`) are in engine-mruby/tests/language.rs and its table.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::process::Output;

use crate::support::{Client, MAX_WAIT, Server, paths, server, within};

const RAISING: &[(&str, &str)] = &[
    ("/", "text(\"gold\")"),
    ("/raise", "raise ArgumentError, \"not <gold>\""),
    ("/deep", "def below; raise \"from below\"; end; below"),
    ("/throw", "throw :nobody_catches"),
    ("/exit", "exit"),
    ("/exception", "raise Exception, \"no StandardError\""),
    ("/not-implemented", "raise NotImplementedError"),
    ("/status-text", "[\"fine\", {}, []]"),
    ("/status-small", "[42, {}, []]"),
    ("/headers-nil", "[200, nil, []]"),
    ("/header-name", "[200, { 4711 => \"1\" }, []]"),
    ("/header-value", "[200, { \"x-a\" => \"a\\0b\" }, []]"),
    ("/header-lines", "[200, { \"location\" => \"/a\\n/b\" }, []]"),
    ("/body-nil", "[200, {}, nil]"),
    ("/body-object", "[200, {}, [Object.new]]"),
    ("/two", "[200, {}]"),
    ("/string", "\"gold\""),
    ("/each-raises", "b = Object.new; def b.each; raise \"in each\"; end; [200, {}, b]"),
];

#[test]
fn an_exception_is_500_with_its_backtrace_in_the_log_and_on_the_page_only_in_development() {
    for (environment, shown) in [("development", true), ("production", false)] {
        let server = Server::start(&paths(RAISING), &["-t", "1", "-e", environment]);
        for (path, class, message) in
            [("/raise", "ArgumentError", "not <gold>"), ("/deep", "RuntimeError", "from below")]
        {
            let reply = server.get(path);
            let page = reply.text();
            assert_eq!(reply.status, 500);
            assert_eq!(page.contains(class), shown, "{environment} {path}: {page}");
            assert_eq!(page.contains("config.ru:"), shown, "{environment} {path}: {page}");
            let plain = reply.header("content-type").is_some_and(|kind| kind.starts_with("text/plain"));
            assert!(plain || !page.contains("<gold>"), "unescaped: {page}");
            assert!(server.logs(class) && server.logs(message) && server.logs("config.ru:"), "{}", server.log());
        }
        assert_eq!(server.text("/"), "gold");
    }
}

#[test]
fn whatever_goes_wrong_is_500_and_the_next_request_is_served() {
    let mut server = Server::start(&paths(RAISING), &["-t", "1", "-e", "production"]);
    for (path, _) in &RAISING[1..] {
        let reply = server.get(path);
        assert_eq!(reply.status, 500, "{path}: {}\n{}", reply.text(), server.log());
        assert!(server.is_alive(), "{path}");
        assert_eq!(server.text("/"), "gold", "after {path}");
    }
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_sent_is_no_fault_of_the_client() {
    let app = "LARGE = File.join(__dir__, 'large')\n\
               class Large\n  def to_path; LARGE; end\n  def each; end\nend\n\
               run lambda { |env| [200, {}, Large.new] }";
    let server = Server::start(app, &["--engine", "mruby", "-t", "1"]);
    let path = server.folder.join("large");
    fs::write(&path, vec![b'x'; 50_000_000]).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut client = Client::over(stream.try_clone().unwrap());
    client.send("GET /shrinks HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, Some("50000000")));
    // No more comes while nothing is read: the server is in the middle of the file.
    let (mut unread, mut before) = (vec![0_u8; 16 << 20], 0);
    let stalls = || {
        let now = stream.peek(&mut unread).unwrap();
        std::mem::replace(&mut before, now) == now
    };
    assert!(within(MAX_WAIT, stalls));
    File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
    assert!(client.body(&head).is_err());
    server.must_log("GET /shrinks: cannot read the file of a response: ");
    let line = || server.log().lines().find(|line| line.contains(" GET /shrinks 200 ")).map(str::to_owned);
    let is_named = within(MAX_WAIT, || line().is_some_and(|line| line.contains(" broken")));
    assert!(is_named, "{:?}\n{}", line(), server.log());
    let count = server.log().matches("cannot read the file of a response").count();
    assert_eq!(count, 1, "the response and the wire have both found it: {}", server.log());
}

/// What is not sent, and a connection that is cut, have a line that names the request.
#[test]
fn a_body_that_is_not_as_long_as_announced_is_logged_with_its_request() {
    let long = "lambda { |s| 20.times { s.write(\"some\" * 100_000) } }";
    let shorter = format!("[200, {{ \"content-length\" => \"9000000\" }}, {long}]");
    let cases = [
        ("/longer", "[200, { \"content-length\" => \"2\" }, [\"gold\"]]"),
        ("/none", "[200, { \"content-length\" => \"0\" }, [\"gold\"]]"),
        ("/shorter", shorter.as_str()),
    ];
    let server = Server::start(&paths(&cases), &["--engine", "mruby", "-t", "1"]);
    assert_eq!(server.text("/longer"), "go");
    assert_eq!(server.text("/none"), "");
    assert!(server.send_get("/shorter").reply().is_err(), "it breaks off");
    let fault = "the application's answer is not valid Rack: the body is";
    for said in [
        format!(", GET /longer: {fault} longer than its Content-Length"),
        format!(", GET /none: {fault} longer than its Content-Length"),
        format!(", GET /shorter: {fault} 1000000 bytes shorter than its Content-Length"),
    ] {
        server.must_log(&said);
    }
    assert!(server.log().contains("count bytes and not characters"), "{}", server.log());
}

#[test]
fn a_body_that_raises_half_way_does_not_look_whole() {
    let cases = [
        ("/", "text(\"gold\")"),
        ("/half", "b = Object.new; def b.each; yield \"some\"; raise \"half way\"; end; [200, {}, b]"),
        ("/stream", "[200, {}, lambda { |s| s.write(\"some\"); s.flush; raise \"half way\" }]"),
        ("/long", "[200, {}, lambda { |s| 20.times { s.write(\"some\" * 100_000) }; raise \"half way\" }]"),
    ];
    let server = Server::start(&paths(&cases), &["-t", "1"]);
    for path in ["/half", "/stream", "/long"] {
        let mut client = server.send_get(path);
        // Either nothing had gone out yet and it is a 500, or the answer breaks off; never a whole 200.
        if let Ok(reply) = client.reply() {
            assert_eq!(reply.status, 500, "{path}: {}", reply.text());
        }
        server.must_log("half way");
        assert_eq!(server.text("/"), "gold");
        // HTTP/1.0 knows no chunks: the end of the connection is that of the body, unless it is an error.
        let mut client = server.client();
        client.send(format!("GET {path} HTTP/1.0\r\n\r\n")).unwrap();
        let mut all = Vec::new();
        let ended = client.read_to_end(&mut all).map_err(|error| error.kind());
        let all = String::from_utf8_lossy(&all).into_owned();
        let is_500 = all.starts_with("HTTP/1.1 500 ") || all.starts_with("HTTP/1.0 500 ");
        assert!(is_500 || ended == Err(ErrorKind::ConnectionReset), "{path}: {ended:?} {all}");
    }
}

/// A client may be far behind the application, or leave before it has come to the exception.
#[test]
fn an_exception_in_a_body_is_logged_when_it_is_raised_however_slowly_the_client_reads() {
    let each = "600.times { yield \"x\" * 65_536 }; raise \"half way\"";
    let body = format!("b = Object.new; def b.each; {each}; end; [200, {{}}, b]");
    let server = Server::start(&paths(&[("/long", &body)]), &["-t", "1"]);
    let mut client = server.send_get("/long");
    let head = client.head().unwrap();
    // More than the kernel holds, so the client has not come to it.
    server.must_log("half way");
    assert!(client.body(&head).is_err(), "it breaks off");
    assert_eq!(server.log().matches("half way").count(), 1, "{}", server.log());
}

fn boot(files: &[(&str, &str)]) -> (Output, String) {
    let folder = server::folder_with(files);
    server::run(&folder, &[], &["-b", "tcp://127.0.0.1:0", "-t", "2"])
}

#[test]
fn an_application_that_cannot_be_loaded_ends_the_start_with_ruby_s_words() {
    let boots = [
        (vec![("config.ru", "raise \"no gold here\"\n")], vec!["no gold here", "config.ru:1"]),
        (vec![("config.ru", "\n\nrun lambda { |env|\n")], vec!["config.ru", "syntax error"]),
        (
            vec![("config.ru", "require_relative \"other\"\nrun 1\n"), ("other.rb", "\nnonsense\n")],
            vec!["nonsense", "other.rb:2"],
        ),
        (vec![("config.ru", "require_relative \"missing\"\n")], vec!["missing"]),
        (vec![("config.ru", "# nothing is run\n")], vec!["run"]),
    ];
    for (files, words) in boots {
        let (output, said) = boot(&files);
        assert!(!output.status.success(), "{files:?}");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in: {said}");
        }
    }
}
