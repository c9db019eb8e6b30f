//! Signals that reach Ruby processes: sent by tools to all processes of a service, by an application to the programs
//! that it has started, or to itself.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::support::successor::signal as kill;
use crate::support::{MAX_WAIT, Server, ruby, within};
use rustix::process::Signal;

const APP: &str = r#"
require "timeout"
# What comes of a program that is sent this signal.
def ended_by(name, pid = spawn("sleep", "60"))
  Process.kill(name, pid)
  Timeout.timeout(10) { Process.wait(pid) }
  Signal.signame($?.termsig)
rescue Timeout::Error
  Process.kill("KILL", pid)
  "nothing"
end
# The same of a child that is forked.
def forked_and_ended_by(name)
  reader, writer = IO.pipe
  pid = fork { writer.write("x"); writer.close; sleep }
  reader.read(1)
  ended_by(name, pid)
end
LOADED = ended_by("TERM")
run lambda { |env|
  _, what, name = env["PATH_INFO"].split("/")
  said =
    case what
    when "child" then ended_by(name)
    when "forked" then forked_and_ended_by(name)
    when "loaded" then LOADED
    when "own" then Process.kill(name, $$); sleep 0.05; $$
    when "wait"
      File.write("notes", "runs\n", mode: "a")
      sleep 0.02 until File.exist?("go")
      $$
    else $$
    end
  [200, { "content-type" => "text/plain" }, [said.to_s]]
}
"#;

fn serve(workers: &str, kind: &str) -> Server {
    ruby::serve(APP, &["-e", "production", "-w", workers, "-t", "2", "--ruby-worker", kind])
}

#[test]
fn programs_that_the_application_starts_can_be_ended() {
    for workers in ["1", "2"] {
        let server = serve(workers, "auto");
        for name in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "PWR"] {
            assert_eq!(server.text(&format!("/child/{name}")), name, "{workers} workers");
        }
        assert_eq!(server.text("/loaded"), "TERM", "{workers} workers, while the application loads");
    }
}

#[test]
fn signals_for_the_server_that_reach_all_processes_end_and_stop_none() {
    for kind in ["plain", "auto"] {
        let server = serve("2", kind);
        ruby::expect_workers(&server, 2);
        let pids = ruby::processes(server.id());
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let mut client = server.client();
                client.send("POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
                client
            })
            .collect();
        assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 4), "{}", server.log());
        for signal in [Signal::TTIN, Signal::TTOU, Signal::POWER, Signal::USR1, Signal::USR2, Signal::HUP, Signal::INT]
        {
            pids.iter().for_each(|pid| kill(*pid, signal));
        }
        ruby::let_go(&server, "go");
        for mut client in clients {
            assert_eq!(client.reply().unwrap().status, 200, "{kind}\n{}", server.log());
        }
        assert_eq!(ruby::processes(server.id()), pids, "{kind}\n{}", server.log());
    }
}

#[test]
fn a_worker_that_asks_itself_to_end_answers_and_is_replaced_at_once() {
    for workers in ["1", "2"] {
        let server = serve(workers, "auto");
        for name in ["QUIT", "TERM"] {
            let mut seen = BTreeSet::new();
            for _ in 0..4 {
                let reply = server.get(&format!("/own/{name}"));
                assert_eq!(reply.status, 200, "{}", server.log());
                seen.insert(reply.text());
            }
            assert_eq!(seen.len(), 4, "each by another worker: {seen:?}\n{}", server.log());
        }
        assert!(server.log().contains("a signal asked it to exit"), "{}", server.log());
    }
}

/// A child that the application forks has the handlers of its worker, and is no worker.
#[test]
fn a_child_that_the_application_forks_is_ended_by_a_signal_and_its_worker_is_not() {
    let server = serve("1", "auto");
    let worker = ruby::workers(&server);
    for name in ["TERM", "QUIT", "INT", "HUP", "USR1", "USR2", "PWR"] {
        assert_eq!(server.text(&format!("/forked/{name}")), name, "{}", server.log());
    }
    assert_eq!(ruby::workers(&server), worker, "{}", server.log());
}

