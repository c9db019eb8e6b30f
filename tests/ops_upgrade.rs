//! The program anew with the same sockets: nobody who asks notices, and a new program that fails changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::successor::{Load, Manager, Process, adopt_orphans, kill, pid_in, signal, upgraded};
use crate::support::{Client, MAX_WAIT, Server, app, ruby, server, within};
use rustix::process::Signal;

/// Rest of a client after an answer, where new programs fail and nothing goes over: four of them ask some hundred times
/// a second.
const REST: Duration = Duration::from_millis(5);

fn version(number: u32) -> String {
    app("", &format!("\"v{number} #{{env['PATH_INFO']}}\""))
}

/// A server on TCP and on a Unix socket, with a pid file.
fn serve(options: &[&str]) -> Server {
    adopt_orphans();
    let folder = server::folder_with(&[("config.ru", &version(1))]);
    let unix = format!("unix://{}", folder.join("web.sock").display());
    let own = ["-b", "tcp://127.0.0.1:0", "-b", &unix, "-t", "2", "--pidfile", "web.pid"];
    let server = Server::spawn(folder, &[], &[&own[..], options].concat());
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(server.id())), "{}", server.log());
    server
}

fn write(server: &Server, config: &str) {
    fs::write(server.folder.join("config.ru"), config).unwrap();
}

/// Writes settings with these Unix sockets, and with more lines.
fn write_settings(folder: &Path, sockets: &[&str], more: &str) {
    let bind = |name: &&str| format!("\"unix://{}\"", folder.join(name).display());
    let binds: Vec<String> = sockets.iter().map(bind).collect();
    let text = format!("bind = [{}]\npidfile = \"web.pid\"\nthreads = 1\n{more}", binds.join(", "));
    fs::write(folder.join("foolsgold.toml"), text).unwrap();
}

fn pidfile(server: &Server) -> PathBuf {
    server.folder.join("web.pid")
}

fn socket(server: &Server) -> PathBuf {
    server.folder.join("web.sock")
}

/// Waits until the new program serves, and has the pid file. With Unicorn's signals the file names it before that, and
/// for a moment the old one again.
#[track_caller]
fn must_serve(server: &Server, next: &Process) {
    server.must_log(&format!("upgrade: process {} serves", next.0));
    assert!(within(MAX_WAIT, || pid_in(&pidfile(server)) == Some(next.0)), "{}", server.log());
}

/// Under load on both sockets, from one program to the next.
fn upgrade(server: &Server, from: u32) -> Process {
    let (port, path) = (server.port, socket(server));
    let tcp = Load::start(6, move || Client::tcp(port));
    let unix = Load::start(3, move || Client::unix(&path));
    tcp.goes_on(300);
    signal(from, Signal::USR2);
    let next = Process::named_in(&pidfile(server), from);
    assert!(within(MAX_WAIT, || !ruby::is_alive(from)), "the old one ends\n{}", server.log());
    tcp.goes_on(300);
    unix.goes_on(100);
    tcp.end();
    unix.end();
    next
}

#[test]
fn under_load_no_request_fails_and_the_sockets_and_the_pid_file_stay() {
    let mut server = serve(&[]);
    write(&server, &version(2));
    let second = upgrade(&server, server.id());
    server.must_end();
    assert_eq!(server.text("/x"), "v2 /x");
    write(&server, &version(3));
    let third = upgrade(&server, second.0);
    assert_eq!(Client::unix(&socket(&server)).get("/y").text(), "v3 /y");
    third.end(Signal::TERM);
    assert!(!socket(&server).exists() && !pidfile(&server).exists(), "the last one cleans up\n{}", server.log());
    assert!(!server.folder.join("web.pid.oldbin").exists());
}

#[test]
fn ruby_workers_go_over_too() {
    adopt_orphans();
    let config = |number: u32| format!("run lambda {{ |env| [200, {{}}, [\"v{number} #{{env['PATH_INFO']}}\"]] }}");
    let options = ["-w", "2", "--pidfile", "web.pid"];
    let server = ruby::serve(&config(1), &options);
    let first = ruby::processes(server.id());
    fs::write(server.folder.join("config.ru"), config(2)).unwrap();
    let port = server.port;
    let load = Load::start(6, move || Client::tcp(port));
    load.goes_on(200);
    server.signal(Signal::USR2);
    let _next = Process::named_in(&pidfile(&server), server.id());
    assert!(within(MAX_WAIT, || !first.iter().any(|pid| ruby::is_alive(*pid))), "{}", server.log());
    load.goes_on(200);
    load.end();
    assert_eq!(server.text("/x"), "v2 /x");
}

