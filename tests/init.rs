//! As process 1 of a container: orphans, signals, upgrades, exit codes.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::successor::{Load, Manager, signal};
use crate::support::{Client, Folder, MAX_WAIT, Server, app, ruby, server, within};
use rustix::process::{Signal, geteuid};

/// Makes the program process 1 of processes of its own, which all end with it.
const AS_FIRST: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// Whether this machine lets us have processes of our own.
fn is_permitted() -> bool {
    crate::support::is_permitted(&AS_FIRST, "/")
}

/// A server that is process 1, where that is permitted.
fn start(config: &str, options: &[&str]) -> Option<Server> {
    let serve = || {
        let folder = server::folder_with(&[("config.ru", config)]);
        Server::spawn_by(&AS_FIRST, folder, &[], &[&["-b", "tcp://127.0.0.1:0"], options].concat())
    };
    is_permitted().then(serve)
}

/// The same by a shell script, which finds this socket at its standard input and moves it to file descriptor 3.
fn activated(script: &str, socket: TcpListener, folder: Folder, env: &[(&str, &str)], more: &[&str]) -> Option<Server> {
    let by = [&["sh", "-c", script, "sh"][..], &AS_FIRST].concat();
    is_permitted().then(|| Server::begin_by(&by, OwnedFd::from(socket).into(), folder, env, more))
}

/// Ends process 1, which must be a shutdown like any other.
#[track_caller]
fn end(server: &mut Server) {
    signal(first(server), Signal::TERM);
    expect_code(server, 0);
}

/// Waits until all have ended, with this exit code.
#[track_caller]
fn expect_code(server: &mut Server, code: i32) {
    assert_eq!(server.ended(MAX_WAIT).and_then(|status| status.code()), Some(code), "{}", server.log());
}

/// Process 1, by its number out here.
fn first(server: &Server) -> u32 {
    ruby::processes(server.id())[0]
}

/// Processes that have ended, and that their parent has not waited for.
fn zombies(parent: u32) -> usize {
    let stats =
        fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let is_zombie = |stat: &String| {
        let words: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
        words.first() == Some(&"Z") && words.get(1) == Some(&parent.to_string().as_str())
    };
    stats.filter(is_zombie).count()
}

#[test]
fn orphans_of_the_application_are_waited_for() {
    let app = app("", "system('(sleep 0.05)& (setsid sleep 0.1 &)'); 'gold'");
    let options = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1", "-t", "1"];
    let Some(mut server) = start(&app, &options) else { return };
    let first = first(&server);
    for _ in 0..10 {
        assert_eq!(server.text("/"), "gold");
    }
    // The server, its mold and its worker; nothing else is left, dead or alive.
    assert!(within(MAX_WAIT, || zombies(first) == 0 && ruby::processes(first).len() <= 3), "{}", zombies(first));
    end(&mut server);
}

#[test]
fn an_upgrade_loses_nothing_and_the_container_goes_on() {
    let app_of = |version: &str| app("", &format!("'{version} ' + env['PATH_INFO']"));
    let Some(mut server) = start(&app_of("v1"), &["-t", "1", "--pidfile", "web.pid"]) else { return };
    let (first, port) = (first(&server), server.port);
    fs::write(server.folder.join("config.ru"), app_of("v2")).unwrap();
    let load = Load::start(2, move || Client::tcp(port));
    for round in 0..2 {
        load.goes_on(20);
        let pid = fs::read_to_string(server.folder.join("web.pid")).unwrap();
        signal(first, Signal::USR2);
        let is_new =
            || fs::read_to_string(server.folder.join("web.pid")).is_ok_and(|text| text != pid && !text.is_empty());
        assert!(within(MAX_WAIT, is_new), "round {round}: {}", server.log());
        // The one before has ended, and has been waited for.
        assert!(within(MAX_WAIT, || ruby::processes(first).len() == 1 && zombies(first) == 0), "{}", server.log());
        load.goes_on(20);
    }
    load.end();
    assert_eq!(server.text("/a"), "v2 /a");
    end(&mut server);
    assert!(!server.folder.join("web.pid").exists());
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let Some(server) = start(&app("", "'v1'"), &["-t", "1"]) else { return };
    fs::write(server.folder.join("config.ru"), "raise 'broken on purpose'").unwrap();
    signal(first(&server), Signal::USR2);
    server.must_log("upgrade failed, this process goes on");
    assert_eq!(server.text("/"), "v1");
    assert!(within(MAX_WAIT, || zombies(first(&server)) == 0 && ruby::processes(first(&server)).len() == 1));
}

#[test]
fn every_signal_reaches_the_server() {
    let Some(mut server) = start(&app("", "'gold'"), &["-t", "1", "--log-file", "log"]) else { return };
    let first = first(&server);
    for (number, words) in [
        (Signal::USR1, "SIGUSR1: reloading"),
        (Signal::HUP, "SIGHUP: "),
        (Signal::URG, "SIGURG: "),
        (Signal::TTIN, "SIGTTIN: "),
        (Signal::TTOU, "SIGTTOU: "),
        (Signal::POWER, "SIGPWR: "),
        (Signal::INT, "SIGINT: "),
    ] {
        signal(first, number);
        assert!(within(MAX_WAIT, || server.log().matches(words).count() == 1), "{words}: {}", server.log());
    }
    expect_code(&mut server, 0);
}

