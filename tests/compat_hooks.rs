//! What hooks and plugins of other servers' files lean on: what their own servers do when a hook fails, in which mode
//! it runs, and which names a file may use.

use std::fs;
use std::path::Path;

use crate::support::successor::{Process, adopt_orphans, signal};
use crate::support::{Client, MAX_WAIT, Server, ruby, server, within};
use rustix::process::Signal;

const APP: &str = "run ->(env) { [200, {}, [\"#{Process.ppid}\"]] }\n";
/// Writes a line that the test waits for.
const NOTE: &str = "def note(text) = File.write(\"notes\", \"#{text}\\n\", mode: \"a\")\n";

/// Serves with this file.
fn serve(name: &str, text: &str) -> Server {
    serve_app(APP, name, text)
}

fn serve_app(app: &str, name: &str, text: &str) -> Server {
    ruby::serve_with(name, ruby::folder(&[("config.ru", app), (name, &format!("{NOTE}{text}"))]), &[])
}

/// The parts of Puma's gem that applications use.
const GEM: [(&str, &str); 2] = [
    ("lib/puma.rb", "module Puma\n  VERSION = '8'\nend\n"),
    ("lib/puma/cli.rb", "module Puma\n  class << self\n    attr_accessor :cli_config\n  end\nend\n"),
];

/// Serves an application with a `puma.rb` that puts these parts into the load path.
fn serve_beside_gem(app: &str, text: &str, options: &[&str]) -> Server {
    let file = format!("$LOAD_PATH.unshift File.expand_path('lib')\n{text}bind 'tcp://127.0.0.1:0'\n");
    let files = [&[("config.ru", app), ("puma.rb", &*file)], &GEM[..]].concat();
    ruby::serve_with("puma.rb", ruby::folder(&files), options)
}

/// What a command says, on both streams.
fn said(folder: &Path, arguments: &[&str]) -> String {
    server::run(folder, &[("FOOLS_GOLD_RUBY", &ruby::program())], arguments).1
}

#[test]
fn a_hook_of_puma_that_fails_costs_a_line_and_not_the_worker() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\nbefore_fork { raise 'no database' }\n\
                before_worker_boot { ActiveRecord::Base.establish_connection }\nbefore_worker_boot { note 'booted' }\n\
                before_thread_start { raise 'no thread' }\n";
    let server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200);
    ruby::wait_for_note(&server, "booted");
    server.must_log(
        "the hook before_worker_boot failed; as in Puma, the process goes on: uninitialized constant ActiveRecord",
    );
    server.must_log("the hook before_fork failed; as in Puma, the process goes on: no database");
}

#[test]
fn hooks_of_workers_run_where_puma_has_workers() {
    let file = "bind 'tcp://127.0.0.1:0'\nbefore_fork { note 'before_fork' }\nbefore_worker_boot { note 'boot' }\n\
                before_thread_start { note 'thread' }\nafter_booted { note 'booted' }\n";
    for (workers, is_cluster) in [("", false), ("workers 0\n", false), ("workers 1\n", true)] {
        let server = serve("puma.rb", &format!("{workers}{file}"));
        assert_eq!(server.get("/").status, 200);
        ruby::wait_for_note(&server, "thread");
        ruby::wait_for_note(&server, "booted");
        let notes = ruby::notes(&server);
        for note in ["before_fork", "boot"] {
            assert_eq!(notes.iter().any(|line| line == note), is_cluster, "{workers:?}: {notes:?}");
        }
    }
}

/// As GoodJob's documentation has it: in the only process of Puma's single mode, jobs that run end in time.
#[test]
fn a_block_for_the_end_of_the_process_of_a_single_puma_runs_in_the_worker() {
    let file = "bind 'tcp://127.0.0.1:0'\nMAIN_PID = Process.pid\nOTHER = 1\n\
                at_exit { Jobs.shutdown(OTHER) if Process.pid == MAIN_PID }\n";
    let app = "module ::Jobs\n  def self.shutdown(other)\n    \
               File.write('notes', \"#{Process.pid} #{other}\\n\", mode: 'a')\n  end\nend\n\
               run ->(env) { [200, {}, [Process.pid.to_s]] }\n";
    for preload in ["--preload=no", "--preload=yes"] {
        let folder = ruby::folder(&[("config.ru", app), ("puma.rb", file)]);
        let mut server = ruby::serve_with("puma.rb", folder, &[preload]);
        let ended = format!("{} 1", server.text("/"));
        server.end(Signal::TERM);
        let notes = ruby::notes(&server);
        assert_eq!(notes.first(), Some(&ended), "{preload}: {}", server.log());
        // A mold that has loaded the application ends in the same way.
        assert_eq!(notes.len() > 1, preload == "--preload=yes", "{notes:?}");
        assert!(!server.log().contains("uninitialized constant"), "{}", server.log());
    }
}

/// Puma 8 gives the thread pool to hooks of threads; lambdas of older files take nothing. Its `before_fork` gets nil: a
/// lambda has to accept it. Keys of hooks are Symbols.
#[test]
fn hooks_of_puma_get_what_puma_gives_them() {
    let file = "workers 1\nthreads 3, 3\nbind 'tcp://127.0.0.1:0'\nbefore_fork { |nothing| note nothing.inspect }\n\
                before_fork(&->(nothing) { note \"lambda: #{nothing.inspect}\" })\n\
                before_fork(&-> { note 'no parameter' })\n\
                before_thread_start { |pool| note \"at most #{pool.max_threads}\" }\n\
                before_thread_start(&-> { note 'none' })\n\
                @config.events.register(:ping!) { note 'never' } if @config.respond_to?(:events)\n\
                before_worker_boot('db') { |_, data| data[:a] = 'shared' }\n\
                before_worker_boot(:db) { |_, data| note data[:a] }\n";
    let server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    for note in ["nil", "lambda: nil", "no parameter", "at most 3", "none", "shared"] {
        ruby::wait_for_note(&server, note);
    }
}

