//! Runs a file of ruby/spec with tests/ruby_spec/runner.rb in an interpreter, and prints the runner's lines as they
//! come: `cargo run -p engine-mruby --example ruby_spec -- RUNNER FOLDER FILE VERSION PLATFORM SECONDS`. For
//! `bin/ruby-spec`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use engine::Body;

const USAGE: &str = "usage: ruby_spec RUNNER FOLDER FILE VERSION PLATFORM SECONDS";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [runner, folder, file, version, platform, seconds] = args.as_slice() else { return Err(USAGE.into()) };
    let run =
        format!("SpecRun.run({file:?}, {version:?}, {platform:?}) {{ |line| out.write(line + \"\\n\"); out.flush }}");
    let reads = format!("FoolsGold.allow_read({folder:?})\nFoolsGold.allow_read(File.dirname({runner:?}))");
    let config = format!("{reads}\nload {runner:?}\nrun ->(env) {{ [200, {{}}, ->(out) {{ {run} }}] }}\n");
    let app = support::try_app(&config, support::single())?;
    let mut request = support::get("/");
    request.deadline = Instant::now() + Duration::from_secs(seconds.parse()?);
    let deadline = request.deadline + Duration::from_secs(5);
    let mut out = std::io::stdout().lock();
    match app.call(request).result.map(|response| response.body) {
        Ok(Body::Stream(mut lines)) => loop {
            match lines.next_blocking(deadline) {
                Ok(Some(chunk)) => out.write_all(&chunk)?,
                Ok(None) => break,
                Err(fault) => {
                    writeln!(out, "died\t{}", format!("{fault:?}").lines().next().unwrap_or_default())?;
                    break;
                }
            }
            out.flush()?;
        },
        Ok(body) => out.write_all(support::read(body).as_bytes())?,
        Err(fault) => writeln!(out, "died\t{}", format!("{fault:?}").lines().next().unwrap_or_default())?,
    }
    out.flush()?;
    // Does not wait for a spec that still runs in the interpreter.
    std::process::exit(0)
}
