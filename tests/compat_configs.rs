//! The configuration files of other servers, as their users have them: read, explained, obeyed, with their hooks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::support::successor::{Process, adopt_orphans, signal};
use crate::support::{Client, MAX_WAIT, Server, ruby, server, within};
use rustix::process::Signal;

/// What `rails new` writes, with more of what people add.
const PUMA: &str = r##"# frozen_string_literal: true
max_threads = ENV.fetch("RAILS_MAX_THREADS") { 4 }
threads ENV.fetch("RAILS_MIN_THREADS") { max_threads }, max_threads
port ENV.fetch("PUMA_TEST_PORT", 3000), "127.0.0.1"
environment ENV.fetch("RAILS_ENV", "production")
workers Integer(ENV.fetch("PUMA_TEST_WORKERS", 2))
worker_timeout 3600 if ENV.fetch("RAILS_ENV", "development") == "development"
preload_app!
pidfile ENV["PIDFILE"] if ENV["PIDFILE"]
plugin :tmp_restart
lowlevel_error_handler { |error| [500, {}, [error.message]] }
set_remote_address header: "X-Real-IP"
first_data_timeout 0.5

def say(what)
  File.write("notes", "#{what}\n", mode: "a")
end

before_fork { say "before_fork" }
on_worker_fork { |index| say "on_worker_fork #{index}" }
before_worker_boot { |index| say "boot #{index}" if defined?(Rack) }
on_worker_boot(:key) { |index, data| data[:at] = "with data #{index}" }
on_worker_shutdown(:key) { |index, data| say "shutdown #{data[:at]}" }
on_worker_shutdown { |index| say "shutdown #{index}" }
before_thread_start { say "thread" }
after_worker_shutdown { |handle| say "after #{handle.index} #{handle.process_status.exitstatus}" }
after_stopped { say "stopped" }
cluster { tag "clustered" }
single { tag "single" }
"##;

const UNICORN: &str = r##"
worker_processes Integer(ENV["WEB_CONCURRENCY"] || 2)
timeout 15
preload_app true
listen "127.0.0.1:#{ENV.fetch('UNICORN_TEST_PORT', '8080')}", backlog: 64, tcp_nopush: true
pid "/tmp/unicorn-that-is-not-there.pid"
logger Logger.new($stdout)

before_fork do |server, worker|
  Signal.trap("TERM") { Process.kill("QUIT", Process.pid) }
  old_pid = "#{server.config[:pid]}.oldbin"
  Process.kill("QUIT", File.read(old_pid).to_i) if File.exist?(old_pid) && server.pid != old_pid
  File.write("notes", "before_fork #{worker.nr}\n", mode: "a")
end

after_fork do |server, worker|
  Signal.trap("TERM") { puts "wait for QUIT" }
  server.logger.info("worker=#{worker.nr}")
  File.write("notes", "after_fork #{worker.nr} of #{server.worker_processes}\n", mode: "a")
end
before_exec { |server| ENV["BUNDLE_GEMFILE"] = "Gemfile" }
"##;

const APP: &str = "run ->(env) { [200, {}, [\"#{ENV['RACK_ENV']} #{Process.ppid}\"]] }\n";

fn run(folder: &Path, env: &[(&str, &str)], arguments: &[&str]) -> (Output, String) {
    server::run(folder, &[env, &[("FOOLS_GOLD_RUBY", ruby::program().as_str())]].concat(), arguments)
}

/// What the program says on both streams in a run that must succeed.
#[track_caller]
fn shown(folder: &Path, env: &[(&str, &str)], arguments: &[&str]) -> String {
    server::exits_with(0, folder, &[env, &[("FOOLS_GOLD_RUBY", ruby::program().as_str())]].concat(), arguments)
}

/// What it says where the command line or a file must be refused.
#[track_caller]
fn refused(folder: &Path, arguments: &[&str]) -> String {
    server::exits_with(2, folder, &[("FOOLS_GOLD_RUBY", &ruby::program())], arguments)
}

#[track_caller]
fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

/// As images of containers have them: logs to the standard streams, no pid file.
const CONTAINER: &str = r##"
pidfile ENV.fetch("PIDFILE")
stdout_redirect "/dev/stdout", "/dev/stderr", true
bind "tcp://127.0.0.1:0"
threads 1, 1
"##;

/// Serves with the file, in the Ruby under test.
fn serve(files: &[(&str, &str)], env: &[(&str, &str)], options: &[&str]) -> Server {
    Server::spawn(ruby::folder(files), env, &[&["--engine", "ruby", "--ruby", &ruby::program()], options].concat())
}

#[test]
fn pumas_file_is_explained() {
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", PUMA)]);
    let (output, said) = run(&folder, &[("RAILS_ENV", "production")], &["explain", "config/puma.rb"]);
    assert!(output.status.success(), "{said}");
    assert_says(
        &said,
        &[
            "threads = 4 ",
            "# line 3: threads 4, 4",
            "bind = \"tcp://127.0.0.1:3000\"",
            "workers = 2 ",
            "environment = \"production\"",
            "header-time = \"500ms\"",
            "tag = \"clustered\"",
            "hooks = \"config/puma.rb\"",
            "remote-address = \"header:X-Real-IP\"",
            "config/puma.rb:10: plugin :tmp_restart",
            "touching tmp/restart.txt reloads",
            "lowlevel_error_handler do ... end",
            "These do not mean quite the same:",
            "set_remote_address",
            "These hooks run:",
            "config/puma.rb:20: on_worker_fork do ... end",
            "In any case:",
        ],
    );
    assert!(!said.contains("worker_timeout"), "a condition of the file was not met: {said}");
    // What is printed is a settings file, and says the same.
    fs::write(folder.join("foolsgold.toml"), &output.stdout).unwrap();
    let said = shown(&folder, &[], &["config"]);
    assert_says(&said, &["tcp://127.0.0.1:3000", "foolsgold.toml"]);
}

#[test]
fn pumas_file_is_obeyed_and_its_hooks_run() {
    let files = [("config.ru", APP), ("config/puma.rb", PUMA)];
    let env = [("PUMA_TEST_PORT", "0"), ("PUMA_TEST_WORKERS", "2")];
    let mut server = serve(&files, &env, &["-C", "config/puma.rb"]);
    assert!(server.text("/").starts_with("production "), "{}", server.log());
    server.must_log("config/puma.rb:12: set_remote_address: the header counts where a proxy has sent it that");
    // The line with all settings has it, without a remark.
    for words in ["without a counterpart", "worker_timeout: "] {
        assert!(!server.log().contains(words), "{words}: {}", server.log());
    }
    ruby::wait_for_note(&server, "boot 0");
    ruby::wait_for_note(&server, "boot 1");
    // A worker that is told to end before its threads run has no hooks to run at its end.
    let threads = || ruby::count(&server, "thread");
    assert!(within(MAX_WAIT, || threads() == 8), "{:?}\n{}", ruby::notes(&server), server.log());
    assert_eq!(ruby::workers(&server).len(), 2);
    let notes = ruby::notes(&server);
    let count = |note: &str| notes.iter().filter(|line| *line == note).count();
    assert_eq!((notes[0].as_str(), count("before_fork")), ("before_fork", 1), "{notes:?}");
    assert_eq!((count("on_worker_fork 0"), count("on_worker_fork 1")), (1, 1), "{notes:?}");
    server.ended_by(Signal::TERM);
    let notes = ruby::notes(&server);
    for note in ["shutdown 0", "shutdown 1", "shutdown with data 0", "after 0 0", "after 1 0", "stopped"] {
        assert!(notes.iter().any(|line| line == note), "{note:?} is not in {notes:?}\n{}", server.log());
    }
    assert_eq!(notes.iter().filter(|line| *line == "thread").count(), 8, "4 threads in each: {notes:?}");
}

#[test]
fn a_worker_that_was_killed_gives_its_place_to_the_next() {
    let files = [("config.ru", APP), ("config/puma.rb", PUMA)];
    let env = [("PUMA_TEST_PORT", "0"), ("PUMA_TEST_WORKERS", "1")];
    let server = serve(&files, &env, &["-C", "config/puma.rb"]);
    ruby::wait_for_note(&server, "boot 0");
    signal(ruby::workers(&server)[0], Signal::KILL);
    let boots = || ruby::count(&server, "boot 0");
    assert!(within(MAX_WAIT, || boots() == 2), "{:?}", ruby::notes(&server));
}

#[test]
fn flags_and_own_variables_count_before_the_file_and_others_do_not() {
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", PUMA)]);
    let env = [("PORT", "1"), ("WEB_CONCURRENCY", "9"), ("FOOLS_GOLD_HEADER_TIME", "7s")];
    let said = shown(&folder, &env, &["config", "-C", "config/puma.rb", "-t", "3"]);
    assert_eq!(server::setting(&said, "threads")[1..], ["3", "-t"]);
    assert_eq!(server::setting(&said, "workers")[1..], ["2", "config/puma.rb:6"]);
    assert_eq!(server::setting(&said, "bind")[1..], ["tcp://127.0.0.1:3000", "config/puma.rb:4"]);
    assert_eq!(server::setting(&said, "header-time")[1..], ["7s", "$FOOLS_GOLD_HEADER_TIME"]);
}