#[test]
fn a_new_program_that_fails_changes_nothing_and_says_why() {
    let server = serve(&[]);
    let port = server.port;
    let load = Load::resting(REST, 4, move || Client::tcp(port));
    for (broken, why) in [("raise \"broken on purpose\"", "broken on purpose"), ("exit!(3)", "upgrade failed")] {
        write(&server, broken);
        let before = server.log().matches("this process goes on").count();
        server.signal(Signal::USR2);
        let failed = || server.log().matches("this process goes on").count() > before;
        assert!(within(MAX_WAIT, failed), "{}", server.log());
        assert!(server.log().contains(why), "{}", server.log());
    }
    load.goes_on(200);
    load.end();
    assert_eq!(server.text("/x"), "v1 /x");
    assert_eq!(Client::unix(&socket(&server)).get("/x").text(), "v1 /x");
    assert_eq!(pid_in(&pidfile(&server)), Some(server.id()));
    write(&server, &version(2));
    drop(upgrade(&server, server.id()));
}

#[test]
fn a_new_program_that_hangs_is_ended_in_time() {
    adopt_orphans();
    let good = "run lambda { |env| [200, {}, [\"good\"]] }";
    let server = ruby::serve(good, &["-w", "1", "--boot-time", "8s"]);
    fs::write(server.folder.join("config.ru"), "sleep").unwrap();
    server.signal(Signal::USR2);
    server.must_log("was not loaded within 8s");
    server.must_log("this process goes on");
    assert_eq!(server.text("/"), "good");
}

/// It has the listening sockets, and would keep clients waiting that nobody answers.
#[test]
fn a_new_program_that_is_loading_goes_with_the_old_one() {
    for (options, ends) in [
        (&["-w", "1"][..], "SIGTERM"),
        (&["-w", "1", "--drain-lag", "300ms"], "draining"),
        (&["-w", "1", "--signals", "unicorn", "--pidfile", "web.pid"], "SIGTERM: immediate shutdown"),
    ] {
        adopt_orphans();
        let mut server = ruby::serve("run lambda { |env| [200, {}, [\"good\"]] }", options);
        fs::write(server.folder.join("config.ru"), "File.write('loading', Process.pid.to_s)\nsleep").unwrap();
        server.signal(Signal::USR2);
        let loading = server.folder.join("loading");
        assert!(within(MAX_WAIT, || loading.exists()), "{}", server.log());
        let workers = ruby::processes(server.id());
        server.signal(Signal::TERM);
        server.must_log(ends);
        server.must_end();
        assert!(within(MAX_WAIT, || !workers.iter().any(|pid| ruby::is_alive(*pid))), "{}", server.log());
        let socket = std::net::TcpStream::connect(("127.0.0.1", server.port));
        assert!(socket.is_err(), "nobody listens any more\n{}", server.log());
        assert!(!server.log().contains("this process goes on"), "{}", server.log());
        // A hook of the next start would send a signal to whatever process has the number that is left there.
        for left in ["core", "web.pid", "web.pid.oldbin"] {
            assert!(!server.folder.join(left).exists(), "{options:?} {left}");
        }
    }
}

#[test]
fn a_new_program_whose_loading_does_not_stop_gives_the_sockets_up_with_the_old_one() {
    adopt_orphans();
    let mut server = Server::start(&app("", "'good'"), &["-t", "1"]);
    fs::write(server.folder.join("config.ru"), "loop { }").unwrap();
    server.signal(Signal::USR2);
    assert!(within(MAX_WAIT, || server.log().matches("engine: mruby").count() == 2), "{}", server.log());
    server.end(Signal::TERM);
    let is_closed = || std::net::TcpStream::connect(("127.0.0.1", server.port)).is_err();
    assert!(within(Duration::from_secs(1), is_closed), "{}", server.log());
}

#[test]
fn a_new_program_that_fails_leaves_the_admin_socket_where_it_is() {
    let server = serve(&["--admin", "unix://admin.sock"]);
    let admin = server.folder.join("admin.sock");
    assert!(within(MAX_WAIT, || admin.exists()), "{}", server.log());
    write(&server, "raise \"broken on purpose\"");
    server.signal(Signal::USR2);
    server.must_log("this process goes on");
    assert_eq!(Client::unix(&admin).get("/readyz").status, 200, "{}", server.log());
    write(&server, &version(2));
    server.signal(Signal::USR2);
    let _next = Process::named_in(&pidfile(&server), server.id());
    assert!(within(MAX_WAIT, || !ruby::is_alive(server.id())), "{}", server.log());
    assert!(within(MAX_WAIT, || Client::unix(&admin).get("/readyz").status == 200), "{}", server.log());
}

