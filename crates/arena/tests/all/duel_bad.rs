//! Duels in which servers lie, die, never listen, ignore their settings, answer with another status or break at twice
//! the user's rate: each is detected and named, and the honest one is recommended.

use std::fs;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use arena::duel::pace::Rate;
use arena::duel::plan::DuelPlan;
use arena::duel::{DuelOptions, Now, run};
use arena::environment::EnvironmentOptions;
use arena::record::summary::Summary;

use super::duel::{Heard, options};
use super::recipe;

const PLAN: DuelPlan = DuelPlan {
    settings: 1,
    first_heat_s: 0.3,
    second_heat_s: 0.0,
    warm_s: 0.3,
    capacity_s: 0.5,
    open_s: 0.5,
    loads: 1,
    rounds: 1,
    answer_s: 10.0,
    // No page here shows the time.
    apart_s: 0.0,
    traffic: None,
};

/// A server in a few lines: ruby server.rb MODE PORT. It gives all its clients together about a thousand answers per
/// second, so that a load at full speed leaves the processors to other tests. What it does wrong only under load begins
/// after some dozens of answers: more than are asked for without a load, and few enough for the shortest one.
const SERVER: &str = r#"
require "socket"

mode, port = ARGV
sleep if mode == "never"
sleep 4 if mode == "late"
trap("TERM", "IGNORE") if mode == "deaf"
HELD = "x" * (256 << 20) if mode == "heavy"
PAGE = File.join(__dir__, "page")
edited = false
abort "RAILS_MAX_THREADS is not set" if mode == "pooled" && !ENV["RAILS_MAX_THREADS"]
open = most = 0
loads = 0
early = 30
busy_until = Time.now
counting = Mutex.new
served = 0
in_flight = 0
one_at_a_time = Mutex.new
listener = TCPServer.new("127.0.0.1", port.to_i)
loop do
  Thread.new(listener.accept) do |client|
    counting.synchronize { most = open if (open += 1) > most }
    while (line = client.gets)
      keep = true
      until (header = client.gets.to_s.chomp).empty?
        keep = false if header =~ /\Aconnection: close/i
      end
      served += 1
      body = File.exist?(PAGE) ? File.read(PAGE) : "<h1>hello</h1>"
      # Once in its life it changes the next word of the page, for all.
      if mode == "editor" && served > 60 && counting.synchronize { edited = true unless edited }
        File.write(PAGE + ".new", body.sub(/[abc]{9,}/) { |word| "x" * word.size })
        File.rename(PAGE + ".new", PAGE)
      end
      # After a load, and never under one.
      body = "<h1>help!</h1>" if mode == "shifty" && served > 40 && !keep
      body = "<h1>help!</h1>" if mode == "liar" && served > 60
      body = "<h1>help!</h1>" if mode == "mixer" && served > 40 && served % 20 == 0
      body = "<h1>help!</h1>" if mode == "early" && keep && (early -= 1) >= 0
      exit!(3) if mode == "mortal" && served > 90
      sleep 0.6 if mode == "slow"
      status = mode == "stranger" ? "404 Not Found" : "200 OK"
      # After warm-up and full load, it only answers connections with a single request.
      status = "500 Internal Server Error" if mode == "tired" && keep && loads >= 2
      # If it was never under full load, it fails connections with a single request, after a while.
      status = "500 Internal Server Error" if mode == "sour" && !keep && served > 12 && loads == 0
      # The queue of an earlier load keeps it busy for a while.
      status = "503 Service Unavailable" if mode == "backlog" && Time.now < busy_until
      if mode == "brittle"
        # It serves 40 requests per second, and refuses when too many wait.
        in_flight += 1
        in_flight > 20 ? status = "503 Service Unavailable" : one_at_a_time.synchronize { sleep 0.025 }
        in_flight -= 1
      else
        # The more clients there are, the longer each waits.
        sleep open / 1000.0
      end
      client.write "HTTP/1.1 #{status}\r\ncontent-type: text/html\r\ncontent-length: #{body.size}\r\n\r\n#{body}"
      break client.close unless keep
    end
  rescue SystemCallError
    client.close
  ensure
    counting.synchronize do
      open -= 1
      busy_until = Time.now + 0.6 if most >= 8
      if open.zero? && most >= 8
        most = 0
        loads += 1
      end
    end
  end
end
"#;

