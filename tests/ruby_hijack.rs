//! Connections in the hands of an application on the Ruby engine: after its headers, altogether, and as a WebSocket.

use std::io::{ErrorKind, Read};
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Client, MAX_WAIT, Server, ruby, within};
use rustix::process::Signal;

const APP: &str = include_str!("apps/ruby/hijack.ru");

fn get(server: &Server, path: &str, headers: &str) -> Client {
    let mut client = server.client();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{headers}\r\n")).unwrap();
    client
}

/// A client whose request is answered with this status, as far as its head.
#[track_caller]
fn answered(server: &Server, path: &str, headers: &str, status: u16) -> Client {
    let mut client = get(server, path, headers);
    assert_eq!(client.head().unwrap().status, status, "{path}\n{}", server.log());
    client
}

#[test]
fn a_partial_hijack_writes_as_it_likes_and_frees_its_thread() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut client = get(&server, "/partial", "");
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/plain")), "{}", server.log());
    assert_eq!(head.header("rack.hijack"), None);
    let is_chunked = head.header("transfer-encoding") == Some("chunked");
    assert_eq!(server.text("/plain"), "plain", "the only thread serves others meanwhile");
    ruby::let_go(&server, "go1");
    let rest = if is_chunked {
        std::iter::from_fn(|| client.chunk().unwrap()).flatten().collect()
    } else {
        client.rest().unwrap()
    };
    assert_eq!(String::from_utf8_lossy(&rest), "first second");
    ruby::assert_clean(&server);
}

#[test]
fn a_partial_hijack_reads_what_the_client_sends() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut client = answered(&server, "/partial-echo", "", 200);
    client.send("hello\n").unwrap();
    let rest = client.rest().unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "HELLO\n");
    ruby::assert_clean(&server);
}

#[test]
fn a_partial_hijack_reads_a_large_body_and_what_runs_after_the_answer_runs_after_it() {
    let app = "note = ->(text) { File.write('notes', \"#{text}\\n\", mode: 'a') }\n\
               run ->(env) {\n  env['rack.response_finished'] << ->(*) { note.call('finished') }\n  \
               hijack = ->(io) { io.write(env['rack.input'].read.size.to_s); note.call('hijacked'); io.close }\n  \
               [200, { 'rack.hijack' => hijack }, []] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--body-memory", "1KiB"]);
    let mut client = server.client();
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(5000))).unwrap();
    assert_eq!(client.head().unwrap().status, 200, "{}", server.log());
    assert_eq!(client.rest().unwrap(), b"5000", "{}", server.log());
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2), "{}", server.log());
    assert_eq!(ruby::notes(&server), ["hijacked", "finished"]);
}

#[test]
fn a_partial_hijack_may_code_its_body_and_has_a_final_status() {
    let app = "run ->(env) { hijack = ->(io) { io.write(\"2\\r\\nhi\\r\\n0\\r\\n\\r\\n\"); io.close }\n  \
               [env['PATH_INFO'][1..].to_i, { 'transfer-encoding' => 'chunked', 'rack.hijack' => hijack }, []] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let reply = server.get("/200");
    assert_eq!((reply.header("transfer-encoding"), reply.text().as_str()), (Some("chunked"), "hi"), "{}", server.log());
    for path in ["/100", "/102", "/103"] {
        assert_eq!(server.get(path).status, 500, "{path}: {}", server.log());
    }
    server.must_log("the status 103 cannot end a request");
}

/// What the application would write would come after the end of the response. The body is closed, as in Puma.
#[test]
fn an_answer_without_content_takes_no_connection_over() {
    let app = "closed = 0\nbody = Object.new.tap { |body| body.define_singleton_method(:close) { closed += 1 } }\n\
               run ->(env) {\n  next [200, {}, [closed.to_s]] if env['PATH_INFO'] == '/'\n  \
               hijack = ->(io) { io.write('raw'); io.close }\n  \
               [env['PATH_INFO'][1..].to_i, { 'rack.hijack' => hijack }, body] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = server.client();
    for status in [204, 205, 304] {
        let reply = client.get(&format!("/{status}"));
        assert_eq!((reply.status, reply.header("connection")), (status, None), "{}", server.log());
        assert_eq!(reply.text(), "", "{status}");
    }
    assert_eq!(client.get("/").text(), "3", "{}", server.log());
}

