//! What Rack promises an application on the embedded engine: files, bodies of requests, the end of its answer. What a
//! client gets of each kind of answer is in answers.rs, and the environment in environment.rs.

use crate::support;
use crate::support::{Server, paths};

/// The rules of the SPEC, for every engine.
pub const LINT: &str = include_str!("apps/lint.rb");

fn linted(cases: &[(&str, &str)], options: &[&str]) -> Server {
    let config = format!("require_relative \"lint\"\nuse Lint\n{}", paths(cases));
    // The lint looks at rack.hijack, which is a sign for Ruby.
    let options = [&["--engine", "mruby"][..], options].concat();
    Server::files(&[("lint.rb", LINT), ("config.ru", &config)], &options)
}

/// What a newcomer pastes first.
#[test]
fn the_first_example_of_the_docs_runs_as_it_is() {
    let docs = std::fs::read_to_string(support::server::repository().join("docs/writing-apps.md")).unwrap();
    let (_, rest) = docs.split_once("```ruby\n# config.ru\n").unwrap();
    let (config, _) = rest.split_once("```").unwrap();
    let server = Server::start(config, &["-t", "1"]);
    let reply = server.get("/gold");
    assert_eq!(reply.text(), "Hello from /gold\n");
    assert!(reply.header("server-timing").is_some_and(|value| value.starts_with("app;dur=")), "{}", server.log());
    assert_eq!(server.text("/about"), "mruby says hello\n");
}

/// Else the tests under it would see nothing.
#[test]
fn the_lint_refuses_what_the_spec_forbids() {
    let errors = "env[\"rack.errors\"].puts(\"said aloud\"); env[\"rack.errors\"].flush; text(1)";
    let server = linted(&[("/", errors), ("/upper", "[200, { \"X-A\" => \"1\" }, []]")], &["-t", "1"]);
    assert_eq!((server.get("/").status, server.get("/upper").status), (200, 500), "{}", server.log());
    server.must_log("said aloud");
}

#[test]
fn files_are_required_once_and_loaded_again_and_know_their_name() {
    let ru = "
require_relative \"part\"
require_relative \"part\"
require_relative \"sub/deep\"
load File.expand_path(\"part.rb\", File.dirname(__FILE__))
run lambda { |env| [200, {}, [\"#{$parts}|#{File.basename(__FILE__)}|#{$deep}\"]] }
";
    let files = [
        ("config.ru", ru),
        ("part.rb", "$parts = ($parts || 0) + 1\n"),
        ("sub/deep.rb", "require_relative \"near\"\n"),
        ("sub/near.rb", "$deep = File.basename(File.dirname(__FILE__))\n"),
    ];
    let server = Server::files(&files, &["-t", "1"]);
    assert_eq!(server.text("/"), "2|config.ru|sub");
}

#[test]
fn the_body_of_a_request_is_read_in_every_way() {
    let cases = [
        ("/read", "text(env[\"rack.input\"].read.bytesize)"),
        ("/parts", "i = env[\"rack.input\"]; a = []; while (p = i.read(4)); a << p; end; text(a.join(\"|\"))"),
        ("/buffer", "b = +\"old\"; env[\"rack.input\"].read(3, b); text(b)"),
        ("/gets", "i = env[\"rack.input\"]; a = []; while (l = i.gets); a << l.size; end; text(a.join(\",\"))"),
        ("/each", "a = []; env[\"rack.input\"].each { |l| a << l.size }; text(a.join(\",\"))"),
        ("/end", "i = env[\"rack.input\"]; i.read; text([i.read, i.read(1), i.gets].inspect)"),
        ("/sum", "n = 0; env[\"rack.input\"].read.each_byte { |b| n += b }; text(n)"),
    ];
    let server = linted(&cases, &["-t", "1", "--body-memory", "1KiB"]);
    let mut client = server.client();
    let mut post = |path: &str, body: &[u8]| client.post(path, body).text();
    assert_eq!(post("/parts", b"abcdefghij"), "abcd|efgh|ij");
    assert_eq!(post("/buffer", b"abcdef"), "abc");
    assert_eq!(post("/gets", b"ab\nc\n\nlast"), "3,2,1,4");
    assert_eq!(post("/each", b"ab\nc\n\nlast"), "3,2,1,4");
    assert_eq!(post("/end", b"abc"), "[\"\", nil, nil]");
    let long: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    assert_eq!(post("/read", &long), "300000", "through the temporary file");
    assert_eq!(post("/sum", &long), long.iter().map(|byte| u64::from(*byte)).sum::<u64>().to_string());
    assert_eq!(post("/gets", &b"line of gold\n".repeat(200)), vec!["13"; 200].join(","));
}

/// Rack's SPEC, "The Body": it is closed whatever happened, also where the rest of the answer cannot be read.
#[test]
fn a_body_is_closed_when_the_headers_cannot_be_read() {
    let app = "class Body\n  def each; end\n  def close = $closed = $closed.to_i + 1\nend\n\
               class Bad\n  def each; yield \"x-a\", \"a\\0b\"; end\nend\n\
               class Raising\n  def each; raise \"no\"; end\nend\n\
               run ->(env) { case env['PATH_INFO'] when '/bad' then [200, Bad.new, Body.new]\n\
               when '/raising' then [200, Raising.new, Body.new]\n\
               when '/status' then [Object.new, {}, Body.new]\n\
               else [200, {}, [$closed.to_s]] end }\n";
    let server = Server::start(app, &["-t", "1"]);
    for (at, path) in ["/bad", "/raising", "/status"].into_iter().enumerate() {
        assert_eq!(server.get(path).status, 500, "{path}");
        assert_eq!(server.text("/"), (at + 1).to_string(), "{path}");
    }
}

/// A limit may pass while a sleep that ends before it is woken late.
#[test]
fn a_timeout_around_short_sleeps_is_kept() {
    let app = "require \"timeout\"\nrun ->(env) { 40.times { began = Time.now\n\
               begin; Timeout.timeout(0.02) { loop { sleep 0.0001 } }\n rescue Timeout::Error; end\n\
               raise \"late\" if Time.now - began > 1 }\n [200, {}, ['in time']] }\n";
    let server = Server::start(app, &["-t", "1", "--request-time", "8s"]);
    assert_eq!(server.text("/"), "in time", "{}", server.log());
}
