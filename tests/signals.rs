//! What signals mean: as in Puma, or as in the server that was named.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Client, MAX_WAIT, Server, app, paths, ruby, server, successor, within};
use rustix::process::Signal;

const HOLD: [(&str, &str); 2] = [
    ("/hold", "FoolsGold.store.increment(\"held\"); sleep 1; text(\"held\")"),
    ("/held", "text(FoolsGold.store.get(\"held\") || 0)"),
];

const OK: &str = "run lambda { |env| [200, {}, [\"ok\"]] }";

/// A server with a request in the middle.
fn busy(habit: &str) -> (Server, Client) {
    let server = Server::start(&paths(&HOLD), &["-t", "2", "--signals", habit]);
    let client = server.send_get("/hold");
    assert!(within(MAX_WAIT, || server.text("/held") != "0"));
    (server, client)
}

#[test]
fn the_active_map_is_in_the_log() {
    for habit in ["puma", "unicorn", "unicorn-graceful", "pitchfork", "thin", "passenger"] {
        let server = Server::start(&app("", "1"), &["-t", "1", "--signals", habit]);
        server.must_log(&format!("signals as in {habit}: "));
    }
}

#[test]
fn each_server_ends_gracefully_or_at_once_by_its_own_signals() {
    for (habit, signal, gracefully) in [
        ("puma", Signal::QUIT, false),
        ("unicorn", Signal::QUIT, true),
        ("unicorn", Signal::TERM, false),
        ("unicorn", Signal::INT, false),
        ("unicorn-graceful", Signal::QUIT, true),
        ("unicorn-graceful", Signal::TERM, true),
        ("unicorn-graceful", Signal::INT, false),
        ("pitchfork", Signal::QUIT, true),
        ("pitchfork", Signal::TERM, true),
        ("pitchfork", Signal::INT, false),
        ("thin", Signal::QUIT, true),
        ("thin", Signal::TERM, true),
        ("thin", Signal::INT, false),
        ("passenger", Signal::TERM, true),
    ] {
        let (mut server, mut client) = busy(habit);
        server.signal(signal);
        let answer = client.reply().map(|reply| reply.text());
        assert_eq!(answer.is_ok_and(|text| text == "held"), gracefully, "{habit} {signal:?}\n{}", server.log());
        server.must_end();
    }
}

#[test]
fn each_server_reloads_by_its_own_signal() {
    for (habit, signal) in
        [("puma", Signal::USR1), ("unicorn", Signal::HUP), ("pitchfork", Signal::USR1), ("thin", Signal::HUP)]
    {
        let server = Server::start(&app("", "'old'"), &["-t", "1", "--signals", habit]);
        fs::write(server.folder.join("config.ru"), app("", "'new'")).unwrap();
        server.signal(signal);
        assert!(within(MAX_WAIT, || server.text("/") == "new"), "{habit}\n{}", server.log());
    }
}

#[test]
fn each_server_opens_its_log_anew_by_its_own_signal() {
    for (habit, signal) in [
        ("puma", Signal::HUP),
        ("unicorn", Signal::USR1),
        ("pitchfork", Signal::HUP),
        ("thin", Signal::USR1),
        ("passenger", Signal::USR1),
    ] {
        let server = Server::start(&app("", "1"), &["-t", "1", "--signals", habit, "--log-file", "log"]);
        fs::rename(server.folder.join("log"), server.folder.join("log.1")).unwrap();
        server.signal(signal);
        assert!(server.logs("opened anew"), "{habit}: {}", server.log());
    }
}

#[test]
fn what_cannot_be_done_is_said_and_ends_nothing() {
    let mut server = Server::start(&app("", "1"), &["-t", "1"]);
    server.signal(Signal::HUP);
    assert!(server.logs("SIGHUP: the log goes to standard output") || server.logs("SIGHUP: there is no log file"));
    server.signal(Signal::WINCH);
    for signal in [Signal::TTIN, Signal::TTOU, Signal::URG, Signal::POWER] {
        server.signal(signal);
    }
    for name in ["SIGTTIN: ", "SIGTTOU: ", "SIGURG: ", "SIGPWR: "] {
        server.must_log(name);
    }
    assert!(server.is_alive());
    assert_eq!(server.text("/"), "1");
}

