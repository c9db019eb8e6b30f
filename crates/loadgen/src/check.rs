//! Checks that responses are right, before the clock of a measurement starts and after it has stopped.

use std::time::{Duration, Instant};

use super::ask::{Ask, Workload};
use super::fault::Fault;
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// Pause before an overloaded server is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Sends each request of the workload once, on a new connection. The error describes the first wrong response.
pub fn check(port: u16, workload: &Workload) -> Result<(), String> {
    check_patiently(port, workload, Duration::ZERO)
}

/// Like [`check`], for a server that may still have a queue. A request that times out, or is answered that the server
/// is busy, is repeated until `patience` is over.
pub fn check_patiently(port: u16, workload: &Workload, patience: Duration) -> Result<(), String> {
    on_this_thread(run(port, workload, Instant::now() + patience))?
}

async fn run(port: u16, workload: &Workload, end: Instant) -> Result<(), String> {
    let watch = Watch::default();
    let work = Work::new(port, workload, (false, 1), &watch, Tally::new(Instant::now(), None, &watch))?;
    for (place, ask) in workload.asks.iter().enumerate() {
        loop {
            match work.exchange(&mut work.connection(), Instant::now(), place).await.1 {
                Ok(_) => break,
                Err(fault) if is_overload(&fault) && Instant::now() < end => tokio::time::sleep(PAUSE).await,
                Err(fault) => return Err(described(port, ask, &fault)),
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

fn described(port: u16, ask: &Ask, fault: &Fault) -> String {
    let asked = ask.in_words();
    let words = fault.in_words();
    // Some faults name the request, others cannot.
    let named = if words.starts_with(&asked) { words } else { format!("{asked}: {words}") };
    format!("port {port}: {named}")
}
