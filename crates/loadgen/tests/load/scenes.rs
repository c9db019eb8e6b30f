//! The scenarios: trouble is detected, and servers without trouble are not blamed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use loadgen::scenario::acts::{self, ActKind, Acts};
use loadgen::scenario::{ASKED, Act, ScenarioReport, idle, overload, slow_clients, stuck, uneven};
use loadgen::{Division, Open, Workload, divide};

use crate::small::{Small, lock};
use crate::{ask, number, workload};

const OTHERS: Open = Open { per_s: 100.0, seconds: 1.0, connections: 16, seed: 1 };
const OVERLOAD: overload::Overload = overload::Overload {
    // Far below what `/limited` can answer: on a busy machine its sleep takes several times as long.
    capacity_per_s: 50.0,
    factor: 9.0,
    calm_s: 3,
    over_s: 1,
    after_s: 7,
    connections: 64,
    deadline_ms: 500,
    patience_s: 1.0,
    seed: 1,
};

#[test]
fn slow_clients_are_held_and_the_others_served() {
    let server = Small::start();
    let plan = slow_clients::SlowClients { slow: 300, pace_ms: 50, others: OTHERS };
    let found = slow_clients::run(server.port, &workload("/right"), &plan).unwrap();
    assert_eq!(number(&found.outcome, "failed"), 0.0, "{found:?}");
    assert!(found.words.iter().any(|words| words.starts_with("300 slow clients")), "{:?}", found.words);
    assert!(server.connections() >= 300);
    assert!(number(&found.outcome, ASKED) > number(&found.outcome, "requests") * 1.5, "with those before: {found:?}");
    assert!(found.words[0].contains("before: p99"), "{:?}", found.words);
    // What came of it is no part of what was done.
    assert!(found.outcome.command.ends_with("; beside it 300 slow clients, a piece each 50 ms"), "{found:?}");
    assert!(!found.outcome.command.contains("late") && found.outcome.remarks[0].contains("late"), "{found:?}");
}

#[test]
fn a_stuck_endpoint_beside_fast_ones() {
    let server = Small::start();
    let plan = stuck::Stuck { hangs: ask("/slow"), hanging: 8, others: OTHERS };
    let found = stuck::run(server.port, &workload("/right"), &plan).unwrap();
    assert_eq!(number(&found.outcome, "failed"), 0.0, "{found:?}");
    assert!(server.asked("/slow") > 8, "{found:?}");
    // One was sent alone first, and is not of the loads.
    let all = server.asked("/right") + server.asked("/slow") - 1;
    assert_eq!(number(&found.outcome, ASKED) as u64, all, "with those before and those that hang: {found:?}");
    assert!(found.words[1].contains("8 clients that hang in GET /slow: no request failed"), "{:?}", found.words);
}

#[test]
fn a_load_beside_what_hangs_is_longer_than_that() {
    let server = Small::start();
    let others = Open { seconds: 0.01, ..OTHERS };
    let found = stuck::run(server.port, &workload("/right"), &stuck::Stuck { hangs: ask("/slow"), hanging: 1, others });
    // Five times 50 ms, at a hundred requests per second.
    assert!(number(&found.unwrap().outcome, "requests") >= 25.0);
}

#[test]
fn short_requests_are_measured_beside_long_ones() {
    let server = Small::start();
    let plan = uneven::Uneven { long: ask("/slow"), share: 0.2, all: OTHERS };
    let found = uneven::run(server.port, &workload("/right"), &plan).unwrap();
    assert_eq!(number(&found.outcome, "failed"), 0.0, "{found:?}");
    assert_eq!(number(&found.outcome, "requests") as u64, server.asked("/right"), "{found:?}");
    assert!(server.asked("/slow") > 5 && server.asked("/right") > 40, "{found:?}");
    let all = server.asked("/right") + server.asked("/slow");
    assert_eq!(number(&found.outcome, ASKED) as u64, all, "the server computes for the long ones, too: {found:?}");
    assert_eq!(number(&found.outcome, "others_right") as u64, server.asked("/slow"), "{found:?}");
    // A server that fails the long requests has failed.
    let plan = uneven::Uneven { long: ask("/garbage"), ..plan };
    let found = uneven::run(server.port, &workload("/right"), &plan).unwrap();
    assert!(number(&found.outcome, "failed") > 5.0, "{found:?}");
}

