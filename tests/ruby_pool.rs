//! How many Ruby workers there are, and which are replaced: by load and rest, requests served, memory, silence.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::successor::signal;
use crate::support::{Client, MAX_WAIT, Server, ruby, within};
use rustix::process::Signal;

const APP: &str = include_str!("apps/ruby/work.ru");

/// Several clients ask for this until the time is over; every answer is looked at. How many there were.
fn load(server: &Server, clients: usize, path: &str, time: Duration) -> usize {
    let (end, is_good) = (Instant::now() + time, AtomicBool::new(true));
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                while Instant::now() < end {
                    let reply = client.get(path);
                    is_good.fetch_and(reply.status == 200, Ordering::Relaxed);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(is_good.into_inner(), "{}", server.log());
    count.into_inner()
}

#[test]
fn a_pool_grows_while_requests_wait_and_shrinks_at_rest() {
    let server = ruby::serve(APP, &["--max-workers", "3", "-t", "1", "--idle-time", "1s"]);
    ruby::expect_workers(&server, 1);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..5).map(|_| scope.spawn(|| server.text("/wait?go"))).collect();
        ruby::expect_workers(&server, 3);
        ruby::let_go(&server, "go");
        assert!(clients.into_iter().all(|client| client.join().unwrap() == "waited"));
    });
    ruby::expect_workers(&server, 1);
    // One request after the other needs one worker, on whichever lane it comes in.
    let busy = load(&server, 1, "/short", Duration::from_millis(2500));
    assert!(busy > 100 && ruby::workers(&server).len() == 1, "{busy}\n{}", server.log());
    let log = server.log();
    assert!(log.contains("scaling up to 3 workers") && log.contains("(--idle-time)"), "{log}");
    ruby::assert_clean(&server);
}

#[test]
fn without_a_number_workers_are_added_while_all_of_them_compute() {
    let cores = thread::available_parallelism().unwrap().get();
    let server = ruby::serve(APP, &["-e", "production", "-t", "5", "--idle-time", "1s"]);
    ruby::expect_workers(&server, cores);
    if cores == 1 {
        return; // A single worker stays alone.
    }
    // Most requests are short.
    (0..100).for_each(|_| assert_eq!(server.text("/"), "gold"));
    thread::scope(|scope| {
        // More than all threads of all workers: on a busy machine a worker may look as if it waited, and takes some.
        let clients: Vec<_> = (0..12 * cores).map(|_| scope.spawn(|| server.text("/compute?go"))).collect();
        let has_grown = || ruby::workers(&server).len() > cores;
        assert!(within(MAX_WAIT, has_grown), "{:?}\n{}", ruby::workers(&server), server.log());
        let shown = server.done(&["status"]);
        assert!(shown.contains("one is added while requests wait and every worker computes"), "{shown}");
        ruby::expect_workers(&server, 2 * cores);
        ruby::let_go(&server, "go");
        assert!(clients.into_iter().all(|client| client.join().unwrap() == "computed"));
    });
    ruby::expect_workers(&server, cores);
    // Requests that wait run in further threads.
    thread::scope(|scope| {
        let clients: Vec<_> = (0..2 * cores).map(|_| scope.spawn(|| server.text("/wait?woken"))).collect();
        let running = || ruby::count(&server, "runs woken");
        assert!(within(MAX_WAIT, || running() == 2 * cores), "{}\n{}", running(), server.log());
        assert_eq!(ruby::workers(&server).len(), cores, "{}", server.log());
        ruby::let_go(&server, "woken");
        assert!(clients.into_iter().all(|client| client.join().unwrap() == "waited"));
    });
    let log = server.log();
    assert!(log.contains("waiting while every worker computes") && log.contains("(--idle-time)"), "{log}");
    ruby::assert_clean(&server);
}

