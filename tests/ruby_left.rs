//! Streams that a callable body leaves to other threads on the Ruby engine, as servers of events do: they go on while
//! the thread of their request serves others, and end with their threads, their clients or the server.

use crate::support::successor::signal;
use crate::support::{Client, MAX_WAIT, Server, ruby, within};
use rustix::process::Signal;

const APP: &str = r#"
require_relative "common"

# A thread that was there before the body, as those of a pool are.
def pool
  $pool ||= Queue.new.tap { |jobs| Thread.new { loop { jobs.pop.call } } }
end

# A body whose stream any request may use.
def left(&call)
  [200, { "content-type" => "text/event-stream" }, ->(stream) { call.call($stream = stream) }]
end

def ending(stream)
  Thread.new do
    stream.write("begun")
    wait_for("go1")
    stream.write("ended")
  end
end

# Writes when the thread of the request waits for the stream; that one may open no file.
def held(stream)
  limit = Process.getrlimit(:NOFILE)
  Process.setrlimit(:NOFILE, 1, limit.last)
  slot = Thread.current
  Thread.new do
    sleep 0.001 until slot.backtrace.any? { |line| line.include?("stream.rb") && line.include?("wait") }
    Process.setrlimit(:NOFILE, *limit)
    stream.write("held")
    stream.close
  end
end

# The child writes after the thread of its request has begun to serve others.
def child(stream)
  stream.write("begun")
  fork do
    wait_for("go1")
    stream.write("of the child")
  rescue IOError => error
    stream.close
    note(error.class)
  end
  Thread.new { sleep }
end

# The child, forked without a block, returns from the body before the worker does.
def twice(stream)
  stream.write("begun")
  child = fork or return
  Process.wait(child)
  stream.write("ended")
end

class Closed
  def initialize(&call)
    @call = call
  end

  def call(stream)
    @call.call(stream)
  end

  def close
    note("closed")
  end
end

run paths(
  "/own" => ->(_) { left { |stream| Thread.new { stream.write("own"); sleep } } },
  "/pool" => lambda do |_|
    jobs = pool
    left { |stream| jobs << -> { stream.write("pool") } }
  end,
  "/ending" => ->(_) { left { |stream| ending(stream) } },
  "/held" => ->(_) { left { |stream| held(stream) } },
  "/child" => ->(_) { left { |stream| child(stream) } },
  "/twice" => ->(_) { left { |stream| twice(stream) } },
  "/closed" => lambda do |env|
    env["rack.response_finished"] << ->(*) { note("finished") }
    [200, {}, Closed.new { |stream| ending(stream) }]
  end,
  "/raises" => ->(_) { left { |stream| Thread.new { stream.write("begun"); wait_for("go1"); raise "half way" } } },
  "/quick" => ->(_) { left { |stream| Thread.new { stream.write("quick"); stream.close } } },
  "/read" => lambda do |env|
    left do |stream|
      Thread.new do
        wait_for("go1")
        parts = [stream.read(10), env["rack.input"].read]
        stream.write(parts.map(&:size).inspect)
        stream.close
      end
    end
  end,
  "/write" => lambda do |env|
    $stream.write(env["QUERY_STRING"])
    text("written")
  rescue SystemCallError => error
    text(error.class)
  end,
  "/large" => ->(_) { text($stream.write("gold" * 750_000)) },
  "/close" => ->(_) { text([$stream.closed?, $stream.close, $stream.closed?].inspect) },
  "/is-closed" => ->(_) { text($stream.closed?) },
  "/plain" => ->(_) { text("plain") }
)
"#;

const ONE: [&str; 4] = ["-w", "1", "-t", "1"];

/// There such a stream holds its thread, since JRuby cannot wait for several Unix sockets.
fn is_jruby() -> bool {
    ruby::program().contains("jruby")
}

/// Serves the application, unless on JRuby.
fn serve(options: &[&str]) -> Option<Server> {
    (!is_jruby()).then(|| ruby::serve(APP, &[&ONE[..], options].concat()))
}

