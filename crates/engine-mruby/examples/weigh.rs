//! Measures the memory of an application: `cargo run -p engine-mruby --example weigh -- CONFIG.RU INTERPRETERS` prints
//! its response to `/`, and the memory of the process afterwards.

#[path = "../tests/support/mod.rs"]
mod support;

use engine::Engine;
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rackup = args.next().ok_or("usage: weigh CONFIG.RU INTERPRETERS")?.into();
    let interpreters = args.next().map_or(Ok(1), |count| count.parse())?;
    let settings = engine_mruby::Settings { interpreters, ..support::single(rackup) };
    let engine = engine_mruby::MrubyEngine::start(settings)?;
    let answer = support::wait(engine.call(support::get("/"))).result;
    let body = answer.map(|response| support::read(response.body)).map_err(|fault| format!("{fault:?}"))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let held = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    writeln!(std::io::stdout(), "{body}\n{held}")?;
    Ok(())
}
