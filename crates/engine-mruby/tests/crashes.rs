//! What ended the process once: calls of the language itself that an attacker found, each of which must have an answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod support;

use std::time::{Duration, Instant};

use support::{app, get};

/// An inspection during which the inspected object gets more variables than its table has room for.
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

/// Lookups among many symbols took a millisecond each once: these would have taken minutes.
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