/// As `ENV FOOLS_GOLD_ENVIRONMENT=production` of an image: the application gets it as RAILS_ENV, and so does the file.
#[test]
fn a_file_knows_the_variables_of_this_program_that_count_more() {
    let file = "workers 3 if ENV['RAILS_ENV'] == 'production'\ncluster { tag 'many' }\nsingle { tag 'one' }\n";
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", file)]);
    for (env, expected) in [
        (&[("FOOLS_GOLD_ENVIRONMENT", "production")][..], "many"),
        (&[], "one"),
        (&[("FOOLS_GOLD_WORKERS", "2")], "many"),
        (&[("FOOLS_GOLD_ENVIRONMENT", "production"), ("FOOLS_GOLD_WORKERS", "0")], "one"),
    ] {
        let said = shown(&folder, env, &["config", "-C", "config/puma.rb"]);
        assert_eq!(server::setting(&said, "tag")[1], expected, "{env:?}: {said}");
    }
}

/// Recipes for Capistrano start Unicorn like this: `-E deployment` chooses its middleware, and Rails has no environment
/// of that name.
#[test]
fn a_word_for_unicorns_middleware_leaves_the_environment_of_the_application_as_it_is() {
    let app = "run ->(_) { [200, {}, [ENV.values_at('RACK_ENV', 'RAILS_ENV', 'APP_ENV').join(' ')]] }\n";
    let file = "listen '127.0.0.1:0'\nraise ENV['RAILS_ENV'].inspect unless ENV['RAILS_ENV'] == 'production'\n";
    let files = [("config.ru", app), ("unicorn.rb", file)];
    let server = serve(&files, &[("RAILS_ENV", "production")], &["-c", "unicorn.rb", "-E", "deployment"]);
    assert_eq!(server.text("/"), "deployment production deployment", "{}", server.log());
}

#[test]
fn limits_that_the_other_server_does_not_have_are_none_unless_somebody_says_them() {
    let thin = "---\naddress: 127.0.0.1\n";
    for (name, text, expected) in [
        ("config/puma.rb", PUMA, ["none", "none", "none"]),
        ("unicorn.rb", "worker_processes 1\n", ["60s", "none", "none"]),
        ("thin.yml", thin, ["none", "none", "none"]),
        ("Passengerfile.json", "{}", ["none", "none", "1GiB"]),
    ] {
        let folder = ruby::folder(&[("config.ru", APP), (name, text)]);
        let limits = |env: &[(&str, &str)], options: &[&str]| {
            let said = shown(&folder, env, &[&["config", "-C", name], options].concat());
            ["request-time", "queue-wait", "body-bytes"].map(|name| {
                let value = server::setting(&said, name)[1];
                value.split(' ').next().unwrap().to_owned()
            })
        };
        assert_eq!(limits(&[], &[]), expected, "{name}");
        let said = [("FOOLS_GOLD_QUEUE_WAIT", "3s"), ("FOOLS_GOLD_BODY_BYTES", "7KiB")];
        assert_eq!(limits(&said, &["--request-time", "5s"]), ["5s", "3s", "7KiB"], "{name}");
        let (_, said) = run(&folder, &[], &["explain", name]);
        assert_says(&said, &["queue-wait = \"none\"", "which is what"]);
        assert!(!said.contains("--request-time (30s)") && !said.contains("--queue-wait (10s)"), "{said}");
    }
}

#[test]
fn unicorns_file_is_obeyed_and_its_hooks_run() {
    let files = [("config.ru", APP), ("config/unicorn.conf.rb", UNICORN)];
    let mut server = serve(&files, &[("UNICORN_TEST_PORT", "0")], &["-C", "config/unicorn.conf.rb", "-e", "staging"]);
    assert!(server.text("/").starts_with("staging "), "{}", server.log());
    ruby::wait_for_note(&server, "after_fork 0 of 2");
    ruby::wait_for_note(&server, "after_fork 1 of 2");
    let notes = ruby::notes(&server);
    assert!(notes.contains(&"before_fork 0".to_owned()) && notes.contains(&"before_fork 1".to_owned()), "{notes:?}");
    assert!(server.logs("worker=1"), "its logger writes: {}", server.log());
    // A service manager sends TERM to all processes. The traps of the file must not end the mold.
    for pid in ruby::processes(server.id()) {
        signal(pid, Signal::TERM);
    }
    assert!(server.text("/").starts_with("staging "), "{}", server.log());
    assert!(!server.log().contains("wait for QUIT"), "{}", server.log());
    server.end(Signal::TERM);
    // Its trap in `before_fork` makes that of it in Unicorn, too.
    assert!(server.log().contains("SIGTERM: graceful shutdown"), "{}", server.log());
}

#[test]
fn a_file_of_rainbows_is_one_of_unicorn_with_a_block() {
    let app = "run ->(env) { [200, {}, [env['rack.multithread'].to_s]] }\n";
    let file = "listen '127.0.0.1:0'\nRainbows! do\n  use :ThreadPool\n  worker_connections 3\nend\n";
    let wrong = "Rainbows! do\n  worker_conections 3\nend\n";
    let (empty, other) = ("worker_processes 2\nRainbows!\n", "Rainbows! do\n  use :ThreadPol\nend\n");
    let wrongs = [("wrong.rb", wrong), ("empty.rb", empty), ("other.rb", other)];
    let folder = ruby::folder(&[&[("config.ru", app), ("rainbows.conf.rb", file)][..], &wrongs].concat());
    let said = shown(&folder, &[], &["explain", "rainbows.conf.rb"]);
    assert_says(&said, &["threads = 3 ", "# line 4: worker_connections 3", "keep-alive = \"5s\""]);
    let said = refused(&folder, &["-C", "wrong.rb"]);
    assert_says(&said, &["wrong.rb:2: worker_conections 3: Unicorn has no such directive; worker_connections is"]);
    assert_says(&refused(&folder, &["-C", "empty.rb"]), &["empty.rb:2: ArgumentError: Rainbows! needs a block"]);
    let said = refused(&folder, &["-C", "other.rb"]);
    assert_says(&said, &["other.rb:2: use :ThreadPol: Rainbows! has no such concurrency model"]);
    let server = serve(&[("config.ru", app), ("rainbows.conf.rb", file)], &[], &["-C", "rainbows.conf.rb"]);
    assert_eq!(server.text("/"), "true", "{}", server.log());
}

/// As Unicorn, which expands the path.
#[test]
fn the_folder_of_unicorns_file_may_begin_at_the_users_home() {
    let file = "working_directory '~/app'\nworker_processes File.read('workers').to_i\n";
    let folder = ruby::folder(&[("app/config.ru", APP), ("app/workers", "2"), ("unicorn.rb", file)]);
    let home = folder.display().to_string();
    let said = shown(&folder, &[("HOME", home.as_str())], &["explain", "unicorn.rb"]);
    assert_says(&said, &[format!("dir = \"{home}/app\"").as_str(), "workers = 2"]);
    // In Unicorn it reopens those of the application, too.
    assert_says(&said, &["USR1 reopens the log files of the server"]);
}

#[test]
fn unicorns_flags_add_to_what_its_file_listens_on() {
    let files = [("config.ru", APP), ("config/unicorn.rb", "listen \"127.0.0.1:8081\"\n")];
    let folder = ruby::folder(&files);
    for (flags, words) in [
        (&["-l", "127.0.0.1:8082"][..], &["tcp://127.0.0.1:8081", "tcp://127.0.0.1:8082"][..]),
        (&["-p", "8083", "-o", "127.0.0.1"], &["tcp://127.0.0.1:8081", "tcp://127.0.0.1:8083"]),
        // Unicorn's port.
        (&["-o", "127.0.0.2"], &["tcp://127.0.0.1:8081", "tcp://127.0.0.2:8080"]),
        (&["-b", "tcp://127.0.0.1:8084"], &["tcp://127.0.0.1:8084"]),
    ] {
        let said = shown(&folder, &[], &[&["config", "-C", "config/unicorn.rb"], flags].concat());
        assert_says(&said, words);
        assert_eq!(said.contains("8081"), words.len() == 2, "{flags:?}: {said}");
    }
    // Its default port counts only where there is no other, whatever the file is called.
    for name in ["unicorn.rb", "unicorn.cfg"] {
        fs::write(folder.join(name), "worker_processes 1\n").unwrap();
        let said = shown(&folder, &[], &["config", "-C", name, "-l", "127.0.0.1:8082"]);
        assert!(said.contains("tcp://127.0.0.1:8082") && !said.contains(":8080"), "{name}: {said}");
    }
}

/// As in Thin and Passenger: a server that listens on this machine only does so on another port, too.
#[test]
fn a_flag_for_one_half_of_an_address_leaves_the_other_half_as_the_file_has_it() {
    let json = "{ \"address\": \"127.0.0.1\", \"port\": 4000 }";
    let yml = "address: 127.0.0.1\nport: 4000\n";
    let folder = ruby::folder(&[("config.ru", APP), ("Passengerfile.json", json), ("thin.yml", yml)]);
    for name in ["Passengerfile.json", "thin.yml"] {
        for (flags, expected) in [
            (&["-p", "4001"][..], "tcp://127.0.0.1:4001"),
            (&["-a", "127.0.0.2"], "tcp://127.0.0.2:4000"),
            (&["-a", "127.0.0.2", "-p", "4001"], "tcp://127.0.0.2:4001"),
            (&["-b", "tcp://127.0.0.3:4002"], "tcp://127.0.0.3:4002"),
        ] {
            let said = shown(&folder, &[], &[&["config", "-C", name], flags].concat());
            assert_eq!(server::setting(&said, "bind")[1], expected, "{name} {flags:?}");
        }
    }
}

