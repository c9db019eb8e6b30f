//! A run that cannot work is refused at once, with a helpful message, and leaves nothing behind.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use super::{Home, said, study, succeeded, write_program};

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
    let duel = home.path("interrupted");
    fs::create_dir(&duel).unwrap();
    fs::write(duel.join("run.json"), "{ \"study\": \"duel\", \"command\": \"arena duel config.ru\" }").unwrap();
    let duel = duel.to_str().unwrap();
    refused(&["run", "--resume", duel], &format!("--resume {duel}: it is a duel, which cannot go on"));
    refused(&["report", duel], &format!("{duel}: it has no summary.json: the run is not at its end yet"));
    fs::write(home.path("arena/studies/other.toml"), study(&["good"], "hammer")).unwrap();
    refused(&["list"], "hammer");
    let twice = study(&["good", "good"], "ladder");
    fs::write(home.path("arena/studies/other.toml"), study(&["unheard-of"], "closed")).unwrap();
    refused(&["list"], "other.toml: contender unheard-of: there is no recipe unheard-of");
    fs::write(home.path("arena/studies/other.toml"), twice).unwrap();
    let output = home.run(&["list"]);
    let words = said(&output);
    assert!(words.contains("two contenders are named good") && words.contains("load_pct"), "{words}");
}

#[test]
fn what_is_refused_leaves_no_folder_behind() {
    let home = Home::with(&["good"]);
    let rackup = home.path("apps/tiny/config.ru").display().to_string();
    let challenger = home.path("arena/contenders/good.toml").display().to_string();
    let two = study(&["good"], "closed").replace(
        "contenders = [",
        "contenders = [{ recipe = \"good\", name = \"second\", workers = 1, threads = 1, in_quick = false }, ",
    );
    fs::write(home.path("arena/studies/two.toml"), two).unwrap();
    let rows: [(&[&str], &str); 24] = [
        (&["run", "two", "--must", "second", "--only", "good"], "--must second: it takes no part in this run"),
        (&["run", "two", "--must", "second", "--quick"], "--must second: it takes no part in this run, which has good"),
        (&["run", "two", "--must", "third"], "--must third: no chosen study has a contender of that name"),
        (&["run", "tiny", "--only", "zzz"], "--only zzz: tiny has good"),
        (&["run", "tiny", "--only", "good", "--without", "oo"], "--only good --without oo: tiny has good"),
        (&["run", "tiny", "--case", "zzz"], "--case zzz: tiny has page"),
        (&["run", "tiny", "--gemfile", "/nosuch"], "/nosuch"),
        (&["run", "all", "--only", "zzz"], "--only zzz: tiny has good; two has second, good"),
        // Beside a word that is in a name, one that is in none.
        (&["run", "tiny", "--only", "good", "--only", "second"], "--only second: tiny has good"),
        (&["run", "tiny", "--without", "zzz"], "--without zzz: tiny has good"),
        (&["run", "tiny", "--case", "page", "--case", "zzz"], "--case zzz: tiny has page"),
        (&["run", "tiny", "--case", "page@2"], "--case page@2: tiny has page"),
        // An empty word is part of each name.
        (&["run", "tiny", "--only", ""], "--only '': an empty word is part of each name: tiny has good"),
        (&["run", "tiny", "--without", ""], "--without '': an empty word is part of each name: tiny has good"),
        (&["run", "tiny", "--case", ""], "--case '': an empty word is part of each name: tiny has page"),
        (&["challenge", &challenger, "tiny", "--case", ""], "--case '': an empty word is part of each name: tiny has"),
        (&["duel", &rackup, "--contenders", ""], "there is no contender ``; there are good"),
        (&["challenge", &challenger, "tiny", "--by", "A.\nRival"], "in one line, without control characters"),
        // Of any study: this one is then without it.
        (&["run", "tiny", "--without", "second", "--without", "good"], "--without second --without good: tiny has"),
        (&["challenge", &challenger, "tiny", "--case", "page", "--case", "zzz"], "--case zzz: tiny has page"),
        (&["duel", &rackup, "--contenders", "zzz"], "there is no contender `zzz`; there are good"),
        (&["duel", &rackup, "--now", "apache"], "there is no contender `apache`; there are good"),
        (&["duel", &rackup, "--budget", "0.001"], "too short for 1 contender: give "),
        (&["duel", &rackup, "--gemfile", "/nosuch"], "/nosuch"),
    ];
    for (words, says) in rows {
        let output = home.run(words);
        let text = said(&output);
        assert!(!output.status.success() && text.contains(says), "{words:?}: {text}");
        assert!(!text.contains("what was measured") && !home.path("arena/runs").exists(), "{words:?}: {text}");
    }
}

