//! Plots of a summary: bars for one case, lines over many, over percentiles, or over time. Each is drawn twice, for
//! wide pages and for phones.

mod bars;
mod division;
mod drawing;
mod lines;
pub mod pen;
mod scale;

pub use division::{in_middle_round, is_divided};
pub use drawing::{Drawing, NARROW, WIDE, counted, good_end, in_order};

use super::styles::Styles;
use crate::record::summary::{Case, Plot};
use loadgen::metric::Metric;

/// Bars of all contenders in a case, with a panel for each metric.
pub fn bars(case: &Case, metrics: &[&Metric], styles: &Styles, id: &str) -> Drawing {
    bars::draw(case, metrics, styles, id)
}

/// Lines of all contenders over the x values of the cases; `None` if no contender has a figure.
pub fn lines(plot: &Plot, cases: &[&Case], styles: &Styles, id: &str) -> Result<Option<Drawing>, String> {
    lines::draw(plot, cases, styles, id)
}

/// Percentiles of all contenders in a case; `None` if its tool does not report them.
pub fn spectrum(case: &Case, styles: &Styles, id: &str) -> Option<Drawing> {
    lines::spectrum(case, styles, id)
}

/// A metric of one round of a case, second by second; `None` if no contender has such figures.
pub fn over_time(case: &Case, metric: &Metric, styles: &Styles, id: &str) -> Option<Drawing> {
    lines::over_time(case, metric, styles, id)
}

/// Division of a request's time, as a stacked bar for each contender; `None` if it was not measured.
pub fn division(case: &Case, styles: &Styles, id: &str) -> Option<Drawing> {
    division::draw(case, styles, id)
}
