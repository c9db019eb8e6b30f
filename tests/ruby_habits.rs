//! What applications, and who starts them, count on though no SPEC says it: when their files are read, what is loaded
//! before them, which lists of the environment are looked at, and which words a command line may have.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Folder, MAX_WAIT, Server, ruby, server, within};

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
        let mut first = server.send_get(&format!("/{LONG}?a"));
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

/// Files that existed before the request, each of which is removed after its download.
const DOWNLOADS: &str = r#"
    Download = Struct.new(:to_path) { def each = yield(File.binread(to_path)) }
    40.times { |number| File.write("download-#{number}", "gold #{number}") }
    run lambda { |env|
      path = "download-#{env["QUERY_STRING"]}"
      env["rack.response_finished"] << ->(*) { File.delete(path) }
      [200, {}, Download.new(path)]
    }
"#;

#[test]
fn a_file_that_is_removed_after_the_answer_is_sent_all_the_same() {
    for worker in ["plain", "auto"] {
        let server = ruby::serve(DOWNLOADS, &["-w", "1", "-t", "1", "--ruby-worker", worker]);
        // Newer files count as made by the request, and the worker sends those itself.
        assert!(!within(Duration::from_millis(2500), || false));
        for number in 0..40 {
            assert_eq!(server.text(&format!("/?{number}")), format!("gold {number}"), "{worker}: {}", server.log());
        }
        assert!(within(MAX_WAIT, || !server.folder.join("download-39").exists()), "{worker}: {}", server.log());
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
        server.must_log(last);
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
    assert_eq!(server.text("/").split('/').next(), Some("FoolsGold::CompatServer"), "{}", server.log());
    let server = ruby::serve_files(&[("shop/config.ru", files[0].1)], &[], &["start", "-c", "shop", "-w", "1"]);
    assert!(server.text("/").ends_with("/shop"), "{}", server.log());
}

/// As it is served in this folder, with a configuration or without one.
fn serve_in(folder: &Folder, options: &[&str]) -> Server {
    ruby::serve_by(&[], folder.clone(), &[], &[&["-w", "1"][..], options].concat())
}

#[test]
fn the_name_of_a_folder_need_not_be_utf8() {
    let folder = server::folder().at(OsStr::from_bytes(b"r\xfcbe"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("name.rb"), "NAME = \"gold\"\n").unwrap();
    fs::write(folder.join("config.ru"), "require_relative 'name'\nrun ->(_) { [200, {}, [NAME]] }\n").unwrap();
    assert_eq!(serve_in(&folder, &[]).text("/"), "gold");
}

/// Tools that deploy put symlinks to shared files into each release.
#[test]
fn files_that_are_symlinks_have_their_neighbours_where_the_symlinks_are() {
    let home = server::folder();
    let (release, shared) = (home.at("release"), home.at("shared"));
    for (folder, name) in [(&release, "release"), (&shared, "shared")] {
        fs::create_dir_all(folder.join("config")).unwrap();
        for file in ["place.rb", "config/place.rb"] {
            fs::write(folder.join(file), format!("PLACE = \"{name}\"\n")).unwrap();
        }
    }
    let app =
        "require_relative 'place'\nrun ->(_) { [200, {}, [PLACE, ' ', File.basename(__dir__), ' ', $hook.to_s]] }\n";
    let hooks = "before_fork { $hook = File.basename(File.expand_path('../..', __FILE__)) + \" #{Process.pid}\" }\n";
    fs::write(shared.join("config.ru"), app).unwrap();
    fs::write(shared.join("config/puma.rb"), format!("require_relative 'place'\nworkers 1\n{hooks}")).unwrap();
    for file in ["config.ru", "config/puma.rb"] {
        symlink(shared.join(file), release.join(file)).unwrap();
    }
    let server = serve_in(&release, &["-C", "config/puma.rb"]);
    let first = server.text("/");
    assert!(first.starts_with("release release release "), "{first}\n{}", server.log());
    // Another process evaluates the file then.
    server.reload("generation 2 serves");
    let second = server.text("/");
    assert!(second.starts_with("release release release ") && second != first, "{second}\n{}", server.log());
}

/// Answers of several kinds, among them one with a file and one with a long body of the request.
const KINDS: &str = r#"
    PAGE = File.join(__dir__, "page")
    File.write(PAGE, "page")
    PAGE_BODY = Struct.new(:to_path) { def each = yield("parts") }
    run lambda { |env|
      case env["PATH_INFO"]
      when "/each" then [200, {}, %w[a b c].each]
      when "/file" then [200, {}, PAGE_BODY.new(PAGE)]
      when "/near" then [200, {}, PAGE_BODY.new("page")]
      when "/raise" then raise "on purpose"
      when "/sent" then [200, {}, [env["rack.input"].read.bytesize.to_s]]
      else [200, { "x-a" => "1" }, ["hello"]]
      end
    }
"#;

/// What an application may do to the whole process, at the end of its config.ru. `/near` may then be sent by its parts.
const LIBERTIES: &[&str] = &[
    "Encoding.default_external = 'UTF-16LE'",
    "Encoding.default_internal = 'UTF-16LE'",
    "Encoding.default_external = 'UTF-16LE'; Encoding.default_internal = 'UTF-32BE'",
    "Encoding.default_external = 'ISO-2022-JP'",
    "$VERBOSE = nil; $, = ','; $; = 'x'; $/ = nil; $\\ = '!'",
    "$DEBUG = $VERBOSE = true; module Warning; def self.warn(*, **) = raise('a warning'); end",
    "$stdout.close; $stderr.close",
    "$stdout.freeze; $stderr.freeze",
    "$stdout = $stderr = Object.new.tap { |one| def one.write(*) = raise('no writing') }",
    "Thread.abort_on_exception = true; Thread.report_on_exception = false; GC.disable",
    "Dir.chdir('/'); ENV.clear; Process.setproctitle('mine'); at_exit { raise 'at exit' }",
    "%w[TERM INT QUIT USR1 USR2 HUP CHLD TTIN TTOU ALRM].each { |name| trap(name, 'IGNORE') }",
    "module Comparable; def between?(*) = false; def clamp(*) = nil; end",
    "def require(*) = raise('no require'); def load(*) = raise('no load'); def format(*) = raise('no format')",
    "class Object; def method_missing(name, *) = name.end_with?('y') ? nil : super; end",
    "class String; def to_s = self + '!'; end; class NilClass; def to_s = 'nil'; end",
];

#[test]
fn what_an_application_does_to_the_whole_process_does_not_reach_the_server() {
    for (worker, preload) in [("plain", "--preload"), ("auto", "--preload=no")] {
        for code in LIBERTIES {
            let options = ["-w", "1", "-t", "1", "--ruby-worker", worker, preload];
            let mut server = ruby::serve(&format!("{KINDS}\n{code}\n"), &options);
            for (path, body) in [("/", "hello"), ("/each", "abc"), ("/file", "page"), ("/", "hello")] {
                assert_eq!(ruby::expect(&server, server.get(path), 200).text(), body, "{worker} {code} {path}");
            }
            let near = ruby::expect(&server, server.get("/near"), 200).text();
            assert!(["page", "parts"].contains(&near.as_str()), "{code}: {near}");
            assert_eq!(server.get("/raise").status, 500, "{code}");
            assert!(server.logs("on purpose"), "{worker} {code}\n{}", server.log());
            assert_eq!(server.client().post("/sent", "s".repeat(200_000)).text(), "200000", "{code}\n{}", server.log());
            server.end(Signal::TERM);
            assert!(!server.log().contains("engine: a worker"), "{worker} {code}\n{}", server.log());
        }
    }
}