#[test]
fn idle_connections_are_weighed() {
    let server = Small::start();
    let memory = || if server.connections() >= 100 { 1500 } else { 500 };
    let found = idle::run(server.port, &workload("/right"), &idle::Idle { connections: 100 }, &memory).unwrap();
    assert_eq!((number(&found.outcome, "connections"), number(&found.outcome, "idle_kib")), (100.0, 10.0), "{found:?}");
    let found = idle::run(server.port, &workload("/close"), &idle::Idle { connections: 100 }, &memory).unwrap();
    assert!(number(&found.outcome, "failed") == 100.0 && !found.outcome.numbers.contains_key("idle_kib"), "{found:?}");
    assert!(found.outcome.missing_numbers["idle_kib"].contains("no more than half of 100 connections"), "{found:?}");
}

#[test]
fn what_a_killed_worker_takes_with_it_is_counted() {
    let server = Small::start();
    let control = &server.control;
    let mut is_dying = false;
    // Every other time it comes back.
    let kill: Act = &mut || {
        is_dying = !is_dying;
        control.dead.store(is_dying, Ordering::SeqCst);
        Ok(7)
    };
    let plan = Acts { kind: ActKind::Kill(0.2), clients: 4, seconds: 1.0, seed: 1 };
    let found = acts::run(server.port, &workload("/right"), &plan, kill).unwrap();
    assert!(number(&found.outcome, "failed") > 0.0 && number(&found.outcome, "requests") > 0.0, "{found:?}");
    assert_eq!(number(&found.outcome, "acts"), 4.0);
    assert!(found.outcome.errors.contains_key("closed early"), "{found:?}");
    assert!(found.words.iter().any(|words| words.starts_with("afterwards it answers rightly")), "{:?}", found.words);
    let error = acts::run(server.port, &workload("/right"), &plan, &mut || Err("no worker".into())).unwrap_err();
    assert!(error.contains("never worked: no worker"), "{error}");
}

#[test]
fn a_load_that_cannot_be_made_is_void_in_every_scenario_and_no_fault_of_the_server() {
    let server = Small::start();
    let port = server.port;
    let right = workload("/right");
    let none = Open { per_s: 0.0, ..OTHERS };
    let uneven = |share: f64, all: &Open| {
        uneven::run(port, &right, &uneven::Uneven { long: ask("/slow"), share, all: all.clone() })
    };
    let nothing = Workload::default();
    let killed = Acts { kind: ActKind::Kill(0.2), clients: 1, seconds: 0.5, seed: 1 };
    let reloaded = Acts { kind: ActKind::Reload(1), ..killed.clone() };
    for found in [
        uneven(0.2, &none),
        // Only the long requests cannot be sent.
        uneven(0.0, &OTHERS),
        stuck::run(port, &right, &stuck::Stuck { hangs: ask("/right"), hanging: 1, others: none.clone() }),
        slow_clients::run(port, &right, &slow_clients::SlowClients { slow: 1, pace_ms: 1, others: none }),
        acts::run(port, &nothing, &killed, &mut || Ok(1)),
        acts::run(port, &nothing, &reloaded, &mut || Ok(1)),
    ] {
        let outcome = found.unwrap().outcome;
        assert!(outcome.void.is_some() && outcome.wrong.is_none(), "{outcome:?}");
    }
}

#[test]
fn a_pause_while_it_reloads_is_the_longest_answer() {
    let server = Small::start();
    let pause: Act = &mut || {
        server.freeze_for(Duration::from_millis(300));
        Ok(1)
    };
    let plan = Acts { kind: ActKind::Reload(1), clients: 4, seconds: 1.2, seed: 1 };
    let found = acts::run(server.port, &workload("/right"), &plan, pause).unwrap();
    assert_eq!((number(&found.outcome, "failed"), number(&found.outcome, "acts")), (0.0, 1.0), "{found:?}");
    assert!((200.0..600.0).contains(&number(&found.outcome, "max_ms")), "{found:?}");
}

#[test]
fn overload_costs_goodput_and_passes() {
    let server = Small::start();
    let found = overload::run(server.port, &workload("/limited"), &OVERLOAD).unwrap();
    // Of 450 that arrive per second it can answer about 200, and those late.
    assert!(number(&found.outcome, "goodput_per_s") < 250.0, "{found:?}");
    assert!(found.outcome.errors.contains_key("timeout"), "{:?}", found.words);
    let offered = number(&found.outcome, "offered_per_s");
    assert!((380.0..520.0).contains(&offered), "that of the overload, not of its calm: {offered}");
    // More than one in a hundred failed, so that 99 of 100 did not end at all.
    assert!(number(&found.outcome, "failed") > 10.0 && !found.outcome.numbers.contains_key("p99_ms"), "{found:?}");
    // The time when p99 has recovered depends on the load of the machine; that the server answers again does not.
    let answers = |second: usize| found.timeline[second].within(Duration::from_millis(500));
    assert!((3..6).any(|over| found.timeline[over].failed > 0), "{:?}", found.timeline);
    assert!((0..7).any(|after| answers(4 + after) > 20), "{:?}", found.timeline);
    assert!(found.outcome.numbers.get("recovery_s").is_none_or(|seconds| *seconds >= 1.0), "{:?}", found.words);
    assert!(found.words[1].contains("p99") && found.words[1].contains("before"), "{:?}", found.words);
    let plan = overload::Overload { over_s: 0, ..OVERLOAD };
    assert!(overload::run(server.port, &workload("/"), &plan).is_err());
}

