//! The beginning and the end of Ruby processes: hooks, conventions, titles, and that none outlives the server.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{MAX_WAIT, Server, ruby, server, within};
use rustix::process::Signal;

const APP: &str = include_str!("apps/ruby/work.ru");

#[track_caller]
fn assert_gone(pids: &[u32], limit: Duration, log: &str) {
    let alive = || -> Vec<u32> { pids.iter().copied().filter(|pid| ruby::is_alive(*pid)).collect() };
    assert!(within(limit, || alive().is_empty()), "{:?} of {pids:?} go on\n{log}", alive());
}

#[test]
fn a_graceful_end_under_load_loses_nothing_and_leaves_nobody() {
    let mut server = ruby::serve(APP, &["-w", "2", "-t", "2"]);
    ruby::expect_workers(&server, 2);
    let pids = ruby::processes(server.id());
    let is_ending = AtomicBool::new(false);
    thread::scope(|scope| {
        // Connected by now: once it ends, nobody gets in.
        for mut client in (0..6).map(|_| server.client()) {
            let (server, is_ending) = (&server, &is_ending);
            scope.spawn(move || {
                loop {
                    let was_ending = is_ending.load(Ordering::SeqCst);
                    let sent = client.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n");
                    match sent.and_then(|()| client.reply()) {
                        Ok(reply) => {
                            assert_eq!(reply.status, 200, "{}", server.log());
                            if reply.header("connection") == Some("close") {
                                return;
                            }
                        }
                        // An idle connection may be closed while the next request is on its way.
                        Err(error) => {
                            let now = is_ending.load(Ordering::SeqCst);
                            assert!(was_ending || now, "{error}\n{}", server.log());
                            return;
                        }
                    }
                }
            });
        }
        let mut held = server.send_get("/wait?go");
        ruby::wait_for_note(&server, "runs go");
        is_ending.store(true, Ordering::SeqCst);
        server.signal(Signal::TERM);
        server.must_log("shutting down");
        ruby::let_go(&server, "go");
        assert_eq!(held.reply().unwrap().text(), "waited", "what runs is finished\n{}", server.log());
    });
    server.must_end();
    assert_gone(&pids, Duration::ZERO, &server.log());
    let log = server.log();
    assert!(!log.contains(" 502 ") && !log.contains(" 500 ") && !log.contains("SIGKILL"), "{log}");
}

#[test]
fn a_request_that_outlives_the_drain_is_cut_and_its_worker_ended() {
    let mut server = ruby::serve(APP, &["-w", "1", "-t", "1", "--drain-time", "300ms"]);
    let pids = ruby::processes(server.id());
    let mut held = server.send_get("/stubborn");
    ruby::wait_for_note(&server, "stubborn");
    server.signal(Signal::TERM);
    server.signal(Signal::INT);
    let _ = held.reply();
    assert!(server.ended(Duration::from_secs(5)).is_some(), "{}", server.log());
    assert_gone(&pids, Duration::from_secs(1), &server.log());
}

#[test]
fn what_an_end_at_once_cuts_off_is_said_to_be_cut_by_the_server_and_not_replayed() {
    let mut server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut held = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    let begun = Instant::now();
    server.signal(Signal::QUIT);
    assert!(held.reply().is_err());
    server.must_end();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}\n{}", begun.elapsed(), server.log());
    let log = server.log();
    assert!(log.contains(" stopping") && !log.contains("client_gone") && !log.contains("replayed"), "{log}");
}

#[test]
fn no_ruby_process_outlives_a_front_that_was_killed() {
    let mut server = ruby::serve(APP, &["-w", "2", "-t", "2"]);
    ruby::expect_workers(&server, 2);
    let pids = ruby::processes(server.id());
    // One worker is idle, one is busy and will not be interrupted.
    let _held = server.send_get("/stubborn");
    ruby::wait_for_note(&server, "stubborn");
    server.ended_by(Signal::KILL);
    assert_gone(&pids, Duration::from_secs(5), &server.log());
}

#[test]
fn a_front_killed_while_the_application_loads_leaves_nobody() {
    for (preload, processes) in [("--preload=yes", 1), ("--preload=no", 2)] {
        let app = "File.write(\"notes\", \"loads\\n\")\nsleep 3\nrun ->(_) {}\n";
        let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &ruby::program(), preload];
        let mut server = Server::begin(ruby::folder(&[("config.ru", app)]), &[], &options);
        ruby::wait_for_note(&server, "loads");
        let pids = ruby::processes(server.id());
        server.ended_by(Signal::KILL);
        assert_eq!(pids.len(), processes);
        assert_gone(&pids, Duration::from_secs(8), &server.log());
    }
}

