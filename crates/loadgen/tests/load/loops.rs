//! The loops of our own against servers that answer rightly, wrongly, late or not at all: each is detected and named.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use loadgen::{
    Ask, BodyRule, Closed, Expect, Known, LOAD_THREADS, Open, Outcome, Phase, Settled, Steps, Until, Watch, Workload,
    check, check_patiently, closed, may_be_real_time, warm_up, watch_closed, watch_open,
};

use crate::small::{LARGE, Small};
use crate::{NOBODY, ask, check_waited, number, workload};

fn requests(clients: u32, requests: u64, keep: bool) -> Closed {
    Closed { clients, until: Until::Requests(requests), keep, seed: 1 }
}

#[test]
fn right_answers_are_counted_and_connections_kept() {
    let server = Small::start();
    let outcome = closed(server.port, &workload("/right"), &requests(4, 400, true));
    assert_eq!((number(&outcome, "requests"), number(&outcome, "failed")), (400.0, 0.0), "{outcome:?}");
    assert_eq!((server.asked("/right"), server.connections()), (400, 4));
    assert_eq!(number(&outcome, "bytes_per_answer"), 6.0);
    for (low, high) in [("shortest_ms", "p50_ms"), ("p50_ms", "p99_ms"), ("p99_ms", "p999_ms"), ("p999_ms", "max_ms")] {
        assert!(number(&outcome, low) <= number(&outcome, high), "{low} {high} {outcome:?}");
    }
}

#[test]
fn threads_divide_the_clients_and_count_as_one() {
    let server = Small::start();
    let watch = Watch::at_full_speed();
    let seen = watch_closed(server.port, &workload("/right"), &requests(5, 401, true), &watch).outcome;
    assert_eq!((number(&seen, "requests"), number(&seen, "failed")), (401.0, 0.0), "{seen:?}");
    assert_eq!((server.asked("/right"), server.connections()), (401, 5));
    let usable = thread::available_parallelism().map_or(1, |count| count.get() as u32).min(LOAD_THREADS);
    assert_eq!(number(&seen, "generator_threads"), f64::from(usable));
    assert!((0.0..=2.0).contains(&number(&seen, "generator_processors")), "{seen:?}");
    assert!(seen.command.starts_with("closed loop: 5 clients on 2 threads, "), "{}", seen.command);
    check_waited(&seen);
    // One client cannot be divided.
    let seen = watch_closed(server.port, &workload("/right"), &requests(1, 3, true), &watch).outcome;
    assert_eq!((number(&seen, "requests"), number(&seen, "generator_threads")), (3.0, 1.0), "{seen:?}");
    assert!(seen.command.starts_with("closed loop: 1 clients, "), "{}", seen.command);
    let seen = watch_closed(server.port, &workload("/wrong"), &requests(4, 8, true), &watch).outcome;
    assert!(seen.wrong.is_some() && seen.errors.get("wrong answer") == Some(&8), "{seen:?}");
    assert!(watch_closed(1, &Workload::default(), &requests(4, 8, true), &watch).outcome.void.is_some());
}

#[test]
fn an_open_loop_asks_for_the_same_on_one_thread_and_on_several() {
    let server = Small::start();
    let mixed = Workload { asks: vec![ask("/right"), Ask { weight: 0.25, ..ask("/rare") }] };
    // A rate that one thread does not generate, for a short time.
    let plan = Open { per_s: 50_000.0, seconds: 0.01, connections: 9, seed: 4 }.steps();
    let of = |watch: &Watch| {
        let before = server.asked("/rare");
        let seen = watch_open(server.port, &mixed, &plan, watch);
        assert_eq!(seen.number("failed"), Some(0.0), "{seen:?}");
        check_waited(&seen.outcome);
        let by_second: Vec<u64> = seen.timeline.iter().map(|second| second.requests()).collect();
        (number(&seen.outcome, "offered_per_s"), by_second, server.asked("/rare") - before)
    };
    assert_eq!(of(&Watch::by_seconds()), of(&Watch::at_full_speed()));
    assert!(server.connections() <= 18, "{}", server.connections());
    let words = |plan: &Steps| watch_open(server.port, &mixed, plan, &Watch::at_full_speed()).outcome.command;
    assert!(words(&plan).contains(" on 2 threads"), "{}", words(&plan));
    let low = Open { per_s: 300.0, seconds: 0.1, connections: 9, seed: 4 }.steps();
    assert!(!words(&low).contains(" threads"), "{}", words(&low));
}

