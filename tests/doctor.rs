//! `foolsgold doctor`: what it says of applications that run embedded, of those that lack something, and of bad ones.

use std::fs;
use std::path::Path;

use crate::support::server;
use serde_json::{Value, json};

/// What it says on standard output, and its exit code.
fn doctor(folder: &Path, words: &[&str]) -> (String, Option<i32>) {
    let (output, _) = server::run(folder, &[], &[&["doctor"], words].concat());
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

/// What it says where it refuses its arguments or its folder.
#[track_caller]
fn refused(folder: &Path, words: &[&str]) -> String {
    server::exits_with(2, folder, &[], &[&["doctor"], words].concat())
}

/// What it says, as JSON, of an application with these gems.
fn report(folder: &Path, words: &[&str]) -> (Value, Option<i32>) {
    let gems = server::gems();
    let env = [("GEM_PATH", gems.to_str().unwrap())];
    let (output, _) = server::run(folder, &env, &[&["doctor", "--json"], words].concat());
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    (all[0].clone(), output.status.code())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn an_application_that_runs_is_compared_with_ruby() {
    let app = "run ->(env) { [200, { 'content-type' => 'text/plain' }, [env['PATH_INFO'], RUBY_ENGINE[0, 0]]] }";
    let folder = server::folder_with(&[("config.ru", app)]);
    let (text, code) = doctor(&folder, &["/", "/gold?x=1"]);
    assert_eq!(code, Some(0), "{text}");
    for path in ["GET /: 200, 1 byte; the same on ruby ", "GET /gold?x=1: 200, 5 bytes; the same on ruby "] {
        assert!(text.contains(path), "{text}");
    }
    assert!(text.contains("Recommended: --engine mruby. All that was tried works"), "{text}");
}

#[test]
fn all_that_is_missing_is_found_at_once_with_its_place() {
    let config = "require 'goldsmith'\nrequire_relative 'lib/app'\nrun App.new\n";
    let app = "begin\n  require 'touchstone'\nrescue LoadError\nend\nrequire 'assay'\n\
               class App < Goldsmith::Base\n  page :x do\n  end\n  def call(env)\n    \
               name = env['x'].undump\n    [200, {}, [name]]\n  end\nend\n";
    let folder = server::folder_with(&[("config.ru", config), ("lib/app.rb", app)]);
    let (text, code) = doctor(&folder, &[]);
    assert_eq!(code, Some(1), "{text}");
    for line in [
        "loads     no",
        "missing   the library \"goldsmith\", at config.ru:1",
        "missing   the library \"assay\", at lib/app.rb:5",
        "may lack  `undump` (of String in CRuby), at lib/app.rb:10",
    ] {
        assert!(lines(&text).contains(&line), "{line}\n{text}");
    }
    // The code itself goes on without it.
    assert!(!text.contains("touchstone"), "{text}");
    assert!(text.contains("Neither engine runs it as it is.") && text.contains("gem install goldsmith"), "{text}");
}

#[test]
fn what_only_ruby_has_makes_ruby_the_advice() {
    let folder = server::folder_with(&[("config.ru", "require 'ripper'\nrun ->(env) { [200, {}, [Ripper.name]] }\n")]);
    let (text, code) = doctor(&folder, &[]);
    assert!(lines(&text).contains(&"missing   the library \"ripper\", at config.ru:1"), "{text}");
    assert!(text.contains("Recommended: --engine ruby. The embedded") && code == Some(1), "{text}");
}

#[test]
fn real_sinatra_and_roda_applications_run_here() {
    let roda = "require 'roda'\nclass App < Roda\n  plugin :render\n  \
                route { |r| r.root { view(inline: 'hi', layout: false) } }\nend\nrun App.freeze.app\n";
    let sinatra = "require 'sinatra/base'\nclass App < Sinatra::Base\n  enable :sessions\n  \
                   set :session_secret, 'gold' * 16\n  get('/') { session[:seen] = true; erb 'hi' }\nend\nrun App\n";
    for (config, tried) in [(roda, None), (sinatra, Some("rackup"))] {
        let folder = server::folder_with(&[("config.ru", config)]);
        let (one, code) = report(&folder, &["/"]);
        assert_eq!((one["recommended"].as_str(), code), (Some("mruby"), Some(0)), "{one:#}");
        assert_eq!(one["missing"], json!([]), "{one:#}");
        assert_eq!(one["answers"][0]["status"], 200, "{one:#}");
        let without = one["did_without"].as_array().unwrap();
        assert!(tried.is_none_or(|name| without.contains(&json!(name))), "{one:#}");
    }
}

#[test]
fn another_answer_here_than_there_speaks_for_ruby() {
    let folder = server::folder_with(&[("config.ru", "run ->(env) { [200, {}, [RUBY_ENGINE]] }\n")]);
    let (text, code) = doctor(&folder, &[]);
    assert!(text.contains("another body there"), "{text}");
    assert!(text.contains("Recommended: --engine ruby. The embedded interpreter answers otherwise"), "{text}");
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(report(&folder, &[]).0["recommended"], "ruby");
}

#[test]
fn gems_in_vendor_are_gems_and_ruby_gets_them_too() {
    let config = "require 'tiny'\nrequire_relative 'lib/app'\nrun App\n";
    let folder = server::folder_with(&[
        ("config.ru", config),
        ("lib/app.rb", "App = ->(env) { [200, {}, [Tiny.hello]] }"),
        ("vendor/tiny-1.0.0/lib/tiny.rb", "require 'tiny/part'\nmodule Tiny; def self.hello = Part::WORD; end"),
        ("vendor/tiny-1.0.0/lib/tiny/part.rb", "module Tiny; module Part; WORD = 'hello'; end; end"),
    ]);
    let (text, code) = doctor(&folder, &[]);
    assert!(text.contains("config.ru and 1 of the application; gems: tiny-1.0.0"), "{text}");
    assert!(text.contains("GET /: 200, 5 bytes; the same on ruby ") && code == Some(0), "{text}");
}

#[test]
fn what_fails_on_both_is_to_be_mended_and_what_fails_only_there_is_not() {
    let broken = server::folder_with(&[("config.ru", "require_relative 'lib/a'\n"), ("lib/a.rb", "def x(\n")]);
    let (text, code) = doctor(&broken, &[]);
    assert!(text.contains("mend the application first") && text.contains("refuses the file too"), "{text}");
    assert_eq!(code, Some(1));
    assert_eq!(report(&broken, &[]).0["recommended"], "none");
    let config = "raise 'not on this Ruby' unless RUBY_ENGINE == 'mruby'\nrun ->(env) { [200, {}, ['x']] }\n";
    let here = server::folder_with(&[("config.ru", config)]);
    let (text, code) = doctor(&here, &[]);
    assert!(text.contains("does not load: ") && text.contains("not on this Ruby"), "{text}");
    assert!(text.contains("Recommended: --engine mruby. ") && code == Some(0), "{text}");
}

#[test]
fn syntax_that_only_ruby_has_is_told_from_mistakes() {
    // No other syntax that CRuby has is as sure to stay away from mruby.
    let config = "BEGIN { GOLD = 1 }\nrun ->(env) { [200, {}, [GOLD.inspect]] }\n";
    let folder = server::folder_with(&[("config.ru", config)]);
    let (text, code) = doctor(&folder, &[]);
    assert!(text.contains("`ruby -c` accepts the file: it has syntax") && code == Some(1), "{text}");
    assert!(text.contains("Recommended: --engine ruby."), "{text}");
}

#[test]
fn what_changes_with_each_answer_is_no_difference() {
    let app = "run ->(env) do\n  headers = { 'x-runtime' => rand.to_s, 'x-t' => rand.to_s, 'x-e' => RUBY_ENGINE }\n  \
               [200, headers, [\"#{rand}\\n#{RUBY_ENGINE}\\n\"]]\nend";
    let folder = server::folder_with(&[("config.ru", app)]);
    let (text, code) = doctor(&folder, &[]);
    let words = "otherwise: other headers there: x-e; another body there, at line 2 (not compared: x-runtime, x-t, ";
    assert!(text.contains(words) && code == Some(1), "{text}");
    let config = "run ->(env) { [200, { 'x-t' => rand.to_s }, [rand.to_s]] }";
    fs::write(folder.join("config.ru"), config).unwrap();
    let one = report(&folder, &[]).0;
    assert_eq!(one["answers"][0]["on_ruby"], "same", "{one:#}");
    assert_eq!(one["answers"][0]["changing"], json!(["x-t", "body"]), "{one:#}");
}

#[test]
fn differences_and_failures_are_told_for_people_and_for_programs() {
    let app = "run ->(env) do\n  raise 'no gold' if env['PATH_INFO'] == '/raise'\n  \
               [200, { 'x-engine' => RUBY_ENGINE }, ['x']]\nend";
    let folder = server::folder_with(&[("config.ru", app)]);
    let (text, code) = doctor(&folder, &["/"]);
    assert!(text.contains("otherwise: other headers there: x-engine") && code == Some(0), "{text}");
    let (text, code) = doctor(&folder, &["/raise", "--json"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    let one = &all[0];
    assert_eq!((code, one["recommended"].as_str(), one["loads"].as_bool()), (Some(1), Some("none"), Some(true)));
    let error = one["answers"][0]["error"].as_str().unwrap();
    assert!(error.contains("RuntimeError: no gold") && error.contains("config.ru:2"), "{error}");
    assert_eq!(one["answers"][0]["on_ruby"], "failed");
}

#[test]
fn files_that_cannot_be_read_as_ruby_or_never_end_are_told() {
    let broken = server::folder_with(&[("config.ru", "run ->(env) { [200, {}, [\n")]);
    let (text, code) = doctor(&broken, &[]);
    assert!(text.contains("SyntaxError") && code == Some(1), "{text}");
    let endless = server::folder_with(&[("config.ru", "loop { }\n")]);
    let (text, code) = doctor(&endless, &["--boot-time", "1"]);
    assert!(text.contains("not loaded within 1s") && code == Some(1), "{text}");
    let leaves = server::folder_with(&[("config.ru", "exit 3\n")]);
    let (text, code) = doctor(&leaves, &[]);
    assert!(text.contains("SystemExit") && code == Some(1), "{text}");
}

#[test]
fn settings_are_those_that_a_server_would_have() {
    let app = "run ->(env) { [200, {}, [ENV['RACK_ENV']]] }\n";
    let toml = "environment = \"from-the-file\"\nruby = \"no-such-ruby\"\n";
    let folder = server::folder_with(&[("config.ru", app), ("foolsgold.toml", toml)]);
    let (path, elsewhere) = (folder.to_str().unwrap(), server::folder());
    for (place, words) in [(&*folder, &["--json"][..]), (&*elsewhere, &["--json", "--dir", path][..])] {
        let (text, code) = doctor(place, words);
        let all: Value = serde_json::from_str(&text).unwrap();
        let one = &all[0];
        let seen = (one["answers"][0]["bytes"].as_u64(), one["on_ruby"].as_str(), code);
        assert_eq!(seen, (Some("from-the-file".len() as u64), Some("absent"), Some(0)), "{one:#}");
    }
    fs::write(folder.join("foolsgold.toml"), "boot-time = \"1s\"\n").unwrap();
    fs::write(folder.join("config.ru"), "loop { }\n").unwrap();
    let (text, code) = doctor(&folder, &[]);
    assert!(text.contains("not loaded within 1s") && code == Some(1), "{text}");
    for (words, right) in [
        (["-C", "no.toml"], "-C no.toml: there is no such file"),
        (["-C", "/no/such.toml"], "-C /no/such.toml: there is no such file"),
        (["--dir", "/no/folder"], "--dir /no/folder: No such file"),
    ] {
        let said = refused(&folder, &words);
        assert!(said.contains(right), "{said}");
    }
}

#[test]
fn each_application_of_the_settings_file_has_its_report() {
    let app = "run ->(env) { [200, {}, ['x']] }\n";
    let toml = "[[app]]\nname = \"shop\"\npath = \"shop\"\nprefix = \"/shop\"\n\
                [[app]]\nname = \"blog\"\npath = \"blog\"\n";
    let folder = server::folder_with(&[("shop/config.ru", app), ("blog/config.ru", app), ("foolsgold.toml", toml)]);
    let (text, code) = doctor(&folder, &["--json"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    let rackups: Vec<&str> = all.as_array().unwrap().iter().map(|one| one["rackup"].as_str().unwrap()).collect();
    let [shop, blog] = rackups[..] else { panic!("{text}") };
    assert!(shop.ends_with("shop/config.ru") && blog.ends_with("blog/config.ru") && code == Some(0), "{text}");
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let empty = server::folder();
    for (words, right) in [
        (&["native"][..], "foolsgold doctor [CONFIG.RU] [PATH...]"),
        (&["--jsn"], "--jsn"),
        (&[], "there is no config.ru in this folder"),
    ] {
        let said = refused(&empty, words);
        assert!(said.contains(right), "{said}");
    }
}

#[test]
fn a_second_word_that_is_no_path_is_answered_with_what_a_path_is() {
    let folder = server::folder_with(&[("config.ru", "run ->(env) { [200, {}, []] }")]);
    let said = refused(&folder, &[".", "nopath"]);
    assert!(said.contains("nopath: one application") && said.contains("begins with a slash"), "{said}");
}

#[test]
fn a_method_that_only_a_module_of_cruby_has_is_not_missed_in_other_objects() {
    let folder = server::folder_with(&[("config.ru", "run ->(env) { [200, {}, [env['user']&.groups.to_s]] }")]);
    let (text, _) = doctor(&folder, &["."]);
    assert!(!text.contains("may lack"), "{text}");
}
