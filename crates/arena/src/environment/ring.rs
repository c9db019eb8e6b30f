//! Builds a ring with the script `bin/ring`, which can also be run by hand.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Folder in a ring with the library of its Ruby that has YJIT, if the ring was built with `--yjit`. Programs with this
/// folder in `LD_LIBRARY_PATH` use it.
pub const YJIT_LIBRARIES: &str = "/usr/local/lib/ring-yjit";

const SCRIPT: &str = include_str!("../../../../bin/ring");

/// Builds a ring at `path`, or completes it, and writes the script's output to `out`. With `yjit` it also
/// builds the library of the ring's Ruby with the just-in-time compiler, in [`YJIT_LIBRARIES`].
pub fn build(path: &Path, yjit: bool, out: &mut dyn Write) -> Result<(), String> {
    if !path.is_absolute() {
        return Err(format!("{}: a ring takes a path from the root", path.display()));
    }
    let mut command = Command::new("bash");
    command.args(["-s", "--"]).args(yjit.then_some("--yjit")).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start bash: {error}"))?;
    let mut input = child.stdin.take().ok_or("bash has no input")?;
    let output = child.stdout.take().ok_or("bash has no output")?;
    // A group makes bash read the whole script before it runs any of it: a program that it starts could read the rest
    // from standard input otherwise.
    let script = format!("{{\n{SCRIPT}\nexit\n}} </dev/null\n");
    input.write_all(script.as_bytes()).map_err(|error| format!("bash: {error}"))?;
    drop(input);
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| error.to_string())?;
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("the ring at {} could not be built", path.display())) }
}
