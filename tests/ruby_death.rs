//! Ruby processes that die: what is lost, what is not, and what takes their place.

use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::successor::{kill, signal};
use crate::support::{Client, MAX_WAIT, Rng, Server, ruby, within};
use rustix::process::Signal;

const APP: &str = include_str!("apps/ruby/work.ru");
const CLIENTS: usize = 8;

/// How many workers are killed under fire.
const KILLS: usize = 8;

/// Kills a worker now and then. At most two of these deaths meet the same request, which is what it may cost: before
/// the third, all that clients wait for at the first is answered.
fn kill_workers(server: &Server, answered: &[AtomicUsize]) {
    let begun = Instant::now();
    let mut rng = Rng::new(7);
    let mut kills: Vec<Vec<usize>> = Vec::new();
    while kills.len() < KILLS {
        assert!(begun.elapsed() < MAX_WAIT, "{} killed\n{}", kills.len(), server.log());
        let workers = ruby::workers(server);
        let now: Vec<usize> = answered.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        let is_through = |then: &Vec<usize>| now.iter().zip(then).all(|(now, then)| now > then);
        if workers.len() == 2 && kills.iter().nth_back(1).is_none_or(is_through) {
            kill(workers[rng.below(2)], Signal::KILL);
            // Counted anew: what is answered until now was not met by this death.
            kills.push(answered.iter().map(|count| count.load(Ordering::SeqCst)).collect());
        }
        thread::park_timeout(Duration::from_millis(100));
    }
}

/// Statuses of all answers to this request, from several clients, while workers are killed.
fn under_fire(server: &Server, request: &str) -> Vec<u16> {
    let is_over = AtomicBool::new(false);
    let answered: [AtomicUsize; CLIENTS] = Default::default();
    thread::scope(|scope| {
        let is_over = &is_over;
        let clients: Vec<_> = answered
            .iter()
            .map(|answered| {
                scope.spawn(move || {
                    let (mut client, mut statuses) = (server.client(), Vec::new());
                    while !is_over.load(Ordering::Relaxed) {
                        client.send(request).unwrap();
                        statuses.push(client.reply().unwrap().status);
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                    statuses
                })
            })
            .collect();
        let killed = panic::catch_unwind(panic::AssertUnwindSafe(|| kill_workers(server, &answered)));
        is_over.store(true, Ordering::Relaxed);
        let statuses = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        killed.map_or_else(|why| panic::resume_unwind(why), |()| statuses)
    })
}

#[test]
fn get_requests_survive_the_death_of_their_worker() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "2"]);
    for path in ["/", "/short"] {
        let statuses = under_fire(&server, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let bad: Vec<u16> = statuses.iter().copied().filter(|status| *status != 200).collect();
        assert!(bad.is_empty(), "{bad:?} of {} after {KILLS} deaths\n{}", statuses.len(), server.log());
    }
    ruby::expect_workers(&server, 2);
}

#[test]
fn post_requests_fail_only_in_the_worker_that_died() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "2"]);
    let statuses = under_fire(&server, "POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    let lost = statuses.iter().filter(|status| **status == 502).count();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 502)), "{}", server.log());
    // A worker has two threads, and POST is never handed ahead.
    assert!(lost <= 2 * KILLS, "{lost} lost in {KILLS} deaths of {} requests", statuses.len());
    assert_eq!(server.log().matches(" 502 ").count(), lost, "each is in the log");
}