#[test]
fn signals_during_the_start_wait_and_an_end_does_not() {
    let folder = ruby::folder(&[("config.ru", "sleep 1\nrun lambda { |env| [200, {}, [\"ok\"]] }")]);
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "-w", "1", "--ruby", &ruby::program()];
    let start = || {
        let server = Server::begin(folder.clone(), &[], &options);
        assert!(within(MAX_WAIT, || !ruby::processes(server.id()).is_empty()));
        server
    };
    let server = start();
    for signal in [Signal::HUP, Signal::TTIN] {
        server.signal(signal);
    }
    assert!(server.logs("SIGHUP: ") && server.logs("listening on "), "{}", server.log());
    drop(server);
    let mut server = start();
    server.signal(Signal::TERM);
    assert!(server.ended(Duration::from_millis(900)).is_some(), "{}", server.log());
}

/// As of a log rotation, or a deploy, that meets a restart: another server's file is Ruby, and takes a moment to read.
#[test]
fn signals_while_the_settings_are_read_wait_until_the_server_handles_them() {
    let folder = ruby::folder(&[("config.ru", OK)]);
    let (asked, go) = (folder.join("asked"), folder.join("go"));
    let waits = format!("File.write({asked:?}, '')\nsleep 0.01 until File.exist?({go:?})\n");
    fs::write(folder.join("puma.rb"), waits).unwrap();
    let options = ["-b", "tcp://127.0.0.1:0", "--ruby", &ruby::program(), "-w", "1", "-C", "puma.rb"];
    let mut server = Server::begin(folder, &[], &options);
    assert!(within(MAX_WAIT, || asked.exists()), "{}", server.log());
    for signal in [Signal::HUP, Signal::USR1, Signal::TTIN] {
        server.signal(signal);
    }
    fs::write(&go, "").unwrap();
    server.wait_ready();
    for words in ["SIGHUP: ", "SIGUSR1: reloading", "SIGTTIN: "] {
        server.must_log(words);
    }
}

/// The log rotation compresses the file that it has renamed, however long the application takes to load.
#[test]
fn log_files_are_opened_anew_while_the_application_loads() {
    let folder = ruby::folder(&[("config.ru", "File.write('loading', '')\nsleep")]);
    let ruby = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1"];
    let options = ["-b", "tcp://127.0.0.1:0", "--log-file", "web.log", "--control", "control.sock"];
    let options = [&options[..], &ruby].concat();
    let server = Server::begin(folder, &[], &options);
    let said = |name: &str| fs::read_to_string(server.folder.join(name)).unwrap_or_default();
    assert!(within(MAX_WAIT, || server.folder.join("loading").exists()), "{}", said("web.log"));
    let rename = |aside: &str| fs::rename(server.folder.join("web.log"), server.folder.join(aside)).unwrap();
    rename("web.log.1");
    server.signal(Signal::HUP);
    assert!(within(MAX_WAIT, || said("web.log").contains("SIGHUP: opened anew")), "{}", said("web.log.1"));
    rename("web.log.2");
    let text = server.done(&["reopen-logs", "--control", "control.sock"]);
    assert!(text.contains("opened anew") && server.folder.join("web.log").exists(), "{text}");
}

#[test]
fn a_shutdown_while_the_application_loads_leaves_no_files_and_no_processes() {
    for (engine, waits) in [("ruby", "File.write('loading', '')\nsleep"), ("mruby", "loop { }")] {
        for (signals, words) in [
            (&[Signal::TERM][..], "SIGTERM: shutting down, while applications are being loaded"),
            (&[Signal::INT], "SIGINT: shutting down, while"),
            (&[Signal::QUIT, Signal::QUIT], "SIGQUIT: shutting down, while"),
            (&[], "shutting down, while"),
        ] {
            let folder = server::folder_with(&[("config.ru", waits)]);
            let unix = format!("unix://{}", folder.join("web.sock").display());
            let options = ["-b", &unix, "--engine", engine, "--pidfile", "web.pid", "--control", "control.sock"];
            let mut server = Server::begin(folder, &[], &options);
            // Where the control socket is, signals are handled.
            let awaited = if engine == "ruby" { "loading" } else { "control.sock" };
            assert!(within(MAX_WAIT, || server.folder.join(awaited).exists()), "{}", server.log());
            let workers = ruby::processes(server.id());
            for signal in signals {
                server.signal(*signal);
            }
            if signals.is_empty() {
                server.done(&["stop", "--control", "control.sock"]);
            }
            server.must_end();
            assert!(server.log().contains(words), "{engine} {words}\n{}", server.log());
            for left in ["web.sock", "web.pid", "control.sock"] {
                assert!(!server.folder.join(left).exists(), "{engine} {words} {left}\n{}", server.log());
            }
            assert!(within(MAX_WAIT, || !workers.iter().any(|pid| ruby::is_alive(*pid))), "{}", server.log());
        }
    }
}

