//! Common parts of all plots: sizes, the order of results, and figures in words.

use serde::Serialize;

use crate::record::summary::{Case, Measured, Spread};
use crate::report::styles::{Chip, Styles};
use crate::report::{number, ranking};
use crate::stats::Beside;
use loadgen::metric::{Direction, Metric};

/// Width of plots on wide pages, in pixels.
pub const WIDE: f64 = 960.0;
/// Width of plots on phones, in pixels.
pub const NARROW: f64 = 340.0;
/// Font size in pixels.
pub const LETTERS: f64 = 13.0;

/// A plot as SVG, for wide pages and for phones.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Drawing {
    /// SVG for wide pages.
    pub wide: String,
    /// SVG for phones; empty where they show the wide one in sections.
    pub narrow: String,
    /// Legend of a plot of lines: each contender's mark and title, the index by which it can be hidden, and the reason
    /// why its line is hollow.
    pub legend: Vec<Chip>,
}

/// Results of a case in display order: ranked, then not ranked, then disqualified.
pub fn in_order(case: &Case) -> Vec<&Measured> {
    let ranked: Vec<&String> = case.ranking.iter().flatten().collect();
    let place = |result: &Measured| ranked.iter().position(|name| **name == result.contender).unwrap_or(usize::MAX);
    let mut results: Vec<&Measured> = case.results.iter().collect();
    results.sort_by_key(|result| (result.disqualified.is_some(), place(result)));
    results
}

/// Number of a result, unless it is disqualified.
pub fn counted<'a>(result: &'a Measured, metric: &Metric) -> Option<&'a Spread> {
    let spread = result.numbers.get(metric.name).filter(|spread| spread.is_sound());
    spread.filter(|_| result.disqualified.is_none())
}

/// Why a contender is drawn as not ranked in its case: `not ranked: 34 % failed`. None where it is ranked.
pub fn unranked(case: &Case, result: &Measured) -> Option<String> {
    unranked_by(case, result, case.metrics.first().map_or("", String::as_str))
}

/// Why a figure of this metric is drawn hollow or hatched, whatever ranks its case. None where it is ranked.
pub fn unranked_by(case: &Case, result: &Measured, metric: &str) -> Option<String> {
    ranking::not_ranked_by(case, result, metric).map(|why| format!("not ranked: {why}"))
}

/// A figure with all measured digits and its unit: `26 882 requests/s`.
pub fn in_full(value: f64, metric: &Metric) -> String {
    let exact = number::exact(value, metric);
    let unit = number::unit(metric);
    if unit.is_empty() { exact } else { format!("{exact} {unit}") }
}

/// A figure with its ratio to the best one: `26 882 requests/s, 0.83× (0.79–0.87)`.
pub fn set_beside(spread: &Spread, metric: &Metric, beside: &Beside, contender: &str) -> String {
    let figure = in_full(spread.median, metric);
    match number::beside(beside, contender) {
        none if none.is_empty() => figure,
        ratio => format!("{figure}, {ratio}"),
    }
}

/// Words for the good direction of a metric.
pub fn good_end(metric: &Metric) -> &'static str {
    match metric.direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
        Direction::Plain => "",
    }
}

/// The figures in words, for screen readers.
pub fn in_words(case: &Case, metric: &Metric, styles: &Styles) -> String {
    let beside = Beside::of(case, metric);
    let words = |result: &&Measured| {
        let title = styles.title(&result.contender);
        let Some(spread) = counted(result, metric) else { return format!("{title}: no figure") };
        let ratio = number::beside(&beside, &result.contender);
        let ratio = if ratio.is_empty() { ratio } else { format!(", {ratio}") };
        let why = unranked_by(case, result, metric.name).map_or_else(String::new, |why| format!(", {why}"));
        format!("{title}: {}{ratio}{why}", number::value(spread.median, metric))
    };
    let all: Vec<String> = in_order(case).iter().map(words).collect();
    format!("{}: {}.", number::title(metric), all.join("; "))
}