/// Files report crashes with it.
#[test]
fn pumas_hook_after_the_exit_of_a_worker_learns_how_it_ended() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\nafter_worker_shutdown do |worker|\n  \
                note \"#{worker.index} #{worker.term?} #{worker.process_status.termsig.inspect} #{worker.phase}\"\n  \
                note 'times' if worker.booted? && worker.uptime < 600 && worker.started_at < Time.now\nend\n";
    let mut server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    signal(ruby::workers(&server)[0], Signal::KILL);
    ruby::wait_for_note(&server, "0 false 9 0");
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    server.ended_by(Signal::TERM);
    assert_eq!(ruby::notes(&server), ["0 false 9 0", "times", "0 true nil 0", "times"], "{}", server.log());
}

/// Files tell a worker that cannot boot from one that has served.
#[test]
fn pumas_hook_after_the_exit_of_a_worker_learns_whether_it_had_booted() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\nbefore_worker_boot { exit!(7) if File.exist?('broken') }\n\
                after_worker_shutdown { |worker| note \"booted: #{worker.booted?}\" }\n";
    let server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    fs::write(server.folder.join("broken"), "").unwrap();
    signal(ruby::workers(&server)[0], Signal::KILL);
    ruby::wait_for_note(&server, "booted: false");
    assert_eq!(ruby::notes(&server)[..2], ["booted: true", "booted: false"], "{}", server.log());
}

/// Lambdas have to accept exactly what Pitchfork passes.
#[test]
fn hooks_of_pitchfork_get_what_pitchfork_gives_them() {
    let file = "worker_processes 1\nlisten '127.0.0.1:0'\n\
                before_fork(->(server) { note \"fork #{server.class}\" })\n\
                after_mold_fork(->(_, mold) { note \"mold #{mold.class}\" })\n\
                after_worker_fork(->(_, worker) { note \"worker #{worker.nr}\" })\n";
    let server = serve("pitchfork.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    for note in ["fork FoolsGold::CompatServer", "mold FoolsGold::CompatWorker", "worker 0"] {
        ruby::wait_for_note(&server, note);
    }
}

/// Files limit the requests and the memory of a worker with it. What such a hook keeps in the worker is there in the
/// next one, and the request has its answer before.
#[test]
fn pitchforks_hook_after_each_request_can_end_the_worker() {
    let file = "worker_processes 1\nlisten '127.0.0.1:0'\n\
                after_monitor_ready(->(server) { note \"monitor #{server.class}\" })\n\
                after_worker_ready { |_, worker| worker.instance_variable_set(:@most, 2) }\n\
                after_request_complete do |server, worker, env|\n  most = worker.instance_variable_get(:@most)\n  \
                note \"#{worker.requests_count} of #{most}: #{env['PATH_INFO']}\"\n  \
                raise 'no matter' if env['PATH_INFO'] == '/a'\n  \
                exit if worker.requests_count >= most\nend\n\
                before_worker_exit { |_, worker| note \"end after #{worker.requests_count}\" }\n";
    let server = serve("pitchfork.rb", file);
    ruby::wait_for_note(&server, "monitor FoolsGold::CompatServer");
    let before = ruby::workers(&server);
    for (path, note) in [("/a", "1 of 2: /a"), ("/b", "2 of 2: /b")] {
        assert_eq!(server.get(path).status, 200, "{}", server.log());
        ruby::wait_for_note(&server, note);
    }
    ruby::wait_for_note(&server, "end after 2");
    let is_new = || ruby::workers(&server).iter().all(|pid| !before.contains(pid));
    assert!(within(MAX_WAIT, is_new), "{}", server.log());
    assert_eq!(server.get("/c").status, 200, "{}", server.log());
    ruby::wait_for_note(&server, "1 of 2: /c");
    server.must_log("the hook after_request_complete failed: no matter");
}

/// The application's file is looked for in the folder that the file names, as Puma does, if there is none where it was
/// typed.
#[test]
fn an_application_on_the_command_line_may_be_in_the_folder_that_the_file_names() {
    let folder = ruby::folder(&[("app/config.ru", APP), ("app/config/puma.rb", "placeholder")]);
    let app = folder.join("app");
    let text = format!("directory '{}'\nbind 'tcp://127.0.0.1:0'\n", app.display());
    fs::write(app.join("config/puma.rb"), text).unwrap();
    let server = ruby::serve_with("app/config/puma.rb", folder, &["config.ru"]);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
}

#[test]
fn directives_of_a_plugin_are_no_mistakes() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let explain = |text: &str| {
        fs::write(folder.join("puma.rb"), text).unwrap();
        said(&folder, &["explain", "puma.rb"])
    };
    let answer = explain("plugin :solid_queue\nsolid_queue_mode :async\n");
    assert!(answer.contains("puma.rb:2: solid_queue_mode :async\n#       a directive of a plugin"), "{answer}");
    let answer = explain("plugin 'prometheus'\nexporter_uri 'tcp://0.0.0.0:9394'\n");
    assert!(answer.contains("puma.rb:2: exporter_uri") && !answer.contains("does not start"), "{answer}");
    // A slip of the pen is one all the same, and so is a word that nobody can have brought.
    for text in ["plugin 'prometheus'\nwrokers 3\n", "plugin :tmp_restart\nexporter_uri 'x'\n"] {
        let answer = explain(text);
        assert!(answer.contains("Puma has no such directive"), "{answer}");
    }
}

