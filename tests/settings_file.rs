//! foolsgold.toml from outside: found and named, what it sets and what counts more, all that can be wrong in it, and
//! `foolsgold config`.

use std::fs;

use crate::support;
use crate::support::server::{exits_with, folder_with, run, setting};
use crate::support::{Server, app, paths};

const RU: &str = "\"#{ENV['RACK_ENV']}\"";

#[test]
fn the_file_beside_the_application_is_obeyed_and_named_in_the_log() {
    let toml = "bind = \"tcp://127.0.0.1:0\"\nthreads = 3\nenvironment = \"from-file\"\n";
    let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    let server = Server::spawn(files, &[], &[]);
    assert_eq!(server.text("/"), "from-file");
    let log = server.log();
    assert!(log.contains("3 interpreters") && log.contains("foolsgold.toml:2: threads = 3"), "{log}");
}

#[test]
fn flags_count_before_variables_and_these_before_the_file() {
    let toml = "bind = \"tcp://127.0.0.1:0\"\nenvironment = \"from-file\"\n";
    let start = |env: &[(&str, &str)], options: &[&str]| {
        let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
        Server::spawn(files, env, options).text("/")
    };
    assert_eq!(start(&[("RACK_ENV", "from-variable")], &["-t", "1"]), "from-variable");
    assert_eq!(start(&[("RACK_ENV", "from-variable")], &["-t", "1", "-e", "from-flag"]), "from-flag");
}

#[test]
fn another_file_or_none_may_be_named() {
    let [usual, other] = ["usual", "other"].map(|name| format!("environment = \"{name}\"\n"));
    let files = [("config.ru", &*app("", RU)), ("foolsgold.toml", &usual), ("etc/other.toml", &other)];
    let options: [(&[&str], &str); 5] = [
        (&[], "usual"),
        (&["-C", "etc/other.toml"], "other"),
        (&["--config=etc/other.toml"], "other"),
        (&["-C", "-"], "development"),
        (&["--no-config"], "development"),
    ];
    let folder = folder_with(&files);
    for (arguments, expected) in options {
        let said = exits_with(0, &folder, &[], &[&["config"], arguments].concat());
        assert_eq!(setting(&said, "environment")[1], expected, "{arguments:?}");
    }
    let (_, said) = run(&folder, &[("FOOLS_GOLD_CONFIG", "etc/other.toml")], &["config"]);
    assert_eq!(setting(&said, "environment")[1..], ["other", "etc/other.toml:1"]);
    fs::write(folder.join("large.toml"), "#\n".repeat(600_000)).unwrap();
    for (name, word) in [
        ("no.toml", "there is no such file"),
        ("etc", "is a folder"),
        ("/dev/zero", "cannot be read: it is not a regular file"),
        ("large.toml", "is too large for a settings file"),
    ] {
        let said = exits_with(2, &folder, &[], &["-C", name]);
        assert!(said.contains(&format!("-C {name}: {word}")), "{said}");
    }
}

#[test]
fn all_errors_of_flags_variables_and_file_are_told_at_once() {
    let toml = "thread = 3\nqueue = \"many\"\nrequest_time = \"soon\"\n[web]\n";
    let folder = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    let expected = [
        "-t 0: must be from 1 to 1024",
        "FOOLS_GOLD_KEEP_ALIVE=x: must be a whole number of seconds",
        "foolsgold.toml:1: thread = 3: there is no such setting; threads is the nearest",
        "foolsgold.toml:2: queue = \"many\": must be a whole number",
        "foolsgold.toml:3: request_time = \"soon\": must be none, or a whole number of seconds",
        "foolsgold.toml:4: [web]: there is no such section",
    ];
    for arguments in [&["-t", "0"][..], &["config", "--check", "-t", "0"], &["config", "-t", "0"]] {
        let said = exits_with(2, &folder, &[("FOOLS_GOLD_KEEP_ALIVE", "x")], arguments);
        for line in expected {
            assert!(said.contains(line), "{line:?} is not in: {said}");
        }
    }
}