#[test]
fn the_admin_socket_comes_back_with_the_old_process() {
    let server = serve(&["--signals", "unicorn", "--admin", "unix://admin.sock"]);
    let admin = server.folder.join("admin.sock");
    // A process that ends removes the file of its socket; one that is killed leaves it behind.
    for end in [Signal::QUIT, Signal::KILL] {
        server.signal(Signal::USR2);
        let next = Process::named_in(&pidfile(&server), server.id());
        must_serve(&server, &next);
        next.end(end);
        assert_eq!(Client::unix(&admin).get("/readyz").status, 200, "{}", server.log());
        assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(server.id())), "{}", server.log());
    }
}

/// A thread of a process, by its name.
fn thread_of(pid: u32, name: &str) -> u32 {
    let mut found = None;
    within(MAX_WAIT, || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().map(|thread| thread.path());
        let is_it =
            |thread: &PathBuf| fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
        found = threads.filter(is_it).find_map(|thread| thread.file_name()?.to_str()?.parse().ok());
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("process {pid} has no thread {name}"))
}

/// Lets a thread run only while another one waits, if this machine can do that: the two share a processor. So a race
/// between them always ends the same way.
fn give_way(patient: u32, other: u32) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let processor: String = list.trim().chars().take_while(char::is_ascii_digit).collect();
    let (patient, other) = (patient.to_string(), other.to_string());
    for words in [
        ["taskset", "-c", "-p", &processor, &patient],
        ["taskset", "-c", "-p", &processor, &other],
        ["chrt", "--idle", "-p", "0", &patient],
    ] {
        let _ = Command::new(words[0]).args(&words[1..]).output();
    }
}

/// The new program serves as soon as it has reported so, whether or not the old process has read that.
#[test]
fn a_shutdown_that_meets_the_report_of_the_new_program_cuts_nothing_off() {
    for signals in ["puma", "unicorn"] {
        shut_down_at_the_report(signals);
    }
}

/// An application that loads as long as there is a file `gate`, and holds requests as long as there is a file `hold`.
const GATED: &str = "File.write('loads', '') if File.exist?('gate')\nsleep 0.01 while File.exist?('gate')\n\
                     run lambda { |env|\n  File.write('held', '') if File.exist?('hold')\n  \
                     sleep 0.01 while File.exist?('hold')\n  [200, {}, ['gold']]\n}\n";

/// Begins an upgrade, and returns the new program, which loads its application.
fn upgrade_that_loads(server: &Server) -> Process {
    fs::write(server.folder.join("gate"), "").unwrap();
    server.signal(Signal::USR2);
    assert!(within(MAX_WAIT, || server.folder.join("loads").exists()), "{}", server.log());
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let same = ruby::processes(server.id()).into_iter().find(|pid| program(*pid) == program(server.id()));
    Process(same.unwrap())
}

/// The new program has read the files before they were changed again.
#[test]
fn a_reload_while_a_new_program_loads_is_repeated_by_that() {
    adopt_orphans();
    let code = |version: u32| {
        "File.write('loads', '') if File.exist?('gate')\nsleep 0.01 while File.exist?('gate')\n".to_owned()
            + &format!("run ->(_) {{ [200, {{}}, ['v{version}']] }}\n")
    };
    let server = ruby::serve(&code(1), &["-w", "1"]);
    write(&server, &code(2));
    let next = upgrade_that_loads(&server);
    write(&server, "run ->(_) { [200, {}, ['v3']] }\n");
    server.done(&["reload"]);
    assert_eq!(server.text("/"), "v3");
    fs::remove_file(server.folder.join("gate")).unwrap();
    assert!(within(MAX_WAIT, || !ruby::is_alive(server.id())), "{}", server.log());
    server.must_log("the previous process was told to while this one was starting");
    assert!(within(MAX_WAIT, || server.text("/") == "v3"), "{}", server.log());
    next.end(Signal::TERM);
}

/// The signal for that goes to the old process, whose id is still in the pid file.
#[test]
fn a_log_that_is_rotated_while_a_new_program_loads_is_opened_anew_by_that() {
    adopt_orphans();
    let server = ruby::serve(GATED, &["-w", "1", "--log-file", "log", "--pidfile", "web.pid"]);
    let next = upgrade_that_loads(&server);
    let aside = server.folder.join("log.1");
    fs::rename(server.folder.join("log"), &aside).unwrap();
    server.signal(Signal::HUP);
    server.must_log("opened anew");
    fs::remove_file(server.folder.join("gate")).unwrap();
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(next.0)), "{}", server.log());
    assert!(within(MAX_WAIT, || !ruby::is_alive(server.id())), "{}", server.log());
    next.end(Signal::TERM);
    // The last lines of both.
    assert_eq!(server.log().matches("shut down:").count(), 2, "{}", server.log());
    assert!(!fs::read_to_string(&aside).unwrap().contains("shut down:"), "{}", server.log());
}

