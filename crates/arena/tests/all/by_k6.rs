//! Runs whose loads a stand-in for k6 makes, which sends real requests and writes what k6 writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{Home, results, said, study, succeeded};

impl Home {
    /// The command with the stand-in for k6 first on its PATH.
    fn with_k6(&self, words: &[&str]) -> Command {
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/k6.rb");
        let mut command = self.arena_beside("k6", &format!("exec ruby '{}' \"$@\"", fake.display()), words);
        command.env("FAKE_K6_LOG", self.path("k6.log")).env("K6_VUS", "99");
        command
    }

    pub fn run_with_k6(&self, words: &[&str]) -> Output {
        self.with_k6(words).output().unwrap()
    }

    fn asked_k6(&self) -> String {
        fs::read_to_string(self.path("k6.log")).unwrap_or_default()
    }
}

#[test]
fn k6_makes_the_loads_and_a_liar_is_caught() {
    let home = Home::with(&["good", "liar"]);
    succeeded(&home.run_with_k6(&["run", "tiny", "--load", "k6", "--rounds", "1"]));
    let summary = home.summary();
    let all = results(&summary);
    let good = &all["good"];
    assert!(good["disqualified"].is_null(), "{good}");
    for number in ["requests_per_s", "p50_ms", "max_ms", "shortest_ms", "mean_ms", "pss_peak_mib"] {
        assert!(good["numbers"][number]["median"].as_f64().unwrap() > 0.0, "{number}: {good}");
    }
    assert_eq!(good["numbers"]["bytes_per_answer"]["median"], 6.0);
    let why = all["liar"]["disqualified"].as_str().unwrap();
    assert!(why.contains("GET /: the body is not the right one: \"wrong\\n\""), "{why}");
    let what = summary["cases"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("k6 run ") && what.ends_with("RUN/k6/page.js") && what.contains("HOST:PORT"), "{what}");
    assert!(summary["notes"].to_string().contains("loaded by k6 v1.3.0"), "{summary}");
    assert!(summary["command"].as_str().unwrap().contains("--load k6"), "{summary}");
    let script = fs::read_to_string(home.folder().join("k6/page.js")).unwrap();
    assert!(script.contains("\"text\": \"right\\n\"") && script.contains("export function handleSummary"), "{script}");
    let asked = home.asked_k6();
    assert!(asked.contains("-e VUS=4 -e SECONDS=0.5") && !asked.contains("K6_VUS"), "{asked}");
}

#[test]
fn a_ladder_has_its_rates_from_k6_and_what_it_could_not_send_is_no_failure_of_the_server() {
    let home = Home::with(&["good"]);
    let ladder = study(&["good"], "ladder").replace("path = \"/\"", "path = \"/\"\nload_pct = [50]");
    fs::write(home.path("arena/studies/tiny.toml"), ladder).unwrap();
    let mut command = home.with_k6(&["run", "tiny", "--load", "k6", "--quick"]);
    succeeded(&command.env("FAKE_K6_DROPS", "900000").output().unwrap());
    let asked = home.asked_k6();
    let rate = asked.split("RATE=").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
    let summary = home.summary();
    let number = |case: usize, name: &str| summary["cases"][case]["results"][0]["numbers"][name]["median"].as_f64();
    let half = number(0, "requests_per_s").unwrap() / 2.0;
    assert!((rate - half).abs() < 0.01, "{rate} {half}");
    // The stand-in says that its clients did not wait for answers.
    let result = &summary["cases"][1]["results"][0];
    assert_eq!((number(1, "failed"), number(1, "not_sent")), (Some(0.0), Some(900_000.0)), "{summary}");
    assert_eq!((number(1, "late_ms"), number(1, "p50_ms")), (None, None), "its latencies are those of k6: {summary}");
    assert!((number(1, "offered_per_s").unwrap() - rate).abs() <= 1.0, "{summary}");
    assert!(result["errors"]["dropped"].is_null() && result["remarks"].to_string().contains("no server is to blame"));
    assert_eq!(asked.matches("-e VUS=512 ").count(), 2, "the capacity has as many clients: {asked}");
}

#[test]
fn what_cannot_be_loaded_by_k6_is_said_before_there_is_a_folder() {
    let home = Home::with(&["good"]);
    let refused = |output: &Output, says: &str| {
        assert!(!output.status.success() && said(output).contains(says), "{}", said(output));
        assert!(!home.path("arena/runs").exists(), "a folder of runs is left");
    };
    let none = home.path("nothing");
    fs::create_dir(&none).unwrap();
    let without = home.arena(&["run", "tiny", "--load", "k6"]).env("PATH", &none).output().unwrap();
    refused(&without, "--load k6: k6 is not here; to get it: ");
    refused(&home.run(&["run", "tiny", "--load", "locust"]), "possible values: k6");
    fs::write(home.path("arena/studies/tiny.toml"), study(&["good"], "start")).unwrap();
    refused(&home.run_with_k6(&["run", "tiny", "--load", "k6"]), "no load like those of these cases");
    let border = study(&["good"], "closed").replace("exactly = \"right\\n\"", "matches = '\\bright'");
    fs::write(home.path("arena/studies/tiny.toml"), border).unwrap();
    refused(
        &home.run_with_k6(&["run", "tiny", "--load", "k6"]),
        "case page: GET /: the pattern \\bright cannot be said",
    );
    let listed = home.run_with_k6(&["list"]);
    assert!(said(&listed).contains("k6 v1.3.0"), "{}", said(&listed));
    let listed = home.arena(&["list"]).env("PATH", &none).output().unwrap();
    assert!(said(&listed).contains("missing: k6 is not here"), "{}", said(&listed));
}

