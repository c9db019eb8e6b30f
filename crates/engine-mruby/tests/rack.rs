//! The Rack interface, without HTTP: environment in, answer out.

use crate::support::{app, app_with, get, settings, try_app};
use engine::{Fault, Input};
use http::{HeaderName, HeaderValue};

#[test]
fn a_lambda_answers() {
    let app = app("run lambda { |env| [200, { 'content-type' => 'text/plain' }, ['hello ', env['PATH_INFO']]] }");
    let got = app.got(get("/x"));
    assert_eq!((got.status, got.body.as_str()), (200, "hello /x"));
    assert_eq!(got.headers, [("content-type".to_owned(), "text/plain".to_owned())]);
}

#[test]
fn the_environment_has_the_request() {
    let app = app("run ->(env) {
           shown = env.reject { |k, _| k == 'rack.errors' || k == 'rack.input' || k.start_with?('fools') }
           [200, {}, [shown.to_a.sort.map { |k, v| \"#{k}=#{v.inspect}\" }.join(\"\\n\")]]
         }");
    let mut request = get("/a/b?c=d");
    request.headers.append(HeaderName::from_static("host"), HeaderValue::from_static("example.org:81"));
    request.headers.append(HeaderName::from_static("x-a"), HeaderValue::from_static("1"));
    let body = app.got(request).body;
    for line in [
        "PATH_INFO=\"/a/b\"",
        "QUERY_STRING=\"c=d\"",
        "SERVER_NAME=\"example.org\"",
        "SERVER_PORT=\"81\"",
        "HTTP_X_A=\"1\"",
        "HTTP_HOST=\"example.org:81\"",
        "rack.url_scheme=\"http\"",
        "SCRIPT_NAME=\"\"",
    ] {
        assert!(body.contains(line), "{line} is not in\n{body}");
    }
}

#[test]
fn the_path_and_the_id_are_one_string_each_where_they_are_the_same() {
    let config = "run ->(env) {
           paths = env.values_at('PATH_INFO', 'REQUEST_PATH', 'REQUEST_URI')
           id = env['HTTP_X_REQUEST_ID']
           env['PATH_INFO'] << '!'
           [200, {}, [[paths, paths[0].equal?(paths[1]), id.equal?(env['fools_gold.context'].id), id.size].inspect]] }";
    let app = app(config);
    let got = |target, script_length, headers: usize| {
        let mut request = get(target);
        request.script_length = script_length;
        // An environment of more than 64 pairs is built pair by pair, not copied from a shape.
        for number in 0..headers {
            let name = HeaderName::try_from(format!("x-number-{number}")).unwrap();
            request.headers.append(name, HeaderValue::from_static("1"));
        }
        app.got(request).body
    };
    for headers in [0, 3, 80] {
        assert_eq!(got("/a?b", 0, headers), r#"[["/a!", "/a!", "/a?b"], true, true, 36]"#, "{headers}");
        assert_eq!(got("/a/b", 2, headers), r#"[["/b!", "/a/b", "/a/b"], false, true, 36]"#, "{headers}");
    }
}

#[test]
fn the_body_of_the_request_is_read_as_an_io() {
    let app = app("run ->(env) {
           i = env['rack.input']; a = i.gets; b = i.read(3); c = i.read; i.rewind
           [200, {}, [[a, b, c, i.read(4), i.read(100), i.read(1), i.read].inspect]]
         }");
    let mut request = get("/");
    request.input = Input::Memory("line one\nabcdef".into());
    assert_eq!(app.got(request).body, "[\"line one\\n\", \"abc\", \"def\", \"line\", \" one\\nabcdef\", nil, \"\"]");
}

#[test]
fn a_body_of_an_earlier_request_that_is_kept_does_not_read_a_later_one() {
    let config = "run ->(env) {
           said = begin; $kept ? $kept.read : 'nothing kept'; rescue IOError => e; e.message; end
           size = begin; $kept ? $kept.size : 0; rescue IOError => e; e.message; end
           $kept ||= env['rack.input']
           [200, {}, [[said, size, env['rack.input'].read].inspect]] }";
    let app = app_with(config, engine_mruby::Settings { interpreters: 1, ..settings() });
    let sent = |body: &'static str| {
        let mut request = get("/");
        request.input = Input::Memory(body.into());
        app.got(request).body
    };
    assert_eq!(sent("mine"), r#"["nothing kept", 0, "mine"]"#);
    assert_eq!(sent("another's"), r#"["closed stream", "closed stream", "another's"]"#);
}

#[test]
fn the_stream_of_a_response_has_the_methods_by_which_a_socket_is_written_to() {
    let app = app("body = ->(stream) {
           said = [stream.printf('%02d;', 7), stream.putc('xy'), stream.putc(65), stream.syswrite('gold'),
                   stream.write_nonblock('é', exception: false), stream.print('a', 1), stream.puts('b', ['c'])]
           stream << said.inspect << '.'
         }
         run ->(env) { [200, {}, body] }");
    assert_eq!(app.body("/"), "07;xAgoldéa1b\nc\n[nil, \"xy\", 65, 4, 2, nil, nil].");
}

#[test]
fn lines_are_read_in_pieces_of_about_their_own_length() {
    let app = app("require 'stringio'
         class Counted < StringIO
           attr_reader :taken
           def slice_at(position, length) = super.tap { |part| @taken = @taken.to_i + part.bytesize }
         end
         run ->(env) {
           texts = [\"a\\n\" * 20_000, 'a' * 1_000_000, \"b\\n\" + 'a' * 500_000 + \"\\n\" + \"cd\\n\" * 10]
           times = texts.map do |text|
             io = Counted.new(text)
             raise 'other lines' unless io.each_line.to_a == text.lines
             io.taken / text.bytesize
           end
           [200, {}, [times.all? { |count| count <= 33 }.inspect, times.inspect]] }");
    let body = app.body("/");
    assert!(body.starts_with("true"), "{body}");
}

#[test]
fn headers_and_parts_of_other_classes_are_sent_as_text() {
    let app = app("
class Own
  def initialize(hash) = @hash = hash
  def to_s
    100.times { |n| @hash[\"later#{n}\"] = n.to_s * 10 }
    'own' * 2
  end
end
run ->(env) {
  headers = { 'a' => 1, 'c' => [1, nil, :x], d: 'e', 'f' => :g, 'h' => nil, 'i' => [] }
  headers['own'] = Own.new(headers)
  [200, headers, [1, nil, :b, 2.5, 'c']]
}");
    let got = app.got(get("/"));
    assert_eq!(got.body, "1b2.5c");
    let header = |name: &str| -> Vec<&str> {
        got.headers.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!([header("a"), header("c"), header("d"), header("f")], [vec!["1"], vec!["1", "x"], vec!["e"], vec!["g"]]);
    assert_eq!([header("h"), header("i"), header("own")], [vec![""], vec![], vec!["ownown"]]);
}

#[test]
fn bad_answers_are_refused_with_what_would_be_right() {
    let app = app("
run ->(env) {
  case env['PATH_INFO']
  when '/nil' then nil
  when '/status' then ['x', {}, []]
  when '/low' then [99, {}, []]
  when '/high' then [1000, {}, []]
  when '/early' then [103, {}, []]
  when '/headers' then [200, nil, []]
  when '/name' then [200, { 5 => 'c' }, []]
  when '/value' then [200, { 'a' => \"c\\rd\" }, []]
  when '/nul' then [200, { 'x-odd' => \"c\\0d\" }, []]
  when '/lines' then [200, { 'a' => [\"c\\nd\"] }, []]
  when '/once' then [200, { 'location' => \"/c\\nd\" }, []]
  when '/body' then [200, {}, nil]
  end
}");
    for (path, part) in [
        ("/nil", "Array of status"),
        ("/status", "100 to 999"),
        ("/low", "status is 99"),
        ("/high", "status is 1000"),
        ("/early", "103 cannot end"),
        ("/headers", "headers are nil"),
        ("/name", "header's name is 5"),
        ("/value", "header a"),
        ("/nul", "header x-odd"),
        ("/lines", "line feed"),
        ("/once", "header location"),
        ("/body", "the body is nil"),
    ] {
        match app.fault(get(path)) {
            Fault::BadAnswer(why) => assert!(why.contains(part), "{path}: {why}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(matches!(app.fault(get("/none")), Fault::BadAnswer(_)));
}

#[test]
fn an_exception_is_a_fault_with_its_backtrace() {
    let app = app("class Oops < StandardError; end\ndef deep\n  raise Oops, 'no'\nend\nrun ->(env) {\n  deep\n}");
    match app.fault(get("/")) {
        Fault::App(error) => {
            assert_eq!((error.class.as_str(), error.message.as_str()), ("Oops", "no"));
            assert!(error.backtrace[0].contains("config.ru:3"), "{:?}", error.backtrace);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bare_raise_is_reported_in_the_words_of_cruby() {
    match app("run ->(env) { raise }").fault(get("/")) {
        Fault::App(error) => assert_eq!(error.message, "unhandled exception"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn builder_uses_maps_and_warms_up() {
    let app = app("
class Tag
  def initialize(app, tag, suffix: '') ; @app, @tag, @suffix = app, tag, suffix; end
  def call(env) ; s, h, b = @app.call(env); h['x-tag'] = @tag + @suffix; [s, h, b]; end
end
use Tag, 'outer', suffix: '!'
map '/api' do
  map('/v1') { run ->(env) { [200, {}, [env['SCRIPT_NAME'] + '|' + env['PATH_INFO']]] } }
  run ->(env) { [200, {}, ['api']] }
end
warmup { |app| app.call({ 'PATH_INFO' => '/api', 'SCRIPT_NAME' => '' }); FoolsGold.store['warm'] = true }
freeze_app
run { |env| [200, {}, ['root ' + FoolsGold.store['warm'].inspect]] }
");
    assert_eq!(app.body("/api/v1/x"), "/api/v1|/x");
    assert_eq!(app.body("//api//v1//x"), "/api/v1|//x");
    assert_eq!(app.body("/api/zzz"), "api");
    assert_eq!(app.body("/apix"), "root true");
    assert_eq!(app.got(get("/")).headers, [("x-tag".to_owned(), "outer!".to_owned())]);
}

#[test]
fn a_frozen_application_is_frozen() {
    let app = app("class Seen\n  def call(env) = [200, {}, [frozen?.to_s]]\nend\nfreeze_app\nrun Seen.new\n");
    assert_eq!(app.body("/"), "true");
}

#[test]
fn a_middleware_is_in_front_of_what_follows_it_and_not_of_mappings_before_it() {
    let app = app("
class Guard
  def initialize(app) = @app = app
  def call(env) = [401, {}, ['who are you? '] + @app.call(env)[2]]
end
map('/health') { run ->(env) { [200, {}, ['fine ' + env['SCRIPT_NAME']]] } }
use Guard
map('/admin') { run ->(env) { [200, {}, ['secrets']] } }
freeze_app
run ->(env) { [200, {}, ['root']] }
");
    let answer = |path: &str| {
        let got = app.got(get(path));
        (got.status, got.body)
    };
    assert_eq!(answer("/health"), (200, "fine /health".to_owned()));
    assert_eq!(answer("/admin"), (401, "who are you? secrets".to_owned()));
    assert_eq!(answer("/"), (401, "who are you? root".to_owned()));
}

#[test]
fn a_builder_is_an_application_for_any_number_of_requests() {
    let app = app_with(
        "run Rack::Builder.new { map('/a') { run ->(env) { [200, {}, ['a' + env['PATH_INFO']]] } } }",
        engine_mruby::Settings { interpreters: 1, ..settings() },
    );
    for _ in 0..3 {
        assert_eq!(app.body("/a/b"), "a/b");
    }
}

#[test]
fn an_application_that_does_not_load_says_where() {
    let error = |config: &str| try_app(config, settings()).map(|_| ()).unwrap_err().to_string();
    assert!(error("run(").contains("config.ru:1"), "{}", error("run("));
    assert!(error("raise 'boom'").contains("RuntimeError: boom"));
    assert!(error("x = 1").contains("missing run or map"));
    assert!(error("run 5").contains("does not answer call"));
    let missing = error("require 'sinatra'");
    assert!(missing.contains("cannot load such file -- sinatra") && missing.contains("--engine ruby"), "{missing}");
    let thread = error("x = Thread.new { }\nrun ->(e) { }");
    assert!(thread.contains("Thread") && thread.contains("--engine ruby"), "{thread}");
}

#[test]
fn what_is_for_the_time_after_the_answer_runs_after_a_failure_too_and_each_on_its_own() {
    // With one interpreter, so that the next request comes after what follows the answer.
    let one = engine_mruby::Settings { interpreters: 1, ..settings() };
    let text = "
class Broken
  def each; yield 'a'; raise 'in the body'; end
end
run ->(env) {
  next [200, {}, [FoolsGold.store['ran'].to_s]] if env['PATH_INFO'] == '/ran'
  FoolsGold.store['ran'] = ''
  3.times { |n|
    env['rack.response_finished'] << ->(e, status, headers, error) {
      GC.start
      ran = [n, e['PATH_INFO'], status, headers, error && error.message].inspect
      FoolsGold.store['ran'] += ran
      raise 'a callable' if n > 0
    }
  }
  raise 'no' if env['PATH_INFO'] == '/raise'
  [201, { 'a' => 'b' }, env['PATH_INFO'] == '/body' ? Broken.new : []]
}";
    let app = app_with(text, one);
    let ran =
        |path: &str, rest: &str| -> String { (0..3).rev().map(|n| format!("[{n}, \"{path}\", {rest}]")).collect() };
    assert!(matches!(app.fault(get("/raise")), Fault::App(error) if error.message == "no"));
    assert_eq!(app.body("/ran"), ran("/raise", "500, {}, \"no\""));
    assert!(matches!(app.fault(get("/body")), Fault::App(error) if error.message == "in the body"));
    assert_eq!(app.body("/ran"), ran("/body", "201, {\"a\"=>\"b\"}, \"in the body\""));
    assert_eq!(app.got(get("/fine")).status, 201);
    assert_eq!(app.body("/ran"), ran("/fine", "201, {\"a\"=>\"b\"}, nil"));
}
