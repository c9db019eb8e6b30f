//! Ten thousand idle connections cost little memory and are still served when they wake up. What one takes half a
//! second after its last answer, when hyper and its buffers are dropped, is tested in front/tests/idle.rs: less than 6
//! KiB. The pages of the process are more, here up to 8 KiB: glibc's allocator keeps those of connections that were
//! opened together. jemalloc, in a release, returns them within ten seconds: 4.6 KiB each.

use std::fs;
use std::net::TcpStream;

use crate::support::{Client, MAX_WAIT, Server, app, ruby, within};

const CONNECTIONS: usize = 10_000;
/// What one idle connection may add to the server's resident memory.
const KIB_EACH: u64 = 10;
/// Files a process needs beside its connections.
const SPARE: u64 = 200;

#[test]
fn ten_thousand_idle_connections_are_held_in_little_memory() {
    let allowed = rlimit::increase_nofile_limit(CONNECTIONS as u64 + SPARE).unwrap_or(0);
    if allowed < CONNECTIONS as u64 + SPARE {
        eprintln!("skipped: this machine allows {allowed} open files; 'ulimit -Hn' must be above {CONNECTIONS}");
        return;
    }
    let server = Server::start(&app("", "\"gold\""), &["-t", "2", "--access-log", "off", "--keep-alive", "600s"]);
    assert_eq!(server.text("/"), "gold");
    let before = server.rss_kib();
    let mut idle: Vec<Client> = Vec::with_capacity(CONNECTIONS);
    for number in 0..CONNECTIONS {
        let mut client = server.client();
        // Every tenth has been served once, since a used connection may hold more than a new one.
        if number % 10 == 0 {
            assert_eq!(client.get("/").text(), "gold", "connection {number}");
        }
        idle.push(client);
    }
    let open = || ruby::open_files(server.id());
    assert!(within(MAX_WAIT, || open() >= CONNECTIONS), "only {} are accepted", open());
    let grown = || server.rss_kib().saturating_sub(before);
    let is_little = within(MAX_WAIT, || grown() < KIB_EACH * CONNECTIONS as u64);
    let grown = grown();
    assert!(is_little, "{grown} KiB for {CONNECTIONS} idle connections");
    eprintln!("{CONNECTIONS} idle connections: {grown} KiB more, from {before} KiB");
    for client in idle.iter_mut().step_by(97) {
        assert_eq!(client.get("/").text(), "gold");
    }
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_ok());
    drop(idle);
    assert!(within(MAX_WAIT, || open() < 200), "{} files are still open", open());
}

/// The timer of a connection is `02` while the kernel waits to ask its peer (proc_pid_net(5), `tr`).
#[test]
fn the_kernel_looks_whether_the_client_of_a_quiet_connection_is_still_there() {
    let server = Server::start(&app("", "1"), &["-t", "1"]);
    let mut client = Client::tcp(server.port);
    assert_eq!(client.get("/").status, 200);
    let ours = format!(":{:04X}", server.port);
    let timers = || -> Vec<String> {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<&str>>());
        let own = rows.filter(|row| row[1].ends_with(&ours) && row[3] == "01");
        own.map(|row| row[5].to_owned()).collect()
    };
    assert!(within(MAX_WAIT, || timers().iter().any(|timer| timer.starts_with("02:"))), "{:?}", timers());
}
