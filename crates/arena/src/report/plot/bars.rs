//! Bar plot: a bar for each contender, best first, with the median beside it; a line down from the end of the best
//! one's bar, and on each other bar a whisker for the interval of its ratio to the best: contenders that are not told
//! apart from it reach the line. A published figure of the original study is an open diamond.

use super::drawing::{
    Drawing, LETTERS, NARROW, WIDE, counted, good_end, in_order, in_words, set_beside, unranked, unranked_by,
};
use super::pen::{At, Ink, Names, Pen, fitted, fitted_name, picture, text_width, wrapped};
use super::scale::Scale;
use crate::record::summary::{Case, Measured};
use crate::report::number;
use crate::report::ranking::is_best;
use crate::report::shape::Outline;
use crate::report::styles::Styles;
use crate::stats::Beside;
use loadgen::metric::Metric;

/// Sizes in pixels that differ between the plot for wide pages and that for phones.
pub(super) struct BarLayout {
    pub width: f64,
    /// Width of the column of names; 0 if each name is above its bar.
    pub names: f64,
    pub row: f64,
    pub bar: f64,
    /// Number of panels side by side.
    across: usize,
}

impl BarLayout {
    /// Distance from the top of a row to the middle of its bar.
    fn middle(&self) -> f64 {
        if self.names == 0.0 { self.row - self.bar / 2.0 - 5.0 } else { self.row / 2.0 }
    }
}

pub(super) const BAR_LAYOUTS: [BarLayout; 2] = [
    BarLayout { width: WIDE, names: 240.0, row: 27.0, bar: 14.0, across: 2 },
    BarLayout { width: NARROW, names: 0.0, row: 39.0, bar: 13.0, across: 1 },
];
/// Height above a panel for its title, and below it for its axis.
pub(super) const HEAD: f64 = 34.0;
pub(super) const FOOT: f64 = 26.0;
/// Space between panels side by side.
const GAP: f64 = 28.0;
/// Factor of today's largest figure above which a published figure or an end of an interval is off the scale, so that
/// bars stay visible.
const FAR: f64 = 1.6;

/// Panel for one metric of a case.
struct Panel<'a> {
    metric: &'a Metric,
    results: &'a [&'a Measured],
    case: &'a Case,
    beside: Beside<'a>,
    styles: &'a Styles,
    scale: Scale,
    /// Highest value within the scale.
    most: f64,
    left: f64,
    right: f64,
    top: f64,
}

/// Bars of all contenders in a case, with a panel for each metric.
pub fn draw(case: &Case, metrics: &[&Metric], styles: &Styles, id: &str) -> Drawing {
    let title = format!("{}: {}", case.title, metrics.iter().map(|m| m.title).collect::<Vec<_>>().join(" and "));
    let about: Vec<String> = metrics.iter().map(|metric| in_words(case, metric, styles)).collect();
    let results = in_order(case);
    let about = about.join(" ");
    let called = Names { id, title: &title, about: &about, places: "" };
    let drawn = |layout: &BarLayout| {
        let across = layout.across.min(metrics.len()).max(1);
        let deep = metrics.len().div_ceil(across);
        let height = HEAD + results.len() as f64 * layout.row + FOOT;
        let size = (layout.width, deep as f64 * height);
        picture(size, called, layout.names > 0.0, |pen| {
            let width = (layout.width - layout.names + GAP) / across as f64 - GAP;
            for (at, metric) in metrics.iter().enumerate() {
                let left = layout.names + (at % across) as f64 * (width + GAP);
                let top = (at / across) as f64 * height;
                if at % across == 0 && layout.names > 0.0 {
                    names(pen, layout, (case, &results), styles, top);
                }
                panel(metric, &results, case, styles, (left, left + width, top)).draw(pen, layout);
            }
        })
    };
    let wide = drawn(&BAR_LAYOUTS[0]);
    let narrow = drawn(&BAR_LAYOUTS[1]);
    Drawing { wide, narrow, legend: Vec::new() }
}

