//! Opening of regular files, and temporary files and folders. Paths come from applications, clients and configuration:
//! anything but a regular file is refused, since opening a pipe or a device can block for ever or have side effects.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags};
use rustix::io::Errno;

pub mod temporary;

pub use temporary::{TempFile, TempFolder};

/// Opens a regular file for reading; returns it with its length in bytes.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    // With NONBLOCK a pipe without a writer opens at once and is refused below, instead of blocking.
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, meta.len()))
}

/// The path that leads to an open file or folder, whatever is at its own path by now. `None` where there is no /proc.
pub fn opened_path(file: impl AsFd) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    path.exists().then_some(path)
}

/// The first parent folder of the path that does not exist.
pub fn missing_folder(path: &Path) -> Option<&Path> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    folders.reverse();
    let is_missing = |folder: &&Path| fs::metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    folders.into_iter().find(is_missing)
}

/// Whether this process may read the path, regular file or not.
pub fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, Access::READ_OK).is_ok()
}

/// Whether nothing could be opened since this process, or the machine, has as many open files as it may have.
pub fn is_short_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_regular_file_is_opened_with_its_length_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe, none] = ["file", "pipe", "none"].map(|name| folder.path().join(name));
        fs::write(&file, "gold").unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(open(&file).unwrap().1, 4);
        assert_eq!(open(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(open(&none).unwrap_err().kind(), io::ErrorKind::NotFound);
        for other in [pipe.as_path(), Path::new("/dev/null")] {
            assert_eq!(open(other).unwrap_err().to_string(), "it is not a regular file");
            assert!(is_readable(other));
        }
        assert!(is_readable(&file) && !is_readable(&none));
    }

    #[test]
    fn an_open_file_is_reached_though_another_has_taken_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "gold").unwrap();
        let file = File::open(&path).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::write(&path, "lead").unwrap();
        assert_eq!(fs::read_to_string(opened_path(&file).unwrap()).unwrap(), "gold");
    }

    #[test]
    fn only_a_limit_of_open_files_is_a_want_of_them() {
        let errors = [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::NOENT, false), (Errno::ACCESS, false)];
        for (number, is_short) in errors {
            let error = io::Error::from_raw_os_error(number.raw_os_error());
            assert_eq!(is_short_of_files(&error), is_short, "{error}");
        }
        assert!(!is_short_of_files(&io::Error::other("no number")));
    }
}