#[test]
fn a_post_is_answered_at_once_when_its_worker_dies_and_others_are_unharmed() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1"]);
    let mut post = server.client();
    post.send("POST /wait?never HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
    ruby::wait_for_note(&server, "runs never");
    let free: u32 = server.text("/pid").parse().unwrap();
    let mut get = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    let busy = ruby::workers(&server).into_iter().find(|pid| *pid != free).unwrap();
    let began = Instant::now();
    kill(busy, Signal::KILL);
    let reply = ruby::expect(&server, post.reply().unwrap(), 502);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?} {}", began.elapsed(), reply.text());
    ruby::let_go(&server, "go");
    assert_eq!(get.reply().unwrap().text(), "waited");
    assert_eq!(ruby::notes(&server), ["runs never", "runs go"], "neither ran twice");
    server.must_log("worker_died");
    // What a worker ran when it died may be what killed it.
    server.must_log("0 requests replayed on another worker, 1 lost; it ran request ");
    assert!(server.log().lines().any(|line| line.contains("; it ran ") && line.ends_with(", POST /wait")));
}

#[test]
fn a_process_of_the_application_does_not_hide_the_death_of_its_worker() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2"]);
    let child: u32 = server.text("/fork").parse().unwrap();
    let mut post = server.client();
    post.send("POST /wait?never HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
    ruby::wait_for_note(&server, "runs never");
    let began = Instant::now();
    kill(server.text("/pid").parse().unwrap(), Signal::KILL);
    ruby::expect(&server, post.reply().unwrap(), 502);
    let took = began.elapsed();
    let lived = ruby::is_alive(child);
    kill(child, Signal::KILL);
    assert!(lived && took < Duration::from_secs(2), "{took:?}");
    assert_eq!(server.text("/"), "gold");
}

/// The mold, which would report the worker's exit, cannot; and the process that the application has forked holds the
/// worker's connections open.
#[test]
fn the_death_of_a_worker_is_noticed_where_its_mold_is_gone_or_busy_too() {
    for is_gone in [true, false] {
        let server = ruby::serve(APP, &["-w", "1", "-t", "2", "--worker-timeout", "0"]);
        let mold = ruby::mold(&server);
        let worker: u32 = server.text("/pid").parse().unwrap();
        let child: u32 = server.text("/fork").parse().unwrap();
        if is_gone {
            kill(mold, Signal::KILL);
            server.must_log("mold (pid ");
        } else {
            ruby::stop(mold);
        }
        let mut post = server.client();
        post.send("POST /wait?never HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").unwrap();
        ruby::wait_for_note(&server, "runs never");
        let began = Instant::now();
        kill(worker, Signal::KILL);
        let reply = post.reply();
        let took = began.elapsed();
        let lived = ruby::is_alive(child);
        kill(child, Signal::KILL);
        kill(mold, Signal::CONT);
        ruby::expect(&server, reply.unwrap(), 502);
        assert!(lived && took < Duration::from_secs(10), "{took:?}");
        assert_eq!(server.text("/"), "gold", "{}", server.log());
    }
}

#[test]
fn a_get_that_had_begun_to_answer_is_not_run_again() {
    let app = "require_relative \"common\"\nuse Linted\nrun paths(\"/\" => ->(_) { [200, { \"content-type\" => \
               \"text/plain\" }, Body.new(\"x\") { |out| note(\"run\"); out.call(\"part\"); wait_for(\"go\"); \
               Process.kill(:KILL, $$); sleep }] })\n";
    let server = ruby::serve(app, &["-w", "1", "-t", "1"]);
    let mut client = server.send_get("/");
    assert_eq!(client.head().unwrap().status, 200);
    assert_eq!(client.chunk().unwrap().unwrap(), b"part");
    ruby::let_go(&server, "go");
    assert!(client.chunk().is_err(), "half an answer must not look whole");
    assert_eq!(ruby::notes(&server), ["run"]);
}

#[test]
fn a_poison_request_ends_after_its_replays_and_the_server_goes_on() {
    let mut server = ruby::serve(APP, &["-w", "2", "-t", "1"]);
    for round in 1..=2 {
        let reply = ruby::expect(&server, server.get("/poison"), 502);
        assert!(!reply.body.is_empty());
        assert_eq!(ruby::notes(&server).len(), 3 * round, "once, and twice more");
        assert_eq!(server.text("/"), "gold");
    }
    ruby::expect_workers(&server, 2);
    assert!(server.is_alive());
}

