//! What a client gets of an application on the Ruby engine: bodies of every kind, headers, files, hints, and what is
//! called after the answer.

use std::fs;
use std::io::Write;
use std::time::Duration;

use crate::support::{MAX_WAIT, Server, ruby, within};

const APP: &str = include_str!("apps/ruby/answers.ru");
const PAGE: &str = "a page of gold\n";

fn serve(options: &[&str]) -> Server {
    let page = PAGE.repeat(50_000);
    ruby::serve_files(&[("config.ru", APP), ("page", &page)], &[], options)
}

/// Path, status, body.
const ANSWERS: &[(&str, u16, &str)] = &[
    ("/array", 200, "ab"),
    ("/empty", 200, ""),
    ("/tea", 418, "tea"),
    ("/each", 200, "xy"),
    ("/each-length", 200, "xy"),
    ("/enumerator", 200, "012"),
    ("/lazy", 200, "12345"),
    ("/utf8", 200, "\u{fc}ber"),
    ("/204", 204, ""),
    ("/304", 304, ""),
    ("/head", 200, "gold"),
    ("/raw/array", 200, "ab"),
    ("/raw/called", 200, "stream"),
    ("/raw/called-open", 200, "open"),
    ("/raw/called-echo", 200, ""),
];

#[test]
fn answers_arrive_as_the_application_meant_them() {
    let server = serve(&["-w", "1", "-t", "2"]);
    let mut client = server.client();
    for round in 0..2 {
        for (path, status, body) in ANSWERS {
            let reply = ruby::expect(&server, client.get(path), *status);
            assert_eq!(reply.text(), *body, "{path} in round {round}");
            let bare = reply.header("content-length").is_none() && reply.header("transfer-encoding").is_none();
            assert_eq!(bare, *status == 204 || *status == 304, "{path}: {:?}", reply.headers);
        }
    }
    assert_eq!(client.get("/large").text(), "gold".repeat(1_000_000));
    assert_eq!(client.get("/large-parts").text(), "gold".repeat(1_000_000));
    assert_eq!(client.post("/raw/called-echo", "loud").text(), "LOUD", "the stream reads the body of the request");
    ruby::assert_clean(&server);
}

#[test]
fn a_body_that_is_called_passes_the_lint_of_rack_3() {
    let server = serve(&["-w", "1", "-t", "1"]);
    if server.text("/rack") == "2" {
        return;
    }
    assert_eq!(server.text("/called"), "stream");
    assert_eq!(server.text("/called-open"), "open");
    ruby::assert_clean(&server);
}

#[test]
fn files_are_sent_by_their_path() {
    let server = serve(&["-w", "1", "-t", "1"]);
    for path in ["/file", "/raw/file", "/raw/file-bare"] {
        let reply = ruby::expect(&server, server.get(path), 200);
        assert_eq!(reply.header("content-length"), Some("750000"), "{path}");
        assert!(reply.text() == PAGE.repeat(50_000), "{path}: {} bytes", reply.body.len());
    }
    // Rack 2's Lint hides the path, so the length is known to nobody.
    assert_eq!(server.get("/file-bare").body.len(), 750_000);
    ruby::assert_clean(&server);
}

/// Such as a log that is written while a client downloads it.
#[test]
fn a_file_that_grows_meanwhile_is_sent_as_long_as_it_was() {
    let app = "PATH = File.join(__dir__, 'growing')\n\
               run ->(_) { File.write(PATH, 'g' * 32_000_000); [200, {}, File.open(PATH)] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--spool-bytes", "1MiB"]);
    let mut client = server.send_get("/");
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, Some("32000000")), "{}", server.log());
    let mut file = fs::OpenOptions::new().append(true).open(server.folder.join("growing")).unwrap();
    file.write_all(&[b'h'; 1_000_000]).unwrap();
    assert!(client.body(&head).unwrap() == [b'g'; 32_000_000]);
    server.must_log(" GET / 200 32000000 ");
    assert!(!server.log().contains("bad_answer"), "{}", server.log());
}

#[test]
fn early_hints_come_before_the_answer_is_made() {
    let server = serve(&["-w", "1", "-t", "1", "--early-hints"]);
    let mut client = server.send_get("/hints");
    let hints = client.head().unwrap();
    assert_eq!((hints.status, hints.header("link")), (103, Some("</a.css>; rel=preload")));
    ruby::let_go(&server, "go1");
    assert_eq!(client.reply().unwrap().text(), "hinted");
    ruby::assert_clean(&server);
}

