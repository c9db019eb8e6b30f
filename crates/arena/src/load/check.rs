//! Are the answers right? Asked before any clock starts and after it stopped.

use std::time::Instant;

use super::ask::Workload;
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// Asks everything once, each on a new connection. The first wrong answer is described.
pub fn check(port: u16, workload: &Workload) -> Result<(), String> {
    on_this_thread(run(port, workload))?
}

async fn run(port: u16, workload: &Workload) -> Result<(), String> {
    let watch = Watch::default();
    let work = Work::new(port, workload, (false, 1), &watch, Tally::new(Instant::now(), None, &watch))?;
    for (place, ask) in workload.asks.iter().enumerate() {
        let (_, verdict) = work.exchange(&mut work.line(), Instant::now(), place).await;
        verdict.map_err(|fault| {
            let (asked, words) = (ask.in_words(), fault.in_words());
            // Some faults name what was asked, others cannot.
            let named = if words.starts_with(&asked) { words } else { format!("{asked}: {words}") };
            format!("port {port}: {named}")
        })?;
    }
    Ok(())
}
