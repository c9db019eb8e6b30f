//! Ruby code that once crashed the process, found by attacking the language. Each request must get an answer.

use crate::support::{app, app_with, get, settings, single, within};
use engine::Fault;
use engine_mruby::Settings;

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

/// The message of a SystemStackError, inspected.
const DEEP: &str = "\"stack level too deep\"";

/// Objects whose conversions move the stack, and change what is being read.
const CONVERSIONS: &str = "
require 'strscan'
class Deep
  def to_s = Fiber.new { \"#{Deep.new}\" }.resume
end
def deep(n) = n == 0 ? 0 : 1 + deep(n - 1)
def grow
  deep(3500)
  $kept = Array.new(300) { |i| 'z' * (i % 1500 + 40) }
  GC.start
  nil
end
class Name
  def initialize(name) = @name = name
  def to_str = (grow; @name)
end
class Swap
  def initialize(scanner, anew) = (@scanner, @anew = scanner, anew)
  def to_str
    @anew ? @scanner.send(:initialize, 'b') : @scanner.string = 'b'
    GC.start
    $kept = Array.new(3000) { 'y' * 200 }
    'a'
  end
end
module Missing
  def self.const_missing(name) = ($path.replace('x'); grow; self)
end
";

/// The name of a header, and the status for a callable, were held by C alone, which the collector does not see.
#[test]
fn an_application_may_empty_its_answer_while_it_is_read() {
    let config = "
JUNK = -> { GC.start; $kept = Array.new(20_000) { 'y' * 30 } }
class Emptying
  def initialize(list) = @list = list
  def to_s = (@list.clear; JUNK.call; 'value')
end
class Pairs
  def each
    pair = ['x-' + 'name']
    pair << Emptying.new(pair)
    yield pair
  end
end
run ->(env) {
  case env['PATH_INFO']
  when '/headers' then [200, Pairs.new, ['fine']]
  when '/seen' then [200, {}, [$seen.inspect]]
  else
    answer = ['2' + '00', {}, ['fine']]
    # The last one is called first.
    env['rack.response_finished'] << ->(_, status, *) { $seen = status }
    env['rack.response_finished'] << ->(*) { answer.clear; JUNK.call }
    answer
  end
}";
    let app = app_with(config, Settings { interpreters: 1, ..settings() });
    for _ in 0..3 {
        assert_eq!(app.got(get("/headers")).headers, [("x-name".to_owned(), "value".to_owned())]);
        assert_eq!(app.body("/"), "fine");
        assert_eq!(app.body("/seen"), "\"200\"");
    }
}

/// The rest of the outer value was read from memory of Rust that the inner call had freed.
#[test]
fn a_value_may_be_read_while_the_keys_of_another_are_hashed() {
    let app = app("
class Array
  alias plain_hash hash
  alias plain_eql? eql?
  def hash = (FoolsGold.store['other']; plain_hash)
  def eql?(other) = (FoolsGold.store['other']; plain_eql?(other))
end
run ->(env) {
  value = 100.times.to_h { |n| [[n], \"value #{n}\"] }
  # About as long as the other when encoded, so that it takes the same place.
  FoolsGold.store['other'] = 'x' * 2650
  FoolsGold.store['value'] = value
  [200, {}, [(FoolsGold.store['value'].to_a == value.to_a).to_s]]
}");
    (0..3).for_each(|_| assert_eq!(app.body("/"), "true"));
}

/// Nothing limited the C stack while an exception was reported, and the process died of its overflow.
#[test]
fn an_exception_whose_message_never_ends_is_reported() {
    let config = "
class Deep < StandardError
  def initialize(left = 200) = @left = left
  def to_s = @left.zero? ? Fiber.new { \"#{Deep.new}\" }.resume : \"#{Deep.new(@left - 1)}\"
end
run ->(env) { env['PATH_INFO'] == '/deep' ? raise(Deep) : [200, {}, ['fine']] }";
    let app = app_with(config, single());
    for _ in 0..2 {
        match app.fault(within("/deep", 20_000)) {
            Fault::App(error) => assert_eq!(error.class, "Deep"),
            other => panic!("{other:?}"),
        }
        assert_eq!(app.body("/"), "fine");
    }
}

#[test]
fn callables_after_the_answer_may_empty_the_environment() {
    let app = app("run lambda { |env|
      list = env['rack.response_finished']
      40.times { list << lambda { |*_| nil } }
      list << lambda { |e, *_| e.clear; GC.start; $kept = Array.new(5000) { 'x' * 330 } }
      [200, {}, ['fine']] }");
    (0..5).for_each(|_| assert_eq!(app.body("/"), "fine"));
}

/// Our libraries are compiled by a process each, and an application by another one: their counts of such patterns began
/// with the same number, and Pathname looked for the application's pattern without end.
#[test]
fn a_pattern_that_is_made_once_is_that_of_its_file() {
    let app = app("def found(part) = 'ab' =~ /#{part}/o
      FOUND = 12.times.map { |n| [found('b'), eval(\"'ab' =~ /\\#{'a'}/o\")] }
      require 'pathname'
      run ->(env) { [200, {}, [FOUND.uniq.inspect, Pathname.new('/a/../b/./c.rb').cleanpath.to_s]] }");
    assert_eq!(app.body("/"), "[[1, 0]]/b/c.rb");
}

#[test]
fn an_engine_may_end_while_ruby_runs_after_an_answer() {
    for _ in 0..10 {
        let app = app("run lambda { |env|
          env['rack.response_finished'] << lambda { |*_| 3_000_000.times { |n| n.to_s } }
          [200, {}, ['fine']] }");
        assert_eq!(app.body("/"), "fine");
    }
}

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
        ("(Regexp.new('a' + '*' * 1_000_000) rescue $!.class)", "RegexpError"),
        ("(Regexp.new('(' * 150 + 'a' + '*+?){2}' * 150) rescue $!.class)", "RegexpError"),
        ("'ab'.sub(/(?=ab\\K)/, '[\\0]')", "\"[]ab\""),
        ("'aaa'.gsub(/(?<=\\Ka)a/, 'x')", "\"xx\""),
        ("begin; Deep.new.to_s; rescue FiberError; $!.class; end", "FiberError"),
        ("begin; alias $one $two; alias $two $three; alias $three $one; $three = 5; $one; end", "5"),
        ("(File.fnmatch('{}' * 60_000, 'x', File::FNM_EXTGLOB))", "false"),
        ("File.fnmatch('{a,b}{c,d{e,f}}', 'bdf', File::FNM_EXTGLOB)", "true"),
        ("(Class.new { define_method(:size, String.instance_method(:size)) }.new.size rescue $!.class)", "TypeError"),
        ("Class.new(String) { define_method(:length_of, String.instance_method(:size)) }.new('abc').length_of", "3"),
        ("(Regexp.new('x', Hash.new { |_, _| grow }) =~ 'ax')", "1"),
        (
            "Class.new { def a = 1; def b = 2; private Name.new('a'), :b }.private_instance_methods(false).sort",
            "[:a, :b]",
        ),
        ("scanner = StringScanner.new('aab'); scanner.scan_until(Swap.new(scanner, false)); scanner.string", "\"b\""),
        ("scanner = StringScanner.new('aab'); (scanner.scan_until(Swap.new(scanner, true))); scanner.string", "\"b\""),
        ("path = +'Missing::Ones'; $path = path; Missing.const_get(path)", "Missing"),
        ("(Object.const_get('Float::DIG::A') rescue $!.class)", "TypeError"),
        ("(Object.const_get('RUBY_VERSION::A') rescue $!.class)", "TypeError"),
        ("(Object.const_defined?('Float::DIG::A') rescue $!.class)", "TypeError"),
        ("(Class.new { class_eval('1 + 1', Name.new('file')) }.name)", "nil"),
        ("'abc'.start_with?(*['x'] * 20, /b/, *[], **{ a: 1 }) rescue $!.class", "TypeError"),
        ("l = []; 70_000.times { l << -> { raise 'x' } }; (l[0].call rescue $!.message)", "\"x\""),
        ("a = []; 200_000.times { a = [a] }; begin; a.join; rescue SystemStackError => e; e.message; end", DEEP),
        ("a = []; 1000.times { a = [a, 1] }; a.join.size", "1000"),
    ];
    let case = |(at, (ruby, _)): (usize, &(&str, &str))| format!("  when '/{at}' then ({ruby}).inspect\n");
    let cases: String = expressions.iter().enumerate().map(case).collect();
    let app = app(&format!(
        "require 'time'; require 'date'\n{INSPECTION}{CONVERSIONS}\n\
         run ->(env) {{\n  body = case env['PATH_INFO']\n{cases}  end\n  [200, {{}}, [body]]\n}}"
    ));
    for _ in 0..2 {
        for (at, (ruby, wanted)) in expressions.iter().enumerate() {
            assert_eq!(&app.body(&format!("/{at}")), wanted, "{ruby}");
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
        "PROGRAMS = [{list}]\nrun ->(env) {{\n  text = begin; eval(PROGRAMS[env['PATH_INFO'][1..].to_i]); 'it runs'\n\
         rescue SyntaxError; 'SyntaxError'; rescue StandardError; 'it runs'; end\n  [200, {{}}, [text]]\n}}"
    ));
    for (at, program) in programs.iter().enumerate() {
        let body = app.body(&format!("/{at}"));
        // Bare `$~` may be assigned to.
        assert!(body == "SyntaxError" || program.contains("$~"), "{program}: {body}");
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
    assert_eq!(app.got(within("/", 15_000)).body, "200000");
}

/// Counters of 16 bits in generated code once wrapped, and the process died.
#[test]
fn code_that_is_too_large_is_a_syntax_error() {
    let app = app("
run ->(env) {
  code = case env['PATH_INFO']
         when '/floats' then '[' + (1..66_000).map { |i| \"#{i}.5\" }.join(',') + '].last'
         when '/strings' then '[' + (1..66_000).map { |i| \"'a#{i}'\" }.join(',') + '].last'
         when '/variables' then (1..65_600).map { |i| \"a#{i}=1\" }.join(';')
         else '[' + (1..60_000).map { |i| \"#{i}.5\" }.join(',') + '].last'
         end
  text = begin; eval(code).to_s; rescue SyntaxError => e; e.message[/too many [a-z ]+/]; end
  [200, {}, [text]]
}");
    let literals = "too many literals";
    let cases =
        [("/floats", literals), ("/strings", literals), ("/variables", "too many local variables"), ("/", "60000.5")];
    for (path, body) in cases {
        assert_eq!(app.got(within(path, 20_000)).body, body, "{path}");
    }
}

/// The collector had looked at the Hash before `replace` copied the pairs of another one into it, and freed them.
#[test]
fn the_pairs_of_a_replaced_hash_live_as_long_as_it() {
    let app = app("
KEPT, COPIED = {}, {}
run ->(env) {
  GC.start
  lost = (0...200).reject do |at|
    KEPT.replace(\"key#{at}\" => \"value#{at}\")
    COPIED.send(:initialize_copy, { \"key#{at}\" => \"value#{at}\" })
    300.times { |other| [\"x#{other}\", -> { other }] }
    [KEPT, COPIED].all? { |hash| hash.to_a == [[\"key#{at}\", \"value#{at}\"]] }
  end
  [200, {}, [lost.inspect]]
}");
    assert_eq!(app.body("/"), "[]");
}
