//! Comparison of two runs of one study: which figures became better or worse, which are not told apart, and what else
//! changed.

use std::collections::BTreeSet;
use std::fmt::Write;

use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

use super::plot::{self, counted};
use super::rule::Rule;
use super::styles::{Chip, Styles};
use super::{grammar, heading, number, ranking, table, template, twins};
use crate::record::folder::masked;
use crate::record::summary::{Case, Measured, Spread, Summary, Who};
use crate::stats;
use loadgen::metric::Metric;

/// Most metrics of a case that are compared, the most important ones first.
const MOST_METRICS: usize = 4;

#[derive(Serialize)]
struct Comparison<'a> {
    marks: String,
    title: &'a str,
    question: &'a str,
    before: ComparedRun<'a>,
    after: ComparedRun<'a>,
    verdict: String,
    changed: Vec<Change>,
    cases: Vec<CaseDiff>,
    only: Vec<String>,
    /// Requirements of METHOD.md that the two runs do not meet.
    shortcomings: Vec<String>,
    /// What the twins of the two runs have shown, where they differ.
    twins: Vec<String>,
    rule: Rule,
}

#[derive(Serialize)]
struct ComparedRun<'a> {
    date: String,
    started: &'a str,
    machine: String,
    rounds: u32,
    is_quick: bool,
}

/// Another difference between the runs, with the lines that differ if it is one of longer texts.
#[derive(Serialize)]
struct Change {
    what: String,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct CaseDiff {
    title: String,
    what: String,
    metrics: Vec<MetricDiff>,
}

#[derive(Serialize)]
struct MetricDiff {
    title: String,
    /// Which of two figures is better; empty for a metric that ranks nobody.
    hint: &'static str,
    rows: Vec<Diff>,
}

/// One contender's number in both runs.
#[derive(Serialize)]
struct Diff {
    chip: Chip,
    before: String,
    after: String,
    ratio: String,
    /// `better`, `worse`, `same` where the two are not told apart, `other` for a metric that ranks nobody, or `out`
    /// where it is not compared.
    verdict: &'static str,
    /// Reason why it is not compared; empty if it is.
    why: String,
}

/// The comparison as text for a terminal of this width.
pub fn words(before: &Summary, after: &Summary, width: u16) -> Result<String, String> {
    let it = compare(before, after)?;
    let mut out = String::new();
    let mut say = |text: String| writeln!(out, "{text}").map_err(|error| error.to_string());
    say(format!("{}: {} against {}", it.title, it.after.started, it.before.started))?;
    for short in &it.shortcomings {
        say(format!("Not a run as METHOD.md wants it: {short}"))?;
    }
    for words in &it.twins {
        say(format!("The twins differ: {words}"))?;
    }
    say(it.verdict.clone())?;
    for change in &it.changed {
        say(format!("Changed: {}", change.what))?;
        change.lines.iter().try_for_each(|line| say(format!("  {line}")))?;
    }
    for case in &it.cases {
        for metric in &case.metrics {
            let hint = if metric.hint.is_empty() { String::new() } else { format!(" ({})", metric.hint) };
            say(format!("\n{}: {}{hint}", case.title, metric.title))?;
            say(text_table(metric, width.max(table::NARROWEST)))?;
        }
    }
    for only in &it.only {
        say(format!("Only in one: {only}"))?;
    }
    Ok(out)
}

/// The comparison as an HTML page.
pub fn html(before: &Summary, after: &Summary) -> Result<String, String> {
    template::fill("compare.html", &compare(before, after)?)
}

fn text_table(metric: &MetricDiff, width: u16) -> String {
    let mut out = table::empty();
    out.set_header(["", "before", "after", "after / before", ""]);
    for diff in &metric.rows {
        let Diff { chip, before, after, ratio, verdict, why } = diff;
        let verdict = match *verdict {
            "out" => format!("not compared: {why}"),
            // That does not mean that the two are equal.
            "same" => "not told apart".to_owned(),
            "other" => "ranks nobody".to_owned(),
            verdict => verdict.to_owned(),
        };
        out.add_row([&chip.title, before, after, ratio, &verdict].map(Cell::new));
    }
    for column in out.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut bytes = Vec::new();
    match table::write_table(&mut bytes, out, width) {
        Ok(()) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
        Err(error) => error.to_string(),
    }
}

fn compare<'a>(before: &'a Summary, after: &'a Summary) -> Result<Comparison<'a>, String> {
    if before.study != after.study {
        let (one, other) = (&before.study, &after.study);
        return Err(format!("one run is of {one}, the other of {other}: only runs of one study can be compared"));
    }
    let styles = Styles::of(after);
    let pairs: Vec<(&Case, &Case)> = after
        .cases
        .iter()
        .filter_map(|new| Some((before.cases.iter().find(|old| old.name == new.name)?, new)))
        .collect();
    let cases = pairs.iter().map(|(old, new)| case_diff(old, new, &styles));
    let cases: Vec<CaseDiff> = cases.filter(|case| !case.metrics.is_empty()).collect();
    Ok(Comparison {
        marks: styles.marks(),
        title: &after.title,
        question: &after.question,
        before: run(before),
        after: run(after),
        verdict: verdict(&cases),
        changed: changed(before, after, &styles),
        cases,
        only: only(before, after, &pairs),
        shortcomings: of_each(before, after, |run| (!run.shortcomings.is_empty()).then(|| run.shortcomings.join("; "))),
        twins: of_each(before, after, twins::alarm),
        rule: Rule::now(),
    })
}

/// Remarks on the two runs, each with the run that it is about. A run without a remark is left out.
fn of_each(before: &Summary, after: &Summary, remark: impl Fn(&Summary) -> Option<String>) -> Vec<String> {
    let runs = [(before, "before"), (after, "after")];
    runs.into_iter().filter_map(|(run, when)| Some(format!("the run {when}: {}", remark(run)?))).collect()
}

fn run(summary: &Summary) -> ComparedRun<'_> {
    ComparedRun {
        date: heading::day(summary),
        started: &summary.started,
        machine: heading::machine(summary),
        rounds: summary.rounds,
        is_quick: summary.is_quick,
    }
}

