//! A folder for the files that tools read and write. It goes away with its owner.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Entry, note};

/// The folder.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new one that is ours alone.
    pub fn new() -> Result<Scratch, String> {
        let parent = std::env::temp_dir();
        for number in 0..1_000_000_u32 {
            let folder = parent.join(format!("arena-load-{}-{number}", std::process::id()));
            // A folder that is there already is somebody else's: it is not taken over.
            match fs::create_dir(&folder) {
                Ok(()) => {
                    note(&Entry::Made(folder.clone()));
                    return Ok(Scratch(folder));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: {error}", folder.display())),
            }
        }
        Err(format!("{} is full of folders of old runs: delete them", parent.display()))
    }

    /// Itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// A file in it, which need not be there.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file in it with this text.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let file = self.file(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the folder for temporary files, the system clears away.
        let _ = fs::remove_dir_all(&self.0);
        note(&Entry::Removed(self.0.clone()));
    }
}
