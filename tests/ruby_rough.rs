//! Careless applications on the Ruby engine: what hangs, exits or gives nothing costs its own request and no other.

use std::time::{Duration, Instant};

use crate::support::{MAX_WAIT, ruby, within};

const APP: &str = include_str!("apps/ruby/rough.ru");
/// For what must not wait for anything.
const SOON: Duration = Duration::from_secs(3);

#[test]
fn a_slow_block_after_the_answer_delays_nobody() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let nobody_waits = || {
        let began = Instant::now();
        (0..50).for_each(|_| assert_eq!(server.text("/"), "gold"));
        assert!(began.elapsed() < SOON, "{:?}\n{}", began.elapsed(), server.log());
    };
    assert_eq!(server.text("/after-slow"), "answered");
    nobody_waits();
    assert!(ruby::notes(&server).is_empty());
    ruby::let_go(&server, "go");
    ruby::wait_for_note(&server, "after");
    // The same when there was no answer.
    ruby::expect(&server, server.get("/finished-slow"), 500);
    nobody_waits();
    ruby::let_go(&server, "finish");
    ruby::wait_for_note(&server, "finished");
}

#[test]
fn blocks_after_the_answer_may_exit_or_end_their_thread() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let pid = server.text("/pid");
    // The first thread is held, so the second is the one that has to live on.
    let mut held = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    for _ in 0..3 {
        for path in ["/after-exit", "/after-raise", "/after-thread-exit"] {
            assert_eq!(server.text(path), "answered", "{}", server.log());
            assert_eq!(server.text("/"), "gold", "after {path}\n{}", server.log());
        }
    }
    ruby::let_go(&server, "go");
    assert_eq!(held.reply().unwrap().text(), "waited");
    assert_eq!(server.text("/after-thread-exit"), "answered");
    assert_eq!(server.text("/pid"), pid, "it is still the same worker\n{}", server.log());
    server.must_log("after the answer");
}

#[test]
fn an_application_that_ends_its_thread_costs_its_request() {
    let mut server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let pid = server.text("/pid");
    let mut held = server.send_get("/wait?hold");
    ruby::wait_for_note(&server, "runs hold");
    for _ in 0..3 {
        ruby::expect(&server, server.get("/thread-exit"), 500);
        assert_eq!(server.text("/"), "gold", "{}", server.log());
    }
    server.must_log("ended its thread");
    let mut cut = server.send_get("/thread-exit-late");
    assert_eq!(cut.head().unwrap().status, 200);
    assert_eq!(cut.chunk().unwrap().unwrap(), b"part");
    ruby::let_go(&server, "go");
    assert!(cut.chunk().is_err(), "half an answer must not look whole");
    ruby::wait_for_note(&server, "closed cut");
    assert_eq!(server.text("/pid"), pid, "{}", server.log());
    ruby::let_go(&server, "hold");
    assert_eq!(held.reply().unwrap().text(), "waited");
    // New threads end like others.
    server.end(rustix::process::Signal::TERM);
    assert!(!server.log().contains("SIGKILL"), "{}", server.log());
}

#[test]
fn an_exception_that_can_tell_nothing_is_a_500() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let pid = server.text("/pid");
    let reply = ruby::expect(&server, server.get("/mute"), 500);
    assert!(reply.text().contains("speechless"), "{}", reply.text());
    server.must_log("Mute: speechless");
    assert_eq!(server.text("/pid"), pid);
}

#[test]
fn more_early_hints_than_anybody_wants_are_an_error_of_the_application() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--early-hints"]);
    let pid = server.text("/pid");
    assert_eq!(server.text("/hints"), "early hints are a few headers, not 1001");
    assert_eq!(server.text("/pid"), pid);
}

#[test]
fn a_body_that_gives_nothing_does_not_outlive_its_client() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let pid = server.text("/pid");
    for (path, note) in [("/empty", "empty Errno::EPIPE"), ("/empty-length", "gathered Errno::EPIPE")] {
        let client = server.send_get(path);
        // Long enough for it to have begun; nothing outside tells when it has.
        assert!(!within(Duration::from_millis(200), || false));
        let began = Instant::now();
        drop(client);
        assert_eq!(server.text("/"), "gold");
        assert!(began.elapsed() < SOON, "{path}: {:?}\n{}", began.elapsed(), server.log());
        ruby::wait_for_note(&server, note);
    }
    assert_eq!(server.text("/pid"), pid, "the worker is not replaced\n{}", server.log());
    assert!(!server.log().contains("timed out"), "{}", server.log());
}

#[test]
fn a_body_that_never_gives_anything_is_interrupted_when_its_client_has_gone() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--request-time", "500ms"]);
    let mut client = server.send_get("/mum");
    // With a client it has no deadline.
    assert_eq!(client.head().unwrap().status, 200);
    client.set_timeout(Duration::from_millis(1200));
    assert!(client.chunk().is_err());
    assert!(!server.log().contains("timed out"), "{}", server.log());
    drop(client);
    server.must_log("GET /mum timed out, its client has gone");
    ruby::wait_for_note(&server, "closed mum");
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn what_runs_for_a_client_that_has_gone_learns_of_it_at_its_first_write() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let client = server.send_get("/late");
    ruby::wait_for_note(&server, "runs late");
    drop(client);
    // Its going reaches the worker on its own time.
    assert!(!within(Duration::from_millis(500), || false));
    ruby::let_go(&server, "go");
    ruby::wait_for_note(&server, "closed late");
    assert_eq!(ruby::notes(&server), ["runs late", "late Errno::EPIPE", "closed late"]);
    assert!(
        !server.log().contains("its client has disconnected"),
        "it is no error of the application\n{}",
        server.log()
    );
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_status_that_no_status_line_has_room_for_is_a_500() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    for status in ["99", "1000", "70000"] {
        ruby::expect(&server, server.get(&format!("/status?{status}")), 500);
        server.must_log(&format!("from 100 to 999, not {status}"));
    }
    for status in [200, 418, 499, 599, 600, 999] {
        ruby::expect(&server, server.get(&format!("/status?{status}")), status);
    }
}

