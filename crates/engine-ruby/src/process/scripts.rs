//! The server's Ruby files, which are part of this binary, and the folder to which they are written for Ruby to load
//! them.

use std::fs;
use std::io;
use std::path::Path;

/// The name and text of each file.
const SCRIPTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

/// Writes all files into a folder.
pub fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    SCRIPTS.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}

/// Returns whether all files are in this folder with their full length.
pub fn are_in(folder: &Path) -> bool {
    let is_there = |name: &str, text: &str| {
        fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_file() && found.len() == text.len() as u64)
    };
    SCRIPTS.iter().all(|(name, text)| is_there(name, text))
}

/// Returns the text of a file, which is named without its ending; empty if there is none of this name.
pub fn text(name: &str) -> &'static str {
    SCRIPTS.iter().find(|(known, _)| known.strip_suffix(".rb") == Some(name)).map_or("", |(_, text)| *text)
}
