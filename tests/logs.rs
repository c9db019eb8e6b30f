//! The words and the fields of the log: what docs/logging.md says to search for, in text and in JSON.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::successor::signal;
use crate::support::{MAX_WAIT, SHOP_AND_HOME, Server, paths, ruby, server, within};
use rustix::process::Signal;
use serde_json::Value;

fn serve(form: &str) -> Server {
    let ru = paths(&[("/pid", "text(Process.pid)"), ("/bad", "raise \"pyrite\""), ("/stuck", "sleep 30; text(1)")]);
    ruby::serve(&ru, &["-w", "2", "-t", "1", "--access-log", form, "--request-time", "500ms", "--kill-time", "30s"])
}

/// What happens to each of both: an exception, a request that takes too long, a worker that is killed.
fn trouble(server: &Server) -> String {
    assert_eq!((server.get("/bad").status, server.get("/stuck").status), (500, 504));
    let pid = server.text("/pid");
    signal(pid.parse().unwrap(), Signal::KILL);
    server.must_log("killed by SIGKILL");
    pid
}

#[test]
fn text_and_json_have_the_same_words_and_json_has_them_as_fields() {
    let text = serve("text");
    let pid = trouble(&text);
    text.must_log(&format!(" (pid {pid}) exited: killed by SIGKILL\n"));
    let log = text.log();
    let killed = log.lines().find(|line| line.contains("killed by SIGKILL")).unwrap();
    assert!(killed.contains(" WARN engine: worker "), "who reads warnings alone sees it: {killed}");
    // The id is that of the access log, and stands once in a line.
    let line = log.lines().find(|line| line.contains("GET /stuck timed out")).unwrap_or_else(|| panic!("{log}"));
    let id = line.split("request ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    assert!(line.contains("worker ") && line.contains(" (pid ") && line.matches(id).count() == 1, "{line}");
    text.must_log(&format!("{id} out_of_time\n"));
    text.must_log(&format!("request {id}, GET /stuck: timed out: the application took longer than 500ms"));
    text.must_log("GET /bad: RuntimeError: pyrite\n");

    let json = serve("json");
    let pid = trouble(&json);
    let line = |has: &dyn Fn(&Value) -> bool| {
        let found = || json.log().lines().filter_map(|line| serde_json::from_str(line).ok()).find(|line| has(line));
        assert!(within(MAX_WAIT, || found().is_some()), "{}", json.log());
        found().unwrap()
    };
    let says = |line: &Value, words: &str| line["message"].as_str().is_some_and(|message| message.contains(words));
    let killed = line(&|line| says(line, "killed by SIGKILL"));
    assert_eq!((killed["pid"].to_string(), killed["signal"].as_str()), (pid.clone(), Some("SIGKILL")), "{killed}");
    let words = format!("worker {} (pid {pid}) exited: killed by SIGKILL", killed["worker"]);
    assert_eq!(killed["message"].as_str(), Some(words.as_str()));
    let stuck = line(&|line| line["target"] == "engine" && line["path"] == "/stuck");
    let access = line(&|line| line["target"] == "/stuck");
    assert!(stuck["id"] == access["id"] && stuck["worker"].is_u64() && stuck["pid"].is_u64(), "{stuck} {access}");
    assert!(says(&stuck, &format!("worker {} (pid {}): request ", stuck["worker"], stuck["pid"])), "{stuck}");
    let bad = line(&|line| line["fault"] == "app_error" && line["target"] == "app");
    assert_eq!((&bad["id"], &bad["path"]), (&line(&|line| line["target"] == "/bad")["id"], &"/bad".into()), "{bad}");
}

#[test]
fn several_applications_are_told_apart() {
    let ru = paths(&[("/pid", "text(Process.pid)")]);
    let files = [("config.ru", ru.as_str()), ("foolsgold.toml", SHOP_AND_HOME)];
    let server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "1", "-C", "foolsgold.toml"]);
    let pid = server.text("/shop/pid");
    signal(pid.parse().unwrap(), Signal::KILL);
    server.must_log(&format!(" (pid {pid}) exited: killed by SIGKILL app=shop\n"));
}

#[test]
fn lines_of_requests_say_which_of_several_applications() {
    let ru = paths(&[("/ok", "text(1)"), ("/bad", "raise 'no'")]);
    for (form, app) in [("text", " app=shop"), ("json", ",\"app\":\"shop\"")] {
        let files = [("config.ru", ru.as_str()), ("foolsgold.toml", SHOP_AND_HOME)];
        let server = Server::files(&files, &["-t", "1", "-C", "foolsgold.toml", "--access-log", form]);
        assert_eq!((server.get("/shop/ok").status, server.get("/shop/bad").status), (200, 500));
        let lines = |path: &str| -> Vec<String> {
            let log = server.log();
            log.lines().filter(|line| line.contains(path)).map(str::to_owned).collect()
        };
        // The access line of one; the line of the exception and the access line of the other.
        for (path, count) in [("/shop/ok", 1), ("/shop/bad", 2)] {
            assert!(within(MAX_WAIT, || lines(path).len() == count), "{}", server.log());
            assert!(lines(path).iter().all(|line| line.contains(app)), "{}", server.log());
        }
    }
    let alone = Server::start(&ru, &["-t", "1"]);
    assert_eq!(alone.get("/ok").status, 200);
    assert!(alone.logs("GET /ok 200") && !alone.log().contains("app="), "{}", alone.log());
}

