//! Plot of a request's time: a stacked bar for each contender, with the parts in the order of a request's path, in the
//! same colors everywhere.

use super::bars::{BAR_LAYOUTS, BarLayout, FOOT, HEAD, grid, names};
use super::drawing::{Drawing, LETTERS, in_order, unranked};
use super::pen::{At, Ink, Names, Pen, picture};
use super::scale::Scale;
use crate::record::summary::{Case, Measured};
use crate::report::number;
use crate::report::styles::{Chip, Styles};
use loadgen::metric::{DIVIDED, Metric, PARTS};

/// Space after the longest bar, for its number.
const AFTER: f64 = 64.0;
/// Space between two parts, which distinguishes them without colors.
const SEAM: f64 = 1.0;
/// Width in pixels below which a part is not drawn.
const LEAST: f64 = 0.25;

/// Division of a request's time, as a stacked bar for each contender; `None` if it was not measured.
pub fn draw(case: &Case, styles: &Styles, id: &str) -> Option<Drawing> {
    let results: Vec<&Measured> = in_order(case).into_iter().filter(|result| is_divided(result)).collect();
    if results.is_empty() {
        return None;
    }
    let title = format!("{}: where a request’s time goes", case.title);
    let called = Names { id, title: &title, about: "The figures stand in the table below.", places: "" };
    let layout = &BAR_LAYOUTS[0];
    let size = (layout.width, HEAD + results.len() as f64 * layout.row + FOOT);
    let wide = picture(size, called, true, |pen| bars(pen, layout, (case, &results), styles));
    Some(Drawing { wide, narrow: String::new(), legend: legend() })
}

/// Whether the result has a division of time. Disqualified ones have none.
pub fn is_divided(result: &Measured) -> bool {
    result.disqualified.is_none() && result.numbers.contains_key(DIVIDED)
}

/// A number of the divided load, in the round with the median time of a request: medians of parts from different rounds
/// would not add up.
pub fn in_middle_round(result: &Measured, name: &str) -> Option<f64> {
    let mut rounds: Vec<(usize, f64)> = result.numbers.get(DIVIDED)?.all.iter().copied().enumerate().collect();
    rounds.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let (at, _) = *rounds.get(rounds.len() / 2)?;
    result.numbers.get(name)?.all.get(at).copied()
}

/// Parts of one contender, in milliseconds.
pub fn of(result: &Measured) -> [f64; PARTS.len()] {
    PARTS.map(|name| in_middle_round(result, name).unwrap_or(0.0).max(0.0))
}

fn legend() -> Vec<Chip> {
    let chip = |(at, name): (usize, &&str)| Chip {
        title: Metric::of(name).map_or(*name, |metric| metric.title).to_owned(),
        mark: format!(
            "<svg class=\"mark\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path d=\"M0 0h12v12H0z\" \
             fill=\"var(--p{at})\"/></svg>"
        ),
        at,
        ..Chip::default()
    };
    PARTS.iter().enumerate().map(chip).collect()
}

fn bars(pen: &mut Pen, layout: &BarLayout, (case, results): (&Case, &[&Measured]), styles: &Styles) {
    let most = results.iter().map(|result| of(result).iter().sum()).fold(0.0, f64::max);
    let scale = Scale::around(0.0, most, false);
    let left = layout.names;
    let end = layout.width - AFTER;
    let bottom = HEAD + results.len() as f64 * layout.row;
    pen.bold((left, 12.0), "Time of a request, ms", LETTERS, Ink::Text, At::Left);
    grid(pen, (scale, 8), (left, end), (HEAD, bottom));
    names(pen, layout, (case, results), styles, 0.0);
    for (at, result) in results.iter().enumerate() {
        let row = HEAD + at as f64 * layout.row;
        let look = styles.get(&result.contender);
        pen.of(&look, "", &on_touch(case, result, styles), |pen| {
            pen.row((left, layout.width), row + layout.row / 2.0);
            bar(pen, result, scale, (left, end), row + layout.row / 2.0);
            if let Some(why) = unranked(case, result) {
                pen.over((left + 8.0, row + layout.row / 2.0), &why, LETTERS - 2.0, Ink::Bad);
            }
        });
    }
    pen.line((left, HEAD), (left, bottom), Ink::Quiet, 1.0);
}

fn bar(pen: &mut Pen, result: &Measured, scale: Scale, (left, end): (f64, f64), y: f64) {
    let mut sum = 0.0;
    for (part, ms) in (0..).zip(of(result)) {
        let from = scale.at(sum, left, end);
        sum += ms;
        let to = scale.at(sum, left, end);
        if to - from > LEAST {
            let seam = if to - from > 3.0 * SEAM { SEAM } else { 0.0 };
            pen.bar((from, to - seam), y, Ink::Part(part));
        }
    }
    let x = scale.at(sum, left, end).max(left + 1.0) + 7.0;
    pen.text((x, y), &number::significant(sum), LETTERS, Ink::Text, At::Left);
}

/// Tooltip of a contender's bar: its title, and the milliseconds of each part.
fn on_touch(case: &Case, result: &Measured, styles: &Styles) -> String {
    let part = |(name, ms): (&str, f64)| {
        let title = Metric::of(name).map_or(name, |metric| metric.title);
        format!("\n{title}: {} ms", number::significant(ms))
    };
    let parts: String = PARTS.into_iter().zip(of(result)).map(part).collect();
    let why = unranked(case, result).map_or_else(String::new, |why| format!("\n{why}"));
    styles.title(&result.contender) + &parts + &why
}
