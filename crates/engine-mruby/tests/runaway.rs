//! Scripts that never end or fill the memory: only their own request fails.

use std::time::{Duration, Instant};

use crate::support;
use crate::support::{App, app, app_with, assert_ends_in_time, get, settings, until, wait, within};
use engine::{Engine, Fault};
use engine_mruby::Settings;
use http::{HeaderName, HeaderValue};

/// Waits until `count` interpreters have been replaced.
fn replaced(app: &App, count: u64) {
    until("they have been replaced", || app.engine.status().restarts >= count);
}

const HOSTILE: &str = "
run ->(env) {
  case env['PATH_INFO']
  when '/loop' then while true; end
  when '/times' then loop { }
  when '/rescue' then begin; while true; end; rescue Exception; while true; end; end
  when '/swallow' then while true; begin; while true; end; rescue Exception; end; end
  when '/retry' then begin; while true; end; rescue Exception; retry; end
  when '/ensure' then begin; while true; end; ensure; while true; end; end
  when '/fiber' then Fiber.new { while true; end }.resume
  when '/alloc' then while true; 'x' * 100; end
  when '/sleep' then sleep
  when '/block' then [3, 1, 2].sort_by { |x| while true; end }
  when '/body' then return [200, {}, Enumerator.new { |y| y << 'a'; while true; end }]
  when '/string' then s = 'x'; while true; s = s + s; end
  when '/array' then a = []; while true; a << 'some text that is not shared ' + a.size.to_s; end
  when '/hash' then h = {}; i = 0; while true; h[i] = i.to_s * 10; i += 1; end
  when '/symbols' then i = 0; while true; ('symbol number ' + i.to_s).to_sym; i += 1; end
  when '/nomem'
    begin; s = 'x'; while true; s = s + s; end; rescue NoMemoryError; return [200, {}, ['rescued']]; end
  when '/deep' then def f(n) = [n].each { |x| f(x + 1) }; f(0)
  when '/inspect' then a = []; 3000.times { a = [a] }; a.inspect
  when '/flatten' then a = []; 3000.times { a = [a] }; a.flatten
  when '/hashkey' then a = []; 3000.times { a = [a] }; a.hash
  when '/cmp' then a = []; 3000.times { a = [a] }; b = []; 3000.times { b = [b] }; a == b
  when '/json' then a = []; a << a; JSON.generate(a)
  when '/eval' then eval('[' * 20000 + ']' * 20000)
  when '/parens' then eval('(' * 20000 + ')' * 20000)
  end
  [200, {}, ['fine']]
}";

#[test]
fn endless_scripts_end_in_time_and_leave_the_engine_well() {
    let app = app(HOSTILE);
    for path in ["/loop", "/times", "/rescue", "/swallow", "/retry", "/ensure", "/fiber", "/alloc", "/sleep", "/block"]
    {
        assert_ends_in_time(&app, path, 100, Duration::from_secs(2));
    }
    // All but the sleeper were interrupted. The last one may still be running.
    replaced(&app, 9);
}

