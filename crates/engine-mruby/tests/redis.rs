//! Redis: the gem's API with a real server, and the limits with a hostile one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support;
use crate::support::peer::{Peer, Started, await_port};
use crate::support::table::{ANSWER, agrees, assert_begins, value};
use crate::support::{App, assert_holds_nobody_up};

/// A real Redis server with a folder of its own.
struct Server {
    _child: Started,
    folder: tempfile::TempDir,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let socket = folder.path().join("socket");
        let spawn = |program: &str| {
            Command::new(program)
                .arg0("redis-server")
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--unixsocket"])
                .arg(&socket)
                .args(["--dir", &folder.path().display().to_string()])
                .stdout(Stdio::null())
                .spawn()
        };
        // The server is the same program as redis-check-rdb and chooses by its name. Debian's redis-tools has it
        // without a service that would be started.
        let child = spawn("redis-server").or_else(|_| spawn("redis-check-rdb"));
        let child = child.unwrap_or_else(|error| panic!("redis-server: {error}. bin/setup installs redis-tools"));
        await_port(port);
        Server { _child: Started(child), folder, port }
    }
}

fn app(url: &str) -> App {
    support::app(&format!("require 'redis'\nR = Redis.new(url: {url:?})\nURL = {url:?}\n{ANSWER}"))
}