/// No other server is left: the memory of two was too much, and the kernel has chosen the older one.
#[test]
fn a_new_program_whose_old_process_is_killed_while_it_loads_serves() {
    adopt_orphans();
    let mut server = ruby::serve(GATED, &["-w", "1", "--pidfile", "web.pid"]);
    let next = upgrade_that_loads(&server);
    server.ended_by(Signal::KILL);
    fs::remove_file(server.folder.join("gate")).unwrap();
    server.must_log("has ended meanwhile; this one serves all the same");
    assert_eq!(server.text("/"), "gold", "{}", server.log());
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(next.0)), "{}", server.log());
    next.end(Signal::TERM);
    assert!(!pidfile(&server).exists(), "{}", server.log());
}

/// It has ended before the old process has read the report.
#[test]
fn a_new_program_that_ends_right_after_its_report_changes_nothing() {
    adopt_orphans();
    let server = ruby::serve(GATED, &["-w", "1"]);
    let next = upgrade_that_loads(&server);
    ruby::stop(server.id());
    fs::remove_file(server.folder.join("gate")).unwrap();
    assert_eq!(server.text("/"), "gold", "the new one serves");
    next.end(Signal::KILL);
    server.signal(Signal::CONT);
    server.must_log("upgrade failed, this process goes on: it has ended");
    assert_eq!(server.text("/"), "gold");
}

fn shut_down_at_the_report(signals: &str) {
    adopt_orphans();
    let mut server = ruby::serve(GATED, &["-w", "1", "-t", "2", "--signals", signals]);
    let folder = server.folder.clone();
    let _next = upgrade_that_loads(&server);
    give_way(thread_of(server.id(), "signals"), server.id());
    ruby::stop(server.id());
    fs::write(folder.join("hold"), "").unwrap();
    fs::remove_file(folder.join("gate")).unwrap();
    let mut client = server.send_get("/");
    assert!(within(MAX_WAIT, || folder.join("held").exists()), "{}", server.log());
    server.signal(Signal::CONT);
    server.ended_by(Signal::TERM);
    fs::remove_file(folder.join("hold")).unwrap();
    let reply = client.reply().unwrap_or_else(|error| panic!("{signals}: {error}\n{}", server.log()));
    assert_eq!(reply.text(), "gold", "{}", server.log());
}

#[test]
fn addresses_change_with_an_upgrade() {
    adopt_orphans();
    let folder = server::folder_with(&[("config.ru", &version(1))]);
    write_settings(&folder, &["one.sock", "two.sock"], "");
    let mut server = Server::spawn(folder.clone(), &[], &[]);
    let get = |name: &str| Client::unix(&folder.join(name)).get("/x").text();
    assert_eq!((get("one.sock"), get("two.sock")), ("v1 /x".to_owned(), "v1 /x".to_owned()));
    write_settings(&folder, &["two.sock", "three.sock"], "");
    fs::write(folder.join("config.ru"), version(2)).unwrap();
    let next = upgraded(&mut server, "web.pid");
    assert!(!folder.join("one.sock").exists(), "it is not served any more\n{}", server.log());
    assert_eq!((get("two.sock"), get("three.sock")), ("v2 /x".to_owned(), "v2 /x".to_owned()));
    next.end(Signal::TERM);
    assert!(!folder.join("two.sock").exists() && !folder.join("three.sock").exists(), "{}", server.log());
}

/// With a log file, standard output is a pipe to the old process, which ends with that.
#[test]
fn a_log_file_that_is_named_no_more_leaves_the_new_program_a_log() {
    adopt_orphans();
    for (has_journal, file) in [(true, "log"), (false, "web.log")] {
        let folder = server::folder_with(&[("config.ru", &version(1)), ("log", "")]);
        write_settings(&folder, &["web.sock"], "log-file = \"web.log\"\n");
        let found = fs::metadata(folder.join("log")).unwrap();
        let journal = if has_journal { format!("{}:{}", found.dev(), found.ino()) } else { String::new() };
        let mut server = Server::begin(folder.clone(), &[("JOURNAL_STREAM", journal.as_str())], &[]);
        assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(server.id())), "{}", server.log());
        write_settings(&folder, &["web.sock"], "");
        let next = upgraded(&mut server, "web.pid");
        next.signal(Signal::USR1);
        let log = || fs::read_to_string(folder.join(file)).unwrap();
        assert!(within(MAX_WAIT, || log().contains("generation 2 serves")), "{file}: {}", log());
        next.end(Signal::TERM);
    }
}

