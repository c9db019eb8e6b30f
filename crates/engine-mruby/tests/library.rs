//! The library under attack: a request with large, deep or long data ends in time, and the next one is served.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::support::{app, app_with, settings, until, within};
use engine::Engine;

/// Expressions, each run in one request of 300 ms; the answer may be a value, an exception's name or a fault.
const HOSTILE: [(&str, &str); 38] = [
    ("bomb", "s = \"\\0\" * 20_000_000; 9.times { s = Zlib.deflate(s) }; 9.times { s = Zlib.inflate(s) }; s.size"),
    ("stretched", "OpenSSL::KDF.pbkdf2_hmac('p', salt: 's', iterations: 1 << 40, length: 32, hash: 'SHA512').size"),
    ("wide", "format('%999999999d', 1).size"),
    ("digits", "format('%.999999999f', 1.0).size"),
    ("big", "format('%x', 10**60_000).size"),
    ("many", "('%d' * 1_000_000) % ([1] * 1_000_000) && 1"),
    ("padded", "[1].pack('x999999999').size"),
    ("repeated", "'a'.unpack('C*' * 100_000).size"),
    ("counted", "'a'.unpack('C999999999').size"),
    ("strftime", "Time.now.strftime('%999999999d').size"),
    ("strftimes", "Time.now.strftime('%N' * 1_000_000).size"),
    ("dates", "(Date.new(1)..Date.new(9_999_999)).each { |d| d }; 1"),
    ("guess", "Date.parse('1' * 100_000)"),
    ("guesses", "Date._parse(', :-+./T1a' * 12).size"),
    ("strptime", "Date.strptime('1' * 100_000, '%Y' * 100_000)"),
    ("json", "JSON.parse('[' * 1_000_000)"),
    ("jsons", "JSON.parse('[' * 99 + '1,' * 5_000_000 + '1' + ']' * 99).size"),
    ("marshal", "Marshal.load(\"\\x04\\x08\" + \"[\\x06\" * 100_000 + '0')"),
    ("marshals", "Marshal.load(\"\\x04\\x08[\\x04\\xff\\xff\\xff\\x7f\" + 'T' * 100).size"),
    ("uri", "URI.parse('http://' + '%41' * 20_000 + '/').to_s.size"),
    ("erb", "ERB.new('<% x %>' * 200_000).src.size"),
    ("yaml", "YAML.load('[' * 100_000)"),
    ("yamls", "YAML.load('- a\n' * 500_000).size"),
    ("yaml-keys", "YAML.load('{a: ' * 50_000)"),
    ("yaml-anchors", "YAML.load('a: &a [x]\n' + 'b: *a\n' * 50_000)"),
    ("decimal", "(BigDecimal('1e1000000000') + 1).to_s.size"),
    ("decimals", "BigDecimal('9' * 1_000_000).to_s.size"),
    ("decimal-power", "(BigDecimal('1.1')**1_000_000_000).to_s.size"),
    ("decimal-power-of-two", "(BigDecimal('2')**100_000_000).to_s.size"),
    ("modular-power", "3.pow(3**20_000, 7**10_000) % 10"),
    ("decimal-root", "BigDecimal('2').sqrt(1_000_000_000).to_s.size"),
    ("decimal-far", "(BigDecimal('1e1000000000').sqrt(2) / 3).round(-1_000_000_001).to_s.size"),
    ("decimal-rest", "BigDecimal('1e1000000000').divmod(BigDecimal('1e-1000000000')).to_s.size"),
    ("rational", "Rational('1e1000000000').to_s.size"),
    ("normal", "('é' * 3_000_000).unicode_normalize(:nfd).size"),
    ("tr", "('é' * 3_000_000).tr('a-é', 'b').size"),
    ("temporary", "400.times.map { Tempfile.new('x') }.size"),
    ("filled", "t = Tempfile.new('x'); 3000.times { t.write('x' * 1_000_000) }; t.size"),
];

#[test]
fn what_is_large_or_long_ends_in_time_and_the_next_request_is_served() {
    let cases: String = HOSTILE.iter().map(|(name, code)| format!("when '/{name}' then {code}\n")).collect();
    let config = format!(
        "require 'zlib'; require 'openssl'; require 'time'; require 'date'; require 'json'; require 'erb'\n\
         require 'uri'; require 'tempfile'; require 'yaml'; require 'bigdecimal'\n\
         run ->(env) {{ [200, {{}}, [begin\n case env['PATH_INFO']\n when '/ok' then 'fine'\n{cases}end\n\
         rescue StandardError, NoMemoryError, SystemStackError => e\n e.class\n end.to_s]] }}"
    );
    let app = app(&config);
    for (name, _) in HOSTILE {
        let begin = Instant::now();
        let answer = app.call(within(&format!("/{name}"), 300)).result;
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "{name} took {took:?}: {answer:?}");
        assert_eq!(app.body("/ok"), "fine", "after {name}");
    }
}

fn assert_goes(path: &str) {
    until("the file is gone", || !std::path::Path::new(path).exists());
}

