//! Under systemd, or somebody who speaks as it does: what it is told, and the sockets it hands over.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::ruby;
use crate::support::successor::{Manager, Process, adopt_orphans};
use crate::support::{Client, MAX_WAIT, Server, app, is_permitted, server, within};
use rustix::process::Signal;

#[test]
fn systemd_is_told_of_the_start_of_reloads_and_of_the_end() {
    let (manager, server) = Manager::serve(&app("", "1"), &[("WATCHDOG_USEC", "200000")], &[]);
    assert!(manager.hears("READY=1").contains("STATUS=serving"));
    let begun = Instant::now();
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    assert!(begun.elapsed() < MAX_WAIT / 4, "twice in each fifth of a second: {:?}", begun.elapsed());
    server.signal(Signal::USR1);
    assert!(manager.hears("RELOADING=1").contains("MONOTONIC_USEC="));
    manager.hears("READY=1");
    fs::write(server.folder.join("config.ru"), "raise 'no'").unwrap();
    server.signal(Signal::USR1);
    manager.hears("RELOADING=1");
    assert!(manager.hears("READY=1").contains("a reload has failed"), "{}", server.log());
    server.signal(Signal::TERM);
    manager.hears("STOPPING=1");
}

#[test]
fn the_status_that_systemd_shows_says_that_the_server_drains_before_it_stops() {
    let (manager, server) = Manager::serve(&app("", "1"), &[], &["--drain-lag", "300ms"]);
    manager.hears("STATUS=serving");
    server.signal(Signal::TERM);
    let text = manager.hears("STATUS=");
    assert!(text.contains("STATUS=draining: no longer ready") && !text.contains("STOPPING=1"), "{text}");
    manager.hears("STOPPING=1");
}

#[test]
fn a_reload_that_ends_while_the_server_drains_leaves_the_status_as_it_is() {
    let folder = server::folder();
    let gate = folder.join("gate");
    let slow = format!("sleep 0.01 while File.exist?({:?})", gate.display().to_string());
    fs::write(folder.join("config.ru"), app(&slow, "1")).unwrap();
    let (manager, notify) = Manager::listen(&folder);
    let server = ruby::serve_by(&[], folder, &[("NOTIFY_SOCKET", &notify)], &["-w", "1", "--drain-lag", "1h"]);
    manager.hears("STATUS=serving");
    fs::write(&gate, "").unwrap();
    server.signal(Signal::USR1);
    manager.hears("RELOADING=1");
    server.signal(Signal::TERM);
    manager.hears("STATUS=draining");
    fs::remove_file(&gate).unwrap();
    let text = manager.hears("READY=1");
    assert!(!text.contains("STATUS="), "{text}\n{}", server.log());
    server.signal(Signal::INT);
    manager.hears("STOPPING=1");
}