/// As a module, or in Puma's class itself. They find the gem loaded, as in Puma's process.
#[test]
fn directives_that_a_library_adds_to_those_of_puma_run() {
    let puma = "module Puma\n  class DSL\n    def initialize(options, config)\n    end\n  end\nend\n";
    let library = "module Boot\n  def boot(count, env:, &block)\n    workers count\n    environment env\n    \
                   before_worker_boot(&block)\n  end\nend\nPuma::DSL.include Boot\n\
                   class Puma::DSL\n  def exporter(url:, count: 3)\n    @options[:exporter_url] = url\n    \
                   threads count, count\n  end\nend\n";
    let file = format!(
        "$LOAD_PATH.unshift File.expand_path('lib')\nPuma::DSL\nrequire 'boot'\n{NOTE}\
         boot(1, env: 'staging') {{ note 'booted' }}\nexporter url: 'tcp://a:1'\nnote get(:exporter_url)\n\
         note respond_to?(:boot)\nbind 'tcp://127.0.0.1:0'\n"
    );
    let app = "run ->(env) { [200, {}, [ENV['RACK_ENV'], ' ', Puma.cli_config.options[:max_threads].to_s]] }\n";
    let lib = [("lib/puma.rb", puma), GEM[1], ("lib/boot.rb", library)];
    let folder = ruby::folder(&[&lib[..], &[("config.ru", app), ("puma.rb", &*file)]].concat());
    let server = ruby::serve_with("puma.rb", folder, &[]);
    assert_eq!(server.text("/"), "staging 3", "{}", server.log());
    ruby::wait_for_note(&server, "booted");
    assert_eq!(ruby::notes(&server), ["tcp://a:1", "true", "booted"]);
    let explained = said(&server.folder, &["explain", "puma.rb"]);
    assert!(
        explained.contains("exporter_url") && explained.contains("an option of a library for Puma, which nothing"),
        "{explained}"
    );
    assert!(!explained.contains("no such directive"), "{explained}");
}

/// GitLab and others ask whether there is a `cli_config`, and call methods of it then.
#[test]
fn an_application_finds_the_configuration_of_puma_where_its_file_has_loaded_the_gem() {
    let app = "run ->(env) { [200, {}, [Puma.cli_config.options[:max_threads].to_s]] }\n";
    let server = serve_beside_gem(app, "Puma::VERSION\nthreads 3, 7\n", &[]);
    assert_eq!(server.text("/"), "7", "{}", server.log());
}

/// Most files name no constant of Puma, and `Bundler.require` loads the gem in most applications.
#[test]
fn an_application_with_puma_in_its_bundle_finds_the_configuration_with_the_threads_of_the_command_line() {
    let app = "run ->(env) { [200, {}, [Puma.cli_config.options[:max_threads].to_s]] }\n";
    let file = "Gem.loaded_specs['puma'] ||= Gem::Specification.new('puma', '8.0')\nthreads 3, 7\n";
    let server = serve_beside_gem(app, file, &["-t", "4"]);
    assert_eq!(server.text("/"), "4", "{}", server.log());
}

/// Gems such as Scout and older AppSignal do so while the application is loaded, in three ways.
#[test]
fn an_application_adds_hooks_to_the_configuration_of_puma() {
    let app = "options = Puma.cli_config.options\n$booted = []\n\
               options[:before_worker_boot] ||= []\n\
               options[:before_worker_boot] << proc { |index| $booted << \"first #{index}\" }\n\
               options[:before_worker_boot] << ->(_) { raise 'no agent' }\n\
               options[:before_worker_boot] << { block: proc { $booted << 'second' } }\n\
               old = options.user_options[:before_worker_boot]\n\
               options[:before_worker_boot] = old + [proc { $booted << 'third' }]\n\
               run ->(env) { [200, {}, [$booted.join(', ')]] }\n";
    let file = "Puma::VERSION\nworkers 1\npreload_app!\nbefore_worker_boot { $booted << 'of the file' }\n";
    let server = serve_beside_gem(app, file, &[]);
    assert_eq!(server.text("/"), "first 0, second, third, of the file", "{}", server.log());
    server.must_log("the hook before_worker_boot failed; as in Puma, the process goes on: no agent");
}

/// Scout starts its thread at once if not, and else by a hook, which has run before a worker loads the application.
#[test]
fn an_application_finds_in_the_configuration_of_puma_whether_it_is_loaded_before_the_fork() {
    let app = "run ->(env) { [200, {}, [Puma.cli_config.options[:preload_app].inspect]] }\n";
    let cases = [
        ("workers 2\n", &[][..], "true"),
        ("workers 2\npreload_app! false\n", &[][..], "false"),
        ("workers 2\npreload_app!\n", &["--preload=no"][..], "false"),
    ];
    for (words, more, expected) in cases {
        let server = serve_beside_gem(app, &format!("Puma::VERSION\n{words}"), more);
        assert_eq!(server.text("/"), expected, "{words}{more:?}: {}", server.log());
    }
}

#[test]
fn names_of_unicorn_are_known_in_its_files_and_nowhere_else() {
    let file = "Unicorn::HttpServer::START_CTX[0] = '/nowhere'\nHttpServer::START_CTX[:cwd] = Dir.pwd\n\
                Unicorn::Configurator::DEFAULTS[:logger].formatter = ->(_, _, _, text) { \"mine: #{text}\\n\" }\n\
                Configurator::DEFAULTS[:timeout]\nUnicorn::HttpRequest::DEFAULTS['rack.url_scheme'] = 'https'\n\
                listen '127.0.0.1:0'\n\
                after_fork(lambda { |server, worker| note 'never' })\n\
                after_fork do |server, worker|\n  server.listen('127.0.0.1:1', tries: -1)\n  \
                server.logger.info('worker here')\n  note \"forked #{defined?(::Unicorn).inspect}\"\nend\n\
                before_fork(lambda { |server, worker| note 'as an argument' })\n";
    let server = serve("unicorn.rb", file);
    assert_eq!(server.get("/").status, 200);
    ruby::wait_for_note(&server, "forked nil");
    let notes = ruby::notes(&server);
    assert_eq!(notes, ["as an argument", "forked nil"], "the last block of a hook counts, as in Unicorn");
    server.must_log("mine: worker here");
    server.must_log("server.listen 127.0.0.1:1 in a hook does nothing: workers have no addr");
    let text = said(&server.folder, &["explain", "unicorn.rb"]);
    assert!(text.contains("line 6: HttpRequest::DEFAULTS \"rack.url_scheme\", \"https\""), "{text}");
}