#[test]
fn a_front_that_ends_while_a_configuration_is_read_leaves_nobody() {
    for (signal, waits) in [(Signal::KILL, "sleep"), (Signal::TERM, "loop { }")] {
        let config = format!("File.write(\"reads\", Process.pid.to_s)\n{waits}\n");
        let folder = ruby::folder(&[("config.ru", "run ->(_) { }\n"), ("config/puma.rb", config.as_str())]);
        let mut server = Server::begin(folder, &[], &["-b", "tcp://127.0.0.1:0", "--engine", "ruby"]);
        let reader = || fs::read_to_string(server.folder.join("reads")).ok()?.parse::<u32>().ok();
        assert!(within(MAX_WAIT, || reader().is_some()), "{}", server.log());
        let pids = [reader().unwrap()];
        server.ended_by(signal);
        assert_gone(&pids, Duration::from_secs(8), &server.log());
    }
}

#[test]
fn hooks_run_in_order_with_their_arguments() {
    let hooks = "
def line(words)
  File.write(\"notes\", \"#{words}\\n\", mode: \"a\")
end
before_fork { line \"before_fork\" }
after_fork { |worker| line \"after_fork #{worker} first\" }
after_fork { |worker| line \"after_fork #{worker} second\" }
on_worker_boot { |worker| line \"on_worker_boot #{worker}\" }
on_worker_shutdown { |worker| line \"on_worker_shutdown #{worker}\" }
";
    let app =
        APP.replace("use Linted", "FoolsGold.on_worker_boot { |worker| note(\"application #{worker}\") }\nuse Linted");
    let files = [("config.ru", app.as_str()), ("hooks.rb", hooks)];
    let mut server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "1", "--hooks", "hooks.rb"]);
    assert_eq!(server.text("/"), "gold");
    let boot = ["before_fork", "after_fork 1 first", "after_fork 1 second", "on_worker_boot 1", "application 1"];
    assert_eq!(ruby::notes(&server), boot, "{}", server.log());
    server.end(Signal::TERM);
    assert_eq!(ruby::notes(&server)[boot.len()..], ["on_worker_shutdown 1"]);
}

#[test]
fn a_hook_that_fails_harms_nobody() {
    let hooks = "before_fork { raise \"before\" }\non_worker_shutdown { raise \"shutdown\" }\n\
                 on_request_timeout { raise \"timeout\" }\n";
    let files = [("config.ru", APP), ("config/foolsgold.rb", hooks)];
    let mut server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "1", "--request-time", "2s"]);
    server.must_log("the hook before_fork failed: before");
    ruby::expect(&server, server.get("/ensure"), 504);
    ruby::wait_for_note(&server, "ensured");
    server.must_log("the hook on_request_timeout failed: timeout");
    assert_eq!(server.text("/"), "gold");
    server.end(Signal::TERM);
    server.must_log("the hook on_worker_shutdown failed: shutdown");
}

/// A server with one worker, whose `at_exit` block writes a note and takes a minute.
fn slow_to_exit() -> Server {
    let app = format!("at_exit {{ File.write(\"notes\", \"exit\\n\", mode: \"a\"); sleep 60 }}\n{APP}");
    let server = ruby::serve(&app, &["-w", "1", "-t", "1"]);
    assert_eq!(server.text("/"), "gold");
    server
}

#[test]
fn an_interrupt_ends_at_exit_blocks_that_take_long() {
    for is_by_command in [false, true] {
        let mut server = slow_to_exit();
        let mut stop = server::command();
        stop.current_dir(&server.folder).arg("stop").stdout(Stdio::null()).stderr(Stdio::null());
        let stopping = is_by_command.then(|| stop.spawn().unwrap());
        if stopping.is_none() {
            server.signal(Signal::TERM);
        }
        ruby::wait_for_note(&server, "exit");
        // Of the 30 s of --drain-time.
        server.must_log("waiting for workers to exit, for 2");
        server.must_log("SIGINT, or foolsgold stop --now, leaves them 600ms");
        server.end_within(Signal::INT, Duration::from_secs(6));
        assert!(server.log().contains("SIGINT: immediate shutdown"), "{}", server.log());
        if let Some(mut stop) = stopping {
            stop.wait().unwrap();
        }
    }
}

/// Heroku may send several, a supervisor passes on what all processes of the service get, and a hook made for Unicorn
/// sends QUIT for each worker.
#[test]
fn the_same_signal_again_cuts_nothing_off() {
    for (habit, signal, words) in [("puma", Signal::TERM, "SIGTERM: "), ("unicorn", Signal::QUIT, "SIGQUIT: ")] {
        let mut server = ruby::serve(APP, &["-w", "1", "-t", "1", "--signals", habit]);
        let mut held = server.send_get("/wait?go");
        ruby::wait_for_note(&server, "runs go");
        for times in 1..=3 {
            server.signal(signal);
            let is_said = || server.log().matches(words).count() == times;
            assert!(within(MAX_WAIT, is_said), "{habit}, signal {times}: {}", server.log());
        }
        ruby::let_go(&server, "go");
        assert_eq!(held.reply().unwrap().text(), "waited", "{habit}: {}", server.log());
        server.must_end();
    }
}

/// An init script that restarts waits a second, and then starts nothing while the old process is still there. A busy
/// machine may delay one end, but not each.
#[test]
fn an_immediate_shutdown_runs_hooks_and_is_over_within_a_second() {
    let is_short = || {
        let mut server = slow_to_exit();
        let begun = Instant::now();
        server.end_within(Signal::QUIT, Duration::from_secs(6));
        let took = begun.elapsed();
        assert!(ruby::notes(&server).iter().any(|note| note == "exit"), "{}", server.log());
        took < Duration::from_secs(1)
    };
    assert!((0..3).any(|_| is_short()));
}

/// They have a minute for their hooks, and no longer than all others when the server ends.
#[test]
fn the_end_of_the_server_hurries_workers_of_older_code_too() {
    let mut server = slow_to_exit();
    server.reload("generation 2 serves");
    ruby::wait_for_note(&server, "exit");
    server.end_within(Signal::QUIT, Duration::from_secs(8));
}

#[test]
fn the_variables_of_ruby_people_mean_what_they_expect() {
    // A port that is free now; nobody else on this machine takes ports of the same range at once.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let env = [("PORT", &*port), ("WEB_CONCURRENCY", "2"), ("RAILS_MAX_THREADS", "3"), ("RACK_ENV", "staging")];
    let folder = ruby::folder(&[("config.ru", APP)]);
    let server = Server::spawn(folder, &env, &["-o", "127.0.0.1", "--engine", "ruby", "--ruby", &ruby::program()]);
    assert_eq!(server.port.to_string(), port);
    assert!(server.log().contains("3 threads"), "{}", server.log());
    assert_eq!(server.text("/environment"), "\"staging\" \"staging\" \"staging\" nil nil");
    assert_eq!(server.text("/threads"), "true");
    ruby::expect_workers(&server, 2);
    // Each keeps what it has, as under Puma, unless the environment is named for this server.
    let both = [("RACK_ENV", "production"), ("RAILS_ENV", "staging")];
    let server = ruby::serve_files(&[("config.ru", APP)], &both, &["-w", "1", "-t", "1"]);
    assert!(server.text("/environment").starts_with("\"production\" \"production\" \"staging\""));
    let server = ruby::serve_files(&[("config.ru", APP)], &both, &["-w", "1", "-t", "1", "-e", "test"]);
    assert!(server.text("/environment").starts_with("\"test\" \"test\" \"test\""));
    for name in ["APP_ENV", "RAILS_ENV"] {
        let server = ruby::serve_files(&[("config.ru", APP)], &[(name, "production")], &["-w", "1", "-t", "1"]);
        assert!(server.text("/environment").starts_with("\"production\" \"production\""), "{name}");
        assert_eq!(server.text("/threads"), "false");
    }
    // Without a setting, the application may choose: Debian's Redmine sets a missing RAILS_ENV to production.
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    assert!(server.text("/environment").starts_with("\"development\" nil nil"), "{}", server.text("/environment"));
}

/// As in Puma, where a proxy serves the application below a path: Rails puts it before all links.
#[test]
fn a_variable_says_below_which_path_a_proxy_serves_the_application() {
    let app = "run ->(env) { [200, {}, [env['SCRIPT_NAME'], ' ', env['PATH_INFO']]] }\n";
    for (name, expected) in [("/shop", "/shop /a"), ("", " /a")] {
        let server = ruby::serve_files(&[("config.ru", app)], &[("SCRIPT_NAME", name)], &["-w", "1", "-t", "1"]);
        assert_eq!(server.text("/a"), expected, "{}", server.log());
    }
}

#[test]
fn process_titles_say_who_is_who() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1", "--tag", "shop"]);
    let titles = || -> Vec<String> { ruby::processes(server.id()).into_iter().map(ruby::title).collect() };
    let expected = ["foolsgold: mold [shop]", "foolsgold: worker 1 [shop]", "foolsgold: worker 2 [shop]"];
    assert!(within(MAX_WAIT, || titles() == expected), "{:?}", titles());
    let folder = fs::canonicalize(&server.folder).unwrap();
    assert!(server.text("/title").contains(folder.to_str().unwrap()), "it runs where it was started");
}

#[test]
fn ctrl_backslash_ends_all_of_it_without_a_word_of_ruby() {
    // As a terminal sends it: to every process of the group.
    let mut server = ruby::serve(APP, &["-w", "2", "-t", "2"]);
    ruby::expect_workers(&server, 2);
    let pids = ruby::processes(server.id());
    for pid in &pids {
        support::successor::kill(*pid, Signal::QUIT);
    }
    server.end(Signal::QUIT);
    assert_gone(&pids, MAX_WAIT, &server.log());
    let log = server.log();
    assert!(!log.contains("ThreadError") && !log.contains("SIGQUIT (SignalException)"), "{log}");
}
