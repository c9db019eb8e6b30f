//! Values of options, and lines and tables on standard output.

use std::io::Write;

use super::home::Home;
use crate::record::folder::Folder;
use crate::record::summary::Summary;
use crate::report;
use crate::study::shown;
use loadgen::process::gate;

pub fn above_0(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "it is a number above 0".to_owned())
}

pub fn seed(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| "it is a whole number, 0 or more".to_owned())
}

/// A name or sentence of the user that becomes part of a line of a report, of the terminal or of a page.
pub fn one_line(word: &str) -> Result<String, String> {
    match word {
        _ if word.trim().is_empty() => Err("it is empty".to_owned()),
        _ if word.contains(char::is_control) => Err("write it in one line, without control characters".to_owned()),
        _ => Ok(word.to_owned()),
    }
}

/// Prints a line.
pub fn say(out: &mut dyn Write, words: &str) -> Result<(), String> {
    let _gate = gate();
    writeln!(out, "{words}").map_err(|error| format!("standard output: {error}"))
}

/// Columns of the terminal, or 120.
pub fn width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(120)
}

/// Writes the page of a run, with rankings and shortcomings by the rules of this program. Returns the summary that the
/// page shows.
pub fn write_page(home: &Home, folder: &Folder) -> Result<Summary, String> {
    let summary = shown(&home.0, folder)?;
    folder.write_page(&report::page::html(&summary)?)?;
    Ok(summary)
}

pub fn print(summary: &Summary, out: &mut dyn Write) -> Result<(), String> {
    report::table::print(summary, out, width()).map_err(|error| format!("standard output: {error}"))
}
