//! What all clients of a loop share: what is asked, of whom, and what came of it.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::ask::Workload;
use super::dice::Dice;
use super::fault::Fault;
use super::line::{Arrived, Line, Prepared};
use super::tally::{Tally, Watch};

/// The work of one loop.
pub(crate) struct Work {
    port: u16,
    keep: bool,
    prepared: Vec<Prepared>,
    sums: Vec<f64>,
    dice: RefCell<Dice>,
    timeout: Duration,
    /// The count.
    pub tally: RefCell<Tally>,
    /// Whether nothing new is asked any more.
    pub stopped: Cell<bool>,
}

impl Work {
    /// The clock starts when `tally` says.
    pub fn new(
        port: u16,
        workload: &Workload,
        (keep, seed): (bool, u64),
        watch: &Watch,
        tally: Tally,
    ) -> Result<Work, String> {
        let (prepared, sums) = Prepared::all(port, workload, keep)?;
        Ok(Work {
            port,
            keep,
            prepared,
            sums,
            dice: RefCell::new(Dice::from_seed(seed)),
            timeout: watch.timeout,
            tally: RefCell::new(tally),
            stopped: Cell::new(false),
        })
    }

    /// A connection for one client.
    pub fn line(&self) -> Line {
        Line::new(self.port, self.keep)
    }

    /// Which of the asks comes next.
    pub fn draw(&self) -> usize {
        self.dice.borrow_mut().place(&self.sums)
    }

    /// One request that should be sent at `from`, counted. Says whether there was no connection at all.
    pub async fn one(&self, line: &mut Line, from: Instant, place: usize) -> bool {
        let (at, verdict) = self.exchange(line, from, place).await;
        if verdict.as_ref().is_err_and(|fault| !matches!(fault, Fault::Status(..) | Fault::Wrong(_))) {
            line.hang_up();
        }
        let unconnected = matches!(verdict, Err(Fault::Connect(_)));
        self.tally.borrow_mut().note(from, at, verdict);
        unconnected
    }

    /// The same, not counted: when it ended, and the bytes of a right body.
    pub async fn exchange(&self, line: &mut Line, from: Instant, place: usize) -> (Instant, Result<u64, Fault>) {
        let limit = from + self.timeout;
        if Instant::now() >= limit {
            return (Instant::now(), Err(Fault::Timeout));
        }
        match tokio::time::timeout_at(limit.into(), line.call(&self.prepared[place])).await {
            Ok(Ok(Arrived { at, verdict })) => (at, verdict),
            Ok(Err(fault)) => (Instant::now(), Err(fault)),
            Err(_) => (Instant::now(), Err(Fault::Timeout)),
        }
    }
}
