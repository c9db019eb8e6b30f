//! What a scenario is given: which foolsgold, where the applications are, a folder of its own, how much time; and what
//! it shows of itself while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::count::Count;
use crate::kin::{self, Kin, Marks};
use crate::load::{CLIENTS, Counts, Load};
use crate::server::Server;

/// One scenario's surroundings. Clones are the same.
#[derive(Clone)]
pub struct Stage {
    /// The program under test.
    pub foolsgold: PathBuf,
    /// The repository.
    pub home: PathBuf,
    /// Seconds instead of a minute.
    pub is_quick: bool,
    /// Of this scenario alone.
    pub folder: PathBuf,
    /// See [`kin::MARK`].
    pub mark: String,
    shown: Arc<Mutex<Shown>>,
}

/// What others may see of it.
#[derive(Default)]
pub struct Shown {
    /// Leaders of sessions that were started.
    pub roots: Vec<u32>,
    /// Loads that run or ran.
    pub counts: Vec<Counts>,
    /// What happens now.
    pub doing: String,
}

impl Stage {
    /// Nothing has happened yet.
    pub fn new(foolsgold: &Path, home: &Path, is_quick: bool, folder: &Path) -> Stage {
        // The folder's name is nobody else's.
        let mark = folder.display().to_string();
        let foolsgold = foolsgold.to_path_buf();
        let home = home.to_path_buf();
        let folder = folder.to_path_buf();
        Stage { foolsgold, home, is_quick, folder, mark, shown: Arc::default() }
    }

    /// What others may see.
    pub fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock()
    }

    /// Says what happens now.
    pub fn doing(&self, words: impl Into<String>) {
        self.shown().doing = words.into();
    }

    /// The numbers so far.
    pub fn count(&self) -> Count {
        let mut all = Count::default();
        for counts in &self.shown().counts {
            all.join(&counts.lock());
        }
        all
    }

    /// How long something lasts.
    pub fn lasts(&self, full_s: f64, quick_s: f64) -> Duration {
        Duration::from_secs_f64(if self.is_quick { quick_s } else { full_s })
    }

    /// All processes that belong to it.
    pub fn processes(&self) -> Vec<Kin> {
        let roots = self.shown().roots.clone();
        kin::all(&Marks { roots, mark: &self.mark, folder: &self.folder })
    }

    /// Begins a load on this server.
    pub fn load(&self, server: &Server, workload: &loadgen::Workload) -> Load {
        self.load_of(server, workload, CLIENTS)
    }

    /// With so many clients.
    pub fn load_of(&self, server: &Server, workload: &loadgen::Workload, clients: u32) -> Load {
        self.begin(server.port, workload, clients, server.patience)
    }

    /// On a proxy's port.
    pub fn load_at(&self, port: u16, patience: Duration, workload: &loadgen::Workload) -> Load {
        self.begin(port, workload, CLIENTS, patience)
    }

    fn begin(&self, port: u16, workload: &loadgen::Workload, clients: u32, patience: Duration) -> Load {
        let load = Load::begin(port, workload, clients, patience);
        self.shown().counts.push(load.counts());
        load
    }
}