#[test]
fn standard_streams_stay_what_they_are_and_a_pid_file_may_be_none() {
    let mut server =
        serve(&[("config.ru", APP), ("config/puma.rb", CONTAINER)], &[("PIDFILE", "/dev/null")], &["-w", "0"]);
    let lines = |server: &Server| server.log().lines().count();
    for _ in 0..2 {
        server.signal(Signal::HUP);
        server.must_log("there is no log file to open anew");
    }
    assert!(server.text("/").starts_with("development "), "{}", server.log());
    // A log that copied itself would grow for ever.
    let before = lines(&server);
    assert!(!within(Duration::from_millis(300), || lines(&server) > before + 3), "{}", server.log());
    server.end(Signal::TERM);
}

#[test]
fn what_a_file_names_is_loaded_for_it() {
    let puma = "plugin :goldmine\nGoldmine.configure { |name| tag name }\nthreads Pit::THREADS, Pit::THREADS\n\
                worker_timeout Seconds.new\n";
    let plugin = "module Goldmine; def self.configure; yield \"nugget\"; end; end\n";
    let application = "module Pit; THREADS = 3; end\nclass Seconds; def to_int; 77; end; end\n";
    let files = [
        ("config.ru", APP),
        ("config/puma.rb", puma),
        ("lib/puma.rb", ""),
        ("lib/puma/plugin.rb", ""),
        ("lib/puma/plugin/goldmine.rb", plugin),
        ("config/application.rb", application),
    ];
    let folder = ruby::folder(&files);
    let said = shown(&folder, &[("RUBYLIB", "lib")], &["explain", "config/puma.rb"]);
    assert_says(&said, &["tag = \"nugget\"", "threads = 3", "worker-timeout = \"77s\"", "goldmine is a plugin"]);
}

/// As Ruby 3.4 does of logger, which is a gem from Ruby 4.0 on, where the bundle has none.
#[test]
fn a_warning_about_a_library_that_the_file_has_not_named_is_not_shown() {
    let logger = "warn \"logger is to become a gem\"\n";
    let files = [("config.ru", APP), ("config/puma.rb", "threads 2, 2\n"), ("lib/logger.rb", logger)];
    let folder = ruby::folder(&files);
    let said = shown(&folder, &[("RUBYLIB", "lib")], &["explain", "config/puma.rb"]);
    assert!(said.contains("threads = 2") && !said.contains("to become a gem"), "{said}");
}

/// As it is before the file is read if the bundle has Puma: no constant of it is missing then.
#[test]
fn a_plugin_is_loaded_where_the_file_names_it_if_puma_is_loaded() {
    let gem = "module Puma; class << self; attr_accessor :cli_config; end; class Plugin; end; end\n";
    let plugin = "module Puma::Plugin::Goldmine; def self.configure; yield \"nugget\"; end; end\n";
    let files = [
        ("config.ru", APP),
        ("config/puma.rb", "Puma\nplugin :goldmine\nPuma::Plugin::Goldmine.configure { |name| tag name }\n"),
        ("lib/puma.rb", gem),
        ("lib/puma/cli.rb", ""),
        ("lib/puma/plugin.rb", ""),
        ("lib/puma/plugin/goldmine.rb", plugin),
    ];
    let folder = ruby::folder(&files);
    let said = shown(&folder, &[("RUBYLIB", "lib")], &["explain", "config/puma.rb"]);
    assert_says(&said, &["tag = \"nugget\"", "goldmine is a plugin"]);
}

/// Such as `ENV["X"].present?`: under `rails server` the application is loaded before the file is read.
#[test]
fn methods_that_the_rails_application_adds_are_there_for_pumas_file() {
    let puma = "threads 2, 2\nbind \"tcp://127.0.0.1:1\" if @done\n@done = true\nworkers 3 if nil.given?\n";
    let files = [
        ("config.ru", APP),
        ("config/puma.rb", puma),
        ("config/application.rb", "class NilClass; def given?; true; end; end\n"),
    ];
    let folder = ruby::folder(&files);
    let said = shown(&folder, &[], &["explain", "config/puma.rb"]);
    assert_says(&said, &["threads = 2", "workers = 3", "bind = "]);
    assert_eq!(said.matches("threads 2, 2").count(), 1, "what was read before it counts no more: {said}");
    fs::write(folder.join("config/puma.rb"), "threads 2, 2\nnil.no_such_method\n").unwrap();
    let said = refused(&folder, &["explain", "config/puma.rb"]);
    assert_says(&said, &["config/puma.rb:2: ", "no_such_method"]);
    // Of an application that picks its railties, nothing but `rails` is loaded.
    fs::write(folder.join("config/application.rb"), "require 'rails'\nrequire 'action_controller/railtie'\n").unwrap();
    fs::write(folder.join("config/puma.rb"), "worker_timeout 2.minutes\nworkers [3, 2].second\n").unwrap();
    let said = shown(&folder, &[], &["explain", "config/puma.rb"]);
    assert_says(&said, &["worker-timeout = \"2m\"", "workers = 2"]);
}

#[test]
fn thins_file_is_explained_and_obeyed() {
    let yml = "---\naddress: 127.0.0.1\nport: <%= ENV.fetch('THIN_TEST_PORT', 5000) %>\nservers: <%= 1 + 1 %>\n\
               environment: production\npid: tmp/thin.pid\nstats: /stats\n";
    let folder = ruby::folder(&[("config.ru", APP), ("thin.yml", yml)]);
    let said = shown(&folder, &[], &["explain", "thin.yml"]);
    let binds = ["  \"tcp://127.0.0.1:5000\", ", "  \"tcp://127.0.0.1:5001\", ", "# line 3: port: 5000"];
    assert_says(&said, &binds);
    assert_says(&said, &["workers = 2", "threads = 1", "thin.yml:7: stats: /stats", "thin.yml:6: pid"]);
    // What has no value, or the one that it has anyway, is no reason to refuse the file.
    for (more, is_served) in [
        ("only:\nprefix:\nssl:\n", true),
        ("only: false\nprefix: ''\nswiftiply: false\n", true),
        ("prefix: /\n", true),
        ("prefix: shop\n", false),
    ] {
        fs::write(folder.join("thin.yml"), format!("port: 5000\n{more}")).unwrap();
        let (output, said) = run(&folder, &[], &["explain", "thin.yml"]);
        assert_eq!(output.status.success(), is_served, "{more}: {said}");
    }
    let single = yml.replace("servers: <%= 1 + 1 %>\n", "");
    let server = serve(
        &[("config.ru", APP), ("thin.yml", &single), ("tmp/keep", "")],
        &[("THIN_TEST_PORT", "0")],
        &["-C", "thin.yml"],
    );
    assert!(server.text("/").starts_with("production "), "{}", server.log());
}

/// Thin puts its prefix before the application, as `map` does. `unicorn_rails --path` leaves that to config.ru.
#[test]
fn an_application_is_below_the_prefix_of_thin_and_knows_the_path_of_unicorn_rails() {
    let app = "run ->(env) { [200, {}, [ENV.fetch('RAILS_RELATIVE_URL_ROOT', 'no'), ' ', env['SCRIPT_NAME'], ' ', \
               env['PATH_INFO']]] }\n";
    let yml = "address: 127.0.0.1\nport: 0\nprefix: /shop\n";
    for (prefix, other, flags) in [("/shop", "/store", &[][..]), ("/store", "/shop", &["--prefix", "/store"][..])] {
        let server = serve(&[("config.ru", app), ("thin.yml", yml)], &[], &[&["-C", "thin.yml"], flags].concat());
        assert_eq!(server.text(&format!("{prefix}/a")), format!("no {prefix} /a"), "{}", server.log());
        assert_eq!(server.get(&format!("{other}/a")).status, 404, "{}", server.log());
    }
    let unicorn = "listen '127.0.0.1:0'\nworker_processes 1 if ENV.fetch('RAILS_RELATIVE_URL_ROOT') == '/shop'\n";
    let files = [("config.ru", app), ("unicorn.rb", unicorn)];
    let server = serve(&files, &[], &["-C", "unicorn.rb", "--path", "/shop"]);
    assert_eq!(server.text("/shop/a"), "/shop  /shop/a", "{}", server.log());
}

/// `thin start -C thin.yml -d`, `passenger start -d`: with the flag, too, there are a log and a pid file.
#[test]
fn a_flag_for_the_background_means_the_log_of_thins_or_passengers_file() {
    let yml = "address: 127.0.0.1\nlog: log/web.log\n";
    let json = "{ \"port\": 4000 }";
    let folder = ruby::folder(&[("config.ru", APP), ("thin.yml", yml), ("Passengerfile.json", json)]);
    for (name, words) in [
        ("thin.yml", ["log/web.log", "tmp/pids/thin.pid"]),
        ("Passengerfile.json", ["passenger.4000.log", "passenger.4000.pid"]),
    ] {
        let said = shown(&folder, &[], &["config", "-C", name, "-d"]);
        assert_says(&said, &words);
        let said = shown(&folder, &[], &["config", "-C", name]);
        assert!(words.iter().all(|word| !said.contains(*word)), "{said}");
    }
}

