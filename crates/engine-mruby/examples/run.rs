//! Sends requests to an application without a server, and prints the responses: `cargo run -p engine-mruby --example
//! run -- CONFIG.RU PATH...`

#[path = "../tests/support/mod.rs"]
mod support;

use engine::Engine;
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rackup = args.next().ok_or("usage: run CONFIG.RU [PATH...]")?.into();
    let engine = engine_mruby::MrubyEngine::start(support::single(rackup))?;
    for path in args {
        let answer = support::wait(engine.call(support::get(&path)));
        match answer.result {
            Ok(response) => {
                writeln!(
                    std::io::stdout(),
                    "{} {:?}\n{}",
                    response.head.status,
                    response.head.headers,
                    support::read(response.body)
                )?;
            }
            Err(fault) => writeln!(std::io::stdout(), "{fault:#?}")?,
        }
    }
    Ok(())
}
