//! Runs each `*.rb` of a folder, in the order of their names, in an interpreter of its own, with `t` of
//! tests/programs/trace.rb: `cargo run -p engine-mruby --example programs -- FOLDER`. Prints the trace of each program
//! below a line with its name. `bin/language-fuzz` compares it with that of CRuby.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::path::Path;

use support::get;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: programs FOLDER")?;
    let folder = Path::new(&folder).canonicalize()?;
    let names = std::fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut names = names.collect::<Result<Vec<_>, _>>()?;
    names.retain(|path| path.extension().is_some_and(|end| end == "rb"));
    names.sort();
    let app = support::programs(&folder);
    let mut out = std::io::stdout().lock();
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Written before the program runs, since it may crash this process.
        writeln!(out, "== {name}")?;
        out.flush()?;
        let answer = app.call(get(&format!("/{name}")));
        match answer.result {
            Ok(response) => writeln!(out, "{}", support::read(response.body))?,
            Err(fault) => writeln!(out, "! {}", format!("{fault:?}").lines().next().unwrap_or_default())?,
        }
    }
    Ok(())
}