#[test]
fn a_full_hijack_is_the_applications_own() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut client = get(&server, "/full", "");
    let reply = client.reply().unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (200, "by hand"), "{}", server.log());
    assert!(client.is_closed());
    let mut client = get(&server, "/full-thread", "");
    assert_eq!(server.text("/plain"), "plain", "the only thread serves others meanwhile");
    ruby::let_go(&server, "go1");
    assert_eq!(client.reply().unwrap().text(), "later");
    assert!(client.is_closed());
    assert!(within(MAX_WAIT, || server.log().matches("GET /full").count() == 2), "{}", server.log());
    assert!(!server.log().contains("client_gone"), "both have ended in order: {}", server.log());
    ruby::assert_clean(&server);
}

/// The server may have noticed it before the application takes the connection: no deadline ends such a request.
#[test]
fn an_application_that_takes_the_connection_of_a_client_that_has_gone_reads_its_end() {
    let app = "note = ->(text) { File.write('notes', \"#{text}\\n\", mode: 'a') }\n\
               run ->(env) {\n  note.call('began')\n  sleep 0.005 until File.exist?('go1')\n  \
               io = env['rack.hijack'].call\n  note.call(\"read #{io.read.inspect}\")\n  io.close\n  [200, {}, []] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let client = get(&server, "/", "");
    ruby::wait_for_note(&server, "began");
    drop(client);
    server.must_log("client_gone");
    ruby::let_go(&server, "go1");
    ruby::wait_for_note(&server, "read \"\"");
}

/// Whether the access log has a request with these words and this fault.
fn is_logged(server: &Server, request: &str, fault: &str) -> bool {
    server.log().lines().any(|line| line.contains(request) && line.contains(fault))
}

/// Without a length and without chunks, the end of the connection is that of the body.
#[test]
fn a_partial_hijack_does_not_look_complete_after_the_death_of_its_worker() {
    let app = "run ->(env) {\n  hijack = ->(io) {\n    io.write('half')\n    sleep 0.005 until File.exist?('go1')\n    \
               exit!(0) if env['PATH_INFO'] == '/exit'\n    Process.kill(:KILL, $$)\n    sleep\n  }\n  \
               [200, { 'rack.hijack' => hijack }, []]\n}";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    for path in ["/exit", "/kill"] {
        let mut client = answered(&server, path, "", 200);
        assert_eq!(read(&mut client, 4), b"half", "{path}");
        ruby::let_go(&server, "go1");
        let end = client.rest().map_err(|error| error.kind());
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "{path}: {}", server.log());
        assert!(within(MAX_WAIT, || is_logged(&server, &format!(" GET {path} 200 4 "), " worker_died")), "{path}");
        std::fs::remove_file(server.folder.join("go1")).unwrap();
    }
}

#[test]
fn a_partial_hijack_whose_code_fails_does_not_look_complete() {
    let app = "run ->(_) { [200, { 'rack.hijack' => ->(io) { io.write('half'); raise 'half way' } }, []] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = answered(&server, "/", "", 200);
    assert_eq!(read(&mut client, 4), b"half");
    let end = client.rest().map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset), "{}", server.log());
    server.must_log("the application's code for an upgraded connection failed: half way");
    assert!(within(MAX_WAIT, || is_logged(&server, " GET / 200 4 ", " app_error")), "{}", server.log());
}

/// As in Puma and Unicorn. A reload would otherwise wait for it until the end of `--drain-time`.
#[test]
fn a_full_hijack_whose_request_fails_is_closed_though_the_application_keeps_it() {
    let app = "KEPT = []\nrun ->(env) {\n  KEPT << env['rack.hijack'].call\n  KEPT.last.write('half')\n  \
               raise 'half way'\n}";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = get(&server, "/", "");
    assert_eq!(client.rest().unwrap(), b"half", "{}", server.log());
    server.must_log("failed after the application took the connection: half way");
    assert!(within(MAX_WAIT, || is_logged(&server, " GET / ", " app_error")), "{}", server.log());
}

/// The application closes its socket, and the kernel reports an error where it has not read everything.
#[test]
fn a_partial_hijack_that_leaves_input_unread_is_complete() {
    let app = "run ->(_) {\n  hijack = ->(io) { io.write('all'); io.readpartial(1); io.close }\n  \
               [200, { 'rack.hijack' => hijack }, []]\n}";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = server.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nunread").unwrap();
    assert_eq!(client.head().unwrap().status, 200, "{}", server.log());
    assert_eq!(client.rest().unwrap(), b"all", "{}", server.log());
}

