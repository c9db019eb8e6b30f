//! Ruby code for which unpatched mruby silently gives other results than CRuby. The expected results were printed by
//! CRuby 3.1.

use rustix::time::{ClockId, clock_gettime};

use crate::support;
use crate::support::{assert_eval, eval};

#[test]
fn a_bare_raise_in_a_rescue_raises_the_same_exception() {
    assert_eval(
        "begin; begin; raise ArgumentError, 'a'; rescue => e; raise; end; \
         rescue => f; [f.class, f.message, f.equal?(e)]; end",
        "[ArgumentError, \"a\", true]",
    );
    assert_eval(
        "begin; begin; raise ArgumentError, 'a'; rescue; x = [1, 2].map { |i| i.to_s }; raise; end; \
         rescue => f; [f.class, f.message]; end",
        "[ArgumentError, \"a\"]",
    );
    assert_eval("begin; raise; rescue => f; [f.class, f.message]; end", "[RuntimeError, \"\"]");
    assert_eval(
        "begin; raise; rescue => f; [f.inspect, f.detailed_message]; end",
        "[\"RuntimeError\", \"unhandled exception\"]",
    );
}

#[test]
fn dollar_bang_is_the_exception_being_handled_and_nothing_else() {
    assert_eval("a = $!; begin; raise 'x'; rescue; b = $!.message; end; [a, b, $!]", "[nil, \"x\", nil]");
    assert_eval(
        "begin; raise 'x'; rescue; begin; raise 'y'; rescue; c = $!.message; end; d = $!.message; end; [c, d, $!]",
        "[\"y\", \"x\", nil]",
    );
    assert_eval("def inner; $!.message; end; begin; raise 'x'; rescue; inner; end", "\"x\"");
    assert_eval(
        "r = []; begin; begin; raise 'x'; ensure; r << $!.message; end; rescue; end; r << $!; r",
        "[\"x\", nil]",
    );
    assert_eval("r = []; begin; 1; ensure; r << $!; end; r", "[nil]");
    assert_eval(
        "r = []; 3.times { |i| begin; raise i.to_s; rescue; r << $!.message; end }; r << $!",
        "[\"0\", \"1\", \"2\", nil]",
    );
    assert_eval("i = 0; while i < 50_000; begin; raise 'x'; rescue; $!; end; i += 1; end; $!", "nil");
    assert_eval("x = (raise 'a' rescue $!.message); [x, $!]", "[\"a\", nil]");
}

#[test]
fn a_cause_is_kept() {
    assert_eval(
        "begin; begin; raise 'a'; rescue; raise ArgumentError, 'b'; end; \
         rescue => e; [e.message, e.cause.message, e.cause.cause]; end",
        "[\"b\", \"a\", nil]",
    );
    assert_eval(
        "begin; begin; raise 'a'; rescue; nil.nope; end; rescue => e; [e.class, e.cause.message]; end",
        "[NoMethodError, \"a\"]",
    );
    assert_eval("begin; begin; raise 'a'; rescue; raise 'b', cause: nil; end; rescue => e; e.cause; end", "nil");
    assert_eval("begin; raise 'a'; rescue => e; e.cause; end", "nil");
    assert_eval("begin; begin; raise 'a'; rescue => e; raise e; end; rescue => f; f.cause; end", "nil");
}

#[test]
fn what_only_cruby_has_says_what_to_do() {
    for code in ["Ractor.new", "'a'.crypt('bc')", "'a'.undump"] {
        let said = eval(&format!("begin; {code}; rescue NameError => e; e.message; end"));
        assert!(said.contains("docs/writing-apps.md, or run with --engine ruby"), "{code}: {said}");
    }
}

#[test]
fn a_bare_rescue_means_the_standard_error_of_ruby() {
    assert_eval(
        "Object.class_eval(\"module Own; class StandardError < ::StandardError; end; \
         def self.m = (raise 'x' rescue 1); def self.n; raise 'x'; rescue => e; e.message; end; end\"); \
         [Own.m, Own.n]",
        "[1, \"x\"]",
    );
}

