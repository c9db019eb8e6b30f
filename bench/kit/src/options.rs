//! Options of all benchmarks: numbers, and the folder of a record.

use std::fs;
use std::path::{Path, PathBuf};

/// Parses a number from 1 to `most`.
pub fn number(option: &str, word: &str, most: u32) -> Result<u32, String> {
    let number = word.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{option} takes a number from 1 to {most}, not {word}"))
}

/// Creates a folder below `runs` for the record of the run begun at `started`.
pub fn record_folder(runs: &Path, started: &str) -> Result<PathBuf, String> {
    let folder = runs.join(started.replace(':', ""));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