#[test]
fn the_rate_is_that_of_the_time_given() {
    let server = Small::start();
    // Each client can get 20 responses per second at most.
    let plan = Closed { clients: 4, until: Until::Seconds(1.02), keep: true, seed: 1 };
    let outcome = closed(server.port, &workload("/slow"), &plan);
    let rate = number(&outcome, "requests_per_s");
    assert!((50.0..=80.0).contains(&rate), "{outcome:?}");
    // Requests sent just before the end are waited for, and count as requests, but not for the rate.
    assert!(number(&outcome, "elapsed_s") > 1.02 && number(&outcome, "requests") > rate * 1.02, "{outcome:?}");
    let in_flight = number(&outcome, "concurrency");
    assert!((3.0..=4.1).contains(&in_flight), "{outcome:?}");
}

#[test]
fn a_loop_of_requests_or_seconds_ends_with_the_first_of_them() {
    let server = Small::start();
    let plan = |most, seconds| Closed { until: Until::First { requests: most, seconds }, ..requests(4, 1, true) };
    let outcome = closed(server.port, &workload("/right"), &plan(50, 60.0));
    assert_eq!(number(&outcome, "requests"), 50.0, "{outcome:?}");
    let rate = number(&outcome, "requests_per_s");
    assert!((rate - 50.0 / number(&outcome, "elapsed_s")).abs() < 0.001, "over the time that it took: {outcome:?}");
    let outcome = closed(server.port, &workload("/slow"), &plan(1_000_000, 0.3));
    assert!(number(&outcome, "elapsed_s") < 30.0 && number(&outcome, "requests") < 1000.0, "{outcome:?}");
}

/// As many answers as the arena checks after the load of a tool that checks none.
#[test]
fn one_wrong_answer_in_a_thousand_is_found() {
    let server = Small::start();
    for keep in [true, false] {
        let before = server.asked("/seldom");
        let until = Until::First { requests: 4603, seconds: 60.0 };
        let outcome = closed(server.port, &workload("/seldom"), &Closed { clients: 4, until, keep, seed: 1 });
        assert_eq!(server.asked("/seldom") - before, 4603, "{outcome:?}");
        assert!(matches!(outcome.errors.get("wrong answer"), Some(4..=5)), "{outcome:?}");
        assert!(outcome.wrong.is_some_and(|why| why.contains("not the right one")));
    }
}

/// A tool that looks at no answer counts each of them.
#[test]
fn a_server_that_answers_more_than_it_was_asked_is_found_in_both_loops() {
    let server = Small::start();
    for keep in [true, false] {
        let outcome = closed(server.port, &workload("/tail"), &requests(4, 1_500, keep));
        assert_eq!(outcome.errors.get("wrong answer"), Some(&5), "{outcome:?}");
        assert!(outcome.wrong.is_some_and(|why| why.contains("bytes that nobody asked for: \"garbage\"")));
    }
    let plan = Open { per_s: 100.0, seconds: 0.5, connections: 4, seed: 1 }.steps();
    let outcome = watch_open(server.port, &workload("/twice"), &plan, &Watch::default()).outcome;
    assert!(outcome.errors.keys().eq(["wrong answer"]) && number(&outcome, "requests") == 0.0, "{outcome:?}");
}

#[test]
fn a_queue_that_a_load_left_is_waited_for_and_a_wrong_answer_is_not() {
    let server = Small::start();
    assert!(check(server.port, &workload("/full")).unwrap_err().contains("503"));
    assert_eq!(check_patiently(server.port, &workload("/full"), Duration::from_secs(60)), Ok(()));
    assert_eq!(server.asked("/full"), 4);
    let error = check_patiently(server.port, &workload("/wrong"), Duration::from_secs(600)).unwrap_err();
    assert!(error.contains("not the right one"), "{error}");
}

