//! What cannot be run is refused at once, in words that help, and leaves nothing behind.

use std::fs;

use super::{Home, said, study};

#[test]
fn what_is_wrong_is_said_at_once() {
    let home = Home::with(&["good"]);
    let refused = |words: &[&str], says: &str| {
        let output = home.run(words);
        assert!(!output.status.success() && said(&output).contains(says), "{words:?}: {}", said(&output));
    };
    refused(&["run", "nothing"], "there are tiny");
    refused(&["run", "tiny", "--only", "bad"], "tiny has good");
    refused(&["run", "tiny", "--case", "bad"], "tiny has page");
    refused(&["run", "tiny", "--rounds", "0"], "from 1 to 100");
    refused(&["run", "--resume", "/tmp"], "no run's folder");
    refused(&["compare", "/tmp", "/tmp"], "no run's folder");
    fs::write(home.path("arena/studies/other.toml"), study(&["good"], "hammer")).unwrap();
    refused(&["list"], "hammer");
    let twice = study(&["good", "good"], "ladder");
    fs::write(home.path("arena/studies/other.toml"), study(&["unheard-of"], "closed")).unwrap();
    refused(&["list"], "other: there is no contender unheard-of");
    fs::write(home.path("arena/studies/other.toml"), twice).unwrap();
    let output = home.run(&["list"]);
    let words = said(&output);
    assert!(words.contains("two contenders are named good") && words.contains("load_pct"), "{words}");
}

#[test]
fn what_is_refused_leaves_no_folder_behind() {
    let home = Home::with(&["good"]);
    let rackup = home.path("apps/tiny/config.ru").display().to_string();
    let rows: [(&[&str], &str); 8] = [
        (&["run", "tiny", "--only", "zzz"], "--only zzz: tiny has good"),
        (&["run", "tiny", "--case", "zzz"], "--case zzz: tiny has page"),
        (&["run", "tiny", "--gemfile", "/nosuch"], "/nosuch"),
        (&["run", "all", "--only", "zzz"], "--only zzz: tiny has good"),
        (&["duel", &rackup, "--contenders", "zzz"], "there is no contender `zzz`; there are good"),
        (&["duel", &rackup, "--now", "apache"], "there is no contender `apache`; there are good"),
        (&["duel", &rackup, "--budget", "0.001"], "too short for 1 contenders"),
        (&["duel", &rackup, "--gemfile", "/nosuch"], "/nosuch"),
    ];
    for (words, says) in rows {
        let output = home.run(words);
        let told = said(&output);
        assert!(!output.status.success() && told.contains(says), "{words:?}: {told}");
        assert!(!told.contains("what was measured") && !home.path("arena/runs").exists(), "{words:?}: {told}");
    }
}

#[test]
fn a_run_goes_on_only_as_it_began_and_for_one_program() {
    let home = Home::with(&["good"]);
    assert!(home.run(&["run", "tiny", "--quick"]).status.success());
    let folder = home.folder();
    let path = folder.display().to_string();
    let resumed = || said(&home.run(&["run", "--resume", &path]));
    // A whole run is only summed up again, whatever has changed.
    let recipe = home.path("arena/contenders/good.toml");
    let text = fs::read_to_string(&recipe).unwrap();
    fs::write(&recipe, text.replace("ready_s = 2", "ready_s = 9")).unwrap();
    assert!(resumed().contains("run folder: "), "{}", resumed());
    fs::remove_file(folder.join("summary.json")).unwrap();
    let words = resumed();
    assert!(words.contains(&format!("--resume {path}: what is left cannot be measured")), "{words}");
    assert!(words.contains("these recipes were others: good") && !words.contains("the servers came from"), "{words}");
    fs::write(&recipe, text).unwrap();
    let put = |file: &str, from: &str, to: &str| {
        let file = folder.join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        fs::write(file, text.replacen(from, to, 1)).unwrap();
    };
    put("run.json", "\"this machine\"", "\"a ring\"");
    put("who.json", "\"version\": \"", "\"version\": \"0.");
    let words = resumed();
    assert!(words.contains("the servers came from a ring, now they come from this machine"), "{words}");
    assert!(words.contains("good was 0.") && words.contains(", now it is "), "{words}");
    put("run.json", "\"a ring\"", "\"this machine\"");
    put("who.json", "\"version\": \"0.", "\"version\": \"");
    let held = fs::File::open(&folder).unwrap();
    held.lock().unwrap();
    assert!(resumed().contains("another arena is writing there"), "{}", resumed());
    drop(held);
    assert!(resumed().contains("run folder: "), "{}", resumed());
}
