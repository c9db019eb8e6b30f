//! Every limit of the front with the answer it gives when passed, and that whatever stays just below it is served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Client, Reply, Server, paths, within};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

fn serve(options: &[&str]) -> Server {
    let cases = [
        ("/", "text(\"gold\")"),
        ("/size", "text(env[\"rack.input\"].read.bytesize)"),
        ("/calls", "text(FoolsGold.requests.count)"),
        ("/slow", "sleep 1.5; text(\"late\")"),
        ("/hold", "until FoolsGold.store.get(\"go\"); sleep 0.01; end; text(\"held\")"),
        ("/big", "[200, {}, [\"x\" * 20_000_000]]"),
        ("/parts", "[200, {}, Enumerator.new { |parts| 40.times { parts << \"x\" * 500_000 } }]"),
    ];
    Server::start(&paths(&cases), options)
}

fn ask(client: &mut Client, bytes: impl AsRef<[u8]>) -> Reply {
    let _ = client.send(bytes);
    client.reply().unwrap()
}

#[test]
fn too_many_header_bytes_are_431() {
    let server = serve(&["--header-bytes", "8KiB"]);
    let request = |bytes: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "a".repeat(bytes));
    assert_eq!(ask(&mut server.client(), request(6_000)).status, 200);
    assert_eq!(ask(&mut server.client(), request(20_000)).status, 431);
    let line = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(20_000));
    assert_eq!(ask(&mut server.client(), line).status, 414);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn too_many_headers_are_431() {
    let server = serve(&["--header-count", "20"]);
    let request = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(count));
    assert_eq!(ask(&mut server.client(), request(19)).status, 200);
    assert_eq!(ask(&mut server.client(), request(20)).status, 431);
}