#[test]
fn what_files_ask_about_the_start_of_unicorn_has_an_answer() {
    let file = "listen '127.0.0.1:0'\nstart = Unicorn::HttpServer::START_CTX\n\
                raise start.inspect unless start[0] == 'unicorn' && start[:argv] == ['-c', __FILE__] && \
                start[:cwd] == Dir.pwd\n\
                raise 'daemon' if Unicorn::Configurator::RACKUP[:daemonize] || RACKUP[:daemonize]\n\
                Configurator::RACKUP[:options][:listeners].each { |one| listen one }\n\
                working_directory start[:cwd]\n";
    let server = serve("unicorn.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
}

/// The process that has read the file first has become the first mold.
#[test]
fn a_later_mold_tells_the_file_what_the_command_line_says() {
    let file = format!("{NOTE}workers 1\nbind 'tcp://127.0.0.1:0'\nnote \"asked for #{{@options[:workers]}}\"\n");
    let server = ruby::serve_with("puma.rb", ruby::folder(&[("config.ru", APP), ("puma.rb", &file)]), &["-w", "2"]);
    ruby::expect_workers(&server, 2);
    let (mold, worker) = (ruby::mold(&server), ruby::workers(&server)[0]);
    signal(mold, Signal::KILL);
    server.must_log("; its workers stay");
    signal(worker, Signal::KILL);
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2), "{}", server.log());
    assert_eq!(ruby::notes(&server), ["asked for 2", "asked for 2"], "{}", server.log());
}

/// As with JRuby. Puma refuses a cluster there; here each worker is a process that evaluates the file itself.
#[test]
fn a_file_in_a_ruby_that_cannot_fork_learns_the_same_and_its_hooks_for_the_server_run_once() {
    let file = format!(
        "{NOTE}bind 'tcp://127.0.0.1:0'\nnote \"asked for #{{@options[:workers]}}\"\n\
         after_booted {{ note 'booted' }}\nafter_stopped {{ note 'stopped' }}\n"
    );
    let without = "Process.singleton_class.undef_method(:fork)\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", &file), ("without.rb", without)]);
    let required = folder.join("without.rb");
    let text = format!("#!/bin/sh\nexec {} -r '{}' \"$@\"\n", ruby::program(), required.display());
    let program = server::script(folder.join("ruby"), &text);
    let mut server = Server::spawn(folder, &[], &["--ruby", &program, "-C", "puma.rb", "-w", "2"]);
    assert!(within(MAX_WAIT, || ruby::count(&server, "asked for 2") == 3), "{}", server.log());
    ruby::wait_for_note(&server, "booted");
    server.ended_by(Signal::TERM);
    for note in ["booted", "stopped"] {
        assert_eq!(ruby::count(&server, note), 1, "{:?} {}", ruby::notes(&server), server.log());
    }
}

/// Files listen where they usually do only if the command line does not say where.
#[test]
fn unicorns_file_learns_the_port_of_the_command_line() {
    let file = "raise RACKUP.inspect unless RACKUP[:set_listener] == (RACKUP[:port] != 8080)\n\
                listen '127.0.0.1:1' if RACKUP[:port] == 8080\npid \"#{RACKUP[:host]}-#{RACKUP[:port]}.pid\"\n";
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", file)]);
    let text = said(&folder, &["config", "-C", "unicorn.rb", "-p", "4000", "-o", "127.0.0.2"]);
    assert!(text.contains("127.0.0.2-4000.pid") && !text.contains("127.0.0.1:1"), "{text}");
    let text = said(&folder, &["config", "-C", "unicorn.rb"]);
    assert!(text.contains("0.0.0.0-8080.pid") && text.contains("tcp://127.0.0.1:1"), "{text}");
}

/// UnicornWrangler names the server's class when the file calls it, and files require parts of the gem.
#[test]
fn libraries_that_unicorns_file_requires_find_unicorn() {
    let library = "module UnicornWrangler\n  module Extension\n    def process_client(*) = super\n  end\n  \
                   class << self\n    def setup(logger:)\n      Unicorn::HttpServer.prepend(Extension)\n    end\n  \
                   end\nend\n";
    let part = "class Unicorn::HttpServer\n  PART = 'of the gem'\nend\n";
    let path = "$LOAD_PATH.unshift File.expand_path('lib')\nlisten '127.0.0.1:0'\n";
    let lib = [("config.ru", APP), ("lib/unicorn_wrangler.rb", library), ("lib/unicorn.rb", "module Unicorn; end\n")];
    let serve = |file: &str| {
        let more = [("unicorn.rb", file), ("lib/unicorn/http_server.rb", part)];
        ruby::serve_with("unicorn.rb", ruby::folder(&[&lib[..], &more].concat()), &[])
    };
    let setup = "require 'unicorn_wrangler'\nUnicornWrangler.setup(logger: set.fetch(:logger))\n";
    let server = serve(&format!("{path}{setup}"));
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    for words in [
        "Unicorn::HttpServer: nothing calls these methods here",
        "UnicornWrangler finds no server of its own here and does nothing: --max-requests=N does what its",
    ] {
        server.must_log(words);
    }
    let server = serve(&format!("{path}{NOTE}require 'unicorn/http_server'\nnote ::Unicorn::HttpServer::PART\n"));
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    assert_eq!(ruby::notes(&server), ["of the gem"]);
}

/// They are written for a process in which all of Unicorn is loaded.
#[test]
fn an_application_can_require_a_part_of_unicorn() {
    let part = "module Unicorn::OobGC\n  def self.new(app, interval = 5) = app\nend\n";
    let app = "require 'unicorn/oob_gc'\nuse Unicorn::OobGC, 10\nrun ->(_) { [200, {}, [Unicorn::NAME]] }\n";
    let unicorn = ("unicorn.rb", "listen '127.0.0.1:0'\n");
    let files = [("config.ru", app), unicorn, ("lib/unicorn/oob_gc.rb", part)];
    let gem = ("lib/unicorn.rb", "module Unicorn; NAME = 'all of it'; end\n");
    for options in [&["-C", "unicorn.rb"][..], &["-C", "-", "-b", "tcp://127.0.0.1:0"]] {
        let folder = ruby::folder(&[&files[..], &[gem]].concat());
        let server = Server::spawn(folder, &[("RUBYOPT", "-Ilib")], options);
        assert_eq!(server.text("/"), "all of it", "{}", server.log());
        server.must_log("Unicorn::OobGC finds no server of its own here and does nothing: --oob-gc collects garbage");
    }
}