#[test]
fn commands_have_the_usual_names_and_answers() {
    let server = Server::start();
    let app = app(&format!("redis://127.0.0.1:{}/0", server.port));
    agrees(&app, "redis.txt");
    let socket = server.folder.path().join("socket");
    let unix = format!("Redis.new(url: 'unix://{}').ping", socket.display());
    assert_eq!(value(&app, &unix), r#""PONG""#);
    assert_eq!(value(&app, &format!("Redis.new(path: {socket:?}).ping('x')")), r#""x""#);
}

/// What a lost connection raises, and then a key that nobody has set.
const CONNECTION_NIL: &str = "[Redis::ConnectionError, nil]";

#[test]
fn a_lost_connection_loses_no_watch_and_no_database() {
    let server = Server::start();
    let app = app(&format!("redis://127.0.0.1:{}/0", server.port));
    let kill = "Redis.new(url: URL).call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')";
    for (code, expected) in [
        ("[(R.watch('a') { KILL; R.multi { |m| m.set('a', 1) } } rescue $!.class), R.get('a')]", CONNECTION_NIL),
        ("R.watch('a'); KILL; [(R.get('b') rescue $!.class), R.get('a')]", CONNECTION_NIL),
        ("R.call('watch', 'a'); KILL; [(R.multi { |m| m.get('a') } rescue $!.class), R.get('a')]", CONNECTION_NIL),
        ("R.watch('a') { R.multi { |m| m.get('a') } }; KILL; R.multi { |m| m.get('a') }", "[nil]"),
        ("R.watch('a'); R.unwatch; KILL; R.multi { |m| m.get('a') }", "[nil]"),
        ("R.multi(watch: ['a']) { |m| m.get('a') } rescue $!.class", "ArgumentError"),
        ("[(R.select(99) rescue $!.class), R.db, (KILL; R.get('a'))]", "[Redis::CommandError, 0, nil]"),
        ("[R.select(3), R.db, R.set('c', 'in three'), (KILL; R.get('c'))]", r#"["OK", 3, "OK", "in three"]"#),
        ("r = Redis.new(url: URL, reconnect_attempts: [0.01]); r.get('a'); KILL; r.get('a')", "nil"),
        (
            "r = Redis.new(url: URL, reconnect_attempts: false); r.get('a'); KILL; r.get('a') rescue $!.class",
            "Redis::ConnectionError",
        ),
    ] {
        assert_eq!(value(&app, &code.replace("KILL", kill)), expected, "{code}");
    }
}

/// A server that answers a command in the way that its first word names.
fn hostile() -> Peer {
    Peer::start(|stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
            let word = line.trim().to_lowercase();
            line.clear();
            let sent = match word.as_str() {
                "silent" => stream.read(&mut [0]).map(|_| ()),
                "endless" => forever(&mut stream, b"$1000000000000\r\n", &[b'x'; 65536]),
                "line" => forever(&mut stream, b"+", &[b'x'; 65536]),
                "items" => forever(&mut stream, b"*1000000000000\r\n", b":1\r\n:2\r\n:3\r\n:4\r\n"),
                "deep" => forever(&mut stream, b"", b"*1\r\n"),
                "trickle" => loop {
                    if stream.write_all(b":").is_err() {
                        return;
                    }
                    std::thread::park_timeout(Duration::from_millis(20));
                },
                "nonsense" => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
                "length" => stream.write_all(b"$3\r\nabcdef\r\n"),
                "cut" => stream.write_all(b"$10\r\nab").and_then(|()| stream.shutdown(std::net::Shutdown::Both)),
                _ => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
    })
}

fn forever(stream: &mut TcpStream, first: &[u8], more: &[u8]) -> std::io::Result<()> {
    stream.write_all(first)?;
    loop {
        stream.write_all(more)?;
    }
}

#[test]
fn servers_that_mean_ill_end_in_errors() {
    let peer = hostile();
    let app = app(&format!("redis://127.0.0.1:{}", peer.port));
    for (code, expected) in [
        ("R.call('endless')", "Redis::ProtocolError: the answer is larger"),
        ("R.call('line')", "Redis::ProtocolError: the answer is larger"),
        ("R.call('items')", "Redis::ProtocolError: the answer is larger"),
        ("R.call('deep')", "Redis::ProtocolError: the answer nests too deep"),
        ("R.call('nonsense')", "Redis::ProtocolError: Got "),
        ("R.call('length')", "Redis::ProtocolError: a text of the answer has another length"),
        ("R.call('cut')", "Redis::ConnectionError: Connection lost"),
        ("Redis.new(url: URL, timeout: 0.1).call('silent')", "Redis::TimeoutError: "),
        ("Redis.new(url: URL, timeout: 0.1).call('trickle')", "Redis::TimeoutError: "),
        ("Timeout.timeout(0.1) { R.call('silent') }", "Timeout::Error: "),
        (
            "Redis.new(url: 'redis://127.0.0.1:1').ping",
            "Redis::CannotConnectError: Error connecting to Redis on 127.0.0.1:1 (",
        ),
        ("Redis.new(host: 'no.such.host.invalid').ping", "Redis::CannotConnectError: "),
        ("Redis.new(path: '/nowhere').ping", "Redis::CannotConnectError: "),
        ("Redis.new(url: 'http://127.0.0.1')", "ArgumentError: "),
        ("R.subscribe('x')", "NotImplementedError: "),
    ] {
        assert_begins(&app, code, expected);
    }
}

#[test]
fn a_server_that_is_down_is_tried_as_often_as_the_application_says() {
    let app = app("redis://127.0.0.1:1");
    let code = "begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        refused = (Redis.new(url: URL, reconnect_attempts: [0, 0.1, 0.1]).ping rescue $!.class)
        [refused, Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun >= 0.2]";
    assert_eq!(value(&app, code), "[Redis::CannotConnectError, true]");
}

/// A server whose first connection leads to a replica, and the others to the new master.
fn after_a_failover() -> Peer {
    let begun = AtomicUsize::new(0);
    Peer::start(move |mut stream| {
        let is_replica = begun.fetch_add(1, Ordering::SeqCst) == 0;
        let refused = b"-READONLY You can't write against a read only replica.\r\n".as_slice();
        let reply = if is_replica { refused } else { b"+OK\r\n" };
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_server_that_has_become_a_replica_is_left() {
    let peer = after_a_failover();
    let app = app(&format!("redis://127.0.0.1:{}", peer.port));
    assert_eq!(value(&app, "R.set('a', 1)"), r#""OK""#);
    assert_eq!(peer.connections.load(Ordering::SeqCst), 2);
    let peer = after_a_failover();
    let once = format!("r = Redis.new(host: '127.0.0.1', port: {}, reconnect_attempts: 0)", peer.port);
    let twice = format!("{once}; [(r.set('a', 1) rescue $!.class), r.set('a', 1)]");
    assert_eq!(value(&app, &twice), r#"[Redis::ReadOnlyError, "OK"]"#);
}

#[test]
fn an_endless_answer_holds_nobody_up() {
    let peer = hostile();
    let port = peer.port;
    let app = support::app(&format!(
        "require 'redis'
         R = Redis.new(host: '127.0.0.1', port: {port}, timeout: 60)
         run ->(env) {{
           return [200, {{}}, ['fine']] if env['PATH_INFO'] == '/ok'
           [200, {{}}, [R.call(env['PATH_INFO'][1..-1]).to_s]] }}"
    ));
    for path in ["/silent", "/trickle"] {
        assert_holds_nobody_up(&app, path);
    }
}