#[test]
fn a_clone_that_is_not_frozen_is_a_clone() {
    assert_eval(
        "c = Class.new { attr_accessor :a; def initialize_clone(o, **) = (@a = o.a.dup) }; o = c.new; o.a = {}; \
          def o.only = 1; o.a.freeze; o.freeze; k = o.clone(freeze: false); k.a[:b] = 2; k.a = k.a; \
          [k.a, o.a, k.frozen?, k.only, 'x'.freeze.clone(freeze: false) << 'y', \
           [1].freeze.clone(freeze: false) << 2, (1.clone(freeze: false) rescue $!.message)]",
        "[{:b=>2}, {}, false, 1, \"xy\", [1, 2], \"can't unfreeze Integer\"]",
    );
}

#[test]
fn libraries_that_gems_ask_for_by_name_are_there() {
    assert_eval(
        "q = Queue.new; [q.pop(timeout: 0), defined?(DidYouMean::SpellChecker), \
          DidYouMean::SpellChecker.new(dictionary: %w[hello other]).correct('helo'), \
          DidYouMean.formatter.message_for(%w[a b]), DidYouMean::Correctable.class]",
        "[nil, \"constant\", [\"hello\"], \"\\nDid you mean?  a\\n               b\", Module]",
    );
    assert_eval(
        "require 'openssl'; [OpenSSL::PKey::RSA === 1, [[:EC, :new], [:RSA, :generate]].map { |name, how| \
         begin; OpenSSL::PKey.const_get(name).send(how, 1); rescue NotImplementedError; $!.message[0, 18]; end }]",
        "[false, [\"OpenSSL::PKey::EC:\", \"OpenSSL::PKey::RSA\"]]",
    );
    assert_eval(
        "require 'yaml'; begin; [1].to_yaml; rescue NotImplementedError => e; e.message[0, 39]; end",
        "\"YAML is only read here, and not written\"",
    );
    assert_eval(
        "require 'uri'; [URI::RFC2396_PARSER.regexp[:UNSAFE].match?('é'), URI::RFC2396_PARSER.regexp[:ESCAPED]]",
        "[true, /%[a-fA-F\\d]{2}/]",
    );
}

#[test]
fn at_exit_gives_its_block_back() {
    assert_eval("kept = at_exit { 1 }; [kept.class, kept.call]", "[Proc, 1]");
    assert_eval("begin; at_exit; rescue ArgumentError => e; e.message; end", "\"called without a block\"");
}

#[test]
fn retry_and_else_and_return_in_ensure_work_on() {
    assert_eval("n = 0; begin; n += 1; raise 'x' if n < 3; n; rescue; retry; end", "3");
    assert_eval("begin; 1; rescue; 2; else; 3; ensure; 4; end", "3");
    assert_eval("def m; raise 'x'; ensure; return 5; end; [m, $!]", "[5, nil]");
    assert_eval("r = [1, 2].each { |i| begin; raise 'x'; rescue; break i; end }; [r, $!]", "[1, nil]");
    assert_eval("catch(:done) { 10.times { |i| throw :done, i if i == 3 }; :never }", "3");
}

#[test]
fn floats_print_as_in_cruby() {
    assert_eval(
        "[0.1 + 0.2, 1e20, 1e16, 100.0, 1.0 / 3, 1e-5, 2.5.to_s, \"#{1e2}\", 1.0.inspect]",
        "[0.30000000000000004, 1.0e+20, 1.0e+16, 100.0, 0.3333333333333333, 1.0e-05, \"2.5\", \"100.0\", \"1.0\"]",
    );
}

/// Floats of any magnitude, in literals with the fewest digits and in longer ones, are printed with the fewest digits
/// that read back as the same number. The tests in ruby-stdlib's float.rs compare the form of the text with CRuby's.
#[test]
fn floats_are_read_and_printed_exactly() {
    let digits = |text: &str| text.split('e').next().unwrap().replace(['-', '.'], "").trim_matches('0').to_owned();
    let random = (1..=900_u64).map(|number| f64::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let all = random.chain([f64::from_bits(1), f64::MAX]).filter(|number| number.is_finite());
    for numbers in all.collect::<Vec<f64>>().chunks(100) {
        let literals: Vec<String> = numbers.iter().map(|number| format!("{number:e}, {number:.16e}")).collect();
        let printed = eval(&format!("[{}]", literals.join(", ")));
        let printed: Vec<&str> = printed.trim_matches(['[', ']']).split(", ").collect();
        assert_eq!(printed.len(), 2 * numbers.len(), "{printed:?}");
        for (number, texts) in numbers.iter().zip(printed.chunks(2)) {
            for &text in texts {
                assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(number.to_bits()), "{number:e}: {text}");
                assert_eq!(digits(text), digits(&format!("{number:e}")), "{text}");
            }
        }
    }
    assert_eval("'0.30000000000000004'.to_f == 0.1 + 0.2", "true");
}