/// As files do that let a master look after other processes, or a worker after its memory.
#[test]
fn methods_of_unicorns_server_can_be_replaced_and_it_is_told_that_nothing_calls_them() {
    let patch = |root: &str, name: &str| {
        format!("class {root}Unicorn::HttpServer\n  alias former {name}\n  def {name}(*) = note('called')\nend\n")
    };
    let (in_file, in_hook) = (patch("", "process_client"), patch("::", "master_sleep"));
    let file = format!("listen '127.0.0.1:0'\n{in_file}before_fork do\n{in_hook}note 'before'\nend\n");
    let server = serve("unicorn.rb", &file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    assert_eq!(ruby::notes(&server), ["before"]);
    for words in [
        "unicorn.rb:5: Unicorn::HttpServer: nothing calls these methods here: what is to run in each worker belongs",
        "unicorn.rb:10: Unicorn::HttpServer#master_sleep is never called here: what is to run at intervals belongs in",
    ] {
        server.must_log(words);
    }
    let text = said(&server.folder, &["explain", "unicorn.rb"]);
    assert!(text.contains("unicorn.rb:5: Unicorn::HttpServer :process_client"), "{text}");
}

/// Libraries start in each worker by it: here they do not, so the log says it.
#[test]
fn what_takes_the_place_of_the_start_of_pumas_server_is_named() {
    let gem = "module Puma\n  class Runner\n    def start_server = nil\n  end\nend\n";
    let agent = "module Agent\n  def start_server = super\nend\nPuma::Runner.prepend(Agent)\n";
    let words = "lib/agent.rb:2: Puma::Runner#start_server is never called here: what it starts in each worker";
    let file = "bind 'tcp://127.0.0.1:0'\nworkers 2\npreload_app!\n";
    for is_replaced in [true, false] {
        let more = if is_replaced { "require_relative 'lib/agent'\n" } else { "" };
        let app = format!("require_relative 'lib/puma/runner'\n{more}{APP}");
        let files = [("config.ru", &*app), ("puma.rb", file), ("lib/puma/runner.rb", gem), ("lib/agent.rb", agent)];
        let server = ruby::serve_with("puma.rb", ruby::folder(&files), &[]);
        assert_eq!(server.get("/").status, 200, "{}", server.log());
        if is_replaced {
            server.must_log(words);
        }
        assert_eq!(server.log().matches(words).count(), usize::from(is_replaced), "{}", server.log());
    }
}

/// Agents such as AppSignal's start in each worker by `worker_loop`: here they report nothing, so the log says it.
#[test]
fn what_takes_the_place_of_the_loop_of_unicorns_workers_is_named_where_they_are_forked_after_the_load() {
    let gem = "module Unicorn\n  class HttpServer\n    def worker_loop(worker) = worker\n  end\nend\n";
    let agent = "module Agent\n  def worker_loop(worker) = super\nend\nUnicorn::HttpServer.prepend(Agent)\n";
    let app = format!("require_relative 'lib/unicorn/http_server'\nrequire_relative 'lib/agent'\n{APP}");
    let words = "lib/agent.rb:2: Unicorn::HttpServer#worker_loop is never called here: what it starts in each worker";
    // systemd and cron set no locale: then the second name is not valid in its encoding.
    let in_c = &[("LC_ALL", "C"), ("RUBYOPT", "")][..];
    for (name, env, preload) in [("app", &[][..], true), ("r\u{fc}be", in_c, true), ("app", &[][..], false)] {
        let file = format!("listen '127.0.0.1:0'\nworker_processes 2\npreload_app {preload}\n");
        let folder = server::folder().at(name);
        fs::create_dir_all(folder.join("lib/unicorn")).unwrap();
        for (path, text) in
            [("config.ru", &*app), ("unicorn.rb", &*file), ("lib/unicorn/http_server.rb", gem), ("lib/agent.rb", agent)]
        {
            fs::write(folder.join(path), text).unwrap();
        }
        let server = Server::spawn(folder, env, &["--ruby", &ruby::program(), "-C", "unicorn.rb"]);
        assert_eq!(server.get("/").status, 200, "{}", server.log());
        assert!(!preload || server.logs(words), "{}", server.log());
        assert_eq!(server.log().matches(words).count(), usize::from(preload), "{}", server.log());
    }
}

/// As in Unicorn, who is this user already needs no root, and the group may be two.
#[test]
fn a_worker_that_is_the_user_already_stays_what_it_is() {
    let file = "listen '127.0.0.1:0'\nafter_fork do |_, worker|\n  group = Etc.getgrgid.name\n  \
                worker.user(Etc.getpwuid.name, [group, group])\n  note \"#{worker.nr} as before\"\nend\n";
    let server = serve("unicorn.rb", file);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
    ruby::wait_for_note(&server, "0 as before");
}

/// A block that counts its calls, and does this in the first two.
fn twice(what: &str) -> String {
    format!("{{ |*|\n  note 'called'\n  {what} if File.readlines('notes').size < 3\n}}\n")
}

#[test]
fn a_hook_that_keeps_workers_from_starting_is_tried_again_at_the_start_too() {
    let bind = "bind 'tcp://127.0.0.1:0'\nworkers 1\n";
    let listen = "listen '127.0.0.1:0'\npreload_app true\n";
    for (name, file, hook, said) in [
        ("unicorn.rb", listen, "after_fork", "raise 'no database'"),
        ("unicorn.rb", listen, "after_fork", "exit 3"),
        ("unicorn.rb", listen, "after_fork", "exit! 3"),
        ("puma.rb", bind, "on_worker_boot", "abort 'no database'"),
        ("puma.rb", bind, "before_worker_boot", "require 'a_gem_that_nobody_has'"),
    ] {
        let server = serve(name, &format!("{file}{hook} {}", twice(said)));
        assert_eq!(server.get("/").status, 200);
        assert_eq!(ruby::notes(&server).len(), 3, "{said}: {}", server.log());
        let words = match said {
            "exit! 3" => "exited with status 3 before it was ready".to_owned(),
            _ => format!("retrying in 100ms: the hook {hook} ({}/{name}:4) failed: ", server.folder.display()),
        };
        assert!(server.logs(&words), "{said}: {}", server.log());
    }
}

#[test]
fn a_start_that_waits_for_a_hook_can_be_ended() {
    let file = "listen '127.0.0.1:0'\nafter_fork { |*| raise 'no database' }\n";
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", file)]);
    let mut server = Server::begin(folder, &[], &["--ruby", &ruby::program(), "-C", "unicorn.rb"]);
    server.must_log("boot failed, retrying in 200ms");
    server.ended_by(Signal::TERM);
}

#[test]
fn a_reload_with_a_hook_that_fails_is_refused() {
    let file = "listen '127.0.0.1:0'\nafter_fork { |*| raise 'no database' if File.exist?('broken') }\n";
    let server = serve("unicorn.rb", file);
    assert_eq!(server.get("/").status, 200);
    fs::write(server.folder.join("broken"), "").unwrap();
    server.signal(Signal::HUP);
    server.must_log("reload failed");
    server.must_log("the hook after_fork (");
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_hooks_file_of_our_own_that_fails_is_an_error_of_the_start_with_its_place() {
    let folder = ruby::folder(&[("config.ru", APP), ("config/foolsgold.rb", "\nafter_fork { exit 4 }\n")]);
    let text = said(&folder, &["-b", "tcp://127.0.0.1:0", "--engine", "ruby"]);
    let place =
        format!("cannot start: the hook after_fork ({}/config/foolsgold.rb:2) failed: SystemExit", folder.display());
    assert!(text.contains(&place) && !text.contains("cannot be loaded"), "{text}");
}

#[test]
fn the_folder_of_unicorns_file_is_gone_to_at_once() {
    let app = "run ->(env) { [200, {}, [(File.realpath(ENV.fetch('PWD')) == Dir.pwd).to_s]] }\n";
    let folder = ruby::folder(&[("app/config.ru", app), ("app/workers", "2"), ("unicorn.rb", "")]);
    let file = format!(
        "working_directory '{}'\nworker_processes File.read('workers').to_i\nlisten '127.0.0.1:0'\n",
        folder.join("app").display()
    );
    fs::write(folder.join("unicorn.rb"), file).unwrap();
    let server = ruby::serve_with("unicorn.rb", folder, &[]);
    assert_eq!(server.text("/"), "true", "PWD is of it: {}", server.log());
    ruby::expect_workers(&server, 2);
}

#[test]
fn what_is_not_there_is_named_as_ruby_names_it() {
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", "threads 1\nworkers Nowhere::N\n")]);
    let text = said(&folder, &["explain", "puma.rb"]);
    assert!(text.contains("puma.rb:2: NameError: uninitialized constant Nowhere\n"), "{text}");
    assert!(!text.contains("const_get"), "no code of this program is shown: {text}");
}

#[test]
fn folders_of_thins_files_are_made_as_thin_makes_them() {
    let yml = "address: 127.0.0.1\nport: 0\nlog: a/b/thin.log\npid: a/c/thin.pid\ndaemonize: true\nsocket: web.sock\n";
    let folder = ruby::folder(&[("config.ru", APP), ("thin.yml", yml)]);
    adopt_orphans();
    let text = said(&folder, &["-C", "thin.yml"]);
    let process = Process::named_in(&folder.join("a/c/thin.pid"), 0);
    assert_eq!(Client::unix(&folder.join("web.sock")).get("/").status, 200, "{text}");
    assert!(folder.join("a/b/thin.log").is_file());
    process.end(Signal::TERM);
}

#[test]
fn pumas_lowlevel_error_handler_answers_when_the_application_raises() {
    let app = "early = Object.new.tap { |body| def body.each = raise('broken body') }\n\
               late = Enumerator.new { |out| out << 'x' * 100_000; raise 'too late' }\n\
               some = Enumerator.new { |out| out << 'a' << 'b' }\n\
               answers = { '/' => [200, {}, ['fine']], '/nil' => nil, '/early' => [200, {}, early], \
                           '/late' => [200, {}, late], '/some' => [200, {}, some], '/two' => [200, {}], \
                           '/short' => [200, { 'content-length' => '9' }, ['x']], \
                           '/short-each' => [200, { 'CONTENT-LENGTH' => '9' }, some], \
                           '/exact' => [200, { 'content-length' => '2' }, some], \
                           '/long' => [200, { 'Content-Length' => '1' }, ['ab']] }\n\
               run ->(env) { answers.fetch(env['PATH_INFO']) { raise 'broken on purpose' } }\n";
    let serve = |handler: &str| {
        let file = format!("bind 'tcp://127.0.0.1:0'\n{handler}\n");
        serve_app(app, "puma.rb", &file)
    };
    for (handler, expected) in [
        ("lowlevel_error_handler { |e| [503, {}, [e.message]] }", "broken on purpose"),
        ("lowlevel_error_handler { |e, env| [503, {}, [env['PATH_INFO']]] }", "/x"),
        ("lowlevel_error_handler(lambda { |e, env| [503, {}, [e.message]] })", "broken on purpose"),
        ("lowlevel_error_handler(->(e, env, status) { [503, { 'x-status' => status.to_s }, ['sorry']] })", "sorry"),
    ] {
        let server = serve(handler);
        for _ in 0..2 {
            let reply = server.get("/x");
            assert_eq!((reply.status, reply.text()), (503, expected.to_owned()), "{handler}: {}", server.log());
        }
        assert_eq!(server.text("/"), "fine");
        for path in ["/nil", "/two", "/early", "/short", "/short-each"] {
            assert_eq!(server.get(path).status, 503, "{handler} {path}: {}", server.log());
        }
        for (path, body) in [("/some", "ab"), ("/exact", "ab"), ("/long", "a")] {
            assert_eq!(server.text(path), body, "{handler} {path}: {}", server.log());
        }
        let mut client = server.send_get("/late");
        // The answer has begun by then, whatever of it the client gets to see.
        assert!(client.head().map_or(true, |reply| reply.status == 200), "{handler}: {}", server.log());
        server.must_log("GET /x failed, and was answered by the lowlevel_error_handler: broken on purpose");
    }
    // One that is broken itself, or that answers what is no answer.
    for handler in ["lowlevel_error_handler { |e| raise 'again' }", "lowlevel_error_handler { |e| nil }"] {
        let server = serve(handler);
        assert_eq!((server.get("/x").status, server.text("/")), (500, "fine".to_owned()), "{}", server.log());
        server.must_log("the lowlevel_error_handler failed for request");
    }
}

#[test]
fn blocks_after_an_answer_of_pumas_lowlevel_error_handler_get_its_status_and_headers() {
    let app = r#"run ->(env) {
        env["rack.response_finished"] << ->(_, status, headers, error) {
            warn "noted: #{status} #{headers.keys.join} #{error.message}"
        }
        raise "on purpose" if env["PATH_INFO"] == "/raise"
        [200, {}, nil]
    }"#;
    let file = "bind 'tcp://127.0.0.1:0'\nlowlevel_error_handler { |e| [503, { 'x-a' => '1' }, [e.message]] }\n";
    let server = serve_app(app, "puma.rb", file);
    for (path, message) in [("/raise", "on purpose"), ("/", "the body must respond to each or call")] {
        assert_eq!(server.get(path).status, 503, "{path}: {}", server.log());
        assert!(server.logs(&format!("noted: 503 x-a {message}")), "{path}: {}", server.log());
    }
}

#[test]
fn a_file_may_rescue_a_directive_that_its_server_does_not_have() {
    let file = "begin\n  a_directive_of_puma_9 true\nrescue NameError => error\n  note error.name\nend\n\
                note 'none' unless respond_to?(:another_one)\nnote 'there' if respond_to?(:fork_worker)\n\
                bind 'tcp://127.0.0.1:0'\n";
    let server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200);
    assert_eq!(ruby::notes(&server), ["a_directive_of_puma_9", "none", "there"]);
}

