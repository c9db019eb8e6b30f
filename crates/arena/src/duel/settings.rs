//! Chooses the numbers of workers and threads that are worth trying, from the machine, from how the application spends
//! the time of a request, and from what a server can do. Pure.

use crate::record::Outcome;
use crate::record::summary::{FAILED_SHARE_MAX, failed_share};
use loadgen::metric::{CPU, FAILED, REQUESTS};

/// Most threads in one process; more of them only wait for each other.
const THREADS_MOST: u32 = 64;
/// Share of the free memory that workers may fill; the rest is for the system, the database and the load generator.
const MEMORY_SHARE: f64 = 0.8;

/// Microseconds that a new connection and two switches of processes take, which are no wait of the application.
const EXCHANGE_US: f64 = 300.0;

/// Share of a request's time above which a wait for a processor is reported.
const DELAY_LEAST: f64 = 0.1;

/// The machine on which the contenders run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Number of processors.
    pub cores: u32,
    /// Free memory in KiB.
    pub free_kib: u64,
}

/// Measurement of one worker with one thread and one client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Processor time of one request in microseconds, of all processes of the server together.
    pub cpu_us: f64,
    /// Microseconds from the request to its answer.
    pub latency_us: f64,
    /// Microseconds per request in which the server or the client was ready to run and another process had the
    /// processor: the machine is busy, and the application does not wait.
    pub delay_us: f64,
    /// Memory of all processes of the server in KiB (PSS); `None` where it could not be read.
    pub worker_kib: Option<u64>,
}

/// Bounds of what a server can be set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ability {
    /// Most workers, if there is a bound: 1 for a server without worker processes.
    pub workers_most: Option<u32>,
    /// Most threads per worker, if there is a bound: 1 for a server without threads.
    pub threads_most: Option<u32>,
    /// Whether threads of one process run in parallel: on JRuby they do, under a global lock they do not.
    pub threads_run_together: bool,
}

impl Ability {
    /// Whether the server can have this setting.
    pub fn has(self, setting: Setting) -> bool {
        fit(setting, self) == setting
    }
}

/// Number of worker processes and of threads in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting {
    /// Worker processes.
    pub workers: u32,
    /// Threads per worker.
    pub threads: u32,
}

/// How the application spends the time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Almost only computing: more requests at once than processors are of no use.
    Computes,
    /// Both computing and waiting.
    Mixed,
    /// Mostly waiting, for example for a database: a waiting request leaves its processor to another.
    Waits,
}

/// Settings to try, the most promising first, and notes on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    /// The settings, without duplicates.
    pub settings: Vec<Setting>,
    /// Sentences on what limited them.
    pub notes: Vec<String>,
}

/// The smallest setting: one worker with one thread.
pub const ONE: Setting = Setting { workers: 1, threads: 1 };

impl Setting {
    /// Number of requests that can be in progress at once.
    pub fn at_once(self) -> u32 {
        self.workers.saturating_mul(self.threads)
    }

    /// The setting as command line options: `-w 2 -t 5`.
    pub fn in_words(self) -> String {
        format!("-w {} -t {}", self.workers, self.threads)
    }
}

impl Probe {
    /// The measurement that a load of one client gives. `delay_us` is the sum over all requests. An error says why the
    /// load shows nothing: no request, or more than one and more than 1 in 100, was without a right answer, or its
    /// processor time is not known.
    pub fn of(outcome: &Outcome, delay_us: f64, worker_kib: Option<u64>) -> Result<Probe, String> {
        let number = |name: &str| outcome.numbers.get(name).copied();
        let right = number(REQUESTS).unwrap_or(0.0);
        let failed = number(FAILED).unwrap_or(0.0);
        // A single failure may be chance.
        if right <= 0.0 || (failed > 1.0 && failed_share(failed, right) > FAILED_SHARE_MAX) {
            let kinds: Vec<String> = outcome.errors.iter().map(|(kind, many)| format!("{kind}: {many}")).collect();
            let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
            let all = right + failed;
            return Err(format!("under the probe {failed:.0} of {all:.0} requests got no right answer{kinds}"));
        }
        let latency_ms = number("mean_ms").ok_or("the probe did not time its requests")?;
        let cpu_us = number(CPU).ok_or("the probe did not measure the processor time of its requests")?;
        Ok(Probe { cpu_us, latency_us: latency_ms * 1000.0, delay_us: delay_us / right, worker_kib })
    }