#[test]
fn settings_of_today_that_the_server_cannot_have_are_refused_with_what_would_be_right() {
    let home = Home::with(&["good"]);
    let rackup = home.path("apps/tiny/config.ru").display().to_string();
    let text = fs::read_to_string(home.path("arena/contenders/good.toml")).unwrap();
    let recipe = |name: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        fs::write(home.path(&format!("arena/contenders/{name}.toml")), text.replacen(from, to, 1)).unwrap();
    };
    recipe("whole", "threads = \"it has none\"\n", "");
    recipe("alone", "threads =", "workers = \"it cannot fork\"\nthreads =");
    recipe("zero", "\"{{ workers }}\"", "\"{{ workers }}\", \"-w\", \"{{ workers if workers > 1 else 0 }}\"");
    let refusal = |now: &str| {
        // Too short for any duel: what is right gets as far as that.
        let output = home.run(&["duel", &rackup, "--contenders", "good", "--budget", "0.001", "--now", now]);
        assert!(!output.status.success() && !home.path("arena/runs").exists(), "{now}");
        said(&output)
    };
    for (now, says) in [
        ("good -w 2 -t 5", "--now \"good -w 2 -t 5\": good cannot have 5 threads (it has none): leave -t out"),
        ("good -w 0", "good has at least one worker: write -w 1"),
        ("alone -w 2 -t 1", "alone cannot have 2 workers (it cannot fork): leave -w out"),
        ("whole -w 2", "say how many threads a worker has, too: add -t N"),
        ("whole -t 5", "say how many workers it has, too: add -w N"),
        ("whole -w 2 -t 0", "-t 0: give a whole number from 1 to 1024"),
    ] {
        let words = refusal(now);
        assert!(words.contains(says), "{now}: {words}");
    }
    for now in [
        "good -w 2",
        "good -w 2 -t 1",
        "good -w 3 -t 1:1",
        "alone -w 0",
        "alone -t 1",
        "whole -w 2 -t 5:5",
        "zero -w 0",
    ] {
        let words = refusal(now);
        assert!(words.contains("a budget of 0.0 minutes is too short"), "{now}: {words}");
    }
}

#[test]
fn a_load_tool_that_is_missing_is_told_before_anything_is_started() {
    let home = Home::with(&["good"]);
    let none = home.path("nothing");
    fs::create_dir(&none).unwrap();
    let run = |words: &[&str]| said(&home.arena(words).env("PATH", &none).output().unwrap());
    for (tool, says) in [
        ("wrk", "tiny: wrk is not here; on Debian: apt install wrk. It loads page: without it, choose other cases"),
        ("ab", "tiny: ab is not here; on Debian: apt install apache2-utils. It loads page: "),
        ("siege", "tiny: siege is not here; on Debian: apt install siege. It loads page: "),
        // The arena's own loop: what is missing are the contenders.
        ("closed", "tiny: none of the contenders is here"),
    ] {
        fs::write(home.path("arena/studies/tiny.toml"), study(&["good"], tool)).unwrap();
        let words = run(&["run", "tiny"]);
        assert!(words.contains(says) && !home.path("arena/runs").exists(), "{tool}: {words}");
    }
    let words = run(&["list"]);
    assert!(words.contains("missing: siege is not here; on Debian: apt install siege"), "{words}");
}