/// A client that has had the head, and the first part, of a stream.
fn listen(server: &Server, path: &str, first: &str) -> Client {
    let mut client = server.send_get(path);
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("transfer-encoding")), (200, Some("chunked")), "{path}\n{}", server.log());
    assert_eq!(client.chunk().unwrap(), Some(first.as_bytes().to_vec()), "{path}\n{}", server.log());
    client
}

#[test]
fn a_stream_that_is_left_to_a_thread_frees_that_of_its_request() {
    for worker in ["plain", "native"] {
        let Some(server) = serve(&["--ruby-worker", worker]) else { return };
        for (path, first) in [("/own", "own"), ("/pool", "pool")] {
            let mut client = listen(&server, path, first);
            assert_eq!(server.text("/write?one"), "written", "{path}: the only thread serves others meanwhile");
            assert_eq!(client.chunk().unwrap().unwrap(), b"one", "{path}");
            assert_eq!(server.text("/large"), "3000000");
            let mut large = Vec::new();
            while large.len() < 3_000_000 {
                large.extend(client.chunk().unwrap().unwrap());
            }
            assert!(large == "gold".repeat(750_000).as_bytes(), "{path}: {} bytes", large.len());
            assert_eq!(server.text("/close"), "[false, nil, true]", "{path}");
            assert_eq!(client.chunk().unwrap(), None, "{path}: the response is whole\n{}", server.log());
            assert_eq!(client.get("/plain").text(), "plain", "{path}: its connection is kept");
        }
        ruby::assert_clean(&server);
    }
}

/// Some are closed just when the worker has opened a connection for their rest.
#[test]
fn streams_that_end_while_they_are_left_are_whole_and_nothing_is_logged() {
    let server = ruby::serve(APP, &ONE);
    let mut client = server.client();
    for _ in 0..300 {
        assert_eq!(client.get("/quick").text(), "quick", "{}", server.log());
    }
    assert!(!server.log().contains("refused"), "{}", server.log());
    ruby::assert_clean(&server);
}

#[test]
fn many_streams_are_open_at_a_time_and_leave_nothing_open() {
    let Some(server) = serve(&[]) else { return };
    let pids = [server.id(), ruby::workers(&server)[0]];
    assert_eq!(server.text("/plain"), "plain");
    let files = || pids.map(ruby::open_files);
    let before = files();
    let mut clients: Vec<Client> = (0..30).map(|_| listen(&server, "/ending", "begun")).collect();
    assert_eq!(server.text("/plain"), "plain");
    ruby::let_go(&server, "go1");
    for client in &mut clients {
        assert_eq!(client.chunk().unwrap().unwrap(), b"ended");
        assert_eq!(client.chunk().unwrap(), None, "it ends with its thread\n{}", server.log());
    }
    drop(clients);
    let kept = || files().iter().zip(before).map(|(now, before)| now.saturating_sub(before)).max().unwrap();
    assert!(within(MAX_WAIT, || kept() <= 3), "{} files more than before\n{}", kept(), server.log());
    ruby::assert_clean(&server);
}

#[test]
fn a_stream_whose_client_has_gone_is_closed_and_writing_to_it_fails() {
    let Some(server) = serve(&[]) else { return };
    for (path, first) in [("/own", "own"), ("/pool", "pool")] {
        drop(listen(&server, path, first));
        assert!(within(MAX_WAIT, || server.text("/is-closed") == "true"), "{path}: nobody writes\n{}", server.log());
        assert_eq!(server.text("/write?more"), "Errno::EPIPE", "{path}");
        drop(listen(&server, path, first));
        assert!(within(MAX_WAIT, || server.text("/write?more") == "Errno::EPIPE"), "{path}\n{}", server.log());
    }
    ruby::assert_clean(&server);
}

#[test]
fn a_child_that_a_body_forks_writes_to_no_response_and_the_worker_goes_on() {
    for worker in ["plain", "native"] {
        let Some(server) = serve(&["--ruby-worker", worker]) else { return };
        let workers = ruby::workers(&server);
        let mut client = listen(&server, "/child", "begun");
        assert_eq!(server.text("/plain"), "plain");
        ruby::let_go(&server, "go1");
        ruby::wait_for_note(&server, "IOError");
        assert_eq!(server.text("/write?worker"), "written", "{worker}\n{}", server.log());
        assert_eq!(client.chunk().unwrap().unwrap(), b"worker", "{worker}\n{}", server.log());
        assert_eq!(server.text("/close"), "[false, nil, true]", "{worker}");
        assert_eq!(client.chunk().unwrap(), None, "{worker}");
        assert_eq!(server.text("/twice"), "begunended", "{worker}\n{}", server.log());
        assert!(server.log().contains("IO.pipe"), "the child says what would be right\n{}", server.log());
        assert_eq!(ruby::workers(&server), workers, "{worker}\n{}", server.log());
    }
}