/// Lines down from at most this many values of a scale, with the values below them where there is room.
pub(super) fn grid(pen: &mut Pen, (scale, most): (Scale, usize), (left, end): (f64, f64), (top, bottom): (f64, f64)) {
    let mut free_from = f64::NEG_INFINITY;
    let mut rules = Vec::new();
    for tick in scale.ticks(most) {
        let x = scale.at(tick, left, end);
        let text = number::tick(tick);
        if x > end + 1.0 {
            continue;
        }
        rules.push([(x, top), (x, bottom)]);
        let half = text_width(&text, LETTERS - 2.0) / 2.0;
        if x - half > free_from {
            let at = if tick == 0.0 { At::Left } else { At::Middle };
            pen.text((x, bottom + 11.0), &text, LETTERS - 2.0, Ink::Quiet, at);
            free_from = x + half + 8.0;
        }
    }
    pen.lines(&rules, Ink::Rule);
}

/// The column of names with their marks.
pub(super) fn names(
    pen: &mut Pen,
    layout: &BarLayout,
    (case, results): (&Case, &[&Measured]),
    styles: &Styles,
    top: f64,
) {
    for (at, result) in results.iter().enumerate() {
        let style = styles.get(&result.contender);
        let y = top + HEAD + (at as f64 + 0.5) * layout.row;
        pen.mark(&style, (7.0, y));
        let ink = if unranked(case, result).is_some() { Ink::Quiet } else { Ink::Text };
        let lines = wrapped(&style.title, LETTERS, layout.names - 28.0);
        let size = if lines.len() > 1 { LETTERS - 2.0 } else { LETTERS };
        let first = y - (lines.len() as f64 - 1.0) * size * 0.52;
        for (at, line) in lines.iter().enumerate() {
            pen.text((18.0, first + at as f64 * size * 1.04), line, size, ink, At::Left);
        }
    }
}

fn panel<'a>(
    metric: &'a Metric,
    results: &'a [&'a Measured],
    case: &'a Case,
    styles: &'a Styles,
    (left, right, top): (f64, f64, f64),
) -> Panel<'a> {
    let today = results.iter().filter_map(|result| counted(result, metric)).map(|spread| spread.median);
    let today = today.fold(0.0, f64::max);
    let beside = Beside::of(case, metric);
    let ends = results.iter().filter_map(|result| Some(beside.interval(&result.contender)?.1));
    let published = case.published.iter().filter(|old| results.iter().any(|result| old.is_of(&result.contender)));
    let published = published.filter_map(|old| old.numbers.get(metric.name)).copied();
    let most = published.chain(ends).filter(|end| *end <= today * FAR).fold(today, f64::max);
    Panel { metric, results, case, beside, styles, scale: Scale::around(0.0, most, false), most, left, right, top }
}

