//! Checks that responses are right, before the clock of a measurement starts and after it has stopped.

use std::time::{Duration, Instant};

use super::ask::Workload;
use super::fault::Fault;
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// Pause before an overloaded server is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a server gave no right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRight {
    /// For a person.
    pub words: String,
    /// Whether it gave a wrong answer, which disqualifies; otherwise it gave none, or another status.
    pub is_wrong: bool,
}

impl From<String> for NotRight {
    fn from(words: String) -> NotRight {
        NotRight { words, is_wrong: false }
    }
}

/// What of an answer is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// What a load looks at.
    AsUnderLoad,
    /// All that is known of an answer. Where that is more than the rule, the whole answer is compared, from its first
    /// header field to its last byte.
    Whole,
}

/// Asks everything once, each on a new connection, and looks at what a load looks at. The first wrong answer is
/// described.
pub fn check(port: u16, workload: &Workload) -> Result<(), String> {
    judged(port, workload, Duration::ZERO, Depth::AsUnderLoad).map_err(|not| not.words)
}

/// Like [`check`], for a server that may still have a queue. A request that times out, or is answered that the server
/// is busy, is repeated until `patience` is over. Also looks at all that is known of an answer beyond its rule.
pub fn check_patiently(port: u16, workload: &Workload, patience: Duration) -> Result<(), String> {
    judge_patiently(port, workload, patience).map_err(|not| not.words)
}

/// The same, and tells a wrong answer from none.
pub fn judge_patiently(port: u16, workload: &Workload, patience: Duration) -> Result<(), NotRight> {
    judged(port, workload, patience, Depth::Whole)
}

fn judged(port: u16, workload: &Workload, patience: Duration, depth: Depth) -> Result<(), NotRight> {
    on_this_thread(run(port, workload, Instant::now() + patience, depth))?
}

async fn run(port: u16, workload: &Workload, end: Instant, depth: Depth) -> Result<(), NotRight> {
    let watch = Watch::default();
    let work = Work::new(port, workload, false, 1, &watch, Tally::new(Instant::now(), None, &watch))?;
    for (place, ask) in workload.asks.iter().enumerate() {
        loop {
            let verdict = match depth {
                Depth::Whole if !ask.expect.known.is_empty() => work.check_whole(place).await,
                _ => work.exchange(&mut work.connection(), Instant::now(), place).await.1.map(drop),
            };
            match verdict {
                Ok(()) => break,
                Err(fault) if is_overload(&fault) && Instant::now() < end => tokio::time::sleep(PAUSE).await,
                Err(fault) => {
                    let is_wrong = matches!(fault, Fault::Wrong(_));
                    let words = format!("port {port}: {}", fault.in_words_with(&ask.in_words()));
                    return Err(NotRight { words, is_wrong });
                }
            }
        }
    }
    Ok(())
}

/// Whether the request timed out, or the server is too busy.
fn is_overload(fault: &Fault) -> bool {
    match fault {
        Fault::Timeout => true,
        Fault::Status(status, _) => is_busy(*status),
        _ => false,
    }
}

/// Whether this status means that the server is too busy, so that the request may be repeated.
pub fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 502..=504)
}