/// A new program inherits it from the old one.
#[test]
fn a_umask_that_is_taken_out_of_the_settings_is_that_from_before_them_again() {
    adopt_orphans();
    let folder = server::folder_with(&[("config.ru", &version(1))]);
    let umask = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Umask:\t")).unwrap().to_owned()
    };
    write_settings(&folder, &["web.sock"], "umask = \"037\"\n");
    let mut server = Server::spawn(folder.clone(), &[], &[]);
    assert_eq!(umask(server.id()), "0037");
    let second = upgraded(&mut server, "web.pid");
    assert_eq!(umask(second.0), "0037", "the settings are the same");
    write_settings(&folder, &["web.sock"], "");
    // It starts none before it has seen that the first one is gone.
    let is_followed = || {
        kill(second.0, Signal::USR2);
        pid_in(&pidfile(&server)).is_some_and(|pid| pid != second.0)
    };
    assert!(within(MAX_WAIT, is_followed), "{}", server.log());
    let third = Process::named_in(&pidfile(&server), second.0);
    assert!(second.ended(), "{}", server.log());
    assert_eq!(umask(third.0), umask(std::process::id()));
    third.end(Signal::TERM);
}

#[test]
fn as_in_unicorn_both_serve_until_one_is_ended() {
    let mut server = serve(&["--signals", "unicorn"]);
    let aside = server.folder.join("web.pid.oldbin");
    let port = server.port;
    let load = Load::start(4, move || Client::tcp(port));
    write(&server, &version(2));
    // There, and back again: the new one is ended, and the old one goes on.
    server.signal(Signal::USR2);
    let second = Process::named_in(&pidfile(&server), server.id());
    assert_eq!(pid_in(&aside), Some(server.id()));
    must_serve(&server, &second);
    load.goes_on(100);
    assert!(server.is_alive());
    // As in Unicorn, the new one starts no third beside both.
    second.signal(Signal::USR2);
    server.must_log("which started this one, still serves");
    second.end(Signal::QUIT);
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(server.id())), "{}", server.log());
    assert!(within(MAX_WAIT, || !aside.exists() && socket(&server).exists()), "{}", server.log());
    load.goes_on(100);
    // There for good.
    server.signal(Signal::USR2);
    let third = Process::named_in(&pidfile(&server), server.id());
    must_serve(&server, &third);
    server.end(Signal::QUIT);
    load.goes_on(100);
    load.end();
    assert!(socket(&server).exists() && !aside.exists());
    assert_eq!(server.text("/x"), "v2 /x");
    third.end(Signal::QUIT);
    assert!(!socket(&server).exists(), "{}", server.log());
}

/// The init script among Unicorn's examples looks two seconds after USR2 whether the pid file names another process,
/// and otherwise starts one more server.
#[test]
fn as_in_unicorn_the_pid_file_names_the_new_program_while_that_loads() {
    adopt_orphans();
    let server = ruby::serve(GATED, &["-w", "1", "--pidfile", "web.pid", "--signals", "unicorn"]);
    let aside = server.folder.join("web.pid.oldbin");
    let next = upgrade_that_loads(&server);
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(next.0)), "{}", server.log());
    assert_eq!(pid_in(&aside), Some(server.id()));
    next.end(Signal::KILL);
    assert!(within(MAX_WAIT, || pid_in(&pidfile(&server)) == Some(server.id())), "{}", server.log());
    assert!(!aside.exists(), "{}", server.log());
}

#[test]
fn systemd_is_told_who_the_service_is() {
    adopt_orphans();
    let (manager, server) = Manager::serve(&version(1), &[], &["--pidfile", "web.pid"]);
    manager.hears("READY=1");
    server.signal(Signal::USR2);
    assert!(manager.hears("RELOADING=1").contains("MONOTONIC_USEC="));
    let message = manager.hears("after an upgrade");
    let next = Process::named_in(&pidfile(&server), server.id());
    assert!(message.contains(&format!("MAINPID={}\n", next.0)), "{message}");
    manager.hears("READY=1");
    next.signal(Signal::TERM);
    manager.hears("STOPPING=1");
}

/// systemd would log a warning for each message.
#[test]
fn the_old_process_says_nothing_to_systemd_once_another_one_is_the_service() {
    adopt_orphans();
    let config = app("", "sleep 60 if env['PATH_INFO'] == '/slow'; 'gold'");
    let options = ["--request-time", "90s", "--pidfile", "web.pid"];
    let (manager, mut server) = Manager::serve(&config, &[("WATCHDOG_USEC", "200000")], &options);
    let _slow = server.send_get("/slow");
    assert!(within(MAX_WAIT, || server.status().to_string().contains("/slow")), "{}", server.log());
    manager.hears("WATCHDOG=1");
    server.signal(Signal::USR2);
    manager.hears("after an upgrade");
    let next = Process::named_in(&pidfile(&server), server.id());
    next.signal(Signal::STOP);
    // What it said before it was stopped.
    thread::park_timeout(Duration::from_millis(200));
    manager.heard();
    thread::park_timeout(Duration::from_secs(1));
    let said = manager.heard();
    next.signal(Signal::CONT);
    assert!(server.is_alive(), "{}", server.log());
    assert_eq!(said, "");
}