/// Files of Unicorn name their pid file and their log only then (`-D` in production, and the terminal in development),
/// and files for Puma up to version 4, which ask the option `daemon`.
#[test]
fn a_file_of_unicorn_or_puma_knows_whether_the_server_goes_to_the_background() {
    let unicorn = "listen '127.0.0.1:0'\nif RACKUP[:daemonize]\n  pid 'web.pid'\n  stderr_path 'web.log'\nend\n";
    let puma = "if @options[:daemon]\n  pidfile 'web.pid'\n  stdout_redirect 'web.log', 'web.log', true\nend\n";
    let daemon = format!("daemonize\n{puma}");
    let folder = ruby::folder(&[("config.ru", APP)]);
    for (name, file, flag, variable, expected) in [
        ("unicorn.rb", unicorn, &["-D"][..], &[("FOOLS_GOLD_DAEMONIZE", "no")][..], true),
        ("unicorn.rb", unicorn, &["--daemonize"], &[], true),
        ("unicorn.rb", unicorn, &[], &[("FOOLS_GOLD_DAEMONIZE", "yes")], true),
        ("unicorn.rb", unicorn, &[], &[], false),
        ("puma.rb", puma, &["-d"], &[], true),
        ("puma.rb", daemon.as_str(), &[], &[], true),
        ("puma.rb", puma, &[], &[], false),
    ] {
        fs::write(folder.join(name), file).unwrap();
        let said = shown(&folder, variable, &[&["config", "-C", name], flag].concat());
        for path in ["web.pid", "web.log"] {
            assert_eq!(said.contains(path), expected, "{file} {flag:?} {variable:?}: {said}");
        }
    }
}

/// Thin makes the folders of its log and of its pid file, and so does a start with its file.
#[test]
fn a_check_does_not_ask_for_folders_that_a_start_makes() {
    let yml = "---\naddress: 127.0.0.1\ndaemonize: true\npid: tmp/pids/thin.pid\nlog: log/thin.log\n";
    let folder = ruby::folder(&[("config.ru", APP), ("thin.yml", yml)]);
    shown(&folder, &[], &["config", "--check", "-C", "thin.yml"]);
    assert!(!folder.join("tmp").exists() && !folder.join("log").exists(), "nothing is made");
    let said = refused(&folder, &["config", "--check", "-C", "thin.yml", "--pidfile", "config.ru"]);
    assert_says(&said, &["config.ru has something else in it than a process id"]);
    // A start with Puma's file makes no folders.
    fs::write(folder.join("puma.rb"), "pidfile 'tmp/pids/puma.pid'\n").unwrap();
    let said = refused(&folder, &["config", "--check", "-C", "puma.rb"]);
    assert_says(&said, &["tmp/pids: make it first"]);
}

#[test]
fn passengers_file_is_explained_and_obeyed() {
    let json = "{\n  \"address\": \"127.0.0.1\",\n  \"port\": 0,\n  \"environment\": \"production\",\n  \
                \"max_request_queue_size\": 50,\n  \"envvars\": { \"SECRET\": \"gold\" },\n  \
                \"sticky_sessions\": true\n}\n";
    let app = "run ->(env) { [200, {}, [\"#{ENV['RACK_ENV']} #{ENV['SECRET']}\"]] }\n";
    let files = [("config.ru", app), ("Passengerfile.json", json)];
    let folder = ruby::folder(&files);
    let said = shown(&folder, &[], &["explain", "Passengerfile.json"]);
    assert_says(
        &said,
        &["queue = 50", "Passengerfile.json:6: \"envvars\"", "Passengerfile.json:7: \"sticky_sessions\""],
    );
    assert!(!said.contains("gold\""), "no secret is shown: {said}");
    let server = serve(&files, &[], &["-C", "Passengerfile.json"]);
    assert_eq!(server.text("/"), "production gold", "{}", server.log());
    let log = server.log();
    assert!(log.contains("Passengerfile.json: without a counterpart: sticky_sessions; `foolsgold explain"), "{log}");
    assert!(log.contains("Passengerfile.json:6: envvars: Ruby's processes get SECRET; the server itself"), "{log}");
    assert!(!log.contains("gold\""), "{log}");
}

/// Agents of monitoring services start by them, and applications connect anew.
#[test]
fn hooks_that_an_application_gives_to_passenger_run() {
    let app = "PhusionPassenger.on_event(:starting_worker_process) { |forked| $forked = forked }\n\
               run ->(_) { [200, {}, [$forked.inspect]] }\n";
    for (method, expected) in [("smart", "true"), ("direct", "false")] {
        let json = format!("{{ \"address\": \"127.0.0.1\", \"port\": 0, \"spawn_method\": \"{method}\" }}");
        let server = serve(&[("config.ru", app), ("Passengerfile.json", &json)], &[], &["-C", "Passengerfile.json"]);
        assert_eq!(server.text("/"), expected, "{}", server.log());
    }
}

/// As in Passenger, which sets its `envvars` last.
#[test]
fn an_environment_among_the_variables_of_passengers_file_reaches_the_application() {
    let app = "run ->(_) { [200, {}, [\"#{ENV['RACK_ENV']} #{ENV['RAILS_ENV']}\"]] }\n";
    for (environment, expected) in [("", "staging staging"), ("\"environment\": \"production\",", "production staging")]
    {
        let json = format!(
            "{{ \"address\": \"127.0.0.1\", \"port\": 0, {environment} \"envvars\": {{ \"RAILS_ENV\": \"staging\" }} }}"
        );
        let server = serve(&[("config.ru", app), ("Passengerfile.json", &json)], &[], &["-C", "Passengerfile.json"]);
        assert_eq!(server.text("/"), expected, "{}", server.log());
    }
}

/// As with an application that runs with two sets of gems, the Gemfile beside its file and another one.
#[test]
fn a_gemfile_among_the_variables_of_passengers_file_is_that_of_the_application() {
    let app = "run ->(_) { [200, {}, [File.basename(Bundler.default_gemfile), ' ', ENV['BUNDLE_GEMFILE']]] }\n";
    let json = "{ \"address\": \"127.0.0.1\", \"port\": 0, \"envvars\": { \"BUNDLE_GEMFILE\": \"Gemfile.next\" } }";
    let old = "gem \"rack\"\ngem \"fools-gold-no-such-gem\"\n";
    let files =
        [("config.ru", app), ("Gemfile", old), ("Gemfile.next", "gem \"rack\"\n"), ("Passengerfile.json", json)];
    let server = serve(&files, &[], &["-C", "Passengerfile.json"]);
    let text = server.text("/");
    assert!(text.starts_with("Gemfile.next /") && text.ends_with("/Gemfile.next"), "{text}\n{}", server.log());
}

/// A user who knows a directive from the other server does not look up what it does here.
#[test]
fn what_has_another_meaning_is_said_at_the_start_and_what_says_nothing_is_not() {
    let timeout = "unicorn.rb:2: timeout: counts from the last byte of a request to its answer, waiting included; the \
                   request is interrupted, its client gets 504, and its worker is killed only if";
    let threads = "puma.rb:1: threads: all threads are there from the start; their number does not change";
    for (name, text, words) in [
        ("unicorn.rb", "listen 8080\ntimeout 20\n", Some(timeout)),
        ("unicorn.rb", "listen 8080, tcp_nopush: true, backlog: 64\n", None),
        ("unicorn.rb", "listen 8080, tries: -1\n", Some("unicorn.rb:1: listen: without effect here: tries")),
        ("puma.rb", "threads 1, 5\n", Some(threads)),
        // As `environment ENV["RACK_ENV"]` where the variable is not set.
        ("puma.rb", "environment nil\ntag ''\n", None),
        ("thin.yml", "pid: thin.pid\n", None),
        ("thin.yml", "servers: 2\npid: thin.pid\n", Some("thin.yml:2: pid: a cluster of Thin writes one for each")),
    ] {
        let folder = ruby::folder(&[("config.ru", APP), (name, text)]);
        let said = shown(&folder, &[], &["config", "-C", name]);
        let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note: ")).collect();
        assert_eq!(notes.len(), usize::from(words.is_some()), "{name}: {text}: {notes:?}");
        assert!(words.is_none_or(|words| notes[0].contains(words)), "{name}: {text}: {notes:?}");
    }
}

/// Gems that bring a configuration call the method with which Puma reads a file.
#[test]
fn pumas_file_may_read_another_one() {
    let puma = "threads 2, 2\n_load_from File.expand_path('shared.rb', __dir__)\n_load_from nil\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", puma), ("shared.rb", "\nworkers 3\n")]);
    let said = shown(&folder, &[], &["explain", "puma.rb"]);
    assert_says(&said, &["threads = 2 ", "# line 1: threads 2, 2", "workers = 3 ", "shared.rb:2: workers 3"]);
}