#[test]
fn a_head_that_does_not_end_in_time_is_408() {
    let server = serve(&["--header-time", "300ms"]);
    let begun = Instant::now();
    assert_eq!(ask(&mut server.client(), "GET / HTTP/1.1\r\nHost: a\r\n").status, 408);
    assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_body_that_is_too_long_is_413() {
    let server = serve(&["--body-bytes", "10KiB"]);
    assert_eq!(server.client().post("/size", vec![b'x'; 10 * 1024]).text(), "10240");
    let declared = ask(&mut server.client(), "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 10241\r\n\r\n");
    assert_eq!(declared.status, 413, "refused before it is sent");
    let mut client = server.client();
    let _ = client.send("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    for _ in 0..11 {
        let _ = client.send(&chunk);
    }
    assert_eq!(client.reply().unwrap().status, 413);
    let expecting = "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(ask(&mut server.client(), expecting).status, 413, "not invited to send it");
    // As Net::HTTP and others do, it sends all before it reads.
    assert_eq!(server.client().post("/size", vec![b'x'; 64 << 20]).status, 413);
}

#[test]
fn a_body_that_does_not_end_in_time_is_408() {
    let server = serve(&["--body-time", "300ms"]);
    let reply = ask(&mut server.client(), "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(reply.status, 408);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_body_that_goes_on_may_take_longer_than_its_time() {
    let server = serve(&["--body-time", "2s"]);
    let (begun, mut pieces, mut client) = (Instant::now(), 0, server.client());
    client.send("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    while begun.elapsed() < Duration::from_secs(3) {
        client.send(format!("1000\r\n{}\r\n", "x".repeat(4096))).unwrap();
        pieces += 1;
        std::thread::park_timeout(Duration::from_millis(200));
    }
    client.send("0\r\n\r\n").unwrap();
    assert_eq!(client.reply().unwrap().text(), (pieces * 4096).to_string());
}

#[test]
fn a_body_that_comes_by_single_bytes_is_408() {
    let server = serve(&["--body-time", "1s"]);
    let (begun, mut client) = (Instant::now(), server.client());
    client.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n").unwrap();
    client.set_timeout(Duration::from_millis(100));
    let refused = (0..300).find_map(|_| {
        let _ = client.send("x");
        client.reply().ok()
    });
    assert_eq!(refused.unwrap().status, 408);
    assert!(begun.elapsed() >= Duration::from_millis(990), "{:?}", begun.elapsed());
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let server = serve(&["--keep-alive", "300ms"]);
    let mut client = server.client();
    assert_eq!(client.get("/").status, 200);
    let begun = Instant::now();
    let rest = client.rest().unwrap();
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    assert!(begun.elapsed() >= Duration::from_millis(250) && begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_full_queue_is_503_with_retry_after() {
    // Nobody is refused for having waited.
    let server = serve(&["-t", "1", "--queue", "1", "--queue-wait", "none", "--request-time", "none"]);
    // One runs, one waits, and whichever comes last is one too many.
    let mut held: Vec<Client> = (0..3).map(|_| server.send_get("/hold")).collect();
    for client in &mut held {
        client.set_timeout(Duration::from_millis(50));
    }
    let mut refused = None;
    assert!(
        within(support::MAX_WAIT, || {
            refused = held.iter_mut().find_map(|client| client.reply().ok());
            refused.is_some()
        }),
        "nothing was refused"
    );
    let refused = refused.unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("the only place in the queue is taken"), "{}", refused.text());
    assert_eq!(refused.header("retry-after"), Some("10"));
}

#[test]
fn too_long_a_wait_in_the_queue_is_503_with_retry_after() {
    let server = serve(&["-t", "1", "--queue-wait", "300ms"]);
    let mut slow = server.send_get("/slow");
    let mut refused = 0;
    for _ in 0..3 {
        let reply = server.get("/");
        if reply.status == 503 {
            assert!(reply.header("retry-after").is_some());
            refused += 1;
        }
    }
    assert!(refused >= 1, "three requests in a row all found a free interpreter");
    assert_eq!(slow.reply().unwrap().text(), "late");
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn too_long_a_run_is_504() {
    let server = serve(&["-t", "1", "--request-time", "300ms"]);
    let begun = Instant::now();
    assert_eq!(server.get("/hold").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(server.get("/").text(), "gold");
}

#[test]
fn a_client_that_takes_nothing_is_let_go_and_holds_no_interpreter() {
    let server = serve(&["-t", "1", "--write-time", "400ms"]);
    let mut stuck: Vec<Client> = (0..4).map(|_| server.send_get("/big")).collect();
    for _ in 0..20 {
        assert_eq!(server.get("/").text(), "gold", "the one interpreter is free");
    }
    // Nothing is read until the server has surely given up; then less than the whole must be there.
    assert!(!within(Duration::from_secs(2), || false));
    for client in &mut stuck {
        let whole = client.reply();
        assert!(whole.is_err(), "all was delivered to one who did not read");
    }
}

#[test]
fn a_client_that_reads_slowly_and_all_the_time_is_not_let_go() {
    let server = serve(&["-t", "1", "--write-time", "1s"]);
    // A small buffer, so that the kernel says soon what was read.
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 64 * 1024).unwrap();
    stream.write_all(b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut bytes = vec![0; 32 * 1024];
    let begun = Instant::now();
    // The server's kernel holds some megabytes, and reports room for more only when a third of that is free.
    while begun.elapsed() < Duration::from_millis(3_500) {
        stream.read_exact(&mut bytes).unwrap_or_else(|error| panic!("{error} after {:?}", begun.elapsed()));
        within(Duration::from_millis(60), || false);
    }
    assert!(!server.log().contains("client_gone"), "{}", server.log());
}

#[test]
fn a_body_beyond_memory_goes_through_a_file_and_leaves_none_behind() {
    let folder = support::server::folder();
    let temporary = folder.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::write(folder.join("config.ru"), paths(&[("/size", "text(env[\"rack.input\"].read.bytesize)")])).unwrap();
    let place = temporary.to_str().unwrap().to_owned();
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1", "--body-memory", "64KiB"];
    let server = Server::spawn(folder, &[("TMPDIR", &place)], &options);
    let reply = server.client().post("/size", vec![b'x'; 5_000_000]);
    assert_eq!(reply.text(), "5000000", "{}", server.log());
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn a_response_that_there_is_no_room_for_waits_for_its_client() {
    // More than there may be in memory, where there is no folder for files.
    let large = "[200, {}, Enumerator.new { |out| 1400.times { |n| out << (97 + n % 26).chr * 65_536 } }]";
    let ru = paths(&[("/large", large), ("/", "text(\"gold\")")]);
    let server = Server::with(&ru, &[("TMPDIR", "/nowhere")], &["-t", "1"]);
    let mut client = server.send_get("/large");
    server.must_log("waits for the client");
    let body = client.reply().unwrap_or_else(|error| panic!("{error}\n{}", server.log())).body;
    assert_eq!(body.len(), 1400 * 65_536);
    assert!(body.chunks(65_536).enumerate().all(|(n, part)| part.iter().all(|byte| *byte == 97 + (n % 26) as u8)));
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_body_in_a_file_that_may_not_grow_is_507() {
    let mut server = serve(&["--body-memory", "1KiB"]);
    let most = Some(64 << 10);
    let pid = Pid::from_raw(server.id().cast_signed());
    prlimit(pid, Resource::Fsize, Rlimit { current: most, maximum: most }).unwrap();
    assert_eq!(server.client().post("/size", vec![b'x'; 32 << 10]).text(), "32768");
    assert_eq!(server.client().post("/size", vec![b'x'; 256 << 10]).status, 507);
    assert_eq!(server.client().get("/big").body.len(), 20_000_000);
    assert!(server.is_alive() && server.text("/") == "gold");
}

/// Seconds of processor time that a process has used.
fn processor_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    // Of which every Linux shows a hundred in a second.
    ticks as f64 / 100.0
}

#[test]
fn clients_that_read_nothing_of_a_large_answer_cost_no_processor_time() {
    let server = serve(&["-t", "1"]);
    let mut clients: Vec<Client> = (0..2).map(|_| server.send_get("/parts")).collect();
    for client in &mut clients {
        assert_eq!(client.head().unwrap().status, 200);
    }
    // What can be sent is sent: then the processor is at rest.
    let span = Duration::from_secs(1);
    let is_at_rest = || {
        let before = processor_s(server.id());
        thread::park_timeout(span);
        processor_s(server.id()) - before < 0.1
    };
    assert!(within(Duration::from_secs(10), is_at_rest), "{}", server.log());
}
