//! What a reload means for Ruby processes: old ones go when they have finished, taken connections live on, and nothing
//! is left over.

use std::fs;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::support::reload::{code, deploy, put, serve, under_load};
use crate::support::successor::{kill, signal};
use crate::support::{MAX_WAIT, Rng, Server, ruby, within};
use rustix::process::Signal;

const HIJACK: &str = include_str!("apps/ruby/hijack.ru");

#[test]
fn old_processes_go_and_nothing_is_left() {
    let mut server = serve("ruby", &["-w", "2", "-t", "2"]);
    let first = ruby::processes(server.id());
    for version in 2..6 {
        deploy(&server, version, version);
    }
    let own = ruby::processes(server.id()).len();
    assert!(own >= 3, "{own} processes");
    assert!(within(MAX_WAIT, || ruby::processes(server.id()).len() == 3), "{:?}", ruby::processes(server.id()));
    assert!(first.iter().all(|pid| !ruby::is_alive(*pid)));
    assert!(within(MAX_WAIT, || folders(server.id()) == 1), "one private folder is left");
    server.end(Signal::TERM);
}

/// How many folders for sockets this server holds open.
fn folders(server: u32) -> usize {
    let text = fs::read_to_string("/proc/net/unix").unwrap();
    let mine = ruby::processes(server).len();
    assert!(mine > 0);
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(7)).collect();
    names.retain(|name| name.contains("foolsgold-wire-") && name.ends_with("wire.sock"));
    names.sort_unstable();
    names.dedup();
    names.iter().filter(|name| is_listened_to_by(server, &text, name)).count()
}

fn is_listened_to_by(server: u32, text: &str, name: &str) -> bool {
    let inodes: Vec<&str> =
        text.lines().filter(|line| line.ends_with(name)).filter_map(|line| line.split_whitespace().nth(6)).collect();
    let Ok(files) = fs::read_dir(format!("/proc/{server}/fd")) else { return false };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let links: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    inodes.iter().any(|inode| links.contains(&format!("socket:[{inode}]")))
}

#[test]
fn connections_that_were_taken_live_until_they_end() {
    let server = ruby::serve(HIJACK, &["-w", "1", "-t", "1"]);
    let old = ruby::workers(&server)[0];
    let mut client = server.send_get("/full-thread");
    let mut partial = server.send_get("/partial");
    assert_eq!(partial.head().unwrap().status, 200);
    server.reload("generation 2 serves");
    assert_eq!(server.text("/plain"), "plain");
    thread::park_timeout(Duration::from_millis(500));
    assert!(ruby::is_alive(old), "its connections are open\n{}", server.log());
    ruby::let_go(&server, "go1");
    assert_eq!(client.reply().unwrap().text(), "later");
    assert!(String::from_utf8_lossy(&partial.rest().unwrap()).contains("second"));
    assert!(within(MAX_WAIT, || !ruby::is_alive(old)), "{}", server.log());
}

#[test]
fn a_storm_of_killed_workers_and_reloads_together_costs_no_safe_request() {
    let server = serve("ruby", &["-w", "2", "-t", "2"]);
    let mut rng = Rng::new(11);
    let mut killed = 0;
    let seen = under_load(&server, 4, |known| {
        for version in 2..8 {
            put(&server.folder, "config.ru", &code(version, ""));
            server.signal(Signal::USR1);
            let words = format!("generation {version} serves");
            let serves = within(MAX_WAIT, || {
                let workers = ruby::workers(&server);
                if !workers.is_empty() && rng.below(4) == 0 {
                    let pid = workers[rng.below(workers.len())];
                    kill(pid, Signal::KILL);
                    killed += 1;
                    thread::park_timeout(Duration::from_millis(60));
                }
                let log = server.log();
                if log.contains(&format!("generation {version} failed")) {
                    // Its mold was hit: that is no fault of the code, and the next attempt has the next number.
                    return true;
                }
                log.contains(&words)
            });
            assert!(serves, "{}", server.log());
            if server.log().contains(&words) {
                known.store(version, Ordering::SeqCst);
            }
        }
    });
    // A POST may be lost with its worker, and says so.
    let wrong: Vec<&String> = seen.wrong.iter().filter(|wrong| !wrong.starts_with("502")).collect();
    assert!(killed > 3 && seen.answers > 100, "{killed} killed, {} answers", seen.answers);
    assert!(wrong.is_empty(), "{wrong:?}\n{}", server.log());
}

#[test]
fn a_worker_that_cannot_boot_in_the_new_code_leaves_the_old_code() {
    let files = [("config.ru", &*code(1, "")), ("config/foolsgold.rb", "")];
    let server = ruby::serve_files(&files, &[], &["-w", "2", "-t", "1"]);
    put(&server.folder, "config.ru", &code(2, ""));
    put(&server.folder, "config/foolsgold.rb", "on_worker_boot { raise \"no database\" }\n");
    server.reload("generation 2 failed, generation 1 goes on");
    assert!(server.log().contains("no database"), "{}", server.log());
    assert_eq!(server.text("/"), "v1");
    put(&server.folder, "config/foolsgold.rb", "on_worker_boot { |number| sleep if number > 1 }\n");
    // One of two comes up, the other hangs: that is not enough.
    put(&server.folder, "foolsgold.toml", "boot-time = \"3s\"\n");
    put(&server.folder, "config.ru", &code(3, ""));
    server.reload("generation 3 failed, generation 1 goes on");
    assert!(server.log().contains("1 of 2 workers came up within 3s (--boot-time)"), "{}", server.log());
    assert_eq!(server.text("/"), "v1");
}