/// Files that their own servers take: constants and objects of older Pumas, sockets that nobody has handed over.
#[test]
fn what_pumas_files_lean_on_is_there() {
    let puma = "rackup DefaultRackup\nbind_to_activated_sockets 'only'\nthreads 2, 3\nworkers 1\n\
                bind 'tcp://127.0.0.1:0'\n\
                seen = [@config.options[:max_threads], @options[:binds], get(:workers), @config.options[:rackup]]\n\
                before_fork { File.write('notes', seen.inspect + @config.options[:workers].inspect) }\n";
    let server = serve(&[("config.ru", APP), ("puma.rb", puma)], &[], &["-C", "puma.rb"]);
    assert_eq!(server.get("/").status, 200);
    ruby::wait_for_note(&server, "[3, [\"tcp://127.0.0.1:0\"], 1, \"config.ru\"]1");
}

/// As container tools set them that cannot remove one.
#[test]
fn variables_that_are_blank_say_nothing_to_pumas_file() {
    let puma = "most = @config.options[:max_threads]\n\
                tag \"#{@config.options[:min_threads]} #{most} #{@config.environment}\"\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", puma)]);
    let threads = [("PUMA_MAX_THREADS", ""), ("MAX_THREADS", "7"), ("PUMA_MIN_THREADS", " ")];
    let others = [("WEB_CONCURRENCY", " "), ("APP_ENV", ""), ("RACK_ENV", ""), ("RAILS_ENV", "staging")];
    let said = shown(&folder, &[&threads[..], &others].concat(), &["explain", "puma.rb"]);
    assert_says(&said, &["tag = \"0 7 staging\"", "workers = 1 "]);
}

/// As in `rails_env = environment ENV.fetch("RAILS_ENV")`, on which a later condition depends.
#[test]
fn a_directive_of_puma_returns_the_value_of_its_option() {
    let puma = "env = environment 'staging'\nworker_timeout 90 if env == 'staging'\n\
                tag pidfile('app.pid') if preload_app! && workers('3') > threads(1, '2')\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", puma)]);
    let said = shown(&folder, &[], &["explain", "puma.rb"]);
    assert_says(&said, &["worker-timeout = \"90s\"", "tag = \"app.pid\"", "workers = 3 "]);
}

/// As in Passenger's documentation: a value of 0 means that there is no limit.
#[test]
fn limits_of_passenger_that_are_nothing_are_none() {
    let json = "{ \"address\": \"127.0.0.1\", \"port\": 0, \"pool_idle_time\": 0, \"max_request_time\": 0, \
                \"max_requests\": 0, \"max_request_queue_time\": 0, \"max_request_queue_size\": 0 }";
    let files = [("config.ru", APP), ("Passengerfile.json", json)];
    let folder = ruby::folder(&files);
    let (_, said) = run(&folder, &[], &["explain", "Passengerfile.json"]);
    assert_says(&said, &["request-time = \"none\"", "queue-wait = \"none\"", "idle-time = \"24h\""]);
    let server = serve(&files, &[], &["-C", "Passengerfile.json"]);
    assert_eq!(server.get("/").status, 200, "{}", server.log());
}

#[test]
fn what_passengers_parser_takes_is_taken() {
    let json = "// for all\n{\n  \"address\": \"127.0.0.1\", /* here */\n  \"port\": \"0\",\n  \"nginx\": 1,\n  \
                \"environment\": \"production\",\n}\n";
    let files = [("config.ru", APP), ("Passengerfile.json", json)];
    let server = serve(&files, &[("PASSENGER_THREAD_COUNT", "1")], &["-C", "Passengerfile.json"]);
    assert!(server.text("/").starts_with("production "), "{}", server.log());
    let folder = ruby::folder(&files);
    let (_, said) = run(&folder, &[("PASSENGER_MAX_REQUESTS", "50")], &["explain", "Passengerfile.json"]);
    assert_says(&said, &["max-requests = 50", "# PASSENGER_MAX_REQUESTS=50", "Passengerfile.json:5: \"nginx\": 1"]);
}

/// As in containers for Passenger, which are configured by variables alone: its environment would be production.
#[test]
fn variables_of_passenger_that_do_not_count_without_its_file_are_told() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let all = [("PASSENGER_APP_ENV", "production"), ("PASSENGER_MAX_POOL_SIZE", "4")];
    let notes = |env: &[(&str, &str)], options: &[&str]| {
        let said = shown(&folder, env, &[&["config"], options].concat());
        let of_passenger = |line: &&str| line.starts_with("note: ") && line.contains("PASSENGER_");
        said.lines().filter(of_passenger).map(str::to_owned).collect::<Vec<_>>()
    };
    let why = "variables of Passenger are read beside a Passengerfile.json, which may be {}";
    let both = format!("note: PASSENGER_MAX_POOL_SIZE, PASSENGER_APP_ENV are set and do not count: {why}");
    assert_eq!(notes(&all, &["start"]), [both]);
    let one = format!("note: PASSENGER_MAX_POOL_SIZE is set and does not count: {why}");
    assert_eq!(notes(&all, &["-e", "staging"]), [one], "the environment is known");
    let none: [String; 0] = [];
    assert_eq!(notes(&[("PASSENGER_PORT", "tcp://10.96.0.7:80")], &[]), none, "a service in Kubernetes");
    assert_eq!(notes(&all, &["--no-config"]), none);
    fs::write(folder.join("Passengerfile.json"), "{}").unwrap();
    assert_eq!(notes(&all, &[]), none);
    let (_, said) = run(&folder, &all, &["config"]);
    for row in [["environment", "production"], ["max-workers", "4"]] {
        assert!(said.lines().any(|line| line.split_whitespace().take(2).eq(row)), "{row:?} is not in: {said}");
    }
}

#[test]
fn sockets_have_the_permissions_that_are_asked_for() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let unix = |query: &str| format!("bind 'unix://a.sock{query}'\nbind 'tcp://127.0.0.1:0?low_latency=true'\n");
    for (name, text, expected) in [
        ("puma.rb", unix(""), 0o777),
        ("puma.rb", unix("?umask=0117"), 0o660),
        ("puma.rb", unix("?mode=0640&backlog=7"), 0o640),
        ("puma.rb", "bind \"unix:#{__dir__}/a.sock?umask=0117\"\nbind 'tcp://127.0.0.1:0'\n".to_owned(), 0o660),
        ("unicorn.rb", "listen 'unix:a.sock', umask: 0o027\nlisten '127.0.0.1:0'".to_owned(), 0o750),
        ("thin.yml", "socket: a.sock\n".to_owned(), 0o777),
    ] {
        let server = serve(&[("config.ru", APP), (name, &text)], &[], &["-C", name]);
        let socket = server.folder.join("a.sock");
        assert!(within(MAX_WAIT, || socket.exists()), "{}", server.log());
        assert_eq!(Client::unix(&socket).get("/").status, 200, "{}", server.log());
        assert_eq!(mode(&socket), expected, "{name}: {text}");
    }
    let options = ["-b", "unix://b%20c.sock?mode=0600&group=0", "-b", "tcp://127.0.0.1:0"];
    let is_root = rustix::process::getuid().is_root();
    let options = if is_root { options } else { ["-b", "unix://b%20c.sock?mode=0600", options[2], options[3]] };
    let server = Server::spawn(ruby::folder(&[("config.ru", "run ->(env) { [200, {}, []] }")]), &[], &options);
    assert_eq!(mode(&server.folder.join("b c.sock")), 0o600);
    let folder = ruby::folder(&[("config.ru", APP)]);
    let said = refused(&folder, &["-b", "unix://a.sock?mod=0660"]);
    assert_says(
        &said,
        &["-b unix://a.sock?mod=0660: mod=0660: is not known; behind a Unix socket there may be mode, "],
    );
    assert!(!folder.join("a.sock?mod=0660").exists());
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    let cases = [
        (
            "puma.rb",
            "threads 1, 2\nworkrs 3\n",
            "puma.rb:2: workrs 3: Puma has no such directive; workers is the nearest",
        ),
        ("puma.rb", "threads 1, 2\nfoo.bar\n", "puma.rb:2: foo: Puma has no such directive"),
        ("puma.rb", "threads 1, 2\nthreads.bar\n", "puma.rb:2: NoMethodError: undefined method"),
        ("puma.rb", "threads 1, 2\nthreads (\n", "SyntaxError"),
        ("puma.rb", "exit 3", "puma.rb:1: SystemExit"),
        ("puma.rb", "\nthreads 1, 2000\n", "puma.rb:2: threads 1, 2000: must be from 1 to 1024"),
        (
            "puma.rb",
            "ssl_bind '0.0.0.0', 1, key: 'k'",
            "puma.rb:1: ssl_bind \"0.0.0.0\", 1, {:key=>\"k\"}: there is no TLS",
        ),
        ("puma.rb", "app { |env| [200, {}, []] }", "puma.rb:1: app do ... end: an application inside a configuration"),
        ("unicorn.rb", "timeout 'soon'", "unicorn.rb:1: timeout \"soon\": must be none, or a whole number of seconds"),
        ("thin.yml", "- 1\n", "thin.yml: ArgumentError: is not a list of keys"),
        ("thin.yml", "port: 1\nport: 2\nprefix: shop\n", "thin.yml:3: prefix: shop: must be a path such as /shop"),
        ("Passengerfile.json", "{\n\"port\": ", "Passengerfile.json: is not JSON, as Passenger takes it: line 2"),
        ("server.rb", "puts 1", "server.rb: cannot be told apart: call it *.toml"),
    ];
    for (name, text, line) in cases {
        let folder = ruby::folder(&[("config.ru", APP), (name, text)]);
        let said = refused(&folder, &["-C", name]);
        let is_there = said.replace("key: \"k\"", ":key=>\"k\"").contains(line);
        assert!(is_there, "{line:?} is not in: {said}");
    }
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", "threads 1, 2")]);
    let (_, said) = run(&folder, &[], &["-C", "config/puma.rb", "--ruby", "no-such-ruby"]);
    assert_says(&said, &["config/puma.rb: it is read by Ruby, and there is no no-such-ruby on PATH"]);
}

