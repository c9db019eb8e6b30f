//! Temporary files and folders: where there is no place for them, and what is left of servers that were killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::successor::{adopt_orphans, upgraded};
use crate::support::{Folder, MAX_WAIT, Server, is_permitted, paths, ruby, server, within};
use rustix::process::Signal;
use serde_json::json;

const SIZE: &[(&str, &str)] = &[("/size", "text(env[\"rack.input\"].read.bytesize)"), ("/", "text(\"gold\")")];
const LARGE: &str = "[200, {}, Enumerator.new { |out| 100.times { |n| out << (97 + n % 26).chr * 65_536 } }]";

/// A folder with this application, and in it a file where there should be a temporary folder: what root cannot write
/// to either.
fn without_place(app: &str) -> (Folder, String) {
    let folder = ruby::folder(&[("config.ru", app), ("no-folder", "")]);
    let place = folder.join("no-folder").display().to_string();
    (folder, place)
}

/// The folder of the Ruby processes of this server, as they are told it.
fn wire(server: &Server) -> PathBuf {
    let environment = fs::read(format!("/proc/{}/environ", ruby::mold(server))).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    let socket = environment.split('\0').find_map(|pair| pair.strip_prefix("FOOLS_GOLD_WIRE=")).unwrap();
    Path::new(socket).parent().unwrap().to_owned()
}

fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_ruby_engine_serves_without_a_temporary_folder() {
    let (folder, place) = without_place(&paths(&[SIZE[0], SIZE[1], ("/large", LARGE)]));
    let mut server = ruby::serve_by(&[], folder, &[("TMPDIR", &place)], &["-w", "1", "-t", "1"]);
    let wire = wire(&server);
    assert!(wire.starts_with("/dev/shm") && wire.exists(), "{}", wire.display());
    for _ in 0..2 {
        assert_eq!(server.client().post("/size", vec![b'x'; 5_000_000]).text(), "5000000", "{}", server.log());
    }
    assert_eq!(server.get("/large").body.len(), 100 * 65_536);
    let log = server.log();
    assert_eq!(log.matches("TMPDIR").count(), 1, "said once: {log}");
    assert!(log.contains("kept in memory, 64 MiB at most") && log.contains("no-folder"), "{log}");
    server.end(Signal::TERM);
    assert!(!wire.exists());
}