fn write_recipe(folder: &Path, mode: &str) {
    let script = folder.join("server.rb").display().to_string();
    // These recipes claim workers, but the server has one.
    let claims = ["ignorer", "heavy"].contains(&mode);
    let shape = if claims { "" } else { "[shape]\nworkers = '1'\nthreads = '1'" };
    let cannot = if claims { "" } else { "workers = 'no'\nthreads = 'no'" };
    // Those that it never has are not waited for.
    let within_s = if claims { 1 } else { 15 };
    let ready_s = if mode == "never" { 1 } else { 10 };
    let stop = if mode == "deaf" { "[stop]\npatience_s = 1" } else { "" };
    let tables = format!(
        r#"
{shape}
{stop}
[count]
worker = 'server\.rb'
within_s = {within_s}
[cannot]
reload = "no"
{cannot}
"#
    );
    let text = recipe(mode, ready_s, &["--disable-gems", &script, mode, "{{ port }}"], &tables);
    fs::write(folder.join(format!("{mode}.toml")), text).unwrap();
}

fn duel_with(modes: &[&str], change: &dyn Fn(&mut DuelOptions)) -> Result<(Summary, String), String> {
    let mut heard = Heard::default();
    let summary = heard_duel(modes, change, &mut heard)?;
    Ok((summary, heard.words.join("\n")))
}

fn heard_duel(modes: &[&str], change: &dyn Fn(&mut DuelOptions), heard: &mut Heard) -> Result<Summary, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("server.rb"), SERVER).unwrap();
    if modes.contains(&"editor") {
        let words = [("a", 400), ("b", 200), ("c", 100)].map(|(letter, count)| letter.repeat(count));
        fs::write(folder.path().join("page"), format!("<p>{}</p>", words.join(" "))).unwrap();
    }
    for mode in modes.iter().chain(&["honest"]) {
        write_recipe(folder.path(), mode);
    }
    let mut options = DuelOptions {
        environment: EnvironmentOptions::default(),
        recipes: folder.path().to_owned(),
        now: Some(Now::parse("honest").unwrap()),
        plan: PLAN,
        seed: 1,
        ..options(folder.path(), &["/"], &[])
    };
    change(&mut options);
    // Other tests run beside this one, with servers that need the processors.
    loadgen::forbid_real_time();
    run(&options, heard)
}

/// Servers that behave by the rate at which they are asked need the processors for that: their tests run alone. The
/// others run beside each other, and those that mostly wait beside any.
static MACHINE: RwLock<()> = RwLock::new(());

/// Runs a duel of the honest server with bad ones. The output must contain these words about each of them.
fn honest_wins(bad: &[(&str, &[&str])]) {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let modes: Vec<&str> = bad.iter().map(|(mode, _)| *mode).collect();
    let (summary, words) = duel_with(&modes, &|_| {}).unwrap();
    let advice = summary.advice.unwrap();
    assert!(advice.sentence.contains("with honest with -w 1 -t 1"), "{modes:?}: {advice:?}\n{words}");
    for (mode, parts) in bad {
        for part in *parts {
            assert!(words.contains(part), "{mode}: {part} in {words}");
        }
    }
}