/// The client may have had an answer by hand, which nobody can take back.
#[test]
fn a_request_whose_connection_was_taken_is_not_run_again_after_the_death_of_its_worker() {
    let app = "run ->(env) { next [200, {}, [Process.pid.to_s]] if env['PATH_INFO'] == '/'\n  File.write('notes', \
               \"began\\n\", mode: 'a')\n  env['rack.hijack'].call\n  File.write('notes', \"taken\\n\", mode: \
               'a')\n  sleep }";
    let server = ruby::serve(app, &["-w", "1", "-t", "2"]);
    let _client = get(&server, "/taken", "");
    ruby::wait_for_note(&server, "taken");
    let pid: u32 = server.text("/").parse().unwrap();
    support::successor::signal(pid, Signal::KILL);
    assert!(within(MAX_WAIT, || server.text("/").parse().is_ok_and(|other: u32| other != pid)), "{}", server.log());
    assert_eq!(ruby::notes(&server), ["began", "taken"], "{}", server.log());
}

/// The example of RFC 6455, section 1.3.
const HANDSHAKE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A masked text frame, as section 5.7 has it.
fn masked(text: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = vec![0x81, 0x80 | text.len() as u8];
    frame.extend(mask);
    frame.extend(text.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

#[test]
fn a_websocket_echoes_through_either_hijack() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    for path in ["/websocket", "/websocket-full"] {
        let mut client = get(&server, path, HANDSHAKE);
        let head = client.head().unwrap();
        assert_eq!((head.status, head.header("sec-websocket-accept")), (101, Some(ACCEPT)), "{path}\n{}", server.log());
        assert!(head.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")));
        assert!(head.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("upgrade")));
        assert_eq!(server.text("/plain"), "plain", "an open WebSocket does not hold the thread");
        client.send(masked(b"Hello")).unwrap();
        assert_eq!(client.rest().unwrap(), b"\x81\x05Hello", "{path}");
    }
    ruby::wait_for_note(&server, "websocket closed");
    ruby::assert_clean(&server);
}

#[test]
fn the_first_frame_may_come_with_the_handshake() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    for path in ["/websocket", "/websocket-full"] {
        let mut client = server.client();
        let mut bytes = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{HANDSHAKE}\r\n").into_bytes();
        bytes.extend(masked(b"early"));
        client.send(bytes).unwrap();
        assert_eq!(client.head().unwrap().status, 101, "{path}\n{}", server.log());
        assert_eq!(client.rest().unwrap(), b"\x81\x05early", "{path}");
    }
    ruby::assert_clean(&server);
}

#[test]
fn connections_that_were_taken_have_no_deadline() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--request-time", "400ms"]);
    let mut clients = [
        answered(&server, "/websocket", HANDSHAKE, 101),
        answered(&server, "/websocket-full", HANDSHAKE, 101),
        answered(&server, "/partial", "", 200),
    ];
    assert!(!support::within(Duration::from_millis(900), || false));
    ruby::let_go(&server, "go1");
    let [upgraded, full, partial] = &mut clients;
    for client in [upgraded, full] {
        client.send(masked(b"late")).unwrap();
        assert_eq!(client.rest().unwrap(), b"\x81\x04late", "{}", server.log());
    }
    assert!(String::from_utf8_lossy(&partial.rest().unwrap()).contains("second"));
    assert!(!server.log().contains("timed out"), "{}", server.log());
    ruby::assert_clean(&server);
}

/// This is how applications of Rack 2 stream: they write in the thread of the request.
#[test]
fn a_request_that_writes_to_its_own_connection_has_no_deadline_while_its_client_is_there() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--request-time", "400ms"]);
    let mut client = answered(&server, "/full-stays", "", 200);
    assert!(!support::within(Duration::from_millis(900), || false));
    ruby::let_go(&server, "go1");
    assert_eq!(client.rest().unwrap(), b"later", "{}", server.log());
    assert_eq!(server.text("/plain"), "plain");
    assert!(!server.log().contains("timed out"), "{}", server.log());
    std::fs::remove_file(server.folder.join("go1")).unwrap();
    drop(answered(&server, "/full-stays", "", 200));
    assert!(server.logs("GET /full-stays timed out"), "it does not hold its thread for ever\n{}", server.log());
    assert_eq!(server.text("/plain"), "plain");
}

