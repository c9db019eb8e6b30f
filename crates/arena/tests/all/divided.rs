//! Division of a request's time, on servers and an application with known behavior.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Home, recipe, said, succeeded};

const SLEEPS_MS: f64 = 20.0;
const COMPUTES_MS: f64 = 30.0;

/// Sleeps, or computes until the thread has used its processor time. The other file must be found from the
/// application's actual folder.
const APP: &str = r#"
require_relative "answer"
run ->(env) {
  if env["PATH_INFO"] == "/sleep"
    sleep 0.020
  else
    clock = Process::CLOCK_THREAD_CPUTIME_ID
    from = Process.clock_gettime(clock)
    nil while Process.clock_gettime(clock) < from + 0.030
  end
  [200, {}.freeze, [ANSWER]]
}
__END__
this is no Ruby
"#;

fn home() -> Home {
    let home = Home::with(&[]);
    fs::write(home.path("apps/tiny/config.ru"), APP).unwrap();
    fs::write(home.path("apps/tiny/answer.rb"), "ANSWER = \"right\\n\"\n").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/study/rack.rb").display().to_string();
    let tables = "[count]\nworker = '^rack worker'\n[cannot]\nreload = \"it has none\"\n";
    for kind in ["alone", "locked", "threads", "liar", "stays"] {
        let recipe = recipe(kind, 60, &[&script, "{{ port }}", kind, "{{ file }}"], tables);
        fs::write(home.path(&format!("arena/contenders/{kind}.toml")), recipe).unwrap();
    }
    let study = r#"
title = "Tiny"
question = "Where does the time go?"
about = ["A study for a test."]
app = "tiny"
contenders = [
  { recipe = "alone", workers = 1, threads = 1 }, { recipe = "locked", workers = 1, threads = 1 },
  { recipe = "threads", workers = 1, threads = 1 },
]
full = { rounds = 1, seconds = 0.6, warm_up_s = 0, clients = 8 }
quick = { rounds = 1, seconds = 0.6, warm_up_s = 0, clients = 8 }
metrics = ["requests_per_s", "p99_ms", "failed"]
[[case]]
name = "sleep"
title = "It sleeps"
tool = "closed"
path = "/sleep"
expect = { exactly = "right\n" }
[[case]]
name = "compute"
title = "It computes"
tool = "closed"
path = "/compute"
clients = 1
expect = { exactly = "right\n" }
"#;
    fs::write(home.path("arena/studies/tiny.toml"), study).unwrap();
    home
}

/// By case and contender.
fn divided(home: &Home) -> BTreeMap<(String, String), BTreeMap<String, f64>> {
    let text = fs::read_to_string(home.folder().join("raw.jsonl")).unwrap();
    let samples = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let samples = samples.filter(|sample| sample["numbers"]["divided_ms"].is_number());
    let word = |sample: &Value, name: &str| sample[name].as_str().unwrap().to_owned();
    let numbers = |sample: &Value| serde_json::from_value(sample["numbers"].clone()).unwrap();
    samples.map(|sample| ((word(&sample, "case"), word(&sample, "contender")), numbers(&sample))).collect()
}

#[test]
fn a_requests_time_is_where_it_was_put() {
    let home = home();
    let words = home.succeeds(&["run", "tiny"]);
    let found = divided(&home);
    assert_eq!(found.len(), 6, "{found:?}\n{words}");
    for (of, numbers) in &found {
        let parts = ["in_generator_ms", "in_accept_queue_ms", "in_server_ms", "app_processor_ms", "app_waiting_ms"];
        let sum = parts.iter().map(|name| numbers[*name]).sum::<f64>() + numbers["after_app_ms"];
        let all = numbers["divided_ms"];
        assert!((sum - all).abs() < all * 0.01 + 0.01, "{of:?}: {sum} of {numbers:?}");
        assert!(numbers["run_queue_ms"] >= 0.0);
    }
    let number = |case: &str, contender: &str, name: &str| found[&(case.to_owned(), contender.to_owned())][name];
    // Seven other requests are before each; on a busy machine the application's own part takes longer, and theirs too.
    let app = |contender: &str| number("sleep", contender, "app_waiting_ms");
    let (accept, server) = ("in_accept_queue_ms", "in_server_ms");
    assert!(number("sleep", "alone", accept) > 2.0 * app("alone"), "{found:?}");
    assert!(number("sleep", "alone", accept) > number("sleep", "alone", server), "{found:?}");
    assert!(number("sleep", "locked", server) > 2.0 * app("locked"), "{found:?}");
    assert!(number("sleep", "locked", server) > number("sleep", "locked", accept), "{found:?}");
    for contender in ["alone", "locked", "threads"] {
        assert!(app(contender) >= SLEEPS_MS * 0.9, "{found:?}");
        assert!(number("sleep", contender, "app_processor_ms") < app(contender) / 2.0, "{found:?}");
        assert!(number("compute", contender, "app_processor_ms") >= COMPUTES_MS * 0.99, "{found:?}");
    }
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains("Where a request’s time goes") && page.contains("Accept queue"));
    // The last round of two.
    let places = ["in the accept queue, ", "in the server before the application, "];
    assert!(places.iter().any(|place| page.contains(place)) && page.contains("waiting in the application, "));
    // A run that was cut off between a load and the one that divides it only divides what is left.
    let (raw, path) = (home.folder().join("raw.jsonl"), home.folder().display().to_string());
    let text = fs::read_to_string(&raw).unwrap();
    let is_cut = |line: &&str| !(line.contains("\"divided_ms\"") && line.contains("\"locked\""));
    fs::write(&raw, text.lines().filter(is_cut).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    fs::remove_file(home.folder().join("summary.json")).unwrap();
    assert_eq!(divided(&home).len(), 4);
    let output = home.run(&["run", "--resume", &path]);
    assert!(output.status.success() && divided(&home).len() == 6, "{}", said(&output));
    // The application's own folder is unchanged.
    assert_eq!(fs::read_dir(home.path("apps/tiny")).unwrap().count(), 2);
}

