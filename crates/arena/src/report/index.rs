//! Index page of several runs, the newest first, each with its verdict.

use serde::Serialize;

use super::styles::Styles;
use super::{grammar, heading, number, rule, sentence, template, winners};
use crate::record::summary::Summary;

#[derive(Serialize)]
struct Index {
    runs: Vec<IndexEntry>,
}

#[derive(Serialize)]
struct IndexEntry {
    link: String,
    started: String,
    date: String,
    took: String,
    title: String,
    study: String,
    question: String,
    verdict: String,
    winners: Vec<String>,
    machine: String,
    is_quick: bool,
    shortcomings: String,
    counts: String,
}

/// The index page of runs, each with the link to its own page.
pub fn html(runs: &[(String, Summary)]) -> Result<String, String> {
    let mut entries: Vec<IndexEntry> = runs.iter().map(|(link, summary)| entry(link, summary)).collect();
    entries.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| a.title.cmp(&b.title)));
    template::fill("index.html", &Index { runs: entries })
}

fn entry(link: &str, summary: &Summary) -> IndexEntry {
    let styles = Styles::of(summary);
    let present = summary.contenders.iter().filter(|who| who.missing.is_empty()).count();
    let winner = |verdict: &crate::record::summary::Verdict| {
        format!("{}: {}", verdict.use_case, winners::of_use(verdict, &styles))
    };
    let counts = [
        grammar::count(present, "contender", "contenders"),
        grammar::count(summary.cases.len(), "case", "cases"),
        grammar::count(summary.rounds as usize, "round", "rounds"),
    ];
    let verdict = match &summary.advice {
        Some(advice) => {
            rule::older_rule_note(advice).to_owned() + &sentence::readable(&advice.sentence, summary, &styles)
        }
        None => winners::of_run(summary, &styles),
    };
    IndexEntry {
        link: link.to_owned(),
        started: summary.started.clone(),
        date: heading::day(summary),
        took: number::duration(summary.took_s),
        title: summary.title.clone(),
        study: summary.study.clone(),
        question: summary.question.clone(),
        verdict,
        winners: summary.verdicts.iter().map(winner).collect(),
        machine: heading::machine(summary),
        is_quick: summary.is_quick,
        shortcomings: heading::shortcomings(summary),
        counts: counts.join(", "),
    }
}
