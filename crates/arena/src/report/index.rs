//! Index page of several runs, the newest first, each with its verdict.

use serde::Serialize;

use super::styles::Styles;
use super::{grammar, heading, number, rule, sentence, template, twins, winners};
use crate::record::summary::Summary;

#[derive(Serialize)]
struct Index {
    runs: Vec<IndexEntry>,
}

#[derive(Serialize)]
struct IndexEntry {
    link: String,
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
    /// What the twins have shown, if they differ; else empty.
    twins: String,
    counts: String,
}

/// The index page of runs, each with the link to its own page.
pub fn html(runs: &[(String, Summary)]) -> Result<String, String> {
    let mut runs: Vec<&(String, Summary)> = runs.iter().collect();
    runs.sort_by(|(_, a), (_, b)| b.started.cmp(&a.started).then_with(|| a.title.cmp(&b.title)));
    template::fill("index.html", &Index { runs: runs.iter().map(|(link, summary)| entry(link, summary)).collect() })
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
        date: heading::day(summary),
        took: number::duration(summary.took_s),
        title: summary.title.clone(),
        study: summary.study.clone(),
        question: summary.question.clone(),
        verdict,
        winners: summary.verdicts.iter().map(winner).collect(),
        machine: heading::machine(summary),
        is_quick: summary.is_quick,
        shortcomings: summary.shortcomings.join("; "),
        twins: twins::alarm(summary).unwrap_or_default(),
        counts: counts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_case::case;

    #[test]
    fn that_the_twins_of_a_run_differ_stands_below_its_verdict() {
        let mut one = case("requests_per_s", &[("a", &[100.0, 101.0, 99.0])], &[&["a"]]);
        one.twin = case("requests_per_s", &[("twin", &[200.0, 202.0, 198.0])], &[]).results.pop();
        let run = Summary { cases: vec![one.clone(), one], twin_of: Some("a".into()), ..Summary::default() };
        let page = |run: &Summary| html(&[("x.html".to_owned(), run.clone())]).unwrap();
        assert!(page(&run).contains("The twins differ: a was measured twice"), "{}", page(&run));
        assert!(!page(&Summary { twin_of: None, ..run }).contains("The twins differ"));
    }
}
