//! Judgments of runs: liars under every tool, twins, further rounds, the same rate for all.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::Value;

use super::{Home, said, study};

/// A study whose cases load the page with these tools.
fn by_tools(kinds: &[&str], tools: &[&str], full: &str) -> String {
    let text = study(kinds, "closed");
    let (head, case) = text.split_once("[[case]]").unwrap();
    let cases = tools.iter().map(|tool| {
        let more = match *tool {
            "ladder" => "load_pct = [50]\nslowest_pct = [50]\n",
            "slow-clients" => "per_s = 50\nslow = 8\n",
            "stuck" => "per_s = 50\nstuck_path = \"/stuck\"\nstuck_expect = { exactly = \"right\\n\" }\n",
            "uneven" => "per_s = 300\nlong_pct = 5\nlong_path = \"/long\"\nlong_expect = { exactly = \"right\\n\" }\n",
            "siege-once" => "metrics = [\"mean_ms\", \"requests_per_s\"]\n",
            "idle-connections" => "connections = 300\n",
            "overload" => "load_pct = [200]\n",
            _ => "",
        };
        format!(
            "[[case]]{}{more}",
            case.replace("\"page\"", &format!("\"{tool}\"")).replace("\"closed\"", &format!("\"{tool}\""))
        )
    });
    let old = "full = { rounds = 2, seconds = 0.5, warm_up_s = 0.2, clients = 4 }";
    assert!(head.contains(old), "{head}");
    head.replace(old, full) + &cases.collect::<String>()
}

fn samples(home: &Home) -> Vec<Value> {
    let text = fs::read_to_string(home.folder().join("raw.jsonl")).unwrap();
    let samples = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    // Samples of the timed loads only: these servers do not speak Rack, so no time is divided.
    samples.filter(|sample| sample["undivided"].is_null()).collect()
}

#[test]
fn one_wrong_answer_in_a_hundred_is_found_whatever_tool_loads() {
    let home = Home::with(&["good", "liar"]);
    let tools = ["wrk", "ab", "siege", "closed"];
    // Without a warm-up, so that the load after a tool's own has to find the lie.
    let full = "full = { rounds = 1, seconds = 1, warm_up_s = 0, clients = 4 }";
    fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good", "liar"], &tools, full)).unwrap();
    let output = home.run(&["run", "tiny"]);
    // A server that lies from the start is not loaded at all: then the run fails, and has found it, too.
    assert!(output.status.success() || said(&output).contains("tiny: liar in"), "{}", said(&output));
    let summary = home.summary();
    for (case, tool) in summary["cases"].as_array().unwrap().iter().zip(tools) {
        assert_eq!(case["ranking"], serde_json::json!([["good"]]), "{tool}: {case}");
        let liar = case["results"].as_array().unwrap().iter().find(|one| one["contender"] == "liar").unwrap();
        assert!(liar["disqualified"].as_str().unwrap().contains("not the right one"), "{tool}: {liar}");
        let good = case["results"].as_array().unwrap().iter().find(|one| one["contender"] == "good").unwrap();
        let checked = good["numbers"]["checked"]["median"].as_f64();
        assert_eq!(checked.is_some_and(|count| count > 100.0), tool != "closed", "{tool}: {good}");
    }
}

#[test]
fn failures_that_a_tool_takes_for_answers_are_found_by_the_load_after_it() {
    let home = Home::with(&["good", "hangup", "mover"]);
    let tools = ["wrk", "ab", "siege"];
    let full = "full = { rounds = 1, seconds = 0.6, warm_up_s = 0, clients = 4 }";
    fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good", "hangup", "mover"], &tools, full)).unwrap();
    home.succeeds(&["run", "tiny"]);
    let summary = home.summary();
    for (case, tool) in summary["cases"].as_array().unwrap().iter().zip(tools) {
        assert_eq!(case["ranking"], serde_json::json!([["good"]]), "{tool}: {case}");
        let of = |name: &str| case["results"].as_array().unwrap().iter().find(|one| one["contender"] == name).unwrap();
        let ppm = |name: &str| of(name)["numbers"]["checked_failed_ppm"]["median"].as_f64().unwrap();
        assert_eq!(ppm("good"), 0.0, "{tool}: {case}");
        for failing in ["hangup", "mover"] {
            assert!(ppm(failing) > 10_000.0, "{tool}: {}", of(failing));
        }
        // Only ab counts a 302 as a failure itself.
        let remarks = of("mover")["remarks"].to_string();
        let is_told = remarks.contains("% of the requests failed in the loads that check all answers");
        assert_eq!(is_told, tool != "ab", "{tool}: {remarks}");
    }
}

