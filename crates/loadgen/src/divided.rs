//! A load that divides the time of each request into parts: the load generator itself, the accept queue, the server
//! before the application, the application on a processor and waiting, and the way back. For it the arena's middleware
//! runs around the application, and reports when the application was entered and left and how much processor time it
//! used.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use procfs::FromBufReadSI;
use procfs::net::{TcpNetEntries, TcpNetEntry, TcpState};
use tokio::task::JoinSet;

use super::ask::Workload;
use super::connection::{Opened, Prepared};
use super::counted::now_ns;
use super::fault::Fault;
use super::form::Form;
use super::judge::judge;
use super::on_this_thread;
use super::rng::SeededRng;
use super::timer::Timer;
use crate::metric::{
    AFTER_APP, APP_PROCESSOR, APP_WAITING, DIVIDED, DIVIDED_REQUESTS, IN_ACCEPT_QUEUE, IN_GENERATOR, IN_SERVER,
};

/// Response header of the middleware: when the application was entered and left, and the processor time of its thread
/// meanwhile, all in nanoseconds.
pub const HEADER: &str = "x-arena-time";
/// Most seconds that the load lasts. If responses are slow, it lasts until as many are counted as there are clients.
const LONGEST_S: f64 = 20.0;
/// Least number of requests whose mean is shown.
const COUNTED_LEAST: u64 = 10;
/// Share of failed requests above which the others do not show where the time goes.
const MOST_FAILED: f64 = 0.01;
/// Interval at which the length of the accept queue is read.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Rate, per second, at which the generator's own lateness is measured, at random times.
const PROBES_PER_S: f64 = 300.0;
/// Bytes of the kernel's list that are read. Listening sockets come first, then connections.
const LISTENERS_BYTES: u64 = 64 << 10;
const PAUSE: Duration = Duration::from_millis(5);

/// Options of the load.
#[derive(Debug, Clone)]
pub struct Division {
    /// Number of clients, each with one request at a time.
    pub clients: u32,
    /// Least duration in seconds; it is longer if responses are slow.
    pub seconds: f64,
    /// Whether a client keeps its connection.
    pub keep: bool,
}

/// What such a load tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Divided {
    /// Means of a request in milliseconds, by the names of `metric.rs`. They add up to [`DIVIDED`], the mean time of a
    /// request as this load measured it. An error says why there are none.
    pub numbers: Result<BTreeMap<String, f64>, String>,
    /// The first wrong answer, described: it disqualifies, whether there are numbers or not.
    pub wrong: Option<String>,
}

/// Loads the server on this port.
pub fn divide(port: u16, workload: &Workload, plan: &Division) -> Divided {
    let queue = AcceptQueue::watch(port);
    let sums = on_this_thread(run(port, workload, plan)).and_then(|sums| sums);
    let length = queue.mean_length();
    match sums {
        Ok(sums) => Divided { numbers: sums.numbers(length), wrong: sums.wrong },
        Err(why) => Divided { numbers: Err(why), wrong: None },
    }
}

impl Division {
    /// The options in words, for the record.
    pub fn in_words(&self) -> String {
        let connections = if self.keep { "connections kept" } else { "a new connection each" };
        format!("closed loop behind the arena's middleware: {} clients, {connections}", self.clients)
    }
}

/// The parts of a request's time, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct TimeParts {
    /// Time until its first byte was written, on an open connection.
    sending: u64,
    before: u64,
    processor: u64,
    waiting: u64,
    after: u64,
    all: u64,
}

/// Sums over all requests.
#[derive(Debug, Clone, Default)]
struct Sums {
    parts: TimeParts,
    /// Number of requests in `parts`.
    counted: u64,
    /// Number of right responses.
    answered: u64,
    /// Number of all other requests.
    failed: u64,
    over_s: f64,
    /// Mean delay until the generator sees an event, in nanoseconds.
    late_ns: f64,
    trouble: Option<String>,
    /// The first wrong answer, described.
    wrong: Option<String>,
}

