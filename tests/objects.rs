//! What Rust gives to Ruby: the request context, the shared counter and store, and the parts of the standard library
//! that Rack code takes for granted, each compared with what CRuby says to the same expression.

use std::thread;

use crate::support::{Server, app, numbered, paths};

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
fn the_context_has_the_id_of_the_request() {
    let server = Server::start(&app("", "env[\"fools_gold.context\"].id"), &["-t", "1"]);
    let (first, second) = (server.text("/"), server.text("/"));
    assert_ne!(first, second);
    for id in [first, second] {
        assert_eq!(id.len(), 36);
        assert_eq!((&id[14..15], id.matches('-').count()), ("4", 4), "{id}");
    }
}

#[test]
fn one_counter_for_sixteen_interpreters() {
    let cases = [
        ("/", "text(env[\"fools_gold.context\"].requests.increment)"),
        ("/count", "text([FoolsGold.requests.count, env[\"fools_gold.context\"].requests.count].inspect)"),
        ("/ten", "text(FoolsGold.requests.increment(10))"),
    ];
    let server = Server::start(&paths(&cases), &["-t", "16"]);
    let mut seen: Vec<u32> = thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let mut client = server.client();
                scope.spawn(move || (0..200).map(|_| client.get("/").text().parse().unwrap()).collect::<Vec<u32>>())
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
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
    thread::scope(|scope| {
        for _ in 0..8 {
            let mut client = server.client();
            scope.spawn(move || (0..250).for_each(|_| drop(client.get("/"))));
        }
    });
    assert_eq!(server.text("/read"), "2000");
}

#[test]
fn string_io() {
    check(&[
        ("StringIO.new(\"abc\").read", "abc"),
        (
            "i = StringIO.new(\"abcdef\"); [i.read(2), i.read(2), i.read, i.read, i.read(1)].inspect",
            "[\"ab\", \"cd\", \"ef\", \"\", nil]",
        ),
        (
            "i = StringIO.new(\"a\\nb\\nc\"); [i.gets, i.gets, i.gets, i.gets].inspect",
            "[\"a\\n\", \"b\\n\", \"c\", nil]",
        ),
        ("a = []; StringIO.new(\"a\\nb\").each { |l| a << l }; a.inspect", "[\"a\\n\", \"b\"]"),
        ("StringIO.new(\"a\\nb\").each_line.to_a.inspect", "[\"a\\n\", \"b\"]"),
        (
            "i = StringIO.new; i.write(\"a\"); i << \"b\" << 1; i.puts(\"c\", \"d\"); i.print(\"e\"); i.string",
            "ab1c\nd\ne",
        ),
        ("i = StringIO.new(\"ab\"); i.read; i.rewind; i.read", "ab"),
        ("i = StringIO.new(\"abc\"); i.seek(1); [i.pos, i.read, i.eof?].inspect", "[1, \"bc\", true]"),
        ("i = StringIO.new(\"abc\"); b = +\"\"; i.read(2, b); b", "ab"),
        ("i = StringIO.new(\"a\"); i.close; i.closed?", "true"),
        ("i = StringIO.new(\"ab\"); [i.getc, i.getc, i.getc].inspect", "[\"a\", \"b\", nil]"),
        ("i = StringIO.new(\"ab\"); [i.getbyte, i.getbyte, i.getbyte].inspect", "[97, 98, nil]"),
        ("StringIO.new(\"abc\").size", "3"),
    ]);
}

