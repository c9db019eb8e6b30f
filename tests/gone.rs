//! Clients that go away: in the middle of the answer, and while they wait for a turn. In the middle of their body is
//! in front/tests/protocol.rs.

use std::time::Duration;

use crate::support::{Client, MAX_WAIT, Server, paths, within};

/// Says that it has begun, and holds its interpreter until there is a file.
const HOLD: &str = "[200, {}, lambda { |s| s.write(\"began\"); s.flush; \
                    sleep 0.005 until File.exist?(\"go\"); s.close }]";

fn serve(options: &[&str]) -> Server {
    let ru = "
class Endless
  def each
    loop { yield \"x\" * 10_000 }
  end
  def close
    FoolsGold.store.increment(\"closed\")
  end
end
";
    let cases = [
        ("/", "text(\"gold\")"),
        ("/endless", "[200, {}, Endless.new]"),
        ("/hold", HOLD),
        ("/queued", "FoolsGold.store.increment(\"queued\"); text(1)"),
        ("/seen", "text(%w[closed queued].map { |k| FoolsGold.store.get(k) || 0 }.join(\" \"))"),
    ];
    Server::start(&format!("{ru}{}", paths(&cases)), options)
}

#[test]
fn a_client_that_leaves_in_the_answer_ends_it() {
    let server = serve(&["-t", "1", "--spool-bytes", "1MiB"]);
    for round in 1..=3 {
        let mut client = server.send_get("/endless");
        assert_eq!(client.head().unwrap().status, 200);
        drop(client);
        let done = within(MAX_WAIT, || server.text("/seen") == format!("{round} 0"));
        assert!(done, "the body was not closed: {}\n{}", server.text("/seen"), server.log());
    }
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn the_time_of_a_request_is_not_spent_by_a_client_that_reads_slowly() {
    let cases = [("/long", "[200, {}, Enumerator.new { |out| 600.times { out << \"x\" * 65_536 } }]")];
    let server = Server::start(&paths(&cases), &["-t", "1", "--spool-bytes", "1MiB", "--request-time", "1s"]);
    let mut client = server.send_get("/long");
    let head = client.head().unwrap();
    // More than the kernel and the server hold, so the interpreter waits; for longer than a request may take.
    within(Duration::from_millis(1500), || false);
    let body = client.body(&head);
    assert_eq!(body.map(|body| body.len()).ok(), Some(600 * 65_536), "{}", server.log());
    assert!(!server.log().contains("out_of_time"), "{}", server.log());
}

#[test]
fn a_client_that_leaves_with_all_that_was_announced_has_not_gone_early() {
    let ru = "
class Late
  def each
    yield \"x\" * 500_000
    sleep 0.005 until File.exist?(\"go\")
  end
end
";
    let cases = [("/late", "[200, { \"content-length\" => \"500000\" }, Late.new]"), ("/", "text(1)")];
    let server = Server::start(&format!("{ru}{}", paths(&cases)), &["-t", "2"]);
    let mut client = server.client();
    assert_eq!(client.get("/late").body.len(), 500_000);
    drop(client);
    server.must_log("GET /late 200 500000");
    assert!(!server.log().contains("client_gone"), "{}", server.log());
    std::fs::write(server.folder.join("go"), "").unwrap();
}

#[test]
fn a_client_that_leaves_while_it_waits_is_never_served() {
    let server = serve(&["-t", "1"]);
    let mut holder = server.send_get("/hold");
    assert_eq!(holder.head().unwrap().status, 200);
    assert_eq!(holder.chunk().unwrap().unwrap(), b"began");
    let mut waiting: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for (number, client) in waiting.iter_mut().enumerate() {
        // Some of those who will leave have begun with their next request.
        let behind = if number < 10 || number % 2 == 0 { "" } else { "GET /qu" };
        client.send(format!("GET /queued HTTP/1.1\r\nHost: a\r\n\r\n{behind}")).unwrap();
    }
    // The one interpreter is held, so nobody is answered in this time; then half of them leave.
    waiting[0].set_timeout(Duration::from_millis(200));
    assert!(waiting[0].reply().is_err(), "served although the only interpreter is held");
    waiting[0].set_timeout(MAX_WAIT);
    waiting.truncate(10);
    // Their going reaches the server on its own time, and nothing outside tells when it has.
    within(Duration::from_millis(300), || false);
    std::fs::write(server.folder.join("go"), "").unwrap();
    assert_eq!(holder.chunk().unwrap(), None);
    for client in &mut waiting {
        assert_eq!(client.reply().unwrap().text(), "1", "those who stayed are served");
    }
    assert_eq!(server.text("/seen"), "0 10", "those who left were not run");
}