/// What wrk prints of a load of a thousand requests.
const OF_WRK: &str = "Running 1s test @ http://127.0.0.1/
  2 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    1.00ms   2.00ms   90.00%
    Req/Sec     1.00k     1.00k    2.00k    90.00%
  Latency Distribution
     50%    1.00ms
     75%    1.00ms
     90%    1.00ms
     99%    2.00ms
  1000 requests in 0.50s, BYTES read
Requests/sec:   2000.00
Transfer/sec:      1.00MB
";

#[test]
fn a_tool_that_was_sent_fewer_bytes_than_right_answers_have_was_answered_wrongly() {
    let full = "full = { rounds = 1, seconds = 0.5, warm_up_s = 0, clients = 4 }";
    // A right answer has 44 bytes.
    for (bytes, is_wrong) in [("30.00KB", true), ("43.00KB", false), ("1.20MB", false)] {
        let home = Home::with(&["good"]);
        fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good"], &["wrk"], full)).unwrap();
        let wrk = format!("echo '{}'", OF_WRK.replace("BYTES", bytes));
        let output = home.arena_beside("wrk", &wrk, &["run", "tiny"]).output().unwrap();
        let result = &home.summary()["cases"][0]["results"][0];
        let why = result["disqualified"].as_str().unwrap_or("not disqualified");
        let words = "wrong answers to the load tool: an answer, with its head, had at most 31 bytes on average, and \
                     the smallest right one in the load that checks all answers has 44";
        assert_eq!(why, if is_wrong { words } else { "not disqualified" }, "{bytes}: {}", said(&output));
    }
}

#[test]
fn a_wrong_body_of_the_right_length_and_a_missing_header_field_are_found() {
    let kinds = ["filler", "tail", "bare"];
    let home = Home::with(&kinds);
    fs::create_dir_all(home.path("apps/basics")).unwrap();
    fs::write(home.path("apps/basics/config.ru"), "run ->(env) { [200, {}, ['right']] }\n").unwrap();
    let full = "full = { rounds = 1, seconds = 0.4, warm_up_s = 0.1, clients = 2 }";
    let text = by_tools(&kinds, &["wrk", "closed"], full).replace("app = \"tiny\"", "app = \"basics\"");
    let right = "path = \"/\"\nexpect = { exactly = \"right\\n\" }";
    assert_eq!(text.matches(right).count(), 2, "{text}");
    let text = text.replacen(right, "path = \"/small\"\nexpect = { length = 100000 }", 1);
    let text = text.replacen(right, "path = \"/headers\"\nexpect = { exactly = \"Hello, World!\\n\" }", 1);
    fs::write(home.path("arena/studies/tiny.toml"), text).unwrap();
    let output = home.run(&["run", "tiny"]);
    let summary = home.summary();
    let why = |case: usize, name: &str| {
        let results = summary["cases"][case]["results"].as_array().unwrap();
        let one = results.iter().find(|one| one["contender"] == name).unwrap();
        one["disqualified"].as_str().unwrap_or("not disqualified").to_owned()
    };
    for (case, liar, says) in [(0, "tail", "from byte 99999 on"), (1, "bare", "1 of the 80 known header fields")] {
        assert!(why(case, liar).contains(says), "{}: {}", why(case, liar), said(&output));
    }
    let honest = [why(0, "filler"), why(1, "filler"), why(0, "bare"), why(1, "tail")];
    assert_eq!(honest, ["not disqualified"; 4], "{}", said(&output));
}

#[test]
fn one_wrong_answer_in_a_hundred_is_found_in_every_kind_of_load() {
    let home = Home::with(&["liar"]);
    // A reload that changes nothing: only the answers under its load matter here.
    let reload = "[reload]\nabout = \"none\"\nkeeps_master = true\nnew_workers = \"false\"\n\
                  [[reload.step]]\ncommand = [\"true\"]\n";
    home.change("arena/contenders/liar.toml", "reload = \"it has none\"\n", reload);
    let few = ["ladder", "siege-once", "uneven", "slow-clients", "stuck", "idle-connections"];
    let tools = [&few[..], &["killed", "reload", "overload"]].concat();
    // On a busy machine the 512 clients by whom a capacity is measured may wait for a second.
    let full = "full = { rounds = 1, seconds = 2.5, warm_up_s = 0, clients = 4 }";
    // So many requests that one of its two processes gives its hundredth answer, however they share them.
    let text = by_tools(&["liar"], &tools, full).replace("per_s = 50\n", "per_s = 300\n");
    fs::write(home.path("arena/studies/tiny.toml"), text).unwrap();
    let output = home.run(&["run", "tiny"]);
    let summary = home.summary();
    let cases = summary["cases"].as_array().unwrap();
    // The ladder and the overload have a step each, but for that at the slowest one's rate.
    assert_eq!(cases.len(), tools.len() + 2, "{}", said(&output));
    for case in cases {
        let why = case["results"][0]["disqualified"].as_str().unwrap_or("not disqualified");
        // By the load itself and what belongs to it, and not by what was asked before.
        let is_before = why.starts_with("wrong answer while warming up") || why == "not disqualified";
        assert!(!is_before && why.contains("not the right one"), "{}: {why}", case["name"]);
    }
}

