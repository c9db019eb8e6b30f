//! The temporary files of one server: a folder that it gets as TMPDIR, and what it leaves in /tmp all the same.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use loadgen::process::{LedgerEntry, note};

/// Beginnings of the names of files that servers leave in /tmp, whatever TMPDIR says. facil.io, on which Iodine is
/// built, writes each longer body of a request to one and does not remove it.
const LEFT_IN_TMP: [&str; 1] = ["facil_io_tmpfile_"];

/// Removes the files when dropped; the server must have ended by then.
#[derive(Debug)]
pub(super) struct TemporaryFiles {
    /// The folder, seen from outside a ring.
    folder: PathBuf,
    /// The same folder, seen from the server.
    inside: PathBuf,
    /// The environment's /tmp, seen from outside.
    shared: PathBuf,
    /// Files of [`LEFT_IN_TMP`] that were there before.
    before: BTreeSet<OsString>,
}

impl TemporaryFiles {
    /// Creates the folder.
    pub(super) fn prepare(environment: &Environment) -> Result<TemporaryFiles, String> {
        let (folder, inside) = environment.temporary()?;
        let shared = environment.outside(Path::new("/tmp"));
        let mut files = TemporaryFiles { folder, inside, shared, before: BTreeSet::new() };
        files.before = files.left_in_shared().collect();
        Ok(files)
    }

    /// The value of TMPDIR.
    pub(super) fn variable(&self) -> String {
        self.inside.display().to_string()
    }

    fn left_in_shared(&self) -> impl Iterator<Item = OsString> {
        let entries = fs::read_dir(&self.shared).ok();
        let names = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
        names.filter(|name| LEFT_IN_TMP.iter().any(|begin| name.to_string_lossy().starts_with(begin)))
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        note(&LedgerEntry::Removed(self.folder.clone()));
        for name in self.left_in_shared().filter(|name| !self.before.contains(name)) {
            let _ = fs::remove_file(self.shared.join(name));
        }
    }
}
