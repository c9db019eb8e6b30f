//! The table of measurements: servers, loads on them, and goals. Runs one load against one server.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use bench_kit::stats::percentile;
use bench_kit::wrk;

use crate::client::{Client, Request};
use crate::closed::expect;
use crate::contender::{Contender, Running, Shape};
use crate::open::Plan;
use crate::options::Options;
use crate::processor::{self, Binding};
use crate::tree;

/// Names of numbers.
pub const RATE: &str = "requests/s";
pub const P50: &str = "p50 ms";
pub const P99: &str = "p99 ms";
pub const SHORT_P50: &str = "short p50 ms";
pub const SHORT_P99: &str = "short p99 ms";
pub const LONG_P50: &str = "long p50 ms";
pub const LONG_P99: &str = "long p99 ms";
/// Processor time of the whole server per request.
pub const CPU: &str = "CPU us";

/// An application with a number of workers and threads, the same for every contender.
pub struct Setup {
    /// Its folder in apps/.
    pub app: &'static str,
    pub shape: Shape,
    /// Path of checks and warm-ups, and the only right body.
    pub path: &'static str,
    pub body: &'static str,
}

/// A kind of load.
#[derive(Debug, Clone, Copy)]
pub enum Mode {
    /// wrk with this number of keep-alive connections and threads.
    Wrk { threads: u32, clients: u32 },
    /// wrk with one keep-alive connection, bound to one processor together with the server.
    OneProcessor,
    /// The open loop: 200 requests a second, of which 5 % are long.
    Uneven { fresh: bool },
}

/// A load on a setup, with its goals.
pub struct Load {
    pub name: &'static str,
    /// Index in [`SETUPS`].
    pub setup: usize,
    pub mode: Mode,
    pub goals: &'static [Goal],
}

/// A bound on the ratio of a contender's number to Puma's.
pub struct Goal {
    pub of: &'static str,
    pub contender: Contender,
    pub at_least: bool,
    pub bound: f64,
}

/// Result of a run.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    pub numbers: BTreeMap<&'static str, f64>,
    /// Why the sample does not count.
    pub errors: Vec<String>,
}

const UNEVEN_PER_SECOND: f64 = 200.0;
const UNEVEN_LONG_SHARE: f64 = 0.05;

/// All servers of a contender.
pub const SETUPS: [Setup; 5] = [
    setup("hello", 2, 1, "/", "Hello, world\n"),
    setup("sinatra", 2, 1, "/hello", "Hello from Sinatra\n"),
    setup("sinatra", 2, 5, "/hello", "Hello from Sinatra\n"),
    setup("sleepers", 1, 16, "/", "slept 5 ms\n"),
    setup("uneven", 2, 5, "/cpu/1", "worked 1 ms\n"),
];

const fn setup(app: &'static str, workers: u32, threads: u32, path: &'static str, body: &'static str) -> Setup {
    Setup { app, shape: Shape { workers, threads }, path, body }
}

const fn both(of: &'static str, at_least: bool, plain: f64, native: f64) -> [Goal; 2] {
    [
        Goal { of, contender: Contender::Plain, at_least, bound: plain },
        Goal { of, contender: Contender::Native, at_least, bound: native },
    ]
}

const HELLO: [Goal; 2] = both(RATE, true, 2.2, 3.0);
const ALONE: [Goal; 2] = both(P50, false, 0.65, 0.65);
const SINATRA_1: [Goal; 2] = both(RATE, true, 1.2, 1.2);
const SINATRA_5: [Goal; 2] = both(RATE, true, 1.1, 1.1);
const SLEEPERS: [Goal; 2] = both(RATE, true, 0.98, 0.98);
const UNEVEN: [Goal; 2] = both(SHORT_P99, false, 0.55, 0.55);

/// All loads.
pub const LOADS: [Load; 12] = [
    wrk_load("hello-16", 0, 2, 16, &HELLO),
    wrk_load("hello-64", 0, 2, 64, &HELLO),
    wrk_load("hello-alone", 0, 1, 1, &ALONE),
    Load { name: "hello-alone-bound", setup: 0, mode: Mode::OneProcessor, goals: &ALONE },
    wrk_load("sinatra-t1-16", 1, 2, 16, &SINATRA_1),
    wrk_load("sinatra-t1-64", 1, 2, 64, &SINATRA_1),
    wrk_load("sinatra-t5-16", 2, 2, 16, &SINATRA_5),
    wrk_load("sinatra-t5-64", 2, 2, 64, &SINATRA_5),
    wrk_load("sleepers-16", 3, 2, 16, &SLEEPERS),
    wrk_load("sleepers-64", 3, 2, 64, &SLEEPERS),
    Load { name: "uneven-kept", setup: 4, mode: Mode::Uneven { fresh: false }, goals: &UNEVEN },
    Load { name: "uneven-new", setup: 4, mode: Mode::Uneven { fresh: true }, goals: &UNEVEN },
];

const fn wrk_load(name: &'static str, setup: usize, threads: u32, clients: u32, goals: &'static [Goal]) -> Load {
    Load { name, setup, mode: Mode::Wrk { threads, clients }, goals }
}

impl Setup {
    /// Name for log files.
    pub fn name(&self) -> String {
        format!("{}-w{}-t{}", self.app, self.shape.workers, self.shape.threads)
    }