#[test]
fn systemd_is_told_that_the_server_is_ready_when_the_last_of_several_reloads_has_ended() {
    let folder = server::folder();
    let gate = folder.join("gate");
    let slow = format!("sleep 0.01 while File.exist?({:?})", gate.display().to_string());
    for (name, before) in [("shop", slow.as_str()), ("home", "")] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("config.ru"), app(before, "1")).unwrap();
    }
    let settings = "[[app]]\nname = \"shop\"\npath = \"shop\"\nprefix = \"/shop\"\nengine = \"ruby\"\n\
                    [[app]]\nname = \"home\"\npath = \"home\"\nengine = \"mruby\"\n";
    fs::write(folder.join("foolsgold.toml"), settings).unwrap();
    let (manager, notify) = Manager::listen(&folder);
    let options = ["-C", "foolsgold.toml", "-b", "tcp://127.0.0.1:0", "--ruby", &ruby::program()];
    let server = Server::spawn(folder, &[("NOTIFY_SOCKET", &notify)], &options);
    manager.hears("READY=1");
    fs::write(&gate, "").unwrap();
    let mut command = server::command();
    command.current_dir(&server.folder).args(["reload", "--app", "shop"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = command.spawn().unwrap();
    manager.hears("RELOADING=1");
    server.done(&["reload", "--app", "home"]);
    let meanwhile = manager.heard();
    fs::remove_file(&gate).unwrap();
    assert!(first.wait().unwrap().success(), "{}", server.log());
    assert!(meanwhile.contains("RELOADING=1") && meanwhile.contains("STATUS=serving"), "{meanwhile}");
    assert!(!meanwhile.contains("READY=1"), "{meanwhile}");
    manager.hears("READY=1");
}

/// A restart of Puma keeps its process id, so many units for it are of Type=simple: systemd would end the service, and
/// the new process with it.
#[test]
fn where_systemd_would_end_the_service_with_this_process_usr2_reloads() {
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let script = "SYSTEMD_EXEC_PID=$$ exec \"$0\" \"$@\"";
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1"];
    let server = Server::spawn_by(&["sh", "-c", script], folder, &[("NOTIFY_SOCKET", "")], &options);
    fs::write(server.folder.join("config.ru"), app("", "2")).unwrap();
    server.signal(Signal::USR2);
    server.must_log("SIGUSR2: reloading instead of an upgrade: systemd would end the service");
    assert!(within(MAX_WAIT, || server.text("/") == "2"), "{}", server.log());
    let (output, said) = server::run(&server.folder, &[], &["restart"]);
    assert!(!output.status.success() && said.contains("systemctl restart starts the new program"), "{said}");
    assert_eq!(server.text("/"), "2", "{}", server.log());
}

/// A server that was started with this socket, as systemd does it.
fn activated(socket: OwnedFd, options: &[&str]) -> Server {
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    begin(script, socket.into(), options)
}

/// One that was started by a shell script, which finds the socket at its standard input. LISTEN_PID is the shell's own
/// process, since the script starts the server by `exec`.
fn begin(script: &str, socket: Stdio, options: &[&str]) -> Server {
    let folder = server::folder_with(&[("config.ru", &app("", "'v1 ' + env['PATH_INFO']")), ("unicorn.rb", "")]);
    let options = [options, &["-t", "1", "--pidfile", "web.pid"]].concat();
    Server::begin_by(&["sh", "-c", script], socket, folder, &[], &options)
}

/// The sample unit, with this program and this folder in the places of its own.
fn sample(name: &str, folder: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name);
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("/usr/local/bin/foolsgold", env!("CARGO_BIN_EXE_foolsgold"));
    text.replace("/run/shop", &folder.display().to_string())
}

/// The words of a command in a unit, without the program.
fn words(unit: &str, key: &str) -> Vec<String> {
    let text = unit.replace("\\\n", " ");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap();
    line.split_whitespace().skip(1).map(str::to_owned).collect()
}

/// Where systemd-analyze is not here nothing is tried.
#[test]
fn the_sample_units_are_right_and_hardened() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return;
    }
    let folder = server::folder();
    let paths: Vec<PathBuf> = ["shop.service", "shop.socket"].iter().map(|name| folder.join(name)).collect();
    for path in &paths {
        fs::write(path, sample(path.file_name().unwrap().to_str().unwrap(), &folder)).unwrap();
    }
    let analyze = |words: &[&str], paths: &[PathBuf]| {
        let output = Command::new("systemd-analyze").args(words).args(paths).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said.into_owned())
    };
    let (_, said) = analyze(&["verify"], &paths);
    // It looks at all that these units need, and may find fault with units of this machine.
    let about_ours: Vec<&str> = said.lines().filter(|line| line.contains("shop.")).collect();
    assert_eq!(about_ours, Vec::<&str>::new());
    // An exposure of 2.0 at most; up to 4.9 is "OK".
    let (is_hardened, said) = analyze(&["security", "--offline=true", "--threshold=20"], &paths[..1]);
    assert!(is_hardened, "{said}");
}

