//! A temporary folder that is swept while the server serves (`rm -rf /tmp/*`, systemd-tmpfiles, tmpreaper): nothing
//! that a client asks for needs what was in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::successor::signal;
use crate::support::{MAX_WAIT, Server, ruby, within};
use rustix::process::{Signal, geteuid};

/// Says its process; says how large a body is; takes its connection over, in full and in part.
const APP: &str = r#"
run lambda { |env|
  case env["PATH_INFO"]
  when "/size" then [200, {}, [env["rack.input"].read.bytesize.to_s]]
  when "/full"
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngold")
    io.close
    [200, {}, []]
  when "/part"
    write = proc { |io| io.write("gold"); io.close }
    [200, { "content-length" => "4", "rack.hijack" => write }, []]
  else [200, {}, [Process.pid.to_s]]
  end
}
"#;

/// A server whose temporary folder is one of its own.
fn serve(more: &[&str]) -> (Server, PathBuf) {
    let folder = ruby::folder(&[("config.ru", APP), ("tmp/other", "")]);
    let place = folder.join("tmp");
    let options = [&["-w", "2", "-t", "1"][..], more].concat();
    (ruby::serve_by(&[], folder, &[("TMPDIR", &place.display().to_string())], &options), place)
}

/// Folders of the Ruby processes.
fn wires(place: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("foolsgold-wire-")).collect()
}

/// Everything that needs a connection to the server.
#[track_caller]
fn assert_serves(server: &Server, when: &str) {
    let state = |what: &str| format!("{what} {when}: {}", server.log());
    for _ in 0..2 {
        assert_eq!(server.client().post("/size", vec![b'x'; 1 << 20]).text(), "1048576", "{}", state("a large body"));
        for path in ["/full", "/part"] {
            assert_eq!(server.get(path).text(), "gold", "{}", state(path));
        }
    }
}

/// Kills these processes, all workers among them, and waits until another one answers.
#[track_caller]
fn replace(server: &Server, pids: &[u32]) {
    pids.iter().for_each(|pid| signal(*pid, Signal::KILL));
    let is_replaced = || {
        let reply = server.get("/");
        reply.status == 200 && !pids.iter().any(|pid| pid.to_string() == reply.text())
    };
    assert!(within(MAX_WAIT, is_replaced), "{pids:?}\n{}", server.log());
}

/// Workers, the mold and the application are replaced one after the other, and all is well after each.
#[track_caller]
fn assert_goes_on(mut server: Server, place: &Path) {
    assert_serves(&server, "after the sweep");
    replace(&server, &ruby::workers(&server));
    assert_serves(&server, "with new workers");
    replace(&server, &ruby::processes(server.id()));
    server.must_log("the folder of the Ruby processes is now");
    assert_serves(&server, "with a new mold");
    assert!(!wires(place).is_empty());
    server.reload("generation 2 serves");
    assert_serves(&server, "after a reload");
    // A mold that was killed while it was to fork may be one boot that failed.
    assert!(!server.log().contains("refused") && !server.log().contains("reload failed"), "{}", server.log());
    server.end(Signal::TERM);
    assert_eq!(wires(place), Vec::<PathBuf>::new(), "nothing is left");
}

#[test]
fn a_service_goes_on_when_its_temporary_folder_is_emptied() {
    for worker in ["plain", "auto"] {
        let (server, place) = serve(&["--ruby-worker", worker]);
        wires(&place).iter().for_each(|wire| fs::remove_dir_all(wire).unwrap());
        assert_goes_on(server, &place);
    }
}

#[test]
fn a_service_goes_on_when_the_files_in_its_temporary_folder_are_removed() {
    for preload in ["--preload=force", "--preload=no"] {
        let (server, place) = serve(&[preload]);
        wires(&place).iter().for_each(|wire| fs::remove_dir_all(wire.join("ruby")).unwrap());
        assert_goes_on(server, &place);
    }
}

#[test]
fn a_folder_that_somebody_else_has_made_under_its_name_is_not_used() {
    let (server, place) = serve(&[]);
    let wire = wires(&place).remove(0);
    fs::remove_dir_all(&wire).unwrap();
    fs::create_dir_all(wire.join("ruby")).unwrap();
    fs::write(wire.join("ruby/mold.rb"), "File.write('theirs', '')").unwrap();
    let _theirs = std::os::unix::net::UnixListener::bind(wire.join("wire.sock")).unwrap();
    replace(&server, &ruby::processes(server.id()));
    assert_serves(&server, "with a new mold");
    assert!(!server.folder.join("theirs").exists());
}

#[test]
fn workers_of_another_user_go_on_too() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can start processes as somebody else");
        return;
    }
    let (server, place) = serve(&["--ruby-user", "nobody"]);
    wires(&place).iter().for_each(|wire| fs::remove_dir_all(wire).unwrap());
    assert_goes_on(server, &place);
}

#[test]
fn systemd_leaves_the_folder_of_a_server_that_serves_alone() {
    let (mut server, place) = serve(&[]);
    let config = server.folder.join("tmp.conf");
    fs::write(&config, format!("d {} - - - 0\n", place.display())).unwrap();
    fs::create_dir(place.join("old")).unwrap();
    let cleans = || Command::new("systemd-tmpfiles").arg("--clean").arg(&config).output();
    if !cleans().is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: there is no systemd-tmpfiles");
        return;
    }
    let files = |wire: &PathBuf| fs::read_dir(wire.join("ruby")).map_or(0, Iterator::count);
    let found = wires(&place);
    assert!(found.len() == 1 && files(&found[0]) > 10 && found[0].join("wire.sock").exists(), "{found:?}");
    assert!(!place.join("old").exists(), "it does clean");
    server.end(Signal::TERM);
}

#[test]
fn the_name_of_a_temporary_folder_may_be_too_long_for_a_socket() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let place = folder.join("x".repeat(120));
    fs::create_dir(&place).unwrap();
    let env = [("TMPDIR", place.to_str().unwrap())];
    let server = ruby::serve_by(&[], folder, &env, &["-w", "1", "-t", "1"]);
    assert_serves(&server, "with a long TMPDIR");
}