#[test]
fn many_hijacks_leave_nothing_open() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    get(&server, "/full", "").reply().unwrap();
    // Without fork there is one Ruby process only, and it is the worker.
    let pids = [server.id(), *ruby::processes(server.id()).last().unwrap()];
    let files = || pids.map(ruby::open_files);
    let before = files();
    for _ in 0..50 {
        assert_eq!(get(&server, "/full", "").reply().unwrap().text(), "by hand");
        let mut client = answered(&server, "/websocket", HANDSHAKE, 101);
        client.send(masked(b"x")).unwrap();
        client.rest().unwrap();
    }
    let kept = || files().iter().zip(before).map(|(now, before)| now.saturating_sub(before)).max().unwrap();
    let is_closed = support::within(support::MAX_WAIT, || kept() <= 3);
    assert!(is_closed, "{} files more than before", kept());
    ruby::assert_clean(&server);
}

/// Reads so many bytes.
fn read(client: &mut Client, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    client.read_exact(&mut bytes).unwrap();
    bytes
}

/// A close frame with status 1001, and the masked one with which a client answers it.
const GOING_AWAY: [u8; 4] = [0x88, 2, 0x03, 0xE9];
const CLOSED: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE9];

#[test]
fn at_the_end_websockets_are_told_to_go_away_and_do_not_hold_it() {
    for path in ["/websocket", "/websocket-full"] {
        let mut server = ruby::serve(APP, &["-w", "1", "-t", "1", "--websocket-drain", "100ms"]);
        let mut polite = answered(&server, path, HANDSHAKE, 101);
        let mut silent = answered(&server, path, HANDSHAKE, 101);
        let began = Instant::now();
        server.signal(Signal::TERM);
        assert_eq!(read(&mut polite, 4), GOING_AWAY, "{path}\n{}", server.log());
        polite.send(CLOSED).unwrap();
        // The application is given the client's answer, and may say no more.
        assert_eq!(silent.rest().unwrap(), GOING_AWAY, "{path}: and the end, though it does not answer");
        server.must_end();
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}\n{}", began.elapsed(), server.log());
        assert!(server.log().matches(" going_away").count() == 2, "{}", server.log());
        assert!(!server.log().contains("client_gone"), "{}", server.log());
    }
}

#[test]
fn an_end_at_once_cuts_hijacked_connections_and_the_access_log_says_so() {
    let app = "run ->(env) { hijack = ->(io) { io.write('hello'); io.flush; sleep }\n  \
               [env['PATH_INFO'][1..].to_i, { 'upgrade' => 'other', 'rack.hijack' => hijack }, []] }";
    let mut server = ruby::serve(app, &["-w", "1", "-t", "2"]);
    let headers = "Upgrade: other\r\nConnection: Upgrade\r\n";
    let mut clients = [("/101", 101), ("/200", 200)].map(|(path, status)| answered(&server, path, headers, status));
    for client in &mut clients {
        assert_eq!(read(client, 5), b"hello");
    }
    server.end(Signal::QUIT);
    for (start, end) in [(" GET /101 101 5 ", " stopping"), (" GET /200 200 5 ", " stopping")] {
        let log = server.log();
        assert!(log.lines().any(|line| line.contains(start) && line.contains(end)), "{start}: {log}");
    }
}

#[test]
fn a_websocket_whose_client_reads_nothing_does_not_hold_the_end() {
    let app = "require_relative \"common\"\nrun paths(\"/\" => ->(env) { io = env[\"rack.hijack\"].call; Thread.new { \
               begin; io.write(\"HTTP/1.1 101 X\\r\\nupgrade: websocket\\r\\n\\r\\n\"); \
               loop { io.write(\"\\x82\\x7E\\xFF\\xFF\" + \"x\" * 65_535); note \"wrote\" }; \
               rescue SystemCallError; end }; text(\"\") })\n";
    let options = ["-w", "1", "-t", "1", "--websocket-drain", "0", "--write-time", "60s", "--drain-time", "50s"];
    let mut server = ruby::serve(app, &options);
    let mut client = answered(&server, "/", HANDSHAKE, 101);
    read(&mut client, 65_536);
    // Until all buffers on the way are full.
    let wrote = || ruby::notes(&server).len();
    let is_full = || {
        let before = wrote();
        before > 0 && !within(Duration::from_millis(500), || wrote() > before)
    };
    assert!(within(MAX_WAIT, is_full), "{}", server.log());
    server.end_within(Signal::TERM, Duration::from_secs(20));
    assert!(server.log().contains(" going_away"), "{}", server.log());
}

