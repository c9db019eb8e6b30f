//! Pictures of a summary: bars for one case, lines over many, over percentiles, or over time. Each is drawn twice, for
//! wide pages and for phones.

mod bars;
mod drawing;
mod lines;
mod parts;
pub mod pen;
mod scale;

pub use drawing::{Drawing, NARROW, WIDE, counted, good_end, in_order};
pub use parts::{in_middle_round, is_divided};

use super::look::Looks;
use crate::record::summary::{Case, Plot};
use loadgen::metric::Metric;

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
