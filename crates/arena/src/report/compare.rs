//! Comparison of two runs of one study: what became better or worse, what is level, and what else changed.

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, Table};
use regex::Regex;
use serde::Serialize;

use super::rule::Rule;
use super::styles::{Chip, Styles};
use super::{number, plot, table, template, words};
use crate::record::date;
use crate::record::summary::{Case, Spread, Summary, Who};
use crate::stats;
use loadgen::metric::{Metric, Sense};

/// Most metrics of a case that are compared, the most important ones first.
const MOST_METRICS: usize = 4;

#[derive(Serialize)]
struct Comparison<'a> {
    marks: String,
    title: &'a str,
    question: &'a str,
    before: Run<'a>,
    after: Run<'a>,
    verdict: String,
    changed: Vec<String>,
    cases: Vec<CaseDiff>,
    only: Vec<String>,
    rule: Rule,
}

#[derive(Serialize)]
struct Run<'a> {
    date: String,
    started: &'a str,
    machine: String,
    rounds: u32,
    is_quick: bool,
    command: &'a str,
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
    /// One of `better`, `worse`, `level` and `other`.
    verdict: &'static str,
}

/// The comparison as text for a terminal of this width.
pub fn words(before: &Summary, after: &Summary, width: u16) -> Result<String, String> {
    let it = compare(before, after)?;
    let mut out = String::new();
    let mut say = |text: String| writeln!(out, "{text}").map_err(|error| error.to_string());
    say(format!("{}: {} against {}", it.title, it.after.started, it.before.started))?;
    say(it.verdict.clone())?;
    for change in &it.changed {
        say(format!("Changed: {change}"))?;
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
        let Diff { chip, before, after, ratio, verdict } = diff;
        out.add_row([chip.title.as_str(), before, after, ratio, verdict].map(Cell::new));
    }
    for column in out.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines_of(out, width)
}

fn lines_of(table: Table, width: u16) -> String {
    let mut bytes = Vec::new();
    match table::write_table(&mut bytes, table, width) {
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
    let cases: Vec<CaseDiff> = pairs.iter().map(|(old, new)| case_diff(old, new, &styles)).collect();
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
        rule: Rule::now(),
    })
}

fn run(summary: &Summary) -> Run<'_> {
    Run {
        date: date::day_in_words(&summary.started),
        started: &summary.started,
        machine: words::machine(summary),
        rounds: summary.rounds,
        is_quick: summary.is_quick,
        command: &summary.command,
    }
}

fn case_diff(old: &Case, new: &Case, styles: &Styles) -> CaseDiff {
    let metrics = new.metrics.iter().take(MOST_METRICS).filter_map(|name| Metric::of(name));
    let metrics = metrics.map(|metric| {
        let names = plot::in_order(new).into_iter().map(|result| &result.contender);
        let row = |name: &String| {
            let (before, after) = (words::spread_of(old, name, metric)?, words::spread_of(new, name, metric)?);
            Some(diff(styles.chip(name), before, after, metric))
        };
        MetricDiff {
            title: match number::unit(metric) {
                "" => metric.title.to_owned(),
                unit => format!("{}, {unit}", metric.title),
            },
            hint: plot::good_end(metric),
            rows: names.filter_map(row).collect(),
        }
    });
    let metrics = metrics.filter(|metric| !metric.rows.is_empty()).collect();
    CaseDiff { title: new.title.clone(), what: new.what.clone(), metrics }
}

fn diff(chip: Chip, before: &Spread, after: &Spread, metric: &Metric) -> Diff {
    // Rounds of two runs have only their number in common: pairing them by it is as good as any other pairing.
    let verdict = match (!stats::are_apart(before, after), metric.sense) {
        (true, _) => "level",
        (_, Sense::Plain) => "other",
        (_, Sense::Higher) if after.median > before.median => "better",
        (_, Sense::Lower) if after.median < before.median => "better",
        _ => "worse",
    };
    Diff {
        chip,
        before: number::value(before.median, metric),
        after: number::value(after.median, metric),
        ratio: stats::ratio(after, before).map_or_else(|| number::NONE.to_owned(), |ratio| number::ratio(&ratio)),
        verdict,
    }
}

