//! Runs that finish, with good and bad servers, and what is made of them afterwards.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Home, is_running, results, said, succeeded, within};

#[test]
fn a_good_server_is_measured_and_bad_ones_are_caught() {
    let home = Home::with(&["good", "wrong", "early", "later", "dies", "never", "alone", "absent"]);
    // On a busy machine a warm-up of 0.2 s may end before a connection has had the answer that is wrong early, and a
    // load of 0.5 s may have too few answers for a rate. Of two workers one may get no connection before the load.
    let study = "arena/studies/tiny.toml";
    home.change(study, "recipe = \"early\", workers = 2", "recipe = \"early\", workers = 1");
    home.change(study, "seconds = 0.5, warm_up_s = 0.2", "seconds = 3, warm_up_s = 2");
    let output = home.run(&["run", "tiny", "--rounds", "1"]);
    let words = said(&output);
    // An installed contender could not be measured: the exit code of the command shows it.
    assert_eq!(output.status.code(), Some(1), "{words}");
    let summary = home.summary();
    assert_eq!(summary["cases"][0]["ranking"], serde_json::json!([["good"]]));
    let results = results(&summary);
    let good = &results["good"];
    assert!(good["disqualified"].is_null());
    assert!(good["numbers"]["requests_per_s"]["median"].as_f64().unwrap() > 5.0, "{good}");
    for number in ["p50_ms", "pss_peak_mib", "first_answer_ms"] {
        assert!(good["numbers"][number]["median"].as_f64().unwrap() > 0.0, "{number}: {good}");
    }
    // A p99 is shown if the load had 400 requests, which a busy machine may not serve in that time.
    let requests = good["numbers"]["requests"]["median"].as_f64().unwrap();
    let p99 = good["numbers"]["p99_ms"]["median"].as_f64();
    assert_eq!(p99.is_some_and(|ms| ms > 0.0), requests >= 400.0, "{good}");
    // On a busy machine it may be less than one tick of the kernel's clock.
    assert!(good["numbers"]["cpu_us_per_request"]["median"].as_f64().is_some(), "{good}");
    let why = |kind: &str| results[kind]["disqualified"].as_str().unwrap_or("not disqualified").to_owned();
    assert!(why("wrong").contains("not the right one"), "{}", why("wrong"));
    assert!(why("later").contains("not the right one"), "{}", why("later"));
    assert!(why("early").contains("while warming up"), "{}", why("early"));
    assert!(why("never").contains("2 s"), "{}", why("never"));
    assert!(why("alone").contains('1') && why("alone").contains('2'), "{}", why("alone"));
    assert_ne!(why("dies"), "not disqualified");
    let who = summary["contenders"].as_array().unwrap();
    let absent = who.iter().find(|who| who["name"] == "absent").unwrap();
    assert!(absent["missing"].to_string().contains("no-such-program"), "{absent}");
    assert!(absent["missing"].to_string().contains("the-package-of-absent"), "{absent}");
    let good = who.iter().find(|who| who["name"] == "good").unwrap();
    assert_eq!((good["counted_workers"].as_u64(), good["workers"].as_u64()), (Some(2), Some(2)));
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains("Who answers?") && page.contains("the-package-of-absent"));
    assert!(!is_running(&format!("{}/apps", home.name())), "a server is left");
}

#[test]
fn that_a_server_had_to_be_killed_is_in_the_report() {
    let home = Home::with(&["stays"]);
    home.change("arena/contenders/stays.toml", "[count]", "[stop]\npatience_s = 1\n[count]");
    home.succeeds(&["run", "tiny", "--quick"]);
    let words = "it did not stop as it should: round 1: stays did not end within 1 s of SIGTERM and was killed";
    let notes = || home.summary()["contenders"][0]["notes"].to_string();
    assert!(notes().contains(words), "{}", notes());
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains(words), "the page does not say it");
    // Nor is it forgotten when the run is summed up again.
    let again = home.run(&["run", "--resume", home.folder().to_str().unwrap()]);
    assert!(again.status.success() && notes().contains(words), "{} {}", said(&again), notes());
}

#[test]
fn a_daemon_without_environment_is_measured_and_ends_with_its_server() {
    let home = Home::with(&["hidden"]);
    home.succeeds(&["run", "tiny", "--quick"]);
    let summary = home.summary();
    let hidden = &summary["contenders"][0];
    // Both workers are the daemon's.
    assert_eq!(hidden["counted_workers"].as_u64(), Some(2), "{hidden}");
    assert!(results(&summary)["hidden"]["disqualified"].is_null(), "{summary}");
    let notes = hidden["notes"].to_string();
    assert!(notes.contains("left process ") && notes.contains("study worker"), "{notes}");
    assert!(!is_running("hidden-daemon"), "it is left");
}