/// systemd drops what comes from another process than the service's (NotifyAccess=main).
#[test]
fn the_new_process_says_nothing_to_systemd_before_it_is_the_service() {
    adopt_orphans();
    let (manager, server) = Manager::serve(&version(1), &[], &["--pidfile", "web.pid", "--signals", "unicorn"]);
    server.signal(Signal::USR2);
    manager.hears("so does a successor");
    let next = Process::named_in(&pidfile(&server), server.id());
    // As on a busy machine, where the new process may run before the old one has said its next word.
    give_way(server.id(), thread_of(next.0, "predecessor"));
    server.signal(Signal::QUIT);
    let first = manager.hears("after an upgrade");
    assert!(first.contains(&format!("MAINPID={}\n", next.0)), "{first}");
}

const RETIRES: &str = r##"
pid "web.pid"
worker_processes 2
before_fork do |server, worker|
  old = "#{server.config[:pid]}.oldbin"
  if File.exist?(old) && server.pid != old
    begin
      signal = (worker.nr + 1) >= server.worker_processes ? :QUIT : :TTOU
      Process.kill(signal, File.read(old).to_i)
    rescue Errno::ENOENT, Errno::ESRCH
    end
  end
end
"##;

#[test]
fn the_hook_that_retires_the_old_master_of_unicorn_does_so_when_the_new_one_serves() {
    adopt_orphans();
    let config = "run lambda { |env| [200, {}, [\"v1 #{env['PATH_INFO']}\"]] }";
    let files = [("config.ru", config), ("unicorn.rb", RETIRES)];
    let mut server = ruby::serve_files(&files, &[], &["-C", "unicorn.rb"]);
    fs::write(server.folder.join("config.ru"), "raise \"broken on purpose\"").unwrap();
    server.signal(Signal::USR2);
    server.must_log("this process goes on");
    assert!(!server.folder.join("web.pid.oldbin").exists() && server.is_alive());
    fs::write(server.folder.join("config.ru"), config.replace("v1", "v2")).unwrap();
    let port = server.port;
    let load = Load::start(4, move || Client::tcp(port));
    load.goes_on(100);
    let next = upgraded(&mut server, "web.pid");
    load.goes_on(100);
    load.end();
    assert_eq!(server.text("/x"), "v2 /x");
    assert!(server.log().contains("SIGQUIT: graceful shutdown, when the new process serves"), "{}", server.log());
    next.end(Signal::QUIT);
}

/// The hook sends TTOU for each worker but the last, as in Unicorn's example: nobody has ordered fewer workers.
#[test]
fn the_hook_that_retires_the_old_master_leaves_the_new_one_all_its_workers() {
    adopt_orphans();
    let config = "run ->(_) { [200, {}, ['gold']] }";
    let mut server = ruby::serve_files(&[("config.ru", config), ("unicorn.rb", RETIRES)], &[], &["-C", "unicorn.rb"]);
    server.done(&["restart"]);
    let next = Process::named_in(&pidfile(&server), server.id());
    server.must_end();
    let status = server.status();
    let pool = &status["apps"][0]["pool"];
    assert_eq!((&pool["min"], &pool["max"]), (&2.into(), &2.into()), "{status}\n{}", server.log());
    next.end(Signal::QUIT);
}

const TAKES_ONE: &str = r#"
pid "web.pid"
worker_processes 2
before_fork do |server, worker|
  old = "web.pid.oldbin"
  Process.kill(:TTOU, File.read(old).to_i) if worker.nr.zero? && File.exist?(old) && server.pid != old
end
after_fork { |*| raise "no database" if File.exist?("broken") }
"#;

/// Its worker does not start, after the hook has run for it.
#[test]
fn a_new_process_that_fails_has_taken_no_worker_from_the_old_one() {
    adopt_orphans();
    let config = "run ->(_) { [200, {}, ['gold']] }";
    let server = ruby::serve_files(&[("config.ru", config), ("unicorn.rb", TAKES_ONE)], &[], &["-C", "unicorn.rb"]);
    ruby::expect_workers(&server, 2);
    fs::write(server.folder.join("broken"), "").unwrap();
    server.signal(Signal::USR2);
    server.must_log("upgrade failed, this process goes on");
    fs::remove_file(server.folder.join("broken")).unwrap();
    // One more than there were; what came before this signal would be done by then.
    server.signal(Signal::TTIN);
    let has_one_more = || server.status()["apps"][0]["pool"]["min"] == 3;
    assert!(within(MAX_WAIT, has_one_more), "{}\n{}", server.status(), server.log());
}