fn case_diff(old: &Case, new: &Case, styles: &Styles) -> CaseDiff {
    let metrics = new.metrics.iter().take(MOST_METRICS).filter_map(|name| Metric::of(name));
    let metrics = metrics.map(|metric| {
        let names = plot::in_order(new).into_iter().map(|result| &result.contender);
        let row = |name: &String| {
            let of = |case: &'_ Case| case.results.iter().find(|result| result.contender == *name).cloned();
            let (then, now) = (of(old)?, of(new)?);
            let is_told = then.numbers.contains_key(metric.name) || now.numbers.contains_key(metric.name);
            is_told.then(|| diff(styles.chip(name), (old, &then), (new, &now), metric))
        };
        MetricDiff {
            title: number::title(metric),
            hint: if new.tells_better(metric) { plot::good_end(metric) } else { "" },
            rows: names.filter_map(row).collect(),
        }
    });
    let metrics = metrics.filter(|metric| !metric.rows.is_empty()).collect();
    CaseDiff { title: new.title.clone(), what: new.what.clone(), metrics }
}

fn diff(chip: Chip, (old, then): (&Case, &Measured), (new, now): (&Case, &Measured), metric: &Metric) -> Diff {
    let sound = |result: &'_ Measured| counted(result, metric).cloned();
    let (before, after) = (sound(then), sound(now));
    let figure = |spread: &Option<Spread>| {
        spread.as_ref().map_or_else(|| number::NONE.to_owned(), |spread| number::value(spread.median, metric))
    };
    let reasons = [(old, then, "before"), (new, now, "after")];
    let reasons = reasons
        .into_iter()
        .filter_map(|(case, one, when)| Some(format!("{when}: {}", ranking::not_ranked_by(case, one, metric.name)?)));
    let why = reasons.collect::<Vec<_>>().join("; ");
    let pair = before.as_ref().zip(after.as_ref()).filter(|_| why.is_empty());
    // Rounds of two runs have nothing in common but their number: to pair them by it is as good as any other pairing.
    let verdict = match pair {
        None => "out",
        Some((before, after)) if !stats::are_apart(before, after) => "same",
        _ if !new.tells_better(metric) => "other",
        // By the ratio that is shown, and not by the medians, which may be of other numbers of rounds.
        Some((before, after)) if stats::better(after, before, metric.direction) => "better",
        _ => "worse",
    };
    let ratio = pair.and_then(|(before, after)| stats::ratio(after, before));
    Diff {
        chip,
        before: figure(&before),
        after: figure(&after),
        ratio: ratio.map_or_else(|| number::NONE.to_owned(), |ratio| number::ratio(&ratio)),
        verdict,
        why: if verdict == "out" && why.is_empty() { "no figure in one of them".to_owned() } else { why },
    }
}

