//! Regular expressions in ways that no single value shows: the owner of a match, blocks, time and memory. Values are
//! compared with CRuby's in spec.rs.

use std::time::{Duration, Instant};

use crate::support::{app, assert_ends_in_time, assert_eval, wait, within};
use engine::{Engine, Fault};

#[test]
fn a_match_belongs_to_its_method() {
    let config = "
class Sub; def m; 'inner' =~ /n+/; $&; end; def none; $~; end; end
run ->(env) do
  'outer' =~ /t/
  inner = [Sub.new.m, Sub.new.none]
  seen = nil
  [1].each { |i| 'block' =~ /l/ }
  'abc'.gsub(/b/) { seen = $&; Sub.new.m }
  [200, {}, [[inner, seen, $&].inspect]]
end";
    let app = app(config);
    assert_eq!(app.body("/"), "[[\"nn\", nil], \"b\", \"b\"]");
    assert_eq!(app.body("/"), "[[\"nn\", nil], \"b\", \"b\"]");
}

#[test]
fn blocks_may_do_all_that_blocks_can() {
    assert_eval("'a1b2'.scan(/\\d/) { |d| break d }", "\"1\"");
    assert_eval("'a1b2'.gsub(/\\d/) { |d| return d + '!' }", "\"1!\"");
    assert_eval("begin; 'a1'.gsub(/\\d/) { raise 'x' }; rescue => e; e.message; end", "\"x\"");
    assert_eval(
        "f = Fiber.new { 'a1b2'.gsub(/\\d/) { |d| Fiber.yield(d) } }; [f.resume, f.resume('x'), f.resume('y')]",
        "[\"1\", \"2\", \"axby\"]",
    );
    assert_eval("s = +'aaa'; s.gsub(/a/) { s << 'b'; 'c' }", "\"ccc\"");
    assert_eval("'a1b2'.gsub(/\\d/).with_index { |d, i| (d.to_i + i).to_s }", "\"a1b3\"");
}

#[test]
fn literals_name_locals_and_are_made_once() {
    assert_eval("if /(?<year>\\d+)-(?<month>\\d+)/ =~ 'in 2024-05'; [year, month]; end", "[\"2024\", \"05\"]");
    assert_eval("/(?<a>x)/ =~ 'y'\n[a, /(?<a>x)/ =~ 'ax', a]", "[nil, 1, \"x\"]");
    assert_eval("n = 0; 3.times.map { |i| /#{n += 1}/o.source } + [n]", "[\"1\", \"1\", \"1\", 1]");
    assert_eval("3.times.map { /a/.object_id }.uniq.size", "1");
    assert_eval("%r{a\\{2\\}}.match?('a{2}')", "true");
}

#[test]
fn matches_outlive_much_rubbish() {
    assert_eval(
        "kept = []; 20_000.times { |i| m = \"k#{i} v\".match(/(\\w)(\\d+) (?:v)?/); kept << m if i % 1000 == 0 }\n\
         [kept.size, kept[3].to_a, kept[19].pre_match]",
        "[20, [\"k3000 v\", \"k\", \"3000\"], \"\"]",
    );
    assert_eval(
        "s = 'ab' * 50_000; [s.gsub(/b/, 'xyz').size, s.scan(/ab/).size, s.split(/b/).size]",
        "[200000, 50000, 50000]",
    );
}

#[test]
fn a_block_for_each_match_of_a_long_text_takes_linear_time() {
    // With letters beyond ASCII it takes longest to look at the whole text. The request has ten seconds.
    let text = "s = 'aaaaaaaaaé' * 100_000";
    assert_eval(&format!("{text}; s.gsub(/é/) {{ |e| e.upcase }}.count('É')"), "100000");
    assert_eval(&format!("{text}; n = 0; s.scan(/a(é)/) {{ n += 1 }}; n"), "100000");
    assert_eval(&format!("{text}; s.scan('é') {{ s = nil }}.size"), "1000000");
    // The text is searched as it was, whatever the block does to the String.
    assert_eval("s = +'aéa'; s.gsub(/a|é/) { |m| s.replace(\"\\xff\".b); m + '-' }", "\"a-é-a-\"");
}

const HOSTILE: &str = r#"
TEXT = "a" * 30_000
run ->(env) {
  case env["PATH_INFO"]
  when "/back" then TEXT =~ /(?=(a+))(a|a)*(a|a)*\1b/
  when "/again" then begin; TEXT =~ /\G(?:a|a|aa)+(?!a)(?<=b)/; rescue Exception; retry; end
  when "/gsub" then while true; TEXT.gsub(/a/, "b"); end
  when "/scan" then ("a" * 200_000).scan(/a*?b|(?<!c)a(?=a*c)/)
  when "/replace" then ("a" * 3000).gsub(/a/) { TEXT.gsub(/(?<=a)a/, "bb"); "" }
  when "/scanner" then s = StringScanner.new(TEXT); while true; s.pos = 0; s.skip(/a+/); end
  when "/timeout"
    Regexp.timeout = 0.02
    begin; TEXT =~ /(?=(a+))(a|a)*(a|a)*\1b/; rescue Regexp::TimeoutError => e; return [200, {}, [e.message]]
    ensure Regexp.timeout = nil; end
  when "/own"
    begin; Regexp.new('(?=(a+))(a|a)*(a|a)*\1b', timeout: 0.02) =~ TEXT
    rescue Regexp::TimeoutError => e; return [200, {}, [e.class.to_s]]; end
  when "/deep"
    begin; Regexp.new("(" * 5000 + ")" * 5000); rescue RegexpError => e; return [200, {}, [e.class.to_s]]; end
  when "/left"
    begin; "x" =~ Regexp.new('(?<a>\g<a>x)'); rescue RegexpError => e; return [200, {}, [e.class.to_s]]; end
  when "/many" then kept = []; i = 0; while true; kept << Regexp.new("(?<n#{i}>x#{i})[[:alpha:]]+"); i += 1; end
  when "/big" then Regexp.new("(?:[[:alpha:]]{500}){500}").match?("a" * 100)
  end
  [200, {}, ["fine"]]
}"#;

#[test]
fn hostile_patterns_end_in_time_and_disturb_nobody() {
    let app = app(HOSTILE);
    for path in ["/back", "/again", "/gsub", "/scan", "/replace", "/scanner"] {
        assert_ends_in_time(&app, path, 150, Duration::from_secs(3));
    }
    assert_eq!(app.body("/timeout"), "regexp match timeout");
    assert_eq!(app.body("/own"), "Regexp::TimeoutError");
    assert_eq!(app.body("/deep"), "RegexpError");
    assert_eq!(app.body("/left"), "RegexpError");
    assert_eq!(app.body("/big"), "fine");
}

#[test]
fn patterns_count_as_memory() {
    let app = app(HOSTILE);
    match app.fault(within("/many", 20_000)) {
        Fault::OutOfMemory(over) => assert_eq!(over.limit, 32 << 20),
        other => panic!("{other:?}"),
    }
    assert_eq!(app.body("/ok"), "fine");
}

#[test]
fn a_long_search_leaves_the_other_interpreter_to_others() {
    let app = app(HOSTILE);
    let long = app.engine.call(within("/back", 150));
    let begin = Instant::now();
    assert_eq!(app.body("/ok"), "fine");
    assert!(begin.elapsed() < Duration::from_millis(140), "{:?}", begin.elapsed());
    assert!(wait(long).result.is_err());
}
