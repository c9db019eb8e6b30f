//! Measures (not committed).
#[path = "../tests/support/mod.rs"]
mod support;
use engine::Engine;
use std::time::Instant;
fn rss() -> u64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    s.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap().trim().split(' ').next().unwrap().parse().unwrap()
}
fn main() {
    let extra = std::env::args().nth(1).unwrap_or_default();
    let config = format!("{extra}\nrun ->(env) {{ [200, {{}}, ['x']] }}");
    let t = Instant::now();
    let first = support::app(&config);
    println!("first engine of 2: {:?}", t.elapsed());
    drop(first);
    let settings = engine_mruby::Settings { interpreters: 1, fresh: true, ..support::settings() };
    let app = support::try_app(&config, settings).unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..50 {
        app.body("/");
    }
    let mut best = f64::MAX;
    for _ in 0..5 {
        let t = Instant::now();
        for _ in 0..200 {
            app.body("/");
        }
        best = best.min(t.elapsed().as_secs_f64() / 200.0);
    }
    println!("fresh request: {:.0} us", best * 1e6);
    drop(app);
    let before = rss();
    let settings = engine_mruby::Settings { interpreters: 100, ..support::settings() };
    let app = support::try_app(&config, settings).unwrap_or_else(|e| panic!("{e}"));
    println!("memory each: {} KiB", (rss() - before) / 100);
    let _ = app.engine.status();
}
