//! Tables of expressions with CRuby's answers; each expression runs in a request of its own.

use std::time::{Duration, Instant};

use super::App;

/// An application that answers with the value of the Ruby expression in the query.
pub const ANSWER: &str = "
run ->(env) {
  code = CGI.unescape(env['QUERY_STRING'])
  value = begin
    FoolsGold.run_source(code, '(test)', FoolsGold::TOP).inspect
  rescue Exception => error
    \"#{error.class}: #{error.message}\"
  end
  [200, {}, [value]] }";

/// The value of an expression, or `Class: message` of the exception it raised.
pub fn value(app: &App, code: &str) -> String {
    let escaped: String = code.bytes().map(|byte| format!("%{byte:02X}")).collect();
    app.body(&format!("/?{escaped}"))
}

/// Checks how the value of an expression begins, which is there soon.
#[track_caller]
pub fn assert_begins(app: &App, code: &str, expected: &str) {
    let begin = Instant::now();
    let got = value(app, code);
    assert!(got.starts_with(expected), "{code}: {got}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{code}: {:?}", begin.elapsed());
}

/// Whether all expressions of a table have the same answers as on CRuby.
pub fn agrees(app: &App, name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables");
    let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
    let mut others = Vec::new();
    for case in lines.chunks(2) {
        let (code, expected) = (case[0], case[1].strip_prefix("#=> ").unwrap());
        let got = value(app, code);
        let same = expected.strip_prefix("! ").map_or(got == expected, |class| got.starts_with(&format!("{class}: ")));
        if !same {
            others.push(format!("{code}\n  CRuby: {expected}\n  here:  {got}"));
        }
    }
    assert!(lines.len() > 40, "{name} has {} lines", lines.len());
    assert!(others.is_empty(), "{} of {} differ:\n{}", others.len(), lines.len() / 2, others.join("\n"));
}