/// Why a request has no part in the means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NotCounted {
    /// It got no right answer.
    Fault(Fault),
    /// It may have, and its time cannot be divided.
    Undivided(String),
}

impl From<Fault> for NotCounted {
    fn from(fault: Fault) -> NotCounted {
        NotCounted::Fault(fault)
    }
}

impl From<String> for NotCounted {
    fn from(why: String) -> NotCounted {
        NotCounted::Undivided(why)
    }
}

impl Sums {
    fn add(&mut self, one: TimeParts) {
        let sum = &mut self.parts;
        sum.sending += one.sending;
        sum.before += one.before;
        sum.processor += one.processor;
        sum.waiting += one.waiting;
        sum.after += one.after;
        sum.all += one.all;
        self.counted += 1;
    }

    /// Whether enough requests are counted. Failed ones are no reason to wait for more.
    fn is_enough_for(&self, clients: u32) -> bool {
        self.counted + self.failed >= u64::from(clients).max(COUNTED_LEAST)
    }

    fn fail(&mut self, reason: NotCounted) {
        self.failed += 1;
        let words = match &reason {
            NotCounted::Fault(fault) => fault.in_words(),
            NotCounted::Undivided(why) => why.clone(),
        };
        if matches!(reason, NotCounted::Fault(Fault::Wrong(_))) {
            self.wrong.get_or_insert_with(|| words.clone());
        }
        self.trouble.get_or_insert(words);
    }

    /// The means per request. `queue` is the mean length of the accept queue.
    fn numbers(&self, queue: f64) -> Result<BTreeMap<String, f64>, String> {
        let asked = self.answered + self.failed;
        if self.counted < COUNTED_LEAST {
            let few = || {
                format!(
                    "only {} of {} answers in {:.0} s could be divided, and {COUNTED_LEAST} are needed: the first one \
                     of each client does not count",
                    self.counted, self.answered, self.over_s
                )
            };
            return Err(self.trouble.clone().unwrap_or_else(few));
        }
        let trouble = self.trouble.as_deref().unwrap_or_default();
        if self.failed as f64 > MOST_FAILED * asked as f64 {
            return Err(format!("{} of {asked} requests failed: {trouble}", self.failed));
        }
        let mean = |ns: u64| ns as f64 / self.counted as f64 / 1e6;
        let (before, after) = (mean(self.parts.before), mean(self.parts.after));
        // Little's law: the mean length of a queue is the arrival rate times the mean wait.
        let accept = (queue * self.over_s / asked as f64 * 1e3).min(before);
        let late = (self.late_ns / 1e6).min(after);
        let numbers = [
            (DIVIDED, mean(self.parts.all)),
            (IN_GENERATOR, mean(self.parts.sending) + late),
            (IN_ACCEPT_QUEUE, accept),
            (IN_SERVER, before - accept),
            (APP_PROCESSOR, mean(self.parts.processor)),
            (APP_WAITING, mean(self.parts.waiting)),
            (AFTER_APP, after - late),
            (DIVIDED_REQUESTS, self.answered as f64),
        ];
        Ok(numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect())
    }
}

/// State shared by all clients.
struct Shared {
    port: u16,
    keep: bool,
    prepared: Vec<Prepared>,
    weights: Vec<f64>,
    rng: RefCell<SeededRng>,
    sums: RefCell<Sums>,
}

async fn run(port: u16, workload: &Workload, plan: &Division) -> Result<Sums, String> {
    let (prepared, weights) = Prepared::all(port, workload, plan.keep, Form::default())?;
    let rng = RefCell::new(SeededRng::from_seed(1));
    let shared = Rc::new(Shared { port, keep: plan.keep, prepared, weights, rng, sums: RefCell::default() });
    let mut clients = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..plan.clients {
        clients.spawn_local(client(Rc::clone(&shared)));
    }
    let late_ns = probe(begun, plan, &shared).await?;
    // Requests in flight are not counted: while the clients end, the queue gets shorter.
    clients.abort_all();
    let mut sums = shared.sums.borrow().clone();
    (sums.late_ns, sums.over_s) = (late_ns, begun.elapsed().as_secs_f64());
    Ok(sums)
}