/// Asks for something that waits, in this many clients, until `running` requests run; then lets all of them end.
fn wait_together(server: &Server, clients: usize, running: usize, name: &str) {
    let path = format!("/wait?{name}");
    thread::scope(|scope| {
        let all: Vec<_> = (0..clients).map(|_| scope.spawn(|| server.text(&path))).collect();
        let now = || ruby::count(server, &format!("runs {name}"));
        assert!(within(MAX_WAIT, || now() == running), "{} run\n{}", now(), server.log());
        ruby::let_go(server, name);
        assert!(all.into_iter().all(|client| client.join().unwrap() == "waited"));
    });
}

#[test]
fn a_worker_gets_further_threads_while_its_requests_wait_up_to_the_greatest_number() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "1", "--max-threads", "6"]);
    server.must_log("with 1 to 6 threads each");
    wait_together(&server, 6, 6, "go");
    server.must_log("has 6 threads now");
    // The seventh waits in the queue, and all are answered.
    wait_together(&server, 7, 6, "woken");
    assert!(!server.log().contains("has 7 threads"), "{}", server.log());
    // A worker that takes its place begins with one.
    server.done(&["reload"]);
    wait_together(&server, 6, 6, "again");
    ruby::expect_workers(&server, 1);
    ruby::assert_clean(&server);
}

#[test]
fn without_a_number_a_worker_gets_further_threads_unless_it_has_a_client_of_a_database() {
    let cores = thread::available_parallelism().unwrap().get();
    let server = ruby::serve(APP, &["-e", "production"]);
    wait_together(&server, 5 * cores + 3, 5 * cores + 3, "go");
    assert_eq!(ruby::workers(&server).len(), cores, "threads, not workers\n{}", server.log());
    drop(server);
    let server = ruby::serve(&format!("module PG; end\n{APP}"), &["-e", "production"]);
    thread::scope(|scope| {
        let all: Vec<_> = (0..5 * cores + 1).map(|_| scope.spawn(|| server.text("/wait?go"))).collect();
        server.must_log("stays with 5 threads, although requests wait");
        let running = || ruby::count(&server, "runs go");
        assert!(within(MAX_WAIT, || running() == 5 * cores), "{} run\n{}", running(), server.log());
        ruby::let_go(&server, "go");
        assert!(all.into_iter().all(|client| client.join().unwrap() == "waited"));
    });
    assert!(!server.log().contains(" threads now"), "{}", server.log());
    ruby::assert_clean(&server);
}

#[test]
fn an_application_that_sleeps_wakes_for_its_first_request() {
    let server = ruby::serve(APP, &["--min-workers", "0", "--max-workers", "2", "--idle-time", "500ms"]);
    assert_eq!(ruby::workers(&server), Vec::<u32>::new(), "{}", server.log());
    let mold = ruby::mold(&server);
    for _ in 0..2 {
        let began = Instant::now();
        assert_eq!(server.text("/"), "gold");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        ruby::expect_workers(&server, 0);
        assert!(ruby::is_alive(mold));
    }
    // Without its mold it cannot wake, so there is another at once.
    signal(mold, Signal::KILL);
    let has_another = || ruby::processes(server.id()).first().is_some_and(|pid| *pid != mold);
    assert!(within(MAX_WAIT, has_another), "{}", server.log());
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn workers_are_replaced_after_their_requests_one_at_a_time_and_under_load() {
    let options = ["-w", "3", "-t", "1", "--max-requests", "40", "--max-requests-jitter", "50"];
    let server = ruby::serve(APP, &options);
    ruby::expect_workers(&server, 3);
    let is_over = AtomicBool::new(false);
    let (fewest, most) = thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut bounds = (usize::MAX, 0);
            while !is_over.load(Ordering::Relaxed) {
                // One that starts while the processes are read is not seen: read again at once, it is.
                let counts = [(); 2].map(|()| ruby::workers(&server).len());
                let count = counts[0].max(counts[1]);
                bounds = (bounds.0.min(count), bounds.1.max(count));
                thread::park_timeout(Duration::from_millis(5));
            }
            bounds
        });
        load(&server, 8, "/short", Duration::from_secs(4));
        is_over.store(true, Ordering::Relaxed);
        counting.join().unwrap()
    });
    let replaced = server.log().matches("is being replaced: served its number of requests").count();
    assert!(replaced >= 4, "{replaced}\n{}", server.log());
    // The successor is there before one goes, and the one that goes may be seen a moment longer.
    assert!(fewest >= 3 && most <= 5, "{fewest} to {most}\n{}", server.log());
    ruby::assert_clean(&server);
}

