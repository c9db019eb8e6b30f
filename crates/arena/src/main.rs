//! The program `arena`.

use std::io::{self, Write};
use std::process::ExitCode;

use arena::command::Arena;
use arena::process;
use clap::Parser;

fn main() -> ExitCode {
    let ended = Arena::parse().obey(&mut io::stdout());
    // Whoever was told to end meanwhile ends in its own way.
    let _gate = process::gate();
    process::dismiss();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "arena: {error}");
            ExitCode::FAILURE
        }
    }
}