#[test]
fn a_k6_that_fails_disqualifies_with_its_own_words_and_another_one_does_not_go_on() {
    let home = Home::with(&["good"]);
    let words = ["run", "tiny", "--load", "k6", "--rounds", "1"];
    let output = home.with_k6(&words).env("FAKE_K6_FAILS", "1").output().unwrap();
    assert!(said(&output).contains("k6: There were problems with the specified"), "{}", said(&output));
    let run = home.folder().join("run.json");
    let asked = fs::read_to_string(&run).unwrap();
    assert!(asked.contains("\"k6\": \"k6 v1.3.0\""), "{asked}");
    fs::write(&run, asked.replace("k6 v1.3.0", "k6 v0.57.0")).unwrap();
    let output = home.run_with_k6(&["run", "--resume", home.folder().to_str().unwrap()]);
    assert!(said(&output).contains("it was loaded by k6 v0.57.0, now it is k6 v1.3.0"), "{}", said(&output));
}

/// Output of one machine: this many right answers of the case in two seconds, each in this many milliseconds.
fn counted(home: &Home, name: &str, case: &str, right: u32, ms: u32) -> String {
    let file = home.path(name);
    let text = format!(
        r#"{{"arena_k6":1,"case":"{case}","load":"clients","seconds":2,"per_s":0,"vus":4,"ended_ms":2010,"dropped":0,
        "iterations":{right},"right":{right},"right_in_time":{right},"bytes":600,"bytes_answers":100,"errors":{{}},
        "latency":{{"count":{right},"mean":{ms},"percents":[[0,{ms}],[50,{ms}],[99,{ms}],[100,{ms}]]}},"late":null}}"#
    );
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn what_k6_counted_on_other_machines_is_a_run_like_any_other() {
    let home = Home::with(&["good", "slow"]);
    let (one, two) = (counted(&home, "1.json", "page", 1000, 4), counted(&home, "2.json", "page", 3000, 8));
    let said_of = |name: &'static str, version: &'static str| {
        ["import", "tiny", "--contender", name, "--server-version", version, "--ruby", "ruby 3.4", "--machine", "big"]
    };
    let run = |words: [&str; 10], more: &[&str]| home.run(&[&words[..], more].concat());
    succeeded(&run(said_of("good", "7"), &[&one, &two]));
    let folder = home.folder();
    let into = ["--into", folder.to_str().unwrap()];
    let add = |words: [&str; 10], file: &str| run(words, &[&into[..], &[file]].concat());
    let next = counted(&home, "next.json", "page", 3000, 9);
    assert!(add(said_of("good", "7"), &next).status.success());
    let of_slow = counted(&home, "slow.json", "page", 1000, 5);
    let words = succeeded(&add(said_of("slow", "1"), &of_slow));
    let summary = home.summary();
    let all = results(&summary);
    let of = |name: &str, number: &str| all[name]["numbers"][number]["all"].clone();
    assert_eq!(of("good", "requests_per_s"), serde_json::json!([2000.0, 1500.0]));
    assert_eq!(
        (of("good", "p50_ms"), of("good", "max_ms")),
        (serde_json::json!([8.0, 9.0]), serde_json::json!([8.0, 9.0]))
    );
    assert_eq!(
        (of("good", "shortest_ms"), of("slow", "mean_ms")),
        (serde_json::json!([4.0, 9.0]), serde_json::json!([5.0]))
    );
    assert_eq!(summary["machine"], serde_json::json!([["processor", "big"]]));
    assert!(summary["notes"].to_string().contains("has neither started nor watched them"), "{summary}");
    assert!(summary["cases"][0]["what"].as_str().unwrap().contains("2 machines at the same time"), "{summary}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("ruby 3.4") && page.contains("A round is one imported load of each"), "{page}");
    assert!(page.contains("<p class=\"line\">imported ") && page.contains("<dt>imported</dt>"), "{page}");
    let short = "2 rounds of at least 3; its loads were imported: how the servers ran is as it was stated.</div>";
    assert!(page.contains(short), "{page}");
    // An import has no rules for the number of its rounds, no order of turns, no twin, no recipes and no logs.
    let texts = [page, words, summary["notes"].to_string()];
    for of_a_run in ["further ones", "near in time", "turn of every", "twin", "recipes", "stayed undecided", "logs/"] {
        assert!(texts.iter().all(|text| !text.contains(of_a_run)), "{of_a_run}: {texts:?}");
    }
    let other = counted(&home, "3.json", "other", 10, 1);
    let garbage = home.path("4.json").display().to_string();
    fs::write(&garbage, "{}").unwrap();
    for (output, says) in [
        (add(said_of("good", "8"), &one), "in this run good is 7, ruby 3.4: another version is another run"),
        (add(said_of("nobody", "7"), &one), "--contender nobody: tiny has good, slow"),
        (run(said_of("good", "7"), &[&one, &other]), "give those of one load"),
        (run(said_of("good", "7"), &[&one, &one]), "one file is given twice"),
        (run(said_of("good", "7"), &[&other]), "tiny has no such case for k6"),
        (run(said_of("good", "7"), &[&garbage]), "4.json: it is not what arena's script writes"),
        (home.run(&["run", "--resume", into[1]]), "arena import --into adds to it"),
    ] {
        assert!(!output.status.success() && said(&output).contains(says), "{says}: {}", said(&output));
    }
    assert_eq!(fs::read_dir(home.path("arena/runs")).unwrap().count(), 1, "what was refused left a folder");
    assert!(home.run(&["run", "tiny", "--quick", "--only", "good"]).status.success());
    let mut runs = fs::read_dir(home.path("arena/runs")).unwrap().map(|one| one.unwrap().path());
    let here = runs.find(|path| *path != folder).unwrap();
    let output = run(said_of("good", "7"), &["--into", here.to_str().unwrap(), &one]);
    assert!(!output.status.success() && said(&output).contains("it was measured here"), "{}", said(&output));
}

#[test]
fn a_file_that_a_run_has_is_not_counted_again() {
    let home = Home::with(&["good", "slow"]);
    let (one, two) = (counted(&home, "1.json", "page", 1000, 4), counted(&home, "2.json", "page", 3000, 8));
    let copy = home.path("copy.json").display().to_string();
    fs::copy(&one, &copy).unwrap();
    let import = |name: &str, more: &[&str]| {
        let words = ["import", "tiny", "--contender", name, "--server-version", "7", "--ruby", "r", "--machine", "m"];
        home.run(&[&words[..], more].concat())
    };
    let output = import("good", &[&one, &copy]);
    let says = format!("{copy}: it is a copy of {one}: give the file of each machine once");
    assert!(!output.status.success() && said(&output).contains(&says), "{}", said(&output));
    assert!(!home.path("arena/runs").exists(), "a folder of runs is left");
    succeeded(&import("good", &[&one]));
    let folder = home.folder();
    let into = folder.to_str().unwrap();
    let says = "this run already has its numbers, from 1.json as round 1 of good in page: leave it out, or give";
    for (name, file) in [("good", &one), ("good", &copy), ("slow", &one)] {
        let output = import(name, &["--into", into, &two, file]);
        assert!(!output.status.success(), "{}", said(&output));
        assert!(said(&output).contains(&format!("{file}: {says}")), "{}", said(&output));
    }
    let rates = || results(&home.summary())["good"]["numbers"]["requests_per_s"]["all"].clone();
    assert_eq!(rates(), serde_json::json!([500.0]));
    // A line that was cut off, as by a full disk, is no beginning of the next one.
    let raw = folder.join("raw.jsonl");
    let lines = fs::read_to_string(&raw).unwrap();
    fs::write(&raw, format!("{lines}{}", &lines[..40])).unwrap();
    let output = import("good", &["--into", into, &two]);
    assert!(output.status.success() && said(&output).contains("line 2 of raw.jsonl was written"), "{}", said(&output));
    assert_eq!(rates(), serde_json::json!([500.0, 1500.0]));
}

#[test]
fn a_duel_at_a_rate_has_k6_make_those_loads_as_well() {
    // One that waits between its answers: a quick duel has 20 s of full load, which need not take the processors.
    let home = Home::with(&["slow"]);
    let rackup = home.path("apps/tiny/config.ru").display().to_string();
    let words = ["duel", &rackup, "--rate", "20", "--quick", "--budget", "1", "--load", "k6"];
    succeeded(&home.run_with_k6(&words));
    let asked = home.asked_k6();
    // Whether multiples of the rate are asked as well depends on the machine's other work.
    assert!(asked.lines().any(|line| line.contains("RATE=20.000") && line.contains("/traffic-1-")), "{asked}");
    let summary = home.summary();
    let at_rate = summary["cases"].as_array().unwrap().iter().find(|case| case["name"] == "traffic-1").unwrap();
    assert!(at_rate["what"].as_str().unwrap().contains("k6"), "{at_rate}");
    assert!(at_rate["results"][0]["disqualified"].is_null(), "{at_rate}");
}