/// As root of a container without the capability KILL, which signals to a process of another user need: a stop of the
/// container then ends only by its time limit.
#[test]
fn a_signal_that_may_not_be_passed_on_is_in_the_log() {
    let by = [&AS_FIRST[..], &["setpriv", "--bounding-set=-kill"]].concat();
    if !geteuid().is_root() || !crate::support::is_permitted(&by, "/") {
        return;
    }
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1", "--user", "nobody"];
    let mut server = Server::spawn_by(&by, folder, &[], &options);
    signal(first(&server), Signal::TERM);
    server.must_log("process 1 may not pass SIGTERM on");
    assert_eq!(server.text("/"), "gold");
    signal(ruby::processes(first(&server))[0], Signal::TERM);
    expect_code(&mut server, 0);
}

#[test]
fn a_server_that_still_loads_can_be_ended_and_one_that_is_killed_ends_the_container() {
    if !is_permitted() {
        return;
    }
    let folder = server::folder_with(&[("config.ru", "puts 'it loads'\n$stdout.flush\nsleep")]);
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &ruby::program()];
    let mut server = Server::begin_by(&AS_FIRST, Stdio::null(), folder, &[], &options);
    server.must_log("it loads");
    end(&mut server);

    let Some(mut server) = start(&app("", "'gold'"), &["-t", "1"]) else { return };
    signal(ruby::processes(first(&server))[0], Signal::KILL);
    expect_code(&mut server, 137);
}

#[test]
fn a_start_that_fails_says_so_with_its_exit_code() {
    if !is_permitted() {
        return;
    }
    let folder = server::folder_with(&[("config.ru", "raise 'broken on purpose'")]);
    for (options, code, words) in [(&["-t", "1"][..], 1, "broken on purpose"), (&["--nonsense"], 2, "--nonsense")] {
        let mut command = Command::new(AS_FIRST[0]);
        command.args(&AS_FIRST[1..]).arg(server::command().get_program()).args(["-b", "tcp://127.0.0.1:0"]);
        let ran = command.args(options).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!((ran.status.code(), said.matches(words).count()), (Some(code), 1), "{said}");
    }
}

#[test]
fn a_server_in_the_background_keeps_the_container() {
    let options = ["-t", "1", "-d", "--pidfile", "web.pid", "--redirect-stdout", "log"];
    let Some(mut server) = start(&app("", "'gold'"), &options) else { return };
    assert!(within(MAX_WAIT, || server.folder.join("web.pid").exists()));
    // The process that has started it has ended.
    assert!(within(MAX_WAIT, || ruby::processes(first(&server)).len() == 1 && zombies(first(&server)) == 0));
    assert_eq!(server.text("/"), "gold");
    end(&mut server);
}

#[test]
fn what_is_meant_for_process_1_reaches_the_server() {
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (manager, notify) = Manager::listen(&folder);
    // --kill-child ends all with the shell's process.
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=1 WATCHDOG_PID=1 exec \"$@\"";
    let env = [("NOTIFY_SOCKET", notify.as_str()), ("WATCHDOG_USEC", "200000")];
    let options = ["-t", "1", "--bind-to-activated-sockets=only"];
    let Some(mut server) = activated(script, listener, folder, &env, &options) else { return };
    manager.hears("READY=1");
    manager.hears("WATCHDOG=1");
    assert_eq!(Client::tcp(port).get("/").text(), "gold");
    signal(first(&server), Signal::TERM);
    assert!(server.ended(MAX_WAIT).is_some(), "{}", server.log());
    // Nobody holds the socket any more, process 1 least of all.
    assert!(within(Duration::from_secs(5), || TcpListener::bind(("127.0.0.1", port)).is_ok()));
}

/// Files of process 1 itself get the numbers of those that are missing.
#[test]
fn the_container_ends_where_fewer_sockets_are_handed_over_than_announced() {
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = "exec 3<&0 4<&- 5<&- </dev/null; LISTEN_FDS=3 LISTEN_PID=1 exec \"$@\"";
    let Some(mut server) = activated(script, listener, folder, &[], &[]) else { return };
    let has_ended = server.ended(MAX_WAIT).is_some();
    assert!(has_ended && server.log().contains("LISTEN_FDS=1 would be right"), "{}", server.log());
}

#[test]
fn the_container_ends_with_the_server_where_whoever_started_it_ignores_sigchld() {
    if !is_permitted() {
        return;
    }
    // Not every sh does so.
    let folder = server::folder_with(&[("config.ru", &app("", "system('true').inspect"))]);
    let ignoring = "trap '' CHLD; exec \"$0\" \"$@\"";
    let by: Vec<&str> = AS_FIRST.iter().copied().chain(["bash", "-c", ignoring]).collect();
    let mut server = ruby::serve_by(&by, folder, &[], &["-w", "1", "-t", "1"]);
    assert_eq!(server.text("/"), "true", "programs that the application starts have an exit status");
    end(&mut server);
}