#[test]
fn the_commands_of_the_sample_unit_start_reload_and_say_when_a_reload_fails() {
    for is_activated in [true, false] {
        let folder = server::folder();
        let unit = sample("shop.service", &folder);
        let start = words(&unit, "ExecStart");
        let start: Vec<&str> = start.iter().map(String::as_str).collect();
        let path = folder.join("web.sock");
        let server = if is_activated {
            activated(UnixListener::bind(&path).unwrap().into(), &start)
        } else {
            begin("exec \"$0\" \"$@\"", Stdio::null(), &start)
        };
        server.must_log("commands find this server");
        assert_eq!(Client::unix(&path).get("/a").text(), "v1 /a", "{}", server.log());
        let reload = || {
            let output = server::command().args(words(&unit, "ExecReload")).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        fs::write(server.folder.join("config.ru"), app("", "'v2 ' + env['PATH_INFO']")).unwrap();
        assert_eq!(reload().0, Some(0), "{}", server.log());
        assert_eq!(Client::unix(&path).get("/b").text(), "v2 /b");
        fs::write(server.folder.join("config.ru"), "raise 'not today'").unwrap();
        let (code, said) = reload();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("not today"), "{said}");
        assert_eq!(Client::unix(&path).get("/c").text(), "v2 /c");
    }
}

fn tcp() -> (OwnedFd, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener.into(), port)
}

#[test]
fn sockets_that_are_handed_over_are_served_and_wait_while_it_loads() {
    for (options, others) in [
        (&["--bind-to-activated-sockets"][..], 0),
        (&["--bind-to-activated-sockets=only", "-b", "tcp://127.0.0.1:0"], 0),
        (&["--bind-to-activated-sockets", "-b", "tcp://127.0.0.1:0"], 1),
        (&["-b", "fd://3"], 0),
    ] {
        let (socket, port) = tcp();
        let server = activated(socket, options);
        // It connects before anybody accepts.
        assert_eq!(Client::tcp(port).get("/early").text(), "v1 /early", "{options:?}\n{}", server.log());
        server.must_log(" on tcp://");
        assert_eq!(server.log().matches(" on tcp://").count(), 1 + others, "{options:?}\n{}", server.log());
    }
    let (socket, port) = tcp();
    let server = activated(socket, &["-b", &format!("tcp://127.0.0.1:{port}")]);
    assert_eq!(Client::tcp(port).get("/by-address").text(), "v1 /by-address", "{}", server.log());
    let (socket, _) = tcp();
    let server = activated(socket, &["-b", "tcp://127.0.0.1:0"]);
    server.must_log("--bind-to-activated-sockets takes it");
}

/// The numbers behind the last socket are the next ones that the server itself gets.
#[test]
fn a_number_of_sockets_that_is_too_large_is_refused_with_the_one_that_would_be_right() {
    let (socket, _) = tcp();
    let script = "exec 3<&0 4<&- 5<&- </dev/null; LISTEN_FDS=3 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    let server = begin(script, socket.into(), &[]);
    server.must_log("LISTEN_FDS=3 in the environment, but file descriptor 4 is not open: LISTEN_FDS=1 would be right");
}

/// There is no number of sockets that would be right.
#[test]
fn a_socket_that_was_closed_on_the_way_is_reported_as_such() {
    let script = "exec 3<&- 4<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    let server = begin(script, Stdio::null(), &[]);
    server.must_log("file descriptor 3 is not open: what started this program has closed it");
}

/// The socket is the shell's, and its address is in use.
#[test]
fn a_script_that_starts_the_server_without_exec_is_told_so() {
    let (socket, port) = tcp();
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ \"$0\" \"$@\"; exit";
    let server = begin(script, socket.into(), &["-b", &format!("tcp://127.0.0.1:{port}")]);
    server.must_log("which started this one, so no socket is taken: in a script, start the server with exec");
    server.must_log("in use");
}

#[test]
fn without_a_service_manager_only_is_no_obstacle() {
    let server = Server::start(&app("", "'here'"), &["--bind-to-activated-sockets=only"]);
    assert_eq!(server.text("/"), "here");
    server.must_log("no socket was handed over");
}

#[test]
fn the_file_of_an_activated_socket_stays_over_upgrades_and_the_end() {
    adopt_orphans();
    let folder = server::folder();
    let path = folder.join("systemd.sock");
    let server = activated(UnixListener::bind(&path).unwrap().into(), &["--bind-to-activated-sockets"]);
    assert_eq!(Client::unix(&path).get("/a").text(), "v1 /a", "{}", server.log());
    fs::write(server.folder.join("config.ru"), app("", "'v2 ' + env['PATH_INFO']")).unwrap();
    server.signal(Signal::USR2);
    let next = Process::named_in(&server.folder.join("web.pid"), server.id());
    server.must_log("0 cut off");
    assert_eq!(Client::unix(&path).get("/b").text(), "v2 /b", "{}", server.log());
    next.end(Signal::TERM);
    assert!(path.exists(), "it is systemd's\n{}", server.log());
}