#[test]
fn a_worker_that_needs_too_much_memory_is_replaced() {
    let greedy = "run ->(_) { ($kept ||= []) << 'x' * 80_000_000; [200, {}, [Process.pid.to_s]] }";
    let server = ruby::serve(greedy, &["-w", "1", "-t", "1", "--worker-memory", "70MiB"]);
    let greedy = server.text("/");
    let is_replaced = || ruby::workers(&server).iter().all(|pid| pid.to_string() != greedy);
    assert!(within(MAX_WAIT, is_replaced), "{}", server.log());
    ruby::expect_workers(&server, 1);
    server.must_log("uses too much memory (--worker-memory)");
}

#[test]
fn titles_say_which_request_takes_long() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2", "--tag", "shop"]);
    ruby::expect_workers(&server, 1);
    let worker = ruby::workers(&server)[0];
    thread::scope(|scope| {
        let client = scope.spawn(|| server.text("/wait?go"));
        let says = |words: &str| within(MAX_WAIT, || ruby::title(worker).starts_with(words));
        assert!(says("foolsgold: worker 1 [shop] GET /wait 1."), "{}", ruby::title(worker));
        assert!(says("foolsgold: worker 1 [shop] GET /wait 2."), "{}", ruby::title(worker));
        ruby::let_go(&server, "go");
        client.join().unwrap();
    });
    assert!(within(MAX_WAIT, || ruby::title(worker) == "foolsgold: worker 1 [shop]"), "{}", ruby::title(worker));
}

/// A worker reads what was sent ahead in one go, and holds the answer to a short request while it runs the next one: to
/// the server, a long one behind it seems not to have begun, and could run on another worker.
#[test]
fn a_long_request_that_was_sent_ahead_is_answered_and_runs_once() {
    let app = "class Work\n  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)\n  def call(env)\n    case \
               env['PATH_INFO']\n    when '/slow' then File.write('notes', \"slow\\n\", mode: 'a'); sleep 0.05\n    \
               when '/spin' then began = now; nil while now - began < 0.0007\n    end\n    [200, {}, ['gold']]\n  \
               end\nend\nrun Work.new\n";
    for kind in ["native", "plain"] {
        let options = ["-e", "production", "-w", "1", "-t", "2", "--access-log", "off", "--ruby-worker", kind];
        let server = ruby::serve(app, &options);
        let mut clients: Vec<Client> = (0..3).map(|_| server.client()).collect();
        for round in 1..=15 {
            // So short that requests are sent ahead.
            (0..150).for_each(|_| assert_eq!(clients[0].get("/").status, 200));
            for (client, path) in clients.iter_mut().zip(["/spin", "/", "/slow"]) {
                client.send_get(path);
            }
            for client in &mut clients {
                assert_eq!(client.reply().unwrap().status, 200, "{}", server.log());
            }
            assert_eq!(ruby::count(&server, "slow"), round, "{kind}");
        }
    }
}

#[test]
fn a_worker_does_what_it_has_to_between_requests_and_gets_none_meanwhile() {
    let hooks = "out_of_band { File.write('notes', \"out\\n\", mode: 'a'); sleep 0.3; $out = true }";
    let app = "run ->(_) { out = $out; $out = false; [200, {}, [out.inspect]] }";
    let files = [("config.ru", app), ("config/foolsgold.rb", hooks)];
    let server = ruby::serve_files(&files, &[], &["-w", "1", "-t", "2"]);
    assert_eq!(server.text("/"), "nil");
    ruby::wait_for_note(&server, "out");
    // The hook runs: this waits for its end.
    assert_eq!(server.text("/"), "true");
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2), "{:?}", ruby::notes(&server));
}

