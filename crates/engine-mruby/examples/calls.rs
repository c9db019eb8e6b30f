//! Measures a call of an application without HTTP: `cargo run --release -p engine-mruby --example calls -- CONFIG.RU
//! [PATH [CALLS]]`. Prints nanoseconds per call, the best of ten runs; results can be compared only on the same machine
//! in the same state.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::time::Instant;

use engine::Engine;
use http::{HeaderName, HeaderValue};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rackup = args.next().ok_or("usage: calls CONFIG.RU [PATH [CALLS]]")?.into();
    let path = args.next().unwrap_or_else(|| "/".into());
    let calls: u32 = args.next().map_or(Ok(20_000), |count| count.parse())?;
    let engine = engine_mruby::MrubyEngine::start(engine_mruby::Settings { rackup, ..support::settings() })?;
    let mut best = f64::MAX;
    for _ in 0..10 {
        let begin = Instant::now();
        for _ in 0..calls {
            let mut request = support::get(&path);
            for (name, value) in [("host", "localhost:9292"), ("user-agent", "calls"), ("accept", "*/*")] {
                request.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let answer = support::wait(engine.call(request));
            answer.result?;
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    writeln!(std::io::stdout(), "{best:.0} ns per call")?;
    Ok(())
}
