//! The start of the Ruby engine, as somebody sees it who starts an application: when it is chosen, with which Ruby and
//! which gems, and what is said when it cannot be.

use std::time::{Duration, Instant};

use crate::support::{Server, ruby, server};

const PLAIN: &str = "run ->(_) { [200, { \"content-type\" => \"text/plain\" }, [\"#{RUBY_ENGINE} #{$0}\"]] }\n";
const SINATRA: &str = "require \"sinatra/base\"\nclass App < Sinatra::Base\n  get(\"/\") { \"sinatra\" }\n  \
                       get(\"/sum/:n\") { (1..params[:n].to_i).sum.to_s }\nend\nrun App\n";

/// Serves without a word on the engine, so that it is chosen.
fn chosen(files: &[(&str, &str)]) -> Server {
    let options = ["-b", "tcp://127.0.0.1:0", "--ruby", &ruby::program(), "-w", "1", "-t", "2"];
    Server::spawn(ruby::folder(files), &[], &options)
}

/// Starts what must not start: its error output. It must end by itself, with 1, and soon.
#[track_caller]
fn refused(files: &[(&str, &str)], options: &[&str]) -> String {
    let folder = ruby::folder(files);
    let began = Instant::now();
    let (code, said) = ruby::run(&folder, options);
    let took = began.elapsed();
    assert_eq!(code, Some(1), "{said}");
    assert!(took < Duration::from_secs(30), "it took {took:?} to say {said}");
    assert!(!said.contains("mold.rb"), "FoolsGold's own files are no help to anybody: {said}");
    said
}

/// The same on the Ruby of these tests.
#[track_caller]
fn refused_by_ruby(files: &[(&str, &str)], options: &[&str]) -> String {
    refused(files, &[&["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1"], options].concat())
}

#[test]
fn an_application_that_requires_what_mruby_lacks_gets_ruby_and_a_line_says_so() {
    let server = chosen(&[("config.ru", SINATRA)]);
    assert_eq!(server.text("/"), "sinatra");
    assert_eq!(server.text("/sum/100"), "5050");
    let line = "engine: ruby, because config.ru requires \"sinatra/base\" (config.ru:1)";
    assert!(server.log().contains(line), "{}", server.log());
}

#[test]
fn a_gemfile_beside_config_ru_means_ruby_with_bundler() {
    let gemfile = "gem \"rack\"\n";
    let app =
        "run ->(_) { [200, {}, [Bundler.definition.dependencies.map(&:name).inspect + ENV[\"BUNDLE_GEMFILE\"]]] }";
    let server = chosen(&[("config.ru", app), ("Gemfile", gemfile)]);
    let text = server.text("/");
    assert!(text.starts_with("[\"rack\"]") && text.ends_with("/Gemfile"), "{text}");
    let line = "engine: ruby, because Gemfile is beside config.ru";
    assert!(server.log().contains(line), "{}", server.log());
}

/// As with Bundler, which looks in the working directory and above.
#[test]
fn so_does_one_above_it_in_the_working_directory() {
    let app = "require \"bundler\"\nrun ->(_) { [200, {}, [ENV[\"BUNDLE_GEMFILE\"].to_s + \" \" + Dir.pwd]] }";
    let files =
        [("web/app/config.ru", app), ("Gemfile", "gem \"rack\"\n"), ("config/puma.rb", "rackup 'web/app/config.ru'\n")];
    for more in [&["web/app"][..], &["web/app/config.ru", "-C", "-"], &[]] {
        let server = Server::files(&files, more);
        let folder = server.folder.canonicalize().unwrap();
        assert_eq!(server.text("/"), format!("{0}/Gemfile {0}", folder.display()), "{more:?}: {}", server.log());
        let line = "engine: ruby, because Gemfile is above config.ru, in ";
        assert!(server.log().contains(line), "{}", server.log());
    }
    // The application is not below the working directory.
    let files = [files[0], files[1], ("elsewhere/x", "")];
    let server = Server::files(&files, &["-c", "elsewhere", "--engine", "ruby", "../web/app"]);
    assert!(server.text("/").starts_with(' '), "{}", server.log());
}