#[test]
fn a_poison_request_takes_no_get_request_beside_it_along() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "3"]);
    let is_over = AtomicBool::new(false);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let ask = || {
            let (mut client, mut statuses) = (server.client(), Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                statuses.push(client.get("/short").status);
            }
            statuses
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
        // Two at a time: what was beside one of them may be beside the other as well.
        let poisoners: Vec<_> =
            (0..2).map(|_| scope.spawn(|| (0..6).map(|_| server.get("/poison").status).collect::<Vec<_>>())).collect();
        let poisoned: Vec<u16> = poisoners.into_iter().flat_map(|one| one.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(poisoned.iter().all(|status| *status == 502), "{poisoned:?}");
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let bad: Vec<u16> = statuses.iter().copied().filter(|status| *status != 200).collect();
    assert!(bad.is_empty(), "{bad:?} of {}\n{}", statuses.len(), server.log());
    let runs = ruby::notes(&server).len();
    assert!(runs <= 3 * 12, "each runs once, and twice more: {runs}");
}

#[test]
fn a_get_that_has_run_for_longer_than_requests_may_wait_is_run_again_all_the_same() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--queue-wait", "200ms"]);
    let worker = server.text("/pid").parse().unwrap();
    let mut client = server.send_get("/wait?go");
    ruby::wait_for_note(&server, "runs go");
    let began = Instant::now();
    assert!(within(MAX_WAIT, || began.elapsed() > Duration::from_millis(300)));
    kill(worker, Signal::KILL);
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2), "{}", server.log());
    ruby::let_go(&server, "go");
    assert_eq!(client.reply().unwrap().text(), "waited", "{}", server.log());
}

#[test]
fn a_stopped_worker_is_not_said_to_be_ready_and_is_replaced_and_the_log_says_why() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1", "--worker-timeout", "4s"]);
    ruby::expect_workers(&server, 2);
    let worker = ruby::workers(&server)[0];
    ruby::stop(worker);
    let state = || {
        let seen = server.status();
        let workers = seen["apps"][0]["workers"].as_array().cloned().unwrap_or_default();
        let one = workers.iter().find(|one| one["pid"] == worker).cloned().unwrap_or_default();
        one["state"].as_str().unwrap_or_default().to_owned()
    };
    assert!(within(MAX_WAIT, || state() == "stopped"), "{}", state());
    let who = format!("(pid {worker})");
    let why = ": the process is stopped (SIGSTOP)";
    let says = |words: &str| server.log().lines().any(|line| line.contains(&who) && line.contains(words));
    assert!(within(MAX_WAIT, || says("has not answered for ") && says(why)), "{}", server.log());
    let end = format!("did not answer the server, timed out (--worker-timeout){why}");
    assert!(within(MAX_WAIT, || says(&end)), "{}", server.log());
    assert!(within(MAX_WAIT, || !ruby::is_alive(worker)), "{}", server.log());
    ruby::expect_workers(&server, 2);
    assert_eq!(server.text("/"), "gold");
}

/// Such as by a signal of a person, or of a tool that freezes processes.
#[test]
fn a_worker_that_is_stopped_gets_no_requests_while_another_runs() {
    let app = "run ->(_) { sleep 0.05; [200, {}, [$$.to_s]] }\n";
    let server = ruby::serve(app, &["-w", "2", "-t", "2", "--worker-timeout", "0"]);
    ruby::expect_workers(&server, 2);
    let [stopped, runs] = ruby::workers(&server)[..] else { panic!("{}", server.log()) };
    ruby::stop(stopped);
    let idle = || server.status()["apps"][0]["idle"].as_u64();
    assert!(within(MAX_WAIT, || idle() == Some(2)), "{:?}: {}", idle(), server.log());
    let mut clients: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for client in &mut clients {
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.reply().unwrap().text(), runs.to_string(), "{}", server.log());
    }
    signal(stopped, Signal::CONT);
    assert!(within(MAX_WAIT, || idle() == Some(4)), "{:?}: {}", idle(), server.log());
}

