//! Several applications in one server: which gets a request, what it finds in its environment, and that none of them
//! suffers from another.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::reload::put;
use crate::support::{Client, Folder, MAX_WAIT, Server, paths, ruby, server, within};

/// Says who it is and where it was found; `/hold` answers when there is a file `go` beside it.
fn app(name: &str) -> String {
    let who = format!(
        "text(\"{name} \" + env[\"SCRIPT_NAME\"] + \"|\" + env[\"PATH_INFO\"] + \"|\" + env[\"QUERY_STRING\"])"
    );
    let cases =
        [("/hold", "sleep 0.005 until File.exist?(\"#{HERE}/go\"); text(\"held\")"), ("/pid", "text(Process.pid)")];
    paths(&cases).replace("  else text", &format!("  when String\n    {who}\n  else text")).replacen(
        "def text",
        "HERE = __dir__\ndef text",
        1,
    )
}

/// A folder with these applications, each in a folder of its name.
fn folder(apps: &[&str], settings: &str) -> Folder {
    let folder = server::folder();
    for name in apps {
        fs::create_dir(folder.join(name)).unwrap();
        put(&folder.join(name), "config.ru", &app(name));
    }
    put(&folder, "foolsgold.toml", settings);
    folder
}

fn serve(folder: Folder) -> Server {
    Server::spawn(folder, &[], &["-b", "tcp://127.0.0.1:0", "-C", "foolsgold.toml"])
}

const MIXED: &str = r#"
threads = 2

[[app]]
name = "home"
path = "home"
engine = "mruby"

[[app]]
name = "shop"
path = "shop"
engine = "ruby"
workers = 1
prefix = "/shop"

[[app]]
name = "other"
path = "other/config.ru"
engine = "mruby"
host = "other.example"
"#;

#[test]
fn a_request_goes_by_its_host_and_then_by_the_longest_prefix() {
    let server = serve(folder(&["home", "shop", "other"], MIXED));
    for (host, path, answer) in [
        ("a", "/", "home |/|"),
        ("a", "/x?q=1", "home |/x|q=1"),
        ("a", "/shopping", "home |/shopping|"),
        ("a", "/shop", "shop /shop||"),
        ("a", "/shop/", "shop /shop|/|"),
        ("a", "/shop/a/b?c", "shop /shop|/a/b|c"),
        ("other.example", "/shop/a", "other |/shop/a|"),
        ("OTHER.example:8080", "/", "other |/|"),
        ("other.example.org", "/", "home |/|"),
    ] {
        let reply = server.client().get_as(path, host);
        assert_eq!((reply.status, reply.text().as_str()), (200, answer), "{host}{path}\n{}", server.log());
    }
    let titles: Vec<String> = ruby::processes(server.id()).into_iter().map(ruby::title).collect();
    assert!(titles.iter().any(|title| title == "foolsgold: worker 1 [shop]"), "{titles:?}");
    assert!(server.log().contains(", serving 3 applications\n"), "{}", server.log());
}

#[test]
fn what_nobody_serves_is_not_found() {
    let settings = "[[app]]\nname = \"home\"\npath = \"home\"\nprefix = \"/home\"\nengine = \"mruby\"\n\n\
                    [[app]]\nname = \"other\"\npath = \"other\"\nhost = \"other.example\"\nengine = \"mruby\"\n";
    let server = serve(folder(&["home", "other"], settings));
    for (host, path, status) in
        [("a", "/", 404), ("a", "/homely", 404), ("a", "/home", 200), ("other.example", "/", 200)]
    {
        assert_eq!(server.client().get_as(path, host).status, status, "{host}{path}");
    }
    assert_eq!(server.client().ask("GET / HTTP/1.0\n\n").status, 404, "no host is no host's");
}

const LIMITED: &str = r#"
[[app]]
name = "slow"
path = "slow"
prefix = "/slow"
engine = "mruby"
threads = 1
queue = 1
request-time = "700ms"

[[app]]
name = "calm"
path = "calm"
prefix = "/calm"
engine = "mruby"
threads = 1
request-time = "60s"
"#;

#[test]
fn the_log_names_the_application_of_a_body_that_is_refused() {
    let settings = "body_bytes = 5\n[[app]]\nname = \"home\"\npath = \"home\"\nengine = \"mruby\"\n\n\
                    [[app]]\nname = \"shop\"\npath = \"shop\"\nprefix = \"/shop\"\nengine = \"mruby\"\n";
    let server = serve(folder(&["home", "shop"], settings));
    assert_eq!(server.client().post("/shop/x", "too long").status, 413);
    server.must_log("body_too_large \"the body is too large\" app=shop");
}

#[test]
fn each_has_its_own_line_and_its_own_times() {
    let server = serve(folder(&["slow", "calm"], LIMITED));
    let mut patient = server.send_get("/calm/hold");
    let begun = Instant::now();
    let mut clients: Vec<Client> = (0..4).map(|_| server.send_get("/slow/hold")).collect();
    let mut statuses: Vec<u16> = clients.iter_mut().map(|client| client.reply().unwrap().status).collect();
    let took = begun.elapsed();
    statuses.sort_unstable();
    // One runs, one waits; whether that one is begun before its time is over is a matter of a moment.
    assert_eq!((&statuses[..2], statuses[3]), (&[503, 503][..], 504), "{statuses:?}\n{}", server.log());
    assert!(took > Duration::from_millis(600) && took < Duration::from_secs(10), "{took:?}");
    put(&server.folder.join("calm"), "go", "");
    assert_eq!(patient.reply().unwrap().text(), "held", "the other one has its own time and line");
}

