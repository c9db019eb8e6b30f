//! The files a server has beside its application: pid file, state file, log files; and as whom it makes them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::support::successor::pid_in;
use crate::support::{Client, MAX_WAIT, Server, app, ruby, server, within};
use rustix::process::Signal;

/// Waits until a file has this in it.
#[track_caller]
fn wait_for(file: &Path, words: &str) {
    let read = || fs::read_to_string(file).unwrap_or_default();
    assert!(within(MAX_WAIT, || read().contains(words)), "{words:?} is not in {}:\n{}", file.display(), read());
}

#[test]
fn a_pid_file_belongs_to_one_server_as_long_as_that_lives() {
    let mut server = Server::start(&app("", "1"), &["--pidfile", "a.pid", "-t", "1"]);
    let file = server.folder.join("a.pid");
    assert_eq!(pid_in(&file), Some(server.id()));
    let (code, said) = ruby::run(&server.folder, &["--pidfile", "a.pid", "-t", "1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("belongs to a server that runs (process {})", server.id())), "{said}");
    assert_eq!(pid_in(&file), Some(server.id()));
    server.ended_by(Signal::TERM);
    assert!(!file.exists(), "{}", server.log());
}

/// Until it listens, its socket looks like one that was left behind.
#[test]
fn a_second_start_takes_no_socket_from_a_server_that_is_loading() {
    let config = "sleep 0.01 until File.exist?('go')\nrun ->(env) { [200, {}, ['first']] }";
    let folder = server::folder_with(&[("config.ru", config)]);
    let unix = format!("unix://{}", folder.join("web.sock").display());
    let options = ["-b", "tcp://127.0.0.1:0", "-b", &unix, "-w", "1", "--pidfile", "a.pid"];
    let mut server = Server::begin(folder, &[], &options);
    let socket = server.folder.join("web.sock");
    assert!(within(MAX_WAIT, || socket.exists() && server.folder.join("a.pid").exists()), "{}", server.log());
    let (code, said) = ruby::run(&server.folder, &options[2..]);
    assert!(code == Some(1) && said.contains("belongs to a server that runs"), "{said}");
    assert!(socket.exists(), "{said}");
    fs::write(server.folder.join("go"), "").unwrap();
    server.wait_ready();
    assert_eq!(Client::unix(&socket).get("/").text(), "first");
}

#[test]
fn a_server_whose_socket_was_replaced_while_it_was_loading_says_so() {
    let config = "File.write('loading', '')\nsleep 0.01 until File.exist?('go')\nrun ->(env) { [200, {}, ['first']] }";
    let folder = server::folder_with(&[("config.ru", config)]);
    let socket = folder.join("web.sock");
    let unix = format!("unix://{}", socket.display());
    let mut server = Server::begin(folder, &[], &["-b", &unix, "-w", "1"]);
    assert!(within(MAX_WAIT, || server.folder.join("loading").exists()), "{}", server.log());
    fs::remove_file(&socket).unwrap();
    fs::write(server.folder.join("go"), "").unwrap();
    assert!(server.ended(MAX_WAIT).is_some_and(|status| status.code() == Some(1)), "{}", server.log());
    assert!(server.log().contains("has removed or replaced its file"), "{}", server.log());
}

/// Until it serves, its state file is empty, as that of a start that has failed.
#[test]
fn a_second_start_that_fails_leaves_the_state_file_to_a_server_that_is_loading() {
    let config = "File.write('loading', '')\nsleep 0.01 until File.exist?('go')\nrun ->(env) { [200, {}, ['first']] }";
    let folder = server::folder_with(&[("config.ru", config)]);
    let state = folder.join("state");
    let mut server = Server::begin(folder, &[], &["-b", "tcp://127.0.0.1:0", "-w", "1", "-S", "state"]);
    assert!(within(MAX_WAIT, || server.folder.join("loading").exists() && state.exists()), "{}", server.log());
    let nowhere = format!("unix://{}", server.folder.join("nowhere/web.sock").display());
    let (code, said) = ruby::run(&server.folder, &["-b", &nowhere, "-w", "1", "-S", "state"]);
    assert!(code == Some(1) && said.contains("there is no folder"), "{said}");
    fs::write(server.folder.join("go"), "").unwrap();
    server.wait_ready();
    wait_for(&state, &format!("pid: {}\n", server.id()));
    server.ended_by(Signal::TERM);
    assert!(!state.exists(), "{}", server.log());
}

#[test]
fn a_pid_file_that_was_left_behind_is_taken_over() {
    // A number that is in use: in a container it often is.
    let files = [("config.ru", &*app("", "1")), ("a.pid", "1\n")];
    let mut server = Server::files(&files, &["--pidfile", "a.pid", "-t", "1"]);
    server.must_log("was left behind");
    assert!(within(MAX_WAIT, || pid_in(&server.folder.join("a.pid")) == Some(server.id())));
    server.ended_by(Signal::KILL);
    assert!(server.folder.join("a.pid").exists());
}

/// As `rails server` has, up to whose version 7.0 config/puma.rb names the file that Rails itself writes.
#[test]
fn a_pid_file_of_the_process_that_starts_the_server_was_not_left_behind() {
    let files = [("config.ru", &*app("", "1")), ("a.pid", &*format!("{}\n", std::process::id()))];
    let server = Server::files(&files, &["--pidfile", "a.pid", "-t", "1"]);
    server.must_log("which has started this server");
    assert!(!server.log().contains("was left behind"), "{}", server.log());
    assert!(within(MAX_WAIT, || pid_in(&server.folder.join("a.pid")) == Some(server.id())));
}

#[test]
fn a_state_file_that_is_something_else_is_left_alone_and_no_file_is_two_things() {
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let said = |options: &[&str]| ruby::run(&folder, options);
    let (code, words) = said(&["-S", "config.ru", "-t", "1"]);
    assert!(code == Some(1) && words.contains("is it a state file?"), "{words}");
    assert_eq!(fs::read_to_string(folder.join("config.ru")).unwrap(), app("", "1"));
    for (options, right) in [
        (["--pidfile", "x", "-S", "./x"], "is the pid file, too: name another"),
        (["--pidfile", "x", "--log-file", "x"], "is the log file, too: name another"),
        (["-S", "x", "--log-file", "x"], "is the log file, too: name another"),
    ] {
        let (code, words) = said(&options);
        assert!(code == Some(2) && words.contains(right), "{options:?}: {words}");
    }
    assert!(!folder.join("x").exists());
}

#[test]
fn a_start_that_fails_leaves_no_pid_file() {
    let folder = server::folder_with(&[("config.ru", "raise \"no\"")]);
    let (code, said) = ruby::run(&folder, &["--pidfile", "a.pid", "-S", "state", "-t", "1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(!folder.join("a.pid").exists() && !folder.join("state").exists());
}

#[test]
fn pumactl_finds_the_server_by_its_state_file() {
    let config = |text: &str| app("", &format!("{text:?}"));
    let mut server = Server::start(&config("old"), &["-S", "state", "-t", "1"]);
    let state = server.folder.join("state");
    wait_for(&state, &format!("pid: {}\n", server.id()));
    if Command::new("pumactl").arg("--version").output().is_err() {
        return;
    }
    let pumactl = |word: &str| {
        let run = Command::new("pumactl").args(["-S", "state", word]).current_dir(&server.folder).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    fs::write(server.folder.join("config.ru"), config("new")).unwrap();
    pumactl("phased-restart");
    assert!(within(MAX_WAIT, || server.text("/") == "new"), "{}", server.log());
    pumactl("stop");
    server.must_end();
    assert!(!state.exists());
}

#[test]
fn logs_are_rotated_with_what_workers_and_their_children_print() {
    let config = "run lambda { |env|\n  $stdout.puts \"ruby says #{env['PATH_INFO']}\"\n  \
                  system(\"echo a child says #{env['PATH_INFO']}; echo complains >&2\")\n  [200, {}, [\"ok\"]]\n}";
    // The folder's `log` is where the test looks for the port.
    let mut server = ruby::serve(config, &["-w", "2", "--log-file", "log", "-e", "production"]);
    let (log, aside) = (server.folder.join("log"), server.folder.join("log.1"));
    server.text("/one");
    for words in ["ruby says /one", "a child says /one", "complains", "GET /one 200"] {
        wait_for(&log, words);
    }
    fs::rename(&log, &aside).unwrap();
    server.text("/two");
    wait_for(&aside, "a child says /two");
    wait_for(&aside, "GET /two 200");
    server.signal(Signal::HUP);
    wait_for(&log, "opened anew");
    server.text("/three");
    for words in ["ruby says /three", "a child says /three", "complains", "GET /three 200"] {
        wait_for(&log, words);
    }
    assert!(!fs::read_to_string(&aside).unwrap().contains("/three"));
    server.ended_by(Signal::TERM);
    wait_for(&log, "shut down: 3 requests served");
}

#[test]
fn standard_error_has_a_file_of_its_own() {
    let config = "run lambda { |env| $stderr.puts \"to err\"; $stdout.puts \"to out\"; [200, {}, [\"ok\"]] }";
    let files = ["--redirect-stdout", "log", "--redirect-stderr", "err", "-w", "1"];
    let server = ruby::serve(config, &files);
    server.text("/");
    wait_for(&server.folder.join("log"), "to out");
    wait_for(&server.folder.join("err"), "to err");
    assert!(!server.log().contains("to err"));
}

#[test]
fn a_log_folder_that_went_away_keeps_the_old_file() {
    let server = Server::start(&app("", "1"), &["-t", "1", "--redirect-stdout", "log", "--redirect-stderr", "sub.err"]);
    fs::remove_file(server.folder.join("sub.err")).unwrap();
    fs::create_dir(server.folder.join("sub.err")).unwrap();
    server.signal(Signal::HUP);
    server.must_log("sub.err is a folder");
    server.text("/after");
    server.must_log("GET /after 200");
}

#[test]
fn the_folder_comes_first_and_the_umask_counts() {
    let folder = server::folder_with(&[("shop/config.ru", &app("", "Dir.pwd rescue 'shop'"))]);
    let inner = folder.join("shop");
    let options = ["--dir", "shop", "--umask", "027", "-b", "unix://web.sock", "--pidfile", "a.pid", "-t", "1"];
    let server = Server::spawn(folder, &[], &options);
    let socket = inner.join("web.sock");
    assert!(within(MAX_WAIT, || std::os::unix::net::UnixStream::connect(&socket).is_ok()), "{}", server.log());
    assert_eq!(Client::unix(&socket).get("/").status, 200);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&inner.join("a.pid"))), (0o750, 0o640));
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    for (options, code, words) in [
        (&["--dir", "nowhere"][..], 2, "--dir nowhere: No such file"),
        (&["--umask", "8"], 2, "must be an octal number"),
        (&["--user", "no-such-user"], 2, "there is no such user"),
        (&["--log-file", "."], 2, "is a folder"),
        (&["--log-file", "no/log"], 1, "no/log cannot be opened"),
        (&["--log-file", "no/more/log"], 1, "/no: make it, or name another path"),
        (&["--signals", "mongrel"], 2, "must be puma, unicorn, unicorn-graceful, pitchfork, thin, passenger"),
        (&["--pidfile", "no/a.pid"], 1, "cannot be written"),
        (&["--pidfile", "no/a.pid"], 1, "there is no folder no: make it"),
        (&["-S", "no/state"], 1, "/no: make it, or name another path"),
        (&["-b", "fd://3"], 1, "was not started with it"),
    ] {
        let (got, said) = ruby::run(&folder, options);
        assert!(got == Some(code) && said.contains(words), "{options:?}: {got:?} {said}");
    }
}

#[test]
fn root_becomes_somebody_else_before_the_application_is_loaded() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let config = "WHO = [Process.uid, Process.euid, Process.gid, Process.groups].inspect\n\
                  run lambda { |env| [200, {}, [WHO]] }";
    let folder = server::folder_with(&[("config.ru", config)]);
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let unix = format!("unix://{}", folder.join("web.sock").display());
    let more = ["-b", &unix, "-w", "1", "--user", "nobody", "--log-file", "log", "--pidfile", "a.pid", "-S", "state"];
    let mut server = ruby::serve_by(&[], folder, &[], &more);
    let nobody = ruby::user(server.id());
    assert_ne!(nobody, 0);
    assert!(server.text("/").starts_with(&format!("[{nobody}, {nobody}, ")), "{}", server.text("/"));
    for file in ["web.sock", "log", "a.pid", "state"] {
        assert_eq!(fs::metadata(server.folder.join(file)).unwrap().uid(), nobody, "{file}");
    }
    fs::rename(server.folder.join("log"), server.folder.join("log.1")).unwrap();
    server.signal(Signal::HUP);
    wait_for(&server.folder.join("log"), "opened anew");
    server.end(Signal::TERM);
    assert!(!server.folder.join("a.pid").exists() && !server.folder.join("web.sock").exists());
}

/// Unicorn writes its own log to standard error, and what is watched and rotated is that file.
#[test]
fn the_log_goes_to_the_stderr_path_of_unicorns_file() {
    let unicorn = "stderr_path 'log'\nstdout_path 'out.log'\n";
    let files = [("config.ru", &*app("", "puts 'printed'; 1")), ("unicorn.rb", unicorn)];
    let server = ruby::serve_files(&files, &[], &["-C", "unicorn.rb"]);
    assert_eq!(server.get("/nugget").status, 200);
    server.must_log(" GET /nugget 200 ");
    let out = server.folder.join("out.log");
    wait_for(&out, "printed");
    let printed = fs::read_to_string(&out).unwrap();
    assert!(!printed.contains("listening on") && !printed.contains("/nugget"), "{printed}");
}