/// Kills the mold and a worker: another mold, which evaluates the file again, forks the next one.
fn replace_mold(server: &Server) {
    for pid in [ruby::mold(server), ruby::workers(server)[0]] {
        signal(pid, Signal::KILL);
    }
}

#[test]
fn a_file_may_return_before_its_end() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\ncluster { before_worker_boot { note 'cluster' } }\n\
                before_worker_boot { note 'boot' }\nreturn if ENV['CI'] != 'never'\nno_directive true\n";
    let server = serve("puma.rb", file);
    let all_booted = |times: usize| ["boot", "cluster"].iter().all(|note| ruby::count(&server, note) == times);
    assert!(within(MAX_WAIT, || all_booted(1)), "{:?}\n{}", ruby::notes(&server), server.log());
    replace_mold(&server);
    assert!(within(MAX_WAIT, || all_booted(2)), "{:?}\n{}", ruby::notes(&server), server.log());
    assert_eq!(server.get("/").status, 200);
}

/// Even if the mode is not in the file, and each time the file is evaluated.
#[test]
fn blocks_for_a_mode_of_puma_are_those_of_the_mode_that_runs() {
    let file = format!(
        "{NOTE}bind 'tcp://127.0.0.1:0'\ncluster {{ before_worker_boot {{ note 'cluster' }} }}\n\
         single {{ before_worker_boot {{ note 'single' }} }}\n"
    );
    let server = ruby::serve_with("puma.rb", ruby::folder(&[("config.ru", APP), ("puma.rb", &file)]), &["-w", "1"]);
    ruby::wait_for_note(&server, "cluster");
    replace_mold(&server);
    assert!(within(MAX_WAIT, || ruby::notes(&server).len() == 2), "{}", server.log());
    assert_eq!(ruby::notes(&server), ["cluster", "cluster"]);
}