#[test]
fn bodies_that_memory_has_no_room_for_are_507_and_the_others_are_not() {
    let (folder, place) = without_place(&paths(SIZE));
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1", "--body-bytes", "100MiB"];
    let server = Server::spawn(folder, &[("TMPDIR", &place)], &options);
    for _ in 0..3 {
        assert_eq!(
            server.client().post("/size", vec![b'x'; 30 << 20]).text(),
            (30 << 20).to_string(),
            "{}",
            server.log()
        );
        assert_eq!(server.client().post("/size", vec![b'x'; 65 << 20]).status, 507);
    }
    let log = server.log();
    assert!(log.contains("the 64 MiB of memory are full: no temporary file can be made in"), "{log}");
    let status = server.status();
    assert_eq!((&status["apps"][0]["faults"]["disk_full"], &status["apps"][0]["requests"]), (&json!(3), &json!(6)));
    let recorded = server.done(&["recorder"]);
    assert!(recorded.contains("disk_full: the body cannot be kept: the 64 MiB of memory are full"), "{recorded}");
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_read_only_file_system_is_enough() {
    let read_only = "mount --make-rprivate / && mount -o remount,ro,bind / && mount -t tmpfs -o ro none /run && \
                     exec \"$@\"";
    let by = ["unshare", "--mount", "sh", "-c", read_only, "sh"];
    if !is_permitted(&by, "/") {
        return;
    }
    for engine in ["ruby", "mruby"] {
        let folder = ruby::folder(&[("config.ru", &paths(SIZE))]);
        let options = ["-b", "tcp://127.0.0.1:0", "--engine", engine, "--ruby", &ruby::program(), "-t", "1"];
        let mut server = Server::spawn_by(&by, folder, &[("TMPDIR", "/run")], &options);
        assert_eq!(server.client().post("/size", vec![b'x'; 5_000_000]).text(), "5000000", "{}", server.log());
        let log = server.log();
        assert!(log.contains(" by its control socket /") && !log.contains("no control socket"), "{log}");
        assert!(log.contains("no temporary file can be made in /run (read-only"), "{log}");
        server.end(Signal::TERM);
    }
}

#[test]
fn the_ruby_engine_starts_and_reloads_where_the_temporary_folder_is_full() {
    let full = "mount --make-rprivate / && mount -t tmpfs -o size=64k none full && { head -c 100k /dev/zero >full/all; \
                exec \"$@\"; } 2>&1";
    let by = ["unshare", "--mount", "sh", "-c", full, "sh"];
    let folder = ruby::folder(&[("config.ru", &paths(SIZE)), ("full/x", "")]);
    if !is_permitted(&by, &folder) {
        return;
    }
    let place = folder.join("full").display().to_string();
    let mut server = ruby::serve_by(&by, folder, &[("TMPDIR", &place)], &["-w", "1", "-t", "1"]);
    let wire = wire(&server);
    assert!(wire.starts_with("/dev/shm") && wire.exists(), "{}", wire.display());
    server.reload("generation 2 serves");
    // Less than the server still reads of a body after it has refused it: a client that sends more may see a reset.
    assert_eq!(server.client().post("/size", vec![b'x'; 3_000_000]).status, 507, "{}", server.log());
    server.must_log(&format!("No space left on device (os error 28), in {place}"));
    assert_eq!(server.text("/"), "gold");
    server.end(Signal::TERM);
}

#[test]
fn where_no_folder_can_be_made_the_message_names_tmpdir() {
    let try_mount = "mount -t tmpfs -o ro none /dev/shm && exec \"$@\"";
    let by = ["unshare", "--mount", "sh", "-c", try_mount, "sh"];
    if !is_permitted(&by, "/") {
        return;
    }
    let (folder, place) = without_place("run lambda { |env| [200, {}, []] }");
    let mut command = Command::new(by[0]);
    command.args(&by[1..]).arg(server::command().get_program());
    command.args(["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &ruby::program()]);
    let ran = command.current_dir(&folder).env("TMPDIR", &place).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("no-folder: ") && said.contains("/dev/shm: ") && said.contains("by TMPDIR"), "{said}");
}

#[test]
fn nothing_is_left_of_ends_upgrades_failures_and_kills() {
    adopt_orphans();
    let config = "$stdout.sync = true\nputs 'it loads'\nsleep if File.exist?('sleeps')\n\
                  raise 'no' if File.exist?('fails')\nrun lambda { |env| [200, {}, ['gold']] }";
    let folder = ruby::folder(&[("config.ru", config), ("tmp/other-tool/file", "")]);
    let (place, program) = (folder.join("tmp"), ruby::program());
    let env = [("TMPDIR", place.to_str().unwrap())];
    let options = ["-b", "unix://web.sock", "--engine", "ruby", "--ruby", &program, "-w", "1", "--pidfile", "web.pid"];
    let start = || Server::begin(folder.clone(), &env, &options);
    let ours = || entries(&place).iter().filter(|name| name.starts_with("foolsgold-wire-")).count();
    // Killed while it serves, and while it loads.
    let mut first = start();
    first.must_log("serving");
    first.signal(Signal::KILL);
    assert!(first.ended(MAX_WAIT).is_some() && ours() == 1);
    fs::write(folder.join("sleeps"), "").unwrap();
    let mut second = start();
    second.must_log("it loads");
    assert_eq!(ours(), 1, "what the first has left is gone");
    second.signal(Signal::KILL);
    assert!(second.ended(MAX_WAIT).is_some() && ours() == 1);
    // Ended while it loads.
    let mut third = start();
    third.must_log("it loads");
    third.signal(Signal::TERM);
    assert!(third.ended(MAX_WAIT).is_some() && ours() == 0);
    fs::remove_file(folder.join("sleeps")).unwrap();
    // One that does not start.
    fs::write(folder.join("fails"), "").unwrap();
    assert!(start().ended(MAX_WAIT).is_some());
    assert_eq!(entries(&place), ["other-tool"]);
    fs::remove_file(folder.join("fails")).unwrap();
    // An upgrade, a reload, a graceful end; a second server of this place sweeps nothing of the first.
    let mut old = start();
    old.must_log("serving");
    let new = upgraded(&mut old, "web.pid");
    assert_eq!(ours(), 1);
    new.signal(Signal::USR1);
    old.must_log("reload");
    assert!(within(MAX_WAIT, || ours() == 2) && within(MAX_WAIT, || ours() == 1));
    new.end(Signal::TERM);
    assert_eq!(entries(&place), ["other-tool"]);
}
