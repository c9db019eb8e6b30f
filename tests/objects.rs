//! What Rust gives to Ruby: the request context, the shared counter and store, and the parts of the standard library
//! that Rack code takes for granted.

use crate::support::{Client, Server, at_once, numbered, paths};

/// Runs each Ruby expression in a server of its own making and compares its value, as text, with what is expected.
fn check(table: &[(&str, &str)]) {
    let cases = table.iter().map(|(ruby, _)| {
        let caught = "e.class.to_s + \": \" + e.message";
        format!("begin; v = ({ruby}); text(v.to_s); rescue Exception => e; text({caught}, 500); end")
    });
    let server = Server::with(&numbered(cases), &[("GOLD", "fool's"), ("EMPTY", "")], &["-t", "1"]);
    let mut failures = Vec::new();
    for (number, (ruby, expected)) in table.iter().enumerate() {
        let got = server.get(&format!("/{number}")).text();
        if got != *expected {
            failures.push(format!("{ruby}\n    gave {got:?}, expected {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), table.len(), failures.join("\n"));
}

#[test]
fn one_counter_for_sixteen_interpreters() {
    let cases = [
        ("/", "text(env[\"fools_gold.context\"].requests.increment)"),
        ("/count", "text([FoolsGold.requests.count, env[\"fools_gold.context\"].requests.count].inspect)"),
        ("/ten", "text(FoolsGold.requests.increment(10))"),
    ];
    let server = Server::start(&paths(&cases), &["-t", "16"]);
    let count = |client: &mut Client| client.get("/").text().parse::<u32>().unwrap();
    let mut seen: Vec<u32> = at_once(&server, 16, |client| (0..200).map(|_| count(client)).collect());
    seen.sort_unstable();
    assert!(seen.into_iter().eq(1..=3200));
    assert_eq!(server.text("/count"), "[3200, 3200]");
    assert_eq!(server.text("/ten"), "3210");
}

#[test]
fn the_store_keeps_values_of_every_kind() {
    let kept = "s = FoolsGold.store; s.set(\"k\", v); got = s.get(\"k\"); \
                [got == v, got.class, s[\"k\"].inspect == v.inspect].inspect";
    let values = [
        ("nil", "[true, NilClass, true]"),
        ("true", "[true, TrueClass, true]"),
        ("false", "[true, FalseClass, true]"),
        ("-7", "[true, Integer, true]"),
        ("4611686018427387904", "[true, Integer, true]"),
        ("0.1", "[true, Float, true]"),
        ("\"gr\u{fc}n\"", "[true, String, true]"),
        ("\"\\x00\\xff\"", "[true, String, true]"),
        ("[1, [\"a\", nil], {}]", "[true, Array, true]"),
        ("{ \"a\" => [1, 2.5], 3 => { \"b\" => nil } }", "[true, Hash, true]"),
    ];
    let rows: Vec<(String, &str)> =
        values.iter().map(|(value, expected)| (format!("v = {value}; {kept}"), *expected)).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(ruby, expected)| (ruby.as_str(), *expected)).collect();
    check(&rows);
    check(&[
        ("FoolsGold.store.get(\"none\").inspect", "nil"),
        ("s = FoolsGold.store; s[\"a\"] = 1; s[\"a\"]", "1"),
        ("s = FoolsGold.store; s[\"d\"] = 1; [s.delete(\"d\"), s[\"d\"]].inspect", "[1, nil]"),
        (
            "s = FoolsGold.store; [s.increment(\"i\"), s.increment(\"i\", 5), s.increment(\"i\", -2)].inspect",
            "[1, 6, 4]",
        ),
        ("s = FoolsGold.store; [s.fetch(\"f\") { 1 }, s.fetch(\"f\") { 2 }].inspect", "[1, 1]"),
        ("s = FoolsGold.store; s.clear; s[\"a\"] = s[\"b\"] = 2; a = s.size; s.clear; [a, s.size].inspect", "[2, 0]"),
        (
            "s = FoolsGold.store; s.set(\"t\", 1, ttl: 0.02); a = s[\"t\"]; sleep 0.05; [a, s[\"t\"]].inspect",
            "[1, nil]",
        ),
        ("s = FoolsGold.store; s.fetch(\"g\", ttl: 0.02) { 1 }; sleep 0.05; s.fetch(\"g\", ttl: 1) { 2 }", "2"),
        ("s = FoolsGold.store; a = [1]; s[\"c\"] = a; a << 2; s[\"c\"].inspect", "[1]"),
        (
            "begin; FoolsGold.store[\"o\"] = Object.new; rescue TypeError => e; e.message.include?(\"Object\"); end",
            "true",
        ),
        (
            "begin; FoolsGold.store[\"o\"] = lambda { 1 }; rescue TypeError => e; e.message.include?(\"Proc\"); end",
            "true",
        ),
        (
            "s = FoolsGold.store; s[\"str\"] = \"x\"; begin; s.increment(\"str\"); rescue TypeError => e; e.class; end",
            "TypeError",
        ),
    ]);
}

#[test]
fn the_store_counts_right_from_many_interpreters() {
    let cases = [("/", "text(FoolsGold.store.increment(\"n\"))"), ("/read", "text(FoolsGold.store[\"n\"])")];
    let server = Server::start(&paths(&cases), &["-t", "8"]);
    at_once(&server, 8, |client| (0..250).map(|_| client.get("/")).collect());
    assert_eq!(server.text("/read"), "2000");
}

/// Without a `require`, as where Rack has loaded them; what they answer is compared in engine-mruby/tests/spec.
#[test]
fn what_rack_code_takes_for_granted_is_there() {
    check(&[
        ("StringIO.new(\"abc\").read", "abc"),
        ("JSON.generate(JSON.parse(\"[1]\")) + [1].to_json", "[1][1]"),
        ("JSON::ParserError.ancestors.include?(StandardError)", "true"),
        ("SecureRandom.hex.size", "32"),
        ("Time.httpdate(Time.at(784111777).httpdate).iso8601", "1994-11-06T08:49:37Z"),
        ("Time.now.to_f > 1_700_000_000.0", "true"),
        ("CGI.unescape(CGI.escape(\"a b\")) + CGI.escapeHTML(\"<\")", "a b&lt;"),
        ("ERB::Util.html_escape(\"<\") + URI.encode_www_form_component(\"a b\")", "&lt;a+b"),
        ("File.read(\"config.ru\").include?(\"File.read\") && !File.exist?(\"none\")", "true"),
    ]);
}

#[test]
fn env_has_the_variables_of_the_server() {
    check(&[
        ("ENV[\"GOLD\"]", "fool's"),
        ("ENV[\"NONE\"].inspect", "nil"),
        ("ENV.fetch(\"GOLD\")", "fool's"),
        ("ENV.fetch(\"NONE\", 1)", "1"),
        ("ENV.fetch(\"NONE\") { |k| k + \"!\" }", "NONE!"),
        ("[ENV.key?(\"GOLD\"), ENV.key?(\"NONE\"), ENV.key?(\"EMPTY\")].inspect", "[true, false, true]"),
        ("ENV.to_h[\"GOLD\"]", "fool's"),
    ]);
}

#[test]
fn what_is_missing_says_its_name_and_what_to_do() {
    let cases = [
        ("/thread", "Thread.new { 1 }; text(1)"),
        ("/require", "require \"socket\"; text(1)"),
        ("/fork", "fork; text(1)"),
        ("/system", "text(`ls`)"),
        ("/socket", "TCPSocket.new(\"localhost\", 1); text(1)"),
    ];
    let words = ["Thread", "socket", "fork", "`", "TCPSocket"];
    let options = ["--engine", "mruby", "-t", "1", "-e", "development"];
    let server = Server::start(&paths(&cases), &options);
    for ((path, _), word) in cases.iter().zip(words) {
        let reply = server.get(path);
        let page = reply.text();
        assert_eq!(reply.status, 500, "{path}: {page}");
        assert!(page.contains(word), "{path}: {word:?} is not in {page}");
        assert!(page.contains("--engine ruby"), "{path}: {page}");
    }
}