#[test]
fn config_shows_each_setting_and_where_it_came_from() {
    let toml = "threads = 3\nbind = [\"tcp://127.0.0.1:1\", \"unix:///tmp/no-such-socket\"]\n";
    let folder = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    let said = exits_with(0, &folder, &[("RACK_ENV", "test")], &["config", "--queue", "5"]);
    assert_eq!(setting(&said, "threads"), ["threads", "3", "foolsgold.toml:1"]);
    assert_eq!(setting(&said, "bind"), ["bind", "tcp://127.0.0.1:1, unix:///tmp/no-such-socket", "foolsgold.toml:2"]);
    assert_eq!(setting(&said, "environment"), ["environment", "test", "$RACK_ENV"]);
    assert_eq!(setting(&said, "queue"), ["queue", "5", "--queue"]);
    assert_eq!(setting(&said, "request-time"), ["request-time", "30s", "default"]);
    assert!(said.starts_with("settings file: foolsgold.toml\n") && said.contains("engine: mruby, because"), "{said}");

    let said = exits_with(0, &folder, &[], &["config", "--json", "--queue", "5"]);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    let settings = json["settings"].as_array().unwrap();
    let of = |name: &str| settings.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!((&of("queue")["value"], &of("queue")["from"]["kind"]), (&"5".into(), &"flag".into()));
    assert_eq!((&of("threads")["from"]["file"], &of("threads")["from"]["line"]), (&"foolsgold.toml".into(), &1.into()));
    assert_eq!(json["apps"][0]["name"], "app");

    let said = exits_with(0, &folder, &[], &["config", "--check"]);
    assert_eq!(said, "the settings can be used: foolsgold.toml, application app\n");
}

#[test]
fn config_shows_a_place_in_the_queue_for_each_connection() {
    let toml = "connections = 40000\n[[app]]\nname = \"shop\"\npath = \".\"\n";
    let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    for (arguments, expected) in [(&["config"][..], "40000"), (&["config", "--connections", "30000"], "30000")] {
        let said = exits_with(0, &files, &[], arguments);
        assert_eq!(setting(&said, "queue"), ["queue", expected, "default"], "{arguments:?}");
    }
}

/// A number on the command line replaces the bounds in the file.
#[test]
fn config_shows_the_bounds_of_workers_that_count() {
    let toml = "engine = \"ruby\"\nmin-workers = 2\nmax-workers = 8\n";
    let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    let said = exits_with(0, &files, &[], &["config", "-w", "3"]);
    assert_eq!(setting(&said, "min-workers"), ["min-workers", "3", "-w"]);
    assert_eq!(setting(&said, "max-workers"), ["max-workers", "3", "-w"]);
    let (_, said) = run(&files, &[], &["config"]);
    assert_eq!(setting(&said, "max-workers"), ["max-workers", "8", "foolsgold.toml:3"]);
}