#[test]
fn who_breaks_at_twice_the_rate_is_said_to_and_not_recommended() {
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    let (summary, words) = duel_with(&["brittle"], &|options| {
        options.now = Some(Now::parse("brittle").unwrap());
        options.rate = Some(Rate::said(30.0));
        // Other work on this machine must not break anything.
        options.p99_max_ms = Some(3_000.0);
        // At 60 requests per second it refuses some after the first second.
        options.plan = DuelPlan { rounds: 2, open_s: 2.0, ..PLAN };
    })
    .unwrap();
    let traffic = summary.traffic.as_ref().unwrap_or_else(|| panic!("{words}"));
    let of = |name: &str| traffic.carried.iter().find(|one| one.contender == name).unwrap();
    let brittle = of("brittle -w 1 -t 1");
    let broken = brittle.breaks_at().unwrap_or_else(|| panic!("{traffic:#?}"));
    assert_eq!((broken.of, broken.per_s, broken.rounds, broken.broke), (2, 60.0, 2, 2), "{traffic:#?}");
    assert!(broken.what.contains("% failed (") && broken.what.contains("status 503"), "{}", broken.what);
    let causes = ["requests queued while processors were free", "other work had the"];
    assert!(causes.iter().any(|cause| broken.what.contains(cause)), "{}", broken.what);
    assert!(brittle.cost.as_ref().is_some_and(|cost| cost.processors > 0.0 && cost.memory_mib > 1.0), "{brittle:?}");
    let honest = of("honest -w 1 -t 1");
    assert!(honest.steps.len() > 2 && honest.steps[1].broke == 0, "{traffic:#?}");
    if traffic.cores > 1 {
        assert_eq!((honest.smaller[0].of, honest.smaller[0].rounds), (traffic.cores / 2, 2), "{traffic:#?}");
    }
    // Bound to fewer processors a server cannot use more.
    let smallest = summary.cases.iter().find(|case| case.name == "smaller-1");
    for found in smallest.iter().flat_map(|case| &case.results) {
        assert!(found.numbers["processors"].high <= 1.1, "{found:?}");
    }
    let advice = summary.advice.as_ref().unwrap();
    assert!(
        advice.sentence.contains("at your 30 requests/s on this machine, use honest with -w 1 -t 1; brittle -w 1 -t 1")
            && advice.sentence.ends_with("does not carry twice that"),
        "{advice:?}"
    );
    assert!(traffic.answer.starts_with("At 30 requests/s (as --rate says), honest"), "{}", traffic.answer);
    // The page and the terminal are made from the summary alone.
    let page = arena::report::page::html(&summary).unwrap();
    for part in ["At your traffic", "your 30/s", "What breaks first", "status 503", "What the rate takes"] {
        assert!(page.contains(part), "{part}");
    }
    let mut text = Vec::new();
    arena::report::table::print(&summary, &mut text, 120).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("At your traffic\nAt 30 requests/s"), "{text}");
}

#[test]
fn who_answers_wrongly_between_loads_at_the_rate_is_disqualified() {
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    let (_, words) = duel_with(&["sour"], &|options| {
        options.rate = Some(Rate::said(20.0));
        options.p99_max_ms = Some(3_000.0);
        options.plan = DuelPlan { open_s: 1.5, ..PLAN };
    })
    .unwrap();
    assert!(words.contains("sour -w 1 -t 1 is disqualified: "), "{words}");
}

#[test]
fn who_answers_wrongly_dies_or_falls_silent_is_disqualified_and_named() {
    honest_wins(&[
        ("liar", &["liar -w 1 -t 1 is disqualified: it answered otherwise than before, and honest does not"]),
        ("mixer", &["mixer -w 1 -t 1 is disqualified: "]),
        ("mortal", &["mortal -w 1 -t 1 is disqualified: the server ended in the middle of it"]),
        ("early", &["early -w 1 -t 1 is disqualified: GET /: "]),
        ("shifty", &["shifty -w 1 -t 1 is disqualified: it answered otherwise than before, and honest does not"]),
        ("tired", &["tired -w 1 -t 1 is disqualified: no right answer in the whole load"]),
        ("never", &["never takes no part: ", "within 1 s"]),
        ("stranger", &["stranger takes no part: GET / is answered with 404 and a page of HTML, not with 200"]),
    ]);
}

#[test]
fn where_the_app_changes_its_answers_in_every_turn_that_is_said() {
    let changed = "editor -w 1 -t 1 is disqualified: the app changed its answers in each of 3 turns: GET /: ";
    honest_wins(&[("editor", &[changed])]);
}

#[test]
fn who_gives_wrong_answers_or_none_under_the_probe_is_no_reference_and_shows_no_nature_of_the_app() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    for (mode, why) in [
        ("mixer", "mixer takes no part: it answers otherwise than before: GET /: "),
        // Its failures are no answers that differ: nothing was wrong but that nothing was right.
        ("sour", "sour takes no part: under the probe "),
        ("mortal", "mortal takes no part: the server ended in the middle of it"),
    ] {
        let (summary, words) = duel_with(&[mode], &|options| options.now = Some(Now::parse(mode).unwrap())).unwrap();
        assert!(words.contains(why), "{words}");
        assert!(words.contains("the right answers are those of honest"), "{words}");
        assert_eq!(words.matches("a request takes ").count(), 1, "only the probe of honest counts: {words}");
        let names: Vec<&str> = summary.cases[0].results.iter().map(|one| one.contender.as_str()).collect();
        assert_eq!(names, ["honest -w 1 -t 1"], "{words}");
    }
}

