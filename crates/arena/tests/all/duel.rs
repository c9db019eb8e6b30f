//! A whole duel, with turns of less than a second, on an application with constant, varying, redirecting and missing
//! pages; further an application that fails, and missing servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arena::duel::plan::DuelPlan;
use arena::duel::request::DuelRequest;
use arena::duel::{DuelOptions, Listener, Now, TimeLeft, run, urls};
use arena::environment::EnvironmentOptions;
use arena::record::Sample;

use super::foolsgold;

const PLAN: DuelPlan = DuelPlan {
    settings: 2,
    first_heat_s: 0.3,
    second_heat_s: 0.3,
    warm_s: 0.3,
    capacity_s: 0.4,
    open_s: 0.4,
    loads: 3,
    rounds: 2,
    answer_s: 10.0,
    apart_s: 1.1,
    traffic: None,
};

const APP: &str = r#"
# An application with answers of all kinds.
require "securerandom"

run lambda { |env|
  html = { "content-type" => "text/html" }
  case env["PATH_INFO"]
  when "/" then [200, html, ["<h1>hello</h1>"]]
  when "/form" then [200, html, ["<form><input value='#{SecureRandom.hex}'><p>the rest of the page</p></form>"]]
  when "/old" then [302, { "location" => "/" }, []]
  when "/clock" then [200, html, ["<p>it is about #{Time.now.to_i / 4} now, and this is the rest of the page</p>"]]
  when "/slow" then sleep(0.005); [200, html, ["slept"]]
  when "/hang" then sleep
  when "/broken" then [500, html, ["no"]]
  else [404, html, ["not here"]]
  end
}
"#;

#[derive(Default)]
pub struct Heard {
    pub words: Vec<String>,
    pub steps: Vec<TimeLeft>,
    pub samples: Vec<Sample>,
    /// Beginning of the name of a phase, and the time before which it does not begin, as if the machine had been slow
    /// until then.
    pub held_until: Option<(&'static str, Instant)>,
}

impl Listener for Heard {
    fn says(&mut self, words: &str) {
        self.words.push(words.to_owned());
    }

    fn left(&mut self, left: &TimeLeft) {
        self.steps.push(left.clone());
        let until = self.held_until.filter(|(phase, _)| left.what.starts_with(phase));
        while let Some(still) = until.and_then(|(_, until)| until.checked_duration_since(Instant::now())) {
            thread::park_timeout(still);
        }
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), String> {
        self.samples.push(sample.clone());
        Ok(())
    }
}

/// Serializes tests that measure or depend on time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn options(folder: &Path, paths: &[&str], contenders: &[&str]) -> DuelOptions {
    fs::write(folder.join("config.ru"), APP).unwrap();
    let logs = folder.join("logs");
    fs::create_dir_all(&logs).unwrap();
    let words: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    DuelOptions {
        rackup: folder.join("config.ru"),
        environment: EnvironmentOptions { foolsgold: foolsgold(), ..EnvironmentOptions::default() },
        recipes: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../arena/contenders"),
        contenders: contenders.iter().map(|name| (*name).to_owned()).collect(),
        asked: urls::from_words(&words, folder).unwrap(),
        workload: Vec::new(),
        is_recorded: false,
        rate: None,
        now: None,
        p99_max_ms: None,
        plan: PLAN,
        is_quick: true,
        budget_minutes: None,
        env: BTreeMap::new(),
        k6: None,
        logs,
        seed: 7,
        command: "arena duel".to_owned(),
    }
}

#[test]
fn two_servers_are_compared_and_one_is_recommended() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    // Where our own program has not been built, another one stands in.
    let other = if foolsgold().is_some() { "foolsgold" } else { "thin" };
    let mut options = options(folder.path(), &["/*3", "/form", "/old", "/none", "/slow", "/clock"], &[other]);
    options.now = Some(Now::parse("puma -w 1 -t 3").unwrap());
    // Too short for a trend.
    options.plan.warm_s = 0.15;
    let mut heard = Heard::default();
    // Other tests run beside this one, with servers that need the processors.
    loadgen::forbid_real_time();
    let summary = run(&options, &mut heard).unwrap_or_else(|error| panic!("{error}\n{:#?}", heard.words));
    let shown = || format!("{:#?}\n{summary:#?}", heard.words);

    let names: Vec<&str> = summary.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["settings", "capacity", "load-50", "load-80", "load-100"], "{}", shown());
    for case in &summary.cases[1..] {
        let counting = case.results.iter().filter(|one| one.disqualified.is_none());
        assert!(counting.clone().any(|one| one.contender == "puma -w 1 -t 3"), "{}", shown());
        // On a busy machine the load generator may be late, and then no latency is shown.
        let is_whole =
            |name: &str| counting.clone().all(|one| one.numbers.get(name).is_none_or(|all| all.all.len() == 2));
        assert!(is_whole("p99_ms") && is_whole("requests_per_s"), "{}", shown());
        assert!(counting.clone().all(|one| one.numbers["cpu_us_per_request"].median > 0.0), "{}", shown());
        let unsettled = "for 2 of 2 rounds it is not known whether the rate had settled before the load";
        let is_told = |remarks: &[String]| remarks.iter().any(|remark| remark.starts_with(unsettled));
        assert!(counting.clone().all(|one| is_told(&one.remarks)), "{}", shown());
    }
    // If much slower than the other it would not be in the rounds.
    let tried = &summary.cases[0].results;
    assert!(tried.iter().any(|one| one.contender.starts_with(other) && one.disqualified.is_none()), "{}", shown());
    let advice = summary.advice.as_ref().unwrap();
    assert!(advice.sentence.contains("for this app on this machine, "), "{advice:?}");
    assert!(!advice.command.is_empty() && !advice.reasons.is_empty() && advice.uncertainty.len() >= 4, "{advice:?}");
    let words = heard.words.join("\n");
    assert!(words.contains("1 of 6 requests gets no page: GET /old only leads to / (302)"), "{words}");
    for part in ["GET /form: 200, a page of HTML", "one place that varies", "GET /old: 302, to /", "GET /none: 404"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let who = summary.contenders.iter().find(|who| who.name == "puma -w 1 -t 3").unwrap();
    assert_eq!((who.counted_workers, who.counted_threads), (Some(1), Some(3)), "{who:?}");
    assert!(heard.steps.iter().any(|step| step.what.starts_with("round 2 of 2")) && heard.steps[0].seconds > 0.0);
    // Both rounds, and all contenders in them.
    let of_load_80 =
        |name: &str| heard.samples.iter().filter(|one| one.case == "load-80" && one.contender == name).count();
    let counted = summary.cases[3].results.iter().filter(|one| one.disqualified.is_none());
    assert!(counted.clone().all(|one| of_load_80(&one.contender) >= 2), "{}", shown());
    assert!(summary.is_quick && summary.plots.len() == 4 && !summary.verdicts.is_empty());
}

