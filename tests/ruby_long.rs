//! Long bodies on the Ruby engine, up and down: every byte as it was, whatever the worker, and no thread lost when one
//! of the two sides goes in the middle.

use rustix::process::Signal;

use crate::support::successor::signal;
use crate::support::{Client, MAX_WAIT, Server, ruby, within};

const APP: &str = r#"
require "timeout"
EIGHTS = Array.new(700_000) { |n| format("%08x", n) }.join.freeze
HUGE = ("gold" * 20_000_000).freeze
PLAIN = { "content-type" => "text/plain" }.freeze

# Just below and above the sizes at which a piece is copied, and at which a frame is full.
def parts
  at = 0
  [1, 16_383, 16_384, 524_287, 524_288, 524_289, 2_000_000, 5_600_000].filter_map do |size|
    part = EIGHTS.byteslice(at, size)
    at += size
    part.force_encoding("UTF-16LE") if size == 2_000_000
    part
  end
end

# As applications bound a call that may take long.
class Late
  def each(&block)
    Timeout.timeout(0.3) { block.call(HUGE) }
  rescue Timeout::Error
    warn "broken off"
    raise
  end
end

run lambda { |env|
  case env["PATH_INFO"]
  when "/one" then [200, PLAIN.dup, [EIGHTS]]
  when "/parts" then [200, PLAIN.dup, parts]
  when "/each" then [200, PLAIN.dup, parts.each]
  when "/short" then [200, PLAIN.merge("content-length" => "600000"), [EIGHTS]]
  when "/long" then [200, PLAIN.merge("content-length" => "6000000"), [EIGHTS]]
  when "/huge" then [200, PLAIN.dup, [HUGE]]
  when "/late" then [200, PLAIN.dup, Late.new]
  when "/sent" then [200, PLAIN.dup, [env["rack.input"].read]]
  else [200, PLAIN.dup, ["ready"]]
  end
}
"#;

fn eights() -> Vec<u8> {
    (0..700_000).flat_map(|number| format!("{number:08x}").into_bytes()).collect()
}

/// Whether they are the same; a failure that printed both would fill the log.
#[track_caller]
fn same(got: &[u8], wanted: &[u8], what: &str) {
    let first_wrong = || got.iter().zip(wanted).position(|(one, other)| one != other);
    assert!(got == wanted, "{what}: {} bytes, the first wrong one is {:?}", got.len(), first_wrong());
}

fn asked(server: &Server, request: &str) -> Client {
    let mut client = server.client();
    client.set_timeout(MAX_WAIT);
    client.send(request).unwrap();
    client
}

#[test]
fn every_byte_arrives_from_both_kinds_of_worker() {
    let wanted = eights();
    for worker in ["plain", "native"] {
        let server = ruby::serve(APP, &["-w", "1", "-t", "2", "--ruby-worker", worker]);
        let mut client = server.client();
        for path in ["/one", "/parts", "/each"] {
            same(&client.get(path).body, &wanted, &format!("{path} of {worker}"));
            let whole = asked(&server, &format!("GET {path} HTTP/1.0\r\n\r\n")).reply().unwrap();
            same(&whole.body, &wanted, &format!("{path} of {worker} by HTTP/1.0"));
        }
        client.send("HEAD /one HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(client.head().unwrap().header("content-length"), Some("5600000"));
        same(&client.get("/short").body, &wanted[..600_000], worker);
        for body in [&wanted[..], &wanted[..150_001], &wanted[..114_688], &wanted[..114_689]] {
            same(&client.post("/sent", body).body, body, &format!("what was sent to {worker}"));
        }
        let mut chunked = b"POST /sent HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in wanted.chunks(70_001) {
            chunked.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            chunked.extend_from_slice(piece);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        client.send(&chunked).unwrap();
        same(&client.reply().unwrap().body, &wanted, &format!("what was sent to {worker} in chunks"));
        assert_eq!(client.get("/long").status, 500, "it is shorter than it says, and nothing of it has been sent");
        ruby::assert_clean(&server);
    }
}

#[test]
fn whoever_goes_in_the_middle_takes_nobody_along() {
    for worker in ["plain", "native"] {
        let options = ["-w", "1", "-t", "1", "--spool-bytes", "1MiB", "--ruby-worker", worker];
        let server = ruby::serve(APP, &options);
        // More than all buffers hold, so its only thread waits for it.
        let mut leaves = asked(&server, "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(leaves.head().unwrap().status, 200);
        drop(leaves);
        assert_eq!(server.text("/"), "ready", "the thread is free again");
        let mut reads = asked(&server, "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = reads.head().unwrap();
        let pid = ruby::workers(&server)[0];
        signal(pid, Signal::KILL);
        assert!(reads.body(&head).is_err(), "an answer that broke off looks whole");
        assert!(within(MAX_WAIT, || ruby::workers(&server).iter().any(|new| *new != pid)), "{}", server.log());
        assert_eq!(server.text("/"), "ready");
    }
}

#[test]
fn a_body_that_the_application_breaks_off_in_a_piece_fails_and_its_thread_is_free() {
    for worker in ["plain", "native"] {
        let options = ["-w", "1", "-t", "1", "--spool-bytes", "1MiB", "--ruby-worker", worker];
        let server = ruby::serve(APP, &options);
        let mut slow = asked(&server, "GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = slow.head().unwrap();
        assert_eq!(head.status, 200);
        // It takes nothing more, and the only thread waits for it until the application's time is over.
        assert!(server.logs("broken off"), "{worker}: {}", server.log());
        assert!(slow.body(&head).is_err(), "{worker}: an answer that broke off looks whole");
        assert_eq!(server.text("/"), "ready", "{worker}: the thread is free again\n{}", server.log());
    }
}
