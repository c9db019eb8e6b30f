//! The Ruby files, which are part of this binary, and where they are written for Ruby to find them.

use std::fs;
use std::io;
use std::path::Path;

/// Each file with its text.
const SCRIPTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

/// Writes all of them into a folder.
pub fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    SCRIPTS.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}

/// Whether all of them are in this folder, in full.
pub fn are_in(folder: &Path) -> bool {
    let is_there = |name: &str, text: &str| {
        fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_file() && found.len() == text.len() as u64)
    };
    SCRIPTS.iter().all(|(name, text)| is_there(name, text))
}

/// The text of one of them, which is part of this binary too.
pub fn text(name: &str) -> &'static str {
    SCRIPTS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| *text)
}