#[test]
fn the_files_that_puma_and_passenger_read_by_themselves_are_read_without_being_named() {
    let check = |files: &[(&str, &str)], options: &[&str], right: &[&str], wrong: &str| {
        let folder = ruby::folder(files);
        let (_, said) = run(&folder, &[], &[&["config"], options].concat());
        assert_says(&said, right);
        assert!(!said.contains(wrong), "{wrong:?} is in: {said}");
    };
    let app = ("config.ru", APP);
    let puma = ("config/puma.rb", "threads 1, 2");
    let unicorn = ("config/unicorn.rb", "worker_processes 1");
    check(&[app, puma], &[], &["config/puma.rb:1: threads: all threads"], "is not read");
    check(&[app, ("Passengerfile.json", "{ \"port\": 3456 }")], &[], &["3456"], "is not read");
    check(&[app, ("passenger-standalone.json", "{ \"port\": 3456 }")], &[], &["3456"], "is not read");
    // Puma prefers the file of the environment.
    let staging = ("config/puma/staging.rb", "threads 3, 3");
    check(&[app, puma, staging], &["-e", "staging"], &["config/puma/staging.rb:1"], "puma.rb:1");
    check(&[app, puma, staging], &[], &["config/puma.rb:1: threads: all threads"], "staging.rb:1");
    // Another choice was made explicitly.
    check(&[app, puma], &["--no-config"], &["threads"], "is not read");
    check(&[app, puma, ("foolsgold.toml", "threads = 4")], &[], &["foolsgold.toml:1"], "is not read");
    check(&[app, puma, ("own.toml", "threads = 4")], &["-C", "own.toml"], &["own.toml:1"], "is not read");
    let not_read = "note: config/puma.rb is there and is not read: `-C config/puma.rb` reads it";
    check(&[app, puma], &["--engine", "mruby"], &[not_read], "puma.rb:1");
    // The application is elsewhere, and Puma would not look there.
    let below = [("below/config.ru", APP), ("below/config/puma.rb", "threads 1, 2")];
    check(&below, &["below"], &["below/config/puma.rb is there and is not read"], "puma.rb:1");
    // Puma looks in the working directory, also for an application below it, unless that is a project of its own.
    let lib = ("lib/config.ru", APP);
    let read = "config/puma.rb:1: threads: all threads";
    check(&[lib, puma], &["lib/config.ru"], &[read], "is not read");
    check(&[lib, puma, ("lib/Gemfile", "")], &["lib/config.ru"], &["Gemfile is beside config.ru"], "puma.rb");
    check(&[lib, puma, ("lib/foolsgold.toml", "")], &["lib/config.ru"], &["lib/foolsgold.toml"], "puma.rb");
    check(&[lib, puma, ("foolsgold.toml", "")], &["lib/config.ru"], &["config/puma.rb is there and is not"], "rb:1");
    check(&[lib, puma], &["lib"], &["threads"], "puma.rb");
    // The gem starts the server of a script without the user's flags.
    let unread = "config/unicorn.rb is there and is not read: `FOOLS_GOLD_CONFIG=config/unicorn.rb` reads it";
    for (script, file, words) in [("lib/app.rb", puma, read), ("app.rb", unicorn, unread)] {
        let folder = ruby::folder(&[(script, ""), ("made/config.ru", APP), file]);
        let beside = folder.join(script).parent().unwrap().display().to_string();
        let (_, said) = run(&folder, &[("FOOLSGOLD_APP_FOLDER", beside.as_str())], &["config", "made/config.ru"]);
        assert_says(&said, &[words]);
    }
    // Of several files it is not clear which one is meant; those of Unicorn and Thin are read only when they are named.
    check(&[app, puma, unicorn], &[], &["config/puma.rb and config/unicorn.rb are there, and none is read"], "rb:1");
    check(&[app, unicorn], &[], &["config/unicorn.rb is there and is not read"], "rb:1");
    for (name, options) in [("config/unicorn/staging.rb", &["-e", "staging"][..]), ("config/pitchfork.conf.rb", &[])] {
        let files = [app, puma, (name, "worker_processes 1")];
        check(&files, options, &[&format!("config/puma.rb and {name} are there, and none is read")], "rb:1");
    }
}

/// The pages about hooks advise to write this file, and most applications of Rails have a config/puma.rb.
#[test]
fn own_hooks_that_do_not_run_beside_those_of_another_servers_file_are_told() {
    let hooks = "after_fork { |_| nil }\n";
    let puma = "workers 1\nbefore_worker_boot { nil }\n";
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", puma), ("config/foolsgold.rb", hooks)]);
    let is_told = |options: &[&str]| {
        let said = shown(&folder, &[], &[&["config"], options].concat());
        said.contains("note: config/foolsgold.rb is there and is not read, since config/puma.rb has hooks: register")
    };
    assert!(is_told(&[]));
    assert!(!is_told(&["--hooks", "config/foolsgold.rb"]), "it was chosen");
    let ways = |env: &[(&str, &str)]| {
        let (_, said) = run(&folder, env, &["config", "config.ru"]);
        ["or say --hooks config/foolsgold.rb,", "or say FOOLS_GOLD_HOOKS=config/foolsgold.rb,"]
            .map(|way| said.contains(way))
    };
    // The gem starts the server of a script without the user's flags.
    let script = [("FOOLSGOLD_APP_FOLDER", folder.to_str().unwrap())];
    assert_eq!((ways(&[]), ways(&script)), ([true, false], [false, true]));
    fs::write(folder.join("config/puma.rb"), "workers 1\n").unwrap();
    assert!(!is_told(&[]), "it is read");
}

#[test]
fn of_several_files_none_is_left_out_without_a_word() {
    let folder = ruby::folder(&[("config.ru", APP), ("puma/a.rb", "threads 1"), ("puma/b.rb", "workers 1")]);
    let said = refused(&folder, &["-C", "puma/a.rb", "-C", "puma/b.rb"]);
    assert_says(&said, &["-C puma/a.rb and -C puma/b.rb: one settings file is read; one in Ruby takes in another by"]);
    let (_, said) = run(&folder, &[], &["--no-config", "-C", "puma/b.rb"]);
    assert_says(
        &said,
        &["--no-config and -C puma/b.rb: one settings file is read; - reads none: leave one of the two out"],
    );
}

#[test]
fn what_is_explained_is_what_the_environment_and_the_machine_of_the_server_make_of_it() {
    let json = "{ \"user\": \"nobody-has-this-name\" }";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", "threads 2.5, 3.5\n"), ("Passengerfile.json", json)]);
    let explain = |file: &str, env: &[(&str, &str)]| run(&folder, env, &["explain", file]);
    let (_, said) = explain("puma.rb", &[("WEB_CONCURRENCY", "3")]);
    assert_says(&said, &["workers = 3                              # WEB_CONCURRENCY=3 in the environment"]);
    assert_says(&said, &["threads = \"2:3\""]);
    fs::write(folder.join("puma.rb"), "workers 2 * 1.25\n").unwrap();
    let (_, said) = explain("puma.rb", &[("WEB_CONCURRENCY", "3")]);
    assert_says(&said, &["workers = 2                              # line 1: workers 2.5"]);
    let (output, said) = explain("Passengerfile.json", &[]);
    assert!(output.status.success() && said.contains("user = \"nobody-has-this-name\""), "{said}");
}

