//! The temporary files of one server: a folder that it gets as TMPDIR, and what it leaves in /tmp all the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{FDTarget, all_processes};

use crate::environment::{Environment, OwnFolder};

/// Beginnings of the names of files that servers leave in /tmp, whatever TMPDIR says. facil.io, on which Iodine is
/// built, writes each longer request body to one and does not remove it.
const LEFT_IN_TMP: [&str; 1] = ["facil_io_tmpfile_"];

/// The temporary files of one server, removed when this is dropped; the server must have ended by then.
#[derive(Debug)]
pub(super) struct TemporaryFiles {
    /// The folder, removed with this.
    _folder: OwnFolder,
    /// Its path, seen from the server.
    inside: PathBuf,
    /// The environment's /tmp, seen from outside a ring.
    shared: PathBuf,
}

impl TemporaryFiles {
    /// Creates the folder.
    pub(super) fn prepare(environment: &Environment) -> Result<TemporaryFiles, String> {
        let (folder, inside) = environment.temporary()?;
        Ok(TemporaryFiles { _folder: folder, inside, shared: environment.outside(Path::new("/tmp")) })
    }

    /// The value of TMPDIR.
    pub(super) fn variable(&self) -> String {
        self.inside.display().to_string()
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        let entries = fs::read_dir(&self.shared).into_iter().flatten().flatten();
        let is_left = |name: &str| LEFT_IN_TMP.iter().any(|begin| name.starts_with(begin));
        let left = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_left));
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        if left.is_empty() {
            return;
        }
        // A server that is still running, perhaps another run's, has its files open.
        let open = open_files();
        for path in left.iter().filter(|path| !open.contains(*path)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Paths of the files that processes have open, of those processes that this user may see.
fn open_files() -> BTreeSet<PathBuf> {
    let processes = all_processes().into_iter().flatten().flatten();
    let descriptors = processes.filter_map(|process| process.fd().ok()).flatten().flatten();
    let paths = descriptors.filter_map(|one| if let FDTarget::Path(path) = one.target { Some(path) } else { None });
    paths.collect()
}
