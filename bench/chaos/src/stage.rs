//! The environment of a scenario: program, applications, folder and time; and its state for progress output.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use loadgen::Workload;
use parking_lot::{Mutex, MutexGuard};

use crate::count::Count;
use crate::load::{Counts, Load};
use crate::processes::{self, Marks, ProcessInfo};

/// Environment of a scenario. Clones share it.
#[derive(Clone)]
pub struct Stage {
    /// The program under test.
    pub foolsgold: PathBuf,
    /// The repository.
    pub home: PathBuf,
    /// Whether scenarios last seconds instead of a minute.
    pub is_quick: bool,
    /// Folder of this scenario.
    pub folder: PathBuf,
    shown: Arc<Mutex<Shown>>,
}

/// State that the progress output shows.
#[derive(Default)]
pub struct Shown {
    /// Leaders of the sessions that were started.
    pub roots: Vec<u32>,
    /// Counts of all loads so far.
    pub counts: Vec<Counts>,
    /// The current step.
    pub doing: String,
}

impl Stage {
    /// An environment in which nothing has happened yet.
    pub fn new(foolsgold: PathBuf, home: PathBuf, is_quick: bool, folder: PathBuf) -> Stage {
        Stage { foolsgold, home, is_quick, folder, shown: Arc::default() }
    }

    /// The state, for the progress output.
    pub fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock()
    }

    /// Sets the current step.
    pub fn doing(&self, words: impl Into<String>) {
        self.shown().doing = words.into();
    }

    /// Counts of all loads so far.
    pub fn count(&self) -> Count {
        let mut all = Count::default();
        for counts in &self.shown().counts {
            all.join(&counts.lock());
        }
        all
    }

    /// A duration: the first in full, the second with `--quick`.
    pub fn lasts(&self, full_s: f64, quick_s: f64) -> Duration {
        Duration::from_secs_f64(if self.is_quick { quick_s } else { full_s })
    }

    /// All processes of the scenario.
    pub fn processes(&self) -> Vec<ProcessInfo> {
        let roots = self.shown().roots.clone();
        processes::all(&Marks { roots, folder: &self.folder })
    }

    /// Starts a load with this number of clients on a port: that of a server, or of a proxy before it.
    pub fn load_at(&self, port: u16, timeout: Duration, workload: &Workload, clients: u32) -> Load {
        let load = Load::begin(port, workload, clients, timeout);
        self.shown().counts.push(load.counts());
        load
    }
}
