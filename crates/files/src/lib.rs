//! Files that are opened for reading, and temporary ones. What is opened is a regular file: opening a pipe or a device
//! could wait for ever, or have effects.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Access, OFlags};

pub mod temporary;

pub use temporary::{TempFile, TempFolder};

/// Opens a file for reading; the file and its length in bytes.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    // A pipe without a writer is opened at once, to be refused here, instead of waiting for one.
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

/// Whether this process may read it, whatever it is.
pub fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, Access::READ_OK).is_ok()
}