#[test]
fn json() {
    check(&[
        ("JSON.generate({ \"a\" => [1, 2.5, nil, true, \"x\"] })", "{\"a\":[1,2.5,null,true,\"x\"]}"),
        ("JSON.generate({ a: :b })", "{\"a\":\"b\"}"),
        ("JSON.generate(\"\\\"\\\\\\n\\t\\u0001/\u{fc}\")", "\"\\\"\\\\\\n\\t\\u0001/\u{fc}\""),
        ("[1, nil, \"a\"].to_json", "[1,null,\"a\"]"),
        ("{ \"a\" => 1 }.to_json", "{\"a\":1}"),
        (
            "[\"a\".to_json, 1.to_json, nil.to_json, 1.5.to_json, true.to_json].inspect",
            "[\"\\\"a\\\"\", \"1\", \"null\", \"1.5\", \"true\"]",
        ),
        ("JSON.generate({})", "{}"),
        ("JSON.generate([])", "[]"),
        (
            "JSON.parse(\"{\\\"a\\\": [1, 2.5, null, true, \\\"x\\\"]}\").inspect == \
             { \"a\" => [1, 2.5, nil, true, \"x\"] }.inspect",
            "true",
        ),
        ("JSON.parse(\"{\\\"a\\\":{\\\"b\\\":1}}\", symbolize_names: true)[:a][:b]", "1"),
        ("JSON.parse(\"{\\\"b\\\":1,\\\"a\\\":2}\").keys.inspect", "[\"b\", \"a\"]"),
        ("JSON.parse(\"\\\"\\\\u00fc\\\\ud83d\\\\ude00\\\"\") == \"\u{fc}\u{1f600}\"", "true"),
        ("JSON.parse(\"[1e3, -0.5, 0]\").inspect", "[1000.0, -0.5, 0]"),
        ("JSON.parse(\"4611686018427387904\")", "4611686018427387904"),
        ("begin; JSON.parse(\"{\"); rescue JSON::ParserError => e; e.class; end", "JSON::ParserError"),
        ("begin; JSON.parse(\"\"); rescue JSON::ParserError => e; e.class; end", "JSON::ParserError"),
        ("begin; JSON.parse(\"[1,]\"); rescue JSON::ParserError => e; e.class; end", "JSON::ParserError"),
        ("JSON::ParserError.ancestors.include?(StandardError)", "true"),
        ("begin; JSON.generate(0.0 / 0.0); rescue JSON::GeneratorError => e; e.class; end", "JSON::GeneratorError"),
        (
            "JSON.pretty_generate({ \"a\" => [1, { \"b\" => 2 }] })",
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ]\n}",
        ),
    ]);
}

#[test]
fn secure_random() {
    let digits = "\"0123456789abcdef\"";
    let url = "\"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_\"";
    check(&[
        ("SecureRandom.hex.size", "32"),
        ("SecureRandom.hex(4).size", "8"),
        (&format!("SecureRandom.hex(50).each_char.all? {{ |c| {digits}.include?(c) }}"), "true"),
        ("u = SecureRandom.uuid; [u.size, u[14], u[8], \"89ab\".include?(u[19])].inspect", "[36, \"4\", \"-\", true]"),
        ("SecureRandom.uuid != SecureRandom.uuid", "true"),
        ("SecureRandom.random_bytes.bytesize", "16"),
        ("SecureRandom.random_bytes(40).bytesize", "40"),
        ("SecureRandom.base64(9).size", "12"),
        (&format!("SecureRandom.urlsafe_base64(40).each_char.all? {{ |c| {url}.include?(c) }}"), "true"),
        ("SecureRandom.alphanumeric(20).size", "20"),
        ("n = SecureRandom.random_number; n >= 0.0 && n < 1.0", "true"),
        ("(0..200).all? { n = SecureRandom.random_number(6); n.is_a?(Integer) && n >= 0 && n < 6 }", "true"),
        ("(0..200).map { SecureRandom.random_number(3) }.uniq.sort.inspect", "[0, 1, 2]"),
    ]);
}