#[test]
fn large_bodies_go_both_ways() {
    let server = Small::start();
    let up = Ask { method: "POST".into(), body: vec![b'x'; LARGE], ..Ask::get("/upload") };
    let up = up.with_body(BodyRule::Exactly(format!("{LARGE} bytes\n").into_bytes()));
    let down = |length: usize| Ask::get("/large").with_body(BodyRule::Length(length));
    for keep in [true, false] {
        let both = Workload { asks: vec![up.clone(), down(LARGE)] };
        let outcome = closed(server.port, &both, &requests(2, 20, keep));
        assert_eq!((number(&outcome, "failed"), &outcome.wrong), (0.0, &None), "{outcome:?}");
    }
    assert!(server.asked("/upload") > 0 && server.asked("/large") > 0);
    // A check of all that is known of an answer asks for it once, as any other.
    for (text, is_right) in [("x", true), ("xy", false)] {
        let ask = down(LARGE);
        let known = Known { repeats: Some(text.into()), ..Known::default() };
        let known = Workload { asks: vec![Ask { expect: Expect { known, ..ask.expect }, ..ask }] };
        let before = server.asked("/large");
        assert_eq!(check_patiently(server.port, &known, Duration::ZERO).is_ok(), is_right);
        assert_eq!(server.asked("/large"), before + 1);
    }
    let wrong = Workload { asks: vec![down(LARGE + 1)] };
    assert!(closed(server.port, &wrong, &requests(2, 4, true)).wrong.is_some());
}

#[test]
fn a_new_connection_for_each_is_one() {
    let server = Small::start();
    let outcome = closed(server.port, &workload("/right"), &requests(4, 100, false));
    assert_eq!((number(&outcome, "requests"), number(&outcome, "failed")), (100.0, 0.0), "{outcome:?}");
    assert_eq!(server.connections(), 100);
}

#[test]
fn each_kind_of_failure_is_named() {
    let server = Small::start();
    let watch = Watch { timeout: Duration::from_millis(200), ..Watch::default() };
    for (path, kind) in [
        ("/wrong", "wrong answer"),
        ("/status", "status 500"),
        ("/garbage", "wrong answer"),
        ("/twice", "wrong answer"),
        ("/cut", "closed early"),
        ("/close", "closed early"),
        ("/hang", "timeout"),
    ] {
        let outcome = watch_closed(server.port, &workload(path), &requests(2, 6, true), &watch).outcome;
        assert_eq!(outcome.errors.get(kind), Some(&6), "{path}: {outcome:?}");
        assert_eq!((number(&outcome, "requests"), number(&outcome, "failed")), (0.0, 6.0), "{path}");
        assert_eq!(outcome.wrong.is_some(), kind == "wrong answer", "{path}: {outcome:?}");
        assert_eq!(number(&outcome, "requests_per_s"), 0.0, "{path}");
    }
    let error = check(server.port, &workload("/wrong")).unwrap_err();
    assert!(error.contains("GET /wrong") && error.contains("differs from byte 1"), "{error}");
    let error = check(server.port, &workload("/status")).unwrap_err();
    assert!(error.contains("status 500, not 200"), "{error}");
    assert_eq!(check(server.port, &workload("/right")), Ok(()));
}

#[test]
fn nobody_there_is_a_failure_and_costs_little() {
    let plan = Closed { clients: 2, until: Until::Seconds(0.2), keep: true, seed: 1 };
    let outcome = closed(NOBODY, &workload("/right"), &plan);
    let failed = outcome.errors.get("connect").copied().unwrap_or(0);
    assert!((2..500).contains(&failed), "{outcome:?}");
    assert!(check(NOBODY, &workload("/right")).unwrap_err().contains("no connection"));
}

#[test]
fn a_server_that_dies_in_mid_run_is_seen() {
    let server = Small::start();
    server.control.last.store(100, Ordering::SeqCst);
    let outcome = closed(server.port, &workload("/right"), &requests(4, 200, true));
    assert!(number(&outcome, "requests") < 100.0 && number(&outcome, "failed") > 100.0, "{outcome:?}");
    assert!(outcome.errors.contains_key("connect"), "{outcome:?}");
}

#[test]
fn asks_are_drawn_by_weight() {
    let server = Small::start();
    let rare = Ask { weight: 0.25, ..ask("/rare") };
    let outcome = closed(server.port, &Workload { asks: vec![ask("/right"), rare] }, &requests(2, 1_000, true));
    assert_eq!(number(&outcome, "requests"), 1_000.0);
    assert!((150..250).contains(&server.asked("/rare")), "{}", server.asked("/rare"));
}

