//! Measures typical Regexps on the embedded interpreter, in nanoseconds: see patterns.rb, which also runs on CRuby.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use engine::Engine;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cases = include_str!("patterns.rb");
    let config = format!("{cases}\nrun ->(env) {{ [200, {{}}, Patterns.report] }}");
    let app = support::app(&config);
    let mut request = support::get("/");
    request.deadline = Instant::now() + Duration::from_secs(25);
    let answer = support::wait(app.engine.call(request));
    std::io::stdout().write_all(support::read(answer.result?.body).as_bytes())?;
    Ok(())
}