/// As Capistrano deploys: `current` is a symlink to the newest release, and old ones are removed. `bundle exec` was run
/// in it, and has named the Gemfile by its real path.
#[test]
fn the_gemfile_is_that_of_the_release_that_the_folder_leads_to() {
    deploy_by_symlink(|place| (Some(place.join("current")), vec![]));
}

/// As a service of systemd, which goes to `current` by its name (WorkingDirectory=) and sets no PWD.
#[test]
fn the_release_is_found_where_nobody_says_by_which_name_the_folder_was_reached() {
    deploy_by_symlink(|_| (None, vec![]));
}

/// The only one who knows the symlink is an option.
#[test]
fn the_release_is_found_where_an_option_names_it() {
    let current = |place: &Path| place.join("here").display().to_string();
    deploy_by_symlink(|place| (None, vec!["--dir".to_owned(), current(place)]));
    deploy_by_symlink(|place| (None, vec!["-C".to_owned(), format!("{}/config/puma.rb", current(place))]));
}

/// Deploys twice. What is given is PWD, and options, by the folder with all releases. Where options name the symlink,
/// it has a name that only they know.
fn deploy_by_symlink(how: impl Fn(&Path) -> (Option<PathBuf>, Vec<String>)) {
    adopt_orphans();
    let home = server::folder();
    let place = fs::canonicalize(&home).unwrap();
    let (pwd, more) = how(&place);
    // Bundler sets the second variable from version 4 on, and takes the file beside the Gemfile where it is not set.
    let app = "gemfile = ENV['BUNDLE_GEMFILE']\nlock = ENV['BUNDLE_LOCKFILE'] || \"#{gemfile}.lock\"\n\
               files = [gemfile, lock].map { |path| path.delete_prefix(File.dirname(__dir__)) }\n\
               run ->(env) { [200, {}, [files.inspect]] }\n";
    let found = |release: &str| format!("[\"/{release}/Gemfile\", \"/{release}/Gemfile.lock\"]");
    let (log, current) = (place.join("log"), place.join(if more.is_empty() { "current" } else { "here" }));
    for release in ["1", "2", "3"] {
        let folder = place.join(release);
        fs::create_dir_all(folder.join("config")).unwrap();
        fs::write(folder.join("config.ru"), app).unwrap();
        fs::write(folder.join("config/puma.rb"), format!("directory '{}'\n", current.display())).unwrap();
        fs::write(folder.join("Gemfile"), "gem \"rack\"\n").unwrap();
        std::os::unix::fs::symlink(&log, folder.join("log")).unwrap();
    }
    let lead_to = |release: &str| {
        std::os::unix::fs::symlink(release, place.join("new")).unwrap();
        fs::rename(place.join("new"), &current).unwrap();
    };
    lead_to("1");
    let pidfile = place.join("web.pid");
    let mut options = vec!["-w", "1", "-t", "1", "--pidfile", pidfile.to_str().unwrap()];
    options.extend(more.iter().map(String::as_str));
    let [gemfile, lock] = ["1/Gemfile", "1/Gemfile.lock"].map(|name| place.join(name).display().to_string());
    let mut env = vec![("BUNDLE_GEMFILE", &*gemfile), ("BUNDLE_LOCKFILE", &*lock), ("RUBYOPT", "-rbundler/setup")];
    // Of a folder that is not there, PWD says nothing.
    env.push(("PWD", pwd.as_deref().unwrap_or(&place).to_str().unwrap()));
    env.extend(pwd.is_none().then_some(("INVOCATION_ID", "0123456789abcdef")));
    let server = ruby::serve_by(&[], home.at(&current), &env, &options);
    assert_eq!(server.text("/"), found("1"), "{}", server.log());
    for (release, signal) in [("2", Signal::USR1), ("3", Signal::USR2)] {
        lead_to(release);
        fs::remove_dir_all(place.join((release.parse::<u32>().unwrap() - 1).to_string())).unwrap();
        server.signal(signal);
        let serves = || server.text("/") == found(release);
        assert!(within(MAX_WAIT, serves), "{release}\n{}", fs::read_to_string(&log).unwrap());
    }
    let next = Process::named_in(&pidfile, server.id());
    next.end(Signal::TERM);
}