/// How many processes of this kind there are.
fn count(server: &Server, kind: &str) -> usize {
    ruby::processes(server.id()).into_iter().filter(|pid| ruby::title(*pid).contains(kind)).count()
}

#[test]
fn a_surge_bounds_the_workers_that_exist_beside_the_old_ones() {
    // A worker that has left takes its memory until its process has ended, which may be long after its last answer.
    let slow_end = |version| code(version, "at_exit { sleep 0.2 }");
    let options = ["-w", "4", "-t", "1", "--reload-surge", "1", "--access-log", "off"];
    let server = ruby::serve(&slow_end(1), &options);
    assert!(within(MAX_WAIT, || count(&server, "worker") == 4));
    let (mut most, mut looks) = (0, 0);
    let seen = under_load(&server, 6, |known| {
        for version in 2..5 {
            put(&server.folder, "config.ru", &slow_end(version));
            server.signal(Signal::USR1);
            let serves = within(MAX_WAIT, || {
                most = most.max(count(&server, "worker"));
                looks += 1;
                server.log().contains(&format!("generation {version} serves"))
            });
            assert!(serves, "{}", server.log());
            known.store(version, Ordering::SeqCst);
            assert!(within(MAX_WAIT, || count(&server, "worker") == 4 && count(&server, "mold") == 1));
        }
    });
    assert!(seen.answers > 100 && seen.wrong.is_empty(), "{:?} of {}\n{}", seen.wrong, seen.answers, server.log());
    assert!((5..=5).contains(&most), "{most} workers at a time, in {looks} looks\n{}", server.log());
}

#[test]
fn a_bounded_surge_waits_until_the_processes_of_old_workers_have_ended() {
    let server = ruby::serve(&code(1, ""), &["-w", "3", "-t", "1", "--reload-surge", "1"]);
    assert!(within(MAX_WAIT, || count(&server, "worker") == 3));
    // As long as it is stopped, nobody takes note of the end of its workers.
    let mold = ruby::mold(&server);
    ruby::stop(mold);
    put(&server.folder, "config.ru", &code(2, ""));
    server.reload("shutting down: fewer workers wanted");
    let serves = || server.log().contains("generation 2 serves");
    assert!(!within(Duration::from_secs(2), serves), "{}", server.log());
    signal(mold, Signal::CONT);
    assert!(within(MAX_WAIT, serves), "{}", server.log());
}

/// Three workers, and new code of which only the first worker boots.
fn with_new_code_for_one_worker() -> Server {
    let options = ["-w", "3", "-t", "1", "--reload-surge", "1", "--preload=no", "--boot-time", "4s"];
    let server = ruby::serve(&code(1, ""), &options);
    // One that still boots would load the new code, as one of the old.
    ruby::expect_ready(&server, 3);
    let only_one = "raise 'no more' if File.open('boots', 'a+') { |file| file.write('x'); file.flush; file.size } > 1";
    put(&server.folder, "config.ru", &code(2, only_one));
    server
}

#[test]
fn a_surge_of_which_no_more_workers_come_up_goes_back_to_the_old_code() {
    let server = with_new_code_for_one_worker();
    server.reload("reload failed");
    server.must_log("generation 2 failed, generation 1 goes on: 1 of 2 workers came up");
    assert_eq!(server.text("/"), "v1");
    assert!(within(MAX_WAIT, || count(&server, "worker") == 3), "{}", server.log());
}

#[test]
fn fewer_workers_that_are_ordered_during_a_surge_are_enough_for_it() {
    let server = with_new_code_for_one_worker();
    server.signal(Signal::USR1);
    let boots = || fs::metadata(server.folder.join("boots")).map_or(0, |file| file.len());
    assert!(within(MAX_WAIT, || boots() > 1), "{}", server.log());
    server.done(&["scale", "1"]);
    server.must_log("generation 2 serves");
    assert_eq!(server.text("/"), "v2");
    assert!(within(MAX_WAIT, || count(&server, "worker") == 1), "{}", server.log());
}

/// While new and old code both serve, orders reach both: the old code serves again if the new one fails.
#[test]
fn a_pause_that_ends_during_a_surge_has_ended_for_the_old_code_too() {
    let server = with_new_code_for_one_worker();
    server.done(&["pause"]);
    server.signal(Signal::USR1);
    let boots = || fs::metadata(server.folder.join("boots")).map_or(0, |file| file.len());
    assert!(within(MAX_WAIT, || boots() > 1), "{}", server.log());
    server.done(&["resume"]);
    server.must_log("reload failed");
    assert_eq!(server.text("/"), "v1");
}

#[test]
fn an_application_that_sleeps_is_reloaded_asleep_and_wakes_with_new_code() {
    let server = serve("ruby", &["--min-workers", "0", "--max-workers", "2", "-t", "1", "--idle-time", "200ms"]);
    assert_eq!(server.text("/"), "v1");
    assert!(within(MAX_WAIT, || count(&server, "worker") == 0), "{}", server.log());
    deploy(&server, 2, 2);
    assert_eq!(server.text("/"), "v2");
    assert!(within(MAX_WAIT, || count(&server, "mold") == 1), "{}", server.log());
}

#[test]
fn it_says_how_many_workers_were_ordered_and_not_how_many_are_configured() {
    let server = ruby::serve("run ->(_) { [200, {}, ['gold']] }\n", &["-w", "1", "-t", "1"]);
    server.done(&["scale", "2"]);
    let text = server.done(&["reload"]);
    assert!(text.contains(": 2 workers ("), "{text}");
    server.must_log("s: 2 workers (");
}