/// As in Unicorn at HUP. Programs that clean /tmp remove such a file, and so may a deploy.
#[test]
fn a_reload_binds_a_unix_socket_again_whose_file_is_gone() {
    let folder = server::folder_with(&[("config.ru", OK)]);
    let path = folder.join("web.sock");
    let unix = format!("unix://{}", path.display());
    let options = ["-b", &unix, "--engine", "mruby", "--signals", "unicorn"];
    let mut server = Server::spawn(folder, &[], &options);
    for generation in 2..=3 {
        fs::remove_file(&path).unwrap();
        server.signal(Signal::HUP);
        server.must_log(&format!("generation {generation} serves"));
        assert_eq!(Client::unix(&path).get("/").text(), "ok", "{}", server.log());
    }
    assert_eq!(server.log().matches("again: its file was gone").count(), 2, "{}", server.log());
    server.end(Signal::QUIT);
    assert!(!path.exists(), "{}", server.log());
}

/// Somebody may use it: it is left alone, as in Unicorn.
#[test]
fn a_reload_tells_of_another_file_in_the_place_of_a_unix_socket() {
    let folder = server::folder_with(&[("config.ru", OK)]);
    let path = folder.join("web.sock");
    let unix = format!("unix://{}", path.display());
    let options = ["-b", &unix, "--engine", "mruby", "--control", "control.sock"];
    let mut server = Server::spawn(folder, &[], &options);
    server.must_log("listening on unix://");
    fs::remove_file(&path).unwrap();
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let words = format!("another file is at {} by now", path.display());
    assert!(server.done(&["reload", "--control", "control.sock"]).contains(&words));
    server.must_log(&words);
    drop(other);
    fs::remove_file(&path).unwrap();
    assert!(!server.done(&["reload", "--control", "control.sock"]).contains(&words));
    assert_eq!(Client::unix(&path).get("/").text(), "ok", "{}", server.log());
    server.end(Signal::TERM);
}

/// There are so many addresses that the signal comes while they are bound.
#[test]
fn a_shutdown_while_addresses_are_bound_leaves_no_files() {
    let folder = server::folder_with(&[("config.ru", OK)]);
    let binds: Vec<String> = (0..400).map(|number| format!("unix://{number}.sock")).collect();
    let binds = binds.iter().flat_map(|bind| ["-b", bind.as_str()]);
    let options: Vec<&str> = binds.chain(["--engine", "mruby", "--pidfile", "web.pid"]).collect();
    let mut server = Server::begin(folder, &[], &options);
    // `within` looks too seldom.
    let end = Instant::now() + MAX_WAIT;
    while !server.folder.join("0.sock").exists() && Instant::now() < end {
        thread::yield_now();
    }
    server.end(Signal::TERM);
    let left = fs::read_dir(&server.folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.ends_with(".sock") || name == "web.pid").collect();
    assert!(left.is_empty(), "{left:?}\n{}", server.log());
}

#[test]
fn a_signal_for_the_command_that_waits_for_the_server_in_the_background_ends_that() {
    for signal in [Signal::INT, Signal::TERM, Signal::QUIT] {
        let folder = server::folder_with(&[("config.ru", "File.write('loading', '')\nsleep")]);
        let unix = format!("unix://{}", folder.join("web.sock").display());
        let options = ["-d", "--log-file", "web.log", "-b", &unix, "--engine", "ruby", "--pidfile", "web.pid"];
        let mut server = Server::begin(folder, &[], &options);
        assert!(within(MAX_WAIT, || server.folder.join("loading").exists()), "{}", server.log());
        assert_eq!(server.ended_by(signal).code(), Some(1), "{}", server.log());
        assert!(server.log().contains("cannot start: shut down before it served"), "{}", server.log());
        let is_left = |name: &&str| server.folder.join(name).exists();
        assert!(within(MAX_WAIT, || !["web.sock", "web.pid"].iter().any(is_left)), "{signal:?}");
    }
}

#[test]
fn a_signal_that_follows_the_end_at_once_changes_nothing() {
    let mut server = ruby::serve("run ->(_) { [200, {}, ['a']] }", &["-w", "1", "--drain-lag", "1s"]);
    server.signal(Signal::TERM);
    server.must_log("draining: no longer ready");
    for signal in [Signal::TTIN, Signal::URG, Signal::USR1] {
        server.signal(signal);
    }
    server.must_end();
    for words in ["the number of its workers changes no more", "no worker is replaced", "nothing is reloaded"] {
        assert!(server.log().contains(words), "{words}\n{}", server.log());
    }
}