#[test]
fn who_ignores_its_settings_is_disqualified() {
    // By itself: with more threads it would change what the others are asked.
    honest_wins(&[("ignorer", &["is disqualified: ignorer was told to have ", "ignores the setting"])]);
}

#[test]
fn settings_of_today_for_which_memory_is_short_are_said_not_to_be_measured() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let (summary, words) = duel_with(&["heavy"], &|options| {
        options.now = Some(Now::parse("heavy -w 1024 -t 1").unwrap());
    })
    .unwrap();
    let says = "heavy -w 1024 -t 1 was not measured, because there is too little memory for its workers: the best \
                settings of heavy that were tried stand for it";
    assert!(words.contains(says), "{words}");
    let advice = summary.advice.unwrap();
    // On a busy machine a load may end before its first answer, and then no server is recommended.
    let is_busy = advice.contender.is_empty() && words.contains("the load was too short");
    assert!(is_busy || advice.uncertainty.iter().any(|caveat| caveat == says), "{advice:?}");
}

#[test]
fn a_queue_that_is_left_is_waited_for_and_every_contender_has_a_pool_as_large_as_its_threads() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let (summary, words) = duel_with(&["backlog", "pooled"], &|options| {
        options.now = Some(Now::parse("pooled").unwrap());
    })
    .unwrap();
    for case in &summary.cases {
        let backlog = case.results.iter().find(|one| one.contender == "backlog -w 1 -t 1").unwrap();
        assert_eq!(backlog.disqualified, None, "{}: {words}", case.name);
    }
    let pooled = summary.contenders.iter().find(|who| who.name == "pooled -w 1 -t 1");
    let pooled = pooled.unwrap_or_else(|| panic!("{words}"));
    assert!(pooled.commands[0].contains("RAILS_MAX_THREADS=1 ruby"), "{:?}", pooled.commands);
    let advice = summary.advice.unwrap();
    assert!(advice.command.contains("RAILS_MAX_THREADS=1 ruby"), "{advice:?}");
}

#[test]
fn a_duel_keeps_what_a_load_showed_over_time_and_when_each_was() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let mut heard = Heard::default();
    let longer = |options: &mut DuelOptions| options.plan = DuelPlan { capacity_s: 3.5, loads: 3, ..PLAN };
    let summary = heard_duel(&[], &longer, &mut heard).unwrap();
    let capacity = summary.cases.iter().find(|case| case.name == "capacity").unwrap();
    let course = &capacity.results[0].course;
    for metric in ["requests_per_s", "p99_ms", "processors", "pss_mib"] {
        assert!(course.get(metric).is_some_and(|points| points.len() >= 2), "{metric}: {course:?}");
    }
    // Each load has its own time, not that of the whole turn.
    let of = |case: &str| heard.samples.iter().find(|sample| sample.case == case).unwrap();
    assert!(of("capacity").took_s > 3.4 && of("load-50").took_s < 3.0, "{:#?}", heard.samples);
    assert!(of("load-100").started > of("capacity").started, "{:#?}", heard.samples);
}

#[test]
fn a_page_that_takes_longer_than_a_load_disqualifies_nobody() {
    let (summary, words) = duel_with(&["slow"], &|options| {
        (options.now, options.contenders) = (None, vec!["slow".to_owned()]);
    })
    .unwrap();
    assert!(words.contains(" s, so a load at full speed takes "), "{words}");
    for case in &summary.cases {
        assert!(case.results.iter().all(|one| one.disqualified.is_none()), "{}: {words}", case.name);
    }
    let advice = summary.advice.unwrap();
    assert!(advice.sentence.contains("use slow with -w 1 -t 1"), "{advice:?}\n{words}");
}

#[test]
fn a_duel_whose_budget_ends_states_the_rounds_that_it_ran() {
    // All of this plan is to take 22.7 s.
    let budget = Duration::from_millis(22_800);
    let mut heard = Heard { held_until: Some(("round 1 of ", Instant::now() + budget)), ..Heard::default() };
    let short = |options: &mut DuelOptions| {
        options.now = None;
        options.budget_minutes = Some(budget.as_secs_f64() / 60.0);
        options.plan = DuelPlan { rounds: 2, ..PLAN };
    };
    let summary = heard_duel(&[], &short, &mut heard).unwrap();
    let words = heard.words.join("\n");
    assert!(words.contains("the budget of time was used up after 1 of 2 rounds"), "{words}");
    assert_eq!(summary.rounds, 1, "{words}");
    let advice = summary.advice.unwrap();
    assert!(advice.uncertainty.iter().any(|caveat| caveat.contains("one round only")), "{advice:?}");
}

