//! `arena challenge`: a user's recipe takes part in a study.

use std::fs;

use serde_json::Value;

use super::{Home, contender, results, said};

fn names(summary: &Value) -> Vec<&str> {
    summary["contenders"].as_array().unwrap().iter().map(|who| who["name"].as_str().unwrap()).collect()
}

#[test]
fn a_challenger_meets_ours_of_the_same_server_under_the_same_rules() {
    let home = Home::with(&["good", "wrong"]);
    let theirs = home.path("good.toml");
    fs::write(&theirs, contender("good").replace("title = \"good\"", "title = \"Good\"")).unwrap();
    let file = theirs.display().to_string();
    home.succeeds(&["challenge", &file, "tiny", "--quick", "--by", "A. Rival", "-w", "1"]);
    let summary = home.summary();
    assert_eq!(names(&summary), ["good-challenge", "good"], "wrong was not challenged");
    let who = &summary["contenders"][0];
    assert_eq!((who["title"].as_str().unwrap(), who["workers"].as_u64()), ("Good, as A. Rival sets it", Some(1)));
    assert!(who["notes"].to_string().contains("a challenge of A. Rival"), "{who}");
    let results = results(&summary);
    assert!(results.values().all(|result| result["disqualified"].is_null()), "{results:?}");
    assert_eq!(summary["command"], "arena challenge good.toml tiny --by \"A. Rival\" --workers 1 --quick");
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(
        page.contains("as A. Rival sets it") && page.contains("not the arena&#x27;s"),
        "the report says whose it is"
    );
    // The run folder contains the recipe; the file is no longer needed.
    fs::remove_file(theirs).unwrap();
    let folder = home.folder().display().to_string();
    home.succeeds(&["run", "--resume", &folder]);
}

#[test]
fn a_challenger_that_answers_wrongly_is_disqualified_and_the_exit_code_says_so() {
    let home = Home::with(&["good"]);
    let theirs = home.path("mine.toml");
    fs::write(&theirs, contender("wrong")).unwrap();
    let file = theirs.display().to_string();
    let output = home.run(&["challenge", &file, "tiny", "--quick", "--against", "good"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let summary = home.summary();
    assert_eq!(names(&summary), ["mine", "good"]);
    assert!(results(&summary)["mine"]["disqualified"].is_string());
}

#[test]
fn a_challenge_that_goes_on_is_judged_as_at_its_beginning() {
    let home = Home::with(&["good"]);
    let theirs = home.path("mine.toml");
    fs::write(&theirs, contender("liar")).unwrap();
    let file = theirs.display().to_string();
    let output = home.run(&["challenge", &file, "tiny", "--quick", "--against", "good"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let folder = home.folder().display().to_string();
    let again = home.run(&["run", "--resume", &folder]);
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    assert!(said(&again).contains("tiny: mine in page: "), "{}", said(&again));
}

#[test]
fn a_challenge_that_cannot_be_run_says_why_and_leaves_no_folder() {
    let home = Home::with(&["good"]);
    let written = |name: &str, text: &str| {
        fs::write(home.path(name), text).unwrap();
        home.path(name).display().to_string()
    };
    let good = written("good.toml", &contender("good"));
    let odd = written("odd.toml", &contender("good").replace("ready_s = 10", "ready = 10"));
    let text = written("good.txt", "");
    let other = written("other.toml", &contender("good"));
    for (words, says) in [
        (vec!["challenge", &good, "nothing"], "there are tiny"),
        (vec!["challenge", &good, "tiny", "--against", "puma"], "--against puma: tiny has good"),
        (vec!["challenge", &other, "tiny"], "whom does it challenge? --against NAME: tiny has good"),
        (vec!["challenge", &odd, "tiny"], "odd.toml: TOML parse error"),
        (vec!["challenge", &text, "tiny"], "a recipe is a file NAME.toml"),
        (vec!["challenge", "/nosuch.toml", "tiny"], "/nosuch.toml: No such file"),
        (vec!["challenge", &good, "tiny", "-w", "0"], "workers is 0: a whole number from 1 to 512"),
        (vec!["challenge", &good, "tiny", "--case", "zzz"], "--case zzz: tiny has page"),
    ] {
        let output = home.run(&words);
        let text = said(&output);
        assert!(!output.status.success() && text.contains(says), "{words:?}: {text}");
        assert!(!home.path("arena/runs").exists(), "{words:?}: {text}");
    }
}
