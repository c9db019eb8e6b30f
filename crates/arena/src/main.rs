//! The program `arena`.

use std::io::{self, Write};
use std::process::ExitCode;

use arena::command::Arena;
use clap::Parser;

fn main() -> ExitCode {
    match Arena::parse().obey(&mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "arena: {error}");
            ExitCode::FAILURE
        }
    }
}
