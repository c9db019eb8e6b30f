//! What hooks and plugins of other servers' files lean on: what their own servers do when a hook fails, in which mode
//! it runs, and which names a file may use.

use std::fs;
use std::path::Path;

use crate::support;
use crate::support::{Server, ruby, server};

const APP: &str = "run ->(env) { [200, {}, [\"#{Process.ppid}\"]] }\n";
/// Writes a line that the test waits for.
const NOTE: &str = "def note(text) = File.write(\"notes\", \"#{text}\\n\", mode: \"a\")\n";

/// Serves with this file.
fn serve(name: &str, text: &str) -> Server {
    let (program, text) = (ruby::program(), format!("{NOTE}{text}"));
    let options = ["--ruby", &program, "-C", name];
    Server::spawn(ruby::folder(&[("config.ru", APP), (name, &text)]), &[], &options)
}

/// What a command says, on both streams.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let mut command = server::command();
    command.current_dir(folder).env("FOOLS_GOLD_RUBY", ruby::program()).args(arguments);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_hook_of_puma_that_fails_costs_a_line_and_not_the_worker() {
    let file = "workers 1\nbind 'tcp://127.0.0.1:0'\nbefore_fork { raise 'no database' }\n\
                before_worker_boot { ActiveRecord::Base.establish_connection }\nbefore_worker_boot { note 'booted' }\n\
                before_thread_start { raise 'no thread' }\n";
    let server = serve("puma.rb", file);
    assert_eq!(server.get("/").status, 200);
    ruby::wait_for_note(&server, "booted");
    assert!(
        server.logs("the hook before_worker_boot failed; as in Puma, that is all: uninitialized constant ActiveRecord")
    );
    assert!(server.logs("the hook before_fork failed; as in Puma, that is all: no database"), "{}", server.log());
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

#[test]
fn directives_of_a_plugin_are_no_mistakes() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let explain = |text: &str| {
        fs::write(folder.join("puma.rb"), text).unwrap();
        said(&folder, &["explain", "puma.rb"])
    };
    let told = explain("plugin :solid_queue\nsolid_queue_mode :async\n");
    assert!(told.contains("puma.rb:2: solid_queue_mode :async\n#       a directive of a plugin"), "{told}");
    let told = explain("plugin 'prometheus'\nexporter_uri 'tcp://0.0.0.0:9394'\n");
    assert!(told.contains("puma.rb:2: exporter_uri") && !told.contains("does not start"), "{told}");
    // A slip of the pen is one all the same, and so is a word that nobody can have brought.
    for text in ["plugin 'prometheus'\nwrokers 3\n", "plugin :tmp_restart\nexporter_uri 'x'\n"] {
        let told = explain(text);
        assert!(told.contains("does not start with these") && told.contains("Puma has no such directive"), "{told}");
    }
    fs::remove_dir_all(folder).unwrap();
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
    assert!(server.logs("mine: worker here"), "{}", server.log());
    assert!(server.logs("server.listen 127.0.0.1:1 in a hook: workers listen on no address"), "{}", server.log());
    let told = said(&server.folder, &["explain", "unicorn.rb"]);
    assert!(told.contains("line 6: HttpRequest::DEFAULTS \"rack.url_scheme\", \"https\""), "{told}");
}

#[test]
fn a_hook_of_unicorn_that_fails_costs_the_worker() {
    let folder = ruby::folder(&[("config.ru", APP), ("unicorn.rb", "after_fork { |_, _| raise 'no database' }\n")]);
    let told = said(&folder, &["-C", "unicorn.rb", "-b", "tcp://127.0.0.1:0"]);
    assert!(told.contains("cannot start") && told.contains("no database"), "{told}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_folder_of_unicorns_file_is_gone_to_at_once() {
    let folder = ruby::folder(&[("app/config.ru", APP), ("app/workers", "2"), ("unicorn.rb", "")]);
    let file = format!(
        "working_directory '{}'\nworker_processes File.read('workers').to_i\nlisten '127.0.0.1:0'\n",
        folder.join("app").display()
    );
    fs::write(folder.join("unicorn.rb"), file).unwrap();
    let program = ruby::program();
    let server = Server::spawn(folder, &[], &["--ruby", &program, "-C", "unicorn.rb"]);
    assert_eq!(server.get("/").status, 200);
    assert!(support::within(support::PATIENCE, || ruby::workers(&server).len() == 2), "{}", server.log());
}

#[test]
fn what_is_not_there_is_named_as_ruby_names_it() {
    let folder = ruby::folder(&[("config.ru", APP), ("puma.rb", "threads 1\nworkers Nowhere::N\n")]);
    let told = said(&folder, &["explain", "puma.rb"]);
    assert!(told.contains("puma.rb:2: NameError: uninitialized constant Nowhere\n"), "{told}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn folders_of_thins_files_are_made_as_thin_makes_them() {
    let yml = "address: 127.0.0.1\nport: 0\nlog: a/b/thin.log\npid: a/c/thin.pid\ndaemonize: true\nsocket: web.sock\n";
    let folder = ruby::folder(&[("config.ru", APP), ("thin.yml", yml)]);
    support::successor::adopt_orphans();
    let told = said(&folder, &["-C", "thin.yml"]);
    let process = support::successor::Process::named_in(&folder.join("a/c/thin.pid"), 0);
    assert_eq!(support::Client::unix(&folder.join("web.sock")).get("/").status, 200, "{told}");
    assert!(folder.join("a/b/thin.log").is_file());
    process.signal(rustix::process::Signal::TERM);
    assert!(process.ended());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn pumas_lowlevel_error_handler_answers_when_the_application_raises() {
    let app = "answers = { '/' => [200, {}, ['fine']], '/nil' => nil }\n\
               run ->(env) { answers.fetch(env['PATH_INFO']) { raise 'broken on purpose' } }\n";
    let serve = |handler: &str| {
        let file = format!("bind 'tcp://127.0.0.1:0'\n{handler}\n");
        let folder = ruby::folder(&[("config.ru", app), ("puma.rb", &file)]);
        let program = ruby::program();
        Server::spawn(folder, &[], &["--ruby", &program, "-C", "puma.rb"])
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
        assert_eq!(server.get("/nil").status, 503, "{handler}: {}", server.log());
        assert!(server.logs("GET /x failed, and was answered by the lowlevel_error_handler: broken on purpose"));
    }
    // One that is broken itself, or that answers what is no answer.
    for handler in ["lowlevel_error_handler { |e| raise 'again' }", "lowlevel_error_handler { |e| nil }"] {
        let server = serve(handler);
        assert_eq!((server.get("/x").status, server.text("/")), (500, "fine".to_owned()), "{}", server.log());
        assert!(server.logs("the lowlevel_error_handler failed for request"), "{}", server.log());
    }
}
