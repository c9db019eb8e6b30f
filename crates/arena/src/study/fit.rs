//! Applies today's rules to a run, and finds which requirements of METHOD.md for published figures it does not meet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::challenge::Challenge;
use super::effort::Effort;
use super::lost::lost_from;
use super::meaning;
use super::origin::Origin;
use super::recipe::{CaseRecipe, Entry, Study, Tool};
use super::request::RunRequest;
use super::verdicts;
use crate::duel::advise::for_here;
use crate::duel::{cases, caveats, summing, traffic};
use crate::measure::{judge, judge_duel, leave_out, strays, tool_of, withhold_latencies};
use crate::record::Sample;
use crate::record::folder::Folder;
use crate::record::summary::{Case, Summary, at_once};
use crate::report::styles::Styles;
use crate::report::{grammar, twins};
use crate::stats;

/// Rounds that a run needs; fewer show hardly any difference as significant.
const ROUNDS_LEAST: u32 = 3;
/// Study name of a duel, which has no study and no fixed settings: its recipes are not compared with the present ones.
const DUEL: &str = "duel";
/// Most contenders that are named as measured apart from their rounds.
const NAMED_MOST: usize = 3;

/// Summary of a run by the rules of this program, with the requirements of METHOD.md that the run does not meet as its
/// shortcomings. `home` is the folder with the present recipes.
pub fn shown(home: &Path, folder: &Folder) -> Result<Summary, String> {
    let mut summary = folder.read_summary()?;
    let (samples, torn) = folder.samples()?;
    // Before the rules of this program change the figures.
    let lost = lost_from(&summary, &samples, torn.is_some());
    let plan = folder.plan().unwrap_or_default();
    let origin = plan.get("origin").and_then(|origin| serde_json::from_value(origin.clone()).ok());
    let challenge: Option<Challenge> =
        plan.get("challenge").and_then(|challenge| serde_json::from_value(challenge.clone()).ok());
    let is_elsewhere = plan.get("machine").is_some_and(|machine| !machine.is_null());
    // Loads of other machines have the time of their import, not of the load.
    let samples = if is_elsewhere { Vec::new() } else { samples };
    let study = Study::read(&home.join(format!("arena/studies/{}.toml", summary.study))).ok();
    let asked: Option<RunRequest> = serde_json::from_value(plan).ok();
    summary.is_imported = is_elsewhere;
    by_rules(&mut summary, &samples, study.as_ref());
    let mut tree = of_tree(home);
    // A challenger's recipe is no other than it was: the run has all of it.
    for (name, print) in challenge.into_iter().flat_map(|it| it.fingerprints()) {
        tree.entry(name).or_default().push(print);
    }
    summary.shortcomings = shortcomings(&summary, &samples, origin.as_ref(), &tree, study.as_ref());
    // Of imported loads the request says nothing of their length.
    let both = study.zip(asked.filter(|_| !is_elsewhere));
    let shorter = both.and_then(|(study, asked)| shorter(&summary, &study, &asked.effort));
    summary.shortcomings.extend(shorter);
    summary.shortcomings.extend(lost);
    Ok(summary)
}

/// Ranks the cases, names the winners, and says what a duel showed at its rate, anew by the rules of this program.
fn by_rules(summary: &mut Summary, samples: &[Sample], study: Option<&Study>) {
    let strays = strays(samples);
    let is_duel = summary.study == DUEL;
    let at_once = at_once(&summary.contenders, summary.twin_of.as_deref());
    for case in &mut summary.cases {
        case.tool = case.tool.take().or_else(|| tool_of(&case.name, samples));
        leave_out(case, &strays);
        let Case { name, results, twin, .. } = case;
        for result in results.iter_mut().chain(twin) {
            let own: Vec<&Sample> = samples.iter().filter(|one| one.is_of(name, &result.contender)).collect();
            withhold_latencies(result, &own);
        }
        match is_duel {
            true => judge_duel(case),
            false => judge(case, &at_once),
        }
        stats::rank(case);
    }
    let (verdicts, gone) = match summary.study.as_str() {
        DUEL => (summing::verdicts(&summary.cases), Vec::new()),
        _ => verdicts::again(study, summary),
    };
    summary.verdicts = verdicts;
    if is_duel {
        traffic::tell_again(summary, samples);
    }
    if let Some(advice) = &mut summary.advice {
        advice.command = for_here(std::mem::take(&mut advice.command));
        caveats::add_few_requests(&mut advice.uncertainty, samples);
    }
    summary.notes.extend(gone.into_iter().map(|use_case| {
        format!("who was best for {use_case:?} is not shown: today's study does not say by which cases that is decided")
    }));
}