/// Karafka's documentation does this, and plugins do.
#[test]
fn hooks_that_are_given_to_pumas_events_run() {
    let file = "bind 'tcp://127.0.0.1:0'\n@config.options[:events].on_booted { note 'booted' }\n\
                @config.events.register(:after_stopped) { note 'stopped' }\n";
    let mut server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200);
    ruby::wait_for_note(&server, "booted");
    server.ended_by(Signal::TERM);
    assert_eq!(ruby::notes(&server), ["booted", "stopped"]);
}

/// Files call their own server there, to warm it up, or report that it can be called.
#[test]
fn pumas_hook_for_the_beginning_runs_when_the_server_serves() {
    let file = "bind 'tcp://127.0.0.1:0'\nbind 'unix://app.sock'\nafter_booted do\n  \
                UNIXSocket.open('app.sock') do |socket|\n    socket << \"GET / HTTP/1.0\\r\\n\\r\\n\"\n    \
                note socket.gets[/\\d{3}/]\n  end\nend\n";
    for workers in ["workers 0\n", "workers 1\n"] {
        let server = serve("puma.rb", &format!("{workers}{file}"));
        ruby::wait_for_note(&server, "200");
    }
}

/// In Puma's single mode it runs before the requests are answered: files end endless responses with it. So it does in a
/// worker that is being replaced.
#[test]
fn pumas_hook_for_the_end_of_a_single_process_runs_while_requests_do() {
    let app = "run(lambda do |env|\n  File.write('notes', \"waits\\n\", mode: 'a')\n  \
               sleep 0.01 until $is_over\n  [200, {}, ['over']]\nend)\n";
    let file = "bind 'tcp://127.0.0.1:0'\nafter_stopped { note 'stopped'; $is_over = true }\n";
    for is_replaced in [false, true] {
        let mut server = serve_app(app, "puma.rb", file);
        let mut held = server.send_get("/");
        ruby::wait_for_note(&server, "waits");
        signal(if is_replaced { ruby::workers(&server)[0] } else { server.id() }, Signal::TERM);
        assert_eq!(held.reply().unwrap().text(), "over", "{}", server.log());
        if !is_replaced {
            server.must_end();
        }
        assert_eq!(ruby::notes(&server), ["waits", "stopped"]);
    }
}

/// An application that says what it is told of its server.
const PROGRAM: &str = "run ->(env) { [200, {}, [env['rack.multiprocess'].inspect, ' ', $0]] }\n";