/// At the prompt of the debugger `debug` all threads of a worker stand still, also the one that answers the server.
#[test]
fn in_development_a_worker_that_does_not_answer_is_left_alone() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1"]);
    ruby::expect_workers(&server, 1);
    let worker = ruby::workers(&server)[0];
    ruby::stop(worker);
    server.must_log("it is left alone (--worker-timeout 0)");
}

/// Requests that they have not read make the ends of their connections look like faults of these.
#[test]
fn workers_that_are_killed_before_they_read_their_requests_have_one_line_each_for_their_deaths() {
    let server = ruby::serve(APP, &["-w", "3", "-t", "2"]);
    ruby::expect_workers(&server, 3);
    let workers = ruby::workers(&server);
    workers.iter().copied().for_each(ruby::stop);
    let mut clients: Vec<_> = (0..6).map(|_| server.send_get("/")).collect();
    let running = || {
        let seen = server.done(&["recorder", "--json"]);
        let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
        seen["apps"][0]["running"].as_array().map_or(0, Vec::len)
    };
    assert!(within(MAX_WAIT, || running() == 6), "{}", server.log());
    workers.iter().copied().for_each(|pid| kill(pid, Signal::KILL));
    for client in &mut clients {
        assert_eq!(client.reply().unwrap().text(), "gold", "{}", server.log());
    }
    for worker in workers {
        server.must_log(&format!("(pid {worker}) exited: killed by SIGKILL"));
    }
    assert!(!server.log().contains("its connection broke"), "{}", server.log());
}

#[test]
fn a_boot_that_fails_later_does_not_spin() {
    let hooks = "on_worker_boot do |_|\n  File.write(\"notes\", \"boot\\n\", mode: \"a\")\n  \
                 raise \"no database\" if File.exist?(\"broken\")\nend\n";
    let files = [("config.ru", APP), ("config/foolsgold.rb", hooks)];
    let server = ruby::serve_files(&files, &[], &["-w", "2", "-t", "1"]);
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2));
    ruby::let_go(&server, "broken");
    kill(ruby::workers(&server)[0], Signal::KILL);
    server.must_log("no database");
    // For a while it is tried less and less often, and the other worker serves.
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        assert_eq!(server.text("/"), "gold");
        thread::park_timeout(Duration::from_millis(20));
    }
    let tried = ruby::notes(&server).len() - 2;
    assert!((2..=7).contains(&tried), "{tried} boots in a second and a half\n{}", server.log());
    std::fs::remove_file(server.folder.join("broken")).unwrap();
    assert!(within(MAX_WAIT, || ruby::workers(&server).len() == 2 && ruby::notes(&server).len() > 2 + tried));
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn workers_outlive_their_mold_and_a_new_one_is_started_when_one_is_needed() {
    let server = ruby::serve(APP, &["-w", "2", "-t", "1"]);
    ruby::expect_workers(&server, 2);
    let (mold, workers) = (ruby::mold(&server), ruby::workers(&server));
    kill(mold, Signal::KILL);
    assert!(within(MAX_WAIT, || !ruby::is_alive(mold)));
    for _ in 0..50 {
        assert_eq!(server.text("/"), "gold");
    }
    assert!(workers.iter().all(|pid| ruby::is_alive(*pid)), "workers go on");
    kill(workers[0], Signal::KILL);
    // Old workers are not below the server any more: their parent is gone.
    ruby::expect_workers(&server, 1);
    kill(workers[1], Signal::KILL);
    ruby::expect_workers(&server, 2);
    let said = server.log().matches(") loaded the application after ").count();
    assert_eq!(said, 1, "of the new mold alone: the server itself says that it has started\n{}", server.log());
    assert_eq!(server.text("/"), "gold");
}
