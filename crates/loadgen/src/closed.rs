//! The closed loop: each client sends a request, waits for the response, and sends the next. It finds the most that a
//! server can do. It says little about waiting times, since it sends a slow server fewer requests.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::ask::Workload;
use super::open_files::too_many;
use super::run_queue::{own_wait_s, wait_since};
use super::tally::{Seen, Tally, Watch};
use super::work::Work;
use super::{Share, on_this_thread, on_threads, own_s};
use crate::outcome::Outcome;

/// Pause of a client before it connects again after a failure, so that a server that is gone does not cost the machine
/// a whole processor.
const NO_CONNECTION_PAUSE: Duration = Duration::from_millis(5);

/// Options of a closed loop.
#[derive(Debug, Clone)]
pub struct Closed {
    /// Number of clients.
    pub clients: u32,
    /// End of the loop.
    pub until: Until,
    /// Whether a client keeps its connection, or opens one for each request.
    pub keep: bool,
    /// Seed of the random choices.
    pub seed: u64,
}

/// The end of a loop. Requests sent before it are waited for.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After this time.
    Seconds(f64),
    /// After this number of requests of all clients together.
    Requests(u64),
    /// After the time or the number of requests, whichever comes first.
    First {
        /// Requests of all clients together.
        requests: u64,
        /// Time in seconds.
        seconds: f64,
    },
}

/// Loads the server on this port. Returns the outcome.
pub fn closed(port: u16, workload: &Workload, plan: &Closed) -> Outcome {
    watch_closed(port, workload, plan, &Watch::default()).outcome
}

/// Loads the server on this port. Returns the outcome with what `watch` asks for.
pub fn watch_closed(port: u16, workload: &Workload, plan: &Closed, watch: &Watch) -> Seen {
    made(port, workload, plan, watch).unwrap_or_else(|error| Seen::nothing(plan.in_words(watch), error))
}

impl Closed {
    /// The options in words, for the record.
    fn in_words(&self, watch: &Watch) -> String {
        let until = match self.until {
            Until::Seconds(seconds) => format!("{seconds} s"),
            Until::Requests(requests) => format!("{requests} requests"),
            Until::First { requests, seconds } => format!("{requests} requests or {seconds} s"),
        };
        let connections = if self.keep { "connections kept" } else { "a new connection each" };
        let threads = watch.in_words(self.clients);
        format!("closed loop: {} clients{threads}, {connections}, {until}, seed {}", self.clients, self.seed)
    }

    fn span(&self) -> Result<Option<Duration>, String> {
        match self.until {
            Until::Seconds(seconds) | Until::First { seconds, .. } => Duration::try_from_secs_f64(seconds)
                .map(Some)
                .map_err(|_| format!("a loop of {seconds} s: give a number of seconds above 0")),
            Until::Requests(_) => Ok(None),
        }
    }
}

fn made(port: u16, workload: &Workload, plan: &Closed, watch: &Watch) -> Result<Seen, String> {
    let span = plan.span()?;
    if let Some(why) = too_many(plan.clients) {
        return Err(why);
    }
    let begun = Instant::now();
    let requests = match plan.until {
        Until::Requests(requests) | Until::First { requests, .. } => requests,
        Until::Seconds(_) => u64::MAX,
    };
    let stop = Stop::new(span.map(|span| begun + span), requests);
    let tallies = on_threads(watch.threads, plan.clients, |share| {
        let tally = Tally::new(begun, stop.end, watch);
        on_this_thread(run(port, workload, plan, share, watch, tally, &stop))?
    })?;
    let whole = tallies.into_iter().reduce(Tally::with).ok_or_else(|| "a load without a thread".to_owned())?;
    let mut whole = if stop.is_used_up() { whole.used_up() } else { whole };
    Ok(whole.seen(plan.in_words(watch)))
}

/// When the clients of a loop stop, on all threads: at a time, or once all requests are sent.
#[derive(Clone)]
pub(crate) struct Stop {
    end: Option<Instant>,
    /// Number of requests that are still to be sent.
    left: Arc<AtomicU64>,
}

impl Stop {
    /// Stops at `end`, or after this number of requests.
    pub fn new(end: Option<Instant>, requests: u64) -> Stop {
        Stop { end, left: Arc::new(AtomicU64::new(requests)) }
    }

    /// Takes one of the requests that are left. Returns false if there are none, or the end has come.
    fn takes_one(&self, now: Instant) -> bool {
        if self.end.is_some_and(|end| now >= end) {
            return false;
        }
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Whether all requests are sent.
    fn is_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// Runs the clients of one thread. Returns what they counted.
async fn run(
    port: u16,
    workload: &Workload,
    plan: &Closed,
    share: Share,
    watch: &Watch,
    tally: Tally,
    stop: &Stop,
) -> Result<Tally, String> {
    let own = own_s();
    let waited = own_wait_s();
    let work = Rc::new(Work::new(port, workload, plan.keep, share.seed(plan.seed), watch, tally)?);
    let mut clients = start(&work, share.part(plan.clients), stop);
    while clients.join_next().await.is_some() {}
    let tally = work.tally.replace(Tally::new(Instant::now(), None, watch));
    Ok(tally.took(own_s() - own, wait_since(waited)))
}

/// Starts the clients on this thread.
pub(crate) fn start(work: &Rc<Work>, clients: u32, stop: &Stop) -> JoinSet<()> {
    let mut running = JoinSet::new();
    for _ in 0..clients {
        running.spawn_local(client(Rc::clone(work), stop.clone()));
    }
    running
}

async fn client(work: Rc<Work>, stop: Stop) {
    let mut connection = work.connection();
    loop {
        let now = Instant::now();
        if work.stopped.get() || !stop.takes_one(now) {
            return;
        }
        if work.one(&mut connection, now, work.draw()).await {
            tokio::time::sleep(NO_CONNECTION_PAUSE).await;
        }
    }
}