/// Whether a wrong answer was seen that disqualifies.
fn is_wrong(found: &ScenarioReport) -> bool {
    found.outcome.wrong.as_ref().is_some_and(|wrong| wrong.contains("not the right one"))
}

#[test]
fn a_wrong_answer_is_seen_beside_slow_clients_before_them_and_by_them() {
    let server = Small::start();
    let plan = slow_clients::SlowClients { slow: 30, pace_ms: 20, others: OTHERS };
    let of = |path: &str| slow_clients::run(server.port, &workload(path), &plan).unwrap();
    std::thread::scope(|scope| {
        let liars = ["/liar", "/first", "/closing"].map(|path| (path, scope.spawn(move || of(path))));
        for (path, liar) in liars {
            let found = liar.join().unwrap();
            assert!(is_wrong(&found), "{path}: {found:?}");
            let to_slow = found.outcome.wrong.as_ref().is_some_and(|wrong| wrong.starts_with("to a slow client: "));
            assert_eq!(to_slow, path == "/closing", "{found:?}");
        }
    });
}

#[test]
fn a_wrong_answer_is_seen_beside_what_hangs_before_it_and_of_it() {
    let server = Small::start();
    let others = Open { seconds: 0.5, ..OTHERS };
    let of = |hangs: &str, path: &str| {
        let plan = stuck::Stuck { hangs: ask(hangs), hanging: 2, others: others.clone() };
        stuck::run(server.port, &workload(path), &plan).unwrap()
    };
    assert!(!is_wrong(&of("/slow", "/right")));
    // The others; only before; only the first look at what hangs; what hangs.
    for (hangs, path) in [("/slow", "/wrong"), ("/slow", "/first"), ("/first", "/right"), ("/liar", "/right")] {
        lock(&server.control.asked).clear();
        let found = of(hangs, path);
        assert!(is_wrong(&found), "{hangs} {path}: {found:?}");
    }
    // Who lets what hangs fail has failed.
    let found = of("/status", "/right");
    assert!(number(&found.outcome, "failed") > 1.0 && !is_wrong(&found), "{found:?}");
}

#[test]
fn a_wrong_answer_is_seen_in_every_other_scenario() {
    let server = Small::start();
    let port = server.port;
    let liar = workload("/liar");
    let uneven = |long: &str, path: &str| {
        let plan = uneven::Uneven { long: ask(long), share: 0.2, all: OTHERS };
        uneven::run(port, &workload(path), &plan).unwrap()
    };
    assert!(is_wrong(&uneven("/wrong", "/right")) && is_wrong(&uneven("/slow", "/liar")));
    let found = idle::run(port, &liar, &idle::Idle { connections: 100 }, &|| 1).unwrap();
    assert!(is_wrong(&found) && number(&found.outcome, "failed") == 2.0, "{found:?}");
    for kind in [ActKind::Kill(0.2), ActKind::Reload(1)] {
        let plan = Acts { kind, clients: 2, seconds: 0.5, seed: 1 };
        assert!(is_wrong(&acts::run(port, &liar, &plan, &mut || Ok(7)).unwrap()), "{kind:?}");
    }
    let plan = overload::Overload {
        capacity_per_s: 100.0,
        factor: 2.0,
        calm_s: 2,
        after_s: 1,
        connections: 8,
        patience_s: 5.0,
        ..OVERLOAD
    };
    assert!(is_wrong(&overload::run(port, &liar, &plan).unwrap()));
}

#[test]
fn a_wrong_answer_is_seen_while_a_requests_time_is_divided() {
    let server = Small::start();
    let of = |path: &str| divide(server.port, &workload(path), &Division { clients: 2, seconds: 0.2, keep: true });
    let found = of("/first");
    assert!(found.wrong.is_some_and(|wrong| wrong.contains("not the right one")));
    // This server knows no middleware, and that is no wrong answer; nor is a status.
    let found = of("/right");
    assert!(found.wrong.is_none() && found.numbers.is_err_and(|why| why.contains("header")));
    assert_eq!((of("/status").wrong, of("/close").wrong), (None, None));
}
