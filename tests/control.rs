//! The control socket and the commands: what they show, what they do, and what they say when it cannot be done.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::support::successor::{Process, adopt_orphans, signal};
use crate::support::{Client, MAX_WAIT, Reply, SHOP_AND_HOME, Server, app, paths, ruby, server, within};
use rustix::process::Signal;
use serde_json::Value;

/// Exit code and words of a command for this server, which must fail.
#[track_caller]
fn failed(server: &Server, words: &[&str]) -> (i32, String) {
    let (code, why) = server::stderr_of(&server.folder, &[], words);
    assert_ne!(code, Some(0), "{words:?}: {why}");
    (code.unwrap(), why)
}

/// The process that commands reach.
fn current(server: &Server) -> Process {
    Process(u32::try_from(server.status()["server"]["pid"].as_u64().unwrap()).unwrap())
}

fn socket(server: &Server) -> PathBuf {
    PathBuf::from(server.done(&["control"]).trim())
}

fn get(socket: &Path, target: &str) -> (Reply, Value) {
    let reply = Client::unix(socket).get(target);
    let value = serde_json::from_slice(&reply.body);
    let value = value.unwrap_or_else(|error| panic!("{target}: {error}: {}", reply.text()));
    (reply, value)
}

fn post(socket: &Path, target: &str, body: &str) -> (u16, Value) {
    let reply = Client::unix(socket).post(target, body);
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

#[test]
fn the_socket_is_for_its_user_only_and_tells_what_the_server_does() {
    let server = Server::start(&app("", "\"gold\""), &["-t", "2"]);
    assert_eq!(server.text("/"), "gold");
    let socket = socket(&server);
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
    let (reply, value) = get(&socket, "/v1/status");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let (one, app) = (&value["server"], &value["apps"][0]);
    assert_eq!((one["pid"].as_u64(), one["state"].as_str()), (Some(u64::from(server.id())), Some("serving")));
    assert_eq!(one["listeners"][0], format!("tcp://127.0.0.1:{}", server.port));
    assert_eq!(one["ready"], true);
    assert!(one["process"]["rss_kib"].as_u64() > Some(1000), "{one}");
    assert!(one["connections"]["accepted"].as_u64() >= Some(1) && one["answers"]["2xx"].as_u64() >= Some(1), "{one}");
    assert_eq!((app["capacity"].as_u64(), app["generation"].as_u64()), (Some(2), Some(1)), "{app}");
    assert!(app["served"].as_u64() >= Some(1), "{app}");
    assert_eq!(app["last_deploy"]["outcome"], "started");
    let (_, index) = get(&socket, "/v1");
    assert!(index["routes"].as_array().unwrap().iter().any(|route| route["path"] == "/v1/reload"), "{index}");
}

#[test]
fn what_the_api_cannot_do_it_answers_with_what_would_be_right() {
    let server = Server::start(&app("", "\"gold\""), &["-t", "2"]);
    let socket = socket(&server);
    for (target, status, words) in [
        ("/v1/status?ap=x", 400, "app is the nearest"),
        ("/v1/status?app=shop", 404, "there is no application shop; there is app"),
        ("/v1/reload", 405, "say POST, not GET"),
        ("/v1/nothing", 404, "GET /v1 tells what there is"),
        ("/nothing", 404, "GET /v1 tells what there is"),
        ("/v1/history?step=hour", 400, "must be second or minute"),
        ("/v1/workers/x/backtraces", 400, "must be a whole number"),
    ] {
        let (reply, value) = get(&socket, target);
        assert_eq!(reply.status, status, "{target}: {value}");
        assert!(value["error"].as_str().unwrap().contains(words), "{target}: {value}");
        assert_eq!(reply.header("allow"), (status == 405).then_some("POST"), "{target}");
    }
    for (target, body, status, words) in [
        ("/v1/scale", "[]", 400, "must be a JSON object"),
        ("/v1/scale", "{}", 400, "say workers"),
        ("/v1/scale", r#"{"workers":0}"#, 400, "without workers nothing is served: say 1 to"),
        ("/v1/scale", r#"{"min":3,"max":2}"#, 400, "from 3 to 2 workers cannot be: the smaller number comes first"),
        ("/v1/scale", r#"{"workers":5000}"#, 400, "5000 workers are more than there can be: 1024 at most"),
        ("/v1/workers/999/kill", "", 404, "has no worker 999"),
        ("/v1/restart", r#"{"app":"app"}"#, 400, "there is no such parameter"),
    ] {
        let (got, value) = post(&socket, target, body);
        assert_eq!(got, status, "{target} {body}: {value}");
        assert!(value["error"].as_str().unwrap().contains(words), "{target} {body}: {value}");
    }
    let long = post(&socket, "/v1/scale", &format!("{{\"app\":\"{}\"}}", "x".repeat(70_000)).replace('x', "y"));
    assert!(long.0 == 413 && long.1["error"] == "the body is too large", "{long:?}");
    let (reply, value) = get(&socket, &format!("/{}", "x".repeat(20_000)));
    assert!(reply.status == 414 && value["error"].is_string(), "{value}");
}

#[test]
fn a_word_that_is_no_application_is_answered_with_those_that_there_are() {
    let files = [("config.ru", &*app("", "\"gold\"")), ("foolsgold.toml", SHOP_AND_HOME)];
    let server = Server::files(&files, &["-C", "foolsgold.toml"]);
    let (code, words) = failed(&server, &["status", "hello"]);
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("hello: nothing is expected here"), "{words}");
    assert!(words.contains("foolsgold status --app NAME`; this server has the applications shop, home"), "{words}");
}

#[test]
fn the_recorder_says_with_what_status_a_request_failed() {
    let apps = paths(&[("/raise", "raise 'no'"), ("/long", "sleep 60")]);
    let server = Server::start(&apps, &["-t", "2", "--request-time", "1s"]);
    assert_eq!(server.get("/raise").status, 500);
    assert_eq!(server.get("/long").status, 504);
    let shown = server.done(&["recorder", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let failed = shown["apps"][0]["failed"].as_array().unwrap();
    let seen: Vec<_> = failed.iter().map(|one| (one["fault"].as_str().unwrap(), one["status"].as_u64())).collect();
    assert_eq!(seen, [("out_of_time", Some(504)), ("app_error", Some(500))], "{shown}");
}

#[test]
fn commands_find_the_server_of_their_folder_and_only_that() {
    let server = Server::start(&app("", "\"gold\""), &[]);
    let table = server.done(&["status"]);
    let pid = format!("process {}", server.id());
    assert!(table.contains(&pid) && table.contains("serving"), "{table}");
    let elsewhere = server::folder();
    let in_other = |code: i32, words: &[&str]| server::exits_with(code, &elsewhere, &[], words);
    let none = in_other(3, &["status"]);
    assert!(none.contains("no server of") && none.contains(&pid), "{none}");
    let folder = server.folder.to_str().unwrap();
    assert!(in_other(0, &["status", "--dir", folder]).contains(&pid));
    let rackup = server.folder.join("config.ru");
    assert!(in_other(0, &["status", "--dir", rackup.to_str().unwrap()]).contains(&pid));
    let missing = in_other(3, &["status", "--control", "/nowhere/x.sock"]);
    assert!(missing.contains("there is no socket /nowhere/x.sock"), "{missing}");
}

/// Its config.ru is made in a temporary folder, and it may be started in any.
#[test]
fn commands_find_the_server_of_a_script_by_the_folder_of_that() {
    let script = server::folder();
    let folder = script.to_str().unwrap();
    let server = Server::with(&app("", "\"gold\""), &[("FOOLSGOLD_APP_FOLDER", folder)], &[]);
    let pid = format!("process {}", server.id());
    for (place, words) in [(&*script, &["status"][..]), (Path::new("/"), &["status", "--dir", folder])] {
        let (_, said) = server::run(place, &[], words);
        assert!(said.contains(&pid), "{words:?}: {said}");
    }
    assert_eq!(server.status()["server"]["folder"], folder);
}

/// systemd tells only the unit's own processes where that is.
#[test]
fn commands_find_the_server_of_a_unit_in_its_runtime_directory() {
    let Ok(runtime) = tempfile::Builder::new().prefix("foolsgold-test-").tempdir_in("/run") else {
        eprintln!("skipped: only root can make folders in /run");
        return;
    };
    let variable = [("RUNTIME_DIRECTORY", runtime.path().to_str().unwrap())];
    let server = Server::with(&app("", "\"gold\""), &variable, &[]);
    let table = server.done(&["status"]);
    assert!(table.contains(&format!("process {}", server.id())), "{table}");
    assert_eq!(socket(&server).parent(), Some(runtime.path()));
}

#[test]
fn commands_find_the_server_that_a_settings_file_is_of() {
    let server = Server::start(&app("", "\"gold\""), &[]);
    let other = Server::start(&app("", "\"other\""), &[]);
    let elsewhere = server::folder();
    let folder = server.folder.display().to_string();
    fs::write(elsewhere.join("thin.yml"), format!("port: 0\nchdir: {folder}\nuser: nobody-has-this-name\n")).unwrap();
    fs::write(elsewhere.join("shop.toml"), format!("dir = \"{folder}\"\n")).unwrap();
    let socket = socket(&server).display().to_string();
    fs::write(elsewhere.join("socket.toml"), format!("control = \"{socket}\"\n")).unwrap();
    fs::write(elsewhere.join("broken.toml"), "dir = \n").unwrap();
    fs::write(elsewhere.join("puma.rb"), "abort 'is run'").unwrap();
    let erb = "<% File.write('ran', '') %>";
    fs::write(elsewhere.join("erb.yml"), format!("port: {erb}0\nchdir: '{folder}' # here\n")).unwrap();
    fs::write(elsewhere.join("all-erb.yml"), format!("chdir: {erb}{folder}\n")).unwrap();
    // Called where another server is found by itself.
    let of = |code: i32, words: &[&str], file: &str| {
        let file = elsewhere.join(file).display().to_string();
        server::exits_with(code, &other.folder, &[], &[words, &[file.as_str()]].concat())
    };
    let pid = format!("process {}", server.id());
    for file in ["thin.yml", "erb.yml", "shop.toml", "socket.toml"] {
        let said = of(0, &["status", "-C"], file);
        assert!(said.contains(&pid), "{file}: {said}");
    }
    for (file, right) in [
        ("broken.toml", "broken.toml:1"),
        ("puma.rb", "puma.rb: is Ruby, which is not run to find its server: name the served folder by --dir"),
        ("all-erb.yml", "all-erb.yml: its chdir depends on ERB, which is not run to find its server"),
        ("none.yml", "there is no such file"),
    ] {
        let said = of(2, &["stop", "--config"], file);
        assert!(said.contains(right), "{file}: {said}");
    }
    let said = of(0, &["status", "--dir", &folder, "-C"], "all-erb.yml");
    assert!(said.contains(&pid), "{said}");
    of(0, &["stop", "-C"], "thin.yml");
    assert!(!other.folder.join("ran").exists() && !elsewhere.join("ran").exists(), "no code is run for a command");
    assert!(other.done(&["status"]).contains(&format!("process {}", other.id())));
}

#[test]
fn commands_find_a_server_that_was_started_by_way_of_a_link() {
    let base = server::folder();
    for release in ["1", "2"] {
        fs::create_dir(base.join(release)).unwrap();
        fs::write(base.join(release).join("config.ru"), app("", "\"gold\"")).unwrap();
    }
    let current = base.join("current");
    std::os::unix::fs::symlink(base.join("1"), &current).unwrap();
    let env = [("PWD", current.to_str().unwrap())];
    let server = Server::spawn(base.at("current"), &env, &["-b", "tcp://127.0.0.1:0"]);
    fs::remove_file(&current).unwrap();
    std::os::unix::fs::symlink(base.join("2"), &current).unwrap();
    let said = server::exits_with(0, &current, &env, &["status"]);
    assert!(said.contains(&format!("process {}", server.id())), "{said}");
}

#[test]
fn two_servers_of_one_folder_have_two_sockets() {
    let first = Server::start(&app("", "\"gold\""), &[]);
    let folder = server::folder();
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = server::command();
    command.current_dir(&first.folder).args(["-b", "tcp://127.0.0.1:0"]).stdout(log.try_clone().unwrap()).stderr(log);
    let second = server::KillOnDrop(command.spawn().unwrap());
    assert!(within(MAX_WAIT, || fs::read_to_string(folder.join("log")).unwrap().contains("serving")));
    let (code, why) = failed(&first, &["status"]);
    assert!(code == 2 && why.contains("several servers") && why.matches("--control").count() >= 2, "{why}");
    drop(second);
    // The dead one does not count.
    assert!(first.done(&["status"]).contains(&format!("process {}", first.id())));
}

#[test]
fn a_socket_can_be_named_or_left_out_and_a_stale_one_is_replaced() {
    let folder = server::folder_with(&[("config.ru", &app("", "\"gold\""))]);
    let named = ["-b", "tcp://127.0.0.1:0", "--control", "my.sock"];
    let mut server = Server::spawn(folder.clone(), &[], &named);
    server.ended_by(Signal::KILL);
    let said = server::exits_with(3, &folder, &[], &["status", "--control", "my.sock"]);
    assert!(said.contains("nobody listens on my.sock any more"), "{said}");
    let mut server = Server::spawn(folder.clone(), &[], &named);
    assert!(server.done(&["status", "--control", "my.sock"]).contains("serving"));
    let said = server::exits_with(1, &folder, &[], &named);
    assert!(said.contains("--control: cannot listen on"), "{said}");
    server.end(Signal::TERM);
    assert!(!folder.join("my.sock").exists());
    drop(server);
    let server = Server::start(&app("", "\"gold\""), &["--control", "off"]);
    assert_eq!(failed(&server, &["status"]).0, 3);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let server = Server::start(&app("", "\"gold\""), &[]);
    for (words, right) in [
        (&["status", "--wach"][..], "--watch is the nearest"),
        (&["scale", "many"], "MIN:MAX"),
        (&["kill-worker", "first"], "foolsgold workers tells them"),
        (&["reload", "--app", "shop"], "there is app"),
    ] {
        let (code, why) = failed(&server, words);
        assert!(why.contains(right), "{words:?}: {why}");
        assert!(code == 2 || words[0] == "reload", "{words:?}: {code}");
    }
    for command in ["status", "reload", "stop", "recorder"] {
        assert!(server.done(&[command, "--help"]).contains(&format!("Usage: foolsgold {command}")));
    }
    assert!(server.done(&["--help"]).contains("kill-worker"));
}

#[test]
fn reload_brings_new_code_and_a_broken_one_changes_nothing() {
    let server = Server::start(&app("", "\"one\""), &[]);
    assert_eq!(server.text("/"), "one");
    let rackup = server.folder.join("config.ru");
    fs::write(&rackup, app("", "\"two\"")).unwrap();
    assert!(server.done(&["reload"]).contains("generation 2"));
    assert_eq!(server.text("/"), "two");
    fs::write(&rackup, app("raise \"no such table: pyrite\"", "\"three\"")).unwrap();
    let (code, why) = failed(&server, &["reload"]);
    assert!(code == 1 && why.contains("pyrite") && why.contains("generation 2 goes on"), "{code} {why}");
    assert_eq!(server.text("/"), "two");
    let table = server.done(&["status"]);
    assert!(table.contains("generation 3 failed") && table.contains("pyrite"), "{table}");
    let deploys = server.done(&["deploys"]);
    assert!(deploys.contains("failed") && deploys.contains("live") && deploys.contains("started"), "{deploys}");
    let (code, value) = post(&socket(&server), "/v1/reload", "");
    assert!(code == 409 && value["error"].as_str().unwrap().contains("pyrite"), "{value}");
}

#[test]
fn stop_waits_for_the_end_and_running_requests_are_finished() {
    let ru = paths(&[("/fast", "text(1)"), ("/slow", "sleep 1.5; text(\"slow\")")]);
    let mut server = Server::start(&ru, &["--engine", "ruby"]);
    let mut slow = server.send_get("/slow");
    assert!(within(MAX_WAIT, || server.status()["apps"][0]["idle"] != server.status()["apps"][0]["capacity"]));
    let begun = Instant::now();
    let words = server.done(&["stop"]);
    assert!(words.contains("ended"), "{words}");
    assert_eq!(slow.reply().unwrap().text(), "slow");
    assert!(server.ended(Duration::from_secs(2)).unwrap().success(), "{}", server.log());
    assert!(begun.elapsed() > Duration::from_millis(300));
    assert_eq!(failed(&server, &["status"]).0, 3);
}

/// What the application leaves behind holds the log, for whose last lines the server waits half a second.
#[test]
fn after_stop_the_process_has_ended_so_that_another_can_be_started() {
    let ru = paths(&[("/", "$sleeper ||= spawn(\"sleep 60\"); text($sleeper)")]);
    let folder = server::folder_with(&[("config.ru", &ru)]);
    let places = ["--log-file", "web.log", "--pidfile", "web.pid", "-b", "unix://web.sock"];
    let server = Server::begin(folder, &[], &[&["--engine", "ruby", "--ruby", &ruby::program()], &places[..]].concat());
    let web = server.folder.join("web.sock");
    assert!(within(MAX_WAIT, || web.exists() && server.folder.join("web.pid").exists()), "{}", server.log());
    let sleeper: u32 = Client::unix(&web).get("/").text().parse().unwrap();
    let words = server.done(&["stop"]);
    let is_alive = ruby::is_alive(server.id());
    signal(sleeper, Signal::KILL);
    assert!(words.contains("ended") && !is_alive, "{words}");
}

#[test]
fn drain_tells_load_balancers_before_connections_are_refused() {
    let mut server = Server::start(&app("", "\"gold\""), &["--drain-lag", "3s", "--admin", "0"]);
    let port = server.admin_port();
    assert_eq!(Client::tcp(port).get("/readyz").status, 200);
    let words = server.done(&["drain", "--no-wait"]);
    assert!(words.contains("draining"), "{words}");
    let reply = Client::tcp(port).get("/readyz");
    assert_eq!((reply.status, reply.text().as_str()), (503, "draining\n"));
    assert_eq!(Client::tcp(port).get("/healthz").status, 200);
    // During the lag everybody is still served.
    assert_eq!(server.text("/"), "gold");
    assert_eq!(server.status()["server"]["state"], "draining");
    server.must_end();
}

#[test]
fn a_worker_that_is_killed_while_the_server_shuts_down_is_not_replaced_while_another_serves() {
    let options = ["-w", "2", "-t", "1", "--drain-lag", "2s", "--log", "engine=debug"];
    let mut server = ruby::serve("run ->(_) { [200, {}, ['gold']] }", &options);
    assert!(within(MAX_WAIT, || server.log().matches(" ready after ").count() == 2), "{}", server.log());
    server.done(&["drain", "--no-wait"]);
    server.done(&["kill-worker", "1", "--now"]);
    ruby::expect_workers(&server, 1);
    assert_eq!(server.text("/"), "gold");
    server.must_end();
    assert!(!server.log().contains("worker 3"), "{}", server.log());
}

#[test]
fn a_server_that_starts_says_so() {
    let ru = app("sleep 0.05 until File.exist?(\"go\")", "\"gold\"");
    let folder = server::folder_with(&[("config.ru", &ru)]);
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--control", "c.sock"];
    let server = Server::begin(folder, &[], &options);
    let socket = server.folder.join("c.sock");
    let ready = || Client::unix(&socket).get("/readyz");
    assert_eq!((ready().status, ready().text().as_str()), (503, "starting\n"));
    assert_eq!(Client::unix(&socket).get("/healthz").status, 200);
    let said = server.done(&["status", "--control", "c.sock"]);
    assert!(said.contains("starting since"), "{said}");
    let since = || get(&socket, "/v1/status").1["server"]["since_ms"].as_u64();
    let began = since();
    assert!(began.is_some());
    fs::write(server.folder.join("go"), "").unwrap();
    assert!(within(MAX_WAIT, || ready().status == 200));
    assert_eq!(since(), began, "loading belongs to the time that it has been up");
}

#[test]
fn a_server_without_workers_is_not_ready() {
    let ru = app("sleep 0.05 while File.exist?(\"hold\")", "\"gold\"");
    let server = ruby::serve(&ru, &["-w", "1", "--preload=no", "--control", "c.sock"]);
    let socket = server.folder.join("c.sock");
    let answer = |path: &str| {
        let reply = Client::unix(&socket).get(path);
        (reply.status, reply.text())
    };
    let is = |status: u16, body: &str| within(MAX_WAIT, || answer("/readyz") == (status, body.to_owned()));
    assert!(is(200, "ready\n"), "{}", server.log());
    fs::write(server.folder.join("hold"), "").unwrap();
    ruby::workers(&server).into_iter().for_each(|pid| signal(pid, Signal::KILL));
    assert!(is(503, "no worker is ready\n"), "{}", server.log());
    assert!(answer("/metrics").1.contains("\nfoolsgold_ready 0.0\n"), "{}", answer("/metrics").1);
    let view = get(&socket, "/v1/status").1;
    assert_eq!((&view["server"]["state"], &view["server"]["ready"]), (&"serving".into(), &false.into()));
    assert_eq!(answer("/healthz").0, 200, "the server itself is alive");
    fs::remove_file(server.folder.join("hold")).unwrap();
    assert!(is(200, "ready\n"), "{}", server.log());
}

/// Its thread for orders is gone.
#[test]
fn a_worker_that_does_not_answer_keeps_no_other_command_waiting() {
    let ru = "run ->(env) { Thread.list.find { |thread| thread.name == 'control' }.kill; [200, {}, ['gold']] }";
    let server = ruby::serve(ru, &["-w", "1"]);
    assert_eq!(server.text("/"), "gold");
    let socket = socket(&server);
    let mut asking = Client::unix(&socket);
    asking.send("GET /v1/workers/1/backtraces HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    for order in ["pause", "resume"].repeat(3) {
        assert_eq!(post(&socket, &format!("/v1/{order}"), "{}").0, 200, "{}", server.log());
    }
    asking.set_timeout(Duration::from_millis(1));
    assert!(asking.reply().is_err(), "the others waited for it");
}

#[test]
fn watching_goes_on_until_the_server_ends() {
    let mut server = Server::start(&app("", "\"gold\""), &[]);
    let mut command = server::command();
    command.current_dir(&server.folder).args(["status", "--watch", "--json"]).stdout(Stdio::piped());
    let watcher = command.stderr(Stdio::piped()).spawn().unwrap();
    thread::park_timeout(Duration::from_millis(2500));
    server.end(Signal::TERM);
    let output = watcher.wait_with_output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(lines >= 2 && output.status.code() == Some(3), "{lines}: {}", server::said(&output));
}

#[test]
fn a_socket_that_is_cleaned_away_comes_back() {
    let server = Server::start(&app("", "\"gold\""), &["--control", "c.sock"]);
    let path = server.folder.join("c.sock");
    fs::remove_file(&path).unwrap();
    assert!(within(MAX_WAIT, || path.exists()), "{}", server.log());
    assert!(server.done(&["status", "--control", "c.sock"]).contains("serving"));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn after_a_restart_commands_and_watchers_see_the_successor() {
    adopt_orphans();
    let mut server = Server::start(&app("", "\"gold\""), &["--admin", "0"]);
    let port = server.admin_port();
    let before = server.status();
    let words = server.done(&["restart"]);
    assert!(words.contains("serves"), "{words}");
    let after = server.status();
    let next = current(&server);
    assert_ne!(next.0, server.id());
    assert_eq!((&after["server"]["admin"], &after["server"]["state"]), (&before["server"]["admin"], &"serving".into()));
    server.must_end();
    assert_eq!(server.text("/"), "gold");
    for _ in 0..20 {
        assert_eq!(Client::tcp(port).get("/readyz").status, 200);
    }
    assert!(server.done(&["stop"]).contains("ended"));
    assert!(next.ended(), "{}", server.log());
}

/// A client that asks all the time whether the server is ready, which each answer must say.
struct Prober {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Prober {
    fn start(port: u16) -> Prober {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = stop.clone();
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let reply = Client::tcp(port).get("/readyz");
                assert_eq!((reply.status, reply.text().as_str()), (200, "ready\n"));
                thread::park_timeout(Duration::from_millis(5));
            }
        });
        Prober { stop, thread }
    }

    #[track_caller]
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        assert!(self.thread.join().is_ok(), "one of the answers was not ready");
    }
}

/// Whether it is this process that answers on an admin listener, each time.
fn is_answered_by(pid: u32, port: u16) -> bool {
    (0..50).all(|_| {
        let reply = Client::tcp(port).get_as("/v1/status", "localhost");
        serde_json::from_slice::<Value>(&reply.body).unwrap()["server"]["pid"] == pid
    })
}

/// Both processes have its socket, and the old one is not ready while it finishes its requests.
#[test]
fn an_admin_port_is_always_ready_and_the_new_process_once_that_serves() {
    for signals in ["puma", "unicorn"] {
        adopt_orphans();
        let ru = paths(&[("/", "text(1)"), ("/hold", "sleep 0.01 until File.exist?(\"go\"); text(\"held\")")]);
        let options = ["-t", "2", "--admin", "0", "--signals", signals, "--drain-lag", "1s"];
        let mut server = Server::start(&ru, &options);
        let port = server.admin_port();
        let mut held = server.send_get("/hold");
        let is_busy = || server.status()["apps"][0]["idle"] != server.status()["apps"][0]["capacity"];
        assert!(within(MAX_WAIT, is_busy), "{}", server.log());
        let prober = Prober::start(port);
        server.done(&["restart"]);
        let next = current(&server);
        assert!(within(MAX_WAIT, || is_answered_by(next.0, port)), "{signals}\n{}", server.log());
        if signals == "unicorn" {
            server.signal(Signal::QUIT);
        }
        assert!(server.logs("shutting down: running requests"), "{signals}\n{}", server.log());
        assert!(is_answered_by(next.0, port), "{signals}\n{}", server.log());
        fs::write(server.folder.join("go"), "").unwrap();
        assert_eq!(held.reply().unwrap().text(), "held", "{signals}\n{}", server.log());
        server.must_end();
        prober.end();
    }
}

#[test]
fn on_the_way_back_of_unicorn_an_admin_port_stays_ready_and_is_the_old_process_again() {
    adopt_orphans();
    let options = ["--admin", "0", "--signals", "unicorn", "--drain-lag", "1s"];
    let server = Server::start(&app("", "\"gold\""), &options);
    let port = server.admin_port();
    let prober = Prober::start(port);
    for _ in 0..2 {
        server.done(&["restart"]);
        let next = current(&server);
        assert!(within(MAX_WAIT, || is_answered_by(next.0, port)), "{}", server.log());
        next.end(Signal::QUIT);
        assert!(within(MAX_WAIT, || is_answered_by(server.id(), port)), "{}", server.log());
        // Commands reach it again, too.
        let is_reached = || server::run(&server.folder, &[], &["status"]).0.status.success();
        assert!(within(MAX_WAIT, is_reached), "{}", server.log());
    }
    prober.end();
}

#[test]
fn a_server_that_starts_can_be_seen_and_ended() {
    for (engine, hangs) in [("ruby", "sleep"), ("mruby", "nil while true")] {
        let folder = server::folder_with(&[("config.ru", hangs)]);
        let options = ["-b", "tcp://127.0.0.1:0", "--engine", engine, "--pidfile", "a.pid"];
        let mut server = Server::begin(folder, &[], &options);
        let answer = |words: &[&str]| server::run(&server.folder, &[], words).1;
        let is_starting = || answer(&["status", "--json"]).contains("\"state\":\"starting\"");
        assert!(within(MAX_WAIT, is_starting), "{}", answer(&["status"]));
        assert!(within(MAX_WAIT, || answer(&["reload"]).contains("the server is starting")));
        server.done(&["stop"]);
        server.must_end();
        assert!(!server.folder.join("a.pid").exists(), "{engine}");
    }
}

#[test]
fn probes_are_answered_though_others_hold_connections_open() {
    let server = Server::start(&app("", "\"gold\""), &["--admin", "0"]);
    let port = server.admin_port();
    let control = socket(&server);
    let mut held = Vec::new();
    for _ in 0..70 {
        for mut client in [Client::tcp(port), Client::unix(&control)] {
            client.send("GET /met").unwrap();
            held.push(client);
        }
    }
    let begun = Instant::now();
    assert_eq!(Client::tcp(port).get("/healthz").status, 200);
    assert!(server.done(&["status"]).contains("serving"));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    server.must_log("(64 connections are allowed)");
    // --connections is for the application's listeners.
    let log = server.log();
    assert!(log.contains("; this is the limit of the control socket and of the admin listener"), "{log}");
    assert!(!log.contains("--connections allows more"), "{log}");
}

#[test]
fn a_server_that_is_stopped_is_not_said_to_be_missing() {
    let server = Server::start(&app("", "\"gold\""), &[]);
    let control = socket(&server);
    server.signal(Signal::STOP);
    let pid = server.id();
    let (code, why) = failed(&server, &["status"]);
    assert!(code == 1 && why.contains(&format!("process {pid}, whose control socket")), "{code} {why}");
    let begun = Instant::now();
    let (code, why) = failed(&server, &["stop", "--now", "--control", control.to_str().unwrap()]);
    assert!(code == 1 && why.contains(&format!("kill -KILL {pid}")), "{code} {why}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    server.signal(Signal::CONT);
    assert!(server.done(&["status"]).contains("serving"));
}
