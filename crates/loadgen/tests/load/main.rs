//! The loops of our own, the tools of others and the scenarios, against small servers that answer rightly, wrongly,
//! late or not at all.

mod k6;
mod loops;
mod scenes;
mod small;
mod tools;

use loadgen::{Ask, BodyRule, Outcome, Workload};

/// A port without a listener. One that was free a moment ago may belong to another test by now.
const NOBODY: u16 = 1;

fn ask(path: &str) -> Ask {
    Ask::get(path).with_body(BodyRule::Exactly(b"hello\n".to_vec()))
}

fn workload(path: &str) -> Workload {
    Workload { asks: vec![ask(path)] }
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.numbers.get(name);
    assert!(found.is_some(), "no {name} in {outcome:?}");
    found.copied().unwrap_or_default()
}
