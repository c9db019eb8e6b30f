//! Ruby code that once crashed the process, found by attacking the language. Each request must get an answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod support;

use std::time::{Duration, Instant};

use support::{app, get};

/// An `inspect` during which the inspected object gets more variables than its table has room for.
const INSPECTION: &str = "
class Outer
  def initialize; @inner = Inner.new(self); @b = 1; end
  def name; @n1 ||= 'n'; @n2 ||= 'x'; @n3 ||= 'y'; @n4 ||= [1]; @n5 ||= [2]; end
end
class Inner
  def initialize(outer) = @outer = outer
  def inspect = \"inner of #{@outer.name}\"
end
class Fickle
  def initialize; @a = self.class::Copier.new(self); @z = 1; end
  class Copier
    def initialize(of) = @of = of
    def inspect
      @of.send(:initialize_copy, Object.new) rescue nil
      @of.instance_variables.each { |name| @of.remove_instance_variable(name) }
      'x'
    end
  end
end
";

#[test]
fn calls_that_crashed_have_answers() {
    let expressions = [
        ("7.divmod(2.0)", "[3, 1.0]"),
        ("7.divmod(2**64)", "[0, 7]"),
        ("(0.divmod(Float::NAN) rescue $!.class)", "FloatDomainError"),
        ("[].method(:map).arity", "0"),
        ("Object.instance_method(:then).parameters.class", "Array"),
        ("(FoolsGold.send(:last_match=, true) rescue $!.class)", "TypeError"),
        ("(FoolsGold.__last_match(1) rescue $!.class)", "TypeError"),
        ("(FoolsGold.__last_match('x', 2**40) rescue $!.class)", "TypeError"),
        ("500.times { Outer.new.inspect }; GC.start; Outer.new.inspect[/@b=1/]", "\"@b=1\""),
        ("500.times { Fickle.new.inspect }; GC.start; Fickle.new.inspect[0, 9]", "\"#<Fickle:\""),
        ("format('%.70000f', 1.0).size", "70002"),
        ("format('%.70000e', 1.5)[-6..]", "\"00e+00\""),
        ("format('%#.70000g', 1.0).size", "70001"),
        ("(Time.strptime('é', 'é%') rescue $!.class)", "ArgumentError"),
        ("Date._strptime('999999999999999999 5', '%C %y').class", "Hash"),
    ];
    let case = |(at, (ruby, _)): (usize, &(&str, &str))| format!("  when '/{at}' then ({ruby}).inspect\n");
    let cases: String = expressions.iter().enumerate().map(case).collect();
    let app = app(&format!(
        "require 'time'; require 'date'\n{INSPECTION}\n\
         run ->(env) {{\n  body = case env['PATH_INFO']\n{cases}  end\n  [200, {{}}, [body]]\n}}"
    ));
    for _ in 0..2 {
        for (at, (ruby, wanted)) in expressions.iter().enumerate() {
            assert_eq!(&app.got(get(&format!("/{at}"))).body, wanted, "{ruby}");
        }
    }
}

/// Assignments to expressions that cannot be assigned to: the grammar left a number, or nothing, where the rules around
/// it read a node.
#[test]
fn assignments_to_what_cannot_be_assigned_to_are_syntax_errors() {
    let programs = [
        "[1].map { _1 ||= 3 }",
        "[1].map { _1 = 3 }",
        "[1].map { _2 += 3 }",
        "-> { _1 &&= 2 }",
        "[1].map { [2].map { _1 <<= 2 } }",
        "[1].map { _1, x = 3 }",
        "[1].map { x, _1 = 3 }",
        "[1].map { *_1 = 3 }",
        "[1].map { (_1, y), x = 3 }",
        "[1].map { x[0], (_1, y) = 3 }",
        "[1].map { begin; rescue => _1; end }",
        "[1].map { for _1 in [2] do end }",
        "[1].map { for _1, x in [2] do end }",
        "[1].map { |_1| 3 }",
        "[1].map { |x; _1| 3 }",
        "[1].map { |x| _1 ||= 3 }",
        "[1].map { ->(_1: 2) { } }",
        "[1].map { a = _1 = _2 = 2 }",
        "[1].map { _1 = begin; end rescue 3 }",
        "[1].map { _1 ||= puts 3 }",
        "$1, a[0] = 1, 2",
        "a[0], $1 = 1, 2",
        "($1, b), a.c = 1, 2",
        "*$~, a.b = 1",
        "$1 ||= 2",
        "$1 = a 2",
        "$& += 2",
        "begin; rescue => $1; end",
        "for $1 in [2] do end",
        "a&.b += -> () { def > 1 }",
        "a&.b += -> { def 1 }; x = 1 if a..b",
        "->(d = [].map { def > 1 }..",
        "for $1, a.b in [2] do end",
    ];
    let list = programs.map(|program| format!("{program:?}")).join(", ");
    let app = app(&format!(
        "PROGRAMS = [{list}]\nrun ->(env) {{\n  told = begin; eval(PROGRAMS[env['PATH_INFO'][1..].to_i]); 'it runs'\n\
         rescue SyntaxError; 'SyntaxError'; rescue StandardError; 'it runs'; end\n  [200, {{}}, [told]]\n}}"
    ));
    for (at, program) in programs.iter().enumerate() {
        let told = app.got(get(&format!("/{at}"))).body;
        // Bare `$~` may be assigned to.
        assert!(told == "SyntaxError" || program.contains("$~"), "{program}: {told}");
    }
}

/// A lookup among many Symbols once took a millisecond, so that these would have taken minutes.
#[test]
fn many_symbols_are_found_within_a_request() {
    let app = app("
run ->(env) {
  200_000.times { |i| \"symbol number #{i}\".to_sym }
  found = 0
  200_000.times { |i| found += 1 if \"symbol number #{i}\".to_sym.size > 14 }
  [200, {}, [found.to_s]]
}");
    let mut request = get("/");
    request.deadline = Instant::now() + Duration::from_secs(15);
    assert_eq!(app.got(request).body, "200000");
}
