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
use crate::record::summary::{Case, Plot, PlotKind, Summary};
use loadgen::metric::Metric;

/// Line plots of a run of which a case was measured. A run may have none of a plot's cases: loads at equal rates begin
/// in the second round, and an import has what was given. The plot at the user's rate has a section of its own.
pub fn curves(summary: &Summary) -> Vec<&Plot> {
    let is_own = |plot: &Plot| plot.cases.iter().any(|name| summary.is_at_users_rate(name));
    let is_curve = |plot: &&Plot| plot.kind == PlotKind::Lines && !is_own(plot);
    summary.plots.iter().filter(is_curve).filter(|plot| !cases_of(plot, summary).is_empty()).collect()
}

/// Measured cases of a line plot, by their places on its x axis.
pub fn cases_of<'a>(plot: &Plot, summary: &'a Summary) -> Vec<&'a Case> {
    let is_there = |case: &&Case| case.x.is_some() && plot.cases.contains(&case.name);
    let mut cases: Vec<&Case> = summary.cases.iter().filter(is_there).collect();
    cases.sort_by(|one, other| one.x.unwrap_or(0.0).total_cmp(&other.x.unwrap_or(0.0)));
    cases
}

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