#[test]
fn an_application_that_fails_is_refused_with_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(&options(folder.path(), &["/", "/broken"], &["puma"]), &mut Heard::default()).unwrap_err();
    assert!(error.contains("GET /broken is answered with 500") && error.contains("puma"), "{error}");
}

#[test]
fn a_log_may_hold_paths_that_are_answered_otherwise_here() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path(), &["/*9 status=200", "/broken", "/old status=200"], &["puma"]);
    options.is_recorded = true;
    options.plan = DuelPlan { settings: 1, second_heat_s: 0.0, rounds: 1, ..PLAN };
    let mut heard = Heard::default();
    loadgen::forbid_real_time();
    let summary = run(&options, &mut heard).unwrap();
    let words = heard.words.join("\n");
    assert!(words.contains("left out (2): "), "{words}");
    let advice = summary.advice.unwrap();
    assert!(advice.sentence.contains("nobody else") || advice.sentence.contains("use puma"), "{advice:?}");
    assert!(advice.uncertainty.iter().any(|caveat| caveat.contains("18 % of the recorded")), "{advice:?}");
}

#[test]
fn what_cannot_begin_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |change: &dyn Fn(&mut DuelOptions)| {
        let mut options = options(folder.path(), &["/"], &["puma"]);
        change(&mut options);
        run(&options, &mut Heard::default()).unwrap_err()
    };
    assert!(fails(&|options| options.asked = Vec::new()).contains("nothing is asked"));
    assert!(fails(&|options| options.contenders = vec!["pumma".into()]).contains("there is no contender `pumma`"));
    let not_in_duels = fails(&|options| options.contenders = vec!["foolsgold-default".into()]);
    assert!(not_in_duels.contains("takes part in no duel: a duel tries settings"), "{not_in_duels}");
    assert!(fails(&|options| options.budget_minutes = Some(0.1)).contains("too short"));
    let missing = fails(&|options| {
        options.asked = vec![DuelRequest::new("GET", "/")];
        fs::write(&options.rackup, "raise 'the app does not load'").unwrap();
    });
    assert!(missing.contains("no contender answered"), "{missing}");
}

#[test]
fn what_did_not_load_is_said_and_not_its_whole_backtrace() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), &["/"], &["puma"]);
    let deep = "def deep(n) = n.zero? ? raise('the app does not load') : deep(n - 1)\ndeep(40)\n";
    fs::write(&options.rackup, deep).unwrap();
    let mut heard = Heard::default();
    run(&options, &mut heard).unwrap_err();
    let words = heard.words.join("\n");
    assert!(words.contains("the app does not load (RuntimeError)"), "{words}");
    assert!(words.contains("more lines of the backtrace") && words.lines().count() < 16, "{words}");
}

#[test]
fn an_application_that_hangs_is_named_at_once_and_ends_the_duel() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    // The first answer of a server may take three times as long.
    for (paths, answer_s, seconds) in [(&["/hang"][..], 0.5, 1.5), (&["/", "/hang"][..], 1.0, 1.0)] {
        let mut options = options(folder.path(), paths, &["puma", "thin"]);
        options.plan.answer_s = answer_s;
        let mut heard = Heard::default();
        let begin = Instant::now();
        let error = run(&options, &mut heard).unwrap_err();
        assert!(error.starts_with("the app hangs: started on puma"), "{error}");
        assert!(error.contains(&format!("GET /hang: no answer within {seconds} s")), "{error}");
        let words = heard.words.join("\n");
        assert!(words.contains("puma: GET /hang has not been answered for"), "{words}");
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    }
}