    /// Classifies the application by the share of a request's time that it computes.
    pub fn nature(&self) -> Nature {
        match self.share() {
            share if share >= 0.75 => Nature::Computes,
            share if share >= 0.3 => Nature::Mixed,
            _ => Nature::Waits,
        }
    }

    /// Number of requests in progress that keep one processor busy: one computes while the others wait.
    pub fn useful_threads(&self) -> u32 {
        let threads = (1.0 / self.share().max(1.0 / f64::from(THREADS_MOST))).ceil();
        (threads as u32).clamp(1, THREADS_MOST)
    }

    /// A sentence on what was measured and which settings follow from it.
    pub fn in_words(&self) -> String {
        let latency = self.latency_us / 1000.0;
        let cpu = self.cpu_us / 1000.0;
        let consequence = match self.nature() {
            Nature::Computes => "it computes, so a process for each processor should help, and more threads hardly",
            Nature::Mixed => "it does some of both, so a few threads for each processor should help",
            Nature::Waits => "it waits, so threads (or many processes) should help",
        };
        let delay = match self.delay_us / 1000.0 {
            delay if delay >= latency * DELAY_LEAST => format!(" and is kept from a processor for {delay:.2} ms"),
            _ => String::new(),
        };
        format!("a request takes {latency:.2} ms, and the server computes for {cpu:.2} ms of it{delay}: {consequence}")
    }