#[test]
fn strings_know_utf_8_and_grow_beyond_a_mebibyte() {
    assert_eval("['äöü'.length, 'äöü'.reverse, 'äöü'.bytesize, ('x' * 3_000_000).size]", "[3, \"üöä\", 6, 3000000]");
}

#[test]
fn searching_counts_characters() {
    assert_eval(
        "['äöü'.index('ü'), 'äöü'.index('ö', 2), 'abcabc'.index('c', 3), 'ab'.index('x'), \
        'ab'.index(''), 'ab'.index('', 2), 'ab'.include?('b'), 'aäb'.split('ä')]",
        "[2, nil, 5, nil, 0, 2, true, [\"a\", \"b\"]]",
    );
}

#[test]
fn calls_nest_deeper_than_five_hundred() {
    assert_eval("def down(n) = n == 0 ? 0 : 1 + down(n - 1)\ndown(3000)", "3000");
    assert_eval("def f(n) = f(n + 1)\nbegin; f(0); rescue SystemStackError => e; e.class; end", "SystemStackError");
}

#[test]
fn files_are_required_once_and_know_their_place() {
    let config = "require_relative 'lib'\nrequire_relative './lib'\n$LOAD_PATH.unshift __dir__\nrequire 'other'\n\
                  run ->(e) { [200, {}, [[LOADS, OTHER, File.basename(__FILE__), __dir__ == DIR].inspect]] }";
    let lib = "LOADS = [] unless Object.const_defined?(:LOADS)\nLOADS << 1\nDIR = __dir__";
    let files = [("config.ru", config), ("lib.rb", lib), ("other.rb", "OTHER = require('stringio')")];
    let app = support::try_files(&files, support::settings()).unwrap();
    assert_eq!(app.body("/"), "[[1], false, \"config.ru\", true]");
}

#[test]
fn what_is_missing_says_so_and_what_to_do() {
    for code in ["Thread.new { }", "fork", "File.write('x', 'y')"] {
        let message = eval(&format!("begin; {code}; rescue Exception => e; e.message; end"));
        assert!(message.contains("--engine ruby"), "{code}: {message}");
    }
    assert_eval(
        "begin; Object.new.nothing_of_that_name; rescue NoMethodError => e; \
         e.message.include?('nothing_of_that_name') && !e.message.include?('engine'); end",
        "true",
    );
    assert_eval(
        "ghost = Class.new { def method_missing(name, *args); [name, args]; end }; ghost.new.match(1)",
        "[:match, [1]]",
    );
    assert_eval("nil.foo rescue $!.class", "NoMethodError");
}

