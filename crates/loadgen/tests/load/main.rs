//! The loops of our own, the tools of others and the scenarios, against small servers that answer rightly, wrongly,
//! late or not at all.

mod k6;
mod loops;
mod scenes;
mod small;
mod tools;

use std::fs;

use loadgen::{Ask, BodyRule, Outcome, Workload};

/// A port without a listener. One that was free a moment ago may belong to another test by now.
const NOBODY: u16 = 1;

fn ask(path: &str) -> Ask {
    Ask::get(path).with_body(BodyRule::Exactly(b"hello\n".to_vec()))
}

fn workload(path: &str) -> Workload {
    Workload { asks: vec![ask(path)] }
}

/// Checks that the outcome says how long the load generator waited for a processor, where the kernel counts that.
fn check_waited(outcome: &Outcome) {
    let own = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let is_counted = !["", "0 0 0"].contains(&own.trim());
    let waited = outcome.numbers.get("generator_waited_pct");
    assert_eq!(waited.is_some(), is_counted, "{own:?} {outcome:?}");
    assert!(waited.is_none_or(|share| (0.0..=100.0).contains(share)), "{outcome:?}");
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.numbers.get(name);
    assert!(found.is_some(), "no {name} in {outcome:?}");
    found.copied().unwrap_or_default()
}