    fn share(&self) -> f64 {
        let own_us = self.latency_us - EXCHANGE_US - self.delay_us;
        if own_us > 0.0 { (self.cpu_us / own_us).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// Chooses at most `most` settings for a server with this ability. `now`, which the server must be able to have, is
/// among them unless memory is too short for its workers.
pub fn worth_trying(machine: Machine, probe: &Probe, ability: Ability, now: Option<Setting>, most: usize) -> Grid {
    let affordable = affordable(machine, probe);
    let mut notes = Vec::new();
    if affordable.is_none() {
        notes.push("the memory of a worker could not be read, so memory does not limit what is tried".to_owned());
    }
    let mut settings: Vec<Setting> = Vec::new();
    let has_threads = ability.threads_most.is_none_or(|most| most > 1);
    let tried =
        if has_threads { promising(machine.cores.max(1), probe) } else { processes(machine.cores.max(1), probe) };
    for wanted in now.into_iter().chain(tried) {
        let fitting = fit(wanted, ability);
        let workers = affordable.map_or(fitting.workers, |(most, _)| fitting.workers.min(most));
        if let Some((most, worker_kib)) = affordable.filter(|_| workers < fitting.workers && notes.is_empty()) {
            let free = machine.free_kib / 1024;
            let one = worker_kib / 1024;
            let tried = if most == 1 { "one worker is".to_owned() } else { format!("{most} workers are") };
            notes.push(format!("{free} MiB are free and a worker holds {one} MiB: at most {tried} tried"));
        }
        let setting = Setting { workers, ..fitting };
        if !settings.contains(&setting) && settings.len() < most.max(1) {
            settings.push(setting);
        }
    }
    Grid { settings, notes }
}

/// Settings for a server that has both workers and threads, most promising first.
fn promising(cores: u32, probe: &Probe) -> Vec<Setting> {
    let useful = probe.useful_threads();
    let rows: Vec<(u32, u32)> = match probe.nature() {
        Nature::Computes => vec![(cores, 1), (cores, 3), (2 * cores, 1), (cores, 5), (cores + 1, 1)],
        Nature::Mixed => vec![(cores, 3), (2 * cores, 1), (cores, useful + 2), (cores, 5), (2 * cores, 3), (cores, 1)],
        Nature::Waits => vec![(cores, 16), (cores, 5), (cores, useful), (2 * cores, 1), (2 * cores, 16), (cores, 32)],
    };
    rows.into_iter().map(|(workers, threads)| Setting { workers, threads: threads.clamp(1, THREADS_MOST) }).collect()
}

/// Settings for a server without threads, most promising first. A few processes are always among them, since many
/// computing processes only take turns.
fn processes(cores: u32, probe: &Probe) -> Vec<Setting> {
    let rows = match probe.nature() {
        Nature::Computes => [1, 2, 3, 4, 6],
        Nature::Mixed => [2, 1, 4, 3, 8],
        Nature::Waits => [4, 2, 16, 8, 1],
    };
    rows.into_iter().map(|each| Setting { workers: cores.saturating_mul(each), threads: 1 }).collect()
}

/// Adapts a setting to what the server can do. Requests in progress for which it cannot have threads get workers.
fn fit(wanted: Setting, ability: Ability) -> Setting {
    let workers_most = ability.workers_most.unwrap_or(u32::MAX).max(1);
    let threads_most = ability.threads_most.unwrap_or(u32::MAX).max(1);
    if wanted.threads > threads_most {
        let workers = wanted.at_once().div_ceil(threads_most).min(workers_most);
        return Setting { workers, threads: threads_most };
    }
    if wanted.workers > workers_most {
        // Under a global lock one process uses one processor, and more threads than those of one worker are of no use.
        let threads = if ability.threads_run_together { wanted.at_once() / workers_most } else { wanted.threads };
        return Setting { workers: workers_most, threads: threads.clamp(1, threads_most) };
    }
    wanted
}

/// Most workers that fit into the free memory, with the KiB of one; `None` where that is not known.
fn affordable(machine: Machine, probe: &Probe) -> Option<(u32, u64)> {
    let worker_kib = probe.worker_kib.filter(|kib| *kib > 0)?;
    let workers = machine.free_kib as f64 * MEMORY_SHARE / worker_kib as f64;
    // At least one worker is always tried: the application has already run with one.
    Some(((workers as u32).max(1), worker_kib))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { cores: 4, free_kib: 8 << 20 };
    const ALL: Ability = Ability { workers_most: None, threads_most: None, threads_run_together: false };

    fn probe(cpu_us: f64, latency_us: f64) -> Probe {
        Probe { cpu_us, latency_us, delay_us: 0.0, worker_kib: Some(50 * 1024) }
    }

    fn tried(probe: &Probe, ability: Ability) -> Vec<(u32, u32)> {
        let grid = worth_trying(MACHINE, probe, ability, None, 5);
        grid.settings.into_iter().map(|setting| (setting.workers, setting.threads)).collect()
    }

    #[test]
    fn computing_applications_get_processes_and_waiting_ones_threads() {
        assert_eq!(tried(&probe(9000.0, 10_000.0), ALL), [(4, 1), (4, 3), (8, 1), (4, 5), (5, 1)]);
        assert_eq!(tried(&probe(5000.0, 10_000.0), ALL), [(4, 3), (8, 1), (4, 4), (4, 5), (8, 3)]);
        assert_eq!(tried(&probe(500.0, 10_000.0), ALL), [(4, 16), (4, 5), (4, 20), (8, 1), (8, 16)]);
    }

    #[test]
    fn servers_get_what_they_can_do() {
        let no_threads = Ability { threads_most: Some(1), ..ALL };
        assert_eq!(tried(&probe(9000.0, 10_000.0), no_threads), [(4, 1), (8, 1), (12, 1), (16, 1), (24, 1)]);
        let one_process = Ability { workers_most: Some(1), ..ALL };
        assert_eq!(tried(&probe(9000.0, 10_000.0), one_process), [(1, 1), (1, 3), (1, 5)]);
        let jruby = Ability { threads_run_together: true, ..one_process };
        assert_eq!(tried(&probe(9000.0, 10_000.0), jruby), [(1, 4), (1, 12), (1, 8), (1, 20), (1, 5)]);
        let few = Ability { threads_most: Some(8), ..ALL };
        assert_eq!(tried(&probe(500.0, 10_000.0), few)[0], (8, 8));
        let has = |ability: Ability, workers, threads| ability.has(Setting { workers, threads });
        assert!(has(ALL, 4, 16) && has(no_threads, 16, 1) && has(one_process, 1, 5) && has(few, 8, 8));
        assert!(!has(no_threads, 4, 3) && !has(one_process, 2, 1) && !has(few, 4, 9));
    }

    #[test]
    fn waiting_for_a_processor_is_no_waiting_of_the_application() {
        // Seen at a load average of 27 on 2 processors: half a millisecond of work, ten in the scheduler's queue.
        let busy = Probe { delay_us: 9_000.0, ..probe(500.0, 10_000.0) };
        assert_eq!((busy.nature(), probe(500.0, 10_000.0).nature()), (Nature::Mixed, Nature::Waits));
        let busier = Probe { delay_us: 9_500.0, ..probe(500.0, 10_000.0) };
        assert_eq!(busier.nature(), Nature::Computes);
        assert!(busier.in_words().contains("is kept from a processor for 9.50 ms"), "{}", busier.in_words());
        assert!(!probe(500.0, 10_000.0).in_words().contains("kept"));
    }

    #[test]
    fn a_server_without_threads_is_always_tried_with_a_few_processes() {
        let two = Machine { cores: 2, ..MACHINE };
        let unicorn = Ability { threads_most: Some(1), ..ALL };
        for probe in [probe(500.0, 10_000.0), probe(5000.0, 10_000.0), probe(9000.0, 10_000.0)] {
            for most in [2, 5] {
                let grid = worth_trying(two, &probe, unicorn, None, most);
                let workers: Vec<u32> = grid.settings.iter().map(|setting| setting.workers).collect();
                assert!(workers.contains(&4) || workers.contains(&2), "{workers:?}");
            }
        }
    }

    #[test]
    fn memory_bounds_workers_and_says_so() {
        let small = Machine { cores: 4, free_kib: 512 * 1024 };
        let big = Probe { worker_kib: Some(200 * 1024), ..probe(9000.0, 10_000.0) };
        let grid = worth_trying(small, &big, ALL, None, 9);
        assert!(grid.settings.iter().all(|setting| setting.workers <= 2), "{grid:?}");
        assert!(grid.notes[0].contains("at most 2 workers"), "{grid:?}");
        let none = Machine { cores: 1, free_kib: 0 };
        assert_eq!(worth_trying(none, &big, ALL, None, 9).settings[0].workers, 1);
        for unknown in [None, Some(0)] {
            let grid = worth_trying(small, &Probe { worker_kib: unknown, ..big }, ALL, None, 9);
            assert!(grid.notes.len() == 1 && grid.notes[0].contains("could not be read"), "{grid:?}");
        }
    }

    #[test]
    fn the_users_setting_is_always_tried() {
        let now = Setting { workers: 3, threads: 7 };
        let grid = worth_trying(MACHINE, &probe(9000.0, 10_000.0), ALL, Some(now), 2);
        assert_eq!(grid.settings, [now, Setting { workers: 4, threads: 1 }]);
        assert_eq!(now.in_words(), "-w 3 -t 7");
    }

    #[test]
    fn a_probe_without_right_answers_is_none() {
        let outcome = |numbers: &[(&str, f64)], errors: &[(&str, u64)]| Outcome {
            numbers: numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect(),
            errors: errors.iter().map(|(kind, many)| ((*kind).to_owned(), *many)).collect(),
            ..Outcome::default()
        };
        let of = |right: f64, failed: f64| {
            let numbers = [(REQUESTS, right), (FAILED, failed), (CPU, 500.0), ("mean_ms", 10.0)];
            Probe::of(&outcome(&numbers, &[("status 500", failed as u64)]), 2_000.0, Some(9))
        };
        let whole = Probe { cpu_us: 500.0, latency_us: 10_000.0, delay_us: 20.0, worker_kib: Some(9) };
        assert_eq!(of(100.0, 0.0), Ok(whole));
        assert!(of(100.0, 1.0).is_ok() && of(3.0, 1.0).is_ok() && of(1000.0, 9.0).is_ok());
        let error = "under the probe 40 of 40 requests got no right answer (status 500: 40)";
        assert_eq!(of(0.0, 40.0), Err(error.to_owned()));
        assert!(of(0.0, 1.0).is_err() && of(50.0, 2.0).is_err());
        let nothing = Probe::of(&outcome(&[], &[]), 0.0, None);
        assert_eq!(nothing, Err("under the probe 0 of 0 requests got no right answer".to_owned()));
        let untimed = outcome(&[(REQUESTS, 9.0), (FAILED, 0.0), ("mean_ms", 1.0)], &[]);
        assert!(Probe::of(&untimed, 0.0, None).is_err_and(|why| why.contains("processor time")));
    }

    #[test]
    fn odd_measurements_are_survived() {
        for (cpu, latency) in [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0), (9.0, 5.0), (f64::NAN, 1.0)] {
            let odd = probe(cpu, latency);
            assert!((1..=THREADS_MOST).contains(&odd.useful_threads()));
            assert!(!odd.in_words().is_empty() && !tried(&odd, ALL).is_empty());
        }
        assert!(probe(180.0, 320.0).in_words().contains("it computes"));
        assert!(probe(500.0, 10_000.0).in_words().contains("it waits"));
    }
}
