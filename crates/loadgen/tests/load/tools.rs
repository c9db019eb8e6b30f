//! wrk, siege and ab for real, if they are installed.

use std::io::Write;

use loadgen::{AbPlan, AbUntil, Outcome, SiegePlan, SiegeUntil, WrkPlan, ab, siege, wrk};

use crate::small::Small;
use crate::{NOBODY, check_waited, number};

const WRK: WrkPlan = WrkPlan { threads: 1, connections: 4, seconds: 1, timeout_s: 5 };
const SIEGE: SiegePlan = SiegePlan { clients: 4, until: SiegeUntil::Repeats(10), delay_s: None, limit_s: 60 };
const AB: AbPlan =
    AbPlan { clients: 4, until: AbUntil::Requests(40), varies: false, length: Some(6), timeout_s: 5, limit_s: 60 };

/// The outcome; `None`, with a message, if the tool is not installed.
fn if_here(outcome: Result<Outcome, String>) -> Option<Outcome> {
    match outcome {
        Err(error) if error.contains("is not here") => {
            let _ = writeln!(std::io::stderr(), "left out: {error}");
            None
        }
        outcome => Some(outcome.expect("a run to its end")),
    }
}

#[test]
fn wrk_counts_right_answers_and_names_the_others() {
    let server = Small::start();
    let Some(right) = if_here(wrk(server.port, "/right", &WRK)) else { return };
    assert!(number(&right, "requests_per_s") > 100.0 && number(&right, "failed") == 0.0, "{right:?}");
    assert!(number(&right, "p50_ms") <= number(&right, "p999_ms"), "{right:?}");
    assert!(right.command.starts_with("wrk --latency -t1 -c4 -d1s"), "{right:?}");
    check_waited(&right);
    let bad = wrk(server.port, "/status", &WRK).unwrap();
    assert_eq!((number(&bad, "requests"), number(&bad, "requests_per_s")), (0.0, 0.0), "{bad:?}");
    assert!(bad.errors["status 400 or more"] > 0);
    let hung = WrkPlan { timeout_s: 1, ..WRK };
    for (path, kind, plan) in [("/close", "read", &WRK), ("/cut", "read", &WRK), ("/hang", "timeout", &hung)] {
        let seen = wrk(server.port, path, plan).unwrap();
        assert!(seen.errors.contains_key(kind) && number(&seen, "requests") == 0.0, "{path}: {seen:?}");
    }
    // In a second none has waited for five.
    let short = wrk(server.port, "/hang", &WRK).unwrap();
    assert_eq!((number(&short, "requests"), number(&short, "failed")), (0.0, 0.0), "{short:?}");
    assert!(wrk(NOBODY, "/", &WRK).unwrap_err().contains("refused"));
}

#[test]
fn siege_counts_right_answers_and_names_the_others() {
    let server = Small::start();
    let Some(right) = if_here(siege(server.port, "/right", &SIEGE)) else { return };
    assert_eq!((number(&right, "requests"), number(&right, "failed")), (40.0, 0.0), "{right:?}");
    // It reads so little that one more request has to show whether it reads bodies.
    assert_eq!((server.asked("/right"), server.connections()), (41, 41));
    assert!(right.mean_size.is_some() && right.remarks.is_empty(), "{right:?}");
    // It reads none of these, which is no fault of the server.
    let tight = siege(server.port, "/tight", &SIEGE).unwrap();
    assert_eq!((number(&tight, "requests"), number(&tight, "failed"), tight.mean_size), (40.0, 0.0, None), "{tight:?}");
    assert!(tight.remarks.iter().any(|remark| remark.contains("without a space")), "{tight:?}");
    // No more is asked where it has read bodies, or has had no answer.
    siege(server.port, "/large", &SIEGE).unwrap();
    assert_eq!(server.asked("/large"), 40);
    for path in ["/status", "/close"] {
        let seen = siege(server.port, path, &SIEGE).unwrap();
        assert_eq!((number(&seen, "requests"), number(&seen, "failed")), (0.0, 40.0), "{path}: {seen:?}");
    }
    let seen = siege(NOBODY, "/", &SIEGE).unwrap();
    assert_eq!(seen.errors.get("connect"), Some(&40), "{seen:?}");
    let timed = SiegePlan { until: SiegeUntil::Seconds(2), ..SIEGE };
    let timed = siege(server.port, "/right", &timed).unwrap();
    assert!(number(&timed, "requests_per_s") > 10.0, "{timed:?}");
    check_waited(&timed);
    let hung = siege(server.port, "/hang", &SiegePlan { limit_s: 2, ..SIEGE }).unwrap_err();
    assert!(hung.contains("did not end within 2 s"), "{hung}");
}

#[test]
fn ab_counts_right_answers_and_names_the_others() {
    let server = Small::start();
    let Some(right) = if_here(ab(server.port, "/right", &AB)) else { return };
    assert_eq!((number(&right, "requests"), number(&right, "failed")), (40.0, 0.0), "{right:?}");
    assert_eq!((number(&right, "bytes_per_answer"), right.wrong.as_deref()), (6.0, None));
    assert!(server.connections() >= 40);
    let timed = ab(server.port, "/right", &AbPlan { until: AbUntil::Seconds(1), ..AB }).unwrap();
    assert!(number(&timed, "requests_per_s") > 10.0, "{timed:?}");
    check_waited(&timed);
    for path in ["/status", "/close"] {
        let seen = ab(server.port, path, &AB).unwrap();
        assert_eq!((number(&seen, "requests"), number(&seen, "failed")), (0.0, 40.0), "{path}: {seen:?}");
    }
    let large = ab(server.port, "/large", &AB).unwrap();
    assert!(large.wrong.is_some(), "{large:?}");
    let hung = ab(server.port, "/hang", &AbPlan { timeout_s: 1, ..AB }).unwrap_err();
    assert!(hung.contains("timeout"), "{hung}");
}
