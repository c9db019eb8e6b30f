//! Progress output: a line that changes on a terminal, one line for each scenario elsewhere.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::count::Count;
use crate::table::Row;

/// Prints to standard error, so that the table stays clean.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    of: usize,
    at: Cell<usize>,
    now: RefCell<(String, Instant)>,
}

impl Progress {
    /// Progress of `of` scenarios.
    pub fn new(of: usize) -> Progress {
        let is_terminal = stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let now = RefCell::new((String::new(), Instant::now()));
        Progress { bar, is_terminal, of, at: Cell::new(0), now }
    }

    /// Begins the next scenario.
    pub fn begins(&self, name: &str) {
        self.at.set(self.at.get() + 1);
        self.now.replace((name.to_owned(), Instant::now()));
        self.shows(&Count::default(), "begins");
    }

    /// Shows the state of the running scenario.
    pub fn shows(&self, count: &Count, doing: &str) {
        let now = self.now.borrow();
        let at = self.at.get();
        let of = self.of;
        let name = &now.0;
        let s = now.1.elapsed().as_secs();
        let failed = count.failed(&[]);
        let requests = count.requests();
        let longest = count.longest_ms;
        let numbers = format!("{requests} requests, {failed} without a right answer, longest {longest:.0} ms");
        self.bar.set_message(format!("{at}/{of} {name} {s} s: {doing}; {numbers}"));
    }

    /// Prints the result of a scenario.
    pub fn ends(&self, row: &Row) {
        let verdict = row.verdict();
        let at = self.at.get();
        let of = self.of;
        let name = row.name;
        let s = row.took.as_secs_f64();
        let findings = &row.findings;
        self.line(&format!(
            "{at}/{of} {name}: {verdict} after {s:.0} s, {} requests, {} failed",
            findings.requests, findings.failed
        ));
        for complaint in &findings.complaints {
            self.line(&format!("    {}", complaint.replace('\n', "\n    ")));
        }
    }

    /// Clears the line at the end.
    pub fn over(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, words: &str) {
        if self.is_terminal { self.bar.println(words) } else { drop(writeln!(stderr(), "{words}")) }
    }
}
