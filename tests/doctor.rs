//! `foolsgold doctor`: what it says of applications that run embedded, of those that lack something, and of bad ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn doctor(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foolsgold"));
    command.arg("doctor").args(words).current_dir(folder).env_remove("BUNDLE_GEMFILE").output().unwrap()
}

fn said(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn an_application_that_runs_is_compared_with_ruby() {
    let app = "run ->(env) { [200, { 'content-type' => 'text/plain' }, [env['PATH_INFO'], RUBY_ENGINE[0, 0]]] }";
    let folder = folder(&[("config.ru", app)]);
    let (text, code) = said(&doctor(folder.path(), &["/", "/gold?x=1"]));
    assert_eq!(code, Some(0), "{text}");
    for path in ["GET /: 200, 1 bytes; the same on ruby ", "GET /gold?x=1: 200, 5 bytes; the same on ruby "] {
        assert!(text.contains(path), "{text}");
    }
    assert!(text.contains("Recommended: --engine mruby. All that was tried works"), "{text}");
}

#[test]
fn all_that_is_missing_is_found_at_once_with_its_place() {
    let config = "require 'nokogiri'\nrequire_relative 'lib/app'\nrun App.new\n";
    let app = "require 'pg'\nclass App < Nokogiri::Base\n  page :x do\n  end\n  def call(env)\n    \
               name = env['x'].unicode_normalize\n    [200, {}, [name]]\n  end\nend\n";
    let folder = folder(&[("config.ru", config), ("lib/app.rb", app)]);
    let (text, code) = said(&doctor(folder.path(), &[]));
    assert_eq!(code, Some(1), "{text}");
    for line in [
        "loads     no",
        "missing   the library \"nokogiri\", at config.ru:1",
        "missing   the library \"pg\", at lib/app.rb:1",
        "may lack  `unicode_normalize` (of String in CRuby), at lib/app.rb:6",
    ] {
        assert!(lines(&text).contains(&line), "{line}\n{text}");
    }
    assert!(text.contains("Recommended: --engine ruby."), "{text}");
}

#[test]
fn differences_and_failures_are_told_for_people_and_for_programs() {
    let app = "run ->(env) do\n  raise 'no gold' if env['PATH_INFO'] == '/raise'\n  \
               [200, { 'x-engine' => RUBY_ENGINE }, ['x']]\nend";
    let folder = folder(&[("config.ru", app)]);
    let (text, code) = said(&doctor(folder.path(), &["/"]));
    assert!(text.contains("otherwise: other headers there: x-engine") && code == Some(0), "{text}");
    let (text, code) = said(&doctor(folder.path(), &["/raise", "--json"]));
    let all: Value = serde_json::from_str(&text).unwrap();
    let one = &all[0];
    assert_eq!((code, one["recommended"].as_str(), one["loads"].as_bool()), (Some(1), Some("none"), Some(true)));
    let error = one["answers"][0]["error"].as_str().unwrap();
    assert!(error.contains("RuntimeError: no gold") && error.contains("config.ru:2"), "{error}");
    assert_eq!(one["answers"][0]["on_ruby"], "failed");
}

#[test]
fn files_that_cannot_be_read_as_ruby_or_never_end_are_told() {
    let broken = folder(&[("config.ru", "run ->(env) { [200, {}, [\n")]);
    let (text, code) = said(&doctor(broken.path(), &[]));
    assert!(text.contains("SyntaxError") && code == Some(1), "{text}");
    let endless = folder(&[("config.ru", "loop { }\n")]);
    let (text, code) = said(&doctor(endless.path(), &["--boot-time", "1"]));
    assert!(text.contains("not loaded within 1s") && code == Some(1), "{text}");
    let leaves = folder(&[("config.ru", "exit 3\n")]);
    let (text, code) = said(&doctor(leaves.path(), &[]));
    assert!(text.contains("SystemExit") && code == Some(1), "{text}");
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let empty = folder(&[]);
    let refused = |words: &[&str]| {
        let output = doctor(empty.path(), words);
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    };
    let (text, code) = refused(&[]);
    assert!(text.contains("there is no config.ru in this folder") && code == Some(1), "{text}");
    let (text, code) = refused(&["--jsn"]);
    assert!(text.contains("--jsn") && code == Some(2), "{text}");
    let (text, code) = refused(&["native"]);
    assert!(text.contains("foolsgold doctor [CONFIG.RU] [PATH...]") && code == Some(2), "{text}");
}