#[test]
fn a_run_goes_on_only_as_it_began_and_for_one_program() {
    let home = Home::with(&["good"]);
    assert!(home.run(&["run", "tiny", "--quick"]).status.success());
    let folder = home.folder();
    let path = folder.display().to_string();
    let resumed = || said(&home.run(&["run", "--resume", &path]));
    // A finished run is summarized again, but not under other servers.
    let recipe = "arena/contenders/good.toml";
    home.change(recipe, "ready_s = 10", "ready_s = 9");
    let before = fs::read(folder.join("summary.json")).unwrap();
    let words = resumed();
    assert!(words.contains("it is whole, and was measured with others") && words.contains("others: good"), "{words}");
    assert_eq!(fs::read(folder.join("summary.json")).unwrap(), before, "its figures are still those of what was there");
    fs::remove_file(folder.join("summary.json")).unwrap();
    let words = resumed();
    assert!(words.contains(&format!("--resume {path}: what is left cannot be measured")), "{words}");
    assert!(words.contains("these recipes were others: good") && !words.contains("the servers came from"), "{words}");
    home.change(recipe, "ready_s = 9", "ready_s = 10");
    let put = |file: &str, from: &str, to: &str| home.change(folder.join(file), from, to);
    put("run.json", "\"this machine\"", "\"a ring\"");
    put("who.json", "\"version\": \"", "\"version\": \"0.");
    let words = resumed();
    assert!(words.contains("the servers came from a ring, now they come from this machine"), "{words}");
    assert!(words.contains("good was 0.") && words.contains(", now it is "), "{words}");
    let gone = folder.join("summary.json");
    fs::write(&gone, &before).unwrap();
    assert!(resumed().contains("it is whole") && resumed().contains("the servers came from a ring"), "{}", resumed());
    assert_eq!(fs::read(&gone).unwrap(), before);
    put("run.json", "\"a ring\"", "\"this machine\"");
    put("who.json", "\"version\": \"0.", "\"version\": \"");
    let who = fs::read(folder.join("who.json")).unwrap();
    fs::remove_file(folder.join("who.json")).unwrap();
    assert!(resumed().contains("who.json: it lacks good, of which raw.jsonl has samples"), "{}", resumed());
    fs::write(folder.join("who.json"), who).unwrap();
    // A run of a program that did not write down where its servers came from is not gone on with.
    let plan = fs::read_to_string(folder.join("run.json")).unwrap();
    let mut old: serde_json::Value = serde_json::from_str(&plan).unwrap();
    old.as_object_mut().unwrap().remove("origin").expect("an origin");
    fs::write(folder.join("run.json"), old.to_string()).unwrap();
    let words = resumed();
    assert!(words.contains("its run.json does not say where its servers came from"), "{words}");
    assert_eq!(fs::read(&gone).unwrap(), before);
    fs::write(folder.join("run.json"), plan).unwrap();
    let held = fs::File::open(&folder).unwrap();
    held.lock().unwrap();
    assert!(resumed().contains("another arena is writing there"), "{}", resumed());
    let words = said(&home.run(&["report", &path]));
    assert!(words.contains("another arena is writing there"), "{words}");
    drop(held);
    assert!(home.run(&["report", &path]).status.success());
    let words = said(&home.run(&["run", "--resume", &path, "--must", "goof"]));
    assert!(words.contains("--must goof: it takes no part in this run, which has good"), "{words}");
    assert!(resumed().contains("run folder: "), "{}", resumed());
}

