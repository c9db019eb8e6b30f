//! k6 for real, if it is installed.

use std::io::Write;
use std::time::Duration;

use loadgen::{Ask, BodyRule, K6Here, K6Load, K6Plan, Outcome, Workload, k6_version};
use regex::Regex;
use tempfile::TempDir;

use crate::small::Small;
use crate::{NOBODY, ask, check_waited, number};

struct InstalledK6 {
    here: K6Here,
    _scripts: TempDir,
}

impl InstalledK6 {
    /// k6 in a temporary folder; `None`, with a message, if it is not installed.
    fn if_here() -> Option<InstalledK6> {
        let folder = tempfile::tempdir().expect("a folder");
        match k6_version() {
            Ok(version) => {
                let here = K6Here::with(version, folder.path().join("k6"));
                Some(InstalledK6 { here, _scripts: folder })
            }
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "left out: {error}");
                None
            }
        }
    }

    fn load(&self, port: u16, asks: Vec<Ask>, load: K6Load) -> Outcome {
        let plan = K6Plan { case: "page".into(), load, keep: true, timeout: Duration::from_secs(1), seed: 1 };
        self.here.load(port, &Workload { asks }, &plan).expect("a run to its end")
    }
}

const SECOND: K6Load = K6Load::Clients { clients: 2, seconds: 1.0 };

#[test]
fn k6_counts_right_answers_and_names_the_others() {
    let Some(k6) = InstalledK6::if_here() else { return };
    let server = Small::start();
    let right = k6.load(server.port, vec![ask("/right")], SECOND);
    assert!(number(&right, "requests_per_s") > 20.0 && number(&right, "failed") == 0.0, "{right:?}");
    assert_eq!((number(&right, "bytes_per_answer"), right.wrong.as_deref()), (6.0, None));
    check_waited(&right);
    let order = ["shortest_ms", "p50_ms", "p75_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "p9999_ms", "max_ms"];
    assert!(order.windows(2).all(|two| number(&right, two[0]) <= number(&right, two[1])), "{right:?}");
    assert!(server.connections() < 8, "connections are kept");
    for (path, kind) in [
        ("/status", "status 500"),
        ("/close", "closed early"),
        ("/cut", "closed early"),
        ("/hang", "timeout"),
        ("/wrong", "wrong answer"),
        ("/garbage", "wrong answer"),
    ] {
        let seen = k6.load(server.port, vec![ask(path)], SECOND);
        assert!(seen.errors.contains_key(kind) && seen.errors.len() == 1, "{path}: {seen:?}");
        assert_eq!(
            (number(&seen, "requests"), seen.wrong.is_some()),
            (0.0, kind == "wrong answer"),
            "{path}: {seen:?}"
        );
    }
    let seen = k6.load(server.port, vec![ask("/wrong")], SECOND);
    assert!(seen.wrong.as_deref().is_some_and(|why| why.contains("GET /wrong") && why.contains("hallo")), "{seen:?}");
    let seen = k6.load(NOBODY, vec![ask("/")], SECOND);
    assert!(seen.errors["connect"] > 0 && number(&seen, "requests") == 0.0, "{seen:?}");
}

#[test]
fn every_rule_weight_and_body_is_that_of_the_workload() {
    let Some(k6) = InstalledK6::if_here() else { return };
    let server = Small::start();
    let rules = [
        BodyRule::Any,
        BodyRule::Length(6),
        BodyRule::Contains("ell".into()),
        BodyRule::Matches(Regex::new("(?s)^h.*o.$").expect("a pattern")),
    ];
    let mut asks: Vec<Ask> = rules.into_iter().map(|rule| Ask::get("/right").with_body(rule)).collect();
    let body = b"FoolsGold\n".repeat(100);
    let upload = Ask { method: "POST".into(), body, ..Ask::get("/upload") };
    asks.push(upload.with_body(BodyRule::Exactly(b"1000 bytes\n".to_vec())));
    let counted = K6Load::Requests { clients: 3, requests: 200, delay_s: 0.0 };
    let seen = k6.load(server.port, asks, counted);
    assert_eq!((number(&seen, "requests"), number(&seen, "failed")), (200.0, 0.0), "{seen:?}");
    assert!((10..80).contains(&server.asked("/upload")), "{}", server.asked("/upload"));
    let other = Ask::get("/right").with_body(BodyRule::Matches(Regex::new("(?s)^H").expect("a pattern")));
    let seen = k6.load(server.port, vec![other], SECOND);
    assert!(number(&seen, "requests") == 0.0 && seen.wrong.is_some(), "{seen:?}");
}

#[test]
fn an_open_loop_offers_its_rate_and_counts_what_it_did_not_send() {
    let Some(k6) = InstalledK6::if_here() else { return };
    let server = Small::start();
    let rate = |connections: u32| K6Load::Rate { per_s: 20.5, seconds: 2.0, connections };
    let seen = k6.load(server.port, vec![ask("/right")], rate(8));
    assert!((19.0..22.0).contains(&number(&seen, "offered_per_s")), "{seen:?}");
    assert!(seen.numbers.contains_key("late_ms") || !seen.remarks.is_empty(), "{seen:?}");
    // One client waits a second for each request; there is none for the others.
    let seen = k6.load(server.port, vec![ask("/hang")], rate(1));
    assert!(!seen.numbers.contains_key("late_ms") && seen.errors["timeout"] > 0, "{seen:?}");
    // On a machine that other tests use as well, k6 may have been short of a processor.
    let dropped = seen.errors.get("dropped").map(|dropped| *dropped as f64);
    assert!(dropped.or(seen.numbers.get("not_sent").copied()).is_some_and(|dropped| dropped > 20.0), "{seen:?}");
    assert!(seen.numbers.get("not_sent_by_itself").is_none_or(|by_itself| *by_itself == 0.0), "{seen:?}");
    assert!(dropped.is_none_or(|_| number(&seen, "failed") > 30.0) && seen.remarks.len() == 1, "{seen:?}");
}