/// Sentence on how many of the cases' first metrics became better, worse, or neither. First metrics that rank nobody
/// are left out.
fn verdict(cases: &[CaseDiff]) -> String {
    let ranking = cases.iter().filter_map(|case| case.metrics.first()).filter(|metric| !metric.hint.is_empty());
    let first: Vec<&Diff> = ranking.flat_map(|metric| &metric.rows).collect();
    let of = |verdict: &str| first.iter().filter(|diff| diff.verdict == verdict).count();
    let counts = [("better", of("better")), ("worse", of("worse")), ("not told apart", of("same"))];
    let out = match of("out") {
        0 => String::new(),
        out => format!("; {out} more cannot be compared, since one of the runs does not rank them"),
    };
    match first.len() - of("out") {
        0 if out.is_empty() => "No figure that ranks is in both runs.".to_owned(),
        0 => format!("Nothing can be compared{out}."),
        1 if counts[2].1 == 1 => format!("The one figure that ranks is not told apart{out}."),
        all if counts[2].1 == all => format!("None of {all} figures that rank are told apart{out}."),
        all => {
            let parts = counts.iter().filter(|(_, count)| *count > 0);
            let parts: Vec<String> = parts.map(|(verdict, count)| format!("{count} {verdict}")).collect();
            let figures = grammar::count(all, "figure that ranks", "figures that rank");
            format!("Of {figures}: {}{out}.", grammar::list(&parts))
        }
    }
}

/// Other differences between the runs, which may be the reason.
fn changed(before: &Summary, after: &Summary, styles: &Styles) -> Vec<Change> {
    let mut found = Vec::new();
    let mut note = |what: &str, old: &str, new: &str| {
        if old != new {
            let shown = |text: &str| if text.is_empty() { "not recorded".to_owned() } else { text.to_owned() };
            found.push(Change { what: format!("{what}: {}, then {}", shown(old), shown(new)), lines: Vec::new() });
        }
    };
    let form = |summary: &Summary| if summary.is_quick { "quick" } else { "full" };
    note("form", form(before), form(after));
    note("rounds", &before.rounds.to_string(), &after.rounds.to_string());
    note("command", &before.command, &after.command);
    let fact = |summary: &Summary, name: &str| {
        summary.machine.iter().find(|(key, _)| key == name).map_or_else(String::new, |(_, value)| value.clone())
    };
    let names: BTreeSet<&String> = before.machine.iter().chain(&after.machine).map(|(name, _)| name).collect();
    for name in names.into_iter().filter(|name| !["date", "load before"].contains(&name.as_str())) {
        note(name, &fact(before, name), &fact(after, name));
    }
    for new in &after.contenders {
        let Some(old) = before.contenders.iter().find(|old| old.name == new.name) else { continue };
        let title = styles.title(&new.name);
        note(&format!("version of {title}"), &old.version, &new.version);
        note(&format!("Ruby of {title}"), &old.ruby, &new.ruby);
        note(&format!("settings of {title}"), &settings(old), &settings(new));
    }
    found.extend(after.contenders.iter().filter_map(|new| {
        let old = before.contenders.iter().find(|old| old.name == new.name)?;
        other_commands(&styles.title(&new.name), &commands(old), &commands(new))
    }));
    found
}