#[test]
fn a_finished_run_that_lost_samples_is_not_summarized_again_and_its_page_says_so() {
    let home = Home::with(&["good", "slow"]);
    home.succeeds(&["run", "tiny", "--quick"]);
    let (raw, path) = (home.folder().join("raw.jsonl"), home.folder().display().to_string());
    let whole = fs::read_to_string(&raw).unwrap();
    let before = home.summary();
    let refused = |what: &str| {
        let output = home.run(&["run", "--resume", &path]);
        let printed = said(&output);
        let words = format!("its raw.jsonl lacks {what}");
        let is_named = printed.contains(&format!("--resume {path}: {words}"));
        assert!(!output.status.success() && is_named, "{words}: {printed}");
        assert!(printed.contains(", and a new summary would lose that. Put the whole raw.jsonl back; or"), "{printed}");
        assert_eq!(home.summary(), before);
        home.succeeds(&["report", &path]);
        let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
        assert!(page.contains(&words), "{words}");
    };
    fs::write(&raw, "").unwrap();
    refused("2 samples that its summary.json shows, such as good in page, round 1");
    let kept: Vec<&str> = whole.lines().filter(|line| !line.contains("\"contender\":\"slow\"")).collect();
    fs::write(&raw, format!("{}\n", kept.join("\n"))).unwrap();
    refused("1 sample that its summary.json shows: slow in page, round 1");
    fs::write(&raw, &whole[..whole.len() - 20]).unwrap();
    refused("");
    assert_eq!(fs::read_to_string(&raw).unwrap().len(), whole.len() - 20, "what is refused changes nothing");
    fs::remove_file(&raw).unwrap();
    refused("2 samples that its summary.json shows, such as good in page, round 1");
    fs::write(&raw, &whole).unwrap();
    home.succeeds(&["run", "--resume", &path]);
}

#[test]
fn a_run_goes_on_without_what_its_study_got_since() {
    let home = Home::with(&["good", "early"]);
    let file = home.path("arena/studies/tiny.toml");
    fs::write(&file, study(&["good"], "closed")).unwrap();
    home.succeeds(&["run", "tiny", "--quick"]);
    let (raw, path) = (home.folder().join("raw.jsonl"), home.folder().display().to_string());
    let before = fs::read_to_string(&raw).unwrap();
    let more = "[[case]]\nname = \"more\"\ntitle = \"More\"\ntool = \"closed\"\npath = \"/\"\n\
                expect = { exactly = \"right\\n\" }\n";
    fs::write(&file, study(&["early", "good"], "closed") + more).unwrap();
    let resumed = || {
        home.succeeds(&["run", "--resume", &path]);
        let summary = home.summary();
        let who = summary["contenders"].as_array().unwrap();
        assert_eq!(who.iter().map(|who| who["name"].as_str().unwrap()).collect::<Vec<_>>(), ["good"]);
        fs::read_to_string(&raw).unwrap()
    };
    assert_eq!(resumed(), before, "it is whole, and only summarized again");
    // An interrupted one is measured to its end with those with which it began.
    fs::remove_file(home.folder().join("summary.json")).unwrap();
    fs::write(&raw, "").unwrap();
    let after = resumed();
    assert!(after.contains("\"contender\":\"good\"") && !after.contains("\"contender\":\"early\""), "{after}");
}