/// These commands start no server, so their messages must not say that it cannot start.
#[test]
fn commands_that_only_look_say_that_they_cannot_look() {
    let empty = folder_with(&[]);
    for (arguments, first) in [
        (&["config"][..], "foolsgold: cannot show the settings:\n"),
        (&["config", "--json", "-t", "0"], "foolsgold: cannot show the settings:\n"),
        (&["config", "--check"], "foolsgold: cannot use these settings:\n"),
        (&["doctor"], "foolsgold: cannot examine this application:\n"),
        (&["doctor", "-t", "0"], "foolsgold: cannot examine this application:\n"),
        (&["native", "-t", "0"], "foolsgold: cannot build the native worker:\n"),
    ] {
        let said = exits_with(2, &empty, &[], arguments);
        assert!(said.starts_with(first), "{arguments:?}: {said}");
        let is_option = arguments.contains(&"-t");
        let why = if is_option { "-t 0: must be from 1 to 1024" } else { "there is no config.ru in this folder" };
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

#[test]
fn config_shows_several_applications_and_finds_them_all() {
    let toml = "queue = 7\n[[app]]\nname = \"shop\"\npath = \"shop\"\nprefix = \"/shop\"\nthreads = 3\n\n\
                [[app]]\nname = \"blog\"\npath = \"blog/config.ru\"\n";
    let ru = app("", RU);
    let files = folder_with(&[("shop/config.ru", &ru), ("blog/config.ru", &ru), ("foolsgold.toml", toml)]);
    let said = exits_with(0, &files, &[], &["config"]);
    let (server, apps) = said.split_once("\nshop: ").unwrap();
    let (shop, blog) = apps.split_once("\nblog: ").unwrap();
    assert!(server.contains("io-threads") && !server.contains("request-time"), "{said}");
    assert!(shop.contains("shop/config.ru, at /shop of every host"), "{said}");
    assert_eq!(setting(shop, "threads"), ["threads", "3", "foolsgold.toml:6"]);
    assert_eq!(setting(blog, "threads")[2], "default");
    assert_eq!(setting(blog, "queue"), ["queue", "7", "foolsgold.toml:1"]);
    fs::remove_dir_all(files.join("blog")).unwrap();
    let said = exits_with(2, &files, &[], &["config", "--check"]);
    assert!(said.contains("blog/config.ru: there is no such file"), "{said}");
}

#[test]
fn a_reload_reads_the_file_again() {
    let toml = |name: &str, io: u32| {
        format!("bind = \"tcp://127.0.0.1:0\"\nio-threads = {io}\nthreads = 1\nenvironment = \"{name}\"\n")
    };
    let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", &toml("first", 1))]);
    let server = Server::spawn(files, &[], &[]);
    assert_eq!(server.text("/"), "first");
    fs::write(server.folder.join("foolsgold.toml"), "threads = 0\nqueue = \"x\"\n").unwrap();
    server.reload("foolsgold.toml:1: threads = 0: must be from 1 to 1024");
    server.must_log("foolsgold.toml:2: queue = \"x\": must be a whole number");
    assert_eq!(server.text("/"), "first");
    fs::write(server.folder.join("foolsgold.toml"), toml("second", 2)).unwrap();
    server.signal(rustix::process::Signal::USR1);
    assert!(support::within(support::MAX_WAIT, || server.text("/") == "second"), "{}", server.log());
    server.must_log("io-threads is 2 now and was 1: takes effect at the next start");
    // Whoever asks is told, however often.
    let (_, said) = run(&server.folder, &[], &["reload"]);
    assert!(said.contains("not by a reload: io-threads is 2 now and was 1"), "{said}");
}

#[test]
fn a_new_token_is_named_by_a_reload_and_not_shown() {
    let tokens = ["0123456789abcdef", "fedcba9876543210"];
    let [first, second] = tokens.map(|token| format!("bind = \"tcp://127.0.0.1:0\"\nadmin-token = \"{token}\"\n"));
    let files = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", &first)]);
    let server = Server::spawn(files, &[], &[]);
    fs::write(server.folder.join("foolsgold.toml"), second).unwrap();
    let said = server.done(&["reload"]);
    assert!(said.contains("not by a reload: admin-token has changed: takes effect at the next start"), "{said}");
    let all = said + &server.log() + &server.done(&["config"]);
    assert!(tokens.iter().all(|token| !all.contains(token)), "{all}");
}

#[test]
fn exceptions_are_shown_as_the_environment_of_the_current_code_says() {
    let ru = paths(&[("/", "text(\"gold\")"), ("/raise", "raise \"no gold\"")]);
    let toml = |environment: &str| format!("bind = \"tcp://127.0.0.1:0\"\nthreads = 1\n{environment}");
    let files = folder_with(&[("config.ru", &ru), ("foolsgold.toml", &toml(""))]);
    let server = Server::spawn(files, &[], &[]);
    let is_shown = || server.get("/raise").text().contains("no gold");
    assert!(is_shown(), "{}", server.log());
    fs::write(server.folder.join("foolsgold.toml"), toml("environment = \"production\"\n")).unwrap();
    server.done(&["reload"]);
    assert!(!is_shown(), "{}", server.log());
    fs::write(server.folder.join("foolsgold.toml"), toml("")).unwrap();
    server.done(&["reload"]);
    // The old code may still answer for a moment.
    assert!(support::within(support::MAX_WAIT, is_shown), "{}", server.log());
}

#[test]
fn exceptions_of_one_application_are_shown_and_of_the_other_not() {
    let ru = paths(&[("/", "text(\"gold\")"), ("/raise", "raise \"no gold\"")]);
    let toml = "bind = \"tcp://127.0.0.1:0\"\nthreads = 1\n[[app]]\nname = \"shop\"\npath = \".\"\nprefix = \"/shop\"\n\
                environment = \"production\"\n[[app]]\nname = \"home\"\npath = \".\"\n";
    let server = Server::spawn(folder_with(&[("config.ru", &ru), ("foolsgold.toml", toml)]), &[], &[]);
    for (path, is_shown) in [("/shop/raise", false), ("/raise", true)] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.text().contains("no gold")), (500, is_shown), "{path}: {}", reply.text());
    }
}

