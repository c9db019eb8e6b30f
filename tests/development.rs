//! What a person who works on an application expects of its server: one process, a debugger that stops, no time-out
//! while it does.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::{Client, MAX_WAIT, Server, ruby, server, within};

const APP: &str = "require_relative \"common\"\nCOUNT = [0]\nrun paths(\"/\" => ->(_) { text(COUNT[0] += 1) }, \
                   \"/read\" => ->(_) { text($stdin.gets.inspect) })\n";

#[test]
fn there_is_one_worker_unless_more_are_asked_for() {
    let server = ruby::serve(APP, &[]);
    for expected in 1..=20 {
        assert_eq!(server.text("/"), expected.to_string(), "each request meets the same memory");
    }
    assert_eq!(ruby::workers(&server).len(), 1);
    let server = ruby::serve(APP, &["-w", "3"]);
    ruby::expect_workers(&server, 3);
}

#[test]
fn the_application_reads_what_the_server_was_given_to_read() {
    let (input, mut stdin) = std::io::pipe().unwrap();
    let options = ["-b", "unix://web.sock", "--engine", "ruby", "--ruby", &ruby::program()];
    let server = Server::begin_by(&[], input.into(), ruby::folder(&[("config.ru", APP)]), &[], &options);
    let mut client = Client::unix(&server.folder.join("web.sock"));
    client.send_get("/read");
    stdin.write_all(b"continue\n").unwrap();
    assert_eq!(client.reply().unwrap().text(), "\"continue\\n\"");
}

#[test]
fn a_request_may_take_as_long_as_it_likes_where_nobody_says_how_long() {
    let shown = |options: &[&str]| {
        let folder = ruby::folder(&[("config.ru", APP)]);
        let (output, _) = server::run(&folder, &[], &[&["config", "--engine", "ruby"], options].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let value = |name: &str| {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        (value("request-time"), value("workers"))
    };
    assert_eq!(shown(&[]), ("none".to_owned(), "1".to_owned()));
    assert_eq!(shown(&["--request-time", "5s"]).0, "5s");
    let (time, workers) = shown(&["-e", "production"]);
    assert!(time == "30s" && workers.starts_with("auto"), "{time} {workers}");
}

#[test]
fn a_limit_of_none_is_none() {
    let app =
        "require_relative \"common\"\nrun paths(\"/\" => ->(_) { note(\"runs\"); wait_for(\"go\"); text(\"gold\") })\n";
    let mut server =
        ruby::serve(app, &["--request-time", "none", "--drain-time", "500ms", "-e", "production", "-w", "1"]);
    let mut client = server.send_get("/");
    ruby::wait_for_note(&server, "runs");
    ruby::let_go(&server, "go");
    assert_eq!(client.reply().unwrap().text(), "gold");
    std::fs::remove_file(server.folder.join("go")).unwrap();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2));
    let began = Instant::now();
    server.ended_by(rustix::process::Signal::TERM);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