#[test]
fn who_answers_wrongly_while_its_time_is_divided_is_disqualified() {
    let home = home();
    home.change("arena/studies/tiny.toml", "recipe = \"threads\"", "recipe = \"liar\"");
    home.succeeds(&["run", "tiny", "--without", "locked", "--case", "sleep"]);
    let summary = home.summary();
    assert_eq!(summary["cases"][0]["ranking"], serde_json::json!([["alone"]]), "{summary}");
    let liar = summary["cases"][0]["results"].as_array().unwrap().iter().find(|one| one["contender"] == "liar");
    let why = liar.unwrap()["disqualified"].as_str().unwrap();
    assert!(why.starts_with("wrong answer while its time was divided: GET /sleep: "), "{why}");
}

#[test]
fn that_a_server_had_to_be_killed_after_its_time_was_divided_is_in_the_report() {
    let home = home();
    home.change("arena/studies/tiny.toml", "recipe = \"threads\"", "recipe = \"stays\"");
    home.change("arena/contenders/stays.toml", "[count]", "[stop]\npatience_s = 1\n[count]");
    home.succeeds(&["run", "tiny", "--only", "stays", "--case", "sleep"]);
    let notes = home.summary()["contenders"][0]["notes"].to_string();
    let words = "it did not stop as it should: round 1, where its time was divided: stays did not end within 1 s";
    assert!(notes.contains(words), "{notes}");
    assert_eq!(notes.matches("did not stop").count(), 1, "it stopped after its timed load: {notes}");
}

#[test]
fn a_load_of_k6_is_divided_by_the_arenas_own_and_the_report_says_so() {
    let home = home();
    succeeded(&home.run_with_k6(&["run", "tiny", "--load", "k6", "--only", "threads", "--case", "sleep"]));
    let found = divided(&home);
    let [((case, contender), numbers)] = &found.iter().collect::<Vec<_>>()[..] else { panic!("{found:?}") };
    assert_eq!((case.as_str(), contender.as_str()), ("sleep", "threads"));
    assert!(numbers["app_waiting_ms"] >= SLEEPS_MS * 0.9, "{found:?}");
    let summary = home.summary();
    assert!(summary["notes"].to_string().contains("time goes was measured with the arena's own load"), "{summary}");
    assert!(summary["cases"][0]["what"].as_str().unwrap().starts_with("k6 run "), "{summary}");
}

#[test]
fn what_has_no_middleware_is_not_divided_and_the_report_says_why() {
    let home = Home::with(&["good"]);
    // Its command names the application, but the server does not run it.
    home.change("arena/contenders/good.toml", "\"{{ workers }}\"]", "\"{{ workers }}\", \"{{ file }}\"]");
    home.succeeds(&["run", "tiny", "--rounds", "1"]);
    let summary = home.summary();
    let result = &summary["cases"][0]["results"][0];
    let why = "where a request’s time goes was not measured: ";
    assert!(result["remarks"].to_string().contains(why), "{summary}");
    assert!(result["numbers"]["divided_ms"].is_null() && result["disqualified"].is_null(), "{summary}");
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains(why) && !page.contains("Accept queue"));
}