    /// Requests the path on a new connection and checks the response.
    pub fn check(&self, port: u16) -> Result<(), String> {
        let answer = Client::fresh(port).call(&Request::get(self.path))?;
        expect(&answer, self.body)
    }
}

impl Load {
    /// The requested loads.
    pub fn chosen(options: &Options) -> Result<Vec<&'static Load>, String> {
        let asked =
            |load: &&Load| options.loads.is_empty() || options.loads.iter().any(|text| load.name.contains(text));
        let chosen: Vec<&Load> = LOADS.iter().filter(asked).collect();
        let names = LOADS.iter().map(|load| load.name).collect::<Vec<_>>().join(", ");
        if chosen.is_empty() { Err(format!("--load: there are {names}")) } else { Ok(chosen) }
    }

    /// Description for the report.
    pub fn in_words(&self, options: &Options) -> String {
        let Shape { workers, threads } = SETUPS[self.setup].shape;
        let how = match self.mode {
            Mode::Wrk { threads, clients } => format!("wrk -t {threads} -c {clients} -d {}s", options.seconds),
            Mode::OneProcessor => format!("wrk -t 1 -c 1 -d {}s, all on one processor", options.seconds),
            Mode::Uneven { fresh } => {
                let connections = if fresh { "a new connection each" } else { "connections kept" };
                let seconds = options.uneven_seconds;
                format!("{UNEVEN_PER_SECOND}/s for {seconds}s, 95 % of 1 ms, 5 % of 100 ms, {connections}")
            }
        };
        format!("{} ({workers} x {threads}; {how})", self.name)
    }

    /// Names of its numbers, in the order of the report.
    pub fn columns(&self) -> &'static [&'static str] {
        match self.mode {
            Mode::Wrk { .. } | Mode::OneProcessor => &[RATE, P50, P99, CPU],
            Mode::Uneven { .. } => &[SHORT_P50, SHORT_P99, LONG_P50, LONG_P99, CPU],
        }
    }

    /// A measured run. It counts only if the responses before and after were right.
    pub fn run(&self, server: &mut Running, round: u32, options: &Options) -> Result<Sample, String> {
        let setup = &SETUPS[self.setup];
        setup.check(server.port).map_err(|error| format!("{}, {}: {error}", server.contender, self.name))?;
        let before = tree::cpu_us(server.process.id());
        let (mut sample, requests) = match self.mode {
            Mode::Wrk { threads, clients } => {
                wrk_run(Command::new("wrk"), server.port, setup.path, (threads, clients), options.seconds)?
            }
            Mode::OneProcessor => {
                let _binding = Binding::of(server.process.id())?;
                wrk_run(processor::bound("wrk"), server.port, setup.path, (1, 1), options.seconds)?
            }
            Mode::Uneven { fresh } => uneven_run(server.port, fresh, u64::from(round), options.uneven_seconds),
        };
        let used = tree::cpu_us(server.process.id()).saturating_sub(before);
        sample.numbers.insert(CPU, used as f64 / requests);
        sample.errors.extend(setup.check(server.port).err());
        if server.process.has_ended() {
            sample.errors.push("the server has ended".into());
        }
        Ok(sample)
    }
}

fn wrk_run(
    mut command: Command,
    port: u16,
    path: &str,
    (threads, clients): (u32, u32),
    seconds: u32,
) -> Result<(Sample, f64), String> {
    command.args(["-t", &threads.to_string(), "-c", &clients.to_string(), "-d", &format!("{seconds}s"), "--latency"]);
    command.arg(format!("http://127.0.0.1:{port}{path}")).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("wrk: {error} (apt install wrk)"))?;
    let read = wrk::read(&String::from_utf8_lossy(&output.stdout), clients);
    let mut errors = read.errors;
    if !output.status.success() {
        errors.push(format!("wrk: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let numbers = BTreeMap::from([(RATE, read.per_second), (P50, read.p50_ms), (P99, read.p99_ms)]);
    Ok((Sample { numbers, errors }, read.requests as f64))
}

/// Runs the open loop. All contenders get the same requests at the same times in a round.
fn uneven_run(port: u16, fresh: bool, round: u64, seconds: u32) -> (Sample, f64) {
    let plan = Plan::draw(round, seconds, UNEVEN_PER_SECOND, UNEVEN_LONG_SHARE, fresh);
    let mut times = plan.run(port);
    times.short_ms.sort_by(f64::total_cmp);
    times.long_ms.sort_by(f64::total_cmp);
    let of = |list: &[f64], percent| percentile(list, percent).unwrap_or(f64::NAN);
    let numbers = BTreeMap::from([
        (SHORT_P50, of(&times.short_ms, 50.0)),
        (SHORT_P99, of(&times.short_ms, 99.0)),
        (LONG_P50, of(&times.long_ms, 50.0)),
        (LONG_P99, of(&times.long_ms, 99.0)),
        ("waited for a connection", times.waited as f64),
    ]);
    let requests = (times.short_ms.len() + times.long_ms.len()) as f64;
    // The first few errors are reported in full, with the count of all.
    let many = times.errors.len();
    times.errors.truncate(3);
    if many > times.errors.len() {
        times.errors.push(format!("{many} errors in all"));
    }
    (Sample { numbers, errors: times.errors }, requests)
}
