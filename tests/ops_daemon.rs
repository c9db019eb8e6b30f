//! In the background: the command ends when the server serves, or says why it does not.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::successor::{Process, adopt_orphans, pid_in};
use crate::support::{Client, MAX_WAIT, Server, app, ruby, server, within};
use rustix::process::{Pid, Signal, getsid};

const IN_BACKGROUND: [&str; 7] = ["-b", "unix://web.sock", "--pidfile", "web.pid", "-d", "--log-file", "out.log"];

fn run(folder: &Path, options: &[&str]) -> Output {
    server::command().current_dir(folder).args(IN_BACKGROUND).args(options).output().unwrap()
}

#[test]
fn the_command_ends_when_the_server_serves() {
    adopt_orphans();
    let folder = server::folder_with(&[("config.ru", &app("", "'v1 ' + env['PATH_INFO']"))]);
    let ran = run(&folder, &["-t", "1"]);
    assert!(ran.status.success() && ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran:?}");
    let text = fs::read_to_string(folder.join("out.log")).unwrap();
    assert!(text.contains("serving") && text.contains("web.sock"), "a script may look at once: {text}");
    let process = Process::named_in(&folder.join("web.pid"), 0);
    let socket = folder.join("web.sock");
    assert_eq!(Client::unix(&socket).get("/a").text(), "v1 /a");
    let session = getsid(Pid::from_raw(process.0.cast_signed())).unwrap();
    assert_eq!(session.as_raw_nonzero().get().cast_unsigned(), process.0, "a session of its own");
    let log = || fs::read_to_string(folder.join("out.log")).unwrap();
    assert!(within(MAX_WAIT, || log().contains("GET /a 200")), "{}", log());
    // It can be upgraded there, too.
    fs::write(folder.join("config.ru"), app("", "'v2 ' + env['PATH_INFO']")).unwrap();
    process.signal(Signal::USR2);
    let next = Process::named_in(&folder.join("web.pid"), process.0);
    assert!(process.ended(), "{}", log());
    assert_eq!(Client::unix(&socket).get("/b").text(), "v2 /b");
    next.end(Signal::TERM);
    assert!(!socket.exists() && pid_in(&folder.join("web.pid")).is_none(), "{}", log());
}

/// As by a terminal that is closed while the application loads.
#[test]
fn the_server_serves_although_the_command_was_ended_meanwhile() {
    adopt_orphans();
    let waits = "File.write('loading', '')\nsleep 0.01 until File.exist?('go')";
    let folder = server::folder_with(&[("config.ru", &app(waits, "'gold'"))]);
    let program = ruby::program();
    let options = [&IN_BACKGROUND[..], &["--engine", "ruby", "--ruby", &program, "-w", "1"]].concat();
    let command = Server::begin(folder.clone(), &[], &options);
    let log = || fs::read_to_string(folder.join("out.log")).unwrap_or_default();
    assert!(within(MAX_WAIT, || folder.join("loading").exists()), "{}", log());
    drop(command);
    fs::write(folder.join("go"), "").unwrap();
    let process = Process::named_in(&folder.join("web.pid"), 0);
    assert!(within(MAX_WAIT, || log().contains("serves all the same")), "{}", log());
    assert_eq!(Client::unix(&folder.join("web.sock")).get("/").text(), "gold", "{}", log());
    process.end(Signal::TERM);
}

#[test]
fn a_start_that_fails_is_told_by_the_command() {
    let folder = server::folder();
    for (config, options, words) in [
        ("raise \"broken on purpose\"", &["-t", "1"][..], "broken on purpose"),
        ("raise \"broken in ruby\"", &["--engine", "ruby", "--ruby", &ruby::program()], "broken in ruby"),
        ("run lambda { }", &["--pidfile", "no/pid", "-t", "1"], "no/pid cannot be written"),
    ] {
        fs::write(folder.join("config.ru"), config).unwrap();
        let ran = run(&folder, options);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot start: ") && said.contains(words), "{said}");
        assert_eq!(said.matches(words).count(), 1, "once: {said}");
        assert!(!folder.join("web.sock").exists() && !folder.join("web.pid").exists());
    }
}

#[test]
fn a_file_that_cannot_be_read_may_have_named_the_log() {
    let folder = server::folder_with(&[("config.ru", "run lambda { }")]);
    for (file, text) in
        [("bad.toml", "log-file = \"a.log\"\nworkers = [\n"), ("bad.rb", "stdout_path 'a.log'\nraise 'no'\n")]
    {
        fs::write(folder.join(file), text).unwrap();
        let (code, said) = server::stderr_of(&folder, &[], &["-d", "-C", file]);
        assert!(code == Some(2) && said.contains(&format!("{file}:2")), "{said}");
        assert!(!said.contains("--log-file"), "{said}");
    }
    let (_, said) = server::stderr_of(&folder, &[], &["-D"]);
    assert!(said.contains("  -D: needs --log-file FILE"), "{said}");
}

/// As in Unicorn; the application may write a log of its own.
#[test]
fn a_unicorn_in_the_background_without_a_log_serves_and_says_that_there_is_none() {
    adopt_orphans();
    let folder = server::folder_with(&[
        ("config.ru", "run ->(_) { [200, {}, ['gold']] }"),
        ("unicorn.rb", "listen \"#{Dir.pwd}/web.sock\"\npid \"#{Dir.pwd}/web.pid\"\n"),
    ]);
    let options = ["-c", "unicorn.rb", "-D", "--ruby", &ruby::program()];
    let (code, said) = server::stderr_of(&folder, &[], &options);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the log goes to /dev/null") && said.contains("--log-file FILE"), "{said}");
    let process = Process::named_in(&folder.join("web.pid"), 0);
    assert_eq!(Client::unix(&folder.join("web.sock")).get("/").text(), "gold");
    process.end(Signal::TERM);
}

#[test]
fn a_failed_start_is_told_where_it_was_called_though_standard_error_goes_to_a_file() {
    let folder = server::folder_with(&[("config.ru", "raise \"broken on purpose\"")]);
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1", "--redirect-stderr", "err.log", "--log-file", "out.log"];
    let (code, said) = server::stderr_of(&folder, &[], &options);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.matches("broken on purpose").count(), 1, "{said}");
    let kept = fs::read_to_string(folder.join("err.log")).unwrap();
    assert!(kept.contains("cannot start: ") && kept.contains("broken on purpose"), "{kept}");
}
