//! What applications, and who starts them, count on though no SPEC says it: when their files are read, what is loaded
//! before them, which lists of the environment are looked at, and which words a command line may have.

use crate::support::{Server, ruby};

/// A report at the same path for each request, as of an application with one thread in each process. Its size is the
/// path, its letter the query.
const REPORT: &str = r#"
    class Report
      def initialize(path) = @path = path
      def to_path = @path
      def each = yield(File.binread(@path))
    end
    run lambda { |env|
      File.binwrite("report", env["QUERY_STRING"] * env["PATH_INFO"].delete("/").to_i)
      [200, {}, Report.new("report")]
    }
"#;

/// More than sockets hold, so that the server still has some of it when the next request runs.
const LONG: usize = 12_000_000;

#[test]
fn a_file_that_the_next_request_writes_anew_is_sent_as_it_was() {
    for worker in ["plain", "auto"] {
        let server = ruby::serve(REPORT, &["-w", "1", "-t", "1", "--ruby-worker", worker]);
        let mut first = server.client();
        first.send(format!("GET /{LONG}?a HTTP/1.1\r\nHost: a\r\n\r\n")).unwrap();
        let head = first.head().unwrap();
        assert_eq!(head.header("content-length"), Some(LONG.to_string().as_str()), "{}", server.log());
        for _ in 0..50 {
            assert_eq!(server.text("/3?b"), "bbb");
        }
        let body = first.body(&head).unwrap();
        assert_eq!((body.len(), body.iter().filter(|byte| **byte != b'a').count()), (LONG, 0), "{worker}");
        ruby::assert_clean(&server);
    }
}

#[test]
fn a_path_that_begins_with_a_tilde_is_a_path_like_others() {
    let app = r#"
        Named = Struct.new(:to_path) { def each = yield("each") }
        run ->(env) { [200, {}, Named.new(env["QUERY_STRING"])] }
    "#;
    let server = ruby::serve_files(&[("config.ru", app), ("~page", "gold")], &[], &["-w", "1", "-t", "1"]);
    assert_eq!(server.text("/?~page"), "gold");
    assert_eq!(server.text("/?~nobody/page"), "each");
}

/// Puma, Unicorn and Thin have loaded these, or Rack has, and nobody notices that a `require` is missing.
#[test]
fn libraries_that_other_servers_load_are_there() {
    let app = r#"
        FOUND = [Tempfile, FileUtils, Delegator, SimpleDelegator, Etc, Set, Date, Forwardable, Logger]
        FOUND.push(Timeout, URI, StringIO, Fcntl)
        FOUND.push(Dir.tmpdir, Dir.mktmpdir { |folder| folder }, Time.parse("2026-11-23").httpdate)
        run ->(_) { [200, {}, [FOUND.size.to_s]] }
    "#;
    for preload in ["--preload=yes", "--preload=no"] {
        let server = ruby::serve(app, &["-w", "1", "-t", "1", preload]);
        assert_eq!(server.text("/"), "16");
    }
}

/// What the log says when an application has put these lists in the place of the server's, as `env["x"] += [...]` does.
fn after(code: &str) -> Server {
    let app = format!(
        "run lambda {{ |env|\n\
           env['rack.after_reply'] += [-> {{ warn 'noted: reply' }}]\n\
           env['rack.response_finished'] = [->(_, status, headers, error) {{\n\
             warn \"noted: #{{status}} #{{headers.class}} #{{error.inspect}}\"\n\
           }}]\n\
           {code}\n\
         }}"
    );
    let server = ruby::serve(&app, &["-w", "1", "-t", "1"]);
    let _ = server.get("/");
    server
}

#[test]
fn lists_that_an_application_puts_in_the_place_of_the_servers_count() {
    let order = |server: &Server, last: &str| {
        assert!(server.logs(last), "{}", server.log());
        let log = server.log();
        assert!(log.find("noted: reply").unwrap() < log.find(last).unwrap(), "{log}");
    };
    let server = after("[201, {}, ['x']]");
    order(&server, "noted: 201 Hash nil");
    assert_eq!(server.get("/").status, 201, "the thread is free again");
    order(&after("raise 'on purpose'"), "noted: 500 Hash #<RuntimeError: on purpose>");
    // Taken back after the answer was promised to have something behind it.
    let server = after("[202, {}, Enumerator.new { |out| env.clear; out << 'x' }]");
    assert_eq!(server.get("/").text(), "x");
    assert_eq!(server.get("/").text(), "x");
}

#[test]
fn the_words_of_other_servers_command_lines_start_it() {
    let files = [
        ("shop.ru", "run ->(_) { [200, {}, [$kind.to_s, Dir.pwd]] }"),
        ("config/unicorn.rb", "worker_processes 1\nafter_fork { |server, worker| $kind = server.class }"),
    ];
    let server = ruby::serve_files(&files, &[], &["-R", "shop.ru", "-c", "config/unicorn.rb", "start"]);
    assert_eq!(server.text("/").split('/').next(), Some("FoolsGold::OldServer"), "{}", server.log());
    let server = ruby::serve_files(&[("shop/config.ru", files[0].1)], &[], &["start", "-c", "shop", "-w", "1"]);
    assert!(server.text("/").ends_with("/shop"), "{}", server.log());
}