/// The lines in which the commands of a contender differ: these have many, generated files among them.
fn other_commands(title: &str, old: &str, new: &str) -> Option<Change> {
    if old == new {
        return None;
    }
    let change = |words: &str, lines| Some(Change { what: format!("commands of {title}: {words}"), lines });
    match (old.is_empty(), new.is_empty()) {
        (true, _) => return change("not recorded before", Vec::new()),
        (_, true) => return change("not recorded after", Vec::new()),
        _ => {}
    }
    let gone = without(old, new).into_iter().map(|line| format!("- {line}"));
    let added = without(new, old).into_iter().map(|line| format!("+ {line}"));
    let lines: Vec<String> = gone.chain(added).collect();
    change(if lines.is_empty() { "the same lines in another order" } else { "- before, + after" }, lines)
}

/// Lines of a text that another one lacks, each as often as it lacks it.
fn without<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let mut rest: Vec<&str> = other.lines().collect();
    let mut lines = Vec::new();
    for line in text.lines() {
        match rest.iter().position(|one| *one == line) {
            Some(at) => {
                rest.swap_remove(at);
            }
            None => lines.push(line),
        }
    }
    lines
}

/// Command lines of a contender without what differs in every run: ports, and the numbers of its folders for files
/// (`TMP/puma-453`).
fn commands(who: &Who) -> String {
    masked(
        who.commands.join("\n"),
        &[
            (r"(127\.0\.0\.1:|\blisten\s+|--?p(?:ort)?[ =]|:)[0-9]{4,5}\b", "${1}PORT"),
            (r"(\bTMP/[A-Za-z0-9-]+)-[0-9]+\b", "${1}-N"),
        ],
    )
}

fn settings(who: &Who) -> String {
    let threads = if who.threads > 1 { format!(" × {} threads", who.threads) } else { String::new() };
    let counted = who.counted_workers.map_or_else(String::new, |count| format!(", {count} counted"));
    format!("{}{threads}{counted}", grammar::count(who.workers as usize, "worker", "workers"))
}

