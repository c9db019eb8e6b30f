//! Which engine runs an application, as somebody who starts it sees it; and what a start takes in its stride.

use std::fs;
use std::path::Path;

use crate::support::{MAX_WAIT, Server, app, ruby, server, within};

#[test]
fn an_application_that_needs_no_ruby_runs_embedded_and_the_log_says_why() {
    let server = Server::start(&app("require \"json\"", "JSON.generate([1])"), &["-t", "1"]);
    assert_eq!(server.text("/"), "[1]");
    assert!(server.log().contains("engine: mruby, because config.ru has no Gemfile"), "{}", server.log());
}

#[test]
fn where_there_is_a_doubt_ruby_is_taken_and_the_other_engine_named() {
    let lib = "require File.expand_path(%w[.. parts].join('/'), __FILE__)\nGOLD = PARTS.join\n";
    let config = app("$:.unshift File.expand_path('lib', __dir__)\nrequire 'gold'", "RUBY_ENGINE + GOLD");
    let folder = ruby::folder(&[("config.ru", &config), ("lib/gold.rb", lib), ("lib/parts.rb", "PARTS = [1, 2]\n")]);
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1"];
    let bin = ruby_on_path(&folder);
    let server = Server::spawn(folder, &[("PATH", &bin)], &options);
    assert_eq!(server.text("/"), "ruby12");
    let first = "engine: ruby, because lib/gold.rb requires what is not known before it runs (lib/gold.rb:1); --engine \
                 mruby is the other one";
    assert!(server.log().lines().next().unwrap().contains(first), "{}", server.log());
    let config = |path: &str, options: &[&str]| {
        let output = server::command().current_dir(&server.folder).env("PATH", path).args(options).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = config("/no/such/folder", &["config"]);
    assert!(said.contains("engine: mruby, because there is no Ruby (ruby), although lib/gold.rb"), "{said}");
    fs::write(server.folder.join("config.ru"), "run 1\n").unwrap();
    assert!(config(&bin, &["config"]).contains("engine: mruby, because config.ru has no Gemfile"));
    fs::create_dir(server.folder.join("config")).unwrap();
    fs::write(server.folder.join("config/puma.rb"), "threads 1\n").unwrap();
    fs::write(server.folder.join("thin.yml"), "").unwrap();
    assert!(config(&bin, &["config"]).contains("engine: ruby, because there is a config/puma.rb"));
    fs::remove_file(server.folder.join("thin.yml")).unwrap();
    // The sign holds beside a file of this program, too, and for each application that it names.
    for text in ["threads = 2\n", "path = \"config.ru\"\n", "[[app]]\nname = \"a\"\n"] {
        fs::write(server.folder.join("foolsgold.toml"), text).unwrap();
        let said = config(&bin, &["config"]);
        assert!(said.contains("engine: ruby, because there is a config/puma.rb"), "{text}: {said}");
        fs::rename(server.folder.join("foolsgold.toml"), server.folder.join("own.toml")).unwrap();
        let said = config(&bin, &["config", "-C", "own.toml"]);
        assert!(said.contains("engine: ruby, because there is a config/puma.rb"), "{text}: {said}");
    }
    assert!(config(&bin, &["config", "-C", "-"]).contains("engine: ruby, because there is a config/puma.rb"));
    for words in [&["config", "-C", "config/puma.rb"][..], &["config"]] {
        let said = config(&bin, words);
        assert!(said.contains("engine: ruby, because config/puma.rb is a configuration of Puma"), "{said}");
    }
    fs::remove_file(server.folder.join("config/puma.rb")).unwrap();
    fs::write(server.folder.join("config/application.rb"), "").unwrap();
    let said = config(&bin, &["config", "--no-config"]);
    assert!(said.contains("engine: ruby, because there is a config/application.rb"), "{said}");
}

/// A folder for PATH in which there is a Ruby: to name one by an option would be to ask for its engine.
fn ruby_on_path(folder: &Path) -> String {
    ruby_with(folder, "")
}

/// The same, where that Ruby is run with these options.
fn ruby_with(folder: &Path, options: &str) -> String {
    let (bin, path) = (folder.join("bin"), std::env::var("PATH").unwrap());
    fs::create_dir_all(&bin).unwrap();
    let text = format!("#!/bin/sh\nPATH='{path}' exec {} {options} \"$@\"\n", ruby::program());
    server::script(bin.join("ruby"), &text);
    bin.display().to_string()
}

/// Serves this application, and leaves the choice to the program.
fn serve(text: &str) -> Server {
    let folder = ruby::folder(&[("config.ru", text)]);
    let bin = ruby_on_path(&folder);
    Server::spawn(folder, &[("PATH", &bin)], &["-b", "tcp://127.0.0.1:0", "-t", "1"])
}

#[test]
fn a_named_engine_is_taken_whatever_is_beside_the_application() {
    let files = [("config.ru", &*app("", "\"gold\"")), ("Gemfile", "")];
    let server = Server::files(&files, &["-t", "1", "--engine", "mruby"]);
    assert_eq!(server.text("/"), "gold");
    assert!(server.log().contains("engine: mruby, as asked for"), "{}", server.log());
}

#[test]
fn habits_of_other_servers_are_taken_with_a_word() {
    // Workers are for Ruby, and there is none.
    let options = ["-w", "2", "-t", "0:2", "--preload", "--tag", "shop", "--ruby", "/no/such/ruby"];
    let server = Server::start(&app("", "\"gold\""), &options);
    assert_eq!(server.text("/"), "gold");
    for word in ["-w 2: the embedded engine has threads", "all 2 threads are started"] {
        assert!(server.log().contains(word), "{word:?} is not in: {}", server.log());
    }
    assert!(!server.log().contains("WARN server: --preload"), "{}", server.log());
}

#[test]
fn several_workers_of_the_embedded_engine_are_refused() {
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let (code, said) = server::stderr_of(&folder, &[], &["--engine", "mruby", "-w", "2"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("say --threads N for N interpreters"), "{said}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_program() {
    let config = format!("\u{feff}{}", app("require_relative \"part\"", "Part"));
    let server = Server::files(&[("config.ru", &config), ("part.rb", "\u{feff}Part = 7\n")], &["-t", "1"]);
    assert_eq!(server.text("/"), "7");
}

/// What config.ru may do while it is loaded, and with which engine it then serves. The choice is left to the program.
#[test]
fn what_the_embedded_engine_does_not_load_ruby_does() {
    let answer = "run ->(env) { [200, {}, [RUBY_ENGINE, $said.to_s]] }\n";
    for (first, engine, said) in [
        // What cannot be seen in its files is found out by loading it.
        ("sleep 0.01\n", "ruby", "embedded one did not"),
        ("BEGIN { $said = 5 }\n", "ruby", "embedded one did not"),
        ("case { a: 1 }\nin { a: Integer => x } then $said = x\nend\n", "ruby", "embedded one did not"),
        // What can be seen is.
        ("T = Thread.new { 5 }\n$said = T.value\n", "ruby", "because config.ru uses Thread.new (config.ru:1)"),
        ("pid = fork { exit! 0 }\nProcess.wait(pid)\n", "ruby", "because config.ru uses fork (config.ru:1)"),
        ("X = ->() { `true` }\n", "ruby", "because config.ru uses a command in backticks (config.ru:1)"),
        ("X = ->(env) { Rack::Request.new(env) }\n", "ruby", "because config.ru uses Rack::Request (config.ru:1)"),
        // And what is nothing of the kind is none.
        ("\u{feff}#\\ -p 8080\r\n# -*- ruby -*-\r\nat_exit { }\r\n$said = <<A\r\nfork {}\r\nA\r\n", "mruby", "because"),
    ] {
        let server = serve(&format!("{first}{answer}"));
        assert!(server.text("/").starts_with(engine), "{first:?}: {}", server.log());
        assert!(server.log().contains(said), "{first:?}: {}", server.log());
    }
}

#[test]
fn a_mere_sign_does_not_keep_an_application_from_starting_where_ruby_has_no_rack() {
    let bare = std::process::Command::new(ruby::program()).args(["--disable-gems", "-e", "require 'rack'"]).output();
    if bare.unwrap().status.success() {
        eprintln!("skipped: this Ruby has Rack even without gems");
        return;
    }
    let sign = "X = ->() { `true` }\nrun ->(env) { [200, {}, [RUBY_ENGINE]] }\n";
    let begin = |first: &str, files: &[(&str, &str)]| {
        let config = format!("{first}{sign}");
        let folder = ruby::folder(&[files, &[("config.ru", &*config)]].concat());
        let bin = ruby_with(&folder, "--disable-gems");
        (folder, bin)
    };
    let (folder, bin) = begin("", &[]);
    let server = Server::spawn(folder, &[("PATH", &bin)], &["-b", "tcp://127.0.0.1:0", "-t", "1"]);
    assert_eq!(server.text("/"), "mruby");
    let log = server.log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN server: engine")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    for word in [
        "although config.ru uses a command in backticks (config.ru:1): ",
        " has no Rack: gem install rack; ",
        "--engine ruby refuses",
    ] {
        assert!(warnings[0].contains(word), "{word:?} is not in: {log}");
    }
    // After a reload it is the same.
    server.signal(rustix::process::Signal::USR1);
    assert!(within(MAX_WAIT, || server.log().matches("WARN server: engine").count() == 2), "{}", server.log());
    assert_eq!(server.text("/"), "mruby");
    // An application that already runs on Ruby stays there.
    let server = serve(sign);
    ruby_with(&server.folder, "--disable-gems");
    server.reload("generation 2 failed, generation 1 goes on: ");
    assert_eq!(server.text("/"), "ruby");
    // The start is refused where the source proves that it needs Ruby, or a file or an option asks for it.
    for (first, files, options) in [
        ("require 'sinatra'\n", &[][..], &[][..]),
        ("", &[("Gemfile", "")][..], &[][..]),
        ("", &[("config/application.rb", "")][..], &[][..]),
        ("", &[][..], &["-w", "2"][..]),
    ] {
        let (folder, bin) = begin(first, files);
        let options = [options, &["-b", "tcp://127.0.0.1:0"]].concat();
        let (code, text) = server::stderr_of(&folder, &[("PATH", &bin)], &options);
        assert_ne!(code, Some(0), "{first:?} {files:?} {options:?}: {text}");
    }
}

#[test]
fn what_neither_engine_loads_is_told_in_the_words_of_both() {
    for (config, words) in [
        // Each has a reason of its own,
        ("raise RUBY_ENGINE\nrun 1\n", &["RuntimeError: mruby", "Nor does Ruby load it: ", "RuntimeError: ruby"][..]),
        // or both have the same, which is told once.
        ("ENV.fetch('NO_SUCH_VARIABLE')\nrun 1\n", &["key not found: \"NO_SUCH_VARIABLE\""]),
    ] {
        let folder = ruby::folder(&[("config.ru", config)]);
        let bin = ruby_on_path(&folder);
        let (code, text) = server::stderr_of(&folder, &[("PATH", &bin)], &["-b", "tcp://127.0.0.1:0"]);
        assert_ne!(code, Some(0), "{text}");
        for word in words {
            assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
        }
        assert_eq!(text.contains("Nor does"), words.len() > 1, "{text}");
    }
}

#[test]
fn new_code_that_only_ruby_loads_is_served_by_it_after_a_reload() {
    let text = |first: &str| format!("{first}run ->(env) {{ [200, {{}}, [RUBY_ENGINE]] }}\n");
    let server = serve(&text(""));
    assert_eq!(server.text("/"), "mruby", "{}", server.log());
    fs::write(server.folder.join("config.ru"), text("sleep 0.01\n")).unwrap();
    server.signal(rustix::process::Signal::USR1);
    assert!(within(MAX_WAIT, || server.text("/") == "ruby"), "{}", server.log());
}
