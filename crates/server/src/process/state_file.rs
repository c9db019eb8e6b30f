//! The state file (`--state`), in Puma's format, so that `pumactl -S` works: without a control URL it sends signals.
//! There is none here, since the control API is our own.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::OFlags;

use crate::process::folder::with_missing;
use crate::process::links::Links;

/// Length of the beginning of a file by which its kind is recognised.
const LOOK_BYTES: u64 = 4096;

/// A state file of this process.
#[derive(Debug)]
pub struct StateFile {
    pub path: PathBuf,
    bits: Option<u32>,
    /// Locked, if the file system has locks: each process that has the file shares the lock.
    file: File,
    links: Links,
}

impl StateFile {
    /// Opens the file before privileges are dropped. A file that is no state file is refused and left as it is.
    pub fn claim(path: &Path, bits: Option<u32>, links: Links) -> Result<StateFile, String> {
        let failed = |error: io::Error| format!("the state file {} cannot be written: {error}", path.display());
        let path = std::path::absolute(path).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(bits.unwrap_or(0o644));
        let opened = links.open(&path, &options, OFlags::empty());
        let file = opened.map_err(|error| with_missing(failed(error), &path))?;
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(format!("the state file {} is not a file", path.display()));
        }
        StateFile::check(&path, &file)?;
        if let Some(bits) = bits {
            file.set_permissions(Permissions::from_mode(bits)).map_err(failed)?;
        }
        // Until it serves, the file of a server is empty, and only this shows that it has one.
        let _ = file.try_lock_shared();
        Ok(StateFile { path, bits, file, links })
    }

    /// Whether the file is empty, or a state file of this server or of Puma.
    pub fn check(path: &Path, file: &File) -> Result<(), String> {
        let is_one = |text: &str| text.starts_with("---") && text.lines().any(|line| line.starts_with("pid:"));
        if beginning(file).is_ok_and(|text| is_one(&text) || text.trim().is_empty()) {
            return Ok(());
        }
        Err(format!("{} has something else in it than the state of a server: is it a state file?", path.display()))
    }

    /// Opens the path again, after a successor that has exited may have removed the file.
    pub fn again(&mut self) -> Result<(), String> {
        *self = StateFile::claim(&self.path, self.bits, self.links)?;
        Ok(())
    }

    /// Writes process id and control address.
    pub fn write(&self, control: Option<&str>) -> Result<(), String> {
        let mut text = format!("---\npid: {}\n", process::id());
        // Writing to a string cannot fail.
        if let Some(control) = control {
            let _ = writeln!(text, "foolsgold_control: {}", quote(control));
        }
        if let Ok(folder) = std::env::current_dir() {
            let _ = writeln!(text, "running_from: {}", quote(&folder.to_string_lossy()));
        }
        let written = self.file.write_all_at(text.as_bytes(), 0).and_then(|()| self.file.set_len(text.len() as u64));
        written.map_err(|error| format!("the state file {} cannot be written: {error}", self.path.display()))
    }

    /// Removes the file at the exit, unless it is a successor's by now.
    pub fn remove(&self) {
        let ours = format!("---\npid: {}\n", process::id());
        let found = files::open(&self.path).and_then(|(file, _)| beginning(&file));
        // It is empty if it was never written: by this process, or by another one that is still loading.
        let is_ours = |text: String| text.starts_with(&ours) || (text.is_empty() && self.is_alone());
        if found.is_ok_and(is_ours) && fs::remove_file(&self.path).is_err() {
            let _ = self.file.set_len(0);
        }
    }

    /// Whether no other process has the file, as far as the file system has locks. Ends this process's share of it.
    fn is_alone(&self) -> bool {
        let _ = self.file.unlock();
        !matches!(self.file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

/// The beginning of a file.
fn beginning(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LOOK_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text as a quoted YAML scalar.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_removed_only_while_it_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let state = StateFile::claim(&path, None, Links::All).unwrap();
        state.write(Some("unix:///run/a \"b\".sock")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("---\npid: {}\n", process::id())), "{text}");
        assert!(text.contains("foolsgold_control: \"unix:///run/a \\\"b\\\".sock\"\n"), "{text}");
        fs::write(&path, "---\npid: 1\n").unwrap();
        state.remove();
        assert!(path.exists());
        // The other end of the pipe is open nowhere.
        fs::remove_file(&path).unwrap();
        assert!(process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        state.remove();
        assert!(path.exists());
    }

    /// The second one as a server that cannot listen, since the first one, which is loading, has the address.
    #[test]
    fn an_empty_one_is_removed_by_the_last_process_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let [first, second] = [(); 2].map(|()| StateFile::claim(&path, None, Links::All).unwrap());
        second.remove();
        drop(second);
        first.write(None).unwrap();
        assert!(fs::read_to_string(&path).unwrap().starts_with("---\n"));
        fs::write(&path, "").unwrap();
        first.remove();
        assert!(!path.exists());
    }

    #[test]
    fn one_that_was_left_behind_is_taken_over_and_a_precious_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        fs::write(&path, "---\ncontrol_url: unix:///x\npid: 12\n").unwrap();
        StateFile::claim(&path, None, Links::All).unwrap().write(None).unwrap();
        for precious in ["run MyApp\n", "---\nthreads: 5\n", "---"] {
            fs::write(&path, precious).unwrap();
            assert!(StateFile::claim(&path, None, Links::All).unwrap_err().contains("is it a state file?"));
            assert_eq!(fs::read_to_string(&path).unwrap(), precious);
        }
        assert!(StateFile::claim(folder.path(), None, Links::All).is_err());
    }
}
