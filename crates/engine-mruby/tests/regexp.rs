//! Regular expressions in Ruby: what has no single value to compare (frames, time, memory); values are compared with
//! CRuby's by tests/spec.rs.

mod support;

use support::{app, get};

/// Runs Ruby code in a request; what it returns, inspected.
fn eval(code: &str) -> String {
    let config = format!("def check\n{code}\nend\nrun ->(env) {{ [200, {{}}, [check.inspect]] }}");
    app(&config).body("/")
}

#[test]
fn basics() {
    assert_eq!(eval("['abc' =~ /b/, $~[0], $1, 'xay'.sub(/a/) { |m| m.upcase }, 'a,b'.split(/,/)]"),
        "[1, \"b\", nil, \"xAy\", [\"a\", \"b\"]]");
}