/// Cases and contenders that only one of the runs has.
fn only(before: &Summary, after: &Summary, pairs: &[(&Case, &Case)]) -> Vec<String> {
    let mut found = Vec::new();
    for (summary, when) in [(before, "before"), (after, "after")] {
        let lone = |case: &&Case| !pairs.iter().any(|(old, _)| old.name == case.name);
        found.extend(summary.cases.iter().filter(lone).map(|case| format!("{} ({when})", case.title)));
    }
    let seen = |case: &Case, name: &str| case.results.iter().any(|result| result.contender == name);
    let styles = [Styles::of(before), Styles::of(after)];
    let title = |styles: &Styles, result: &Measured| styles.title(&result.contender);
    for (old, new) in pairs {
        let gone = old.results.iter().filter(|result| !seen(new, &result.contender));
        found.extend(gone.map(|result| format!("{} in {} (before)", title(&styles[0], result), new.title)));
        let added = new.results.iter().filter(|result| !seen(old, &result.contender));
        found.extend(added.map(|result| format!("{} in {} (after)", title(&styles[1], result), new.title)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, results: &[(&str, f64, f64)]) -> Summary {
        let result = |(name, rate, failed): &(&str, f64, f64)| {
            let numbers = [("requests_per_s", *rate), ("requests", 100.0 - failed), ("failed", *failed)];
            Measured::of(name, &numbers.map(|(metric, number)| (metric, [number; 3])))
        };
        let metrics = vec!["requests_per_s".into()];
        let results: Vec<Measured> = results.iter().map(result).collect();
        let who = |one: &Measured| Who {
            name: one.contender.clone(),
            title: format!("The {}", one.contender),
            ..Who::default()
        };
        let contenders = results.iter().map(who).collect();
        let case = Case { name: name.into(), title: name.into(), metrics, results, ..Case::default() };
        Summary { contenders, cases: vec![case], ..Summary::default() }
    }

    #[test]
    fn who_fails_or_is_not_compared_in_one_run_is_neither_better_nor_worse() {
        let before = run("c", &[("a", 100.0, 0.0), ("b", 100.0, 34.0), ("d", 100.0, 0.0), ("e", 100.0, 0.0)]);
        let mut after = run("c", &[("a", 200.0, 0.0), ("b", 200.0, 0.0), ("d", 200.0, 0.0), ("e", 200.0, 0.0)]);
        after.cases[0].results[2].not_compared = Some("measured an hour later".into());
        after.cases[0].results[3].disqualified = Some("it lied".into());
        let it = compare(&before, &after).unwrap();
        let verdicts: Vec<(&str, &str)> =
            it.cases[0].metrics[0].rows.iter().map(|row| (row.verdict, row.why.as_str())).collect();
        let expected = [
            ("better", ""),
            ("out", "before: 34.0 % failed"),
            ("out", "after: measured at another time"),
            ("out", "after: disqualified"),
        ];
        assert_eq!(verdicts, expected);
        assert_eq!(
            it.verdict,
            "Of 1 figure that ranks: 1 better; 3 more cannot be compared, since one of the runs does not rank them."
        );
        assert_eq!(it.cases[0].metrics[0].rows[3].after, number::NONE, "a wrong answer has no speed");
    }

    /// A run of ten rounds on a machine that became faster, and a run of three.
    #[test]
    fn of_runs_with_other_numbers_of_rounds_the_ratio_decides_and_not_the_medians() {
        let of = |rates: &[f64]| {
            let mut run = run("c", &[("a", 100.0, 0.0)]);
            run.cases[0].results[0].add(&[("requests_per_s", rates)]);
            run
        };
        let long = of(&[100.0, 101.0, 99.0, 130.0, 131.0, 129.0, 130.0, 131.0, 129.0, 130.0]);
        let short = of(&[110.0, 111.1, 108.9]);
        let found = |before: &Summary, after: &Summary| {
            let it = compare(before, after).unwrap();
            let row = &it.cases[0].metrics[0].rows[0];
            (row.verdict, row.ratio.clone())
        };
        let (verdict, ratio) = found(&long, &short);
        assert!(verdict == "better" && ratio.starts_with("1.10×"), "{verdict} {ratio}");
        let (verdict, ratio) = found(&short, &long);
        assert!(verdict == "worse" && ratio.starts_with("0.91×"), "{verdict} {ratio}");
    }

    #[test]
    fn what_is_not_told_apart_is_not_said_to_be_the_same() {
        let words = words(&run("c", &[("a", 100.0, 0.0)]), &run("c", &[("a", 101.0, 0.0)]), 100).unwrap();
        assert!(words.contains("not told apart") && !words.contains("same"), "{words}");
        assert!(words.contains("The one figure that ranks is not told apart."), "{words}");
    }

    #[test]
    fn who_is_only_in_one_run_is_told_by_its_title() {
        let [before, after] = ["b", "d"].map(|other| run("c", &[("a", 1.0, 0.0), (other, 1.0, 0.0)]));
        assert_eq!(compare(&before, &after).unwrap().only, ["The b in c (before)", "The d in c (after)"]);
    }

    #[test]
    fn what_ranks_nobody_in_a_run_makes_neither_of_two_better() {
        let of = |factor: f64| {
            let mut run = run("overload", &[("a", 100.0, 40.0)]);
            let case = &mut run.cases[0];
            case.is_about_failures = true;
            case.metrics = ["goodput_per_s", "p99_ms", "failed"].map(str::to_owned).into();
            let numbers = [("goodput_per_s", 50.0 * factor), ("p99_ms", 9.0 / factor), ("failed", 40.0 / factor)];
            case.results[0].add(&numbers.map(|(name, number)| (name, [number; 3])));
            run
        };
        let (before, after) = (of(1.0), of(2.0));
        let it = compare(&before, &after).unwrap();
        let of_metric = |one: &MetricDiff| (one.hint, one.rows[0].verdict, one.rows[0].why.clone());
        let found: Vec<(&str, &str, String)> = it.cases[0].metrics.iter().map(of_metric).collect();
        let why = "before: 40.0 % failed; after: 25.0 % failed".to_owned();
        let expected =
            [("more is better", "better", String::new()), ("less is better", "out", why), ("", "other", String::new())];
        assert_eq!(found, expected);
        assert_eq!(it.verdict, "Of 1 figure that ranks: 1 better.");
        let words = words(&before, &after, 100).unwrap();
        assert!(words.contains("ranks nobody") && !words.contains("other"), "{words}");
        // Nor does it where a study names it first: the sentence would be "Of 1 figure that ranks: .".
        let by_failures = |factor: f64| {
            let mut run = of(factor);
            run.cases[0].metrics = vec!["failed".to_owned()];
            run
        };
        let (before, after) = (by_failures(1.0), by_failures(2.0));
        let it = compare(&before, &after).unwrap();
        assert_eq!(it.cases[0].metrics[0].rows[0].verdict, "other");
        assert_eq!(it.verdict, "No figure that ranks is in both runs.");
    }

    #[test]
    fn that_the_twins_of_a_run_differ_is_said_before_it_is_compared() {
        let before = run("c", &[("a", 100.0, 0.0)]);
        let mut after = before.clone();
        after.cases[0].twin = run("c", &[("twin", 200.0, 0.0)]).cases.remove(0).results.pop();
        after.twin_of = Some("a".into());
        after.cases.push(Case { name: "d".into(), ..after.cases[0].clone() });
        let words = words(&before, &after, 100).unwrap();
        assert!(words.contains("\nThe twins differ: the run after: The a was measured twice, as if"), "{words}");
        assert!(html(&before, &after).unwrap().contains("The twins differ: the run after: The a was measured"));
    }

    #[test]
    fn of_commands_the_lines_that_differ_are_shown_each_on_its_own() {
        let of = |threads: u32| {
            let mut run = run("c", &[("a", 100.0, 0.0)]);
            let file = format!("cat > puma.rb <<'END'\nbacklog 4096\nthreads {threads}, {threads}\nEND");
            run.contenders[0].commands = vec![file, "puma -C puma.rb".to_owned()];
            run
        };
        let (before, after) = (of(5), of(3));
        let text = words(&before, &after, 100).unwrap();
        let says = "\nChanged: commands of The a: - before, + after\n  - threads 5, 5\n  + threads 3, 3\n";
        assert!(text.contains(says) && !text.contains("backlog") && !text.contains("puma -C"), "{text}");
        let page = html(&before, &after).unwrap();
        assert!(page.contains("<code>- threads 5, 5\n+ threads 3, 3\n</code>") && !page.contains("backlog"), "{page}");
        let mut other = of(5);
        other.contenders[0].commands.reverse();
        let text = words(&before, &other, 100).unwrap();
        assert!(text.contains("commands of The a: the same lines in another order\n"), "{text}");
        other.contenders[0].commands.clear();
        let text = words(&other, &after, 100).unwrap();
        assert!(text.contains("commands of The a: not recorded before\n") && !text.contains("threads"), "{text}");
    }

    #[test]
    fn commands_that_differ_by_their_ports_and_the_numbers_of_their_folders_only_are_the_same() {
        let who = |port: u16| Who {
            commands: vec![
                format!("puma -b tcp://127.0.0.1:{port} -t 5:5"),
                format!("thin -p {port} start"),
                format!("server 127.0.0.1:{port};\n listen {port} backlog=4096;"),
                format!("passenger start --port={port} --port {port} -c worker_processes=4096"),
                format!("unicorn -l 0.0.0.0:{port}"),
                format!("puma -C TMP/puma-4x1-{}/puma.rb", port % 1000),
            ],
            ..Who::default()
        };
        assert_eq!(commands(&who(40123)), commands(&who(9292)));
        assert!(
            commands(&who(9292)).contains("backlog=4096") && commands(&who(9292)).contains("worker_processes=4096")
        );
        let other = Who { commands: vec!["puma -t 5:5".into()], ..Who::default() };
        assert_ne!(commands(&other), commands(&Who { commands: vec!["puma -t 3:3".into()], ..Who::default() }));
    }
}
