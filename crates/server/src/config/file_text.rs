//! Reads the text of a settings file.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest settings file in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// The text of a regular file of at most [`FILE_BYTES`].
pub fn text_of(path: &Path) -> io::Result<String> {
    let (file, _) = files::open(path)?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > FILE_BYTES { Err(ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
