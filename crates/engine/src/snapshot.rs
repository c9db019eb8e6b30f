//! What an engine is doing in full, worker by worker, for people and machines that watch it. The control socket prints
//! these types as they are: their field names are its documented JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::status::Status;

/// All of it. The numbers are each right but not taken at one instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// `mruby` or `ruby`.
    pub engine: String,
    /// What runs the application: `ruby 3.3.8, rack 3.1`.
    pub runtime: String,
    /// The plain numbers.
    #[serde(flatten)]
    pub status: Status,
    /// How long the first in the line has waited, in milliseconds; 0 when none waits.
    pub oldest_wait_ms: f64,
    /// Whether requests wait because somebody has said so.
    pub is_paused: bool,
    /// Fewest workers, most workers, and how many there should be now.
    pub pool: Bounds,
    /// Every worker, or interpreter, by number.
    pub workers: Vec<WorkerView>,
    /// Processes that hold the loaded application and fork workers.
    pub molds: Vec<MoldView>,
    /// Workers that have ended since the start, by reason: `crash`, `out_of_memory` (killed by the kernel),
    /// `max_requests`, `memory`, `hung`, `timeout`,
    /// `recycle`, `order`; and `idle`, `scale` and `memory_pressure`, after which there was no successor.
    pub restarts_by: BTreeMap<String, u64>,
}

/// How many workers there are to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Never fewer.
    pub min: usize,
    /// Never more.
    pub max: usize,
    /// At this moment.
    pub wanted: usize,
    /// There are fewer than there may be, and within the last half minute there was no memory for one more that was
    /// wanted, or one had to leave for want of it.
    pub is_held_by_memory: bool,
    /// With which numbers that was decided.
    pub shortage: Option<Shortage>,
}

/// Why there is no memory for one more worker. All in KiB, at the moment of the decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// What there is: of the control group, or of the machine.
    pub limit_kib: u64,
    /// See `limit_kib`.
    pub is_machine: bool,
    /// How much of it is used, by any process.
    pub used_kib: u64,
    /// Workers are added until so much is used; the rest is for requests.
    pub full_kib: u64,
    /// What one more worker may need of its own.
    pub worker_kib: u64,
    /// By how much those that run may still grow.
    pub growth_kib: u64,
    /// A worker had to leave for want of memory, or was killed, within the last half minute, and none is added so soon.
    pub is_rest: bool,
}

impl Shortage {
    /// How much memory is used, and of what, in words.
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

/// A worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkerView {
    /// Its number; a successor has another one.
    pub id: u32,
    /// Its process, if it has one of its own.
    pub pid: Option<u32>,
    /// `booting`, `ready`, `draining`, `hung`, `stopped` (by a signal), `out_of_band`.
    pub state: String,
    /// How many requests it can run at once.
    pub threads: usize,
    /// Requests it was given.
    pub served: u64,
    /// Seconds since its start.
    pub age_s: f64,
    /// Its share of memory in KiB (proportional set size), as last looked at.
    pub pss_kib: Option<u64>,
    /// What it runs now, the oldest first.
    pub running: Vec<RunView>,
}

/// A request that runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunView {
    /// Of the request, as in the access log.
    pub id: String,
    /// Its method.
    pub method: String,
    /// Its path, without the query: that may hold secrets.
    pub path: String,
    /// Milliseconds since it began.
    pub age_ms: f64,
    /// Which thread of the worker.
    pub thread: u32,
}

/// A process that holds the loaded application.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MoldView {
    /// Its process.
    pub pid: u32,
    /// `loading`, `ready`.
    pub state: String,
    /// As that of a worker.
    pub pss_kib: Option<u64>,
}

/// The flight recorder: requests of the past that were slow, failed or refused, newest first, whatever became of their
/// worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// The slowest of late.
    pub slow: Vec<Past>,
    /// Those that had no answer of the application, or one with a status of 500 and more.
    pub failed: Vec<Past>,
    /// Requests that were never begun, for the queue was full or the wait too long: at most one per second, as there
    /// can be very many. The metrics count all.
    pub refused: Vec<Past>,
}

/// A request that is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Past {
    /// When it ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// As in [`RunView`].
    pub id: String,
    /// As in [`RunView`].
    pub method: String,
    /// As in [`RunView`].
    pub path: String,
    /// The worker that ran it last, and its process; none if it never ran.
    pub worker: Option<u32>,
    /// See `worker`.
    pub pid: Option<u32>,
    /// How long it waited, in milliseconds.
    pub queued_ms: f64,
    /// How long it ran.
    pub took_ms: f64,
    /// The status of its answer, if there was one.
    pub status: Option<u16>,
    /// The fault's one word, if there was one, and what is known of it.
    pub fault: String,
    /// See `fault`.
    pub why: String,
    /// What its thread was doing when its time was over, innermost call first.
    pub backtrace: Vec<String>,
}