#[test]
fn what_is_printed_has_the_id_of_its_request_and_the_name_of_its_application_among_several() {
    let ru = paths(&[("/a", "puts \"nugget\"; text(1)")]);
    let files = [("config.ru", ru.as_str()), ("foolsgold.toml", SHOP_AND_HOME)];
    for (path, settings, name) in [("/a", "--no-config", ""), ("/shop/a", "--config=foolsgold.toml", " app=shop")] {
        let server = Server::files(&files, &["--engine", "mruby", settings]);
        let reply = server.get(path);
        let id = reply.header("x-request-id").unwrap();
        server.must_log(&format!("INFO app: nugget id={id}{name}\n"));
    }
}

#[test]
fn the_message_of_an_exception_forges_no_line_and_controls_no_terminal() {
    let ru = paths(&[("/bad", "raise \"pyrite\\nFORGED\\e[31m\"")]);
    for engine in ["mruby", "ruby"] {
        let server = Server::start(&ru, &["--engine", engine, "-t", "1"]);
        assert_eq!(server.get("/bad").status, 500);
        server.must_log("GET /bad: RuntimeError: pyrite\n  FORGED\\u{1b}[31m\n");
        let log = server.log();
        assert!(!log.contains('\u{1b}') && !log.lines().any(|line| line.starts_with("FORGED")), "{log}");
    }
}

/// The first column of the table of messages: words in code, with places for what differs.
#[test]
fn the_messages_of_the_page_about_logging_are_in_the_source() {
    let root = server::repository();
    let mut source = String::new();
    for part in ["front", "engine", "engine-mruby", "engine-ruby", "server"] {
        gather(&root.join("crates").join(part), &mut source);
    }
    // Text that goes over lines, in Rust.
    let source = source.split("\\\n").map(str::trim_start).collect::<String>();
    let page = fs::read_to_string(root.join("docs/logging.md")).unwrap();
    let (_, table) = page.split_once("## What to search for\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| !line.starts_with("## ")).collect();
    let messages = rows.iter().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect::<Vec<_>>();
    assert!(messages.len() > 15, "{messages:?}");
    for message in messages {
        for words in message.split("...").map(str::trim).filter(|words| !words.is_empty()) {
            assert!(source.contains(words), "docs/logging.md says {message:?}, and no line of the log has {words:?}");
        }
    }
}

fn gather(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "rb") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Bytes of a body that neither sockets nor the buffers of hyper hold.
const LONG: u64 = 15_000_000;

/// A client that reads the head and goes: whoever made the body, and however, its bytes are those that the kernel has
/// taken.
#[test]
fn the_bytes_of_a_download_that_was_broken_off_are_those_that_were_sent() {
    let ru = "BODY = Struct.new(:to_path) { def each = yield('parts') }\n\
              answers = {\n\
                '/whole' => -> { [200, {}, ['x' * 15_000_000]] },\n\
                '/length' => -> { [200, { 'content-length' => '15000000' }, ['x' * 15_000_000].each] },\n\
                '/parts' => -> { [200, {}, Enumerator.new { |out| 1000.times { out << 'x' * 15_000 } }] },\n\
                '/file' => -> { [200, {}, BODY.new(File.join(__dir__, 'page'))] }\n\
              }\n\
              run ->(env) { answers.fetch(env['PATH_INFO']).call }\n";
    let ruby = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1", "--ruby-worker"];
    for engine in [&["--engine", "mruby"][..], &[&ruby[..], &["plain"]].concat(), &[&ruby[..], &["auto"]].concat()] {
        let files = [("config.ru", ru), ("page", &*"x".repeat(15_000_000))];
        let server = Server::files(&files, &[&["-t", "1", "--access-log", "json"], engine].concat());
        for path in ["/whole", "/length", "/parts", "/file"] {
            let mut client = server.send_get(path);
            assert_eq!(client.head().unwrap().status, 200, "{engine:?} {path}\n{}", server.log());
            drop(client);
            let lines =
                || server.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Value>>();
            let line = || lines().into_iter().find(|line| line["target"] == path && line["status"] == 200);
            assert!(within(MAX_WAIT, || line().is_some()), "{engine:?} {path}\n{}", server.log());
            let line = line().unwrap();
            assert_eq!(line["fault"], "client_gone", "{engine:?}: {line}");
            assert!(line["bytes"].as_u64().is_some_and(|bytes| bytes < LONG), "{engine:?}: {line}");
        }
        assert_eq!(server.get("/whole").body.len() as u64, LONG);
        let is_whole = |line: &str| line.contains("\"target\":\"/whole\"") && line.contains("\"bytes\":15000000");
        assert!(within(MAX_WAIT, || server.log().lines().any(is_whole)), "{engine:?}\n{}", server.log());
    }
}
