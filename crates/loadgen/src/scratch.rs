//! A temporary folder for the files of a tool, removed with its owner.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{LedgerEntry, note};

/// A temporary folder.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder.
    pub fn new() -> Result<Scratch, String> {
        let parent = std::env::temp_dir();
        for number in 0..1_000_000_u32 {
            let folder = parent.join(format!("arena-load-{}-{number}", std::process::id()));
            // An existing folder belongs to another process.
            match fs::create_dir(&folder) {
                Ok(()) => {
                    note(&LedgerEntry::Made(folder.clone()));
                    return Ok(Scratch(folder));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: {error}", folder.display())),
            }
        }
        Err(format!("{} is full of folders of old runs: delete them", parent.display()))
    }

    /// Path of the folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Path of a file in the folder, which need not exist.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let file = self.file(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system cleans up what is left in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
        note(&LedgerEntry::Removed(self.0.clone()));
    }
}
