//! Pictures of a summary: bars for one case, lines over many, over percentiles, or over time. Each is drawn twice, for
//! wide pages and for phones.

mod bars;
mod lines;
mod parts;
pub mod pen;
mod scale;

pub use parts::{in_middle_round, is_divided};
use serde::Serialize;

use super::look::{Chip, Looks};
use super::number;
use crate::record::summary::{Case, Measured, Plot, Spread};
use loadgen::metric::{Metric, Sense};

/// The width of pictures on wide pages, in pixels.
pub const WIDE: f64 = 960.0;
/// On phones.
pub const NARROW: f64 = 340.0;
/// Letters, in pixels.
const LETTERS: f64 = 13.0;

/// A picture in both forms.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Drawing {
    /// An SVG for wide pages.
    pub wide: String,
    /// An SVG for phones.
    pub narrow: String,
    /// Those who have a line: what its mark means, and the switch by which it goes.
    pub legend: Vec<Chip>,
}

/// Bars of all contenders in a case, a panel for each metric.
pub fn bars(case: &Case, metrics: &[&Metric], looks: &Looks, id: &str) -> Drawing {
    bars::draw(case, metrics, looks, id)
}

/// Lines of all contenders over the places of the cases; none where nobody has a figure.
pub fn lines(plot: &Plot, cases: &[&Case], looks: &Looks, id: &str) -> Result<Option<Drawing>, String> {
    lines::draw(plot, cases, looks, id)
}

/// The percentiles of all contenders in a case; none where its tool does not tell them.
pub fn spectrum(case: &Case, looks: &Looks, id: &str) -> Option<Drawing> {
    lines::spectrum(case, looks, id)
}

/// A metric of one round of a case, second by second; none if no contender has such figures.
pub fn over_time(case: &Case, metric: &Metric, looks: &Looks, id: &str) -> Option<Drawing> {
    lines::over_time(case, metric, looks, id)
}

/// How a request's time is divided: a bar of parts for each contender; none where that was not measured.
pub fn parts(case: &Case, looks: &Looks, id: &str) -> Option<Drawing> {
    parts::draw(case, looks, id)
}

/// The results of a case as they are shown: in the order of the ranking, then what is not ranked, then the
/// disqualified.
pub fn in_order(case: &Case) -> Vec<&Measured> {
    let ranked: Vec<&String> = case.ranking.iter().flatten().collect();
    let place = |result: &Measured| ranked.iter().position(|name| **name == result.contender).unwrap_or(usize::MAX);
    let mut results: Vec<&Measured> = case.results.iter().collect();
    results.sort_by_key(|result| (result.disqualified.is_some(), place(result)));
    results
}

/// The number of a result, if it counts.
fn counted<'a>(result: &'a Measured, metric: &Metric) -> Option<&'a Spread> {
    let spread = result.numbers.get(metric.name).filter(|spread| spread.is_sound());
    spread.filter(|_| result.disqualified.is_none())
}

/// Exactly what was measured: `26 882 requests/s (24 166–29 240)`.
fn in_full(spread: &Spread, metric: &Metric) -> String {
    let exact = |value: f64| number::exact(value, metric);
    let unit = number::unit(metric);
    let figure = if unit.is_empty() { exact(spread.median) } else { format!("{} {unit}", exact(spread.median)) };
    if spread.all.len() < 2 {
        return figure;
    }
    format!("{figure} ({}–{})", exact(spread.low), exact(spread.high))
}

/// What an axis shows: `Rate, requests/s`.
fn axis_title(metric: &Metric) -> String {
    match number::unit(metric) {
        "" => metric.title.to_owned(),
        unit => format!("{}, {unit}", metric.title),
    }
}

/// Which end is good, in words.
pub fn good_end(metric: &Metric) -> &'static str {
    match metric.sense {
        Sense::Higher => "more is better",
        Sense::Lower => "less is better",
        Sense::Plain => "",
    }
}

/// The figures in words, for those who do not see the picture.
fn in_words(case: &Case, metric: &Metric, looks: &Looks) -> String {
    let words = |result: &&Measured| {
        let title = looks.title(&result.contender);
        let Some(spread) = counted(result, metric) else { return format!("{title}: no figure") };
        let range = number::range(spread, metric);
        let range = if range.is_empty() { range } else { format!(" ({range})") };
        format!("{title}: {}{range}", number::value(spread.median, metric))
    };
    let all: Vec<String> = in_order(case).iter().map(words).collect();
    format!("{}: {}.", axis_title(metric), all.join("; "))
}
