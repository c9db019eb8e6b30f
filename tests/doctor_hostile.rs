//! `foolsgold doctor` with applications that do not end, print without end or lack very much: it ends, and says so.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::successor::kill;
use crate::support::{Folder, server, within};
use rustix::process::Signal;

/// What it does of a config.ru within this time, and how long it took.
fn doctor(folder: &Path, words: &[&str], limit: Duration) -> (Output, Duration) {
    let mut command = server::command();
    command.args(words).current_dir(folder);
    let began = Instant::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = thread::spawn(|| child.wait_with_output().unwrap());
    if !within(limit, || output.is_finished()) {
        kill(pid, Signal::KILL);
        panic!("{words:?} did not end within {limit:?}");
    }
    (output.join().unwrap(), began.elapsed())
}

fn folder(config: &str) -> Folder {
    server::folder_with(&[("config.ru", config)])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_pipe_is_no_application_for_the_doctor_nor_for_the_server() {
    let folder = server::folder();
    let made = Command::new("mkfifo").arg(folder.join("config.ru")).status().unwrap();
    assert!(made.success());
    for words in [&["doctor"][..], &["doctor", "config.ru", "--json"], &["config.ru", "-p", "0"]] {
        let (output, _) = doctor(&folder, words, Duration::from_secs(20));
        let said = text(&output.stderr);
        let right = if words[0] == "doctor" { 2 } else { 1 };
        assert!(said.contains("config.ru: is not a file") && output.status.code() == Some(right), "{words:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_program_that_takes_too_long_to_read_is_left() {
    // Decimals of numbers of 262,000 bits, in one native step: six seconds.
    let folder = folder("Array.new(24) { |i| 2**262_000 + i }.join(',')\n");
    let words = ["doctor", "--boot-time", "1"];
    let (output, took) = doctor(&folder, &words, Duration::from_secs(30));
    let said = text(&output.stdout);
    assert!(said.contains("not even its files were read within 1s (--boot-time)"), "{said}");
    assert!(output.status.code() == Some(1) && took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn of_very_much_that_is_missing_only_the_first_is_looked_for() {
    let lines: Vec<String> = (0..80).map(|number| format!("require 'lode_{number}'\n")).collect();
    let folder = folder(&(lines.concat() + "'x'.gsub('y', 'z')\n"));
    let (output, _) = doctor(&folder, &["doctor"], Duration::from_secs(120));
    let said = text(&output.stdout);
    assert_eq!(said.matches("  missing   the library \"lode_").count(), 50, "{said}");
    assert!(
        said.contains("  and more  \"lode_50\" and perhaps others, which were not looked for: 50 were enough"),
        "{said}"
    );
}

#[test]
fn the_time_for_all_that_is_missing_is_that_of_two_loadings() {
    // Each loading takes most of its time.
    let lines: Vec<String> = (0..40).map(|number| format!("require 'lode_{number}'\n")).collect();
    let wait = "ends = Time.now + 0.7\nnil while Time.now < ends\n";
    let folder = folder(&(wait.to_owned() + &lines.concat()));
    let words = ["doctor", "--boot-time", "2", "--json"];
    let (output, took) = doctor(&folder, &words, Duration::from_secs(60));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = all[0]["missing"].as_array().unwrap().len();
    assert!((1..20).contains(&count), "{all:#}");
    let more = all[0]["missing_more"].as_str().unwrap();
    assert!(more.contains("not looked for: 4s, twice --boot-time, were over"), "{more}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn an_answer_without_an_end_is_left_when_the_time_of_a_request_is_over() {
    let config = |wait: &str| {
        let body = format!("class Endless\n  def each\n    loop do\n      yield 'gold'\n{wait}    end\n  end\nend\n");
        body + "run ->(env) { [200, {}, Endless.new] }\n"
    };
    let checked = |config: String, words: &[&str]| {
        let folder = folder(&config);
        let words = [&["doctor", "--json"], words].concat();
        let (output, took) = doctor(&folder, &words, Duration::from_secs(60));
        let mut all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (all[0]["answers"][0].take(), took)
    };
    let (slow, took) = checked(config("      sleep 0.1\n"), &["--request-time", "1"]);
    assert_eq!((&slow["status"], &slow["whole"], &slow["on_ruby"]), (&200.into(), &false.into(), &"same".into()));
    assert!(took < Duration::from_secs(30), "{took:?}");
    let config = config("").replace("'gold'", "'gold' * 10_000");
    let (fast, took) = checked(config, &[]);
    assert_eq!((&fast["bytes"], &fast["whole"], &fast["on_ruby"]), (&(16 << 20).into(), &false.into(), &"same".into()));
    assert!(took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn long_answers_are_compared_to_their_end() {
    let config = "run ->(env) { [200, {}, ['x' * 5_000_000, RUBY_ENGINE]] }\n";
    let folder = folder(config);
    let (output, _) = doctor(&folder, &["doctor"], Duration::from_secs(60));
    let said = text(&output.stdout);
    assert!(said.contains("another body there (5000004 bytes), somewhere after byte 1048576"), "{said}");
}

#[test]
fn what_an_application_prints_is_bounded_and_no_part_of_the_report() {
    let config = "puts 'loaded'\nrun ->(env) do\n  $stderr.puts 'asked'\n  [200, {}, ['x']]\nend\n";
    let quiet = folder(config);
    let (output, _) = doctor(&quiet, &["doctor", "--json"], Duration::from_secs(60));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = text(&output.stderr);
    assert_eq!((&all[0]["recommended"], output.status.code()), (&"mruby".into(), Some(0)), "{said}");
    assert!(said.contains("loaded\n") && said.contains("asked\n") && !said.contains("left out"), "{said}");
    let loud = folder("loop { puts 'gold' * 1000 }\n");
    let words = ["doctor", "--json", "--boot-time", "2"];
    let (output, took) = doctor(&loud, &words, Duration::from_secs(60));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(all[0]["refusal"].as_str().unwrap().contains("not loaded within 2s"), "{all:#}");
    let said = text(&output.stderr);
    assert!(said.ends_with(" more bytes that the application printed left out\n"), "{}", said.len());
    assert!(said.len() < (64 << 10) + 100 && took < Duration::from_secs(40), "{took:?}");
}
