//! The record of a run: all samples as JSON, and a table with medians, ranges and the ratios of the goals. Saved after
//! every sample, so that an interrupted run is not lost.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use bench_kit::machine::{Machine, said};
use bench_kit::stats::{median, range};
use serde_json::{Value, json};

use crate::contender::Contender;
use crate::floor;
use crate::load::{CPU, Goal, Load, P99, RATE, Sample};
use crate::options::Options;
use crate::place::Place;

/// The record of a run.
pub struct Record {
    pub machine: Machine,
    pub notes: Vec<String>,
    samples: BTreeMap<(&'static str, Contender), Vec<Sample>>,
}

impl Sample {
    /// A line of progress.
    pub fn in_words(&self) -> String {
        let mut words: Vec<String> =
            self.numbers.iter().map(|(name, number)| format!("{name} {number:.*}", digits(name))).collect();
        words.extend(self.errors.iter().map(|error| format!("ERROR: {error}")));
        words.join(", ")
    }
}

impl Record {
    /// An empty record with facts about machine and programs.
    pub fn new(options: &Options, place: &Place) -> Record {
        let mut machine = Machine::ask();
        let sinatra = ["-e", "require 'sinatra/base'; print 'Sinatra ', Sinatra::VERSION"];
        machine.facts.extend([
            ("servers on", place.in_words()),
            ("ruby", place.said("ruby", &["--version"])),
            ("rack", place.said("ruby", &["-e", "require 'rack'; print 'Rack ', Rack.release"])),
            ("sinatra", place.said("ruby", &sinatra)),
            ("puma", place.said("puma", &["--version"])),
            ("foolsgold", said(Command::new(&options.foolsgold).arg("--version"))),
            ("wrk", said(Command::new("wrk").arg("--version"))),
            ("floor", floor::in_words()),
        ]);
        let mut notes = Vec::new();
        if options.stand_in {
            notes.push("STAND-IN: Puma stands in for foolsgold; this shows how far apart two equals seem".into());
        }
        if !options.with.is_empty() {
            notes.push(format!("foolsgold has these words more: {}", options.with.join(" ")));
        }
        Record { machine, notes, samples: BTreeMap::new() }
    }

    /// Adds a sample.
    pub fn add(&mut self, load: &Load, contender: Contender, sample: Sample) {
        self.samples.entry((load.name, contender)).or_default().push(sample);
    }

    /// Writes `run.json` and `run.txt`.
    pub fn save(&self, folder: &Path, loads: &[&Load], options: &Options) -> Result<(), String> {
        save(folder, "run", &self.json(loads, options), &self.text(loads, options))
    }

    /// The head of a table.
    pub fn head(&self, title: &str) -> String {
        let mut text = format!("\nFoolsGold, {title}, {}\n", self.machine.started);
        for (name, value) in &self.machine.facts {
            let _ = writeln!(text, "  {name:<10} {value}");
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }

    /// Machine and notes, for the beginning of a JSON record.
    pub fn json_head(&self) -> Value {
        let facts: BTreeMap<_, _> = self.machine.facts.iter().cloned().collect();
        json!({ "started": self.machine.started, "machine": facts, "notes": self.notes })
    }

    /// The table as text.
    pub fn text(&self, loads: &[&Load], options: &Options) -> String {
        let mut text = self.head("the Ruby engine against Puma, workers x threads alike");
        for load in loads {
            let _ = write!(text, "\n{}\n  {:<17}", load.in_words(options), "");
            for column in load.columns() {
                let _ = write!(text, "{column:>27}");
            }
            text.push('\n');
            for contender in Contender::ALL {
                if let Some(samples) = self.samples.get(&(load.name, contender)) {
                    let _ = writeln!(text, "  {contender:<17}{}", row(load, samples));
                }
            }
            text.push_str(&self.ratios(load));
        }
        text
    }

    /// The median; `None` without samples, or if one was disqualified.
    fn median(&self, load: &Load, contender: Contender, of: &str) -> Option<f64> {
        let samples = self.samples.get(&(load.name, contender))?;
        let clean = samples.iter().all(|sample| sample.errors.is_empty());
        clean.then(|| median(&numbers(samples, of))).flatten()
    }

    fn ratios(&self, load: &Load) -> String {
        let mut text = String::new();
        for contender in [Contender::Plain, Contender::Native] {
            let wanted =
                load.columns().iter().filter(|of| [RATE, P99, CPU].contains(of) || goal(load, contender, of).is_some());
            for of in wanted {
                let ours = self.median(load, contender, of);
                let theirs = self.median(load, Contender::Puma, of);
                let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
                let ratio = ours / theirs;
                let verdict = goal(load, contender, of).map_or_else(String::new, |goal| goal.verdict(ratio));
                let what = format!("{contender} / puma, {of}");
                let _ = writeln!(text, "  {what:<42}{ratio:>8.3}{verdict}");
            }
        }
        text
    }

    fn json(&self, loads: &[&Load], options: &Options) -> Value {
        let mut all = self.json_head();
        all["runs"] = loads
            .iter()
            .flat_map(|load| Contender::ALL.map(|contender| (*load, contender)))
            .filter_map(|(load, contender)| {
                let samples = self.samples.get(&(load.name, contender))?;
                let samples: Vec<Value> = samples
                    .iter()
                    .map(|sample| json!({ "numbers": sample.numbers, "errors": sample.errors }))
                    .collect();
                let what = load.in_words(options);
                Some(json!({ "load": load.name, "what": what, "contender": contender.name(), "samples": samples }))
            })
            .collect();
        all
    }
}

impl Goal {
    fn verdict(&self, ratio: f64) -> String {
        let reached = if self.at_least { ratio >= self.bound } else { ratio <= self.bound };
        let sign = if self.at_least { ">=" } else { "<=" };
        format!("   goal {sign} {}: {}", self.bound, if reached { "reached" } else { "MISSED" })
    }
}

/// Writes `NAME.json` and `NAME.txt`.
pub fn save(folder: &Path, name: &str, json: &Value, text: &str) -> Result<(), String> {
    let write = |ending: &str, text: &str| {
        let file = folder.join(format!("{name}.{ending}"));
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    };
    write("json", &format!("{json:#}\n"))?;
    write("txt", text)
}

fn goal(load: &Load, contender: Contender, of: &str) -> Option<&'static Goal> {
    load.goals.iter().find(|goal| goal.contender == contender && goal.of == of)
}

fn row(load: &Load, samples: &[Sample]) -> String {
    if let Some(error) = samples.iter().flat_map(|sample| &sample.errors).next() {
        return format!("DISQUALIFIED: {error}");
    }
    let cell = |of: &&str| {
        let numbers = numbers(samples, of);
        let digits = digits(of);
        let (low, high) = range(&numbers).unwrap_or((f64::NAN, f64::NAN));
        let middle = median(&numbers).unwrap_or(f64::NAN);
        format!("{:>27}", format!("{middle:.digits$} ({low:.digits$}..{high:.digits$})"))
    };
    load.columns().iter().map(cell).collect()
}

fn numbers(samples: &[Sample], of: &str) -> Vec<f64> {
    samples.iter().filter_map(|sample| sample.numbers.get(of).copied()).collect()
}

/// Number of significant decimals.
fn digits(name: &str) -> usize {
    match name {
        RATE => 0,
        CPU => 1,
        name if name.ends_with("ms") => 2,
        _ => 0,
    }
}