#[test]
fn one_that_cannot_be_loaded_ends_the_start_and_is_named() {
    let folder = folder(&["home", "shop", "other"], MIXED);
    put(&folder.join("shop"), "config.ru", "raise \"closed on sundays\"\n");
    let (code, text) = ruby::run(&folder, &["-C", "foolsgold.toml"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("shop: ") && text.contains("closed on sundays"), "{text}");
}

#[test]
fn a_reload_that_fails_for_one_is_one_for_the_others() {
    let server = serve(folder(&["home", "shop", "other"], MIXED));
    put(&server.folder.join("shop"), "config.ru", "raise \"closed on sundays\"\n");
    put(&server.folder.join("home"), "config.ru", &app("new"));
    server.reload("reload of other: generation 2 serves");
    let log = server.log();
    assert!(log.contains("reload of home: generation 2 serves"), "{log}");
    assert!(log.contains("reload failed: shop: generation 2 failed, generation 1 goes on"), "{log}");
    assert_eq!(server.text("/"), "new |/|");
    assert_eq!(server.text("/shop"), "shop /shop||");
}

#[test]
fn settings_of_an_application_are_read_again_with_its_code() {
    let server = serve(folder(&["slow", "calm"], LIMITED));
    put(&server.folder, "foolsgold.toml", &LIMITED.replace("700ms", "300ms").replace("60s", "100ms"));
    server.reload("reload of calm: generation 2 serves");
    for path in ["/slow/hold", "/calm/hold"] {
        let begun = Instant::now();
        assert_eq!(server.get(path).status, 504, "{path}\n{}", server.log());
        assert!(begun.elapsed() < Duration::from_secs(10), "{path}: {:?}", begun.elapsed());
    }
    put(&server.folder, "foolsgold.toml", &LIMITED.replace("60s", "90s"));
    server.reload("reload of calm: generation 3 serves");
    let mut patient = server.send_get("/calm/hold");
    thread::park_timeout(Duration::from_millis(300));
    put(&server.folder.join("calm"), "go", "");
    assert_eq!(patient.reply().unwrap().text(), "held");
}

const CAPPED: &str = r#"
total-workers = 3
engine = "ruby"
threads = 1
min-workers = 1
max-workers = 3
idle-time = "60s"

[[app]]
name = "one"
path = "one"
prefix = "/one"

[[app]]
name = "two"
path = "two"
prefix = "/two"
"#;

#[test]
fn all_together_have_no_more_workers_than_they_may() {
    let server = serve(folder(&["one", "two"], CAPPED));
    let count = |name: &str| {
        let title = format!("[{name}]");
        let all = ruby::processes(server.id()).into_iter().map(ruby::title);
        all.filter(|found| found.contains("worker") && found.contains(&title)).count()
    };
    let most = |name: &str, wanted: usize| within(MAX_WAIT, || count(name) == wanted);
    for (name, other) in [("one", "two"), ("two", "one")] {
        let mut held: Vec<Client> = (0..4).map(|_| server.send_get(&format!("/{name}/hold"))).collect();
        assert!(most(name, 2), "{name} has {}, {other} has {}\n{}", count(name), count(other), server.log());
        assert!(count("one") + count("two") <= 3);
        put(&server.folder.join(name), "go", "");
        assert!(held.iter_mut().all(|client| client.reply().unwrap().status == 200), "{}", server.log());
        assert_eq!(server.get(&format!("/{other}")).status, 200);
    }
    let text = server::exits_with(1, &server.folder, &[], &["scale", "--app", "one", "3"]);
    assert!(text.contains("the others keep 1: one can be told to have 2 at most"), "{text}");
    let text = server.done(&["scale", "--app", "one", "2:9"]);
    assert!(text.contains("with all other applications 3 at most"), "{text}");
}

#[test]
fn more_than_fits_is_refused_before_anything_is_loaded() {
    let folder = folder(&["one", "two"], &CAPPED.replace("total-workers = 3", "total-workers = 1"));
    let (code, text) = ruby::run(&folder, &["-C", "foolsgold.toml"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("must be at least 2, the fewest of all applications together"), "{text}");
    let auto = CAPPED.replace("total-workers = 3", "total-workers = 1").replace("engine = \"ruby\"\n", "");
    put(&folder, "foolsgold.toml", &auto);
    let check = |code: i32| server::exits_with(code, &folder, &[], &["config", "--check", "-C", "foolsgold.toml"]);
    let ru = "run ->(_) { [200, {}, []] }\n";
    for name in ["one", "two"] {
        put(&folder.join(name), "config.ru", &format!("require \"sinatra\"\n{ru}"));
    }
    let text = check(2);
    assert!(text.contains("total-workers = 1: must be at least 2"), "both run on Ruby: {text}");
    put(&folder.join("two"), "config.ru", ru);
    // An application on mruby has no workers.
    check(0);
}

#[test]
fn a_start_that_fails_does_not_wait_for_what_is_still_loading() {
    let folder = folder(&["home", "shop", "other"], MIXED);
    put(&folder.join("shop"), "config.ru", "sleep\n");
    put(&folder.join("other"), "config.ru", "raise \"closed on sundays\"\n");
    let begun = Instant::now();
    let (code, text) = ruby::run(&folder, &["-C", "foolsgold.toml", "--boot-time", "60s"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("other: ") && text.contains("closed on sundays"), "{text}");
    assert!(!text.contains("shop"), "{text}");
    assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
}
