//! Progress of a run: a bar with the time left on a terminal, lines elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use super::interrupt;
use crate::study::Watcher;
use loadgen::process::gate;

/// Progress on standard error, so that a report on standard output stays clean.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    all_s: f64,
    passed_s: f64,
    /// Seconds left by the estimate of the work itself, which takes precedence over that of the bar.
    estimate_s: Option<f64>,
}

impl Progress {
    /// Creates the progress, which shows nothing yet.
    pub fn new() -> Progress {
        let is_terminal = stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::new(1) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {prefix}  {wide_msg}") {
            bar.set_style(style);
        }
        interrupt::shows(&bar);
        Progress {
            bar,
            is_terminal,
            state: Mutex::new(State { since: Instant::now(), all_s: 1.0, passed_s: 0.0, estimate_s: None }),
        }
    }

    /// Sets the progress of work that is counted in turns and estimates its own time.
    pub fn stands_at(&self, done: usize, of: usize, left_s: f64) {
        self.state.lock().estimate_s = Some(left_s);
        self.bar.set_length(of.max(1) as u64);
        self.bar.set_position(done as u64);
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    /// Removes the bar; printed lines stay.
    pub fn ends(&self) {
        self.bar.finish_and_clear();
    }

    /// Time left, from the work done so far and the time that it took: "about 12 min left".
    fn left(&self) -> String {
        let state = self.state.lock();
        let spent = state.since.elapsed().as_secs_f64();
        // The planned time, until enough has happened for an estimate.
        let pace = if state.passed_s > 20.0 { spent / state.passed_s } else { 1.0 };
        let left = state.estimate_s.unwrap_or((state.all_s - state.passed_s).max(0.0) * pace);
        match left {
            left if left >= 90.0 => format!("about {:.0} min left", left / 60.0),
            left => format!("about {left:.0} s left"),
        }
    }
}

impl Watcher for Progress {
    fn begins(&self, seconds: f64) {
        *self.state.lock() = State { since: Instant::now(), all_s: seconds, passed_s: 0.0, estimate_s: None };
        self.bar.set_length(seconds.max(1.0) as u64);
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    fn doing(&self, words: &str) {
        let left = self.left();
        let _gate = gate();
        if self.is_terminal {
            self.bar.set_prefix(left);
            self.bar.set_message(words.to_owned());
        } else {
            let _ = writeln!(stderr(), "{words} ({left})");
        }
    }

    fn passed(&self, seconds: f64) {
        let mut state = self.state.lock();
        state.passed_s += seconds;
        self.bar.set_position(state.passed_s as u64);
    }

    fn said(&self, line: &str) {
        let _gate = gate();
        if self.is_terminal { self.bar.println(line) } else { drop(writeln!(stderr(), "{line}")) }
    }
}