#[test]
fn garbage_is_collected_between_requests() {
    let app = "run ->(_) { [200, {}, [GC.stat(:major_gc_count).to_s]] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--oob-gc"]);
    let majors = || server.text("/").parse::<u64>().unwrap();
    let before = majors();
    // On a Ruby that says when a major collection is due it may not be, however often one looks.
    let had_some = (0..64).any(|_| majors() > before);
    assert!(had_some || !server.log().contains("ruby 3.1"), "{before}\n{}", server.log());
    ruby::assert_clean(&server);
}

/// Asks again and again, a little later after each refusal; how many were answered with 200, and the longest of them.
fn insist(server: &Server, clients: usize, time: Duration) -> (usize, Duration) {
    let end = Instant::now() + time;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut count, mut longest) = (server.client(), 0, Duration::ZERO);
                    while Instant::now() < end {
                        let began = Instant::now();
                        match client.get("/short").status {
                            200 => {
                                count += 1;
                                longest = longest.max(began.elapsed());
                            }
                            503 => thread::park_timeout(Duration::from_millis(20)),
                            other => panic!("{other}\n{}", server.log()),
                        }
                    }
                    (count, longest)
                })
            })
            .collect();
        let all: Vec<(usize, Duration)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (all.iter().map(|(count, _)| count).sum(), all.iter().map(|(_, longest)| *longest).max().unwrap())
    })
}

#[test]
fn under_overload_workers_go_on_at_their_rate_and_nobody_waits_in_vain() {
    let server = ruby::serve(APP, &["-w", "1", "-t", "2", "--queue-wait", "50ms", "--access-log", "off"]);
    insist(&server, 4, Duration::from_secs(1));
    let time = Duration::from_secs(3);
    let (capacity, _) = insist(&server, 4, time);
    let (goodput, longest) = insist(&server, 64, time);
    // Other tests run beside this one: it sees a collapse; `bin/chaos --only overload` measures.
    assert!(goodput * 10 > capacity * 3, "{goodput} of {capacity}\n{}", server.log());
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    let (after, longest) = insist(&server, 4, Duration::from_secs(1));
    assert!(after * 3 * 10 > capacity * 2 && longest < Duration::from_secs(1), "{after}, {longest:?}");
}

/// Three times as many requests as the only thread can serve, for four seconds. In order, none that arrives after the
/// first second would begin before it has waited for a second.
#[test]
fn under_overload_the_newest_requests_get_their_turn_as_well() {
    let app =
        "run ->(env) { File.write('notes', \"#{env['QUERY_STRING']}\\n\", mode: 'a'); sleep 0.02; [200, {}, []] }";
    let server = ruby::serve(app, &["-w", "1", "-t", "1", "--access-log", "off"]);
    assert!(!server.done(&["status"]).contains("newest first"));
    let mut clients: Vec<Client> = Vec::new();
    for tick in 0..200 {
        clients.extend((0..3).map(|at| server.send_get(&format!("/?{}", 3 * tick + at))));
        assert!(!within(Duration::from_millis(20), || false));
    }
    let began: Vec<usize> = ruby::notes(&server).iter().map(|note| note.parse().unwrap()).collect();
    let before_earlier = began.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(before_earlier * 10 > began.len(), "{before_earlier} of {began:?}\n{}", server.log());
    assert!(before_earlier * 2 < began.len(), "{before_earlier} of {began:?}");
    let half = began.iter().filter(|number| **number < began.len() / 2).count();
    assert!(half * 2 + 20 > began.len(), "the first go on in their order: {began:?}");
    assert!(server.done(&["status"]).contains("newest first"), "{}", server.log());
    let words = "every second one that begins is now the newest";
    assert!(server.logs(words) && server.log().matches(words).count() == 1, "{}", server.log());
}
