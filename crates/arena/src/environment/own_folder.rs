//! A folder that ends with its value, and also when the arena is killed.

use std::fs;
use std::io;
use std::path::PathBuf;

use loadgen::process::{LedgerEntry, note};

/// A folder that is removed, with all that is in it, when this is dropped. If the arena is killed before, the next run
/// or its guard removes it, by the ledger.
#[derive(Debug)]
pub struct OwnFolder {
    /// Its path, seen from outside a ring.
    pub path: PathBuf,
}

impl OwnFolder {
    /// Creates the folder, with those above it.
    pub fn create(path: PathBuf) -> io::Result<OwnFolder> {
        note(&LedgerEntry::Made(path.clone()));
        let folder = OwnFolder { path };
        fs::create_dir_all(&folder.path)?;
        Ok(folder)
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        note(&LedgerEntry::Removed(self.path.clone()));
    }
}