#[test]
fn a_budget_for_which_servers_start_too_slowly_ends_the_duel_before_the_heats() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    // With servers that start in a second all of it is to take 18.9 s; this one takes 4 s to start, four times.
    let budget = Duration::from_millis(19_500);
    let error = duel_with(&["late"], &|options| {
        (options.now, options.contenders) = (None, vec!["late".to_owned()]);
        options.budget_minutes = Some(budget.as_secs_f64() / 60.0);
    })
    .unwrap_err();
    assert!(error.starts_with("a budget of 0.3 minutes is too short: "), "{error}");
    assert!(error.ends_with(" s to start for each measurement: give 1"), "there are none to leave out: {error}");
}

#[test]
fn where_the_budget_ends_in_the_heats_the_settings_that_were_not_tried_are_said() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    // All of this plan is to take 40.8 s.
    let budget = Duration::from_secs(41);
    let mut heard = Heard { held_until: Some(("heat 1: ", Instant::now() + budget)), ..Heard::default() };
    let change = |options: &mut DuelOptions| {
        options.budget_minutes = Some(budget.as_secs_f64() / 60.0);
        options.plan = DuelPlan { settings: 2, ..PLAN };
    };
    let summary = heard_duel(&["ignorer"], &change, &mut heard).unwrap();
    let words = heard.words.join("\n");
    // Each contender is tried with one setting, and the user's own.
    let tried = summary.cases[0].results.iter().map(|one| one.contender.split(' ').next().unwrap());
    assert_eq!(tried.collect::<std::collections::BTreeSet<_>>().len(), summary.cases[0].results.len(), "{words}");
    let left_out = "the budget of time was too short, so these were not tried at all: ignorer -w ";
    assert!(words.contains(left_out), "{words}");
    let advice = summary.advice.unwrap();
    assert!(advice.uncertainty.iter().any(|caveat| caveat.starts_with(left_out)), "{advice:?}");
    let exceeded = "the budget of time was too short for a whole round; one was run all the same";
    assert!(advice.uncertainty.iter().any(|caveat| caveat.starts_with(exceeded)), "{advice:?}");
    assert!(advice.sentence.contains("honest with -w 1 -t 1"), "{advice:?}");
}

#[test]
fn what_is_noted_of_the_twin_is_said() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let (summary, words) = duel_with(&["deaf"], &|options| {
        (options.now, options.contenders) = (None, vec!["deaf".to_owned()]);
        options.plan = DuelPlan { rounds: 3, ..PLAN };
    })
    .unwrap();
    for name in ["deaf -w 1 -t 1", "deaf -w 1 -t 1 as its own twin"] {
        let noted = format!("{name}: deaf did not end within 1 s of SIGTERM and was killed.");
        assert!(summary.notes.iter().any(|note| note.starts_with(&noted)), "{name}: {words}");
    }
}

#[test]
fn the_twin_is_asked_at_the_rate_as_well() {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let (summary, words) = duel_with(&[], &|options| {
        options.rate = Some(Rate::said(60.0));
        options.p99_max_ms = Some(3_000.0);
        options.plan = DuelPlan { rounds: 3, ..PLAN };
    })
    .unwrap();
    assert_eq!(summary.twin_of.as_deref(), Some("honest -w 1 -t 1"), "{words}");
    for name in ["capacity", "traffic-1"] {
        let case = summary.cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("{name}: {words}"));
        let twin = case.twin.as_ref().unwrap_or_else(|| panic!("{name}: {words}"));
        assert_eq!(twin.numbers["requests_per_s"].all.len(), 3, "{name}: {twin:?}");
    }
    // A machine that stalls may break the rate itself in a round; twice of it is then not asked.
    let twice = summary.cases.iter().find(|case| case.name == "traffic-2").and_then(|case| case.twin.as_ref());
    assert!(twice.is_some_and(|twin| !twin.numbers["requests_per_s"].all.is_empty()), "{words}");
    // It is not a contender that could be chosen.
    assert_eq!(summary.traffic.unwrap().carried.len(), 1);
}
