//! Scripts that never end, eat all memory, catch what should stop them, or recurse for ever: each costs its own
//! request a clear answer and nothing else. Meanwhile another connection is served all the time, and how slowly is
//! measured.

use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{MAX_WAIT, Server, paths, within};

/// Path, Ruby, the statuses that are a right answer.
const RUNAWAYS: &[(&str, &str, &[u16])] = &[
    ("/loop", "while true; end", &[504]),
    ("/loop-block", "loop { 1 + 1 }", &[504]),
    ("/rescue", "begin; while true; end; rescue Exception; while true; end; end", &[504]),
    ("/retry", "begin; while true; end; rescue Exception; retry; end", &[504]),
    ("/ensure", "begin; while true; end; ensure; while true; end; end", &[504]),
    ("/rescue-loop", "while true; begin; while true; end; rescue Exception; end; end", &[504]),
    ("/rescue-yes", "begin; while true; end; rescue Exception; end; text(\"survived\")", &[504, 200]),
    ("/sleep", "sleep 1000", &[504]),
    ("/sleep-for-ever", "sleep", &[504, 500]),
    ("/fiber", "f = Fiber.new { while true; end }; f.resume", &[504]),
    ("/block", "(1..1_000_000_000_000).each { |n| n }", &[504]),
    ("/array", "a = []; while true; a << (\"x\" * 1000); end", &[500, 504]),
    ("/string", "s = \"x\" * 1_000_000; while true; s << s; end", &[500]),
    ("/huge", "s = \"x\" * 10_000_000_000; text(s.size)", &[500]),
    ("/hash", "h = {}; n = 0; while true; h[n] = n.to_s; n += 1; end", &[500, 504]),
    ("/symbols", "n = 0; while true; \"sym#{n}\".to_sym; n += 1; end", &[500, 504]),
    (
        "/memory-rescue",
        "a = []; begin; while true; a << \"x\" * 100_000; end; rescue Exception; retry; end",
        &[500, 504],
    ),
    ("/recursion", "def deep(n); deep(n + 1); end; deep(0)", &[500, 504]),
    ("/recursion-blocks", "d = lambda { |n| [1].each { d.call(n + 1) } }; d.call(0)", &[500, 504]),
    ("/recursion-inspect", "a = []; 20_000.times { a = [a] }; text(a.inspect.size)", &[500, 200, 504]),
    ("/recursion-json", "a = []; 20_000.times { a = [a] }; text(JSON.generate(a).size)", &[500, 200]),
    ("/parse-json", "text(JSON.parse(\"[\" * 200_000).size)", &[500]),
    ("/body", "b = Object.new; def b.each; while true; end; end; [200, {}, b]", &[504]),
    ("/throw", "catch(:x) { begin; while true; end; ensure; throw :x; end }; text(1)", &[504, 200, 500]),
    ("/sort", "text((1..300_000).sort { |a, b| rand(3) - 1 }.size)", &[200, 500, 504]),
    ("/method-missing", "o = Object.new; def o.method_missing(*a); foo(*a); end; o.bar", &[500, 504]),
    ("/define", "n = 0; while true; Object.define_method(\"m#{n}\") { 1 }; n += 1; end", &[500, 504]),
];

fn serve(options: &[&str]) -> Server {
    let mut cases: Vec<(&str, &str)> = RUNAWAYS.iter().map(|(path, ruby, _)| (*path, *ruby)).collect();
    cases.push(("/ok", "text(\"ok\")"));
    cases.push(("/work", "a = (1..1000).map { |n| n.to_s }; text(a.join.size)"));
    let own = ["--request-time", "400ms", "--memory-limit", "16MiB", "-e", "production"];
    Server::start(&paths(&cases), &[&own[..], options].concat())
}