/// As on Puma: Rails sends hints with nearly every page where they are offered, and not every proxy understands a 103.
#[test]
fn early_hints_are_offered_to_those_who_ask_for_them() {
    let server = serve(&["-w", "1", "-t", "1"]);
    let mut client = server.send_get("/hints");
    ruby::let_go(&server, "go1");
    assert_eq!(client.reply().unwrap().status, 200);
    ruby::assert_clean(&server);
}

#[test]
fn events_arrive_as_they_are_made_and_once_they_have_begun_there_is_no_deadline() {
    let server = serve(&["-w", "1", "-t", "1", "--request-time", "300ms", "--kill-time", "0s"]);
    let mut client = server.send_get("/events");
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(client.chunk().unwrap().unwrap(), b"one");
    assert!(!within(Duration::from_millis(900), || false));
    ruby::let_go(&server, "go1");
    assert_eq!(client.chunk().unwrap().unwrap(), b"two");
    ruby::let_go(&server, "go2");
    assert_eq!(client.chunk().unwrap().unwrap(), b"three");
    assert_eq!(client.chunk().unwrap(), None, "{}", server.log());
    ruby::wait_for_note(&server, "closed events");
    ruby::assert_clean(&server);
}

#[test]
fn a_body_that_is_an_io_is_sent_as_its_bytes_come() {
    let server = serve(&["-w", "1", "-t", "1"]);
    let mut client = server.send_get("/raw/pipe");
    assert_eq!(client.head().unwrap().status, 200);
    assert_eq!(client.chunk().unwrap().unwrap(), b"half", "the line is not complete yet");
    ruby::let_go(&server, "go1");
    let rest: Vec<u8> = std::iter::from_fn(|| client.chunk().unwrap()).flatten().collect();
    assert_eq!(String::from_utf8_lossy(&rest), " a line\nand the rest");
    assert_eq!(server.text("/raw/string-io"), "two\nthree", "from its position on");
    assert_eq!(server.text("/raw/own-each"), "its own");
    ruby::assert_clean(&server);
}

#[test]
fn callbacks_run_after_the_answer() {
    let server = serve(&["-w", "1", "-t", "1"]);
    // The answers are here although the callbacks wait for the file that is made below.
    assert_eq!(server.text("/after"), "after");
    ruby::let_go(&server, "go1");
    ruby::wait_for_note(&server, "after_reply");
    std::fs::remove_file(server.folder.join("go1")).unwrap();
    assert_eq!(ruby::expect(&server, server.get("/finished"), 201).text(), "finished");
    assert_eq!(ruby::notes(&server), ["after_reply"]);
    ruby::let_go(&server, "go1");
    ruby::wait_for_note(&server, "first 201 Hash nil");
    assert_eq!(ruby::notes(&server)[1..], ["second true", "first 201 Hash nil"], "the last registered comes first");
    assert_eq!(server.get("/finished-raise").status, 500);
    ruby::wait_for_note(&server, "raised 500 on purpose");
    ruby::assert_clean(&server);
}

fn closed(server: &Server, name: &str) -> usize {
    ruby::count(server, &format!("closed {name}"))
}

#[test]
fn a_body_is_closed_exactly_once() {
    let server = serve(&["-w", "1", "-t", "1", "--spool-bytes", "1MiB"]);
    for name in ["each", "each-length", "large-parts"] {
        server.text(&format!("/{name}"));
        server.text(&format!("/raw/{name}"));
        assert!(within(MAX_WAIT, || closed(&server, name) >= 2), "{:?}", ruby::notes(&server));
    }
    let mut late = server.send_get("/raise-late");
    late.head().unwrap();
    assert_eq!(late.chunk().unwrap().unwrap(), b"part");
    ruby::let_go(&server, "go1");
    let rest = late.chunk();
    assert!(rest.is_err(), "an answer that broke off looks whole: {rest:?}\n{}", server.log());
    assert!(server.logs("late on purpose"), "the log has the exception\n{}", server.log());
    // Clients that go in the middle of an answer, which fills all buffers or trickles.
    for (round, path) in ["/endless", "/raw/endless", "/endless"].iter().enumerate() {
        let mut client = server.send_get(path);
        assert_eq!(client.head().unwrap().status, 200);
        drop(client);
        assert!(within(MAX_WAIT, || closed(&server, "endless") == round + 1), "{path}\n{}", server.log());
    }
    let mut client = server.send_get("/slow");
    assert_eq!(client.head().unwrap().status, 200);
    client.chunk().unwrap();
    drop(client);
    assert!(within(MAX_WAIT, || closed(&server, "slow") > 0), "{}", server.log());
    // One more request on the same and only thread: whatever would close once too often has done so before it.
    assert_eq!(server.text("/array"), "ab");
    let counts = ["each", "each-length", "large-parts", "late", "endless", "slow"].map(|name| closed(&server, name));
    assert_eq!(counts, [2, 2, 2, 1, 3, 1]);
    ruby::assert_clean(&server);
}