#[test]
fn a_run_goes_on_only_with_the_build_and_on_the_machine_with_which_it_began() {
    let home = Home::with(&["good"]);
    home.change("arena/contenders/good.toml", "programs = [\"ruby\"]", "programs = [\"ruby\", \"foolsgold\"]");
    // It is only asked for its version, which is always the same.
    let program = home.path("foolsgold");
    let build = |what: &str| write_program(&program, &format!("echo foolsgold 0.0.1 # {what}"));
    build("a build");
    let named = program.display().to_string();
    let run = |words: &[&str]| home.run(&[words, &["--foolsgold", &named]].concat());
    succeeded(&run(&["run", "tiny", "--quick"]));
    let folder = home.folder();
    let path = folder.display().to_string();
    let resumed = || said(&run(&["run", "--resume", &path]));
    let whole = fs::read(folder.join("summary.json")).unwrap();
    let interrupt = || fs::remove_file(folder.join("summary.json")).unwrap();
    interrupt();
    // The same path, and the same version.
    build("b build");
    let words = resumed();
    assert!(words.contains("what is left cannot be measured"), "{words}");
    assert!(words.contains("foolsgold was another build (--foolsgold)"), "{words}");
    build("a build");
    let plan = fs::read_to_string(folder.join("run.json")).unwrap();
    let put = |name: &str, value: &str| {
        let mut plan: Value = serde_json::from_str(&plan).unwrap();
        let facts = plan["origin"]["machine"].as_array_mut().unwrap();
        let fact = facts.iter_mut().find(|fact| fact[0] == name).unwrap_or_else(|| panic!("no {name}"));
        fact[1] = value.into();
        fs::write(folder.join("run.json"), plan.to_string()).unwrap();
    };
    put("kernel", "Another 1.0");
    let words = resumed();
    assert!(words.contains("kernel: it was Another 1.0, now it is "), "{words}");
    // Of a whole run nothing more is measured.
    fs::write(folder.join("summary.json"), whole).unwrap();
    assert!(resumed().contains("run folder: "), "{}", resumed());
    interrupt();
    put("load before", "0.01, 0.02, 0.03");
    assert!(resumed().contains("run folder: "), "{}", resumed());
    let machine = home.summary()["machine"].to_string();
    assert!(machine.contains("0.01, 0.02, 0.03"), "the facts are those of the beginning: {machine}");
}

#[test]
fn recipes_that_no_run_could_use_are_told_all_at_once() {
    let home = Home::with(&["good"]);
    let good = study(&["good"], "closed");
    let write = |name: &str, from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        fs::write(home.path(&format!("arena/studies/{name}.toml")), good.replacen(from, to, 1)).unwrap();
    };
    write("no-app", "app = \"tiny\"", "app = \"nope\"");
    write("far-app", "app = \"tiny\"", "app = \"../../..\"");
    write("no-file", "threads = 1", "threads = 1, rackup = \"none.ru\"");
    write("nobody", "contenders = [{ recipe = \"good\", workers = 2, threads = 1 }]", "contenders = []");
    write("unpublished", "app = \"tiny\"", "app = \"tiny\"\npublished = \"nope\"");
    write("stranger", "threads = 1", "threads = 1, published = \"x\"");
    write("many", "workers = 2", "workers = 999999999");
    write("twice", "\"p99_ms\"", "\"requests_per_s\"");
    write("unknown", "\"p99_ms\"", "\"p98_ms\"");
    write("broken", "title = \"Tiny\"", "title = ");
    write("sent", "tool = \"closed\"", "tool = \"ab\"\nsend_bytes = 0");
    write("uneven", "tool = \"closed\"", "tool = \"uneven\"\nper_s = 0\nlong_pct = 100");
    write("stuck", "tool = \"closed\"", "tool = \"stuck\"\nstuck_path = \"/\"");
    write("paused", "tool = \"closed\"", "tool = \"siege-once\"");
    write("idle", "tool = \"closed\"", "tool = \"idle-connections\"");
    write("two-rules", "expect = { ", "expect = { length = 1, ");
    let verdict = "[[verdict]]\nuse_case = \"all\"\ncases = []\n[[case]]";
    write("no-case", "[[case]]", verdict);
    let recipe = fs::read_to_string(home.path("arena/contenders/good.toml")).unwrap();
    let odd = recipe.replace("name = \"good\"", "name = \"../odd\"");
    fs::write(home.path("arena/contenders/odd.toml"), odd).unwrap();
    let text = "[study.tiny]\nresult = [{ server = \"y\" }, { requests = 1 }]\n";
    fs::write(home.path("arena/published.toml"), text).unwrap();
    let words = said(&home.run(&["list"]));
    for row in [
        "no-app.toml: app: there is no folder ",
        "far-app.toml: app: \"../../..\" is no plain name",
        "no-file.toml: app: there is no none.ru in ",
        "nobody.toml: contenders is empty",
        "many.toml: contender good: workers is 999999999: a whole number from 1 to 512",
        "twice.toml: metrics: requests_per_s stands there twice",
        "unknown.toml: metrics: there is no metric p98_ms; there are requests_per_s, ",
        "broken.toml: TOML parse error at line 2, column 9",
        "sent.toml: case page: send_bytes belongs to closed: the other tools send no body",
        "sent.toml: case page: send_bytes: a whole number from 1 to 16777216",
        "uneven.toml: case page: long_path, long_expect and long_pct belong to uneven, which needs all three",
        "uneven.toml: case page: per_s is a number above 0, at most 1000000",
        "stuck.toml: case page: stuck_path and stuck_expect belong to stuck, which needs both",
        "paused.toml: case page: requests_per_s would rank it, and is no merit of a server under this tool",
        "stuck.toml: case page: per_s belongs to uneven, slow-clients and stuck, which need it",
        "uneven.toml: case page: long_pct is a number from 1 to 99",
        "idle.toml: case page: connections belongs to idle-connections, which needs it: how many there are",
        "two-rules.toml: case page: expect has one of exactly, contains, matches and length",
        "no-case.toml: verdict \"all\".cases is empty: name at least one case of page",
        "odd.toml: process.name: \"../odd\" is no plain name",
        "published.toml: study.tiny: row 2 of result has no server",
    ] {
        assert!(words.contains(row), "{row}\n{words}");
    }
    fs::write(home.path("arena/published.toml"), "[study.tiny]\nresult = [{ server = \"y\" }]\n").unwrap();
    let tiny = good.replace("app = \"tiny\"", "app = \"tiny\"\npublished = \"tiny\"");
    let stranger = tiny.replace("threads = 1", "threads = 1, published = \"x\"");
    fs::write(home.path("arena/studies/stranger.toml"), stranger).unwrap();
    let words = said(&home.run(&["list"]));
    for row in
        ["published: published.toml has no [study.nope]; it has tiny", "contender good: published has y, and no x"]
    {
        assert!(words.contains(row), "{row}\n{words}");
    }
    fs::write(home.path("arena/published.toml"), "[study.tiny\n").unwrap();
    let words = said(&home.run(&["list"]));
    assert!(words.contains("published.toml: TOML parse error at line 1") && !words.contains("study.nope"), "{words}");
}