#[test]
fn an_encoding_that_is_not_there_is_not_taken_for_ascii() {
    let missing = "Encoding::ConverterNotFoundError";
    assert_eval(r#""\e$B$\"\e(B".encode("UTF-8", "ISO-2022-JP") rescue $!.class"#, missing);
    assert_eval(r#""ä".encode("ISO-2022-JP") rescue $!.class"#, missing);
    assert_eval(r#""ä".encode("UTF-16LE") rescue $!.class"#, missing);
    assert_eval(r#""ab".encode("ISO-2022-JP")"#, "\"ab\"");
}

#[test]
fn small_core_methods_answer_as_in_cruby() {
    assert_eval(
        "[4.even?, 3.odd?, 12.gcd(18), 4.lcm(6), 255.bit_length, -1.bit_length, 7.fdiv(2), :abc.start_with?('a')]",
        "[true, true, 6, 12, 8, 0, 3.5, true]",
    );
    assert_eval(
        "[[1, 2, 4, 5].slice_when { |a, b| b != a + 1 }.to_a, [3, 1, 2].sort_by! { |x| -x }, \
         { a: 1 }.assoc(:a), { a: 1 }.rassoc(1)]",
        "[[[1, 2], [4, 5]], [3, 2, 1], [:a, 1], [:a, 1]]",
    );
    assert_eval(
        "['ä'.ascii_only?, 'a'.ascii_only?, 'a'.force_encoding('UTF-8'), 1.public_send(:+, 2)]",
        "[false, true, \"a\", 3]",
    );
}

#[test]
fn a_do_belongs_to_the_same_call_as_in_cruby() {
    const CALLS: &str = "def outer(*args) = block_given? ? [:outer, args, yield(1)] : [:outer, args]\n\
                         def inner(*args) = block_given? ? [:inner, args, yield(2)] : [:inner, args]\n";
    let check = |code: &str, expected: &str| assert_eval(&format!("{CALLS}{code}"), expected);
    // After an interpolation, in the braces of a command's argument.
    check(
        "outer lambda { |x|\n a = \"x#{x}\"\n r = []\n [1].each do |k|\n r << a + k.to_s\n end\n r }.call(5)",
        "[:outer, [[\"x51\"]]]",
    );
    check("outer ->(x) { \"#{\"#{x}\"}\"; [3].map do |k| k end }.call(1)", "[:outer, [[3]]]");
    check(
        "outer lambda { |x| a = <<~T\n y #{x}\nT\n [3].map do |k| a + k.to_s end }.call(1)",
        "[:outer, [[\"y 1\\n3\"]]]",
    );
    check("outer \"#{[1].map do |k| k end}\" do |x| x end", "[:outer, [\"[1]\"], 1]");
    check("outer a: \"#{1}\" do |x| x end", "[:outer, [{:a=>\"1\"}], 1]");
    check("n = 0; while n < \"#{3}\".to_i do n += 1 end; n", "3");
    check("n = 0; until [1].any? { |k| \"#{k}\"; [2].each do |z| z end; n > 2 } do n += 1 end; n", "3");
    // After a command in braces or brackets, and after a bracket that begins a command's arguments.
    check("outer inner { inner 5 } do |x| x end", "[:outer, [[:inner, [], [:inner, [5]]]], 1]");
    check("outer inner(inner 5) do |x| x end", "[:outer, [[:inner, [[:inner, [5]]]]], 1]");
    check("outer [inner do |x| x end]", "[:outer, [[[:inner, [], 2]]]]");
    check("outer [1, 2] do |x| x end", "[:outer, [[1, 2]], 1]");
    check("outer (1) do |x| x end", "[:outer, [1], 1]");
    check("outer inner(-> (x) { }.class, inner do |x| x end)", "[:outer, [[:inner, [Proc, [:inner, [], 2]]]]]");
    check("outer -> x { inner x }.call(7) do |x| x end", "[:outer, [[:inner, [7]]], 1]");
}

#[test]
fn integers_of_any_size_are_read_whole() {
    assert_eval(
        "[Integer('12345678901234567890'), Integer('-12345678901234567890'), '9223372036854775808'.to_i]",
        "[12345678901234567890, -12345678901234567890, 9223372036854775808]",
    );
    assert_eval(
        "[Integer('-9223372036854775808'), '-92233720368547758081'.to_i, \
         (Integer('12345678901234567890x') rescue 0)]",
        "[-9223372036854775808, -92233720368547758081, 0]",
    );
    assert_eval("JSON.generate(JSON.parse('[12345678901234567890]'))", "\"[12345678901234567890]\"");
}

#[test]
fn half_of_a_surrogate_pair_is_no_json() {
    for half in ["ud83dx", "ude00", "ude00\\\\ud83d", "ud83d\\\\u0041"] {
        let parsed = format!("begin; JSON.parse('[\"\\\\{half}\"]'); rescue JSON::ParserError; 'refused'; end");
        assert_eval(&parsed, "\"refused\"");
    }
    assert_eval("JSON.parse('[\"\\\\ud83d\\\\ude00\"]')", "[\"😀\"]");
}

#[test]
fn unescaping_html_keeps_bytes_that_are_no_text() {
    assert_eval("CGI.unescapeHTML(\"&lt;\\xc8i&gt;\").bytes", "[60, 200, 105, 62]");
}

#[test]
fn a_string_of_any_bytes_can_be_turned_round() {
    assert_eval("\"a\\x8eb\\xf8c\".reverse.bytes", "[99, 248, 98, 142, 97]");
    assert_eval("\"\\u00e4b\".reverse", "\"b\u{e4}\"");
    assert_eval("\"\\x80\\x80\".reverse.bytes", "[128, 128]");
}

#[test]
fn floats_in_json_are_read_exactly() {
    assert_eval(
        "JSON.generate(JSON.parse('[12345.789012345675, 2.2250738585072014e-308]'))",
        "\"[12345.789012345675,2.2250738585072014e-308]\"",
    );
    assert_eval("JSON.parse('[12345.789012345675]') == [12345.789012345675]", "true");
}

#[test]
fn a_step_of_a_local_variable_leaves_the_others_alone() {
    assert_eval("t = 2**64; a = 5; b = 6; t += 1; t -= 2; [t, a, b]", "[18446744073709551615, 5, 6]");
    assert_eval("t = Time.at(7); a = 5; b = 6; t += 1; t -= 2; [t.to_i, a, b]", "[6, 5, 6]");
    assert_eval(
        "plus = Class.new { def +(by) = [:plus, by] }.new; a = 5; b = 6; plus += 1; [plus, a, b]",
        "[[:plus, 1], 5, 6]",
    );
    assert_eval("t = nil; a = 5; b = 6; (t += 1) rescue a += 1; [t, a, b]", "[nil, 6, 6]");
    assert_eval("(2**64..2**64 + 2).to_a", "[18446744073709551616, 18446744073709551617, 18446744073709551618]");
}

#[test]
fn names_of_globals_are_read_whole() {
    assert_eval(
        "$-w = 1; $_name = 2; $name = 3; $_other, $-v = 4, 5; [$-w, $_name, $name, $_other, $-v]",
        "[true, 2, 3, 4, true]",
    );
}

#[test]
fn operands_that_assign_are_not_folded() {
    assert_eval("v = 5; r = v + (t = 1; 1); [r, t]", "[6, 1]");
    assert_eval("x = 1; y = 7 - (x = 2; 3); z = 5 << (x = 4; 3); w = 6 * (x = 5; 3); [x, y, z, w]", "[5, 4, 40, 18]");
    assert_eval("a = 1; a += (a = 200; 300); b = 9; c = b % (b = 1; 4); [a, b, c]", "[301, 1, 1]");
    assert_eval("a = [1, 2, 3]; i = 0; a[i] += if true then i = 2; 10 end; [a, i]", "[[11, 2, 3], 2]");
    assert_eval("[1, 2].map { |v| v + (w = 10; 20) }", "[21, 22]");
    assert_eval(
        "[(nil + 0 rescue $!.class), ('a' + 0 rescue $!.class), 1 + 0, 2 * 3 - 4]",
        "[NoMethodError, TypeError, 1, 2]",
    );
}

#[test]
fn many_pairs_and_keywords_arrive() {
    let pairs = |count: usize| (0..count).map(|at| format!("k{at}: {at}")).collect::<Vec<_>>().join(", ");
    for count in [14, 15, 16, 63, 64, 100] {
        let code = format!(
            "d = {{ x: 1 }}; opts = ->(**o) {{ o.size }};
             [opts.(**d, {0}), opts.(z: 1, **d, {0}), {{}}.merge(**d, {0}).size, opts.({0}), {{ a: 1 }}.merge({0}).size,
              {{ **d, {0} }}.size]",
            pairs(count)
        );
        let wanted = [count + 1, count + 2, count + 1, count, count + 1, count + 1];
        assert_eq!(eval(&code), format!("{wanted:?}"), "{count} pairs");
    }
    let locals = (0..40).map(|at| format!("l{at} = {at}")).collect::<Vec<_>>().join("; ");
    assert_eval(&format!("{locals}; opts = ->(**o) {{ o.size }}; opts.({})", pairs(45)), "45");
}

#[test]
fn what_waits_for_its_file_can_be_asked_for_anywhere() {
    assert_eval(
        "[Kernel.autoload?(:Zork), Module.new.autoload?(:Zork), autoload?(:Zork), Comparable.autoload?(:Zork)]",
        "[nil, nil, nil, nil]",
    );
    assert_eval(
        "Kernel.autoload(:Zork, '/nowhere/zork'); [Kernel.autoload?(:Zork), Object.autoload?(:Zork, false)]",
        "[\"/nowhere/zork\", nil]",
    );
}

#[test]
fn names_of_the_core_are_there_from_the_start() {
    assert_eval(
        "[IO::WaitReadable, IO::EAGAINWaitReadable.ancestors.include?(Errno::EAGAIN), IO::TimeoutError.superclass, \
         File::NOCTTY, FileTest.file?('nowhere'), Process::WNOHANG, Process.last_status, Signal.signame(15)]",
        "[IO::WaitReadable, true, IOError, 256, false, 1, nil, \"TERM\"]",
    );
    assert_eval(
        "[FrozenError.new('x', receiver: 5).receiver, Process.clock_gettime(Process::CLOCK_REALTIME_COARSE) > 1e9]",
        "[5, true]",
    );
    let message = eval("begin; Process.kill(:TERM, 1); rescue NotImplementedError => e; e.message; end");
    assert!(message.contains("--engine ruby"), "{message}");
}

#[test]
fn the_clocks_of_processor_time_do_not_count_waiting() {
    let process_s = || {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
    };
    let before = process_s();
    for code in ["Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)", "Process.times.utime"] {
        let said: f64 = eval(code).parse().unwrap();
        assert!(before <= said && said <= process_s(), "{code}: {said}");
    }
    let waited = "thread, real = Process::CLOCK_THREAD_CPUTIME_ID, Process::CLOCK_MONOTONIC\n\
                  used, began = Process.clock_gettime(thread), Process.clock_gettime(real)\n\
                  sleep 0.1\n\
                  used, took = Process.clock_gettime(thread) - used, Process.clock_gettime(real) - began\n\
                  [used >= 0, used < took / 2, took >= 0.1]";
    assert_eval(waited, "[true, true, true]");
}

/// The error with which an application does not load.
fn refused(config: &str) -> String {
    support::try_app(config, support::settings()).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn patterns_are_refused_with_file_line_and_word_of_it() {
    for code in ["case 1\nin Integer then 2\nend", "x = [1]\nx => [a]", "x = {a: 1}\nputs(1) if x in {a:}"] {
        let error = refused(code);
        assert!(error.contains("config.ru:2: syntax error"), "{error}");
        assert!(error.contains("pattern matching") && error.contains("`case ... when`"), "{error}");
    }
    let error = refused("x = (1 +\n");
    assert!(error.contains("syntax error") && !error.contains("pattern"), "{error}");
}

/// Code that CRuby 3.3 refuses, with a part of its message.
const REFUSED: [(&str, &str); 40] = [
    ("nil = 1", "Can't assign to nil"),
    ("true += 1", "Can't assign to true"),
    ("self = 1", "Can't change the value of self"),
    ("__FILE__ = 1", "Can't assign to __FILE__"),
    ("$& = 1", "Can't set variable $&"),
    ("$1 = 1", "Can't set variable $1"),
    ("def m(a = a); end", "circular argument reference - a"),
    ("def m(a: a); end", "circular argument reference - a"),
    ("proc { |a = a| }", "circular argument reference - a"),
    ("def m; A = 1; end", "dynamic constant assignment"),
    ("def m; A ||= 1; end", "dynamic constant assignment"),
    ("def m; a, A = 1; end", "dynamic constant assignment"),
    ("_1 = 1", "_1 is reserved for numbered parameter"),
    ("-> { _1; -> { _2 } }", "numbered parameter is already used in"),
    ("-> { -> { _1 }; _1 }", "numbered parameter is already used in"),
    ("-> () { _1 }", "ordinary parameter is defined"),
    ("[1].map { || _1 }", "ordinary parameter is defined"),
    ("[1].map { |x| _1 }", "ordinary parameter is defined"),
    ("{a!:}", "identifier a! is not valid to get"),
    ("def m; a = if x; return; else; return; end; end", "void value expression"),
    ("begin; 1; else; 2; end", "else without rescue is useless"),
    ("def m; 1; else; 2; end", "else without rescue is useless"),
    ("def m(*); proc { |*| n(*) } end", "anonymous rest parameter is also used within block"),
    ("def m(**); proc { |**| n(**) } end", "anonymous keyword rest parameter is also used within block"),
    ("def m(&); proc { |&| n(&) } end", "anonymous block parameter is also used within block"),
    ("def m; break; end", "Invalid break"),
    ("def m; next; end", "Invalid next"),
    ("def m; redo; end", "Invalid redo"),
    ("def m; retry; end", "Invalid retry"),
    ("module M; break; end", "break"),
    ("break", "break"),
    ("next", "next"),
    ("redo", "redo"),
    ("retry", "Invalid retry"),
    ("begin; retry; end", "Invalid retry"),
    ("begin; raise; rescue; [1].each { retry }; end", "Invalid retry"),
    ("class C; return; end", "Invalid return in class/module body"),
    ("module M; while true; return; end; end", "Invalid return in class/module body"),
    ("class C; yield; end", "Invalid yield"),
    ("module M; yield; end", "Invalid yield"),
];

#[test]
fn decimals_of_any_size_are_numbers_or_errors() {
    for (code, says) in [
        ("BigDecimal('1').div(3, 2**62)", "at most 50000 digits"),
        ("BigDecimal('1').div(3, 50_001)", "at most 50000 digits"),
        ("BigDecimal('2').sqrt(5_001)", "at most 5000 digits"),
        ("BigDecimal('10').power(2**62)", "exponent of a BigDecimal"),
        ("BigDecimal('10').power(2**59) ** 4", "exponent of a BigDecimal"),
        ("BigDecimal('2') ** 100_000_000", "at most 50000 digits"),
        ("BigDecimal('-3') ** -100_000_000", "at most 50000 digits"),
        ("BigDecimal('2e9').power(2**61, 10)", "exponent of a BigDecimal"),
        ("BigDecimal('10').power(2**59) / BigDecimal('1e-1').power(2**59)", "at most 50000 digits"),
        ("BigDecimal('10').power(2**59) + 1", "at most 50000 digits"),
    ] {
        let said = eval(&format!("require 'bigdecimal'; begin; {code}; rescue RangeError => e; e.message; end"));
        assert!(said.contains(says), "{code}: {said}");
    }
    // Rounded, where the exact power has too many digits; as CRuby prints it.
    assert_eval("require 'bigdecimal'; BigDecimal('1.0000001').power(100_000_000, 10)", "0.2202645478e5");
    for code in ["round(-2**60)", "floor", "divmod(7).size", "hash.class", "exponent", "to_f", "<=> 3", "inspect"] {
        let on = format!("BigDecimal('10').power(2**59).{code}").replace(".<=>", " <=>");
        let said = eval(&format!("require 'bigdecimal'; begin; {on}; rescue StandardError => e; e.class; end"));
        assert!(!said.is_empty() && !said.contains("NoMethodError"), "{code}: {said}");
    }
}

#[test]
fn what_cruby_refuses_to_load_is_refused_with_file_line_and_words() {
    for (code, words) in REFUSED {
        let error = refused(&format!("1\n{code}\nrun ->(env) {{ [200, {{}}, []] }}\n"));
        assert!(error.contains("config.ru:2: ") && error.contains(words), "{code}: {error}");
        let code = code.replace('\\', "\\\\").replace('"', "\\\"");
        let said =
            eval(&format!("begin; eval '{}'; rescue SyntaxError => e; e.message; end", code.replace('\'', "\\'")));
        assert!(said.contains("(eval):1: ") && said.contains(words), "{code}: {said}");
    }
}

#[test]
fn what_is_near_to_that_is_taken() {
    for (code, wanted) in [
        ("def near(a = 1, b = a) = [a, b]; near", "[1, 1]"),
        ("a = 1; ->(b = a) { b }.call", "1"),
        ("def near(a, b = ->(a) { a }.(2)) = [a, b]; near(1)", "[1, 2]"),
        ("->(x) { [3].map { _1 } }.call(1)", "[3]"),
        ("-> () { [3].map { _1 } }.call", "[3]"),
        ("a = if true; 4; else; return; end; a", "4"),
        ("b = 1; {b:}", "{:b=>1}"),
        ("def near(*) = [1].map { [*] }; near(1, 2)", "[[1, 2]]"),
        ("[1, 2].each { |x| begin; next; ensure; x; end }", "[1, 2]"),
        ("r = /a/ if false; r", "nil"),
        ("r = /a/e if false; r", "nil"),
        ("begin; /a/s; rescue RegexpError => e; e.message[/--engine ruby/]; end", "\"--engine ruby\""),
        ("begin; x = 1; /#{x}/e; rescue RegexpError => e; e.message[/EUC-JP/]; end", "\"EUC-JP\""),
    ] {
        assert_eval(code, wanted);
    }
}