#[test]
fn explain_says_what_cannot_be_used_and_what_cannot_be_explained() {
    let puma = "workers \"many\"\nport 99999\n";
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", puma)]);
    let (output, said) = run(&folder, &[], &["explain", "puma.rb"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_says(
        &said,
        &["does not start with these values:", "puma.rb:1: workers \"many\": must be", "puma.rb:2: port 99999"],
    );
    let reason = String::from_utf8_lossy(&output.stderr);
    assert_says(&reason, &["does not start with puma.rb:", "puma.rb:1: workers \"many\": must be"]);
    let (named_by_flag, _) = run(&folder, &[], &["explain", "-C", "puma.rb"]);
    assert_eq!(named_by_flag, output, "as the server is started with it");
    // The rest of a file with a directive that is refused is explained all the same.
    fs::write(folder.join("puma.rb"), "threads 2, 2\nssl_bind \"0.0.0.0\", 9293\n").unwrap();
    let (output, _) = run(&folder, &[], &["explain", "puma.rb"]);
    assert_eq!(output.status.code(), Some(1));
    assert_says(&String::from_utf8_lossy(&output.stdout), &["threads = 2 ", "The server does not start with these:"]);
    assert_says(&String::from_utf8_lossy(&output.stderr), &["puma.rb:2: ssl_bind \"0.0.0.0\", 9293: "]);
    let said = refused(&folder, &["explain", "nope.rb"]);
    assert_says(&said, &["foolsgold: cannot explain this:", "nope.rb: cannot be read"]);
    // Puma does not read it either.
    fs::write(folder.join("puma.rb"), "load 'nope.rb'").unwrap();
    let (_, said) = run(&folder, &[], &["explain", "puma.rb"]);
    assert_says(&said, &["puma.rb:1: load \"nope.rb\"", "Puma does not read it either"]);
}

/// As in files of Puma up to 4, of which the log goes to /dev/null.
#[test]
fn a_file_for_the_background_that_names_no_log_is_explained_as_it_is_served() {
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", "daemonize true\npidfile 'puma.pid'\n")]);
    let said = shown(&folder, &[], &["explain", "puma.rb"]);
    assert_says(&said, &["daemonize = true", "log-file = \"/dev/null\""]);
}

/// A configuration that says when it runs, and where: in a real one this is a spawned job worker.
const COUNTED: &str = "File.write('notes', \"read in #{Process.pid}\\n\", mode: 'a')\nENV['FROM_FILE'] = 'gold'\n\
                       ENV['RACK_ENV'] = 'staging'\nlisten '127.0.0.1:0'\n";
const COUNTED_APP: &str = "run ->(env) { [200, {}, [\"#{Process.ppid} #{ENV['FROM_FILE']} #{ENV['RACK_ENV']}\"]] }\n";

fn count(server: &Server, words: &str) -> usize {
    ruby::notes(server).iter().filter(|line| line.starts_with(words)).count()
}

#[test]
fn the_code_of_a_file_runs_once_in_the_process_that_loads_the_application() {
    for hooks in ["", "after_fork { |_, worker| File.write('notes', \"forked #{worker.nr}\\n\", mode: 'a') }\n"] {
        let file = format!("{COUNTED}{hooks}");
        let files = [("config.ru", COUNTED_APP), ("unicorn.rb", &*file), ("tmp/keep", "")];
        let server = serve(&files, &[], &["-C", "unicorn.rb"]);
        let mold = ruby::mold(&server);
        assert_eq!(server.text("/"), format!("{mold} gold staging"), "{}", server.log());
        assert_eq!(ruby::notes(&server)[0], format!("read in {mold}"));
        assert_eq!(count(&server, "read"), 1, "{:?}", ruby::notes(&server));
        assert_eq!(count(&server, "forked 0"), usize::from(!hooks.is_empty()), "{:?}", ruby::notes(&server));
        // As in Unicorn, a reload reads the file again.
        server.signal(Signal::HUP);
        server.must_log("generation 2 serves");
        assert_eq!(count(&server, "read"), 2, "{:?}", ruby::notes(&server));
        assert!(server.text("/").ends_with(" gold staging"), "{}", server.log());
    }
}

/// On CRuby it would have become the process that loads the application.
#[test]
fn the_process_that_has_read_a_file_ends_where_the_embedded_engine_serves_with_it() {
    let app = "run lambda { |env| [200, {}, ['gold']] }\n";
    let file = "File.write('notes', \"read\\n\", mode: 'a')\nbind 'tcp://127.0.0.1:0'\n";
    let folder = ruby::folder(&[("config.ru", app), ("puma.rb", file)]);
    let server = Server::spawn(folder, &[], &["--engine", "mruby", "--ruby", &ruby::program(), "-C", "puma.rb"]);
    assert_eq!(server.text("/"), "gold", "{}", server.log());
    assert_eq!(ruby::notes(&server), ["read"]);
    let left = || ruby::processes(server.id());
    assert!(within(MAX_WAIT, || left().is_empty()), "{:?}", left().into_iter().map(ruby::title).collect::<Vec<_>>());
}

/// The code of a file runs in the process that loads the application: in Unicorn its umask is that of the application.
#[test]
fn a_umask_that_a_file_sets_is_that_of_the_application() {
    let app = "run ->(_) { [200, {}, [File.umask.to_s(8)]] }\n";
    for (code, expected) in [("File.umask(0o027)\n", "27"), ("", "77")] {
        let file = format!("{code}listen '127.0.0.1:0'\n");
        let server = serve(&[("config.ru", app), ("unicorn.rb", &file)], &[], &["-C", "unicorn.rb", "--umask", "077"]);
        assert_eq!(server.text("/"), expected, "{}", server.log());
    }
}

/// Unless a directive names another file: as in Unicorn, that counts more.
#[test]
fn what_a_file_redirects_its_output_to_gets_that_of_the_application() {
    let app = "run(lambda do |_|\n  $stdout.puts 'vein out'\n  $stderr.puts 'vein err'\n  [200, {}, ['said']]\nend)\n";
    // Which is no IO, and has not all of its methods.
    let object = "own = Object.new\ndef own.write(*words)\n  File.write('own', words.join, mode: 'a')\nend\n\
                  def own.puts(words)\n  write(words, $/)\nend\n$stdout = own\n";
    for (code, own) in [
        ("$stdout.reopen('own', 'a')\n", &["vein out"][..]),
        ("$stderr.reopen('own', mode: 'a')\n", &["vein err"]),
        ("STDOUT.reopen('own', 'a')\nSTDERR.reopen(STDOUT)\n", &["vein out", "vein err"]),
        ("$stdout = File.open('own', 'a')\n", &["vein out"]),
        (object, &["vein out"]),
        ("kept = $stdout.dup\n$stdout.reopen(File::NULL)\n$stdout.reopen(kept)\n", &[]),
        ("$stdout.reopen('own', 'a')\nstdout_path '/dev/stdout'\n", &[]),
    ] {
        let file = format!("{code}listen '127.0.0.1:0'\n");
        let server = serve(&[("config.ru", app), ("unicorn.rb", &file), ("own", "")], &[], &["-C", "unicorn.rb"]);
        assert_eq!(server.text("/"), "said", "{code}{}", server.log());
        let found = fs::read_to_string(server.folder.join("own")).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), own, "{code}{}", server.log());
        for words in ["vein out", "vein err"] {
            let is_logged = if own.contains(&words) { server.log().contains(words) } else { server.logs(words) };
            assert_eq!(is_logged, !own.contains(&words), "{code}{}", server.log());
        }
    }
}

#[test]
fn a_mold_that_takes_the_place_of_another_reads_the_file_for_its_hooks() {
    let file = format!("{COUNTED}after_fork {{ |_, worker| File.write('notes', \"forked\\n\", mode: 'a') }}\n");
    let server = serve(&[("config.ru", COUNTED_APP), ("unicorn.rb", &file)], &[], &["-C", "unicorn.rb"]);
    let mold = ruby::mold(&server);
    for pid in [mold, ruby::workers(&server)[0]] {
        signal(pid, Signal::KILL);
    }
    assert!(within(MAX_WAIT, || count(&server, "forked") == 2), "{:?}", ruby::notes(&server));
    assert!(server.text("/").ends_with(" gold staging"), "{}", server.log());
    assert_eq!(count(&server, "read"), 2);
}

#[test]
fn the_code_of_a_file_runs_once_in_the_background_too() {
    adopt_orphans();
    let folder = ruby::folder(&[("config.ru", COUNTED_APP), ("unicorn.rb", COUNTED)]);
    let options = ["-C", "unicorn.rb", "-D", "--log-file", "log", "--pidfile", "web.pid", "-b", "unix://web.sock"];
    shown(&folder, &[], &options);
    let process = Process::named_in(&folder.join("web.pid"), 0);
    let text = Client::unix(&folder.join("web.sock")).get("/").text();
    let mold = text.split(' ').next().unwrap();
    assert_eq!(fs::read_to_string(folder.join("notes")).unwrap(), format!("read in {mold}\n"));
    process.end(Signal::TERM);
    // What is wrong is told where it was called, as ever.
    let said = refused(&folder, &[&options[..], &["-t", "0"]].concat());
    assert_says(&said, &["cannot start with these options:\n  -t 0: must be from 1 to 1024\n"]);
    fs::write(folder.join("unicorn.rb"), "wrker_processes 1").unwrap();
    let said = refused(&folder, &options);
    assert_says(&said, &["  unicorn.rb:1: wrker_processes 1: Unicorn has no such directive"]);
}

#[test]
fn the_code_of_a_file_that_is_read_without_being_named_runs_once_and_not_to_build_an_extension() {
    adopt_orphans();
    let puma = ("config/puma.rb", "File.write('notes', \"read\\n\", mode: 'a')\nworkers 1\n");
    for (app, named) in [("lib/config.ru", &["lib/config.ru"][..]), ("config.ru", &[])] {
        let folder = ruby::folder(&[(app, COUNTED_APP), puma]);
        let options = ["-D", "--log-file", "log", "--pidfile", "web.pid", "-b", "unix://web.sock"];
        shown(&folder, &[], &[named, &options].concat());
        let process = Process::named_in(&folder.join("web.pid"), 0);
        assert_eq!(fs::read_to_string(folder.join("notes")).unwrap(), "read\n", "{app}");
        process.end(Signal::TERM);
    }
    // Root may do that, in any folder.
    let folder = ruby::folder(&[puma]);
    let (_, said) = run(&folder, &[], &["native", "-t", "0"]);
    assert!(!folder.join("notes").exists(), "{said}");
}

