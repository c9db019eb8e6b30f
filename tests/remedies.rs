//! Starts that fail say what helps.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::server::stderr_of as said;
use crate::support::{app, ruby, server};

const NOBODY: u32 = 65_534;
const APP: &str = "run lambda { |env| [200, {}, []] }";
const GEMFILE: &str = "source 'https://rubygems.org'\ngem 'no-such-gem-anywhere'\n";

#[track_caller]
fn assert_says((code, text): &(Option<i32>, String), expected: i32, words: &[&str]) {
    assert_eq!(*code, Some(expected), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
}

#[test]
fn without_a_ruby_the_command_that_installs_one_is_named() {
    let folder = ruby::folder(&[("config.ru", APP), ("empty/file", "")]);
    let empty = folder.join("empty").display().to_string();
    let none = said(&folder, &[("PATH", &empty)], &["-b", "tcp://127.0.0.1:0", "--engine", "ruby"]);
    assert_says(&none, 1, &["there is no ruby on PATH", "apt install ruby", "--ruby"]);
    assert!(!none.1.contains("os error"), "{}", none.1);
    let named = ruby::run(&folder, &["--engine", "ruby", "--ruby", "./no-ruby"]);
    assert_says(&named, 1, &["the Ruby ./no-ruby cannot be started", "name another with --ruby"]);
}

#[test]
fn a_program_that_is_no_ruby_is_called_so() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let ls = ruby::run(&folder, &["--engine", "ruby", "--ruby-worker", "plain", "--ruby", "/bin/ls"]);
    assert_says(&ls, 1, &["is /bin/ls a Ruby?", "--ruby names another", "exited with status 0"]);
}

/// The server knows its Ruby by the process that it has started, and refuses the connection of another one.
#[test]
fn a_script_that_does_not_become_ruby_is_told_to() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    server::script(folder.join("our-ruby"), &format!("#!/bin/sh\n{} \"$@\"\nexit $?\n", ruby::program()));
    let output = ruby::run(&folder, &["--engine", "ruby", "--ruby-worker", "plain", "--ruby", "./our-ruby"]);
    assert_says(&output, 1, &["is ./our-ruby a Ruby?", "start Ruby by exec"]);
}

#[test]
fn missing_gems_are_got_by_bundle_install() {
    let folder = ruby::folder(&[("config.ru", APP), ("Gemfile", GEMFILE)]);
    let (program, at) = (ruby::program(), folder.display().to_string());
    let output = ruby::run(&folder, &["--engine", "ruby", "--ruby", &program]);
    assert_says(&output, 1, &["no-such-gem-anywhere", &format!("`bundle install` in {at}")]);
    assert!(!output.1.contains(".: "), "one sentence, without Bundler's full stop in it: {}", output.1);
}

/// With `bundle exec`, or with the gem and Rails, each Ruby loads Bundler before the server's code.
#[test]
fn so_are_those_that_bundler_misses_before_the_server_s_code_runs() {
    let folder = ruby::folder(&[("config.ru", APP), ("Gemfile", GEMFILE), ("config/puma.rb", "workers 2\n")]);
    let (program, at) = (ruby::program(), folder.display().to_string());
    let path = format!("{at}/Gemfile");
    let env = [("RUBYOPT", "-rbundler/setup"), ("BUNDLE_GEMFILE", &*path)];
    let remedy = format!("`bundle install` in {at}");
    // The Ruby of the workers, and the one that reads another server's file.
    for (config, code) in [("-", 1), ("config/puma.rb", 2)] {
        let options = ["-b", "tcp://127.0.0.1:0", "--ruby", &program, "--ruby-worker", "plain", "-C", config];
        let said = said(&folder, &env, &options);
        assert_says(&said, code, &["no-such-gem-anywhere", "because of Bundler", &remedy]);
        assert!(!said.1.contains("a Ruby?"), "{}", said.1);
    }
}

#[test]
fn a_missing_library_is_told_with_how_gems_are_got() {
    let folder = ruby::folder(&[("config.ru", "require 'no-such-gem/base'\nrun lambda { |env| [200, {}, []] }")]);
    let options = ["--engine", "ruby", "--ruby", &ruby::program()];
    assert_says(&ruby::run(&folder, &options), 1, &["cannot load such file", "`gem install no-such-gem`"]);
    fs::write(folder.join("config.ru"), "require '/no/such/file'").unwrap();
    assert!(!ruby::run(&folder, &options).1.contains("gem install"));
}

#[test]
fn a_port_below_1024_is_refused_with_what_helps() {
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let program = server::command();
    let start = |options: &[&str]| {
        let mut command = Command::new(program.get_program());
        command.current_dir(&folder).args(options).uid(NOBODY).gid(NOBODY).output()
    };
    let can_be_nobody = start(&["--version"]).is_ok_and(|ran| ran.status.success());
    if first.trim().parse::<u16>().unwrap_or(0) <= 81 || !can_be_nobody {
        eprintln!("skipped: every user may have port 81 here, or nobody cannot start the program");
        return;
    }
    let ran = start(&["-b", "tcp://127.0.0.1:81", "-t", "1"]).unwrap();
    let output = (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned());
    assert_says(&output, 1, &["Permission denied", "ip_unprivileged_port_start=81", "--bind-to-activated-sockets"]);
}

#[test]
fn a_check_tells_all_mistakes_at_once_of_whatever_kind() {
    let folder = ruby::folder(&[("config.ru", APP)]);
    let engine = ["config", "--check", "--threads", "many", "--engine", "ruby", "--ruby", "no-ruby"];
    let files = ["--hooks", "no-hooks.rb", "--log-file", "no-folder/log", "--pidfile", "no-place/pid"];
    let options = [&engine[..], &files, &["--user", "no-such-user"]].concat();
    let all = said(&folder, &[], &options);
    let words =
        ["--threads many", "no no-ruby on PATH", "no-hooks.rb", "no-folder/log", "no-place/pid", "no-such-user"];
    assert_says(&all, 2, &words);
    // Without an application, too.
    fs::remove_file(folder.join("config.ru")).unwrap();
    let all = said(&folder, &[], &options);
    assert_says(&all, 2, &words);
    assert_says(&all, 2, &["config.ru"]);
}
