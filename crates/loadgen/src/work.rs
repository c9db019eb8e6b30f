//! State shared by all clients of a loop: the requests, the server, and the counts.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::ask::Workload;
use super::connection::{Arrived, Connection, Prepared};
use super::fault::Fault;
use super::rng::SeededRng;
use super::size::Size;
use super::tally::{Tally, Watch};

/// State shared by the clients of a loop.
pub(crate) struct Work {
    port: u16,
    keep: bool,
    prepared: Vec<Prepared>,
    sums: Vec<f64>,
    rng: RefCell<SeededRng>,
    timeout: Duration,
    /// The counts.
    pub tally: RefCell<Tally>,
    /// Whether no new requests are to be sent.
    pub stopped: Cell<bool>,
}

impl Work {
    /// Creates the state; the clock starts when `tally` says.
    pub fn new(
        port: u16,
        workload: &Workload,
        keep: bool,
        seed: u64,
        watch: &Watch,
        tally: Tally,
    ) -> Result<Work, String> {
        let (prepared, sums) = Prepared::all(port, workload, keep, watch.form)?;
        Ok(Work {
            port,
            keep,
            prepared,
            sums,
            rng: RefCell::new(SeededRng::from_seed(seed)),
            timeout: watch.timeout,
            tally: RefCell::new(tally),
            stopped: Cell::new(false),
        })
    }

    /// A connection for one client.
    pub fn connection(&self) -> Connection {
        Connection::new(self.port, self.keep)
    }

    /// Draws the next request; returns its index.
    pub fn draw(&self) -> usize {
        self.rng.borrow_mut().place(&self.sums)
    }

    /// Sends a request that was due at `from`, and counts it. Returns whether no connection could be opened.
    pub async fn one(&self, connection: &mut Connection, from: Instant, place: usize) -> bool {
        let (at, verdict) = self.exchange(connection, from, place).await;
        if verdict.as_ref().is_err_and(|fault| !matches!(fault, Fault::Status(..) | Fault::Wrong(_))) {
            connection.hang_up();
        }
        let unconnected = matches!(verdict, Err(Fault::Connect(_)));
        self.tally.borrow_mut().note(from, at, verdict);
        unconnected
    }

    /// Sends a request that was due at `from`, without counting it. Returns when it ended, and the size of a right
    /// response.
    pub async fn exchange(
        &self,
        connection: &mut Connection,
        from: Instant,
        place: usize,
    ) -> (Instant, Result<Size, Fault>) {
        let limit = from + self.timeout;
        if Instant::now() >= limit {
            return (Instant::now(), Err(Fault::Timeout));
        }
        match tokio::time::timeout_at(limit.into(), connection.call(&self.prepared[place])).await {
            Ok(Ok(Arrived { at, verdict })) => (at, verdict),
            Ok(Err(fault)) => (Instant::now(), Err(fault)),
            Err(_) => (Instant::now(), Err(Fault::Timeout)),
        }
    }

    /// Sends a request on a connection of its own, without counting it, and checks the whole response: a load keeps
    /// only the beginning of a long body.
    pub async fn check_whole(&self, place: usize) -> Result<(), Fault> {
        let connection = self.connection();
        let checked = tokio::time::timeout(self.timeout, connection.check_whole(&self.prepared[place])).await;
        checked.unwrap_or(Err(Fault::Timeout))
    }
}