fn shortcomings(
    summary: &Summary,
    samples: &[Sample],
    origin: Option<&Origin>,
    tree: &BTreeMap<String, Vec<String>>,
    study: Option<&Study>,
) -> Vec<String> {
    let mut found = Vec::new();
    let styles = Styles::of(summary);
    if summary.rounds < ROUNDS_LEAST {
        let rounds = grammar::count(summary.rounds as usize, "round", "rounds");
        found.push(format!("{rounds} of at least {ROUNDS_LEAST}"));
    }
    found.extend(of_few_rounds(summary));
    if summary.is_imported {
        // It can have neither a twin nor recipes.
        found.push("its loads were imported: how the servers ran is as it was stated".to_owned());
        return found;
    }
    found.extend(without_twins(summary, &styles));
    match origin {
        None if summary.study == DUEL => {}
        None => found.push("with which recipes it was made is not known".to_owned()),
        Some(origin) => {
            let is_other = |(name, print): &(&String, &String)| !tree.get(*name).is_some_and(|now| now.contains(print));
            let of_run = origin.recipes.iter().filter(|(name, _)| is_measured(name, samples, study));
            let others: Vec<String> = of_run.filter(is_other).map(|(name, _)| styles.title(name)).collect();
            found.extend(
                (!others.is_empty()).then(|| format!("these recipes are others by now: {}", grammar::list(&others))),
            );
        }
    }
    found.extend(apart(samples, &styles));
    found
}

/// Shortcoming of a run with cases that have too few rounds, although the run has enough: loads at equal rates begin in
/// the second round. The short trials of settings before the rounds of a duel do not count as a case.
fn of_few_rounds(summary: &Summary) -> Option<String> {
    let least = ROUNDS_LEAST as usize;
    let rounds = |case: &Case| {
        let all = case.results.iter().flat_map(|one| &one.numbers);
        all.filter(|(name, _)| case.metrics.contains(name)).map(|(_, spread)| spread.rounds()).max()
    };
    let of_rounds = || summary.cases.iter().filter(|case| summary.study != DUEL || case.name != cases::SETTINGS);
    let few = of_rounds().filter(|case| rounds(case).is_some_and(|rounds| rounds < least)).count();
    let have = if few == 1 { "has" } else { "have" };
    let all = of_rounds().count();
    (few > 0 && summary.rounds >= ROUNDS_LEAST)
        .then(|| format!("{few} of {} {have} fewer than {least} rounds", grammar::count(all, "case", "cases")))
}

/// Shortcoming of a run whose timed loads were shorter than those of the study.
fn shorter(summary: &Summary, study: &Study, effort: &Effort) -> Option<String> {
    let is_by_clock = |case: &&CaseRecipe| {
        let is_load = !matches!(case.tool, Tool::Start | Tool::Idle | Tool::IdleConnections);
        is_load && case.requests.is_none() && case.seconds.is_none()
    };
    let is_of_run = |case: &CaseRecipe| summary.cases.iter().any(|one| verdicts::is_of_family(&one.name, &case.name));
    let was_loaded = study.cases.iter().filter(is_by_clock).any(is_of_run);
    let (took, own) = (effort.seconds, study.full.seconds);
    (was_loaded && took < own).then(|| format!("loads of {took} s, where the study has {own} s"))
}

/// Reason why a run has no twin that can be compared with its original.
fn without_twins(summary: &Summary, styles: &Styles) -> Option<String> {
    let Some(twins) = twins::compared(summary, styles) else {
        return Some("no contender took part twice (no twin)".to_owned());
    };
    (!twins.is_compared).then_some(twins.words)
}

/// Whether a part of a study, named as by [`meaning::of_study`], or a server's recipe was measured: a run may be
/// without some of the study's contenders and cases. A name that is neither always counts as measured.
fn is_measured(part: &str, samples: &[Sample], study: Option<&Study>) -> bool {
    let entries = study.iter().flat_map(|study| &study.contenders).filter(|entry| entry.recipe == part);
    let names: Vec<&str> = entries.map(Entry::name).collect();
    if !names.is_empty() && !samples.is_empty() {
        return samples.iter().any(|sample| names.contains(&sample.contender.as_str()));
    }
    if let Some((_, contender)) = part.rsplit_once(meaning::CONTENDER) {
        return samples.iter().any(|sample| sample.contender == contender);
    }
    let case = part.rsplit_once(meaning::CASE).map(|(_, case)| case);
    case.is_none_or(|case| samples.iter().any(|sample| sample.case.starts_with(case)))
}