#[test]
fn nothing_of_the_callers_environment_reaches_a_server_unseen() {
    let home = Home::with(&["strict"]);
    let mut command = home.arena(&["run", "tiny", "--quick"]);
    for (name, value) in [
        ("FOOLS_GOLD_QUEUE_WAIT", "1ms"),
        ("RUBY_YJIT_ENABLE", "1"),
        ("RUBY_GC_HEAP_GROWTH_FACTOR", "1.1"),
        ("MALLOC_CONF", "thp:never"),
        ("MALLOC_ARENA_MAX", "2"),
        ("LD_BIND_NOW", "1"),
        ("RUBYOPT", "-W0"),
        ("BUNDLE_GEMFILE", "/nowhere/Gemfile"),
        ("DATABASE_URL", "postgresql://somebody@elsewhere/shop"),
    ] {
        command.env(name, value);
    }
    succeeded(&command.output().unwrap());
    let summary = home.summary();
    let result = &results(&summary)["strict"];
    assert!(result["disqualified"].is_null(), "{result}");
    // The options are in the record.
    let commands = summary["contenders"][0]["commands"].to_string();
    assert!(commands.contains("RACK_ENV=production") && commands.contains("PATH"), "{commands}");
}

/// The Ruby here may be built with YJIT or without: one in front of it says what it is.
#[test]
fn with_yjit_all_servers_get_it_and_a_ruby_without_it_is_refused() {
    let home = Home::with(&["good", "strict"]);
    let real = Command::new("sh").args(["-c", "command -v ruby"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let run = |compiles: &str, words: &[&str]| {
        let script = format!(
            "case \"$*\" in *RUBY_DESCRIPTION*) ;; *) exec {} \"$@\" ;; esac\n\
             echo \"ruby 9.8.7 (of today) +YJIT [here]\"\n\
             case \"$*\" in *enabled*) [ \"$RUBY_YJIT_ENABLE\" = 1 ] && echo {compiles} ;; esac",
            real.trim()
        );
        home.arena_beside("ruby", &script, words).output().unwrap()
    };
    let refused = run("not", &["run", "tiny", "--quick", "--yjit"]);
    assert!(!refused.status.success() && !home.path("arena/runs").exists(), "{}", said(&refused));
    let why = "--yjit: ruby 9.8.7 (of today) +YJIT [here] is built without YJIT";
    assert!(said(&refused).contains(why), "{}", said(&refused));
    let output = run("compiles", &["run", "tiny", "--quick", "--yjit"]);
    let summary = home.summary();
    let results = results(&summary);
    assert!(results["good"]["disqualified"].is_null(), "{}", said(&output));
    assert!(results["strict"]["disqualified"].to_string().contains("RUBY_YJIT_ENABLE"), "{}", results["strict"]);
    assert!(summary["contenders"][0]["commands"].to_string().contains("RUBY_YJIT_ENABLE=1"), "{summary}");
    assert!(summary["command"].as_str().unwrap().ends_with("--yjit"), "{summary}");
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains("ruby 9.8.7 (of today) +YJIT [here]"), "the page says which Ruby it was");
    let table = home.path("table.md");
    fs::write(&table, "<!-- arena:begin tiny -->\n<!-- arena:end tiny -->\n").unwrap();
    home.run(&["report", home.folder().to_str().unwrap(), "--splice", table.to_str().unwrap()]);
    let table = fs::read_to_string(table).unwrap();
    assert!(table.contains("ruby 9.8.7, with YJIT"), "{table}");
    let resumed = run("compiles", &["run", "--resume", home.folder().to_str().unwrap()]);
    assert!(said(&resumed).contains("with YJIT"), "another Ruby is refused: {}", said(&resumed));
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let home = Home::with(&["good"]);
    let mut first =
        home.arena(&["run", "tiny", "--seconds", "2"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let raw = || fs::read_to_string(home.folder().join("raw.jsonl")).unwrap_or_default();
    within(|| home.path("arena/runs").is_dir() && raw().lines().count() == 1, &mut first);
    first.kill().unwrap();
    first.wait().unwrap();
    // As if it had been killed in the middle of a line.
    let folder = home.folder();
    let torn = format!("{}{{\"case\":\"pa", raw());
    fs::write(folder.join("raw.jsonl"), torn).unwrap();
    let words = home.succeeds(&["run", "--resume", folder.to_str().unwrap()]);
    assert!(words.contains("dropped"), "{words}");
    let samples: Vec<Value> = raw().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Samples of the timed loads only: the server does not speak Rack, so no time is divided.
    let timed = samples.iter().filter(|sample| sample["undivided"].is_null());
    assert_eq!(timed.map(|sample| sample["round"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(results(&home.summary())["good"]["numbers"]["requests_per_s"]["all"].as_array().unwrap().len(), 2);
}

#[test]
fn runs_are_compared_reported_and_spliced() {
    let home = Home::with(&["good"]);
    let allocator = "[allocator]\ncommand = [\"echo\", \"jemalloc 5\"]\npattern = '(jemalloc)'\n";
    home.change("arena/contenders/good.toml", "[count]", &format!("{allocator}[count]"));
    home.succeeds(&["run", "tiny", "--quick"]);
    let folder = home.folder();
    let folder = folder.to_str().unwrap();
    let output = home.run(&["compare", folder, folder]);
    assert!(!output.status.success() && said(&output).contains("that is one run, twice"), "{}", said(&output));
    let other = home.path("arena/runs/other");
    fs::create_dir(&other).unwrap();
    fs::copy(home.folder().join("summary.json"), other.join("summary.json")).unwrap();
    let output = home.arena(&["compare", folder, other.to_str().unwrap()]).env("COLUMNS", "60").output().unwrap();
    assert!(said(&output).lines().filter(|line| line.contains('─')).all(|line| line.chars().count() <= 60));
    assert!(output.status.success() && said(&output).contains("good"), "{}", said(&output));
    let readme = home.path("README.md");
    fs::write(&readme, "# Us\n\n<!-- arena:begin tiny -->\nof yesterday\n<!-- arena:end tiny -->\n\nrest\n").unwrap();
    let file = readme.to_str().unwrap();
    let output = home.run(&["report", folder, "--splice", file, "--check"]);
    assert!(!output.status.success() && said(&output).contains("--splice"), "{}", said(&output));
    let output = home.run(&["report", folder, "--splice", file]);
    assert!(output.status.success() && said(&output).contains("shown with a mark: 1 round of at least 3; no"));
    let text = fs::read_to_string(&readme).unwrap();
    let mark = "**Not a run as METHOD.md wants it: 1 round of at least 3; no contender took part twice (no twin); \
                loads of 0.3 s, where the study has 0.5 s.**";
    assert!(text.contains(mark), "{text}");
    assert!(
        text.starts_with("# Us\n") && text.ends_with("rest\n") && text.contains("good") && !text.contains("yesterday"),
        "{text}"
    );
    assert!(home.run(&["report", folder, "--splice", file, "--check"]).status.success());
    // The settings are part of the record, too.
    assert!(text.contains("| 2 × 1 | ") && text.contains(" | jemalloc | "), "{text}");

    let name = home.folder().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(text.contains(&format!("[Run](arena/runs/{name})")), "{text}");
    let below = home.path("docs/benchmarks.md");
    fs::create_dir(below.parent().unwrap()).unwrap();
    fs::write(&below, "<!-- arena:begin tiny -->\n<!-- arena:end tiny -->\n").unwrap();
    assert!(home.run(&["report", folder, "--splice", below.to_str().unwrap()]).status.success());
    let text = fs::read_to_string(&below).unwrap();
    assert!(text.contains(&format!("[Run](../arena/runs/{name})")), "{text}");
}

#[test]
fn a_place_of_a_page_is_for_one_run() {
    let home = Home::with(&["good"]);
    home.succeeds(&["run", "tiny", "--quick"]);
    let first = home.folder();
    let second = home.path("arena/runs/9-second");
    assert!(Command::new("cp").arg("-r").args([&first, &second]).status().unwrap().success());
    let page = home.path("page.md");
    let place = |name: &str| format!("<!-- arena:begin {name} -->\nstale\n<!-- arena:end {name} -->\n");
    let [one, two, file] = [&first, &second, &page].map(|path| path.to_str().unwrap());
    // By the study both would stand there, and the last one did.
    fs::write(&page, place("tiny")).unwrap();
    let output = home.run(&["report", one, two, "--splice", file]);
    let error = said(&output);
    let why = format!("the place \"tiny\" is for one run, and both {one} and {two} would stand there");
    assert!(!output.status.success() && error.contains(&why), "{error}");
    assert_eq!(fs::read_to_string(&page).unwrap(), place("tiny"), "it is not changed");
    // The same one twice is no question.
    assert!(home.run(&["report", one, one, "--splice", file]).status.success());
    // Places of their own, even if the run is named by a path without its name.
    let name = first.file_name().unwrap().to_str().unwrap();
    fs::write(&page, place(name) + &place("9-second/p50_ms")).unwrap();
    let output = home.arena(&["report", ".", two, "--splice", file]).current_dir(&first).output().unwrap();
    let text = fs::read_to_string(&page).unwrap();
    assert!(output.status.success() && !text.contains("stale"), "{} {text}", said(&output));
    assert!(
        text.contains(&format!("[Run](arena/runs/{name})")) && text.contains("[Run](arena/runs/9-second)"),
        "{text}"
    );
    // What is wrong with a place is told with the page's name.
    fs::write(&page, place("9-second/worse/TYPO")).unwrap();
    let error = said(&home.run(&["report", two, "--splice", file]));
    let words = format!("{file}: the place \"9-second/worse/TYPO\": no name of an entry begins with \"TYPO\"");
    assert!(error.contains(&words), "{error}");
}

#[test]
fn what_comes_with_the_program_is_read_without_complaint() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_arena")).arg("--home").arg(&home).arg("list").output().unwrap();
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    for name in ["foolsgold", "puma", "passenger-apache", "prime-sums", "round-3", "scenarios"] {
        assert!(words.contains(name), "{name}: {words}");
    }
}