#[test]
fn what_takes_long_beside_a_load_has_a_right_answer_as_well() {
    let home = Home::with(&["good"]);
    let full = "full = { rounds = 1, seconds = 0.5, warm_up_s = 0, clients = 2 }";
    let text = by_tools(&["good"], &["uneven", "stuck"], full);
    let text = text.replace("long_expect = { exactly = \"right", "long_expect = { exactly = \"computed");
    let text = text.replace("stuck_expect = { exactly = \"right", "stuck_expect = { exactly = \"slept");
    fs::write(home.path("arena/studies/tiny.toml"), text).unwrap();
    home.run(&["run", "tiny"]);
    let summary = home.summary();
    for (case, path) in summary["cases"].as_array().unwrap().iter().zip(["/long", "/stuck"]) {
        let why = case["results"][0]["disqualified"].as_str().unwrap_or("not disqualified");
        assert!(why.contains(&format!("GET {path}: a body of 6 bytes, not the right one")), "{path}: {why}");
    }
}

#[test]
fn a_load_tool_that_fails_in_every_case_of_a_contender_or_for_all_in_a_case_fails_the_run() {
    let home = Home::with(&["good", "slow"]);
    let full = "full = { rounds = 1, seconds = 0.3, warm_up_s = 0, clients = 2 }";
    let wrk = "echo 'wrk: out of order' >&2\nexit 1";
    let run = |tools: &[&str]| {
        fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good", "slow"], tools, full)).unwrap();
        home.arena_beside("wrk", wrk, &["run", "tiny"]).output().unwrap()
    };
    // In the only case: nothing is known of any contender.
    let output = run(&["wrk"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("arena: tiny: good in wrk: ") && said(&output).contains("out of order"));
    // In one case of two: no contender can be compared in it.
    let output = run(&["wrk", "closed"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("tiny: nothing was measured in wrk: "), "{}", said(&output));
    assert!(!said(&output).contains("tiny: good in"), "{}", said(&output));
    assert!(run(&["closed"]).status.success());
}

#[test]
fn the_draws_are_others_in_each_round_and_the_same_for_all_contenders() {
    let home = Home::with(&["good", "slow"]);
    home.succeeds(&["run", "tiny", "--seconds", "0.3", "--seed", "4"]);
    let seeds = |round: u64| -> BTreeSet<String> {
        let own = samples(&home).into_iter().filter(|one| one["round"] == round);
        own.map(|one| one["command"].as_str().unwrap().split_once(", seed ").unwrap().1.to_owned()).collect()
    };
    assert_eq!((seeds(1).len(), seeds(2).len()), (1, 1));
    assert_ne!(seeds(1), seeds(2));
    // They are no part of the description of what was done.
    assert!(!home.summary()["cases"][0]["what"].as_str().unwrap().contains("seed"));
}

#[test]
fn rounds_go_on_for_what_is_open_and_every_run_has_a_twin() {
    let home = Home::with(&["good", "slow"]);
    let full = "full = { rounds = 3, rounds_most = 4, seconds = 0.3, warm_up_s = 0.1, clients = 2 }";
    fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good", "slow"], &["ladder"], full)).unwrap();
    let words = home.succeeds(&["run", "tiny", "--seed", "2"]);
    let samples = samples(&home);
    let of = |case: &str, contender: &str| -> Vec<u64> {
        let own = samples.iter().filter(|one| one["case"] == case && one["contender"] == contender);
        own.map(|one| one["round"].as_u64().unwrap()).collect()
    };
    // The twin is there whenever its original is. Several times as many requests may be level with the fewer on a busy
    // machine, but never behind them.
    assert!(of("ladder", "good").len() >= 3, "{samples:#?}");
    let summary = home.summary();
    let best = summary["cases"][0]["ranking"][0].as_array().unwrap();
    assert!(best.contains(&"good".into()), "{summary:#}");
    assert_eq!(summary["twin_of"], "good", "by the seed");
    assert_eq!(of("ladder", "twin"), of("ladder", "good"));
    assert!(summary["cases"][0]["twin"]["numbers"]["requests_per_s"]["median"].as_f64().unwrap() > 0.0);
    assert!(words.contains("good was measured twice"), "{words}");
    // The same rate for all is known from the first round on.
    assert_eq!(of("ladder=50", "slow")[0], 2, "{samples:#?}");
    let rates: BTreeSet<&str> = samples
        .iter()
        .filter(|one| one["case"] == "ladder=50")
        .map(|one| one["command"].as_str().unwrap().split(" for ").next().unwrap())
        .collect();
    assert_eq!(rates.len(), 1, "{rates:?}");
    // A rate of each one's own is not shown as that of all; the same one for all is.
    let what = |case: usize| summary["cases"][case]["what"].as_str().unwrap();
    assert!(what(1).starts_with("open loop: 50 % of each one’s own capacity in the same round"), "{}", what(1));
    assert!(rates.iter().all(|rate| what(2).starts_with(rate)) && !what(2).contains("late"), "{}", what(2));
    let titles: Vec<&str> = summary["cases"].as_array().unwrap().iter().map(|c| c["title"].as_str().unwrap()).collect();
    assert_eq!(titles[0], "The page: capacity, by a closed loop");
    assert!(titles[1].contains("open loop at 50 % of its own") && titles[2].contains("the same for all"), "{titles:?}");
}

#[test]
fn beside_slow_clients_and_what_hangs_all_are_asked_at_the_same_rate() {
    let home = Home::with(&["good", "slow"]);
    let full = "full = { rounds = 1, seconds = 0.5, warm_up_s = 0, clients = 2 }";
    let text = by_tools(&["good", "slow"], &["slow-clients", "stuck"], full);
    fs::write(home.path("arena/studies/tiny.toml"), text).unwrap();
    home.succeeds(&["run", "tiny"]);
    let rates: Vec<f64> = samples(&home).iter().map(asked_per_s).collect();
    assert_eq!(rates, [50.0; 4]);
    let what = |case: usize| home.summary()["cases"][case]["what"].as_str().unwrap().to_owned();
    assert!(
        what(0).starts_with("open loop: 50.0/s for 0.5 s, at most 2 connections, kept; beside it 8"),
        "{}",
        what(0)
    );
    assert!(what(1).starts_with("open loop: 50/s for 0.5 s, or for 5 times as long"), "{}", what(1));
}

/// What an open loop was to send.
fn asked_per_s(sample: &Value) -> f64 {
    let rest = sample["command"].as_str().unwrap().strip_prefix("open loop: ").unwrap();
    rest.split_once("/s").unwrap().0.parse().unwrap()
}

/// Each step is a share of the right capacity, in whatever order they came, and nothing was measured twice.
fn check_shares(samples: &[Value]) {
    let key = |one: &Value| (one["case"].to_string(), one["contender"].to_string(), one["round"].to_string());
    let keys: BTreeSet<_> = samples.iter().map(key).collect();
    assert_eq!(keys.len(), samples.len(), "{samples:#?}");
    let capacity = |step: &Value| {
        let is_it = |one: &&Value| {
            one["case"] == "ladder" && one["contender"] == step["contender"] && one["round"] == step["round"]
        };
        samples.iter().find(is_it).unwrap()["numbers"]["requests_per_s"].as_f64().unwrap()
    };
    let of = |name: &str| samples.iter().filter(|one| one["case"] == name).collect::<Vec<_>>();
    for step in of("ladder@50") {
        assert!((asked_per_s(step) - capacity(step) / 2.0).abs() < 0.06, "{samples:#?}");
    }
    let first = of("ladder").into_iter().filter(|one| one["round"] == 1);
    let slowest = first.map(capacity).fold(f64::INFINITY, f64::min);
    for step in of("ladder=50") {
        assert!((asked_per_s(step) - slowest / 2.0).abs() < 0.06, "{samples:#?}");
    }
}

#[test]
fn contenders_meet_a_family_one_after_the_other_and_a_round_that_was_cut_goes_on_in_it() {
    let home = Home::with(&["good", "slow"]);
    // Long enough for some answers beside the other tests: without one there is no capacity to take shares of.
    let full = "full = { rounds = 2, seconds = 0.8, warm_up_s = 0, clients = 2 }";
    fs::write(home.path("arena/studies/tiny.toml"), by_tools(&["good", "slow"], &["closed", "ladder"], full)).unwrap();
    home.succeeds(&["run", "tiny", "--seed", "3"]);
    let whole = samples(&home);
    let mut blocks: Vec<(u64, &str, &str)> = whole
        .iter()
        .map(|one| {
            let family = if one["case"] == "closed" { "closed" } else { "ladder" };
            (one["round"].as_u64().unwrap(), family, one["contender"].as_str().unwrap())
        })
        .collect();
    blocks.dedup();
    // Two rounds of two families of two contenders; those of a family follow each other.
    assert_eq!(blocks.len(), 8, "{blocks:?}");
    assert!(blocks.chunks(2).all(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)), "{blocks:?}");
    check_shares(&whole);
    let notes = home.summary()["notes"].to_string();
    assert!(notes.contains("loads of a case began within ") && notes.contains("the longest were "), "{notes}");

    // The run was cut in the last ladder, after its capacity.
    let (raw, folder) = (home.folder().join("raw.jsonl"), home.folder());
    let text = fs::read_to_string(&raw).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let cut = lines.iter().rposition(|line| line.contains("\"case\":\"ladder\"") && line.contains("closed loop"));
    let kept = &lines[..=cut.unwrap()];
    assert!(kept.len() < lines.len());
    fs::write(&raw, kept.concat()).unwrap();
    fs::remove_file(folder.join("summary.json")).unwrap();
    home.succeeds(&["run", "--resume", folder.to_str().unwrap()]);
    let again = samples(&home);
    assert_eq!(again.len(), whole.len(), "{again:#?}");
    check_shares(&again);
}

#[test]
fn a_cold_start_is_timed_by_the_path_of_its_own_case() {
    let home = Home::with(&["picky"]);
    let full = "full = { rounds = 1, seconds = 1.5, warm_up_s = 0, clients = 2 }";
    let text = by_tools(&["picky"], &["closed", "start"], full);
    let (first, second) = text.split_at(text.rfind("path = \"/\"").unwrap());
    let text = format!("{first}{}", second.replacen("path = \"/\"", "path = \"/cold\"", 1));
    fs::write(home.path("arena/studies/tiny.toml"), text).unwrap();
    home.succeeds(&["run", "tiny"]);
    let samples = samples(&home);
    let number = |case: &str, name: &str| {
        samples.iter().find(|one| one["case"] == case).unwrap()["numbers"][name].as_f64().unwrap()
    };
    // The other path takes a second longer.
    assert!(number("start", "cold_ms") + 500.0 < number("closed", "first_answer_ms"), "{samples:#?}");
}

#[test]
fn what_is_open_has_further_rounds_up_to_the_last_one() {
    // One round decides nothing: all are open after it.
    let home = Home::with(&["good", "slow"]);
    let words = home.succeeds(&["run", "tiny", "--seconds", "0.3", "--rounds", "1", "--rounds-most", "2"]);
    let mut rounds: Vec<u64> = samples(&home).iter().map(|one| one["round"].as_u64().unwrap()).collect();
    rounds.sort_unstable();
    assert_eq!(rounds, [1, 1, 2, 2]);
    assert_eq!(home.summary()["rounds"], 2);
    let notes = home.summary()["notes"].to_string();
    assert!(notes.contains("1 round of everything"), "{notes}");
    assert!(words.contains("round 2: 2 contenders in 1 case are neither"), "{words}");
}

#[test]
fn a_run_that_may_have_three_rounds_has_a_twin() {
    let home = Home::with(&["good"]);
    home.succeeds(&["run", "tiny", "--seconds", "0.3", "--rounds", "1", "--rounds-most", "3"]);
    assert_eq!(home.summary()["twin_of"], "good");
}

#[test]
fn a_single_round_has_no_twin_and_a_busy_machine_is_told() {
    let home = Home::with(&["good"]);
    let output = home.succeeds(&["run", "tiny", "--quick"]);
    assert!(home.summary()["twin_of"].is_null());
    // The present load decides, and may pass the bound at this moment: the warning is only required where it is clear.
    let text = fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = text.split(' ').next().unwrap().parse().unwrap();
    let per_processor = load / thread::available_parallelism().unwrap().get() as f64;
    let words = "the machine was busy";
    let noted = (home.summary()["notes"].to_string().contains(words), output.contains(words));
    match per_processor {
        busy if busy > 1.0 => assert_eq!(noted, (true, true), "{output}"),
        calm if calm < 0.25 => assert_eq!(noted, (false, false), "{output}"),
        _ => {}
    }
}