/// One that is forked in a hook has the handlers of the mold, or of a worker that boots.
#[test]
fn a_child_that_a_hook_forks_is_ended_by_a_signal() {
    let hooks = "bind 'tcp://127.0.0.1:0'\ndef ended_by(name, pid)\n  Process.kill(name, pid)\n  \
                 Process.wait(pid)\n  $?.termsig.to_s\nend\n\
                 def note(text) = File.write('notes', \"#{text}\\n\", mode: 'a')\n\
                 after_booted do\n  \
                 note(%w[TERM INT HUP QUIT].map { |name| ended_by(name, Process.fork { sleep 60 }) }.join(' '))\n  \
                 $pid = Process.fork { sleep 60 }\nend\n\
                 after_stopped { note(ended_by('TERM', $pid)) }\n";
    // In single mode, these hooks run in the worker.
    for workers in ["workers 0\n", "workers 1\n"] {
        let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", &format!("{workers}{hooks}"))]);
        let mut server = ruby::serve_with("puma.rb", folder, &[]);
        ruby::wait_for_note(&server, "15 2 1 3");
        server.end_within(Signal::TERM, Duration::from_secs(20));
        assert_eq!(ruby::notes(&server), ["15 2 1 3", "15"], "{workers}{}", server.log());
    }
}

#[test]
fn hooks_of_other_servers_take_no_signal_from_a_worker() {
    let hooks = "workers 1\nbind 'tcp://127.0.0.1:0'\nbefore_thread_start {}\nout_of_band {}\nbefore_worker_boot {}\n";
    let server = ruby::serve_with("puma.rb", ruby::folder(&[("config.ru", APP), ("puma.rb", hooks)]), &[]);
    let seen: BTreeSet<String> = (0..3).map(|_| server.text("/own/TERM")).collect();
    assert_eq!(seen.len(), 3, "each by another worker: {seen:?}\n{}", server.log());
}

/// It begins while its worker boots, and ends when that serves.
#[test]
fn a_hook_of_a_thread_that_takes_long_takes_no_signal_from_its_worker() {
    let hooks = "workers 1\nthreads 2, 2\nbind 'tcp://127.0.0.1:0'\nbefore_thread_start do\n  \
                 next if Thread.current == Thread.main\n  \
                 sleep 0.3\n  File.write('notes', \"hooked\\n\", mode: 'a')\nend\n";
    let server = ruby::serve_with("puma.rb", ruby::folder(&[("config.ru", APP), ("puma.rb", hooks)]), &[]);
    let mut seen = BTreeSet::new();
    for workers in 1..=3 {
        assert!(within(MAX_WAIT, || ruby::notes(&server).len() == workers), "{seen:?}\n{}", server.log());
        seen.insert(server.text("/own/TERM"));
    }
    assert_eq!(seen.len(), 3, "each by another worker: {seen:?}\n{}", server.log());
}

#[test]
fn one_worker_that_is_asked_to_end_is_replaced_and_with_all_of_them_the_server_ends() {
    let mut server = serve("2", "auto");
    ruby::expect_workers(&server, 2);
    let worker = ruby::workers(&server)[0];
    kill(worker, Signal::TERM);
    thread::scope(|scope| {
        scope.spawn(|| {
            while ruby::is_alive(worker) {
                assert_eq!(server.get("/").status, 200, "{}", server.log());
            }
        });
        assert!(within(MAX_WAIT, || !ruby::is_alive(worker)), "{}", server.log());
    });
    ruby::expect_workers(&server, 2);
    let pids = ruby::processes(server.id());
    pids.iter().chain(&[server.id()]).for_each(|pid| kill(*pid, Signal::TERM));
    server.must_end();
}