/// As a service manager and a terminal send them: to every process of the service.
#[test]
fn a_signal_for_all_processes_that_load_is_a_shutdown_and_no_failed_start() {
    let folder = server::folder_with(&[("config.ru", "File.write('loading', '')\nsleep")]);
    let mut server = Server::begin(folder, &[], &["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "-w", "1"]);
    assert!(within(MAX_WAIT, || server.folder.join("loading").exists()), "{}", server.log());
    let workers = ruby::processes(server.id());
    server.signal(Signal::TERM);
    workers.iter().for_each(|pid| successor::signal(*pid, Signal::TERM));
    server.must_end();
    assert!(!server.log().contains("cannot start"), "{}", server.log());
}

#[test]
fn an_interrupt_after_any_signal_for_the_end_ends_it_at_once() {
    for (habit, first) in [("puma", Signal::INT), ("passenger", Signal::TERM)] {
        let (mut server, _client) = busy(habit);
        server.signal(first);
        assert!(server.ended(Duration::from_millis(200)).is_none(), "{habit}");
        server.signal(Signal::INT);
        assert!(server.ended(Duration::from_millis(700)).is_some(), "{habit}: {}", server.log());
    }
}

#[test]
fn workers_are_added_taken_away_replaced_and_asked_what_they_do() {
    let config = "run lambda { |env| sleep 5 if env['PATH_INFO'] == '/slow'; [200, {}, [Process.pid.to_s]] }";
    let server = ruby::serve(config, &["-w", "1", "-t", "2"]);
    ruby::expect_workers(&server, 1);
    server.signal(Signal::TTIN);
    ruby::expect_workers(&server, 2);
    server.signal(Signal::TTOU);
    ruby::expect_workers(&server, 1);
    server.signal(Signal::TTOU);
    assert!(within(MAX_WAIT, || server.log().matches("SIGTTOU: ").count() == 2), "{}", server.log());
    ruby::expect_workers(&server, 1);
    let mut slow = server.send_get("/slow");
    assert!(within(MAX_WAIT, || {
        server.signal(Signal::POWER);
        server.log().contains("config.ru:1:in `sleep'") || server.log().contains("config.ru:1:in 'Kernel#sleep'")
    }));
    let old = ruby::workers(&server);
    server.signal(Signal::URG);
    assert!(within(MAX_WAIT, || server.text("/") != old[0].to_string()), "{}", server.log());
    assert_eq!(slow.reply().unwrap().text(), old[0].to_string(), "the old one finishes what it has");
}

/// A refork does so there.
#[test]
fn as_in_pitchfork_usr2_replaces_the_workers() {
    let config = "run lambda { |env| [200, {}, [Process.pid.to_s]] }";
    let mut server = ruby::serve(config, &["-w", "1", "--signals", "pitchfork"]);
    let old = server.text("/");
    server.signal(Signal::USR2);
    assert!(within(MAX_WAIT, || server.text("/") != old), "{}", server.log());
    server.end(Signal::TERM);
}

#[test]
fn as_in_unicorn_a_server_without_a_terminal_can_rest() {
    let server = ruby::serve(OK, &["-w", "1", "--signals", "unicorn"]);
    server.signal(Signal::WINCH);
    server.must_log("SIGWINCH: ");
    let mut client = server.send_get("/");
    client.set_timeout(Duration::from_millis(300));
    assert!(client.reply().is_err(), "it waits");
    server.signal(Signal::HUP);
    client.set_timeout(MAX_WAIT);
    assert_eq!(client.reply().unwrap().text(), "ok", "{}", server.log());
}

#[test]
fn a_signal_ends_the_pause_that_a_signal_began_and_no_other() {
    let server = ruby::serve(OK, &["-w", "1", "--signals", "unicorn"]);
    server.signal(Signal::WINCH);
    server.must_log("SIGWINCH: ");
    server.done(&["resume"]);
    server.done(&["pause"]);
    server.signal(Signal::HUP);
    server.must_log("generation 2 serves");
    let status = server.done(&["status", "--json"]);
    assert!(status.contains("\"is_paused\":true"), "{status}\n{}", server.log());
    server.done(&["resume"]);
    assert_eq!(server.text("/"), "ok", "{}", server.log());
}

#[test]
fn a_bound_that_a_signal_meets_is_told_and_not_the_number_of_workers() {
    let server = ruby::serve(OK, &["--min-workers", "0", "--max-workers", "2"]);
    server.signal(Signal::TTOU);
    server.must_log("SIGTTOU: there must be 1 worker at least");
    for words in ["SIGTTIN: from 1 to 2 workers, 1 now", "SIGTTIN: 2 workers"] {
        server.signal(Signal::TTIN);
        server.must_log(words);
    }
    server.signal(Signal::TTOU);
    assert!(server.logs("SIGTTOU: from 0 to 2 workers, 1 now"), "the last one may still leave: {}", server.log());
}

#[test]
fn an_elastic_pool_moves_by_one_worker_within_its_bounds() {
    let server = ruby::serve(OK, &["--min-workers", "1", "--max-workers", "2"]);
    for (signal, workers, words) in [
        (Signal::TTIN, 2, "SIGTTIN: 2 workers"),
        (Signal::TTIN, 2, "SIGTTIN: there may be 2 workers at most"),
        (Signal::TTOU, 1, "SIGTTOU: from 1 to 2 workers, 1 now"),
        (Signal::TTOU, 1, "SIGTTOU: there must be 1 worker at least"),
    ] {
        server.signal(signal);
        server.must_log(words);
        ruby::expect_workers(&server, workers);
    }
}

#[test]
fn signals_move_within_what_scale_has_set_last() {
    let server = ruby::serve(OK, &["--min-workers", "2", "--max-workers", "3"]);
    for (bounds, signal, words) in [
        ("1:2", Signal::TTIN, "SIGTTIN: there may be 2 workers at most"),
        ("1:2", Signal::TTOU, "SIGTTOU: from 1 to 2 workers, 1 now"),
        ("2:4", Signal::TTOU, "SIGTTOU: there must be 2 workers at least"),
        // A fixed number becomes another one.
        ("2", Signal::TTIN, "SIGTTIN: 3 workers"),
    ] {
        server.done(&["scale", bounds]);
        server.signal(signal);
        assert!(server.logs(words), "{bounds}: {words}\n{}", server.log());
    }
}

/// A supervisor that waits for its signals by sigwait(3) blocks them, and what it starts inherits that.
#[test]
fn signals_that_were_blocked_before_the_start_have_their_effect() {
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1"];
    let mut server = Server::spawn_by(&["env", "--block-signal"], folder, &[], &options);
    server.signal(Signal::HUP);
    server.must_log("SIGHUP: ");
    server.end(Signal::TERM);
}

/// The terminal sends SIGTTOU to all of a background job that writes to it, and SIGTTIN if it reads: no operator does.
#[test]
fn a_background_job_of_a_terminal_writes_and_keeps_its_workers() {
    // It makes a terminal.
    if !support::is_permitted(&["script", "--version"], "/") {
        return;
    }
    let app = "run ->(_) { $stdout.puts 'printed'; $stdout.flush\n\
               [200, {}, [begin; $stdin.read; rescue SystemCallError => error; error.class.name; end]] }";
    let folder = ruby::folder(&[("config.ru", app), ("puma.rb", "puts 'evaluated'\n")]);
    let program = server::command();
    let options = "-C puma.rb -b unix://web.sock -w 2 -t 1 --engine ruby --pidfile web.pid";
    let options = format!("{options} --ruby {}", ruby::program());
    // A shell with job control gives the job a process group of its own, which is not the foreground's.
    let job = format!("stty tostop; set -m; {} {options} & wait", program.get_program().display());
    let mut script = Command::new("script");
    script.args(["-qec", &job, "/dev/null"]).current_dir(&folder).env("SHELL", "/bin/sh").stdin(Stdio::null());
    for (name, _) in program.get_envs() {
        script.env_remove(name);
    }
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    let output = fs::File::create(folder.join("log")).unwrap();
    let mut script = script.stdout(output).spawn().unwrap();
    let is_ready = || folder.join("web.pid").exists() && log().contains("listening on ");
    assert!(within(MAX_WAIT, is_ready), "{}", log());
    // Ended in any case: it is in the background of a terminal, and no child of this test.
    let serving = successor::Process(successor::pid_in(&folder.join("web.pid")).unwrap());
    for _ in 0..5 {
        assert_eq!(Client::unix(&folder.join("web.sock")).get("/").text(), "Errno::EIO", "{}", log());
    }
    assert!(within(MAX_WAIT, || log().matches(" GET / 200 ").count() == 5), "{}", log());
    for words in ["evaluated", "printed"] {
        assert!(log().contains(words) && !log().contains("SIGTT"), "{words}: {}", log());
    }
    serving.signal(Signal::TTOU);
    assert!(within(MAX_WAIT, || log().contains("SIGTTOU: ")), "that of an operator counts: {}", log());
    serving.signal(Signal::TERM);
    assert!(within(MAX_WAIT, || script.try_wait().unwrap().is_some()), "{}", log());
}
