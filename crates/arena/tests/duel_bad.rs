//! Duels in which servers lie, die, never listen, ignore their settings or answer with another status: each is caught
//! and named, and the honest one is recommended.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what should not be")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arena::duel::plan::Plan;
use arena::duel::{DuelOptions, Left, Listener, Now, run, urls};
use arena::place::PlaceOptions;
use arena::record::Sample;
use arena::record::summary::Summary;

const PLAN: Plan = Plan {
    settings: 1,
    first_heat_s: 0.3,
    second_heat_s: 0.0,
    warm_s: 0.3,
    capacity_s: 0.5,
    open_s: 0.5,
    loads: 3,
    rounds: 1,
    answer_s: 10.0,
};

/// A server in a few lines: ruby server.rb MODE PORT.
const SERVER: &str = r#"
require "socket"

mode, port = ARGV
sleep if mode == "never"
served = 0
listener = TCPServer.new("127.0.0.1", port.to_i)
loop do
  Thread.new(listener.accept) do |client|
    while (line = client.gets)
      keep = true
      until (header = client.gets.to_s.chomp).empty?
        keep = false if header =~ /\Aconnection: close/i
      end
      served += 1
      body = "<h1>hello</h1>"
      body = "<h1>help!</h1>" if mode == "liar" && served > 200
      body = "<h1>help!</h1>" if mode == "mixer" && served > 100 && served % 50 == 0
      exit!(3) if mode == "mortal" && served > 300
      status = mode == "stranger" ? "404 Not Found" : "200 OK"
      client.write "HTTP/1.1 #{status}\r\ncontent-type: text/html\r\ncontent-length: #{body.size}\r\n\r\n#{body}"
      break client.close unless keep
    end
  rescue SystemCallError
    client.close
  end
end
"#;

struct Quiet(Vec<String>);

impl Listener for Quiet {
    fn says(&mut self, words: &str) {
        self.0.push(words.to_owned());
    }

    fn left(&mut self, _: &Left) {}

    fn sample(&mut self, _: &Sample) -> Result<(), String> {
        Ok(())
    }
}

fn recipe(folder: &Path, mode: &str) {
    let script = folder.join("server.rb");
    let script = script.display();
    // This one says that it has workers, and has one.
    let shape = if mode == "ignorer" { "" } else { "[shape]\nworkers = '1'\nthreads = '1'" };
    let cannot = if mode == "ignorer" { "" } else { "workers = 'no'\nthreads = 'no'" };
    let text = format!(
        r#"
title = "{mode}"
about = "A server for tests."
home = "none"
runtime = "cruby"
ready_s = 3

[needs]
programs = ["ruby"]

[get]
how = "It is part of the test."

[version]
command = ["ruby", "--version"]
pattern = 'ruby (\S+)'

{shape}

[[process]]
name = "{mode}"
command = ["ruby", "{script}", "{mode}", "{{{{ port }}}}"]

[count]
worker = 'server\.rb'

[cannot]
reload = "no"
{cannot}
"#
    );
    fs::write(folder.join(format!("{mode}.toml")), text).unwrap();
}

fn duel(modes: &[&str]) -> Result<(Summary, String), String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("server.rb"), SERVER).unwrap();
    fs::write(folder.path().join("config.ru"), "# Nobody reads it.\n").unwrap();
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).unwrap();
    for mode in modes.iter().chain(&["honest"]) {
        recipe(folder.path(), mode);
    }
    let options = DuelOptions {
        rackup: folder.path().join("config.ru"),
        place: PlaceOptions::default(),
        recipes: folder.path().to_owned(),
        contenders: Vec::new(),
        asked: urls::from_words(&["/".to_owned()], folder.path()).unwrap(),
        workload: Vec::new(),
        is_recorded: false,
        now: Some(Now::parse("honest").unwrap()),
        p99_max_ms: None,
        plan: PLAN,
        is_quick: true,
        budget_minutes: None,
        env: BTreeMap::new(),
        k6: None,
        logs,
        seed: 1,
        command: "arena duel".to_owned(),
    };
    let mut heard = Quiet(Vec::new());
    let summary = run(&options, &mut heard)?;
    Ok((summary, heard.0.join("\n")))
}

fn honest_wins(mode: &str, parts: &[&str]) {
    let (summary, words) = duel(&[mode]).unwrap();
    let advice = summary.advice.unwrap();
    assert!(advice.sentence.contains("with honest with -w 1 -t 1"), "{mode}: {advice:?}\n{words}");
    for part in parts {
        assert!(words.contains(part), "{mode}: {part} in {words}");
    }
}

#[test]
fn who_lies_under_load_is_disqualified() {
    honest_wins("liar", &["liar -w 1 -t 1 is disqualified: it answered otherwise than before, and honest does not"]);
}

#[test]
fn who_mixes_answers_up_now_and_then_is_disqualified() {
    honest_wins("mixer", &["mixer -w 1 -t 1 is disqualified: "]);
}

#[test]
fn who_dies_in_mid_run_is_disqualified() {
    honest_wins("mortal", &["mortal -w 1 -t 1 is disqualified: mortal ended in mid-run"]);
}

#[test]
fn who_never_listens_or_answers_otherwise_takes_no_part() {
    honest_wins("never", &["never takes no part: ", "within 3 s"]);
    honest_wins("stranger", &["stranger takes no part: GET / is answered with 404 and a page of HTML, not with 200"]);
}

#[test]
fn who_ignores_its_settings_is_disqualified() {
    honest_wins("ignorer", &["is disqualified: ignorer was told to have ", "ignores the setting"]);
}
