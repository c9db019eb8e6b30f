//! Opening of regular files, and temporary files and folders. Paths come from applications, clients and configuration:
//! anything but a regular file is refused, since opening a pipe or a device can block for ever or have side effects.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Access, OFlags};
use rustix::io::Errno;

pub mod temporary;

pub use temporary::{TempFile, TempFolder};

/// Opens a regular file for reading; returns it with its length in bytes.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    // With NONBLOCK a pipe without a writer opens at once and is refused below, instead of blocking.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, meta.len()))
}

/// Whether this process may read the path, regular file or not.
pub fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, Access::READ_OK).is_ok()
}

/// Whether nothing could be opened since this process, or the machine, has as many open files as it may have.
pub fn is_short_of_files(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].into_iter().any(|number| error.raw_os_error() == Some(number.raw_os_error()))
}