#[test]
fn what_is_not_an_answer_is_500_and_the_log_says_why() {
    let server = serve(&["-w", "1", "-t", "1", "-e", "production"]);
    let pid = ruby::workers(&server);
    let bad = ["/raw/none", "/raw/nil-body", "/raw/bad-part", "/raw/bad-name", "/none"];
    for path in bad {
        assert_eq!(server.get(path).status, 500, "{path}\n{}", server.log());
    }
    server.must_log("the body must be made of Strings");
    for (path, words) in [("/raise", "raised on purpose"), ("/exit", "SystemExit")] {
        let reply = ruby::expect(&server, server.get(path), 500);
        assert!(!reply.text().contains(words), "production keeps it to itself: {}", reply.text());
        server.must_log(words);
    }
    assert!(server.log().contains("config.ru:"), "the log has the backtrace\n{}", server.log());
    assert_eq!(server.text("/array"), "ab");
    assert_eq!(ruby::workers(&server), pid, "it is still the same worker");
}

/// Unicorn leaves the answer to an expectation to the application, which it then calls again.
#[test]
fn an_application_that_answers_an_expectation_with_100_is_asked_for_its_answer_again() {
    let app = "run ->(env) { env['HTTP_EXPECT'] ? [100, {}, []] : [200, {}, [env['rack.input'].read]] }\n";
    let server = ruby::serve(app, &["-w", "1"]);
    let mut client = server.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n").unwrap();
    assert_eq!(client.head().unwrap().status, 100, "of the server");
    client.send("gold").unwrap();
    assert_eq!(ruby::expect(&server, client.reply().unwrap(), 200).text(), "gold");
}

/// Ruby raises it when the bytes are written, before anybody has counted them.
#[test]
fn an_exception_of_another_thread_during_a_write_sends_nothing_twice() {
    let app = "run ->(_) { [200, {}, lambda { |stream|\n  me = Thread.current\n  begin\n    \
               Thread.handle_interrupt(RuntimeError => :never) {\n      Thread.new { me.raise 'late' }.join\n      \
               stream.write('A')\n    }\n  rescue RuntimeError\n  end\n  stream.write('B')\n  stream.close }] }\n";
    for worker in ["plain", "auto"] {
        let server = ruby::serve(app, &["--ruby-worker", worker, "-w", "1", "-t", "1"]);
        assert_eq!(server.text("/"), "AB", "{worker}: {}", server.log());
    }
}

/// rack-rewrite's `x_send_file` announces the length of the file beside an empty body.
#[test]
fn an_empty_body_may_announce_the_length_of_the_file_that_the_proxy_sends() {
    let app = "class Empty\n  def each; end\nend\nrun ->(env) {\n  _, kind, name = env['PATH_INFO'].split('/')\n  \
               [200, { name => '/file', 'content-length' => '100000' }, kind == 'array' ? [] : Empty.new]\n}\n";
    for worker in ["plain", "auto"] {
        let server = ruby::serve(app, &["--ruby-worker", worker, "-w", "1", "-t", "1"]);
        for path in ["/array/X-Sendfile", "/array/x-accel-redirect", "/each/X-Sendfile", "/each/x-accel-redirect"] {
            let reply = ruby::expect(&server, server.get(path), 200);
            assert_eq!(reply.text(), "", "{worker}, {path}");
            assert_ne!(reply.header("content-length"), Some("100000"), "{worker}, {path}");
        }
        assert_eq!(server.get("/array/x-file").status, 500, "{worker}: no proxy sends anything for this one");
    }
}