#[test]
fn a_manager_that_cannot_be_told_is_complained_of_once() {
    for (socket, times) in [("/nowhere", 1), ("", 0)] {
        let environment = [("NOTIFY_SOCKET", socket), ("WATCHDOG_USEC", "1")];
        let mut server = Server::with(&app("", "1"), &environment, &["-t", "1"]);
        assert_eq!(server.get("/").status, 200);
        thread::park_timeout(Duration::from_millis(400));
        server.end(Signal::TERM);
        assert_eq!(server.log().matches("systemd cannot be told").count(), times, "{}", server.log());
    }
}

/// Runs the rest of its words where pidfd_getfd, as in most containers, is forbidden.
const NO_PIDFD_GETFD: &str = r#"
pidfd_getfd, errno, allow = 438, 0x50001, 0x7fff0000
rules = [[0x20, 0, 0, 0], [0x15, 0, 1, pidfd_getfd], [0x06, 0, 0, errno], [0x06, 0, 0, allow]]
rules = rules.map { |rule| rule.pack("SCCL") }.join
prctl = RbConfig::CONFIG["host_cpu"] == "x86_64" ? 157 : 167
$VERBOSE = nil
syscall(prctl, 38, 1, 0, 0, 0)
program = [4, rules].pack("Sx6P")
syscall(prctl, 22, 2, [program].pack("P").unpack1("J"))
exec(*ARGV)
"#;

#[test]
fn sockets_are_taken_in_containers_that_forbid_pidfd_getfd_and_have_no_proc() {
    let no_proc =
        "unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs -o ro none /proc && exec \"$@\"' sh";
    let may_mount = is_permitted(&["sh", "-c", &format!("{no_proc} \"$0\"")], "/");
    let filter = &*format!("{} -e \"$filter\"", ruby::program());
    for (variable, by) in [
        ("UNICORN_FD=3", filter),
        ("LISTEN_FDS=1 LISTEN_PID=$$", filter),
        ("UNICORN_FD=3", no_proc),
        ("LISTEN_FDS=1 LISTEN_PID=$$", no_proc),
    ] {
        if by == no_proc && !may_mount {
            continue;
        }
        let (socket, port) = tcp();
        let script = format!("exec 3<&0 </dev/null; filter='{NO_PIDFD_GETFD}'; {variable} exec {by} \"$0\" \"$@\"");
        let server = begin(&script, socket.into(), &["--bind-to-activated-sockets=only"]);
        server.must_log(&format!("listening on tcp://127.0.0.1:{port},"));
        assert_eq!(Client::tcp(port).get("/").text(), "v1 /", "{variable}: {}", server.log());
    }
}

/// `start_server -- foolsgold`, and an older Unicorn or Puma that starts this program.
#[test]
fn sockets_of_other_starters_are_served() {
    let unicorn = ["-C", "unicorn.rb", "--ruby", &ruby::program()];
    let bound = ["--bind-to-activated-sockets=only"];
    for (variable, options) in [
        ("SERVER_STARTER_PORT=127.0.0.1:1=3", &unicorn[..]),
        ("UNICORN_FD=3", &unicorn[..]),
        ("SERVER_STARTER_PORT=1=3", &bound[..]),
        ("PUMA_INHERIT_0=3:tcp://127.0.0.1:1", &bound[..]),
    ] {
        let (socket, port) = tcp();
        let script = format!("exec 3<&0 </dev/null; {variable} exec \"$0\" \"$@\"");
        let server = begin(&script, socket.into(), options);
        server.must_log(&format!("listening on tcp://127.0.0.1:{port},"));
        assert_eq!(Client::tcp(port).get("/").text(), "v1 /", "{variable}: {}", server.log());
    }
}