/// Upgrades a server by USR2, and ends its old process by QUIT, which with Unicorn's signals would serve on.
fn take_over(server: &Server) -> Process {
    server.signal(Signal::USR2);
    let next = Process::named_in(&pidfile(server), server.id());
    server.signal(Signal::QUIT);
    assert!(within(MAX_WAIT, || !ruby::is_alive(server.id())), "{}", server.log());
    next
}

/// The configuration that Capistrano's users have: `current` is for the new program, which does not find it by itself.
#[test]
fn hooks_for_the_time_before_a_new_program_run_and_change_its_environment() {
    adopt_orphans();
    let app = "run ->(env) { [200, {}, [[ENV['BUNDLE_GEMFILE'], ENV['MARK'], ENV['GONE']].inspect]] }\n";
    for (name, hook, settings) in [
        ("unicorn.rb", "before_exec do |server|\n  raise 'no Gemfile' unless server.config", "pid 'web.pid'\n"),
        ("puma.rb", "on_restart do\n  raise 'not before' if ENV['MARK']", "pidfile 'web.pid'\n"),
    ] {
        let folder =
            ruby::folder(&[("config.ru", app), ("next/Gemfile", "gem \"rack\"\n"), ("Gemfile", "gem \"rack\"\n")]);
        let next = folder.join("next/Gemfile").display().to_string();
        let file = format!(
            "{settings}{hook}\n  raise 'there is no release' if File.exist?('refuse')\n  \
             ENV['BUNDLE_GEMFILE'] = '{next}'\n  ENV['MARK'] = 'of the hook'\n  \
             ENV.delete('GONE')\n  puts 'the hook speaks'\nend\n"
        );
        fs::write(folder.join(name), file).unwrap();
        let program = ruby::program();
        let options = ["-b", "tcp://127.0.0.1:0", "--ruby", &program, "-C", name];
        let server = Server::spawn(folder, &[("GONE", "not yet")], &options);
        let here = server.folder.join("Gemfile").display().to_string();
        assert_eq!(server.text("/"), format!("[{here:?}, nil, \"not yet\"]"), "{}", server.log());
        if name == "unicorn.rb" {
            fs::write(server.folder.join("refuse"), "").unwrap();
            server.signal(Signal::USR2);
            let why = "the hooks before the new program (before_exec, on_restart): there is no release (RuntimeError)";
            server.must_log(&format!("this process goes on: {why}"));
            assert_eq!(server.text("/"), format!("[{here:?}, nil, \"not yet\"]"), "{}", server.log());
            fs::remove_file(server.folder.join("refuse")).unwrap();
        }
        let _new = take_over(&server);
        assert_eq!(server.text("/"), format!("[{next:?}, \"of the hook\", nil]"), "{}", server.log());
        assert!(server.log().contains("the hook speaks"), "{}", server.log());
    }
}

/// The application waits for all children, also for the one in which the hooks run; or the kernel does.
#[test]
fn hooks_before_a_new_program_are_heard_of_where_the_application_waits_for_children() {
    for taker in ["Thread.new { loop { Process.waitall; sleep 0.001 } }", "trap('CHLD', 'IGNORE')"] {
        adopt_orphans();
        let app = "run ->(env) { [200, {}, [ENV['MARK'].to_s]] }\n";
        let file = format!(
            "pid 'web.pid'\nbefore_fork {{ |*| $taker ||= begin; {taker}; true; end }}\n\
             before_exec {{ |server| ENV['MARK'] = 'of the hook' }}\n"
        );
        let folder = ruby::folder(&[("config.ru", app), ("unicorn.rb", &file)]);
        let server = ruby::serve_with("unicorn.rb", folder, &["-b", "tcp://127.0.0.1:0"]);
        assert_eq!(server.text("/"), "", "{taker}: {}", server.log());
        let _new = take_over(&server);
        assert_eq!(server.text("/"), "of the hook", "{taker}: {}", server.log());
    }
}

#[test]
fn the_new_program_starts_where_a_hook_has_gone_to() {
    adopt_orphans();
    let app = |name: &str| format!("run ->(env) {{ [200, {{}}, ['{name}']] }}\n");
    let folder = ruby::folder(&[("config.ru", &app("old")), ("next/config.ru", &app("new"))]);
    let (file, pid) = (folder.join("unicorn.rb"), folder.join("web.pid"));
    fs::write(&file, format!("pid '{}'\nbefore_exec {{ |server| Dir.chdir('next') }}\n", pid.display())).unwrap();
    let server = ruby::serve_with(file.to_str().unwrap(), folder, &["-b", "tcp://127.0.0.1:0"]);
    assert_eq!(server.text("/"), "old");
    let _new = take_over(&server);
    assert_eq!(server.text("/"), "new", "{}", server.log());
}
