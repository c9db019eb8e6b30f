//! Long steps in native code, which nothing can interrupt, each begun on the I/O thread that also accepts: meanwhile
//! new connections and those of the same I/O thread are served, the 504 goes out, and the server can be ended.
//! STEPS_BOUND_MS says how long others may wait (bin/native-steps measures with 100).

use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Server, paths};
use rustix::process::Signal;

/// What a busy machine makes of an answer without any delay.
const BOUND: Duration = Duration::from_secs(1);
const REQUEST_TIME: Duration = Duration::from_millis(800);

/// What is there before the request, and the step.
const STEPS: &[(&str, &str)] = &[
    ("", "eval('%w[' + 'a ' * 100_000 + ']').size"),
    ("", "eval('[' + '1,' * 100_000 + ']').size"),
    ("", "eval('{' + '1=>1,' * 60_000 + '}').size"),
    ("", "eval('[' + '\"a\",' * 100_000 + ']').size"),
    ("", "eval('a=1;' * 60_000).to_s"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.inspect.size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.sort.size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.join(',').size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "(A - A.reverse).size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "(A & A).size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "(A | A).size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.uniq.size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.hash"),
    ("A = Array.new(400_000) { |i| i.to_s }", "JSON.generate(A).size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "Marshal.dump(A).size"),
    ("A = Array.new(400_000) { |i| i.to_s }", "A.to_h { |a| [a, a] }.size"),
    ("A = Array.new(1_000_000) { |i| i * 7919 % 1_000_003 }", "A.sort.size"),
    ("A = Array.new(1_000_000) { |i| i * 7919 % 1_000_003 }", "A.inspect.size"),
    ("A = Array.new(1_000_000) { |i| i * 7919 % 1_000_003 }", "A.max"),
    ("A = Array.new(1_000_000) { |i| i * 7919 % 1_000_003 }", "A.pack('w*').size"),
    ("A = Array.new(300_000) { |i| [i, [i]] }", "A.flatten.size"),
    ("A = Array.new(300_000) { |i| [i, [i]] }", "A == A.dup"),
    ("S = 'ab c' * 5_000_000", "S.gsub('a', 'xy').size"),
    ("S = 'ab c' * 2_000_000", "S.scan(/a/).size"),
    ("S = 'ab c' * 2_000_000", "S.split(' ').size"),
    ("S = 'ab c' * 5_000_000", "S.tr('a-y', 'b-z').size"),
    ("S = 'äb c' * 4_000_000", "S.reverse.size"),
    ("S = 'äb c' * 4_000_000", "S[12_000_000]"),
    ("S = 'ab c' * 5_000_000", "S.inspect.size"),
    ("S = 'ab c' * 2_000_000", "S.unpack('C*').size"),
    ("require 'digest'; S = 'ab c' * 5_000_000", "Digest::SHA512.hexdigest(S)"),
    ("require 'zlib'; S = Array.new(400_000) { |i| i.to_s }.join", "Zlib::Deflate.deflate(S, 9).size"),
    ("", "(3**60_000).to_s.size"),
    ("N = 3**60_000", "(N * N * N).to_s.size"),
    ("", "('a' * 28) =~ /(a*)*(b)\\2/"),
    ("H = Array.new(200_000) { |i| [i.to_s, i] }.to_h", "H.inspect.size"),
    ("H = Array.new(200_000) { |i| [i.to_s, i] }.to_h", "H.merge(H).invert.size"),
];

fn serve(before: &str, step: &str) -> Server {
    let answer = format!("text(({step}).to_s[0, 20])");
    let config = format!("require 'json'\n{before}\n{}", paths(&[("/step", &answer), ("/ok", "text('ok')")]));
    let time = format!("{}ms", REQUEST_TIME.as_millis());
    let options =
        ["--engine", "mruby", "-t", "2", "--request-time", &time, "--memory-limit", "400MiB", "--access-log", "off"];
    Server::start(&config, &options)
}

fn bound() -> Duration {
    let given = std::env::var("STEPS_BOUND_MS").ok().and_then(|text| text.parse().ok());
    given.map_or(BOUND, Duration::from_millis)
}

/// How long the worst of them took, asked by a new connection and by one that was there, while `is_over` says no. It
/// rests between them for a small part of what is too long, since the step needs the processor.
fn worst(server: &Server, is_over: impl Fn() -> bool) -> Duration {
    let rest = bound() / 50;
    let mut old = server.client();
    let mut worst = Duration::ZERO;
    while !is_over() {
        let begun = Instant::now();
        assert_eq!(server.client().get("/ok").text(), "ok");
        worst = worst.max(begun.elapsed());
        let begun = Instant::now();
        assert_eq!(old.get("/ok").text(), "ok");
        worst = worst.max(begun.elapsed());
        thread::park_timeout(rest);
    }
    worst
}

#[test]
fn no_native_step_holds_up_others_or_its_own_504() {
    let mut failures = Vec::new();
    for (before, step) in STEPS {
        let server = serve(before, step);
        // The first connection is one of the thread that accepts, and the first request runs there.
        let mut client = server.client();
        let (worst, status, took) = thread::scope(|scope| {
            let begun = Instant::now();
            let answer = scope.spawn(move || (client.get("/step").status, begun.elapsed()));
            let worst = worst(&server, || answer.is_finished());
            let (status, took) = answer.join().unwrap();
            (worst, status, took)
        });
        println!("{:>5} ms, {status} after {:>5} ms: {step}", worst.as_millis(), took.as_millis());
        if worst > bound() || took > REQUEST_TIME + bound() || ![200, 500, 504].contains(&status) {
            failures.push(format!("{step}: others waited {worst:?}; {status} after {took:?}\n{}", server.log()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_server_ends_although_native_steps_do_not() {
    // Decimals of numbers of 262,000 bits: several seconds.
    let mut server = serve("A = Array.new(20) { |i| 2**262_000 + i }", "A.join(',').size");
    let mut clients = [server.send_get("/step"), server.send_get("/step")];
    // They run: nothing of the time of these two is left for others, which are not asked here.
    thread::park_timeout(Duration::from_millis(50));
    server.signal(Signal::TERM);
    let begun = Instant::now();
    let ended = server.ended(support::MAX_WAIT);
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}\n{}", server.log());
    assert!(begun.elapsed() < REQUEST_TIME + 3 * bound(), "{:?}\n{}", begun.elapsed(), server.log());
    for client in &mut clients {
        assert_eq!(client.reply().unwrap().status, 504);
    }
}