#[test]
fn a_header_with_a_nul_is_a_500_that_names_it() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    for (path, name) in [("/nul", "\"x-odd\""), ("/nul-list", "\"x-odd-list\""), ("/nul-name", "\"x-odd\\x00name\"")] {
        ruby::expect(&server, server.get(path), 500);
        server.must_log(&format!("the header {name} has a NUL character"));
    }
    let mut client = server.client();
    client.send("GET /bytes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let answer = client.rest().unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.1 200 ") && answer.windows(2).any(|pair| pair == b"\xff\xfe"),
        "{}",
        server.log()
    );
}

/// Otherwise it would read the requests of its worker, and report to the server that the worker's thread is free.
#[test]
fn a_child_that_is_forked_without_a_block_after_an_answer_serves_nobody() {
    let app = "HERE = __dir__\n\
        $split = lambda do |how|\n\
          child = fork\n\
          raise 'in the child' if child.nil? && how == 'raise'\n\
          exit 7 if child.nil? && how == 'exit'\n\
          Thread.exit if child.nil? && how == 'thread'\n\
          next unless child\n\
          Process.wait(child)\n\
          File.write(\"#{HERE}/notes\", \"#{how} #{$?.exitstatus}\\n\", mode: 'a')\n\
        end\n\
        class Closes\n\
          def initialize(how) = @how = how\n\
          def each = yield(Process.pid.to_s)\n\
          def close = $split.call(@how)\n\
        end\n\
        run ->(env) {\n\
          how = env['QUERY_STRING']\n\
          case env['PATH_INFO']\n\
          when '/hold' then sleep 0.01 until File.exist?(\"#{HERE}/go\")\n\
          when '/reply' then env['rack.after_reply'] << -> { $split.call(how) }\n\
          when '/finished' then env['rack.response_finished'] << ->(*) { $split.call(how) }\n\
          when '/close' then next [200, {}, Closes.new(how)]\n\
          end\n\
          [200, {}, [Process.pid.to_s]]\n\
        }\n";
    for is_first_thread in [true, false] {
        let server = ruby::serve(app, &["-w", "1", "-t", "2"]);
        let pid = server.text("/");
        let mut held = server.client();
        if !is_first_thread {
            held.send("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
        }
        let mut notes = Vec::new();
        for path in ["/reply", "/finished", "/close"] {
            for (how, status) in [("raise", 1), ("exit", 7), ("thread", 0), ("returns", 0)] {
                assert_eq!(server.text(&format!("{path}?{how}")), pid, "{path} {how}\n{}", server.log());
                notes.push(format!("{how} {status}"));
                assert!(within(MAX_WAIT, || ruby::notes(&server) == notes), "{path}: {notes:?}\n{}", server.log());
                for _ in 0..10 {
                    assert_eq!(server.text("/"), pid, "{path} {how}\n{}", server.log());
                }
            }
        }
        if !is_first_thread {
            ruby::let_go(&server, "go");
            assert_eq!(held.reply().unwrap().text(), pid, "{}", server.log());
        }
        ruby::assert_clean(&server);
    }
}

#[test]
fn a_child_that_a_request_forks_without_a_block_answers_nobody() {
    let app = "HERE = __dir__\n\
        run ->(env) {\n\
          if env['PATH_INFO'] == '/hold'\n\
            File.write(\"#{HERE}/held\", '')\n\
            sleep 0.01 until File.exist?(\"#{HERE}/go\")\n\
            next [200, {}, ['held']]\n\
          end\n\
          child = fork\n\
          raise 'in the child' if child.nil? && env['PATH_INFO'] == '/raise'\n\
          exit 7 if child.nil? && env['PATH_INFO'] == '/exit'\n\
          Thread.exit if child.nil? && env['PATH_INFO'] == '/thread'\n\
          next [200, {}, ['child']] unless child\n\
          Process.wait(child)\n\
          [200, {}, [\"parent #{$?.exitstatus}\"]]\n\
        }\n";
    let server = ruby::serve(app, &["-w", "1", "-t", "2"]);
    let workers = ruby::workers(&server);
    let mut held = server.client();
    held.send("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
    assert!(within(MAX_WAIT, || server.folder.join("held").exists()));
    for (path, status) in [("/raise", 1), ("/exit", 7), ("/thread", 0), ("/returns", 0)] {
        assert_eq!(server.text(path), format!("parent {status}"), "{path}\n{}", server.log());
    }
    ruby::let_go(&server, "go");
    assert_eq!(held.reply().unwrap().text(), "held", "{}", server.log());
    assert_eq!(ruby::workers(&server), workers, "{}", server.log());
}
