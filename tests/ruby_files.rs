//! How many files the application may have open: as many as the program that started the server has allowed, though the
//! server itself has more.

use std::fs;

use crate::support::successor::{adopt_orphans, upgraded};
use crate::support::{Server, ruby};
use rustix::process::Signal;

/// Says the soft limit of its own process and that of a program that it starts.
const APP: &str = "run lambda { |env| [200, {}, [Process.getrlimit(:NOFILE).first.to_s, ' ', `sh -c 'ulimit -Sn'`]] }";

/// The server's own.
fn soft(pid: u32) -> u64 {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// With a soft limit of so many files.
fn serve(limit: &str, files: &[(&str, &str)], options: &[&str]) -> Server {
    let script = format!("ulimit -Sn {limit}; exec \"$@\"");
    ruby::serve_by(&["sh", "-c", &script, "sh"], ruby::folder(files), &[], options)
}

#[test]
fn the_application_has_the_limit_that_the_server_was_started_with() {
    for limit in ["64", "1024"] {
        let server = serve(limit, &[("config.ru", APP)], &["-w", "1", "-t", "5"]);
        assert_eq!(server.text("/"), format!("{limit} {limit}\n"), "{}", server.log());
        assert!(soft(server.id()) > 1024);
        server.reload("generation 2 serves");
        assert_eq!(server.text("/"), format!("{limit} {limit}\n"), "after a reload: {}", server.log());
    }
}

#[test]
fn so_it_is_with_the_configuration_of_another_server() {
    let files = [("config.ru", APP), ("config/puma.rb", "workers 1\npreload_app!\n")];
    let server = serve("64", &files, &["-C", "config/puma.rb"]);
    assert_eq!(server.text("/"), "64 64\n", "{}", server.log());
    server.reload("generation 2 serves");
    assert_eq!(server.text("/"), "64 64\n", "after a reload: {}", server.log());
}

#[test]
fn so_it_is_after_an_upgrade() {
    adopt_orphans();
    let mut server = serve("64", &[("config.ru", APP)], &["-w", "1", "--pidfile", "web.pid"]);
    let new = upgraded(&mut server, "web.pid");
    assert_eq!(server.text("/"), "64 64\n", "{}", server.log());
    assert!(soft(new.0) > 1024);
    new.end(Signal::TERM);
}