/// Shortcoming of a run with samples that were measured at another time than the rest of their round.
fn apart(samples: &[Sample], styles: &Styles) -> Option<String> {
    let strays = strays(samples);
    let away_s = strays.iter().map(|stray| stray.away_s).max()?;
    let names: BTreeSet<&str> = strays.iter().map(|stray| stray.contender.as_str()).collect();
    let more = match names.len().saturating_sub(NAMED_MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names: Vec<String> = names.into_iter().take(NAMED_MOST).map(|name| styles.title(name)).collect();
    Some(format!(
        "not measured in one go: {}{more}, up to {} min apart from the others of their rounds",
        if more.is_empty() { grammar::list(&names) } else { names.join(", ") },
        away_s / 60
    ))
}

/// Fingerprints of the present recipes, by the names under which runs record them.
fn of_tree(home: &Path) -> BTreeMap<String, Vec<String>> {
    let contenders = recipes(&home.join("arena/contenders")).into_iter();
    let contenders = contenders.map(|(name, text)| (name, meaning::of_recipe(&text)));
    let studies = recipes(&home.join("arena/studies")).into_iter();
    let parts = studies.flat_map(|(name, text)| meaning::of_study(&name, &text));
    contenders.chain(parts).map(|(name, print)| (name, vec![print])).collect()
}

/// Names and texts of the recipes in a folder.
fn recipes(folder: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let recipes = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
    let read = recipes
        .filter_map(|file| Some((file.file_stem()?.to_string_lossy().into_owned(), fs::read_to_string(&file).ok()?)));
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::date;
    use crate::record::summary::{Advice, Carried, Measured, Step, Traffic, Verdict, Who};

    fn sample(contender: &str, minute: u64) -> Sample {
        let started = date::written(1_000_000_000 + minute * 60);
        Sample { case: "c".into(), contender: contender.into(), round: 1, started, took_s: 9.0, ..Sample::default() }
    }

    #[test]
    fn a_run_as_the_method_wants_it_lacks_nothing_and_each_lack_is_said() {
        let prints: BTreeMap<String, Vec<String>> = [("puma".to_owned(), vec!["0".to_owned(), "1".to_owned()])].into();
        let origin = Origin { recipes: [("puma".to_owned(), "1".to_owned())].into(), ..Origin::default() };
        let who = |name: &str, title: &str| Who { name: name.into(), title: title.into(), ..Who::default() };
        let contenders = vec![who("puma", "Puma"), who("thin", "Thin, 4 × 1")];
        let rate = |name: &str| Measured::of(name, &[("requests_per_s", [9.0, 9.1, 9.2])]);
        let case = Case {
            metrics: vec!["requests_per_s".into()],
            results: vec![rate("puma"), rate("thin")],
            twin: Some(rate("twin")),
            ..Case::default()
        };
        let run = Summary {
            contenders,
            rounds: 3,
            twin_of: Some("puma".into()),
            cases: vec![case.clone()],
            ..Summary::default()
        };
        let samples = [sample("puma", 0), sample("thin", 2)];
        let of = |run: &Summary, samples: &[Sample], origin: Option<&Origin>, tree: &BTreeMap<String, Vec<String>>| {
            shortcomings(run, samples, origin, tree, None).join("; ")
        };
        assert_eq!(of(&run, &samples, Some(&origin), &prints), "");
        let mut partial = origin.clone();
        for part in ["contender puma-jruby", "contender thin", "case c", "case d"] {
            partial.recipes.insert(format!("the study s, {part}"), "1".to_owned());
        }
        let words = "these recipes are others by now: the study s, case c and the study s, contender thin";
        assert_eq!(of(&run, &samples, Some(&partial), &prints), words, "of those without samples nothing is said");
        // Nor of the recipe of a server that took no part, by whatever name.
        let contender =
            |words: &str| -> Entry { toml::from_str(&format!("{words}\nworkers = 1\nthreads = 1")).unwrap() };
        let contenders = ["recipe = \"thin\"", "recipe = \"itsi\"\nname = \"itsi-stock\""].map(contender).to_vec();
        let study = Study { contenders, ..Study::sample("case = []") };
        let mut more = origin.clone();
        more.recipes.extend(["thin", "itsi"].map(|name| (name.to_owned(), "1".to_owned())));
        let found = shortcomings(&run, &samples, Some(&more), &prints, Some(&study));
        assert_eq!(found, ["these recipes are others by now: Thin, 4 × 1"]);
        let few = of(&Summary { rounds: 2, twin_of: None, ..run.clone() }, &samples, None, &prints);
        assert_eq!(
            few,
            "2 rounds of at least 3; no contender took part twice (no twin); with which recipes it was made is not \
             known"
        );
        // Drawn, and not to be used: a twin of one that is not ranked shows nothing.
        let lies = Measured { disqualified: Some("lies".into()), ..rate("puma") };
        let alone = Case { results: vec![lies, rate("thin")], ..case.clone() };
        let alone = Summary { cases: vec![alone], ..run.clone() };
        assert_eq!(
            of(&alone, &samples, Some(&origin), &prints),
            "Puma was measured twice, as if it were two servers, and the two could not be compared: in no case are \
             both ranked"
        );
        let late = [sample("puma", 0), sample("puma", 1), sample("thin", 40)];
        let found = of(&run, &late, Some(&origin), &BTreeMap::new());
        assert_eq!(
            found,
            "these recipes are others by now: Puma; not measured in one go: Thin, 4 × 1, up to 38 min apart from the \
             others of their rounds"
        );
    }

    #[test]
    fn cases_of_few_rounds_and_loads_shorter_than_the_studys_are_said() {
        let case = |name: &str, rates: &[f64]| Case { name: name.into(), ..Case::of("requests_per_s", &[("", rates)]) };
        let cases = vec![case("c@1", &[9.0, 9.1, 9.2]), case("c=50", &[9.0, 9.1]), Case::default()];
        let run = Summary { rounds: 3, cases, ..Summary::default() };
        assert_eq!(of_few_rounds(&run).as_deref(), Some("1 of 3 cases has fewer than 3 rounds"));
        assert_eq!(of_few_rounds(&Summary { rounds: 2, ..run.clone() }), None, "that is said of the run");
        let tried = vec![case(cases::SETTINGS, &[9.0]), case("capacity", &[9.0, 9.1, 9.2])];
        let duel = Summary { study: DUEL.into(), rounds: 3, cases: tried, ..Summary::default() };
        assert_eq!(of_few_rounds(&duel), None, "trials of settings are no rounds");
        let of = |seconds: f64, case: &str| {
            let one = "title = \"C\"\npath = \"/\"\nexpect = { exactly = \"x\" }";
            let study = Study::sample(&format!("[[case]]\n{one}\n{case}"));
            shorter(&run, &study, &Effort { seconds, ..study.full.clone() })
        };
        let by_clock = "name = \"c\"\ntool = \"wrk\"";
        assert_eq!(of(2.0, by_clock).as_deref(), Some("loads of 2 s, where the study has 10 s"));
        assert_eq!(of(10.0, by_clock), None);
        for other in ["name = \"c\"\ntool = \"ab\"\nrequests = 9", "name = \"d\"\ntool = \"wrk\""] {
            assert_eq!(of(2.0, other), None, "no load of it ended by the clock: {other}");
        }
    }

    #[test]
    fn verdicts_of_an_older_run_are_made_again_by_the_rule_of_now() {
        let result = |name: &str, rates: [f64; 3], failed: f64| {
            Measured::of(name, &[("requests_per_s", rates), ("requests", [100.0; 3]), ("failed", [failed; 3])])
        };
        let case = |name: &str, results: Vec<Measured>| Case {
            name: name.into(),
            metrics: vec!["requests_per_s".into()],
            results,
            ..Case::default()
        };
        let best = || result("best", [100.0, 101.0, 99.0], 0.0);
        let cases = vec![
            case("c@1", vec![best(), result("failing", [900.0; 3], 50.0), result("slow", [10.0; 3], 0.0)]),
            case("c@2", vec![best(), result("failing", [900.0; 3], 0.0), result("slow", [10.0; 3], 0.0)]),
            case("can", vec![result("slow", [900.0; 3], 0.0)]),
        ];
        let verdict = |use_case: &str| Verdict {
            use_case: use_case.into(),
            winners: vec!["failing".into()],
            why: "an old rule".into(),
            ..Verdict::default()
        };
        let study = Study::sample("case = []\n[[verdict]]\nuse_case = \"most\"\ncases = [\"c\"]");
        let mut run = Summary {
            study: "s".into(),
            cases,
            verdicts: vec![verdict("most"), verdict("gone")],
            ..Summary::default()
        };
        by_rules(&mut run, &[], Some(&study));
        assert_eq!((run.verdicts.len(), &run.verdicts[0].winners), (1, &vec!["best".to_owned()]), "{:?}", run.verdicts);
        assert!(run.verdicts[0].why.contains("over 2 cases"), "{:?}", run.verdicts);
        assert!(run.notes[0].contains("\"gone\" is not shown"), "{:?}", run.notes);
        // Those of a duel need no study.
        run.cases.truncate(1);
        run.cases[0].name = crate::duel::cases::CAPACITY.into();
        run.study = DUEL.into();
        by_rules(&mut run, &[], None);
        assert_eq!((run.verdicts[0].use_case.as_str(), &run.verdicts[0].winners[0]), ("most requests", &"best".into()));
    }

    #[test]
    fn an_older_duel_ranks_nobody_who_did_not_keep_up_and_keeps_its_figures_of_few_requests() {
        let result = |name: &str, rate: f64, p99: f64| {
            let numbers = [("offered_per_s", 2412.0), ("requests_per_s", rate), ("requests", 90.0), ("p99_ms", p99)];
            Measured::of(name, &numbers.map(|(metric, number)| (metric, [number; 3])))
        };
        let case = Case {
            name: cases::traffic(16),
            metrics: vec!["p99_ms".into()],
            results: vec![result("behind", 1516.0, 9.0), result("up", 2400.0, 20.0)],
            twin: Some(result("twin", 1516.0, 9.0)),
            ..Case::default()
        };
        let advice = Advice { command: "puma -C TMP/puma-93/puma.rb".into(), ..Advice::default() };
        let mut run = Summary { study: DUEL.into(), cases: vec![case], advice: Some(advice), ..Summary::default() };
        by_rules(&mut run, &[], None);
        assert_eq!(run.advice.as_ref().map(|advice| advice.command.as_str()), Some("puma -C puma.rb"));
        let case = &run.cases[0];
        assert_eq!(case.ranking, [["up"]]);
        let shares = case.results.iter().chain(&case.twin).map(|result| result.served_share.is_some());
        assert_eq!(shares.collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(case.results[0].numbers["p99_ms"].median, 9.0);
        let words = "p99 is nearly the longest request: a round has only 90 requests, and 400 are needed";
        assert_eq!(case.results[0].remarks, [words]);
    }

    /// The summary of an older duel has the words of its program, whose figures were not those of the table.
    #[test]
    fn what_an_older_duel_says_of_its_rate_is_said_anew() {
        let of = |round: u32, p99: f64| {
            let numbers = [("p99_ms", p99), ("requests", 900.0), ("processors", 0.5)];
            Sample { case: cases::traffic(1), round, ..Sample::of("a", &numbers) }
        };
        let samples = [of(1, 400.0), of(2, 300.0)];
        let said = |rounds: u32, p99_max_ms: Option<f64>, bound: &str| {
            let what = "the p99 was 300 ms: as it was".to_owned();
            let step = Step { of: 1, per_s: 120.0, rounds, broke: 2, what, ..Step::default() };
            let carried = vec![Carried { contender: "a".into(), steps: vec![step], ..Carried::default() }];
            let broken_when = format!("more than 1 % of the requests fail, the p99 is above {bound} ms, or less");
            let traffic = Traffic { per_s: 120.0, cores: 2, broken_when, p99_max_ms, carried, ..Traffic::default() };
            let (traffic, advice) = (Some(traffic), Some(Advice::default()));
            let mut run = Summary { study: DUEL.into(), traffic, advice, ..Summary::default() };
            by_rules(&mut run, &samples, None);
            let caveats = run.advice.unwrap().uncertainty;
            assert!(caveats.len() == 1 && caveats[0].starts_with("some rounds at your rate have 900"), "{caveats:?}");
            run.traffic.unwrap()
        };
        // The bound is a number; in older records only the words have it.
        for traffic in [said(2, Some(100.5), "101"), said(2, None, "100")] {
            assert!(traffic.carried[0].steps[0].what.starts_with("the p99 was 350 ms: requests queued"), "{traffic:?}");
            assert!(traffic.answer.contains("a does not carry it: the p99 was 350 ms: requests"), "{traffic:?}");
        }
        // Its samples are not those by which it was judged.
        for traffic in [said(3, None, "100"), said(2, Some(360.0), "100"), said(2, None, "unknown")] {
            assert_eq!(traffic.carried[0].steps[0].what, "the p99 was 300 ms: as it was");
        }
    }

    #[test]
    fn recipes_of_the_tree_have_the_names_that_a_run_keeps() {
        let tree = of_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        assert!(tree.contains_key("puma") && tree.contains_key("the study prime-sums"), "{tree:?}");
        let parts = ["the study prime-sums, contender thin-threaded-stock", "the study prime-sums, case ladder"];
        assert!(parts.iter().all(|part| tree.contains_key(*part)), "{tree:?}");
    }
}