#[test]
fn a_folder_in_the_file_is_where_the_application_is_and_a_reload_finds_the_file_again() {
    let toml =
        "bind = \"tcp://127.0.0.1:0\"\nthreads = 1\ndir = \"web\"\nenvironment = \"first\"\npidfile = \"run.pid\"\n";
    let files = folder_with(&[("web/config.ru", &app("", RU)), ("foolsgold.toml", toml)]);
    let server = Server::spawn(files, &[], &["-C", "foolsgold.toml"]);
    assert_eq!(server.text("/"), "first");
    assert!(server.folder.join("run.pid").is_file(), "it begins at the file");
    fs::write(server.folder.join("foolsgold.toml"), toml.replace("first", "second")).unwrap();
    server.signal(rustix::process::Signal::USR1);
    assert!(support::within(support::MAX_WAIT, || server.text("/") == "second"), "{}", server.log());
    assert!(!server.log().contains("takes effect at the next start"), "{}", server.log());
}

#[test]
fn several_applications_are_served_each_with_its_own_settings() {
    let toml = "bind = \"tcp://127.0.0.1:0\"\nthreads = 1\nenvironment = \"all\"\n[[app]]\nname = \"shop\"\n\
                path = \"shop\"\nprefix = \"/shop\"\nenvironment = \"shop\"\n[[app]]\nname = \"blog\"\n\
                path = \"blog\"\n";
    let ru = app("", RU);
    let files = folder_with(&[("shop/config.ru", &ru), ("blog/config.ru", &ru), ("foolsgold.toml", toml)]);
    let server = Server::spawn(files, &[], &[]);
    assert_eq!((server.text("/shop/x"), server.text("/shopping")), ("shop".to_owned(), "all".to_owned()));
}

#[test]
fn a_link_to_no_file_is_not_taken_for_no_file() {
    let files = folder_with(&[("config.ru", &app("", RU))]);
    std::os::unix::fs::symlink("releases/foolsgold.toml", files.join("foolsgold.toml")).unwrap();
    let said = exits_with(2, &files, &[], &["-b", "tcp://127.0.0.1:0"]);
    assert!(said.contains("foolsgold.toml: is a link to a file that is not there"), "{said}");
}

#[test]
fn a_check_finds_what_a_start_would_stumble_over() {
    let files = folder_with(&[("config.ru", &app("", RU)), ("notes", "mine")]);
    assert!(std::process::Command::new("mkfifo").arg(files.join("pipe")).status().unwrap().success());
    let long = format!("unix:///tmp/{}.sock", "x".repeat(120));
    let none = "there is no folder";
    for (options, right) in [
        (&["--pidfile", "nowhere/a.pid"] as &[&str], none),
        (&["--pidfile", "notes"], "is it a pid file?"),
        (&["--pidfile", "pipe"], "the pid file pipe is not a file"),
        (&["-S", "nowhere/state"], none),
        (&["-S", "notes"], "is it a state file?"),
        (&["-S", "pipe"], "the state file pipe is not a file"),
        (&["--log-file", "nowhere/log"], none),
        (&["--dir", "/nowhere"], "--dir /nowhere: No such file"),
        (&["--dir", "notes"], "--dir notes: Not a directory"),
        (&["--ruby", "/nowhere/ruby", "--engine", "ruby"], "there is no such program"),
        (&["--ruby", "no-such-ruby", "--engine", "ruby"], "there is no no-such-ruby on PATH"),
        (&["-b", &long], "at most 107 bytes"),
        (&["-b", "unix:///nowhere/x"], none),
        (&["--control", "/"], "there is something else of this name"),
        (&["--admin", "unix:///nowhere/x"], none),
    ] {
        let said = exits_with(2, &files, &[], &[&["config", "--check"], options].concat());
        assert!(said.contains(right), "{options:?}: {said}");
    }
    let fine = ["config", "--check", "--pidfile", "a.pid", "-S", "state", "--log-file", "log", "--control", "c.sock"];
    exits_with(0, &files, &[], &fine);
    assert_eq!(fs::read_dir(&files).unwrap().count(), 3, "nothing is made");
}

#[test]
fn very_many_mistakes_are_not_all_told() {
    let unknown: String = (0..20_000).map(|number| format!("nothing{number} = 1\n")).collect();
    for toml in [unknown, "threads = 1\n".repeat(20_000)] {
        let folder = folder_with(&[("config.ru", &app("", RU)), ("foolsgold.toml", &toml)]);
        let begun = std::time::Instant::now();
        let said = exits_with(2, &folder, &[], &["config"]);
        assert!(said.lines().count() < 60 && said.contains("and more of the kind, which are not shown"), "{said}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}