#[test]
fn a_temporary_file_is_gone_with_its_request() {
    let app = app(
        "require 'tempfile'\nrun ->(env) { $kept = Tempfile.new('kept'); $kept.write('x'); [200, {}, [$kept.path]] }",
    );
    let path = app.body("/");
    assert_goes(&path);
}

#[test]
fn a_temporary_file_of_the_application_stays_until_its_interpreter_ends() {
    let config = "require 'tempfile'\nKEPT = Tempfile.new('kept')\nrun ->(env) { [200, {}, [KEPT.path]] }";
    let app = app_with(config, engine_mruby::Settings { interpreters: 1, ..settings() });
    let path = app.body("/");
    assert!(std::path::Path::new(&path).exists());
    assert_eq!(app.body("/"), path);
    drop(app);
    assert_goes(&path);
}

#[test]
fn random_numbers_are_others_in_each_interpreter_and_generator() {
    let config = "run ->(env) {
        numbers = [rand(1..10**9), rand(10**9), Random.rand(10**9), Random.new.rand(10**9), Random.new.rand(10**9)]
        [200, {}, [numbers.join(' ')]] }";
    let mut numbers = HashSet::new();
    for body in [app(config).body("/"), app(config).body("/")] {
        for number in body.split(' ') {
            assert!(numbers.insert(number.to_owned()), "{number} twice: {body}, {numbers:?}");
        }
    }
}

#[test]
fn random_numbers_are_fair_and_those_of_a_seed_the_same() {
    let app = app("
def drawn(random) = [random.rand(10**12), random.rand(1..6), random.rand(2**80), random.rand]
def fair?(counts, around) = counts.values.all? { |count| (count - around).abs < around * 0.2 }
run ->(env) {
  value = case env['PATH_INFO']
  when '/large' then 1000.times.map { rand(10**12) }.max > 900_000_000_000
  when '/float' then 1000.times.any? { (rand * 2**53).to_i.odd? }
  when '/orders' then fair?(Array.new(12_000) { [1, 2, 3].shuffle }.tally, 2000)
  when '/parts' then fair?(Array.new(12_000) { [1, 2, 3].sample(2) }.tally, 2000)
  when '/sample'
    seen = [0] * 100_000
    (0...100_000).to_a.sample(100_000).each { |number| seen[number] += 1 }
    seen.uniq == [1]
  when '/few' then (0...100_000).to_a.sample(300).uniq.size == 300
  when '/seed' then drawn(Random.new(42)) == drawn(Random.new(42)) && drawn(Random.new(42)) != drawn(Random.new(43))
  when '/seeds' then drawn(Random.new(1)) != drawn(Random.new(1 + 2**32))
  when '/srand'
    list = [*1..9]
    2.times.map { srand(7); [rand(1..10**9), rand(10**9), Random.rand, list.shuffle, list.sample(4)] }.uniq.size == 1
  end
  [200, {}, [value.inspect]]
}");
    for path in ["/large", "/float", "/orders", "/parts", "/sample", "/few", "/seed", "/seeds", "/srand"] {
        assert_eq!(app.body(path), "true", "{path}");
    }
}

/// 2000 results of some 20 KB would not fit in the memory of an interpreter.
#[test]
fn integers_that_are_refused_leave_no_memory_behind() {
    let app = app("
MOST = (2**131_071) * (2**131_071)
LARGE = 2**200_000 + 1
run ->(env) {
  refused = 0
  2000.times do
    case env['PATH_INFO']
    when '/power' then 10**100_000
    when '/border' then 2**262_143
    when '/shift' then 1 << 262_143
    when '/difference' then MOST - -MOST
    when '/modular' then LARGE.pow(3, MOST)
    end
  rescue RangeError
    refused += 1
  end
  [200, {}, [refused.to_s]]
}");
    for path in ["/power", "/border", "/shift", "/difference", "/modular"] {
        assert_eq!(app.body(path), "2000", "{path}");
    }
    assert_eq!(app.engine.status().restarts, 0);
}

#[test]
fn a_string_of_bytes_comes_back_from_the_store_as_one() {
    let app = app("
run ->(env) {
  store = FoolsGold.store
  found = ['\u{e9}'.b, \"\\xff\".b, '\u{e9}', ['\u{e9}'.b]].map { |value| store['a'] = value; store['a'] == value }
  [200, {}, [found.join(' ')]]
}");
    assert_eq!(app.body("/"), "true true true true");
}

#[test]
fn a_number_with_a_fraction_does_not_become_an_integer_on_its_way_to_the_store_or_to_sqlite() {
    let app = app("
require 'bigdecimal'
require 'sqlite3'
run ->(env) {
  db = SQLite3::Database.new(':memory:')
  found = [3/2r, BigDecimal('19.99')].flat_map { |number|
    [-> { FoolsGold.store['a'] = number }, -> { FoolsGold.store['a'] = [number] },
     -> { FoolsGold.store.increment('n', number) }, -> { db.execute('select ?', [number]) }]
  }.map { |call| begin; call.call.inspect; rescue TypeError; 'TypeError'; end }
  [200, {}, [found.uniq.join(' ')]]
}");
    assert_eq!(app.body("/"), "TypeError");
}