impl Panel<'_> {
    fn draw(&self, pen: &mut Pen, layout: &BarLayout) {
        let title = number::title(self.metric);
        pen.bold((self.left, self.top + 12.0), &title, LETTERS, Ink::Text, At::Left);
        pen.text((self.right, self.top + 12.0), good_end(self.metric), LETTERS - 1.0, Ink::Quiet, At::Right);
        self.grid(pen, layout);
        for (at, result) in self.results.iter().enumerate() {
            let row = self.top + HEAD + at as f64 * layout.row;
            let middle = row + layout.middle();
            // The narrow layout has no tooltips of its own: pictures.js takes those of the wide one.
            let words = if layout.names > 0.0 { self.words(result) } else { String::new() };
            pen.of(&self.styles.get(&result.contender), "", &words, |pen| {
                pen.row((self.left, self.right), row + layout.row / 2.0);
                if layout.names == 0.0 {
                    self.name(pen, result, row + 10.0);
                }
                self.result(pen, result, middle);
            });
        }
        let bottom = self.top + HEAD + self.results.len() as f64 * layout.row;
        self.best(pen, layout, bottom);
        pen.line((self.left, self.top + HEAD), (self.left, bottom), Ink::Quiet, 1.0);
    }

    /// Draws the dotted line at the best one's median: from top to bottom, or beside the bars alone where names stand
    /// above them.
    fn best(&self, pen: &mut Pen, layout: &BarLayout, bottom: f64) {
        let Some(best) = self.beside.best().map(|best| self.place(best)) else { return };
        let top = self.top + HEAD;
        let half = layout.bar / 2.0 + 2.0;
        let beside = |at: usize| {
            let middle = top + at as f64 * layout.row + layout.middle();
            [(best, middle - half), (best, middle + half)]
        };
        let lines: Vec<[(f64, f64); 2]> = match layout.names == 0.0 {
            true => (0..self.results.len()).map(beside).collect(),
            false => vec![[(best, top), (best, bottom)]],
        };
        pen.dotted(&lines, Ink::Quiet);
    }

    /// Tooltip: name, figure, ratio to the best, rounds, and the published figure.
    fn words(&self, result: &Measured) -> String {
        let figure = |value: f64| number::with_unit(value, self.metric);
        let now = match (counted(result, self.metric), &result.disqualified) {
            (Some(spread), _) => {
                let figure = set_beside(spread, self.metric, &self.beside, &result.contender);
                let rounds = spread.all.len();
                let figure = if rounds < 2 { figure } else { format!("{figure} in {rounds} rounds") };
                self.unranked(result).map_or(figure.clone(), |why| format!("{figure}\n{why}"))
            }
            (None, Some(_)) => "disqualified".to_owned(),
            (None, None) => "no figure".to_owned(),
        };
        let old = self.old(&result.contender).map_or_else(String::new, |old| format!("\npublished: {}", figure(old)));
        format!("{}\n{}: {now}{old}", self.styles.title(&result.contender), self.metric.title)
    }

    /// Why the figure of a result is not ranked by the metric of this panel.
    fn unranked(&self, result: &Measured) -> Option<String> {
        unranked_by(self.case, result, self.metric.name)
    }

    /// Published figure of the original study for this contender.
    fn old(&self, contender: &str) -> Option<f64> {
        let old = self.case.published.iter().find(|old| old.is_of(contender))?;
        old.numbers.get(self.metric.name).copied().filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// Right end of the bars; the space after it is for the numbers.
    fn end(&self) -> f64 {
        self.right - 64.0
    }

    fn place(&self, value: f64) -> f64 {
        self.scale.at(value, self.left, self.end())
    }

    fn grid(&self, pen: &mut Pen, layout: &BarLayout) {
        let bottom = self.top + HEAD + self.results.len() as f64 * layout.row;
        let most = if layout.names == 0.0 { 5 } else { 6 };
        grid(pen, (self.scale, most), (self.left, self.end()), (self.top + HEAD, bottom));
    }

    fn name(&self, pen: &mut Pen, result: &Measured, y: f64) {
        let style = self.styles.get(&result.contender);
        pen.mark(&style, (self.left + 6.0, y));
        let title = fitted_name(&style.title, LETTERS, self.right - self.left - 20.0);
        pen.text((self.left + 17.0, y), &title, LETTERS, Ink::Text, At::Left);
    }

    fn result(&self, pen: &mut Pen, result: &Measured, y: f64) {
        let Some(spread) = counted(result, self.metric) else {
            let (words, ink) =
                if result.disqualified.is_some() { ("disqualified", Ink::Bad) } else { ("no figure", Ink::Quiet) };
            pen.text((self.left + 8.0, y), words, LETTERS - 1.0, ink, At::Left);
            return;
        };
        let middle = self.place(spread.median);
        let (from, to) = (self.left, middle.max(self.left + 0.75));
        let why = self.unranked(result);
        if why.is_some() {
            pen.hatched((from, to), y);
        } else {
            pen.bar((from, to), y, Ink::Own);
        }
        let interval = self.beside.interval(&result.contender);
        let free = interval.map_or(middle, |interval| self.whisker(pen, interval, y).max(middle));
        let text = number::value(spread.median, self.metric);
        let ranks = self.case.metrics.first().is_some_and(|name| name == self.metric.name);
        let letters = if ranks && is_best(self.case, &result.contender) { Pen::bold } else { Pen::text };
        // In a column of its own: beside a whisker it would be read as the whisker's end.
        letters(pen, (self.right, y), &text, LETTERS, Ink::Text, At::Right);
        self.published(pen, &result.contender, y, free + 6.0);
        if let Some(why) = why {
            // Behind the bar, or over it where there is no room.
            let has_room = to + 8.0 + text_width(&why, LETTERS - 2.0) < self.end();
            let x = if has_room { to + 8.0 } else { self.left + 8.0 };
            let why = fitted(&why, LETTERS - 2.0, self.end() - x);
            pen.over((x, y), &why, LETTERS - 2.0, Ink::Bad);
        }
    }

    /// Draws an interval, with a cap at each end that is within the scale. Returns where it ends.
    fn whisker(&self, pen: &mut Pen, (low, high): (f64, f64), y: f64) -> f64 {
        let (from, to) = (self.place(low).min(self.end()), self.place(high).min(self.end()));
        pen.whisker((from, to), y, (low <= self.most, high <= self.most));
        to
    }

    /// Draws the published figure. `free` is where today's bar and whisker end.
    fn published(&self, pen: &mut Pen, contender: &str, y: f64, free: f64) {
        let Some(value) = self.old(contender) else { return };
        if value <= self.most {
            return pen.ring(&Outline::diamond(self.place(value), y, 4.6), Ink::Quiet, 1.5);
        }
        // An arrow at the edge for a figure off the scale, with its number if there is room for it.
        let x = self.end() - 1.0;
        pen.path(&[(x - 4.0, y - 4.0), (x, y), (x - 4.0, y + 4.0)], Ink::Quiet, 1.5);
        let text = number::value(value, self.metric);
        let wide = text_width(&text, LETTERS - 2.0);
        if x - 36.0 - wide > free {
            pen.ring(&Outline::diamond(x - 18.0 - wide, y, 4.0), Ink::Quiet, 1.5);
            pen.text((x - 9.0, y), &text, LETTERS - 2.0, Ink::Quiet, At::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{P99, PSS_PEAK, RATE};

    use super::*;
    use crate::record::summary::Summary;

    #[test]
    fn the_line_of_the_best_runs_through_no_name() {
        let mut case = Case::of(RATE, &[("best", [100.0; 3]), ("other", [50.0; 3]), ("third", [40.0; 3])]);
        crate::stats::rank(&mut case);
        let styles = Styles::of(&Summary { cases: vec![case.clone()], ..Summary::default() });
        let drawing = draw(&case, &[Metric::of(RATE).unwrap()], &styles, "b");
        let dotted = |svg: &str| -> Vec<(f64, f64)> {
            let tags = svg.split("<path class=\"s-q\" d=\"").skip(1);
            let tag = tags.map(|rest| rest.split("/>").next().unwrap()).find(|tag| tag.contains("dasharray")).unwrap();
            let ends = |line: &str| {
                let (start, length) = line.split_once("l0 ").unwrap();
                let from: f64 = start.split(' ').nth(1).unwrap().parse().unwrap();
                (from, from + length.parse::<f64>().unwrap())
            };
            tag.split('"').next().unwrap().split('M').skip(1).map(ends).collect()
        };
        assert_eq!(dotted(&drawing.wide).len(), 1, "{}", drawing.wide);
        let lines = dotted(&drawing.narrow);
        assert_eq!(lines.len(), 3, "{}", drawing.narrow);
        // A name takes the upper 18 pixels of its row.
        let row = BAR_LAYOUTS[1].row;
        for (at, (from, to)) in lines.into_iter().enumerate() {
            let top = HEAD + at as f64 * row;
            assert!(from > top + 18.0 && from < to && to <= top + row, "{at}: {from} to {to}");
        }
    }

    /// Of a server that did not keep up with its rate, the latencies are not ranked, and rate and memory are.
    #[test]
    fn a_bar_is_hatched_by_its_own_metric_and_not_by_the_one_that_ranks_the_case() {
        let of = |first: &str, shown: &str| {
            let figures = Measured::of("behind", &[RATE, P99, PSS_PEAK].map(|name| (name, [9.0])));
            let behind = Measured { served_share: Some(0.5), ..figures };
            let case = Case { metrics: vec![first.into()], results: vec![behind], ..Case::default() };
            let styles = Styles::of(&Summary { cases: vec![case.clone()], ..Summary::default() });
            let drawing = draw(&case, &[Metric::of(shown).unwrap()], &styles, "b");
            drawing.wide.matches("not ranked: served 50 %</text>").count()
        };
        assert_eq!([of(P99, P99), of(RATE, P99), of(RATE, RATE), of(P99, PSS_PEAK)], [1, 1, 0, 0]);
    }
}
