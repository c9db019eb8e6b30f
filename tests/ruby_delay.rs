//! Requests on the Ruby engine that take too long, and requests of clients that did not wait.

use std::time::{Duration, Instant};

use crate::support::{Client, MAX_WAIT, ruby, within};

const APP: &str = include_str!("apps/ruby/work.ru");

/// Half a second for a request, with a margin for a busy machine.
const TIME: &str = "500ms";
const IN_TIME: Duration = Duration::from_millis(1500);

#[test]
fn a_late_request_is_504_in_time_and_its_worker_is_interrupted_and_replaced() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--request-time", TIME, "--preload=yes"]);
    let pid = server.text("/pid");
    let began = Instant::now();
    ruby::expect(&server, server.get("/ensure"), 504);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(450) && took < IN_TIME, "{took:?}");
    ruby::wait_for_note(&server, "ensured");
    assert!(!ruby::notes(&server).contains(&"rescued as a StandardError".to_owned()));
    // The log has what the thread did, by name, file and line.
    server.must_log("thread slot 0:");
    let log = server.log();
    for words in ["GET /ensure", "config.ru:", "sleep"] {
        assert!(log.contains(words), "{words:?} is not in {log}");
    }
    assert!(within(MAX_WAIT, || server.text("/pid") != pid), "the worker is replaced\n{}", server.log());
    let pid: u32 = pid.parse().unwrap();
    assert!(within(MAX_WAIT, || !ruby::is_alive(pid)), "the old one has ended\n{}", server.log());
    assert!(!server.log().contains("SIGKILL"), "it ended by itself\n{}", server.log());
    ruby::assert_clean(&server);
}

#[test]
fn a_request_that_cannot_be_interrupted_costs_its_worker() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1", "--request-time", TIME, "--kill-time", "300ms"]);
    let began = Instant::now();
    ruby::expect(&server, server.get("/stubborn"), 504);
    assert!(began.elapsed() < IN_TIME, "the answer does not wait for the worker: {:?}", began.elapsed());
    assert_eq!(server.text("/"), "gold");
    server.must_log("could not be interrupted");
    server.must_log("SIGKILL");
    ruby::expect_workers(&server, 2);
    assert_eq!(ruby::notes(&server), ["stubborn"], "a request that is over is not replayed");
    ruby::assert_clean(&server);
}

#[test]
fn the_other_thread_keeps_its_request_when_a_worker_is_interrupted() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2", "--request-time", "1500ms"]);
    let mut late = server.send_get("/ensure");
    let pid = server.text("/pid");
    // Begins later, so that its time is not over when the first is interrupted.
    assert!(!within(Duration::from_millis(700), || false));
    let mut other = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    assert_eq!(late.reply().unwrap().status, 504);
    ruby::wait_for_note(&server, "ensured");
    ruby::let_go(&server, "go");
    let reply = ruby::expect(&server, other.reply().unwrap(), 200);
    assert_eq!(reply.text(), "waited");
    assert_eq!(ruby::count(&server, "runs go"), 1, "it was not replayed either");
    assert!(within(MAX_WAIT, || server.text("/pid") != pid), "the worker is replaced\n{}", server.log());
    ruby::assert_clean(&server);
}

#[test]
fn late_requests_one_after_the_other_do_not_stop_the_service() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1", "--request-time", TIME]);
    // On a busy machine it may take longer than a request has until a worker is there in place of a late one.
    let serves = || within(MAX_WAIT, || server.get("/").status == 200);
    for _ in 0..5 {
        assert!(serves(), "{}", server.log());
        ruby::expect(&server, server.get("/sleep"), 504);
    }
    assert!(serves(), "{}", server.log());
    assert_eq!(server.text("/"), "gold");
    ruby::expect_workers(&server, 2);
    ruby::assert_clean(&server);
}

#[test]
fn the_hook_of_a_late_request_gets_its_environment() {
    let hooks = "on_request_timeout { |worker, env| note(\"late #{worker} #{env['PATH_INFO']}\") }\n";
    let files = [("config.ru", APP), ("config/foolsgold.rb", hooks)];
    let server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "1", "--request-time", TIME]);
    ruby::expect(&server, server.get("/sleep"), 504);
    ruby::wait_for_note(&server, "late 1 /sleep");
}

#[test]
fn a_worker_that_hangs_altogether_is_killed() {
    let server =
        ruby::serve(APP, &["-w", "1", "-t", "2", "--request-time", TIME, "--kill-time", "200ms", "--preload=yes"]);
    let pid: u32 = server.text("/pid").parse().unwrap();
    ruby::stop(pid);
    let began = Instant::now();
    ruby::expect(&server, server.get("/"), 504);
    assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
    assert!(within(MAX_WAIT, || !ruby::is_alive(pid)), "{}", server.log());
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_client_that_leaves_while_it_waits_is_never_served() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    let mut holder = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    let leaving: Vec<Client> = (0..10).map(|_| server.send_get("/noted?left")).collect();
    let mut staying: Vec<Client> = (0..3).map(|_| server.send_get("/noted?stayed")).collect();
    // The only thread is held, so nobody is answered in this time.
    staying[0].set_timeout(Duration::from_millis(200));
    assert!(staying[0].reply().is_err());
    staying[0].set_timeout(MAX_WAIT);
    drop(leaving);
    // Their going reaches the server on its own time, and nothing outside tells when it has.
    assert!(!within(Duration::from_millis(300), || false));
    ruby::let_go(&server, "go");
    assert_eq!(holder.reply().unwrap().text(), "waited");
    for client in &mut staying {
        assert_eq!(client.reply().unwrap().text(), "noted");
    }
    assert_eq!(server.text("/"), "gold");
    assert_eq!(ruby::notes(&server), ["runs go", "stayed", "stayed", "stayed"]);
}

#[test]
fn a_full_queue_and_a_long_wait_are_503() {
    let options = ["-w", "1", "-t", "1", "--queue", "1", "--queue-wait", "400ms"];
    let server = ruby::serve(APP, &options);
    let mut holder = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    let began = Instant::now();
    let mut queued = server.send_get("/");
    assert!(!within(Duration::from_millis(100), || false));
    let refused = ruby::expect(&server, server.get("/"), 503);
    assert!(refused.header("retry-after").is_some() && began.elapsed() < Duration::from_millis(350));
    assert_eq!(queued.reply().unwrap().status, 503);
    assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
    ruby::let_go(&server, "go");
    assert_eq!(holder.reply().unwrap().text(), "waited");
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn what_a_request_lost_in_the_line_is_not_said_of_the_application() {
    let config = "run lambda { |env| sleep env[\"QUERY_STRING\"].to_f; [200, {}, []] }";
    let server = ruby::serve(config, &["-w", "1", "-t", "1", "--request-time", "1200ms"]);
    let mut clients = ["/?0.8", "/?5"].map(|path| {
        let client = server.send_get(path);
        // So that they come in this order.
        let runs = || server.done(&["recorder", "--json"]).contains("\"path\":\"/\"");
        assert!(path != "/?0.8" || within(MAX_WAIT, runs));
        client
    });
    assert_eq!(clients.each_mut().map(|client| client.reply().unwrap().status), [200, 504], "{}", server.log());
    server.must_log("ms of which it waited for a worker");
}
