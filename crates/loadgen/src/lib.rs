//! Load: what is asked, how answers are judged, tools driven and loops of our own.
//!
//! A number counts right answers only. Latencies are those of right answers and of requests that timed out: to leave
//! the latter out would flatter whoever let them wait.

mod ab;
mod ask;
mod check;
mod closed;
mod dice;
mod divided;
mod fault;
mod judge;
mod k6;
mod line;
pub mod metric;
mod open;
mod outcome;
pub mod process;
mod queue;
pub mod scenario;
mod scratch;
mod siege;
pub mod stats;
mod tally;
mod timer;
mod tool;
mod warm;
mod work;
mod wrk;

pub use ab::{AbPlan, AbUntil, ab};
pub use ask::{Ask, AskParts, BodyRule, Expect, Workload};
pub use check::{check, check_patiently, is_busy};
pub use closed::{Closed, Until, closed, watch_closed};
pub use dice::Dice;
pub use divided::{Division, HEADER, divide};
pub use fault::Fault;
pub use judge::judge;
pub use k6::{DROPPED, K6_GET, K6Here, K6Load, K6Plan, k6_counted, k6_version};
pub use open::{Open, Phase, Steps, watch_open};
pub use outcome::{Course, Outcome};
pub use siege::{SiegePlan, SiegeUntil, siege};
pub use tally::{Second, Seen, Watch};
pub use warm::{Warmth, warm_up};
pub use wrk::{WrkPlan, wrk};

use std::future::Future;

/// Runs this on one thread, this one: the load generator has the machine only because the servers leave it some.
pub(crate) fn on_this_thread<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the load generator: {error}"))?;
    Ok(tokio::task::LocalSet::new().block_on(&runtime, work))
}