#[test]
fn an_interruption_that_is_rescued_costs_its_interpreter_too() {
    let app = app("
class Slow < StandardError
  def to_s
    while true; end
  end
end
run ->(env) {
  case env['PATH_INFO']
  when '/rescue' then begin; while true; end; rescue Exception; end
  when '/message' then raise Slow
  end
  [200, {}, ['fine']]
}");
    for (path, count) in [("/rescue", 1), ("/message", 2)] {
        drop(app.call(within(path, 100)));
        replaced(&app, count);
        assert_eq!(app.body("/ok"), "fine", "after {path}");
    }
    assert_eq!(app.engine.status().restarts, 2);
}

#[test]
fn an_interrupted_request_may_search_and_write_json_in_its_ensure_clauses() {
    let app = app(r"
run ->(env) {
  begin
    case env['PATH_INFO']
    when '/done' then return [200, {}, [FoolsGold.store['done'].to_s]]
    else while true; end
    end
  ensure
    case env['PATH_INFO']
    when '/clean'
      text = 'x'.sub(/x/, 'y')
      text = 'found' if /(a)\1b/ =~ 'a' * 5_000
      FoolsGold.store['done'] = text + JSON.generate([[1], 2])
    when '/endless' then while true; 'x'.sub(/x/, 'y'); end
    when '/long' then while true; /^(a|a|b)*\1$/ =~ 'a' * 40 + '!'; end
    end
  end
}");
    drop(app.call(within("/clean", 100)));
    until("the clause has run", || app.body("/done") == "y[[1],2]");
    for (path, count) in [("/endless", 2), ("/long", 3)] {
        assert!(matches!(app.fault(within(path, 100)), Fault::OutOfTime(_)), "{path}");
        replaced(&app, count);
    }
}

#[test]
fn memory_ends_at_its_limit() {
    let app = app(HOSTILE);
    for path in ["/string", "/array", "/hash", "/symbols"] {
        match app.fault(within(path, if path == "/symbols" { 3000 } else { 30_000 })) {
            Fault::OutOfMemory(over) => assert_eq!(over.limit, 32 << 20),
            // The interpreter's table of Symbols becomes slow before it becomes large.
            Fault::OutOfTime(_) if path == "/symbols" => {}
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(app.body("/ok"), "fine", "after {path}");
    }
    assert_eq!(app.body("/nomem"), "rescued");
    assert_eq!(app.body("/ok"), "fine");
}

#[test]
fn an_interpreter_is_replaced_for_the_limit_that_was_met() {
    let app = app_with(HOSTILE, Settings { interpreters: 1, ..settings() });
    assert!(matches!(app.fault(within("/string", 30_000)), Fault::OutOfMemory(_)));
    assert_eq!(app.body("/ok"), "fine");
    assert_eq!(app.body("/nomem"), "rescued");
    // The interpreter is there again before the time of the next request begins.
    assert_eq!(app.body("/ok"), "fine");
    drop(app.call(within("/loop", 100)));
    replaced(&app, 3);
    let by = app.engine.snapshot().restarts_by;
    assert_eq!((by.get("memory"), by.get("timeout")), (Some(&2), Some(&1)), "{by:?}");
}

/// Names come from clients, and an interpreter remembers some of them.
#[test]
fn long_header_names_do_not_fill_the_memory() {
    let memory_bytes = 16 << 20;
    let app = app_with(HOSTILE, Settings { interpreters: 1, memory_bytes, ..settings() });
    for number in 0..300 {
        let mut request = get("/ok");
        let name = format!("{}{number}", "x".repeat(60_000));
        request.headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static("1"));
        assert_eq!(app.got(request).body, "fine", "{number}");
    }
    assert_eq!(app.engine.status().restarts, 0);
}

#[test]
fn garbage_is_no_lack_of_memory() {
    let config = "$served = 0\nrun ->(env) { $served += 1; [200, {}, ['x' * 1_000_000, $served.to_s]] }";
    let app = app_with(config, Settings { interpreters: 1, ..settings() });
    for served in 1..=200 {
        let body = app.body("/");
        assert_eq!(body.trim_start_matches('x'), served.to_string());
    }
    assert_eq!(app.engine.status().restarts, 0);
}

#[test]
fn each_stack_error_has_its_own_backtrace_and_cause() {
    let app = app("
def endless_one(n) = endless_one(n + 1)
def endless_two(n) = endless_two(n + 1)
run ->(env) {
  begin
    raise 'before'
  rescue
    begin; endless_one(0); rescue SystemStackError => one; end
  end
  begin; endless_two(0); rescue SystemStackError => two; end
  names = [one, two].map { |error| error.backtrace.first(3).join.scan(/endless_[a-z]+/).uniq }
  [200, {}, [[names, one.cause.message, two.cause, one.equal?(two), two.message].inspect]]
}");
    let expected = r#"[[["endless_one"], ["endless_two"]], "before", nil, false, "stack level too deep"]"#;
    for _ in 0..4 {
        assert_eq!(app.body("/"), expected);
    }
}

/// Without a limit on waiting fibers this lasted until the request's deadline, as the garbage collector follows the
/// chain of waiting fibers for each of them.
#[test]
fn endless_nesting_of_fibers_is_a_fiber_error() {
    let app = app_with(
        "
def fresh = Fiber.new { fresh }.resume
def through_c = Fiber.new { [2, 1].sort_by { through_c } }.resume
def enumerated = Enumerator.new { |values| values << enumerated }.next
def begun
  fibers = []
  100_000.times do |at|
    fibers << Fiber.new { Fiber.yield(at); fibers.fetch(at + 1).resume }
    fibers.last.resume
  end
  fibers[0].resume
end
def deep(left) = left.zero? ? 'bottom' : Fiber.new { deep(left - 1) }.resume
run ->(env) {
  found = begin
    env['PATH_INFO'] == '/deep' ? deep(2000) : send(env['PATH_INFO'].delete_prefix('/'))
  rescue FiberError => error
    error.message
  end
  [200, {}, [found]]
}",
        Settings { memory_bytes: 256 << 20, ..settings() },
    );
    for path in ["/fresh", "/through_c", "/enumerated", "/begun"] {
        assert_eq!(app.body(path), "too many nested fibers (at most 4000)", "{path}");
        assert_eq!(app.body("/deep"), "bottom", "after {path}");
    }
}

#[test]
fn nesting_ends_in_an_answer() {
    let app = app(HOSTILE);
    for path in ["/deep", "/inspect", "/flatten", "/hashkey", "/cmp", "/json", "/eval", "/parens"] {
        let answer = app.call(get(path));
        assert!(!matches!(answer.result, Err(Fault::Broken(_))), "{path}: {answer:?}");
        assert_eq!(app.body("/ok"), "fine", "after {path}");
    }
}

#[test]
fn what_an_attacker_found_ends_in_an_answer() {
    let app = app("
run ->(env) {
  case env['PATH_INFO']
  when '/many' then h = {}; 50_000.times { |i| h['x-' + i.to_s] = '1' }; return [200, h, []]
  when '/same' then h = Object.new; def h.each; loop { yield 'a', 'b' * 1000 }; end; return [200, h, []]
  when '/objects' then return [200, {}, [(ObjectSpace.each_object(Array) { |a| a.clear } rescue $!.class.name).to_s]]
  when '/large' then return [200, {}, ['x' * 1_000_000] * 1_000_000]
  when '/odd' then return [200, {}, [('x' * 4096).to_sym] * 1_000_000]
  when '/default' then env.default_proc = proc { raise 'boo' }; env.clear
  when '/amplify' then a = [nil] * 1000; b = [a] * 1000
    return [200, {}, [(JSON.generate([b] * 100).size rescue $!.class.name).to_s]]
  when '/brackets' then text = '[' + '[],' * 5_000_000 + '[]]'
    return [200, {}, [(JSON.parse(text).size rescue $!.class.name).to_s]]
  when '/stream' then (FoolsGold::Stream.new.write('x') rescue return [404, {}, [$!.class.name]])
  when '/big' then return [200, {}, [((10**10_000_000).to_s.size rescue $!.class.name).to_s]]
  when '/index' then return [200, {}, [('a' * 3_000_000).index('a' * 1_000_000 + 'b').inspect]]
  when '/rename' then FoolsGold.const_set(:ENVIRONMENT, 1); FoolsGold.const_set(:RequestContext, 1); GC.start
  when '/fibers' then 20_000.times { Fiber.new { begin; raise 'x'; rescue; Fiber.yield; end }.resume }
    begin; begin; raise ArgumentError, 'kept'; rescue; raise; end; rescue => e; return [200, {}, [e.message]]; end
  end
  [200, {}, ['fine']]
}");
    assert!(matches!(app.fault(within("/many", 5000)), Fault::BadAnswer(_)));
    assert!(matches!(app.fault(get("/same")), Fault::BadAnswer(_)));
    for path in ["/large", "/odd"] {
        let body = app.call(within(path, 1000)).result.map(|response| response.body);
        assert!(matches!(body, Ok(engine::Body::Stream(_))), "{path}");
    }
    for (path, body) in [
        ("/default", "fine"),
        ("/stream", "IOError"),
        ("/big", "RangeError"),
        ("/index", "nil"),
        ("/fibers", "kept"),
        ("/objects", "NoMethodError"),
        ("/rename", "fine"),
        ("/rename", "fine"),
    ] {
        assert_eq!(app.body(path), body, "{path}");
        let mut request = get("/ok");
        request.headers.append("x-new", http::HeaderValue::from_static("1"));
        assert_eq!(app.got(request).body, "fine", "after {path}");
    }
    for path in ["/amplify", "/brackets"] {
        let answer = app.call(get(path));
        assert!(!matches!(answer.result, Err(Fault::Broken(_))), "{path}: {answer:?}");
        assert_eq!(app.body("/ok"), "fine", "after {path}");
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let allow = format!("FoolsGold.allow_read {:?}\n", folder.path().display().to_string());
    let app = app(&(allow
        + "run ->(env) { f = env['QUERY_STRING']
        [200, {}, [[File.exist?(f), File.file?(f), (File.read(f) rescue $!.class)].inspect]] }"));
    assert_eq!(app.body(&format!("/?{}", path.display())), "[true, false, IOError]");
}

#[test]
fn other_requests_are_answered_while_one_runs_away() {
    let app = app(HOSTILE);
    let stuck = app.engine.call(within("/swallow", 100));
    for _ in 0..20 {
        let begin = Instant::now();
        assert_eq!(app.body("/ok"), "fine");
        assert!(begin.elapsed() < Duration::from_millis(80), "took {:?}", begin.elapsed());
    }
    assert!(wait(stuck).result.is_err());
}

#[test]
fn the_thread_that_hands_in_a_long_request_is_given_back_at_once() {
    let app = app(HOSTILE);
    for path in ["/swallow", "/sleep"] {
        let begin = Instant::now();
        let reply = app.engine.call(within(path, 100));
        assert!(begin.elapsed() < Duration::from_millis(50), "{path}: {:?}", begin.elapsed());
        assert!(wait(reply).result.is_err());
    }
}

#[test]
fn what_a_slow_body_has_given_arrives_before_its_end() {
    let app = app("run ->(env) { [200, {}, Enumerator.new { |y| y << 'first'; sleep 0.2; y << 'second' }] }");
    let begin = Instant::now();
    let answer = app.call(get("/"));
    let body = answer.result.unwrap().body;
    assert!(begin.elapsed() < Duration::from_millis(150), "the head came after {:?}", begin.elapsed());
    assert_eq!(support::read(body), "firstsecond");
    assert!(begin.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_body_that_runs_away_breaks_its_stream() {
    let app = app(HOSTILE);
    match app.call(within("/body", 100)).result.unwrap().body {
        engine::Body::Stream(mut source) => {
            let deadline = Instant::now() + Duration::from_secs(5);
            assert_eq!(source.next_blocking(deadline), Ok(Some("a".into())));
            assert!(matches!(source.next_blocking(deadline), Err(Some(Fault::OutOfTime(_)))));
        }
        other => panic!("{other:?}"),
    }
}

/// Memory may run out at any place in the compiler: the request fails, and nothing else does.
#[test]
fn code_that_is_compiled_at_the_limit_of_memory_is_refused_and_ends_nothing() {
    let config = "
require 'json'
PROGRAMS = [
  'n = 0; while true; eval(\"def m#{n} = #{n}\"); n += 1; end',
  'a = []; while true; a << \"abc#{a.size}\"; eval(\"1+1\"); end',
  'a = []; while true; a << eval(\"->(x) { [x].map { |y| y } }\"); end',
  'a = []; begin; while true; a << Object.new; end; rescue NoMemoryError; Struct.new(:a); end',
]
run ->(env) {
  program = PROGRAMS[env['PATH_INFO'][1..].to_i] unless env['PATH_INFO'] == '/fine'
  eval(program) if program
  [200, {}, ['fine']]
}";
    for mib in [11, 13, 18] {
        let app = app_with(config, Settings { memory_bytes: mib << 20, interpreters: 1, ..settings() });
        for number in 0..4 {
            let _ = app.call(get(&format!("/{number}"))).result;
        }
        assert_eq!(app.body("/fine"), "fine", "{mib} MiB");
    }
}