/// Waits until the load has lasted long enough. Returns the mean delay, in nanoseconds, with which a timer is noticed
/// in this thread, which does the work of all clients. A response that has arrived waits as long.
async fn probe(begun: Instant, plan: &Division, shared: &Shared) -> Result<f64, String> {
    let timer = Timer::new()?;
    let mut rng = SeededRng::from_seed(2);
    let mut sum_ns = 0.0;
    let mut count = 0_u32;
    let longest = LONGEST_S.max(plan.seconds);
    loop {
        let due = Instant::now() + Duration::from_secs_f64(rng.gap_s(PROBES_PER_S));
        timer.wait_until(due).await?;
        sum_ns += due.elapsed().as_nanos() as f64;
        count += 1;
        let passed = begun.elapsed().as_secs_f64();
        let is_enough = shared.sums.borrow().is_enough_for(plan.clients);
        if passed >= longest || (passed >= plan.seconds && is_enough) {
            return Ok(sum_ns / f64::from(count));
        }
    }
}

async fn client(shared: Rc<Shared>) {
    let mut connection = None;
    let mut is_first = true;
    loop {
        match shared.one(&mut connection).await {
            Ok(parts) => {
                let mut sums = shared.sums.borrow_mut();
                sums.answered += 1;
                // The first request met a server whose queue was still empty.
                if !is_first {
                    sums.add(parts);
                }
                is_first = false;
            }
            Err(reason) => {
                connection = None;
                shared.sums.borrow_mut().fail(reason);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Shared {
    /// One request and its answer.
    async fn one(&self, connection: &mut Option<Opened>) -> Result<TimeParts, NotCounted> {
        let words = |error: hyper::Error| Fault::of_exchange(&error);
        let place = self.rng.borrow_mut().place(&self.weights);
        let prepared = &self.prepared[place];
        let request = prepared.request();
        let from = now_ns();
        let kept = match connection.take() {
            Some(mut kept) => match kept.sender.ready().await {
                Ok(()) => Some(kept),
                Err(_) => kept.check_rest(&prepared.ask).map(|()| None)?,
            },
            None => None,
        };
        // The time to connect counts for the server, as its full accept queue can delay it.
        let (mut now, connected) = match kept {
            Some(connection) => (connection, from),
            None => (Opened::connect(self.port).await?, now_ns()),
        };
        now.written.set(0);
        let answer = now.sender.send_request(request).await.map_err(words)?;
        let status = answer.status().as_u16();
        let times = answer.headers().get(HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = answer.into_body().collect().await.map_err(words)?.to_bytes();
        let read = now_ns();
        let written = now.written.get().max(connected);
        now.check_rest(&prepared.ask)?;
        if self.keep {
            *connection = Some(now);
        }
        judge(&prepared.ask, status, &body)?;
        let times = times.ok_or_else(|| "its answers are without the middleware's header".to_owned())?;
        Ok(parts([from, connected, written, read], &times)?)
    }
}

/// The parts of a request's time. `times` is the value of the middleware's header.
fn parts([from, connected, written, read]: [u64; 4], times: &str) -> Result<TimeParts, String> {
    let numbers: Vec<u64> = times.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [entered, left, processor] = numbers[..] else {
        return Err(format!("{HEADER}: {times}: its Ruby does not tell the processor time of a thread"));
    };
    let in_app = left.saturating_sub(entered);
    let processor = processor.min(in_app);
    Ok(TimeParts {
        sending: written.saturating_sub(connected),
        before: connected.saturating_sub(from) + entered.saturating_sub(written),
        processor,
        waiting: in_app - processor,
        after: read.saturating_sub(left),
        all: read.saturating_sub(from),
    })
}

/// Reads the length of the accept queue of a port until it is stopped.
struct AcceptQueue {
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<f64>,
}

impl AcceptQueue {
    fn watch(port: u16) -> AcceptQueue {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        let look = move || {
            let mut sum = 0;
            let mut looks = 0_u32;
            loop {
                sum +=
                    ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| waiting(&listeners(file), port)).iter().sum::<u64>();
                looks += 1;
                if end.load(Ordering::Acquire) {
                    return sum as f64 / f64::from(looks);
                }
                thread::park_timeout(LOOK_EVERY);
            }
        };
        AcceptQueue { is_over, thread: thread::spawn(look) }
    }

    fn mean_length(self) -> f64 {
        self.is_over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or(0.0)
    }
}

/// The first lines of the list. Reading thousands of connections at this rate would be a load of its own.
fn listeners(file: &str) -> Vec<TcpNetEntry> {
    let mut text = Vec::new();
    // Without this file there is no such queue.
    let _ = File::open(file).and_then(|file| file.take(LISTENERS_BYTES).read_to_end(&mut text));
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let list = TcpNetEntries::from_buf_read(&text[..whole], procfs::current_system_info());
    list.map_or_else(|_| Vec::new(), |list| list.0)
}

/// Number of connections that wait to be accepted: for a listening socket the kernel shows it in place of the unread
/// bytes.
fn waiting(list: &[TcpNetEntry], port: u16) -> u64 {
    let own = list.iter().filter(|one| one.state == TcpState::Listen && one.local_address.port() == port);
    own.map(|one| u64::from(one.rx_queue)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_request_add_up() {
        let one = parts([1_000, 1_000, 1_100, 9_000], "3000 7000 1500").unwrap();
        assert_eq!(
            one,
            TimeParts { sending: 100, before: 1_900, processor: 1_500, waiting: 2_500, after: 2_000, all: 8_000 }
        );
        let connecting = parts([1_000, 1_500, 1_600, 9_000], "3000 7000 9999").unwrap();
        assert_eq!((connecting.before, connecting.processor, connecting.waiting), (1_900, 4_000, 0));
        assert!(parts([0; 4], "1 2").is_err() && parts([0; 4], "1 2 -").is_err());
    }

    #[test]
    fn means_add_up_and_a_queue_takes_no_more_than_there_is() {
        let mut sums = Sums { answered: 10, over_s: 1.0, late_ns: 3e6, ..Sums::default() };
        let ms = |ms: u64| ms * 1_000_000;
        let one =
            TimeParts { sending: ms(1), before: ms(10), processor: ms(2), waiting: ms(3), after: ms(4), all: ms(20) };
        (0..10).for_each(|_| sums.add(one));
        for (length, accept) in [(0.05, 5.0), (9.0, 10.0)] {
            let numbers = sums.numbers(length).unwrap();
            let names = [IN_GENERATOR, IN_ACCEPT_QUEUE, IN_SERVER, APP_PROCESSOR, APP_WAITING, AFTER_APP];
            let sum: f64 = names.iter().map(|name| numbers[*name]).sum();
            assert!((sum - numbers[DIVIDED]).abs() < 1e-9 && (sum - 20.0).abs() < 1e-9, "{numbers:?}");
            assert!((numbers[IN_ACCEPT_QUEUE] - accept).abs() < 1e-9 && (numbers[IN_GENERATOR] - 4.0).abs() < 1e-9);
        }
        let refused = Sums { answered: 98, failed: 2, trouble: Some("status 503".into()), ..sums };
        assert!(refused.numbers(0.0).is_err_and(|why| why == "2 of 100 requests failed: status 503"));
        // As seen once: four processes answered 100 clients once in 20 s and five of them twice.
        let few = Sums { answered: 105, counted: 5, over_s: 20.0, ..Sums::default() };
        let words = few.numbers(0.0).unwrap_err();
        assert!(words.starts_with("only 5 of 105 answers in 20 s could be divided, and 10 are needed"), "{words}");
    }

    #[test]
    fn the_queue_of_a_socket_that_accepts_nothing_is_seen() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        let _clients: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(at).unwrap()).collect();
        assert_eq!(waiting(&listeners("/proc/net/tcp"), at.port()), 3);
    }
}