#[test]
fn each_costs_its_own_request_an_answer_and_the_interpreter_works_afterwards() {
    let mut server = serve(&["-t", "1"]);
    let mut failures = Vec::new();
    for (path, _, expected) in RUNAWAYS {
        let begun = Instant::now();
        let mut client = server.send_get(path);
        let status = client.reply().map(|reply| reply.status);
        let took = begun.elapsed();
        match status {
            Ok(status) if expected.contains(&status) => {}
            other => failures.push(format!("{path}: {other:?} after {took:?}, expected {expected:?}")),
        }
        if took > Duration::from_secs(4) {
            failures.push(format!("{path}: took {took:?}"));
        }
        assert!(server.is_alive(), "{path} ended the server:\n{}", server.log());
        // On a busy machine a request may be out of its short time by no fault of its interpreter's.
        let mut afters = (0..3).map(|_| server.get("/work"));
        let after = afters.find(|after| after.status != 504).unwrap_or_else(|| server.get("/work"));
        if (after.status, after.text().as_str()) != (200, "2893") {
            failures.push(format!("after {path}: {} {}", after.status, after.text()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn others_are_answered_meanwhile() {
    let mut server = serve(&["-t", "3"]);
    let port = server.port;
    let (slowest, polls) = thread::scope(|scope| {
        let bad = scope.spawn(move || {
            for (path, ..) in RUNAWAYS {
                let mut client = support::Client::tcp(port);
                let _ = client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
                let _ = client.reply();
            }
        });
        let mut slowest = Duration::ZERO;
        let mut polls = 0;
        let mut client = server.client();
        while !bad.is_finished() {
            let begun = Instant::now();
            assert_eq!(client.get("/ok").text(), "ok");
            slowest = slowest.max(begun.elapsed());
            polls += 1;
            // The others need the processors.
            thread::park_timeout(Duration::from_millis(1));
        }
        (slowest, polls)
    });
    assert!(server.is_alive());
    assert!(polls > 1_000, "only {polls} requests were answered meanwhile");
    assert!(slowest < Duration::from_secs(3), "the slowest of {polls} took {slowest:?}");
}

#[test]
fn a_runaway_on_every_interpreter_at_once_passes() {
    let server = serve(&["-t", "4"]);
    let mut clients: Vec<_> = (0..8).map(|_| server.send_get("/rescue-loop")).collect();
    for client in &mut clients {
        let status = client.reply().unwrap().status;
        assert!(status == 504 || status == 503, "{status}");
    }
    for _ in 0..20 {
        assert_eq!(server.text("/work"), "2893");
    }
}

#[test]
fn memory_comes_back_after_those_who_ate_it() {
    let server = serve(&["-t", "2"]);
    server.get("/work");
    let before = server.rss_kib();
    for _ in 0..20 {
        let status = server.get("/string").status;
        assert_eq!(status, 500);
        server.get("/array");
    }
    assert_eq!(server.text("/work"), "2893");
    // Two interpreters of 16 MiB each may be in use at any time, and what they had may be in the allocator's hands as
    // often; twenty rounds must not add to that.
    let back = within(MAX_WAIT, || server.rss_kib() < before + 5 * 16 * 1024);
    assert!(back, "{before} KiB before, {} KiB after", server.rss_kib());
}

#[test]
fn the_deadline_has_a_name_in_ruby_and_in_the_log() {
    let ru = "
run lambda { |env|
  next [200, {}, [FoolsGold.store.get(\"seen\").to_s]] if env[\"PATH_INFO\"] == \"/seen\"
  begin
    while true; end
  rescue FoolsGold::RequestTimeout => error
    FoolsGold.store.set(\"seen\", error.class.to_s + \" \" + FoolsGold::RequestTimeout.superclass.to_s)
    raise
  end
}
";
    let server = Server::start(ru, &["-t", "1", "--request-time", "300ms"]);
    assert_eq!(server.get("/").status, 504);
    assert_eq!(server.text("/seen"), "FoolsGold::RequestTimeout Exception");
}