#[test]
fn a_pause_of_the_server_shows_in_the_open_loop_and_hides_in_the_closed_one() {
    let server = Small::start();
    let freeze_soon = || {
        std::thread::park_timeout(Duration::from_millis(500));
        server.freeze_for(Duration::from_millis(500));
    };
    let plan = Open { per_s: 200.0, seconds: 2.0, connections: 8, seed: 1 };
    let seen = std::thread::scope(|scope| {
        scope.spawn(freeze_soon);
        watch_open(server.port, &workload("/right"), &plan.steps(), &Watch::default()).outcome
    });
    assert_eq!(number(&seen, "failed"), 0.0, "{seen:?}");
    assert!(number(&seen, "p99_ms") > 400.0 && number(&seen, "p50_ms") < 100.0, "{seen:?}");
    assert!((150.0..250.0).contains(&number(&seen, "offered_per_s")), "{seen:?}");
    assert!(server.connections() <= 8);
    let plan = Closed { clients: 1, until: Until::Seconds(2.0), keep: true, seed: 1 };
    let seen = std::thread::scope(|scope| {
        scope.spawn(freeze_soon);
        closed(server.port, &workload("/right"), &plan)
    });
    assert!(number(&seen, "p99_ms") < 100.0 && number(&seen, "max_ms") > 300.0, "{seen:?}");
}

#[test]
fn to_wait_for_a_connection_is_to_wait() {
    let server = Small::start();
    // Two connections answer 40 requests per second; 80 come.
    let plan = Open { per_s: 80.0, seconds: 1.0, connections: 2, seed: 2 };
    let outcome = watch_open(server.port, &workload("/slow"), &plan.steps(), &Watch::default()).outcome;
    assert_eq!(server.connections(), 2);
    assert!(number(&outcome, "max_ms") > 500.0 && number(&outcome, "failed") == 0.0, "{outcome:?}");
    let (rate, offered) = (number(&outcome, "requests_per_s"), number(&outcome, "offered_per_s"));
    assert!((25.0..41.0).contains(&rate) && offered > 60.0, "{outcome:?}");
    // A client without patience gets nothing; a request that was not sent in time is not sent at all.
    let phases = vec![Phase { per_s: 80.0, seconds: 1.0 }];
    let steps = Steps { phases, connections: 2, seed: 2, is_real_time: false };
    let watch = Watch { timeout: Duration::from_millis(300), ..Watch::by_seconds() };
    let seen = watch_open(server.port, &workload("/slow"), &steps, &watch);
    assert!(seen.outcome.errors.contains_key("timeout"), "{seen:?}");
    assert_eq!(seen.timeline.iter().map(|second| second.requests()).sum::<u64>() as f64, {
        number(&seen.outcome, "requests") + number(&seen.outcome, "failed")
    });
}

#[test]
fn an_open_loop_says_whether_it_ran_at_real_time_priority() {
    let server = Small::start();
    let plan = Open { per_s: 100.0, seconds: 0.3, connections: 2, seed: 5 }.steps();
    let is_real_time = |plan: &Steps| {
        let outcome = watch_open(server.port, &workload("/right"), plan, &Watch::default()).outcome;
        outcome.remarks.iter().any(|words| words.ends_with("ms late, with real-time priority"))
    };
    assert_eq!(is_real_time(&plan), may_be_real_time());
    assert!(!is_real_time(&Steps { is_real_time: false, ..plan }));
}

#[test]
fn warming_up_ends_when_the_rate_has_settled_or_not_at_all() {
    let server = Small::start();
    let warmth = warm_up(server.port, &workload("/limited"), 4, 10.0);
    // If the machine is too busy for a rate to settle, the whole time was used, except a part too short for a window.
    assert!(
        (warmth.settled == Settled::Yes || warmth.seconds >= 9.0) && warmth.requests > 0 && warmth.failed == 0,
        "{warmth:?}"
    );
    let warmth = warm_up(server.port, &workload("/wrong"), 2, 0.5);
    assert!(warmth.settled == Settled::Unknown && warmth.failed > 0 && warmth.wrong.is_some(), "{warmth:?}");
}

#[test]
fn what_cannot_be_asked_is_said() {
    // No wrong answer of the server's: it was not asked.
    let reason = |outcome: Outcome| outcome.void.filter(|_| outcome.wrong.is_none()).unwrap();
    let empty = Workload::default();
    assert!(reason(closed(1, &empty, &requests(1, 1, true))).contains("asks nothing"));
    let warmth = warm_up(1, &empty, 1, 0.1);
    assert!(warmth.wrong.is_none() && warmth.void.unwrap().contains("asks nothing"));
    assert!(check(1, &workload("no-slash")).unwrap_err().contains("begins with /"));
    let plan = Closed { clients: 1, until: Until::Seconds(-1.0), keep: true, seed: 1 };
    assert!(reason(closed(1, &workload("/"), &plan)).contains("above 0"));
}
