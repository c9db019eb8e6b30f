//! Facts about the machine, and the measured versions.

use std::process::Command;

use bench_kit::machine::{self, Machine};

use crate::options::Options;

/// The facts for the record.
pub fn describe(options: &Options) -> Machine {
    let said = |program: &str, flag: &str| machine::said(Command::new(program).arg(flag));
    let mut machine = Machine::ask();
    machine.facts.extend([
        ("foolsgold", said(&options.foolsgold.to_string_lossy(), "--version")),
        ("ruby", said("ruby", "--version")),
        ("thin", said("thin", "--version")),
        ("puma", said("puma", "--version")),
        ("wrk", said("wrk", "--version")),
        ("ab", said("ab", "-V")),
    ]);
    machine
}
