//! Plots of a summary: bars for one case, lines over many, over percentiles, or over time. Each is drawn twice, for
//! wide pages and for phones.

mod bars;
mod division;
mod drawing;
mod lines;
pub mod pen;
mod scale;

pub use bars::draw as bars;
pub use division::{draw as division, in_middle_round, is_divided};
pub use drawing::{Drawing, NARROW, WIDE, counted, good_end, in_order};
pub use lines::{draw as lines, over_time, spectrum};

use crate::record::summary::{Case, Plot, PlotKind, Summary};

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
