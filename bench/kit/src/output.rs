//! Output of the programs: lines of progress, and paths.

use std::io::Write;
use std::path::Path;

/// Prints a line of progress.
pub fn say(out: &mut dyn Write, words: &str) -> Result<(), String> {
    writeln!(out, "{words}").map_err(|error| error.to_string())
}

/// The absolute path of a folder; the path as it is if that cannot be found.
pub fn shown(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()).display().to_string()
}
