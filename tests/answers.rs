//! Every kind of answer an application can give, by one list of rows (tests/answers), on each engine and each worker:
//! what the client gets, and how often the body was asked. `bin/answers` asks other servers for the same.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Server, ruby, server};

/// Of more than 300 rows, those that need no Rack and no CRuby.
const ROWS_MIN: usize = 270;

/// The application in a folder of its own, with a pipe in it that nobody writes to.
fn folder() -> Folder {
    let folder = server::folder();
    for entry in fs::read_dir(server::repository().join("tests/answers")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let made = Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap();
    assert!(made.success());
    folder
}

fn serve(env: &[(&str, &str)], options: &[&str]) -> Server {
    let own = ["-b", "tcp://127.0.0.1:0", "--access-log", "off", "-t", "1"];
    Server::spawn(folder(), env, &[&own[..], options].concat())
}

/// Every row is as the tables say, and there are as many as there should be.
#[track_caller]
fn check(server: &Server, least: usize) {
    let url = format!("http://127.0.0.1:{}", server.port);
    let script = server.folder.join("check.rb");
    let output = Command::new("ruby").arg(script).arg(url).env("PATIENCE", "30").output().unwrap();
    let said = server::said(&output);
    assert!(output.status.success(), "{said}\n{}", server.log());
    let asked = said.rsplit('\n').find_map(|line| line.split_once(" asked")?.0.parse::<usize>().ok());
    assert!(asked.is_some_and(|asked| asked >= least), "{said}");
}

#[test]
fn the_plain_worker_answers_as_the_tables_say() {
    check(&serve(&[], &["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1", "--ruby-worker", "plain"]), 320);
}

#[test]
fn the_native_worker_answers_as_the_tables_say() {
    let (_, cache) = ruby::native();
    let options = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1", "--ruby-worker", "native"];
    check(&serve(&[("XDG_CACHE_HOME", &cache)], &options), 320);
}

#[test]
fn the_embedded_interpreter_answers_as_the_tables_say() {
    check(&serve(&[], &["--engine", "mruby"]), ROWS_MIN);
}

/// With the files of Rack 3 in the place of what is built in.
#[test]
fn the_embedded_interpreter_with_rack_answers_as_the_tables_say() {
    check(&serve(&[("GEM_PATH", server::gems().to_str().unwrap())], &["--engine", "mruby"]), ROWS_MIN + 30);
}

/// What is left out of an answer is told once for each header, and by name.
#[test]
fn a_header_that_is_dropped_has_one_line_in_the_log() {
    let server = serve(&[], &["--engine", "mruby"]);
    for _ in 0..3 {
        server.text("/header-control?0");
    }
    server.must_log("the header \"x-a\" is left out of the answer");
    assert_eq!(server.log().matches("is left out of the answer").count(), 1, "{}", server.log());
    assert!(server.log().contains("GET /header-control"), "{}", server.log());
}