#[test]
fn what_is_given_wrongly_is_named() {
    let home = Home::with(&["good"]);
    let rackup = home.path("apps/tiny/config.ru").display().to_string();
    let gemfile = home.path("Gemfile");
    fs::write(&gemfile, "raise 'this bundle is broken'\n").unwrap();
    let gemfile = gemfile.to_str().unwrap();
    let rows: [(&[&str], &[&str]); 18] = [
        (&["report", "run", "--splice", "a.md", "--index", "b.html"], &["cannot be used with"]),
        (&["list", "--foolsgold", "/no/such"], &["--foolsgold /no/such: there is no such program"]),
        (&["list", "--foolsgold", "/bin/ls"], &["--foolsgold /bin/ls: it is no foolsgold: --version "]),
        (&["list", "--gemfile", gemfile], &["Bundler says", "this bundle is broken"]),
        (&["run", "tiny", "--rounds", "-1"], &["'-1' for '--rounds <N>': it is a whole number from 1 to 100"]),
        (&["run", "tiny", "--seconds", "-1"], &["it is a number above 0"]),
        (&["run", "tiny", "--seed", "-1"], &["it is a whole number, 0 or more"]),
        (&["duel", &rackup, "--p99", "-1"], &["it is a number above 0"]),
        (&["duel", &rackup, "--rate", "0"], &["it is a number of requests per second above 0"]),
        (&["duel", &rackup, "--rate", "fast"], &["such as 120 or 0.5"]),
        (&["duel", &rackup, "--rate", "1e9"], &["cannot send more than 100000"]),
        (&["duel", &rackup, "--rate", "0.001"], &["below 0.1/s even a load of 200 s has fewer than 20 requests"]),
        (&["duel", &rackup, "http://[::1"], &["has no host that could be asked"]),
        (&["duel", &rackup, "POST / body=@/dev/zero"], &["/dev/zero: it is no plain file"]),
        (&["duel", &rackup, "--urls", "/dev/zero"], &["/dev/zero: it is no plain file"]),
        (&["duel", &rackup, "--log", "/dev/zero"], &["/dev/zero: line 1 does not end"]),
        (&["duel", "/etc/passwd"], &["/etc/passwd: it is no rackup file, whose name ends in .ru"]),
        (&["report", gemfile], &["Gemfile is a file: give the run's folder, "]),
    ];
    for (words, says) in rows {
        let output = home.run(words);
        let text = said(&output);
        assert!(!output.status.success() && says.iter().all(|part| text.contains(part)), "{words:?}: {text}");
        assert!(!text.contains("tip:"), "{text}");
    }
    let said = said(&home.arena(&["duel", &rackup, "--log", "-"]).output().unwrap());
    assert!(said.contains("reading the access log from standard input") && said.contains("it is empty"), "{said}");
}