/// What they hold, such as a lock or a connection to a database, would be held for as long as the client listens.
#[test]
fn what_is_due_after_the_answer_is_done_when_the_body_has_returned() {
    let Some(server) = serve(&[]) else { return };
    let mut client = listen(&server, "/closed", "begun");
    ruby::wait_for_note(&server, "finished");
    assert_eq!(ruby::notes(&server), ["closed", "finished"]);
    assert_eq!(server.text("/plain"), "plain");
    ruby::let_go(&server, "go1");
    assert_eq!(client.chunk().unwrap().unwrap(), b"ended");
    assert_eq!(client.chunk().unwrap(), None);
}

#[test]
fn a_stream_that_is_left_reads_a_large_body() {
    let server = ruby::serve(APP, &[&ONE[..], &["--body-memory", "1KiB"]].concat());
    let mut client = server.client();
    client.send(format!("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(5000))).unwrap();
    assert_eq!(client.head().unwrap().status, 200, "{}", server.log());
    if !is_jruby() {
        assert_eq!(server.text("/plain"), "plain");
    }
    ruby::let_go(&server, "go1");
    assert_eq!(client.chunk().unwrap().unwrap(), b"[10, 4990]", "{}", server.log());
    assert_eq!(client.chunk().unwrap(), None);
}

#[test]
fn a_stream_for_which_there_is_no_file_holds_its_thread() {
    let server = ruby::serve(APP, &ONE);
    assert_eq!(server.text("/held"), "held");
    assert_eq!(server.text("/plain"), "plain");
}

#[test]
fn a_reload_lets_the_streams_of_the_old_code_end() {
    let server = ruby::serve(APP, &ONE);
    let mut client = listen(&server, "/ending", "begun");
    server.reload("generation 2 serves");
    ruby::let_go(&server, "go1");
    assert_eq!(client.chunk().unwrap().unwrap(), b"ended", "{}", server.log());
    assert_eq!(client.chunk().unwrap(), None);
    ruby::expect_workers(&server, 1);
}

#[test]
fn streams_without_an_end_are_cut_when_their_code_or_the_server_goes() {
    let mut server = ruby::serve(APP, &[&ONE[..], &["--drain-time", "100ms"]].concat());
    for (signal, path, first) in [(Signal::USR1, "/own", "own"), (Signal::TERM, "/pool", "pool")] {
        let mut client = listen(&server, path, first);
        server.signal(signal);
        let cut = client.chunk();
        assert!(cut.is_err(), "a response without its end looks whole: {cut:?}\n{}", server.log());
    }
    assert!(server.ended(MAX_WAIT).is_some(), "{}", server.log());
    assert!(!server.log().contains("worker_died"), "{}", server.log());
}

#[test]
fn a_stream_breaks_off_with_the_exception_of_its_thread() {
    let server = ruby::serve(APP, &ONE);
    let mut client = listen(&server, "/raises", "begun");
    ruby::let_go(&server, "go1");
    let cut = client.chunk();
    assert!(cut.is_err(), "a response without its end looks whole: {cut:?}\n{}", server.log());
    server.must_log(", GET /raises: RuntimeError: half way");
    assert_eq!(server.text("/plain"), "plain");
}

#[test]
fn a_stream_breaks_off_with_its_worker() {
    let server = ruby::serve(APP, &ONE);
    let mut client = listen(&server, "/own", "own");
    signal(ruby::workers(&server)[0], Signal::KILL);
    let cut = client.chunk();
    assert!(cut.is_err(), "a response without its end looks whole: {cut:?}\n{}", server.log());
    assert_eq!(server.text("/plain"), "plain");
}