#[test]
fn a_websocket_whose_close_is_answered_ends_at_once() {
    let seconds_until_end = |path: &str| {
        let mut server = ruby::serve(APP, &["-w", "1", "-t", "1", "--websocket-drain", "0"]);
        let mut client = answered(&server, path, HANDSHAKE, 101);
        server.signal(Signal::TERM);
        assert_eq!(read(&mut client, 4), GOING_AWAY, "{path}\n{}", server.log());
        let began = Instant::now();
        client.send(CLOSED).unwrap();
        // As browsers do, it leaves the end of the connection to the server.
        assert_eq!(client.rest().unwrap(), b"", "{path}");
        let seconds = began.elapsed().as_secs_f64();
        assert!(server.ended(MAX_WAIT).is_some());
        seconds
    };
    for path in ["/websocket", "/websocket-full"] {
        // A client that does not answer is left after a second. One of several tries is quicker on a busy machine, too.
        assert!((0..5).any(|_| seconds_until_end(path) < 0.5), "{path}");
    }
}

#[test]
fn a_close_frame_never_stands_within_a_frame() {
    let app = "require_relative \"common\"\nrun paths(\"/\" => ->(env) { io = env[\"rack.hijack\"].call; \
               io.write(\"HTTP/1.1 101 X\\r\\nupgrade: websocket\\r\\n\\r\\n\\x82\\x05ab\"); \
               Thread.new { wait_for(\"go\"); io.write(\"cde\") }; text(\"\") })\n";
    let mut server = ruby::serve(app, &["-w", "1", "-t", "1", "--websocket-drain", "0"]);
    let mut client = answered(&server, "/", HANDSHAKE, 101);
    assert_eq!(read(&mut client, 4), b"\x82\x05ab");
    server.signal(Signal::TERM);
    server.must_log("shutting down: running requests");
    ruby::let_go(&server, "go");
    assert_eq!(client.rest().unwrap(), [&b"cde"[..], &GOING_AWAY].concat(), "{}", server.log());
    assert!(server.ended(MAX_WAIT).is_some());
}

#[test]
fn at_the_end_an_application_reads_the_end_of_other_connections() {
    let app = "require_relative \"common\"\nrun paths(\"/\" => ->(env) { io = env[\"rack.hijack\"].call; Thread.new { \
               io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\nbegun \"); io.read; io.write(\"ended\"); \
               io.close }; text(\"\") })\n";
    let mut server = ruby::serve(app, &["-w", "1", "-t", "1", "--websocket-drain", "0"]);
    let mut client = answered(&server, "/", "", 200);
    assert_eq!(read(&mut client, 6), b"begun ");
    server.signal(Signal::TERM);
    assert_eq!(client.rest().unwrap(), b"ended", "{}", server.log());
    assert!(server.ended(MAX_WAIT).is_some());
}

/// Action Cable has a pool of threads for `unsubscribed`: the process ended when the last WebSocket was closed.
#[test]
fn at_the_end_action_cable_finishes_its_work_for_closed_connections() {
    let app = "require_relative 'common'\n\
               class Work\n  def initialize\n    @tasks = Queue.new\n    \
               @thread = Thread.new { while (task = @tasks.pop) do task.call end }\n  end\n  \
               def post(&task)\n    @tasks << task\n  end\n  \
               def shutdown\n    @tasks << nil\n  end\n  \
               def wait_for_termination(seconds)\n    @thread.join(seconds)\n  end\nend\n\
               Cable = Class.new do\n  def worker_pool\n    \
               @worker_pool ||= Struct.new(:executor).new(Work.new)\n  end\nend\n\
               module ::ActionCable\n  def self.server\n    @server ||= Cable.new\n  end\nend\n\
               run paths('/' => ->(env) { io = env['rack.hijack'].call; Thread.new { \
               io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\nbegun\"); io.read; \
               ActionCable.server.worker_pool.executor.post { sleep 1; note('unsubscribed') }; \
               io.close }; text('') })\n";
    let mut server = ruby::serve(app, &["-w", "1", "-t", "1", "--websocket-drain", "0"]);
    let mut client = answered(&server, "/", "", 200);
    assert_eq!(read(&mut client, 5), b"begun");
    server.end(Signal::TERM);
    assert_eq!(ruby::count(&server, "unsubscribed"), 1, "{}", server.log());
}

