//! The mold in trouble: hooks and files of the application that exit, hang or fork where they should not. The start
//! fails in time, the service goes on, and nothing is left.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::successor::kill;
use crate::support::{MAX_WAIT, Server, ruby, server, within};
use rustix::process::Signal;

const APP: &str = include_str!("apps/ruby/work.ru");
/// Notes its process and does what the test has asked for by a file.
const HOOKS: &str = "before_fork do
  File.write(\"notes\", \"#{Process.pid}\\n\", mode: \"a\")
  exit!(7) if File.exist?(\"die\")
  sleep if File.exist?(\"hang\")
end
";

/// What is said of a start that must fail, and how long it took.
#[track_caller]
fn fail(folder: &Path, options: &[&str]) -> (String, Duration) {
    let began = Instant::now();
    let own = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &ruby::program(), "-w", "2", "-t", "1"];
    (server::exits_with(1, folder, &[], &[&own[..], options].concat()), began.elapsed())
}

/// Processes that the application has noted.
fn noted(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("notes")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[track_caller]
fn assert_gone(pids: &[u32]) {
    let alive = || pids.iter().any(|pid| ruby::is_alive(*pid));
    assert!(!pids.is_empty() && within(Duration::from_secs(6), || !alive()), "{pids:?}");
}

#[test]
fn a_hook_that_exits_or_hangs_before_the_first_fork_fails_the_start_in_time() {
    let cases = [("die", "status 7, before it forked", "30s", 0), ("hang", "not loaded within 5s", "5s", 5)];
    for (file, words, boot_time, least) in cases {
        let folder = ruby::folder(&[("config.ru", APP), ("config/foolsgold.rb", HOOKS), (file, "")]);
        let (said, took) = fail(&folder, &["--boot-time", boot_time]);
        assert!(said.contains(words), "{said}");
        assert!(took >= Duration::from_secs(least) && took < Duration::from_secs(30), "{file}: {took:?}");
        assert_gone(&noted(&folder));
    }
}

#[test]
fn a_mold_that_exits_or_hangs_later_is_replaced_and_the_service_goes_on() {
    let files = [("config.ru", APP), ("config/foolsgold.rb", HOOKS)];
    let server = ruby::serve_files(&files, &[], &["-w", "2", "-t", "1", "--boot-time", "5s"]);
    for (file, words) in [("hang", "boot timed out after 5s"), ("die", "status 7, before it forked")] {
        // Workers of an older mold have another parent.
        let titled = || ruby::workers(&server).into_iter().filter(|pid| ruby::title(*pid).contains("worker"));
        assert!(within(MAX_WAIT, || titled().count() >= 1), "{}", server.log());
        ruby::let_go(&server, file);
        let worker = titled().next().unwrap();
        kill(worker, Signal::KILL);
        server.must_log(words);
        assert_eq!(server.text("/"), "gold", "the other worker serves");
        let before = noted(&server.folder).len();
        fs::remove_file(server.folder.join(file)).unwrap();
        assert!(within(MAX_WAIT, || noted(&server.folder).len() > before), "no new try\n{}", server.log());
        assert!(within(MAX_WAIT, || titled().count() >= 1), "no new worker\n{}", server.log());
    }
    assert_eq!(server.text("/"), "gold");
}

/// Starts a server that does not come to serve, and waits until its mold is in the hook.
fn hanging(files: &[(&str, &str)]) -> Server {
    let (folder, program) = (ruby::folder(files), ruby::program());
    let place = folder.join("tmp");
    fs::create_dir(&place).unwrap();
    let env = [("TMPDIR", place.to_str().unwrap())];
    let server = Server::begin(folder, &env, &["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &program]);
    assert!(within(MAX_WAIT, || !noted(&server.folder).is_empty()), "{}", server.log());
    server
}

#[test]
fn a_mold_that_hangs_does_not_outlive_a_server_that_is_ended_while_it_starts() {
    let loads = format!("File.write(\"notes\", \"#{{Process.pid}}\\n\")\nsleep\n{APP}");
    let in_hook = [("config.ru", APP), ("config/foolsgold.rb", HOOKS), ("hang", "")];
    let in_file = [("config.ru", loads.as_str())];
    for (files, signal) in [(&in_hook[..], Signal::TERM), (&in_hook[..], Signal::KILL), (&in_file[..], Signal::TERM)] {
        let mut server = hanging(files);
        server.signal(signal);
        assert!(server.ended(Duration::from_secs(5)).is_some(), "{}", server.log());
        assert_gone(&noted(&server.folder));
        let is_left = || fs::read_dir(server.folder.join("tmp")).unwrap().count() > 0;
        assert!(within(MAX_WAIT, || !is_left()), "a folder of ours is left");
    }
}

#[test]
fn a_mold_that_hangs_does_not_outlive_a_server_that_ends() {
    let files = [("config.ru", APP), ("config/foolsgold.rb", HOOKS)];
    let mut server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "1"]);
    ruby::expect_workers(&server, 1);
    ruby::let_go(&server, "hang");
    let before = noted(&server.folder).len();
    kill(ruby::workers(&server)[0], Signal::KILL);
    assert!(within(MAX_WAIT, || noted(&server.folder).len() > before), "{}", server.log());
    let pids = ruby::processes(server.id());
    server.end_within(Signal::TERM, Duration::from_secs(8));
    assert_gone(&pids);
}

/// The mold is killed, since it may be forking, and cannot report the exit of a worker that boots.
#[test]
fn a_server_that_still_starts_workers_ends_at_once() {
    let hooks = "before_fork do
  $forks = $forks.to_i + 1
  File.write(\"third\", \"\") && sleep if $forks == 3
end
after_fork { |worker| File.write(\"second\", \"\") && sleep if worker == 2 }
";
    let files = [("config.ru", APP), ("config/foolsgold.rb", hooks)];
    let mut server = ruby::serve_files(&files, &[], &["-w", "3", "-t", "1"]);
    let is_there = |name: &str| server.folder.join(name).exists();
    assert!(within(MAX_WAIT, || is_there("second") && is_there("third")), "{}", server.log());
    server.end_within(Signal::TERM, Duration::from_secs(4));
    assert!(!server.log().contains("boot failed"), "{}", server.log());
}

#[test]
fn a_process_that_the_application_forked_while_it_was_loaded_does_not_hold_up_the_end() {
    let app = format!("child = fork {{ sleep 120 }}\nFile.write(\"notes\", \"#{{child}}\\n\")\n{APP}");
    let mut server = ruby::serve(&app, &["-w", "1", "-t", "1"]);
    assert_eq!(server.text("/"), "gold");
    let child = noted(&server.folder)[0];
    let ours: Vec<u32> = ruby::processes(server.id()).into_iter().filter(|pid| *pid != child).collect();
    server.signal(Signal::TERM);
    let status = server.ended(Duration::from_secs(8));
    let lives = ruby::is_alive(child);
    kill(child, Signal::KILL);
    assert!(status.is_some_and(|status| status.success()), "{}", server.log());
    assert!(lives, "it is the application's, and not ours to end");
    assert_gone(&ours);
}

#[test]
fn a_program_that_is_no_ruby_and_hangs_fails_the_start_in_time() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let slow = server::script(folder.join("slow"), "#!/bin/sh\necho $$ >> notes\nexec sleep 120\n");
    // With a cache it is asked for a native worker first.
    fs::create_dir_all(folder.join("cache/foolsgold/native")).unwrap();
    let began = Instant::now();
    let cache = folder.join("cache").display().to_string();
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--boot-time", "1s", "--ruby", &slow];
    let said = server::exits_with(1, &folder, &[("XDG_CACHE_HOME", &cache)], &options);
    assert!(said.contains("not loaded within 1s") && began.elapsed() < MAX_WAIT, "{:?}: {said}", began.elapsed());
    assert_gone(&noted(&folder));
}

#[test]
fn the_death_of_a_worker_is_in_the_log_when_its_mold_cannot_tell() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    ruby::expect_workers(&server, 1);
    let (mold, worker) = (ruby::mold(&server), ruby::workers(&server)[0]);
    kill(mold, Signal::KILL);
    server.must_log("mold (pid ");
    kill(worker, Signal::KILL);
    server.must_log(&format!("worker 1 (pid {worker}) exited, status unknown"));
    assert_eq!(server.text("/"), "gold");
    // One whose mold lives is told of once.
    let next = ruby::workers(&server)[0];
    kill(next, Signal::KILL);
    server.must_log(&format!("(pid {next}) exited: killed by SIGKILL"));
    assert_eq!(server.text("/"), "gold");
    assert!(!server.log().contains(&format!("(pid {next}) exited, status unknown")), "{}", server.log());
}

/// What an application may do with children that are not its own: in a thread, or in a handler that it sets after
/// the mold has set its own. (1 is WNOHANG: without it a handler whose child has been waited for holds up its process.)
const TAKERS: [(&str, &str); 4] = [
    ("a thread that waits for all", "Thread.new { loop { Process.waitall; sleep 0.001 } }"),
    ("a thread that waits for any", "Thread.new { loop { (Process.wait rescue nil); sleep 0.001 } }"),
    ("a handler", "FoolsGold.before_fork { trap('CLD') { Process.wait(-1, 1) rescue nil } }"),
    ("nobody", "FoolsGold.before_fork { trap('CHLD', 'IGNORE') }"),
];

#[test]
fn workers_that_the_application_waits_for_are_replaced_as_always() {
    for (name, taker) in TAKERS {
        let more = ["-w", "2", "-t", "1", "--preload", "--log", "engine=debug"];
        let mut server = ruby::serve(&format!("{taker}\n{APP}"), &more);
        ruby::expect_workers(&server, 2);
        let mold = ruby::mold(&server);
        for _ in 0..3 {
            let worker = ruby::workers(&server)[0];
            // The death of one that boots is another matter.
            assert!(server.logs(&format!("(pid {worker}) ready after")), "{name}: {}", server.log());
            kill(worker, Signal::KILL);
            assert!(server.logs(&format!("(pid {worker}) exited")), "{name}: {}", server.log());
            let is_whole = || ruby::workers(&server).len() == 2 && !ruby::workers(&server).contains(&worker);
            assert!(within(MAX_WAIT, is_whole), "{name}: {}", server.log());
            assert_eq!(server.text("/"), "gold");
        }
        assert_eq!(ruby::mold(&server), mold, "{name}: the mold has ended\n{}", server.log());
        assert!(!server.log().contains("could not be forked"), "{name}: {}", server.log());
        let ours = ruby::processes(server.id());
        server.end_within(Signal::TERM, Duration::from_secs(15));
        assert!(!server.log().contains("SIGKILL; ") && !server.log().contains("ERROR"), "{name}: {}", server.log());
        assert_gone(&ours);
    }
}

#[test]
fn a_child_that_the_application_forks_without_a_block_while_it_is_loaded_is_no_second_mold() {
    for preload in ["--preload", "--preload=no"] {
        for end in ["exit", "exit 3", "raise 'the child fails'", "nil"] {
            let forks =
                format!("unless fork\n  File.write(\"notes\", \"#{{Process.pid}}\\n\", mode: \"a\")\n  {end}\nend\n");
            let server = ruby::serve(&format!("{forks}{APP}"), &["-w", "2", "-t", "1", preload]);
            assert!(within(MAX_WAIT, || server.text("/") == "gold"), "{end}: {}", server.log());
            assert!(within(MAX_WAIT, || !noted(&server.folder).is_empty()), "{end}: {}", server.log());
            assert_gone(&noted(&server.folder));
            let log = server.log();
            assert!(!log.contains("cannot start") && !log.contains("protocol"), "{end}: {log}");
        }
    }
}

#[test]
fn a_hook_of_the_mold_may_raise_anything() {
    let hooks =
        "before_fork { raise Exception, 'no standard error' }\nbefore_fork { raise SecurityError, 'nor this' }\n";
    let files = [("config.ru", APP), ("config/foolsgold.rb", hooks)];
    let server = ruby::serve_files(&files, &[], &["-w", "2", "-t", "1"]);
    ruby::expect_workers(&server, 2);
    for words in ["no standard error (Exception)", "nor this (SecurityError)"] {
        server.must_log(&format!("the hook before_fork failed: {words}"));
    }
    let (mold, worker) = (ruby::mold(&server), ruby::workers(&server)[0]);
    kill(worker, Signal::KILL);
    let is_replaced = || ruby::workers(&server).len() == 2 && !ruby::workers(&server).contains(&worker);
    assert!(within(MAX_WAIT, is_replaced), "{}", server.log());
    assert_eq!((ruby::mold(&server), server.text("/").as_str()), (mold, "gold"), "{}", server.log());
}

#[test]
fn a_child_that_a_hook_forks_without_a_block_is_no_second_mold_or_worker() {
    for hook in ["before_fork", "on_worker_boot"] {
        for end in ["exec 'no-such-program-of-ours'", "nil"] {
            let note = "File.write(\"notes\", \"#{Process.pid}\\n\", mode: \"a\")";
            let hooks = format!("{hook} do\n  unless fork\n    {note}\n    {end}\n  end\nend\n");
            let files = [("config.ru", APP), ("config/foolsgold.rb", hooks.as_str())];
            let server = ruby::serve_files(&files, &[], &["-w", "2", "-t", "1"]);
            assert!(within(MAX_WAIT, || server.text("/") == "gold"), "{hook}, {end}: {}", server.log());
            assert!(within(MAX_WAIT, || !noted(&server.folder).is_empty()), "{hook}, {end}: {}", server.log());
            assert_gone(&noted(&server.folder));
            assert!(!server.log().contains("protocol"), "{hook}, {end}: {}", server.log());
        }
    }
}

#[test]
fn a_process_that_the_application_forks_has_a_title_that_is_no_workers() {
    let app = "knows = Process.respond_to?(:_fork)\n\
               run ->(env) { [200, {}, [(env['PATH_INFO'] == '/fork' ? fork { sleep 120 } : knows).to_s]] }\n";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--tag", "shop"]);
    if server.text("/") == "true" {
        let child: u32 = server.text("/fork").parse().unwrap();
        let expected = "foolsgold: child of worker 1 [shop]";
        let has_title = within(MAX_WAIT, || ruby::title(child) == expected);
        let title = ruby::title(child);
        kill(child, Signal::KILL);
        assert!(has_title, "{title}");
        assert_eq!(ruby::title(ruby::workers(&server)[0]), "foolsgold: worker 1 [shop]");
    }
}