#[test]
fn applications_are_told_of_processes_as_their_server_does() {
    for (name, file, text) in [
        ("puma.rb", "bind 'tcp://127.0.0.1:0'\nworkers 0\n", "false puma"),
        ("puma.rb", "bind 'tcp://127.0.0.1:0'\nworkers 1\n", "true puma: cluster worker 0: PARENT"),
        ("unicorn.rb", "listen '127.0.0.1:0'\nnote $0\n", "true unicorn worker[0]"),
        ("pitchfork.rb", "listen '127.0.0.1:0'\n", "true pitchfork worker[0]"),
    ] {
        let server = serve_app(PROGRAM, name, file);
        assert_eq!(server.text("/"), text.replace("PARENT", &ruby::mold(&server).to_string()));
    }
}

/// A worker's index is that of the one that it replaces: metrics by worker would otherwise be new ones each time.
#[test]
fn the_index_of_a_worker_in_its_program_name_is_that_of_the_one_before() {
    let server = serve_app(PROGRAM, "puma.rb", "bind 'tcp://127.0.0.1:0'\nworkers 1\npreload_app!\n");
    let name = server.text("/");
    assert!(name.contains("puma: cluster worker 0: "), "{name}");
    let before = ruby::workers(&server);
    before.iter().for_each(|pid| signal(*pid, Signal::KILL));
    let is_new = || ruby::workers(&server).iter().any(|pid| !before.contains(pid));
    assert!(within(MAX_WAIT, is_new), "{}", server.log());
    assert_eq!(server.text("/"), name);
}

/// A request that takes more than a second is shown in the title, unless that is somebody else's.
#[test]
fn a_title_that_a_hook_sets_stays() {
    let app = "title = -> { File.read('/proc/self/cmdline').delete(\"\\0\").strip }\n\
               run(lambda do |env|\n  from = Process.clock_gettime(Process::CLOCK_MONOTONIC)\n  was = title.call\n  \
               sleep 0.01 while title.call == was && Process.clock_gettime(Process::CLOCK_MONOTONIC) - from < 2.5\n  \
               [200, {}, [title.call]]\nend)\n";
    for (how, title) in [("$0 = 'mine'", "mine"), ("Process.setproctitle('mine too')", "mine too")] {
        let file = format!("listen '127.0.0.1:0'\nafter_fork {{ |*| {how} }}\n");
        let server = serve_app(app, "unicorn.rb", &file);
        assert_eq!(server.text("/"), title, "{how}: {}", server.log());
    }
}

#[test]
fn unicorns_server_has_what_hooks_ask_of_it() {
    let file = "listen '127.0.0.1:0', backlog: 7\npreload_app true\nnote set[:timeout]\nset[:worker_processes] = 2\n\
                before_fork do |server, worker|\n  next unless worker.nr == 0\n  note server.listener_opts\n  \
                note server.timeout\n  note server.worker_processes\n  note server.config[:listeners]\n  \
                note server.app.call({})[2].last\nend\n";
    let server = serve_app(PROGRAM, "unicorn.rb", file);
    assert_eq!(server.get("/").status, 200);
    let said = ruby::notes(&server);
    let opts = [r#"{"127.0.0.1:0"=>{:backlog=>7}}"#, r#"{"127.0.0.1:0" => {backlog: 7}}"#];
    assert!(opts.contains(&said[1].as_str()), "{said:?}");
    assert_eq!((&said[0][..], &said[2..]), ("60", &["60", "2", "[\"127.0.0.1:0\"]", "unicorn"].map(str::to_owned)[..]));
    ruby::expect_workers(&server, 2);
}

/// By this number a hook knows the last worker, for which it ends the old master.
#[test]
fn unicorns_server_has_the_number_of_workers_that_counts_more_than_its_file() {
    let file = "listen '127.0.0.1:0'\nworker_processes 4\n\
                before_fork { |server, worker| note \"#{worker.nr} of #{server.worker_processes}\" }\n";
    let file = format!("{NOTE}{file}");
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", &file)]);
    let server = ruby::serve_with("unicorn.rb", folder, &["-w", "2"]);
    ruby::wait_for_note(&server, "1 of 2");
    let settings = "bind = 'tcp://127.0.0.1:0'\nworkers = 2\nhooks = 'unicorn.rb'\n";
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", &file), ("foolsgold.toml", settings)]);
    let server = Server::spawn(folder, &[], &["--ruby", &ruby::program()]);
    ruby::wait_for_note(&server, "1 of 2");
}

#[test]
fn a_hook_of_unicorns_master_that_fails_is_named_as_in_the_file() {
    let file = "listen '127.0.0.1:0'\nbefore_fork { |server, worker| raise 'no old master' }\n";
    let server = serve("unicorn.rb", file);
    assert_eq!(server.get("/").status, 200);
    server.must_log("the hook before_fork failed: no old master");
}

#[test]
fn a_hook_that_ends_the_start_is_named() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\nbefore_fork { exit 3 }\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", file)]);
    let text = said(&folder, &["-C", "puma.rb"]);
    let place = format!("the hook before_fork ({}/puma.rb:3) ends this process: exit 3", folder.display());
    assert!(text.contains(&place) && text.contains("cannot start"), "{text}");
}

/// Also where another mold forks: it knows nothing of the workers that the one before it has forked.
#[test]
fn the_index_of_a_worker_is_free_again_when_it_has_ended_whichever_mold_forks() {
    let file = "worker_processes 2\nlisten '127.0.0.1:0'\npreload_app true\n\
                after_fork { |_, worker| note \"#{worker.nr} is #{Process.pid}\" }\n";
    let server = serve("unicorn.rb", file);
    ruby::expect_workers(&server, 2);
    let pid_of = |index: u32| -> u32 {
        let (notes, start) = (ruby::notes(&server), format!("{index} is "));
        notes.iter().filter_map(|note| note.strip_prefix(&start)).next_back().unwrap().parse().unwrap()
    };
    let (first, second, mold) = (pid_of(0), pid_of(1), ruby::mold(&server));
    signal(mold, Signal::KILL);
    assert!(within(MAX_WAIT, || !ruby::is_alive(mold)), "{}", server.log());
    signal(second, Signal::KILL);
    assert!(within(MAX_WAIT, || pid_of(1) != second), "{:?}\n{}", ruby::notes(&server), server.log());
    assert_eq!(pid_of(0), first, "{:?}", ruby::notes(&server));
}