#[test]
fn help_is_given_however_it_is_asked_for() {
    let home = Home::with(&[]);
    let of = |words: &[&str]| {
        let output = home.run(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", said(&output));
        said(&output)
    };
    let whole = of(&["--help"]);
    assert!(whole.contains("duel ") && whole.contains("help ") && whole.contains("--home <FOLDER>"), "{whole}");
    for words in [&["help"][..], &["-h"], &["help", "--help"], &["help", "-h"], &["help", "help"]] {
        assert_eq!(of(words), whole, "{words:?}");
    }
    let duel = of(&["duel", "--help"]);
    assert!(duel.contains("--budget <MINUTES>") && duel != whole, "{duel}");
    for words in [&["help", "duel"][..], &["help", "duel", "--help"], &["help", "--help", "duel"]] {
        assert_eq!(of(words), duel, "{words:?}");
    }
    let output = home.run(&["help", "duell"]);
    assert!(!output.status.success() && said(&output).contains("unrecognized subcommand 'duell'"), "{}", said(&output));
}

#[test]
fn another_word_than_no_does_not_decide_on_real_time_priority() {
    let home = Home::with(&["good"]);
    let list = |value: &str| home.arena(&["list"]).env("ARENA_REAL_TIME", value).output().unwrap();
    let output = list("0");
    assert!(!output.status.success() && said(&output).contains("ARENA_REAL_TIME=0: only `no` is a value"));
    assert!(list("no").status.success() && list("").status.success());
}

#[test]
fn a_reader_who_leaves_is_no_error_and_a_full_disk_is_named() {
    let home = Home::with(&["good"]);
    let mut child = home.arena(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(child.wait().unwrap().success() && words.is_empty(), "{words}");
    let full = fs::File::create("/dev/full").unwrap();
    let output = home.arena(&["list"]).stdout(full).output().unwrap();
    assert!(!output.status.success() && said(&output).contains("standard output: No space left"), "{}", said(&output));
}

#[test]
fn names_of_any_length_stand_in_line() {
    let home = Home::with(&["good", "absent"]);
    let recipe = fs::read_to_string(home.path("arena/contenders/good.toml")).unwrap();
    let of = recipe.replace("pattern = 'ruby", "of = \"Ruby\"\npattern = 'ruby");
    fs::write(home.path("arena/contenders/good-with-a-rather-long-name.toml"), of).unwrap();
    let words = said(&home.run(&["list"]));
    let column =
        |mark: &str| words.lines().find_map(|line| line.find(mark)).unwrap_or_else(|| panic!("{mark}: {words}"));
    let line = words.lines().find(|line| line.contains("good-with")).unwrap();
    assert_eq!(line.find("Ruby "), Some(column("missing: ")), "{words}");
    assert_eq!(column("Who answers?"), column("missing: "), "{words}");
}