/// As a service manager ends a service that has no other instruction. A second later they would be replaced.
#[test]
fn workers_that_are_asked_to_end_with_the_server_are_not_replaced_while_it_finishes_requests() {
    let mut server = serve("2", "auto");
    ruby::expect_workers(&server, 2);
    let mut client = server.send_get("/wait");
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 1), "{}", server.log());
    let pids = ruby::processes(server.id());
    pids.iter().chain(&[server.id()]).for_each(|pid| kill(*pid, Signal::TERM));
    assert!(server.ended(Duration::from_secs(2)).is_none(), "it finishes the request");
    assert_eq!(ruby::processes(server.id()), pids, "{}", server.log());
    ruby::let_go(&server, "go");
    assert_eq!(client.reply().unwrap().status, 200, "{}", server.log());
    server.must_end();
    assert!(!server.log().contains("a signal asked it to exit"), "{}", server.log());
}

/// What applications and hooks do to their server: they send a signal to the parent of their worker, or to themselves
/// from a hook that runs in other servers' master.
#[test]
fn signals_for_the_parent_of_a_worker_and_from_hooks_of_a_master_reach_the_server() {
    let app = "run ->(env) { Process.kill(env['PATH_INFO'].delete('/').to_sym, Process.ppid); [200, {}, ['sent']] }\n";
    let hooks =
        "workers 1\nbefore_fork { Thread.new { sleep 0.01 until File.exist?('go'); Process.kill('TTIN', $$) } }\n";
    let folder = ruby::folder(&[("config.ru", app), ("puma.rb", hooks)]);
    let mut server = ruby::serve_with("puma.rb", folder, &["-b", "tcp://127.0.0.1:0", "--preload"]);
    server.get("/TTIN");
    ruby::expect_workers(&server, 2);
    std::fs::write(server.folder.join("go"), "").unwrap();
    ruby::expect_workers(&server, 3);
    server.get("/USR1");
    server.must_log("generation 2 serves");
    // What comes from elsewhere may have been meant for all processes of the service.
    let mold = ruby::mold(&server);
    kill(mold, Signal::USR2);
    server.must_log(&format!("which only forks workers: the server is process {}", server.id()));
    server.get("/TERM");
    server.must_end();
}

/// Gems that end workers look for their own server, find none, and say nothing.
#[test]
fn gems_that_would_end_workers_of_their_own_server_are_named_with_what_does_the_same() {
    let app = "module Unicorn; module WorkerKiller; end; module OobGC; end; end\nmodule PumaWorkerKiller; end\n\
               run ->(_) { [200, {}, []] }\n";
    for preload in ["--preload=yes", "--preload=no"] {
        let server = ruby::serve(app, &["-w", "2", preload]);
        assert!(server.logs("PumaWorkerKiller finds no server of its own here"), "{preload}: {}", server.log());
        assert!(server.logs("Unicorn::WorkerKiller finds no server of its own here"), "{preload}: {}", server.log());
        let words = "Unicorn::OobGC finds no server of its own here and does nothing: --oob-gc collects garbage";
        assert!(server.logs(words), "{preload}: {}", server.log());
        assert_eq!(server.log().matches("--worker-memory=SIZE").count(), 2, "{preload}: {}", server.log());
    }
}

/// As the page of the gem has it, for an application that does not load all gems of its bundle.
#[test]
fn such_a_gem_is_named_once_if_only_a_hook_before_the_fork_loads_it() {
    let gem = "module PumaWorkerKiller\n  def self.start; end\nend\n";
    let file = "workers 2\npreload_app!\nbind 'tcp://127.0.0.1:0'\n\
                before_fork do\n  require File.expand_path('lib/puma_worker_killer')\n  PumaWorkerKiller.start\nend\n";
    let app = "run ->(_) { [200, {}, []] }\n";
    let folder = ruby::folder(&[("config.ru", app), ("puma.rb", file), ("lib/puma_worker_killer.rb", gem)]);
    let server = ruby::serve_with("puma.rb", folder, &[]);
    ruby::expect_workers(&server, 2);
    server.must_log("PumaWorkerKiller finds no server of its own here");
    server.must_log("`foolsgold recycle`, called by a timer, replaces all, as enable_rolling_restart does");
    assert_eq!(server.log().matches("PumaWorkerKiller finds").count(), 1, "{}", server.log());
}
