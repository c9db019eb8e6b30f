//! The program `arena`.

use std::io::{self, Write};
use std::process::ExitCode;

use arena::command::Arena;
use clap::Parser;

/// Standard output that ignores a closed pipe: `arena list | head` is not an error.
struct Quiet(io::Stdout);

impl Write for Quiet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

fn main() -> ExitCode {
    arena::record::machine::note_load();
    let ended = Arena::parse().obey(&mut Quiet(io::stdout()));
    // A process that has been signalled to exit meanwhile exits by that signal's handler.
    let _gate = loadgen::process::gate();
    loadgen::process::dismiss();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "arena: {error}");
            ExitCode::FAILURE
        }
    }
}
