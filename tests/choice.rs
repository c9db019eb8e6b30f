//! Which engine runs an application, as somebody who starts it sees it; and what a start takes in its stride.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod support;

use support::{Server, app, server};

#[test]
fn an_application_that_needs_no_ruby_runs_embedded_and_the_log_says_why() {
    let server = Server::start(&app("require \"json\"", "JSON.generate([1])"), &["-t", "1"]);
    assert_eq!(server.text("/"), "[1]");
    assert!(server.log().contains("engine: mruby, because config.ru has no Gemfile"), "{}", server.log());
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
    let options = ["-w", "2", "-t", "0:2", "--preload", "--tag", "shop"];
    let server = Server::start(&app("", "\"gold\""), &options);
    assert_eq!(server.text("/"), "gold");
    for word in ["-w 2: the embedded engine has threads", "all 2 threads are started"] {
        assert!(server.log().contains(word), "{word:?} is not in: {}", server.log());
    }
    assert!(!server.log().contains("WARN server: --preload"), "{}", server.log());
}

#[test]
fn several_workers_of_the_embedded_engine_are_refused() {
    let folder = server::folder();
    std::fs::write(folder.join("config.ru"), app("", "1")).unwrap();
    let output = server::command().current_dir(&folder).args(["--engine", "mruby", "-w", "2"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("say -t N for N interpreters"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_program() {
    let config = format!("\u{feff}{}", app("require_relative \"part\"", "Part"));
    let server = Server::files(&[("config.ru", &config), ("part.rb", "\u{feff}Part = 7\n")], &["-t", "1"]);
    assert_eq!(server.text("/"), "7");
}