#[test]
fn time() {
    let t = "Time.at(784111777).utc";
    check(&[
        (&format!("{t}.httpdate"), "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("Time.at(0).httpdate", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("Time.httpdate(\"Sun, 06 Nov 1994 08:49:37 GMT\").to_i", "784111777"),
        ("Time.httpdate(\"Sunday, 06-Nov-94 08:49:37 GMT\").to_i", "784111777"),
        ("Time.httpdate(\"Sun Nov  6 08:49:37 1994\").to_i", "784111777"),
        ("begin; Time.httpdate(\"gold\"); rescue ArgumentError => e; e.class; end", "ArgumentError"),
        (&format!("{t}.strftime(\"%Y-%m-%d %H:%M:%S\")"), "1994-11-06 08:49:37"),
        (&format!("{t}.strftime(\"%a %A %b %B %d %e %j %y %C\")"), "Sun Sunday Nov November 06  6 310 94 19"),
        (&format!("{t}.strftime(\"%I:%M %p %P %l %k\")"), "08:49 AM am  8  8"),
        (&format!("{t}.strftime(\"%F %T %D %R %r\")"), "1994-11-06 08:49:37 11/06/94 08:49 08:49:37 AM"),
        (&format!("{t}.strftime(\"%s %% %n%t|%u %w\")"), "784111777 % \n\t|7 0"),
        (&format!("{t}.strftime(\"%z %:z\")"), "+0000 +00:00"),
        (&format!("{t}.strftime(\"%-d %-m %3N %L %^a %010Y\")"), "6 11 000 000 SUN 0000001994"),
        (&format!("{t}.strftime(\"%G-W%V %U\")"), "1994-W44 45"),
        ("Time.at(1.5).utc.strftime(\"%L %N\")", "500 500000000"),
        (&format!("{t}.iso8601"), "1994-11-06T08:49:37Z"),
        ("Time.now.to_f > 1_700_000_000.0", "true"),
        ("Time.now.httpdate.size", "29"),
    ]);
}

#[test]
fn env_files_and_escaping() {
    check(&[
        ("ENV[\"GOLD\"]", "fool's"),
        ("ENV[\"NONE\"].inspect", "nil"),
        ("ENV.fetch(\"GOLD\")", "fool's"),
        ("ENV.fetch(\"NONE\", 1)", "1"),
        ("ENV.fetch(\"NONE\") { |k| k + \"!\" }", "NONE!"),
        ("begin; ENV.fetch(\"NONE\"); rescue KeyError => e; e.message.include?(\"NONE\"); end", "true"),
        ("[ENV.key?(\"GOLD\"), ENV.key?(\"NONE\"), ENV.key?(\"EMPTY\")].inspect", "[true, false, true]"),
        ("ENV.to_h[\"GOLD\"]", "fool's"),
        ("CGI.escape(\"a b&c=d/\u{fc}~*-._'\")", "a+b%26c%3Dd%2F%C3%BC~%2A-._%27"),
        ("CGI.unescape(\"a+b%26c%3D%C3%BC%zz\")", "a b&c=\u{fc}%zz"),
        ("CGI.escapeHTML(\"<a href='x'>&\\\"</a>\")", "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;"),
        ("CGI.unescapeHTML(\"&lt;&gt;&amp;&quot;&#39;&#x41;&#66;&nope;\")", "<>&\"'AB&nope;"),
        ("ERB::Util.html_escape(\"<&'\\\">\")", "&lt;&amp;&#39;&quot;&gt;"),
        ("ERB::Util.html_escape(nil)", ""),
        ("ERB::Util.url_encode(\"a b/\u{fc}~\")", "a%20b%2F%C3%BC~"),
        ("URI.encode_www_form_component(\"a b&*-._~\u{fc}\")", "a+b%26*-._%7E%C3%BC"),
        ("URI.decode_www_form_component(\"a+b%26%C3%BC\")", "a b&\u{fc}"),
        ("begin; URI.decode_www_form_component(\"%zz\"); rescue ArgumentError => e; e.class; end", "ArgumentError"),
        ("File.basename(\"/a/b.rb\") + File.extname(\"/a/b.rb\") + File.dirname(\"/a/b.rb\")", "b.rb.rb/a"),
        ("File.basename(\"/a/b.rb\", \".rb\") + File.basename(\"a.x\", \".*\")", "ba"),
        ("File.join(\"a\", \"/b/\", \"c\")", "a/b/c"),
        ("File.expand_path(\"../x\", \"/a/b\") + File.expand_path(\"/a/./b/..\")", "/a/x/a"),
        (
            "[File.exist?(\"config.ru\"), File.file?(\"config.ru\"), File.directory?(\".\"), \
             File.exist?(\"none\")].inspect",
            "[true, true, true, false]",
        ),
        ("File.read(\"config.ru\").include?(\"File.read\")", "true"),
        ("begin; File.read(\"none\"); rescue SystemCallError => e; e.message.include?(\"none\"); end", "true"),
    ]);
}

#[test]
fn floats_print_as_cruby_prints_them() {
    let table = include_str!("apps/floats.txt");
    let rows: Vec<(&str, &str)> =
        table.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once('\t')).collect();
    assert!(rows.len() > 200);
    let literals: Vec<&str> = rows.iter().map(|(literal, _)| *literal).collect();
    let ru =
        format!("run lambda {{ |env| [200, {{}}, [[{}].map {{ |f| f.to_s }}.join(\"\\n\")]] }}\n", literals.join(", "));
    let server = Server::start(&ru, &["-t", "1"]);
    let text = server.text("/");
    let got: Vec<&str> = text.lines().collect();
    assert_eq!(got.len(), rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .zip(got)
        .filter(|((_, expected), got)| expected != got)
        .map(|((literal, expected), got)| format!("{literal}: {got}, expected {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    check(&[
        ("\"#{0.1 + 0.2}\"", "0.30000000000000004"),
        ("(0.1 + 0.2).inspect", "0.30000000000000004"),
        ("[0.1 + 0.2, 1e100].inspect", "[0.30000000000000004, 1.0e+100]"),
        ("0.1 + 0.2 == 0.30000000000000004", "true"),
        ("(1.0 / 3).to_s", "0.3333333333333333"),
        ("(0.0 / 0.0).to_s + (1.0 / 0).to_s + (-1.0 / 0).to_s", "NaNInfinity-Infinity"),
        ("\"0.30000000000000004\".to_f == 0.1 + 0.2", "true"),
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
