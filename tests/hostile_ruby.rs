//! Ruby that means ill through everything the server gives it: patterns, databases, HTTP, Redis, files, templates,
//! parsers. Each ends with its own request's time, and a neighbour on the same server does not notice.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, MAX_WAIT, Reply, Server, within};

/// What every case may use. `PEER` is a server that answers whatever it is asked without end.
const BEFORE: &str = r##"
require "json"
require "erb"
require "sqlite3"
require "net/http"
require "redis"
require "timeout"
require "zlib"
DB = SQLite3::Database.new(File.join(__dir__, "test.db"))
DB.journal_mode = "wal"
DB.execute("create table if not exists t (a)")
ENDLESS = "with recursive c(n) as (select 1 union all select n + 1 from c) "
PEER = Integer(ENV["PEER"])
class Ghost < BasicObject
  def method_missing(name, *args) = __send__("#{name}x", *args)
end
"##;

/// Path, Ruby, the statuses that are a right answer.
const CASES: &[(&str, &str, &[u16])] = &[
    ("/plain-loop", "loop { }", &[504]),
    // Patterns
    ("/regexp-nested", r#"text(/^(a+)+$/ =~ "a" * 100_000 + "!")"#, &[200, 504]),
    ("/regexp-back", r#"text(/^(a|aa)*\1b$/ =~ "a" * 5000)"#, &[200, 500, 504]),
    ("/regexp-look", r#"text(/(?=(a+)+b)(.*)*\z/ =~ "a" * 5000)"#, &[200, 500, 504]),
    ("/regexp-many", r#"n = 0; while true; Regexp.new("(a#{n}|b)*c"); n += 1; end"#, &[500, 504]),
    ("/regexp-large", r#"text(Regexp.new("(a{1000}){1000}").match?("a"))"#, &[200, 500, 504]),
    ("/gsub", r#"s = "a" * 100_000; while true; s = s.gsub(/a/) { "aa" }; end"#, &[500, 504]),
    ("/scan", r#"while true; ("ab" * 100_000).scan(/a(?=b)/); end"#, &[500, 504]),
    // Texts, numbers, objects
    ("/string-double", r#"s = "x"; loop { s += s }"#, &[500]),
    ("/format", r#"text(format("%1000000000d", 1).size)"#, &[500]),
    ("/power", "text((7**(7**8)).to_s.size)", &[200, 500, 504]),
    ("/method-missing", "Ghost.new.a", &[500, 504]),
    ("/respond", "o = Object.new; def o.respond_to_missing?(*) = respond_to?(:x1); o.respond_to?(:x2)", &[500, 504]),
    ("/to-str", "o = Object.new; def o.to_str = self; File.read(o)", &[500]),
    ("/define", r#"n = 0; while true; eval("def m#{n} = #{n}"); n += 1; end"#, &[500, 504]),
    ("/ensure", "def again\n      yield\n    ensure\n      again { }\n    end\n    again { }", &[500, 504]),
    ("/rescue", "begin; loop { }; rescue Exception; retry; end", &[504]),
    ("/threads", "loop { Thread.current[:a] = [Thread.current[:a]] }", &[500, 504]),
    ("/fibers", "f = []; loop { f << Fiber.new { Fiber.yield }.tap(&:resume) }", &[500, 504]),
    ("/enum", "text((1..Float::INFINITY).lazy.map { |x| x * 2 }.select { |x| x < 0 }.first(1))", &[500, 504]),
    // Parsers
    ("/json-deep", r#"text(JSON.parse("[" * 100_000 + "]" * 100_000).size)"#, &[500]),
    ("/json-wide", r#"text(JSON.parse("[" + "[]," * 3_000_000 + "[]]").size)"#, &[200, 500, 504]),
    (
        "/json-keys",
        r##"text(JSON.parse("{" + (1..200_000).map { |n| "\"k#{n}\":1" }.join(",") + "}").size)"##,
        &[200, 500, 504],
    ),
    ("/json-number", r#"text(JSON.parse("[" + "9" * 3_000_000 + "]").first.class)"#, &[200, 500, 504]),
    ("/json-circle", "a = []; a << a; text(JSON.generate(a))", &[500]),
    ("/marshal", r#"text(Marshal.load("\x04\b[i\x04\xff\xff\xff\x7f").size)"#, &[500]),
    ("/marshal-deep", r#"text(Marshal.load("\x04\b" + "[\x06" * 100_000 + "0").size)"#, &[500]),
    ("/marshal-string", r#"text(Marshal.load("\x04\b\"\x04\xff\xff\xff\x7fabc").size)"#, &[500]),
    ("/zlib", r#"z = Zlib::Deflate.deflate("\0" * 10_000_000); loop { Zlib::Inflate.inflate(z) }"#, &[500, 504]),
    ("/erb", r#"ERB.new("<% while true %>x<% end %>").result"#, &[500, 504]),
    ("/pack", r#"text([1].pack("C" * 1_000_000 + "x1000000000").size)"#, &[500, 504]),
    ("/uri", r#"text(URI.parse("http://" + "a." * 200_000 + "%").to_s.size)"#, &[200, 500, 504]),
    ("/form", r#"text(URI.decode_www_form("a=1&" * 500_000).size)"#, &[200, 500, 504]),
    // Files
    ("/files", r#"a = []; loop { a << File.open(__FILE__) }"#, &[500, 504]),
    ("/glob", r#"loop { Dir.glob(File.join(__dir__, "{**/,}" * 8 + "*")) }"#, &[500, 504]),
    ("/device", r#"text(File.read("/dev/zero").size)"#, &[500]),
    // Databases
    ("/sql-endless", r#"DB.execute(ENDLESS + "select count(*) from c")"#, &[500, 504]),
    ("/sql-rows", r#"DB.execute(ENDLESS + "select n from c")"#, &[500, 504]),
    ("/sql-insert", r#"DB.execute("insert into t " + ENDLESS + "select hex(randomblob(100)) from c")"#, &[500, 504]),
    ("/sql-sort", r#"DB.execute(ENDLESS + "select n from c order by -n")"#, &[500, 504]),
    (
        "/sql-join",
        r#"DB.execute("with c(n) as (values (1), (2), (3), (4), (5), (6), (7), (8)) select count(*) from " +
      (0..30).map { |n| "c as c#{n}" }.join(","))"#,
        &[500, 504],
    ),
    ("/sql-rescue", r#"begin; DB.execute(ENDLESS + "select count(*) from c"); rescue Exception; retry; end"#, &[504]),
    (
        "/sql-memory",
        r#"d = SQLite3::Database.new(":memory:"); d.execute("create table m (a)")
      d.execute("insert into m " + ENDLESS + "select randomblob(10000) from c")"#,
        &[500, 504],
    ),
    ("/sql-lock", r#"DB.transaction(:exclusive) { sleep }"#, &[500, 504]),
    ("/sql-left", r#"DB.execute("begin exclusive"); text("left")"#, &[200, 500, 504]),
    ("/sql-statements", r##"n = 0; a = []; loop { a << DB.prepare("select #{n += 1}") }"##, &[500, 504]),
    (
        "/sql-text",
        r#"DB.execute("select replace(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || 'b', 'c')"); text(1)"#,
        &[200, 500, 504],
    ),
    // Others who never end
    ("/http", r#"Net::HTTP.get(URI("http://127.0.0.1:#{PEER}/"))"#, &[500, 504]),
    (
        "/http-pieces",
        r#"Net::HTTP.start("127.0.0.1", PEER) { |h| h.request_get("/") { |r| r.read_body { |piece| piece } } }"#,
        &[500, 504],
    ),
    (
        "/http-rescue",
        r#"begin; Net::HTTP.get(URI("http://127.0.0.1:#{PEER}/silent")); rescue Exception; retry; end"#,
        &[504],
    ),
    ("/redis", r#"Redis.new(port: PEER, host: "127.0.0.1", timeout: 60).call("silent")"#, &[500, 504]),
    (
        "/redis-rescue",
        r#"begin; Redis.new(port: PEER, host: "127.0.0.1", timeout: 60).ping; rescue Exception; retry; end"#,
        &[504],
    ),
    ("/timeout", "loop { Timeout.timeout(0.01) { loop { } } rescue nil }", &[504]),
    ("/timeouts", "def deep = Timeout.timeout(60) { deep }; deep", &[500, 504]),
];

/// A server that answers every connection with bytes that never end, or with none.
fn peer() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut asked = [0; 4096];
                let count = stream.read(&mut asked).unwrap_or(0);
                let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
                if asked.contains("silent") || stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_err() {
                    // Until the other side gives up.
                    let _ = stream.read_to_end(&mut Vec::new());
                    return;
                }
                while stream.write_all(&[b'x'; 16384]).is_ok() {}
            });
        }
    });
    port
}

fn serve(options: &[&str]) -> Server {
    let mut config = BEFORE.to_owned();
    config.push_str("def text(words) = [200, {}, [words.to_s]]\nrun lambda { |env|\n  case env[\"PATH_INFO\"]\n");
    for (path, ruby, _) in CASES {
        config.push_str(&format!("  when {path:?}\n    {ruby}\n    text(\"an end\")\n"));
    }
    config.push_str(
        "  when \"/write\"\n    DB.transaction(:immediate) { DB.execute(\"delete from t\") }\n    text(\"ok\")\n",
    );
    config.push_str("  else text(\"ok\")\n  end\n}\n");
    let peer = peer().to_string();
    let own = ["--engine", "mruby", "--request-time", "600ms", "--memory-limit", "32MiB", "-e", "production"];
    Server::with(&config, &[("PEER", &peer)], &[&own[..], options].concat())
}

/// A neighbour is answered within this.
const QUICK: Duration = Duration::from_millis(250);
/// Its rest between two requests, a small part of what is too long: the cases need the processors.
const REST: Duration = Duration::from_millis(5);

/// What came of a case that two clients asked for at once.
struct Trial {
    statuses: [std::io::Result<u16>; 2],
    took: Duration,
    /// The longest that a neighbour waited meanwhile; for ever, where it got no answer.
    slowest: Duration,
}

fn trial(port: u16, path: &str) -> Trial {
    let begun = Instant::now();
    let (mut bad, mut worse) = (Client::tcp(port), Client::tcp(port));
    bad.send_get(path);
    worse.send_get(path);
    let mut slowest = Duration::ZERO;
    let statuses = thread::scope(|scope| {
        let both = scope.spawn(move || [bad.reply().map(|r| r.status), worse.reply().map(|r| r.status)]);
        let mut client = Client::tcp(port);
        while !both.is_finished() {
            let asked = Instant::now();
            let is_answered = client.get("/ok").text() == "ok";
            slowest = slowest.max(if is_answered { asked.elapsed() } else { Duration::MAX });
            thread::park_timeout(REST);
        }
        both.join().unwrap()
    });
    Trial { statuses, took: begun.elapsed(), slowest }
}

#[test]
fn each_ends_in_time_and_no_neighbour_notices() {
    // Two run the case, two may still be loaded anew after the one before, and one is for the neighbour.
    let mut server = serve(&["-t", "5"]);
    let mut failures = Vec::new();
    for (path, _, expected) in CASES {
        // On a busy machine everybody waits for the processor: what a plain loop does to a neighbour is the measure.
        let mut trials = (0..3).map(|_| {
            let trial = trial(server.port, path);
            let is_slow = trial.took > QUICK * 8 || trial.slowest > QUICK;
            let measure = if is_slow { self::trial(server.port, "/plain-loop").slowest } else { Duration::ZERO };
            (trial, measure)
        });
        let is_fair = |(trial, measure): &(Trial, Duration)| {
            // There the time of a request may be over before its memory is.
            let is_late = trial.statuses.iter().any(|status| matches!(status, Ok(504))) && !expected.contains(&504);
            !is_late && trial.took < Duration::from_secs(5) && trial.slowest <= QUICK.max(measure.saturating_mul(3))
        };
        let fair = trials.find(is_fair);
        let Some((Trial { statuses, took, .. }, _)) = fair else {
            failures.push(format!(
                "{path}: it took long each time, or a neighbour waited for more than {QUICK:?}, three times"
            ));
            continue;
        };
        for status in statuses {
            match status {
                Ok(status) if expected.contains(&status) => {}
                other => failures.push(format!("{path}: {other:?} after {took:?}, expected {expected:?}")),
            }
        }
        assert!(server.is_alive(), "{path} ended the server:\n{}", server.log());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn nothing_is_left_locked() {
    let server = serve(&["-t", "2"]);
    for (path, ..) in CASES.iter().filter(|(path, ..)| path.starts_with("/sql")) {
        let _ = server.get(path);
        for _ in 0..3 {
            // On a busy machine one may be over its time; what is locked for good never is ok.
            let is_ok = |reply: Reply| (reply.status, reply.text().as_str()) == (200, "ok");
            assert!(within(MAX_WAIT, || is_ok(server.get("/write"))), "after {path}\n{}", server.log());
        }
    }
}
