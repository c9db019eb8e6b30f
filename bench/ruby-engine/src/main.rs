//! Measures foolsgold's Ruby engine against Puma with the same workers and threads on the same Ruby, and counts losses
//! when workers are killed. The README beside this explains the method and the remaining bias. This program starts
//! every server and stops it by its own process id.

mod client;
mod closed;
mod contender;
mod floor;
mod kill;
mod load;
mod memory;
mod open;
mod options;
mod place;
mod processor;
mod report;
mod speed;
mod tree;

use std::io::{self, Write};
use std::process::ExitCode;

use options::{Options, Part};
use place::Place;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options, &mut io::stdout())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bench-ruby-engine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options, out: &mut dyn Write) -> Result<(), String> {
    if options.part == Part::Help {
        return out.write_all(options::HELP.as_bytes()).map_err(|error| error.to_string());
    }
    let place = Place::open(options.ring.as_deref())?;
    match options.part {
        Part::Memory => memory::run(options, &place, out),
        Part::Kill => kill::run(options, &place, out),
        Part::Speed | Part::Help => speed::run(options, &place, out),
    }
}