/// Sentence on how many of the cases' first metrics became better, worse, or neither.
fn verdict(cases: &[CaseDiff]) -> String {
    let first: Vec<&Diff> = cases.iter().filter_map(|case| case.metrics.first()).flat_map(|one| &one.rows).collect();
    let of = |verdict: &str| first.iter().filter(|diff| diff.verdict == verdict).count();
    let counts = [("better", of("better")), ("worse", of("worse")), ("level", of("level"))];
    match first.len() {
        0 => "Nothing is in both runs.".to_owned(),
        all if counts[2].1 == all => format!("All {all} figures that rank are level."),
        all => {
            let parts = counts.iter().filter(|(_, count)| *count > 0);
            let parts: Vec<String> = parts.map(|(verdict, count)| format!("{count} {verdict}")).collect();
            format!("Of {}: {}.", words::count(all, "figure that ranks", "figures that rank"), words::list(&parts))
        }
    }
}

/// Other differences between the runs, which may be the reason.
fn changed(before: &Summary, after: &Summary, styles: &Styles) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: &str, old: &str, new: &str| {
        if old != new {
            let told = |text: &str| if text.is_empty() { "not recorded".to_owned() } else { text.to_owned() };
            found.push(format!("{what}: {}, then {}", told(old), told(new)));
        }
    };
    let form = |summary: &Summary| if summary.is_quick { "quick" } else { "full" };
    note("form", form(before), form(after));
    note("rounds", &before.rounds.to_string(), &after.rounds.to_string());
    note("command", &before.command, &after.command);
    let fact = |summary: &Summary, name: &str| {
        summary.machine.iter().find(|(key, _)| key == name).map_or_else(String::new, |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = before.machine.iter().chain(&after.machine).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    for name in names.into_iter().filter(|name| !["date", "load before"].contains(&name.as_str())) {
        note(name, &fact(before, name), &fact(after, name));
    }
    for new in &after.contenders {
        let Some(old) = before.contenders.iter().find(|old| old.name == new.name) else { continue };
        let title = styles.title(&new.name);
        note(&format!("version of {title}"), &old.version, &new.version);
        note(&format!("Ruby of {title}"), &old.ruby, &new.ruby);
        note(&format!("settings of {title}"), &settings(old), &settings(new));
        note(&format!("commands of {title}"), &commands(old), &commands(new));
    }
    found
}

/// Command lines of a contender without what differs in every run: ports, and the numbers of its folders for files
/// (`TMP/puma-453`).
fn commands(who: &Who) -> String {
    let masks = [
        (r"(127\.0\.0\.1:|\blisten\s+|--?p(?:ort)?[ =]|:)[0-9]{4,5}\b", "${1}PORT"),
        (r"(\bTMP/[A-Za-z0-9-]+)-[0-9]+\b", "${1}-N"),
    ];
    masks.into_iter().fold(who.commands.join("; "), |all, (pattern, mask)| match Regex::new(pattern) {
        Ok(found) => found.replace_all(&all, mask).into_owned(),
        Err(_) => all,
    })
}

fn settings(who: &Who) -> String {
    let threads = if who.threads > 1 { format!(" × {} threads", who.threads) } else { String::new() };
    let counted = who.counted_workers.map_or_else(String::new, |count| format!(", {count} counted"));
    format!("{}{threads}{counted}", words::count(who.workers as usize, "worker", "workers"))
}

/// Cases and contenders that only one of the runs has.
fn only(before: &Summary, after: &Summary, pairs: &[(&Case, &Case)]) -> Vec<String> {
    let mut found = Vec::new();
    for (summary, when) in [(before, "before"), (after, "after")] {
        let lone = |case: &&Case| !pairs.iter().any(|(old, _)| old.name == case.name);
        found.extend(summary.cases.iter().filter(lone).map(|case| format!("{} ({when})", case.title)));
    }
    let seen = |case: &Case, name: &str| case.results.iter().any(|result| result.contender == name);
    for (old, new) in pairs {
        let gone = old.results.iter().filter(|result| !seen(new, &result.contender));
        found.extend(gone.map(|result| format!("{} in {} (before)", result.contender, new.title)));
        let added = new.results.iter().filter(|result| !seen(old, &result.contender));
        found.extend(added.map(|result| format!("{} in {} (after)", result.contender, new.title)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
