//! The record of a run: all samples as JSON, and a table with medians, ranges and the ratios of the goals. Saved after
//! every sample, so that an interrupted run is not lost.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use bench_kit::machine::Machine;
use bench_kit::stats::{median, range};
use bench_kit::wrk::Sample;
use serde_json::{Value, json};

use crate::contender::{BARE, FOOLSGOLD, Missing, PUMAS, THIN, THIN_NGINX};
use crate::load::Mode;

/// The record of a run.
pub struct Record {
    machine: Machine,
    modes: Vec<Mode>,
    pub missing: Vec<Missing>,
    checks: BTreeMap<&'static str, u32>,
    samples: BTreeMap<(usize, &'static str), Vec<Sample>>,
}

/// Selects a number of a sample.
type Of = fn(&Sample) -> f64;
const PER_SECOND: Of = |sample| sample.per_second;
const P50: Of = |sample| sample.p50_ms;
const P99: Of = |sample| sample.p99_ms;

impl Record {
    /// An empty record.
    pub fn new(machine: Machine, modes: &[Mode]) -> Record {
        let missing = Vec::new();
        let checks = BTreeMap::new();
        let samples = BTreeMap::new();
        Record { machine, modes: modes.to_vec(), missing, checks, samples }
    }

    /// Notes that a contender's responses were right.
    pub fn checked(&mut self, name: &'static str) {
        *self.checks.entry(name).or_default() += 1;
    }

    /// Adds a sample.
    pub fn add(&mut self, name: &'static str, mode: usize, sample: Sample) {
        self.samples.entry((mode, name)).or_default().push(sample);
    }

    /// Writes `run.json` and `run.txt`.
    pub fn save(&self, folder: &Path) -> Result<(), String> {
        let json = format!("{:#}\n", self.json());
        std::fs::write(folder.join("run.json"), json).map_err(|error| error.to_string())?;
        std::fs::write(folder.join("run.txt"), self.text()).map_err(|error| error.to_string())
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let mut text = format!("\nFoolsGold, the original measurement, {}\n", self.machine.started);
        for (name, value) in &self.machine.facts {
            let _ = writeln!(text, "  {name:<10} {value}");
        }
        for (name, how) in &self.missing {
            let _ = writeln!(text, "  MISSING: {name} (to get it: {how})");
        }
        for (at, mode) in self.modes.iter().enumerate() {
            let _ = writeln!(text, "\n{}", mode.in_words());
            let _ = writeln!(text, "  {:<15}{:>26}{:>24}{:>24}", "", "requests/s (min..max)", "p50 ms", "p99 ms");
            for (_, name) in self.samples.keys().filter(|(mode, _)| *mode == at) {
                let _ = writeln!(text, "  {}", self.row(at, name));
            }
            text.push_str(&self.ratios(at, mode));
        }
        text
    }

    fn row(&self, mode: usize, name: &'static str) -> String {
        let samples = &self.samples[&(mode, name)];
        if let Some(error) = samples.iter().flat_map(|sample| &sample.errors).next() {
            return format!("{name:<15} DISQUALIFIED: {error}");
        }
        let cell = |of: Of, digits: usize| {
            let numbers: Vec<f64> = samples.iter().map(of).collect();
            let (low, high) = range(&numbers).unwrap_or((f64::NAN, f64::NAN));
            format!("{:.digits$} ({low:.digits$}..{high:.digits$})", median(&numbers).unwrap_or(f64::NAN))
        };
        format!("{name:<15}{:>26}{:>24}{:>24}", cell(PER_SECOND, 0), cell(P50, 2), cell(P99, 2))
    }

    /// The median; `None` without samples, or if one was disqualified.
    fn median(&self, mode: usize, name: &'static str, of: Of) -> Option<f64> {
        let samples = self.samples.get(&(mode, name))?;
        let clean = samples.iter().all(|sample| sample.errors.is_empty());
        clean.then(|| median(&samples.iter().map(of).collect::<Vec<_>>())).flatten()
    }

    /// The Puma with the higher throughput.
    fn best_puma(&self, mode: usize) -> Option<&'static str> {
        let rate = |name| self.median(mode, name, PER_SECOND);
        PUMAS
            .into_iter()
            .filter(|name| rate(name).is_some())
            .max_by(|one, other| rate(one).unwrap_or_default().total_cmp(&rate(other).unwrap_or_default()))
    }

    fn ratios(&self, mode: usize, load: &Mode) -> String {
        let kept = matches!(load, Mode::Wrk { .. });
        let mut text = String::new();
        let mut line = |other: Option<&'static str>, of: Of, what: &str, goal: Option<(bool, f64)>| {
            let Some(other) = other else { return };
            let (Some(ours), Some(theirs)) = (self.median(mode, FOOLSGOLD, of), self.median(mode, other, of)) else {
                return;
            };
            let ratio = ours / theirs;
            let verdict = goal.map_or_else(String::new, |(at_least, bound)| {
                let reached = if at_least { ratio >= bound } else { ratio <= bound };
                let sign = if at_least { ">=" } else { "<=" };
                let word = if reached { "reached" } else { "MISSED" };
                format!("   goal {sign} {bound}: {word}")
            });
            let _ = writeln!(text, "  {:<38}{ratio:>8.2}{verdict}", format!("foolsgold / {other}, {what}"));
        };
        let puma = self.best_puma(mode);
        line(Some(THIN), PER_SECOND, "requests/s", kept.then_some((true, 6.0)));
        line(Some(THIN), P99, "p99", kept.then_some((false, 0.2)));
        line(Some(THIN_NGINX), PER_SECOND, "requests/s", kept.then_some((true, 6.0)));
        line(Some(THIN_NGINX), P99, "p99", kept.then_some((false, 0.2)));
        line(puma, PER_SECOND, "requests/s", kept.then_some((true, 4.0)));
        line(puma, P99, "p99", None);
        line(Some(BARE), PER_SECOND, "requests/s", Some((true, if kept { 0.6 } else { 0.9 })));
        line(Some(BARE), P99, "p99", None);
        text
    }

    fn json(&self) -> Value {
        let samples: Vec<Value> = self
            .samples
            .iter()
            .map(|((mode, name), samples)| {
                let runs: Vec<Value> = samples.iter().map(sample_json).collect();
                json!({ "load": self.modes[*mode].in_words(), "contender": name, "samples": runs })
            })
            .collect();
        let facts: BTreeMap<_, _> = self.machine.facts.iter().cloned().collect();
        let missing: BTreeMap<_, _> = self.missing.iter().cloned().collect();
        json!({
            "started": self.machine.started,
            "machine": facts,
            "missing": missing,
            "answers_checked": self.checks,
            "runs": samples,
        })
    }
}

fn sample_json(sample: &Sample) -> Value {
    json!({
        "requests_per_second": sample.per_second,
        "p50_ms": sample.p50_ms,
        "p99_ms": sample.p99_ms,
        "requests": sample.requests,
        "errors": sample.errors,
    })
}