#[test]
fn at_the_end_and_at_a_reload_an_application_that_only_reads_reads_the_end() {
    let app = "note = ->(text) { File.write('notes', \"#{text}\\n\", mode: 'a') }\n\
               run ->(_) {\n  hijack = ->(io) {\n    io.write('begun')\n    io.close_write\n    \
               note.call(io.readpartial(4))\n    note.call(\"read #{io.read.inspect}\")\n    io.close\n  }\n  \
               [200, { 'rack.hijack' => hijack }, []]\n}";
    let options = ["-w", "1", "-t", "1", "--websocket-drain", "0", "--drain-time", "600s"];
    for order in [Signal::TERM, Signal::USR1] {
        let server = ruby::serve(app, &options);
        let mut client = answered(&server, "/", "", 200);
        assert_eq!(client.rest().unwrap(), b"begun", "{}", server.log());
        client.send("sent").unwrap();
        ruby::wait_for_note(&server, "sent");
        server.signal(order);
        ruby::wait_for_note(&server, "read \"\"");
    }
}

#[test]
fn a_client_that_reads_nothing_is_left_though_the_application_does_not_read_either() {
    let app = "require_relative \"common\"\nrun paths(\"/\" => ->(env) { io = env[\"rack.hijack\"].call; Thread.new { \
               begin; loop { io.write(\"x\" * 65_536) }; rescue SystemCallError => error; note error.class.name; end \
               }; text(\"\") })\n";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--write-time", "1s"]);
    let mut client = get(&server, "/", "");
    // It sends until the server closes, and reads none of what it gets.
    let sender = thread::spawn(move || while client.send([0; 65_536]).is_ok() {});
    let is_told = || ruby::notes(&server).iter().any(|note| note == "Errno::EPIPE" || note == "Errno::ECONNRESET");
    assert!(within(MAX_WAIT, is_told), "{:?}\n{}", ruby::notes(&server), server.log());
    sender.join().unwrap();
}

#[test]
fn a_reload_closes_the_websockets_of_the_old_code() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1", "--websocket-drain", "100ms"]);
    let mut clients: Vec<Client> = (0..4).map(|_| get(&server, "/websocket", HANDSHAKE)).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.head().unwrap().status, 101));
    server.signal(Signal::USR1);
    for client in &mut clients {
        assert_eq!(read(client, 4), GOING_AWAY, "{}", server.log());
        client.send(CLOSED).unwrap();
        assert!(client.is_closed());
    }
    server.must_log("generation 2 serves");
    // The new code takes their clients back.
    let _again = answered(&server, "/websocket", HANDSHAKE, 101);
    assert!(within(MAX_WAIT, || ruby::processes(server.id()).len() == 3), "the old processes go\n{}", server.log());
}

#[test]
fn a_partial_hijack_without_a_file_left_for_it_fails_and_leaves_no_client_waiting() {
    let app = "run ->(env) {\n  Process.setrlimit(:NOFILE, *$limit) if $limit\n  \
               next [200, {}, ['plain']] if env['PATH_INFO'] == '/plain'\n  \
               $limit = Process.getrlimit(:NOFILE)\n  Process.setrlimit(:NOFILE, 3, $limit.last)\n  \
               [200, { 'rack.hijack' => ->(io) { io.close } }, []]\n}";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    assert_eq!(server.get("/partial").status, 500, "{}", server.log());
    server.must_log("Too many open files");
    assert_eq!(server.text("/plain"), "plain", "{}", server.log());
}

/// The connection of its thread is opened before the server sees that the answer is none.
#[test]
fn a_partial_hijack_whose_answer_is_refused_holds_no_thread() {
    let app = "run ->(env) {\n  wrong = { '/value' => { 'x-a' => \"a\\rb\" }, '/coding' => { 'transfer-encoding' => \
               'gzip' } }[env['PATH_INFO']]\n  next [200, {}, ['plain']] unless wrong\n  \
               hijack = ->(io) { File.write('notes', \"#{io.read.inspect}\\n\", mode: 'a'); io.close }\n  \
               [200, wrong.merge('rack.hijack' => hijack), []]\n}";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    for (at, path) in ["/value", "/coding"].into_iter().enumerate() {
        assert_eq!(server.get(path).status, 500, "{path}: {}", server.log());
        let begun = Instant::now();
        assert_eq!(server.text("/"), "plain", "{path}: {}", server.log());
        assert!(begun.elapsed() < Duration::from_secs(2), "{path}: {:?}\n{}", begun.elapsed(), server.log());
        assert!(within(MAX_WAIT, || ruby::notes(&server).len() == at + 1), "{path}: {}", server.log());
    }
    assert_eq!(ruby::notes(&server), ["\"\"", "\"\""], "the application reads the end at once");
}
