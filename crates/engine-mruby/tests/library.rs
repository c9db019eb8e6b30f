//! The library under attack: a request with large, deep or long data ends in time, and the next one is served.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod support;

use std::time::{Duration, Instant};

use support::{app, get, settings, try_app};

/// Expressions, each run in one request of 300 ms; the answer may be a value, an exception's name or a fault.
const HOSTILE: [(&str, &str); 36] = [
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
    let app = try_app(&config, support::settings()).unwrap_or_else(|error| panic!("{error}"));
    for (name, _) in HOSTILE {
        let begin = Instant::now();
        let mut request = get(&format!("/{name}"));
        request.deadline = begin + Duration::from_millis(300);
        let answer = app.call(request).result;
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "{name} took {took:?}: {answer:?}");
        assert_eq!(app.body("/ok"), "fine", "after {name}");
    }
}

#[test]
fn a_temporary_file_is_gone_with_its_request() {
    let app = app(
        "require 'tempfile'\nrun ->(env) { $kept = Tempfile.new('kept'); $kept.write('x'); [200, {}, [$kept.path]] }",
    );
    let path = app.body("/");
    let deadline = Instant::now() + Duration::from_secs(5);
    while std::path::Path::new(&path).exists() {
        assert!(Instant::now() < deadline, "{path} is still there");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_temporary_file_of_the_application_stays_until_its_interpreter_ends() {
    let config = "require 'tempfile'\nKEPT = Tempfile.new('kept')\nrun ->(env) { [200, {}, [KEPT.path]] }";
    let app = try_app(config, engine_mruby::Settings { interpreters: 1, ..settings() }).unwrap();
    let path = app.body("/");
    assert!(std::path::Path::new(&path).exists());
    assert_eq!(app.body("/"), path);
    drop(app);
    let deadline = Instant::now() + Duration::from_secs(5);
    while std::path::Path::new(&path).exists() {
        assert!(Instant::now() < deadline, "{path} is still there");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
