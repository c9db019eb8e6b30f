//! The detailed status of an engine, worker by worker. The control socket serialises these types as they are: their
//! field names are its documented JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::status::Status;

/// The status of an engine. Each number is right, but they are not taken at one instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// `mruby` or `ruby`.
    pub engine: String,
    /// Versions of Ruby and Rack: `ruby 3.3.8, rack 3.1`.
    pub runtime: String,
    /// The plain numbers.
    #[serde(flatten)]
    pub status: Status,
    /// Time that the first request in the queue has waited, in milliseconds; 0 if the queue is empty.
    pub oldest_wait_ms: f64,
    /// Whether the operator has paused the application.
    pub is_paused: bool,
    /// Whether, under overload, every second request that begins is the newest
    /// ([`favours_newest`](crate::queue::Backlog::favours_newest)).
    pub is_newest_first: bool,
    /// The bounds of the number of workers.
    pub pool: Bounds,
    /// All workers, or interpreters, by number.
    pub workers: Vec<WorkerView>,
    /// The molds: processes that hold the loaded application and fork workers.
    pub molds: Vec<MoldView>,
    /// Number of workers that have ended since the start, by reason: `crash`, `out_of_memory` (killed by the kernel),
    /// `max_requests`, `memory`, `hung`, `timeout`, `recycle`, `order`; `idle` and `scale`, after which no other worker
    /// was started; and `memory_pressure`, after which one follows only if as many are wanted as before.
    pub restarts_by: BTreeMap<String, u64>,
}

/// Bounds of the number of workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Fewest workers.
    pub min: usize,
    /// Most workers.
    pub max: usize,
    /// Number of workers that the autoscaler wants now.
    pub wanted: usize,
    /// What a worker is added for: `waiting` (requests wait) or `computing` (requests wait while every worker
    /// computes); empty where the number is fixed.
    pub grows_while: &'static str,
    /// Whether a lack of memory keeps the number of workers below `max`: within the last half minute a worker could not
    /// be started, or was stopped, for want of memory.
    pub is_held_by_memory: bool,
    /// The numbers behind that decision.
    pub shortage: Option<Shortage>,
}

/// The lack of memory that prevents one more worker. All sizes in KiB, at the moment of the decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// Memory limit of the control group, or memory of the machine.
    pub limit_kib: u64,
    /// Whether `limit_kib` is the memory of the whole machine.
    pub is_machine: bool,
    /// Memory in use, by any process.
    pub used_kib: u64,
    /// Memory up to which workers are added; the rest is for requests.
    pub full_kib: u64,
    /// Estimate of the private memory of one more worker.
    pub worker_kib: u64,
    /// Estimate of the further growth of the running workers.
    pub growth_kib: u64,
    /// Whether a worker was stopped or killed for want of memory within the last half minute, so that none is added
    /// yet.
    pub is_rest: bool,
}

impl Shortage {
    /// The used memory and the limit, in words.
    pub fn used(&self) -> String {
        let whose = if self.is_machine { "of this machine" } else { "that the control group may use" };
        format!("{} MiB of the {} MiB {whose} are used", mib(self.used_kib), mib(self.limit_kib))
    }
}

fn mib(kib: u64) -> u64 {
    kib.div_ceil(1024)
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.used())?;
        if self.is_rest {
            return f.write_str(", and a worker has just ended for want of memory");
        }
        write!(f, ", one more worker may need {} MiB of its own", mib(self.worker_kib))?;
        if self.growth_kib > 0 {
            write!(f, ", those that run {} MiB more", mib(self.growth_kib))?;
        }
        write!(f, ", and workers are added up to {} MiB", mib(self.full_kib))
    }
}

/// The status of a worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkerView {
    /// Number of the worker; its replacement has another one.
    pub id: u32,
    /// Process id, if the worker is a process of its own.
    pub pid: Option<u32>,
    /// `booting`, `ready`, `draining`, `hung`, `stopped` (by a signal), `out_of_band`.
    pub state: String,
    /// Number of requests that it can run at once.
    pub threads: usize,
    /// Number of requests of clients that it has received.
    pub served: u64,
    /// Time since its start, in seconds.
    pub age_s: f64,
    /// Its share of memory (proportional set size) in KiB, when last measured.
    pub pss_kib: Option<u64>,
    /// The requests that it runs, oldest first.
    pub running: Vec<RunView>,
}

/// A running request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunView {
    /// Request id, as in the access log.
    pub id: String,
    /// Method.
    pub method: String,
    /// Path without the query, which may contain secrets.
    pub path: String,
    /// Time since it began, in milliseconds.
    pub age_ms: f64,
    /// Number of the worker's thread that runs it.
    pub thread: u32,
}

/// The status of a mold, a process that holds the loaded application and forks workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MoldView {
    /// Process id.
    pub pid: u32,
    /// `loading` or `ready`.
    pub state: String,
    /// Its share of memory (proportional set size) in KiB, when last measured.
    pub pss_kib: Option<u64>,
}

/// Contents of the flight recorder: recent requests that were slow, failed or refused, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// Requests that were slow.
    pub slow: Vec<Past>,
    /// Requests without a response of the application, with a status of 500 or above, or whose response broke off. Only
    /// the last ten are kept of those whose only failure is that the client left in the middle of the response, or sent
    /// a body that was not accepted.
    pub failed: Vec<Past>,
    /// Requests that met a limit: the queue was full, the wait too long, or no file could be opened for a large body or
    /// for the response. At most one per second is recorded; the metrics count all.
    pub refused: Vec<Past>,
}

/// A complete request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Past {
    /// Time when it ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// Request id, as in the access log.
    pub id: String,
    /// Method.
    pub method: String,
    /// Path without the query, which may contain secrets.
    pub path: String,
    /// Number of the worker that ran it last; `None` if it never ran, if its response could not be sent, or if its
    /// response broke off, unless the request was recorded before that as slow or failed.
    pub worker: Option<u32>,
    /// Process id of that worker.
    pub pid: Option<u32>,
    /// Time that it waited in the queue, in milliseconds.
    pub queued_ms: f64,
    /// Time that it ran, in milliseconds; if its response broke off, until then.
    pub took_ms: f64,
    /// Status of its response, if there was one.
    pub status: Option<u16>,
    /// Name of its fault ([`Fault::name`](crate::Fault::name)); empty if there was none.
    pub fault: String,
    /// Description of its fault; empty if there was none.
    pub why: String,
    /// Backtrace of its exception or time-out, innermost call first.
    pub backtrace: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_has_the_numbers_that_count_and_no_others() {
        let shortage = Shortage {
            limit_kib: 2 << 20,
            is_machine: true,
            used_kib: (1500 << 10) + 1,
            full_kib: 1700 << 10,
            worker_kib: 300 << 10,
            growth_kib: 0,
            is_rest: false,
        };
        let said = shortage.to_string();
        for words in ["1501 MiB of the 2048 MiB of this machine", "need 300 MiB", "up to 1700 MiB"] {
            assert!(said.contains(words), "{said}");
        }
        assert!(!said.contains("those that run"), "they do not grow: {said}");
        assert!(Shortage { growth_kib: 1, ..shortage }.to_string().contains("those that run 1 MiB more"));
        let rest = Shortage { is_rest: true, is_machine: false, ..shortage }.to_string();
        assert!(rest.contains("2048 MiB that the control group may use") && !rest.contains("300 MiB"), "{rest}");
    }
}