#[test]
fn a_gem_that_is_not_installed_is_named() {
    let files = [("config.ru", PLAIN), ("Gemfile", "gem \"rack\"\ngem \"fools-gold-no-such-gem\"\n")];
    let said = refused_by_ruby(&files, &[]);
    assert!(said.contains("fools-gold-no-such-gem") && said.contains("Bundler"), "{said}");
    let files = [("config.ru", PLAIN), ("Gemfile", "gem \"rack\nend")];
    let said = refused_by_ruby(&files, &[]);
    assert!(said.contains("Gemfile"), "{said}");
    let said = refused_by_ruby(&[("config.ru", PLAIN), ("Gemfile", "")], &[]);
    assert!(said.contains("has no Rack") && said.contains("gem \"rack\""), "{said}");
}

#[test]
fn a_ruby_that_is_none_is_refused() {
    let files = [("config.ru", PLAIN)];
    let said = refused(&files, &["--engine", "ruby", "--ruby", "no-such-ruby"]);
    assert!(said.contains("no-such-ruby") && said.contains("--ruby"), "{said}");
    let said = refused(&files, &["--engine", "ruby", "--ruby", "/bin/false"]);
    assert!(said.contains("/bin/false") || said.contains("status 1"), "{said}");
    let said = refused(&files, &["--engine", "ruby", "--ruby", "/bin/true"]);
    assert!(said.contains("/bin/true") || said.contains("status 0"), "{said}");
    let said = refused(&files, &["--engine", "ruby", "--ruby", "/etc/passwd"]);
    assert!(said.contains("/etc/passwd"), "{said}");
}

#[test]
fn a_wrapper_around_ruby_is_a_ruby() {
    let folder = ruby::folder(&[("config.ru", PLAIN)]);
    let shim = server::script(folder.join("shim"), &format!("#!/bin/sh\nexec {} \"$@\"\n", ruby::program()));
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &shim, "-w", "1", "-t", "1"];
    let server = Server::spawn(folder, &[], &options);
    assert!(server.text("/").contains("ruby"));
}

/// An application that cannot be loaded, and what must be said of it.
const BROKEN: &[(&str, &[&str])] = &[
    ("\nraise ArgumentError, \"on purpose\"\n", &["ArgumentError", "on purpose", "config.ru:2"]),
    ("require \"json\"\nrequire \"no/such/library\"\n", &["LoadError", "no/such/library", "config.ru:2"]),
    ("run ->(_) {\n", &["SyntaxError", "config.ru:"]),
    ("undefined_thing\n", &["NameError", "undefined_thing", "config.ru:1"]),
    ("require_relative \"inner\"\n", &["KeyError", "inner.rb:1"]),
    ("exit 3\n", &["SystemExit", "config.ru:1"]),
    ("use Rack::Head\n", &["run"]),
];

#[test]
fn an_application_that_cannot_be_loaded_says_where_and_why() {
    for (app, words) in BROKEN {
        let said = refused_by_ruby(&[("config.ru", app), ("inner.rb", "{}.fetch(:gold)\n")], &[]);
        for word in *words {
            assert!(said.contains(word), "{word:?} is not in what was said of {app:?}: {said}");
        }
    }
    let said = refused_by_ruby(&[("config.ru", "exit!(7)\n")], &[]);
    assert!(said.contains("status 7"), "{said}");
    let said = refused_by_ruby(&[("config.ru", "Process.kill(:KILL, $$); sleep\n")], &[]);
    assert!(said.contains("SIGKILL"), "{said}");
    let said = refused_by_ruby(&[("config.ru", "sleep\n")], &["--boot-time", "1s"]);
    assert!(said.contains("1s") && said.contains("--boot-time"), "{said}");
}

#[test]
fn a_worker_that_cannot_boot_at_the_start_ends_it() {
    let hooks = "on_worker_boot { raise \"no database\" }\n";
    let said = refused_by_ruby(&[("config.ru", PLAIN), ("config/foolsgold.rb", hooks)], &[]);
    assert!(said.contains("no database") && said.contains("foolsgold.rb:1"), "{said}");
    let said = refused_by_ruby(&[("config.ru", PLAIN), ("config/foolsgold.rb", "on_fire { }\n")], &[]);
    assert!(said.contains("on_fire") && said.contains("on_worker_boot"), "it names the hooks there are: {said}");
    let said = refused_by_ruby(&[("config.ru", PLAIN)], &["--hooks", "no.rb"]);
    assert!(said.contains("no.rb"), "{said}");
}