#[test]
fn variables_of_passengers_file_reach_processes_of_another_user() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let app = "run(lambda do |_|\n  is_home = ENV['HOME'] == Etc.getpwuid.dir\n  \
               [200, {}, [[ENV['SECRET'], ENV.keys.grep(/HELD/).size, is_home, Process.uid].join(' ')]]\nend)\n";
    let json = "{ \"address\": \"127.0.0.1\", \"port\": 0, \"envvars\": { \"SECRET\": \"gold\" } }";
    let folder = ruby::folder(&[("config.ru", app), ("Passengerfile.json", json)]);
    fs::set_permissions(&*folder, fs::Permissions::from_mode(0o755)).unwrap();
    let server = ruby::serve_with("Passengerfile.json", folder, &["--engine", "ruby", "--ruby-user", "nobody"]);
    let text = server.text("/");
    let uid = text.strip_prefix("gold 0 true ").unwrap_or_else(|| panic!("{text}\n{}", server.log()));
    assert!(uid.parse::<u32>().is_ok_and(|uid| uid != 0), "{text}");
}

#[test]
fn root_evaluates_the_file_and_goes_on_as_somebody_else() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let app = "run ->(env) { [200, {}, [[Process.ppid, Process.uid, Process.euid, Process.gid].join(' ')]] }\n";
    for option in ["--user", "--ruby-user"] {
        let folder = ruby::folder(&[("config.ru", app), ("unicorn.rb", COUNTED), ("notes", "")]);
        for path in [&*folder, &folder.join("notes")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let server = ruby::serve_with("unicorn.rb", folder, &[option, "nobody", "--worker-memory", "1GiB"]);
        let mold = ruby::mold(&server);
        let nobody = ruby::user(mold);
        assert_ne!(nobody, 0);
        assert_eq!(ruby::user(server.id()), if option == "--user" { nobody } else { 0 }, "{option}");
        let text = server.text("/");
        assert!(text.starts_with(&format!("{mold} {nobody} {nobody} ")) && !text.ends_with(" 0"), "{text}");
        assert_eq!(ruby::notes(&server), [format!("read in {mold}")], "{}", server.log());
        // Who has changed its user can be looked at all the same, or its memory could not be bounded.
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(format!("/proc/{mold}")).unwrap());
        assert_eq!(owner, nobody, "{option}");
    }
}

#[test]
fn what_a_file_has_started_is_told_where_only_its_settings_are_wanted() {
    let file = "spawn('sleep', '61')\nsystem('setsid sleep 62 &')\nlisten 8080\n";
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", file)]);
    for command in [&["explain", "unicorn.rb"][..], &["config", "-C", "unicorn.rb"]] {
        // They hold standard error open, which must be no pipe that somebody waits for.
        let (out, err) = (folder.join("out"), folder.join("err"));
        let mut run = server::command();
        run.current_dir(&folder).env("FOOLS_GOLD_RUBY", ruby::program()).args(command);
        run.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
        let status = run.status().unwrap();
        let said = fs::read_to_string(out).unwrap().replace("\n# ", " ");
        let (_, pids) = said.split_once("`kill ").unwrap_or_else(|| panic!("{said}"));
        for pid in pids.split('`').next().unwrap().split(' ') {
            signal(pid.parse().unwrap(), Signal::KILL);
        }
        assert!(status.success(), "{said}");
        assert_says(&said, &["its code has started processes that still run: ", "(sleep 61)", "sleep 62"]);
        assert_eq!(said.contains("Its code was run for this, with all that it does."), command[0] == "explain");
    }
}

#[test]
fn a_file_that_leaves_a_process_behind_is_read() {
    let begun = Instant::now();
    let server = serve(
        &[("config.ru", APP), ("puma.rb", "fork { sleep 20 }\nbind 'tcp://127.0.0.1:0'\n")],
        &[],
        &["-C", "puma.rb"],
    );
    assert_eq!(server.get("/").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// systemd and cron set no locale.
#[test]
fn a_folder_of_any_name_is_fine_where_the_locale_is_c() {
    // It holds a file open whose path is not valid in this locale, while workers are forked.
    let app = "LOG = File.open('log.txt', 'a')\nrun ->(env) { [200, {}, ['gold']] }\n";
    for file in ["workers 1\n", "workers 2\npreload_app!\n"] {
        let files = [("r\u{fc}be/config.ru", app), ("r\u{fc}be/config/puma.rb", file)];
        let folder = server::folder_with(&files).at("r\u{fc}be");
        let options = ["-b", "tcp://127.0.0.1:0", "--ruby", &ruby::program(), "-C", "config/puma.rb"];
        let server = Server::spawn(folder, &[("LC_ALL", "C"), ("RUBYOPT", "")], &options);
        assert_eq!(server.text("/"), "gold", "{file}");
    }
}

/// Its message begins with the path of the file, which is not valid in this locale.
#[test]
fn a_syntax_error_in_a_folder_of_any_name_is_told_where_the_locale_is_c() {
    let files = [("r\u{fc}be/config.ru", APP), ("r\u{fc}be/puma.rb", "threads 1, 2\nthreads (\n")];
    let folder = server::folder_with(&files).at("r\u{fc}be");
    let program = ruby::program();
    let env = [("LC_ALL", "C"), ("RUBYOPT", ""), ("FOOLS_GOLD_RUBY", program.as_str())];
    let said = server::exits_with(2, &folder, &env, &["-C", "puma.rb"]);
    let told = said.lines().find(|line| line.contains(": SyntaxError: "));
    assert!(told.is_some_and(|line| line.trim_start().starts_with("puma.rb:")), "{said}");
}

#[test]
fn addresses_and_schemes_that_files_name_reach_the_application() {
    let app = "run ->(env) { [200, {}, [env['REMOTE_ADDR'], ' ', env['rack.url_scheme']]] }\n";
    let puma = "bind 'tcp://127.0.0.1:0'\nstate_path 'state'\nstate_permission 0600\n";
    let header = "set_remote_address header: 'X-Real-IP'\nplugin :solid_queue\nfork_worker\n";
    let (real, forwarded) = ("X-Real-IP: 192.0.2.7, 10.0.0.1", "X-Forwarded-Proto: http");
    let unicorn = "listen '127.0.0.1:0'\nUnicorn::HttpRequest::DEFAULTS['rack.url_scheme'] = 'https'\n";
    let parser =
        |server: &str| format!("listen '127.0.0.1:0'\n{server}::HttpParser::DEFAULTS['rack.url_scheme'] = 'https'\n");
    for (name, text, more, said) in [
        ("puma.rb", format!("{puma}{header}"), vec![], "192.0.2.7 http"),
        ("puma.rb", format!("{puma}{header}"), vec!["--trust-proxy", "none"], "127.0.0.1 http"),
        ("puma.rb", format!("{puma}set_remote_address :localhost\n"), vec!["--trust-proxy", "none"], "127.0.0.1 http"),
        ("puma.rb", format!("{puma}set_remote_address '192.0.2.9'\n"), vec![], "192.0.2.9 http"),
        ("puma.rb", format!("{puma}rack_url_scheme 'https'\n"), vec![], "127.0.0.1 https"),
        ("unicorn.rb", unicorn.to_owned(), vec![], "127.0.0.1 https"),
        ("unicorn.rb", parser("Unicorn"), vec![], "127.0.0.1 https"),
        ("pitchfork.rb", parser("Pitchfork"), vec![], "127.0.0.1 https"),
    ] {
        let server = ruby::serve_with(name, ruby::folder(&[("config.ru", app), (name, &text)]), &more);
        let reply = server.client().ask(&format!("GET / HTTP/1.1\nHost: x\n{real}\n{forwarded}\n\n"));
        assert_eq!(reply.text(), said, "{text}\n{}", server.log());
        if name == "puma.rb" {
            let state = fs::metadata(server.folder.join("state")).unwrap();
            assert_eq!(state.permissions().mode() & 0o777, 0o600, "{}", server.log());
        }
        if text.contains("fork_worker") {
            // What is not as in the other server is named at the start.
            let words = "puma.rb: without a counterpart: plugin :solid_queue, fork_worker; `foolsgold explain puma.rb` \
                         says more";
            assert!(server.log().contains(words), "{}", server.log());
            // Rails 8 runs its jobs in Puma: without them, mails are not sent, and no request fails.
            let jobs = "puma.rb: plugin :solid_queue is not loaded, so no jobs run: start bin/jobs as a process";
            assert!(server.log().contains(jobs), "{}", server.log());
        }
    }
}

/// What docs/switching.md shows of `explain` is what it prints.
#[test]
fn the_page_about_switching_shows_what_explain_prints() {
    let page = include_str!("../docs/switching.md");
    let (_, shown) = page.split_once("$ foolsgold explain config/puma.rb\n").unwrap();
    let (shown, _) = shown.split_once("...\n```").unwrap();
    let puma = "threads_count = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\nthreads threads_count, threads_count\n\n\
                port ENV.fetch(\"PORT\", 3000)\n\n\nplugin :tmp_restart\n\n\
                before_worker_boot do\n  ActiveRecord::Base.establish_connection\nend\n";
    let folder = ruby::folder(&[("config.ru", APP), ("config/puma.rb", puma)]);
    let (output, _) = run(&folder, &[], &["explain", "config/puma.rb"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with(shown), "{printed}");
}
