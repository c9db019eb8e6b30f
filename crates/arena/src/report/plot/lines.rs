//! Curve plot: a line for each contender with its own dash and mark, named at its end; over the x values of its cases,
//! over the percentiles of one case, or over the seconds of a load.

use super::drawing::{Drawing, LETTERS, NARROW, WIDE, counted, good_end, in_full, set_beside, unranked_by};
use super::pen::{At, Ink, Names, Pen, Stroke, fitted, fitted_name, picture, text_width};
use super::scale::Scale;
use crate::record::summary::{Case, Measured, Plot, requests_needed};
use crate::report::grammar::distinct;
use crate::report::number;
use crate::report::shape::Outline;
use crate::report::styles::{Chip, Style, Styles};
use crate::stats::Beside;
use loadgen::metric::{Metric, P99, PERCENTILES, percent, rate_in_words};

/// Sizes in pixels that differ between the plot for wide pages and that for phones.
struct LineLayout {
    size: (f64, f64),
    /// Margins left and right of the lines; names stand in the right one if there is room.
    left: f64,
    right: f64,
    ticks: (usize, usize),
}

const LINE_LAYOUTS: [LineLayout; 2] = [
    LineLayout { size: (WIDE, 400.0), left: 62.0, right: 236.0, ticks: (12, 7) },
    LineLayout { size: (NARROW, 300.0), left: 48.0, right: 10.0, ticks: (7, 6) },
];
const HEAD: f64 = 38.0;
const FOOT: f64 = 46.0;
/// Ratio of the largest to the smallest median above which only a logarithmic axis shows both.
const STEEP: f64 = 40.0;
/// Fewest percentiles for which a contender has a line.
const PERCENTILES_LEAST: usize = 4;
/// Distance between the middles of two names.
const LINE: f64 = 18.0;

/// Points of a contender, in order.
struct Curve {
    name: String,
    style: Style,
    /// `None` where there is no figure: the line has a gap there.
    points: Vec<Option<Point>>,
    published: Vec<(f64, f64)>,
    /// Reason why some of its points are not ranked; empty if all are.
    why: String,
}

/// A figure with its position.
struct Point {
    place: f64,
    value: f64,
    /// Interval of its ratio to the best one there, on the scale of the metric.
    interval: Option<(f64, f64)>,
    /// Tooltip text.
    words: String,
    /// Whether its contender is not ranked in that case, so that the mark is hollow.
    is_hollow: bool,
}

/// Data of a line plot.
struct Chart<'a> {
    title: String,
    hint: String,
    lines: Vec<Curve>,
    places: Vec<f64>,
    /// Formats an x value.
    place: fn(f64) -> String,
    across: Scale,
    up: Scale,
    x_title: &'a str,
    /// Whether lines have marks; lines of many points have none.
    has_marks: bool,
    /// Whether the plot is in a folded section of the page: then it has one layout, which a phone shows in sections.
    is_folded: bool,
    /// The user's request rate with its label, for a plot whose x values are rates.
    here: Option<&'a (f64, String)>,
}

/// Lines of all contenders over the x values of the cases; `None` if no contender has a figure.
pub fn draw(plot: &Plot, cases: &[&Case], styles: &Styles, id: &str) -> Result<Option<Drawing>, String> {
    let Some(metric) = Metric::of(&plot.metric) else {
        return Err(format!("the plot {:?} shows {:?}, which is no metric", plot.title, plot.metric));
    };
    let mut cases: Vec<(f64, &Case)> = cases.iter().filter_map(|case| Some((case.x?, *case))).collect();
    cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    let chart = chart(plot, metric, &cases, styles);
    Ok((!chart.lines.is_empty()).then(|| drawing(&chart, &plot.title, styles, id)))
}

/// Percentiles of all contenders in a case, over the share of requests that took longer; `None` if its tool does not
/// report them.
pub fn spectrum(case: &Case, styles: &Styles, id: &str) -> Option<Drawing> {
    let results: Vec<&Measured> = super::in_order(case);
    let is_there = |place: &&(f64, &str)| results.iter().any(|result| percentile(case, result, **place).is_some());
    let measured: Vec<(f64, &str)> = PERCENTILES.iter().filter(is_there).copied().collect();
    let line = |result: &&Measured| Curve {
        name: result.contender.clone(),
        style: styles.get(&result.contender),
        points: measured.iter().map(|place| percentile(case, result, *place)).collect(),
        published: Vec::new(),
        why: unranked_by(case, result, P99).unwrap_or_default(),
    };
    let mut lines: Vec<Curve> = results.iter().map(line).collect();
    lines.retain(|line| line.points.iter().flatten().count() >= PERCENTILES_LEAST);
    if lines.is_empty() {
        return None;
    }
    let places: Vec<f64> = measured.iter().map(|(one_in, _)| *one_in).collect();
    let (low, high) = ends(&lines);
    let chart = Chart {
        title: "Latency, ms".to_owned(),
        hint: "less is better".to_owned(),
        lines,
        across: Scale::over(&places, true),
        up: Scale::around(low, high, true),
        places,
        place: in_percent,
        x_title: "percentile",
        has_marks: true,
        is_folded: true,
        here: None,
    };
    Some(drawing(&chart, &format!("Latencies of {}", case.title), styles, id))
}

/// A metric of one round of a case, second by second; `None` if no contender has such figures.
pub fn over_time(case: &Case, metric: &Metric, styles: &Styles, id: &str) -> Option<Drawing> {
    let line = |result: &Measured| {
        let why = unranked_by(case, result, metric.name);
        let point =
            |(at, value): &(f64, f64)| value.is_finite().then(|| Point::alone(*at, *value, metric, why.as_deref()));
        Curve {
            name: result.contender.clone(),
            style: styles.get(&result.contender),
            points: result.course.get(metric.name).into_iter().flatten().map(point).collect(),
            published: Vec::new(),
            why: why.clone().unwrap_or_default(),
        }
    };
    let counted = super::in_order(case).into_iter().filter(|result| result.disqualified.is_none());
    let mut lines: Vec<Curve> = counted.map(line).collect();
    lines.retain(|line| line.points.iter().flatten().count() > 1);
    let last = points(&lines).map(|point| point.place).max_by(f64::total_cmp)?;
    let (_, high) = ends(&lines);
    let places: Vec<f64> = (0..=last.ceil() as u32).map(f64::from).collect();
    let chart = Chart {
        title: number::title(metric),
        hint: good_end(metric).to_owned(),
        lines,
        across: Scale::over(&places, false),
        up: Scale::around(0.0, high, false),
        places,
        place: in_seconds,
        x_title: "seconds",
        has_marks: false,
        is_folded: true,
        here: None,
    };
    Some(drawing(&chart, &format!("{} over time in {}", metric.title, case.title), styles, id))
}

/// Point of a percentile. `None` if there were so few requests that the percentile is nearly the longest of them.
fn percentile(case: &Case, result: &Measured, (one_in, name): (f64, &str)) -> Option<Point> {
    let requests = result.numbers.get("requests").map_or(0.0, |requests| requests.low);
    let metric = Metric::of(name)?;
    let spread = counted(result, metric)?;
    let why = unranked_by(case, result, name);
    (requests >= requests_needed(name)).then(|| Point::alone(one_in, spread.median, metric, why.as_deref()))
}

fn points(lines: &[Curve]) -> impl Iterator<Item = &Point> {
    lines.iter().flat_map(|line| line.points.iter().flatten())
}

/// Lowest and highest figure.
fn ends(lines: &[Curve]) -> (f64, f64) {
    let ends = (f64::INFINITY, 0.0_f64);
    points(lines).fold(ends, |(low, high), point| (low.min(point.value), high.max(point.value)))
}

/// Formats a percentile: `99.9 %` for one request in 1000 that took longer.
fn in_percent(one_in: f64) -> String {
    format!("{} %", number::tick(percent(one_in)))
}

/// Formats seconds, to a tenth.
fn in_seconds(at: f64) -> String {
    number::tick((at * 10.0).round() / 10.0)
}

fn drawing(chart: &Chart, title: &str, styles: &Styles, id: &str) -> Drawing {
    let about = chart.in_words();
    let called = Names { id, title, about: &about, places: chart.x_title };
    let drawn = |layout: &LineLayout| picture(layout.size, called, layout.has_names(), |pen| chart.draw(pen, layout));
    let wide = drawn(&LINE_LAYOUTS[0]);
    let narrow = if chart.is_folded { String::new() } else { drawn(&LINE_LAYOUTS[1]) };
    let chip = |line: &Curve| Chip { why: line.why.clone(), ..styles.chip(&line.name) };
    let legend = chart.lines.iter().map(chip).collect();
    Drawing { wide, narrow, legend }
}

fn chart<'a>(plot: &'a Plot, metric: &'a Metric, cases: &[(f64, &Case)], styles: &Styles) -> Chart<'a> {
    let besides: Vec<(f64, &Case, Beside)> =
        cases.iter().map(|(x, case)| (*x, *case, Beside::of(case, metric))).collect();
    let names = distinct(cases.iter().flat_map(|(_, case)| &case.results).map(|result| result.contender.as_str()));
    let mut lines: Vec<Curve> = names.into_iter().map(|name| line(name, styles.get(name), metric, &besides)).collect();
    lines.retain(|line| line.points.iter().any(Option::is_some));
    let (low, high) = ends(&lines);
    let tall = high > STEEP * low;
    let olds = || lines.iter().flat_map(|line| &line.published).map(|(_, old)| *old);
    let (low, high) = olds().fold((low, high), |(low, high), old| (low.min(old), high.max(old)));
    let places: Vec<f64> = cases.iter().map(|(x, _)| *x).collect();
    Chart {
        title: number::title(metric),
        hint: good_end(metric).to_owned(),
        lines,
        across: Scale::over(&places, plot.is_log),
        up: Scale::around(low, high, plot.is_log || tall),
        places,
        place: if plot.mark.is_some() { rate_in_words } else { number::tick },
        x_title: &plot.x_title,
        has_marks: true,
        is_folded: false,
        here: plot.mark.as_ref(),
    }
}

fn line(name: &str, style: Style, metric: &Metric, cases: &[(f64, &Case, Beside)]) -> Curve {
    let of = |case: &&'_ Case| case.results.iter().find(|result| result.contender == name).cloned();
    let point = |(x, case, beside): &(f64, &Case, Beside)| {
        let result = of(case)?;
        let spread = counted(&result, metric)?;
        let why = unranked_by(case, &result, metric.name);
        let words = set_beside(spread, metric, beside, name);
        let words = why.as_ref().map_or(words.clone(), |why| format!("{words}, {why}"));
        let interval = beside.interval(name);
        Some(Point { place: *x, value: spread.median, interval, words, is_hollow: why.is_some() })
    };
    let old = |(x, case, _): &(f64, &Case, Beside)| {
        let old = case.published.iter().find(|old| old.is_of(name))?.numbers.get(metric.name)?;
        old.is_finite().then_some((*x, *old))
    };
    let published = cases.iter().filter_map(old).collect();
    let points: Vec<Option<Point>> = cases.iter().map(point).collect();
    let hollow = points.iter().flatten().filter(|point| point.is_hollow).count();
    let all = points.iter().flatten().count();
    let worst = cases.iter().filter_map(|(_, case, _)| of(case).map(|result| (*case, result)));
    let worst = worst.filter(|(_, result)| counted(result, metric).is_some());
    let worst = worst.max_by(|(_, one), (_, other)| one.failed_share().total_cmp(&other.failed_share()));
    let why = worst.and_then(|(case, result)| unranked_by(case, &result, metric.name)).filter(|_| hollow > 0);
    let why = match why {
        Some(why) if hollow == all => why,
        Some(why) => format!("{why}, where it is hollow"),
        None if hollow > 0 => "not ranked where it is hollow".to_owned(),
        None => String::new(),
    };
    Curve { name: name.to_owned(), style, points, published, why }
}

impl LineLayout {
    /// Whether there is room for names at the ends of lines.
    fn has_names(&self) -> bool {
        self.right > LINE * 2.0
    }
}

impl Point {
    /// A point that is not compared with others.
    fn alone(place: f64, value: f64, metric: &Metric, why: Option<&str>) -> Point {
        let words = in_full(value, metric);
        let words = why.map_or(words.clone(), |why| format!("{words}, {why}"));
        Point { place, value, interval: None, words, is_hollow: why.is_some() }
    }
}

impl Curve {
    /// Whether none of its points is ranked.
    fn is_hollow(&self) -> bool {
        self.points.iter().flatten().all(|point| point.is_hollow)
    }

    /// Points that are on the scale of this axis.
    fn seen(&self, up: Scale) -> impl DoubleEndedIterator<Item = &Point> {
        self.points.iter().flatten().filter(move |point| up.holds(point.value))
    }
}

impl Chart<'_> {
    fn draw(&self, pen: &mut Pen, layout: &LineLayout) {
        let title = &self.title;
        pen.bold((0.0, 12.0), title, LETTERS, Ink::Text, At::Left);
        let grows = match (&self.across, &self.up) {
            (Scale::Log(..), Scale::Log(..)) => "; axes grow by factors",
            (_, Scale::Log(..)) => "; the axis grows by factors",
            _ => "",
        };
        let hint = format!("{}{grows}", self.hint);
        let hint =
            fitted(hint.trim_start_matches("; "), LETTERS - 1.0, layout.size.0 - text_width(title, LETTERS) * 1.3);
        let right = layout.size.0 - if layout.has_names() { layout.right } else { 0.0 };
        pen.text((right, 12.0), &hint, LETTERS - 1.0, Ink::Quiet, At::Right);
        self.grid(pen, layout);
        self.here(pen, layout);
        let ends = if layout.has_names() { self.ends(layout) } else { Vec::new() };
        // The first line is drawn last, above the others.
        for line in self.lines.iter().rev() {
            // The narrow layout has no tooltips of its own: pictures.js takes those of the wide one.
            let found = if layout.has_names() { self.found(line) } else { String::new() };
            pen.of(&line.style, &found, "", |pen| {
                self.line(pen, layout, line);
                let end = ends.iter().find(|(name, ..)| *name == line.name);
                if let Some((_, end, at)) = end {
                    self.name(pen, layout, line, (*end, *at));
                }
            });
        }
    }

    fn x(&self, layout: &LineLayout, place: f64) -> f64 {
        self.across.at(place, layout.left, layout.size.0 - layout.right)
    }

    fn y(&self, layout: &LineLayout, value: f64) -> f64 {
        self.up.at(value, layout.size.1 - FOOT, HEAD)
    }

    fn at(&self, layout: &LineLayout, point: &Point) -> (f64, f64) {
        (self.x(layout, point.place), self.y(layout, point.value))
    }

    fn grid(&self, pen: &mut Pen, layout: &LineLayout) {
        let right = layout.size.0 - layout.right;
        let bottom = layout.size.1 - FOOT;
        let mut rules = Vec::new();
        for tick in self.up.ticks(layout.ticks.1) {
            let y = self.y(layout, tick);
            if y < HEAD - 1.0 {
                continue;
            }
            rules.push([(layout.left, y), (right, y)]);
            pen.text((layout.left - 8.0, y), &number::tick(tick), LETTERS - 1.0, Ink::Quiet, At::Right);
        }
        pen.lines(&rules, Ink::Rule);
        let mut marks = vec![[(layout.left, bottom), (right, bottom)]];
        let places = if self.places.len() <= layout.ticks.0 { self.places.clone() } else { self.across.ticks(6) };
        let mut free_from = f64::NEG_INFINITY;
        for place in places {
            let x = self.x(layout, place);
            let text = (self.place)(place);
            marks.push([(x, bottom), (x, bottom + 4.0)]);
            let half = text_width(&text, LETTERS - 1.0) / 2.0;
            if x - half > free_from {
                pen.text((x, bottom + 14.0), &text, LETTERS - 1.0, Ink::Quiet, At::Middle);
                free_from = x + half + 5.0;
            }
        }
        pen.lines(&marks, Ink::Quiet);
        let middle = (layout.left + right) / 2.0;
        pen.text((middle, layout.size.1 - 9.0), self.x_title, LETTERS, Ink::Text, At::Middle);
    }

    /// Draws a vertical line at the marked rate, with its label at the top.
    fn here(&self, pen: &mut Pen, layout: &LineLayout) {
        let Some((place, words)) = self.here else { return };
        let x = self.x(layout, *place);
        let right = layout.size.0 - layout.right;
        pen.line((x, HEAD - 6.0), (x, layout.size.1 - FOOT), Ink::Text, 1.5);
        let (at, beside) =
            if x > right - text_width(words, LETTERS) - 8.0 { (At::Right, -6.0) } else { (At::Left, 6.0) };
        pen.bold((x + beside, HEAD), words, LETTERS - 1.0, Ink::Text, at);
    }

    /// Data for tooltips: x value and figure of each point of the line, in the format of pictures.js.
    fn found(&self, line: &Curve) -> String {
        let point = |point: &Point| format!("{}|{}", (self.place)(point.place), point.words);
        line.seen(self.up).map(point).collect::<Vec<String>>().join(";")
    }

    fn line(&self, pen: &mut Pen, layout: &LineLayout, line: &Curve) {
        for (place, old) in line.published.iter().filter(|(_, old)| self.up.holds(*old)) {
            let (x, y) = (self.x(layout, *place), self.y(layout, *old));
            pen.ring(&Outline::diamond(x, y, 6.0), Ink::Own, 1.5);
        }
        let (top, bottom) = (HEAD, layout.size.1 - FOOT);
        for point in line.seen(self.up) {
            if let Some((low, high)) = point.interval {
                let (x, _) = self.at(layout, point);
                let [from, to] = [low, high].map(|end| self.y(layout, end).clamp(top, bottom));
                // One as high as the picture says no more than that, and would hide the lines. A linear axis ends at 0,
                // which no interval reaches: a pixel is near enough.
                let width = if (from - to).abs() < bottom - top - 1.0 { 3.0 } else { 1.0 };
                pen.line((x, from), (x, to), Ink::Faint, width);
            }
        }
        let part = |part: &[Option<Point>]| -> Vec<(f64, f64)> {
            let seen = part.iter().flatten().filter(|point| self.up.holds(point.value));
            seen.map(|point| self.at(layout, point)).collect()
        };
        let parts: Vec<Vec<(f64, f64)>> = line.points.split(Option::is_none).map(part).collect();
        pen.own(&parts, Stroke { is_marked: self.has_marks, is_hollow: line.is_hollow() });
        for point in line.seen(self.up).filter(|point| point.is_hollow && self.has_marks) {
            pen.hollow(self.at(layout, point));
        }
    }

    /// End point of each line, and the height of its name beside it, moved apart where lines end close together.
    fn ends(&self, layout: &LineLayout) -> Vec<(&str, (f64, f64), f64)> {
        let end = |line: &'_ Curve| Some(self.at(layout, line.seen(self.up).next_back()?));
        let mut ends: Vec<(&str, (f64, f64))> =
            self.lines.iter().filter_map(|line| Some((line.name.as_str(), end(line)?))).collect();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
        let places = apart(&wanted, LINE, HEAD, layout.size.1 - FOOT);
        ends.into_iter().zip(places).map(|((name, end), at)| (name, end, at)).collect()
    }

    fn name(&self, pen: &mut Pen, layout: &LineLayout, line: &Curve, ((x, y), at): ((f64, f64), f64)) {
        let left = layout.size.0 - layout.right + 26.0;
        // Why it is hollow, and where if not everywhere, stands in the legend.
        let (mark, ink) = if line.is_hollow() { ("(not ranked)", Ink::Quiet) } else { ("", Ink::Text) };
        let room = layout.size.0 - left - 22.0 - text_width(mark, LETTERS - 2.0);
        let title = fitted_name(&line.style.title, LETTERS, room);
        pen.leader(&[(x + 8.0, y), (left - 14.0, at), (left + 5.0, at)]);
        pen.text((left + 16.0, at), &title, LETTERS, ink, At::Left);
        let after = left + 20.0 + text_width(&title, LETTERS);
        pen.text((after, at), mark, LETTERS - 2.0, Ink::Bad, At::Left);
    }

    fn in_words(&self) -> String {
        let why = |line: &Curve| if line.why.is_empty() { String::new() } else { format!(" ({})", line.why) };
        let words = |line: &Curve| {
            let title = format!("{}{}", line.style.title, why(line));
            if !self.has_marks {
                let values = || line.points.iter().flatten().map(|point| point.value);
                let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
                return format!("{title}: {} to {}", number::tick(low), number::tick(high));
            }
            let figure = |point: &Point| number::significant(point.value);
            let point = |point: &Option<Point>| point.as_ref().map_or_else(|| number::NONE.to_owned(), figure);
            let points: Vec<String> = line.points.iter().map(point).collect();
            format!("{title}: {}", points.join(", "))
        };
        let all: Vec<String> = self.lines.iter().map(words).collect();
        let here = self.here.map_or_else(String::new, |(_, words)| format!(" Marked: {words}."));
        let places: Vec<String> = self.places.iter().map(|place| (self.place)(*place)).collect();
        let at = if self.has_marks { format!(" ({})", places.join(", ")) } else { String::new() };
        format!("{} by {}{at}. {}.{here}", self.title, self.x_title, all.join("; "))
    }
}

/// Positions near the wanted ones and in their order, each at least a step from the next, between top and bottom if
/// there is enough room.
fn apart(wanted: &[f64], step: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut least = top;
    for place in &mut places {
        *place = place.max(least);
        least = *place + step;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - step;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Summary;

    fn measured(contender: &str, requests: f64) -> Measured {
        let percentiles = PERCENTILES.map(|(one_in, name)| (name, [one_in]));
        Measured::of(contender, &[&percentiles[..], &[("requests", [requests])]].concat())
    }

    fn drawn(results: Vec<Measured>, draw: fn(&Case, &Styles) -> Option<Drawing>) -> Option<String> {
        let case = Case { name: "x".into(), title: "X".into(), results, ..Case::default() };
        let styles = Styles::of(&Summary { cases: vec![case.clone()], ..Summary::default() });
        draw(&case, &styles).map(|drawing| drawing.wide)
    }

    #[test]
    fn percentiles_are_drawn_where_there_were_requests_enough() {
        let drawn = |results: Vec<Measured>| drawn(results, |case, styles| spectrum(case, styles, "s"));
        assert_eq!(drawn(vec![measured("few", 19.0)]), None, "three percentiles are no distribution");
        let some = drawn(vec![measured("some", 6_000.0), measured("few", 150.0)]).unwrap();
        assert!(some.contains("99.9 %") && !some.contains("99.99 %"), "{some}");
        assert!(drawn(vec![measured("many", 40_000.0)]).unwrap().contains("99.99 %"));
        let wrong = Measured { disqualified: Some("wrong".into()), ..measured("liar", 40_000.0) };
        assert_eq!(drawn(vec![wrong]), None);
    }

    #[test]
    fn who_is_not_ranked_has_a_pale_line_with_hollow_points_and_the_reason_in_the_legend() {
        let failed = |share: f64, mut result: Measured| {
            result.add(&[("failed", [share]), ("requests", [10_000.0 - share])]);
            result
        };
        let one = |results: Vec<Measured>, x: f64| {
            let metrics = vec!["p99_ms".to_owned()];
            let mut case =
                Case { name: x.to_string(), title: "X".into(), x: Some(x), metrics, results, ..Case::default() };
            crate::stats::rank(&mut case);
            case
        };
        let with = |share: f64| {
            let course = [("pss_mib".to_owned(), vec![(0.0, 5.0), (1.0, 6.0)])].into();
            let bad = Measured { course, ..failed(share, measured("bad", 1.0)) };
            vec![failed(0.0, measured("good", 1.0)), bad]
        };
        let cases = [one(with(3400.0), 1.0), one(with(0.0), 2.0)];
        let styles = Styles::of(&Summary { cases: cases.to_vec(), ..Summary::default() });
        let memory = Metric::of("pss_mib").unwrap();
        for drawing in [spectrum(&cases[0], &styles, "s"), over_time(&cases[0], memory, &styles, "t")] {
            let drawing = drawing.unwrap();
            assert_eq!(drawing.wide.matches(" n\" d=").count(), 1, "one of them is pale: {}", drawing.wide);
            assert!(drawing.wide.contains(", not ranked: 34.0 % failed") && drawing.wide.contains(">(not ranked)<"));
            let why = |title: &str| drawing.legend.iter().find(|chip| chip.title == title).map(|one| one.why.clone());
            assert_eq!(why("bad").as_deref(), Some("not ranked: 34.0 % failed"));
            assert!(why("good").is_none_or(|why| why.is_empty()));
        }
        let plot = Plot { metric: "p99_ms".into(), ..Plot::default() };
        let curve = draw(&plot, &[&cases[0], &cases[1]], &styles, "c").unwrap().unwrap();
        for svg in [&curve.wide, &curve.narrow] {
            assert_eq!(svg.matches("<circle").count(), 1, "one of its points is hollow: {svg}");
            assert!(!svg.contains(" n\" d=") && !svg.contains("(not ranked)"), "the other one counts: {svg}");
        }
        assert!(curve.legend.iter().any(|chip| chip.why == "not ranked: 34.0 % failed, where it is hollow"));
        // A case that is ranked by its rate: latencies of one that did not keep up are not ranked in it.
        let mut by_rate = one(with(0.0), 1.0);
        by_rate.metrics.insert(0, "requests_per_s".to_owned());
        by_rate.results[1].served_share = Some(0.5);
        let behind = draw(&plot, &[&by_rate], &styles, "c").unwrap().unwrap();
        assert!(behind.legend.iter().any(|chip| chip.title == "bad" && chip.why == "not ranked: served 50 %"));
        assert_eq!(behind.wide.matches("<circle").count(), 1, "{}", behind.wide);
    }

    #[test]
    fn the_settings_stand_at_the_ends_of_lines() {
        let names = ["FoolsGold with a long name -w 2 -t 1", "FoolsGold with a long name -w 2 -t 5"];
        let one = |x: f64, served_share: Option<f64>| {
            let results = names.map(|name| Measured { served_share, ..measured(name, 10_000.0) }).into();
            Case { name: x.to_string(), x: Some(x), metrics: vec!["p99_ms".into()], results, ..Case::default() }
        };
        let drawn = |first: Option<f64>| {
            let cases = [one(1.0, first), one(2.0, Some(0.5))];
            let styles = Styles::of(&Summary { cases: cases.to_vec(), ..Summary::default() });
            let plot = Plot { metric: "p99_ms".into(), ..Plot::default() };
            draw(&plot, &[&cases[0], &cases[1]], &styles, "c").unwrap().unwrap().wide
        };
        for (first, marks) in [(None, 0), (Some(0.5), 2)] {
            let svg = drawn(first);
            assert!(svg.contains("-t 1</text>") && svg.contains("-t 5</text>"), "{svg}");
            assert_eq!(svg.matches(">(not ranked)</text>").count(), marks, "{svg}");
        }
    }

    #[test]
    fn an_interval_as_high_as_the_picture_is_thin() {
        let figures = [("a", [10.0; 3]), ("wild", [1.0, 200.0, 15.0]), ("steady", [19.8, 20.0, 20.2])];
        let one = |x: f64| Case { name: x.to_string(), x: Some(x), ..Case::of("p99_ms", &figures) };
        let cases = [one(1.0), one(2.0)];
        let styles = Styles::of(&Summary { cases: cases.to_vec(), ..Summary::default() });
        let plot = Plot { metric: "p99_ms".into(), ..Plot::default() };
        let drawing = draw(&plot, &[&cases[0], &cases[1]], &styles, "c").unwrap().unwrap();
        for svg in [drawing.wide, drawing.narrow] {
            let bars: Vec<&str> = svg.split("<path class=\"s-h\" ").skip(1).collect();
            let wide = bars.iter().filter(|bar| bar.split('>').next().is_some_and(|tag| tag.contains("width=\"3\"")));
            assert_eq!((bars.len(), wide.count()), (4, 2), "{svg}");
        }
    }

    #[test]
    fn a_course_is_drawn_of_those_who_have_one() {
        let of = |contender: &str, points: &[(f64, f64)]| Measured {
            contender: contender.into(),
            course: [("pss_mib".to_owned(), points.to_vec())].into(),
            ..Measured::default()
        };
        let memory = |case: &Case, styles: &Styles| over_time(case, Metric::of("pss_mib").unwrap(), styles, "t");
        let drawn = |results: Vec<Measured>| drawn(results, memory);
        assert_eq!(drawn(vec![of("short", &[(0.0, 5.0)]), Measured::default()]), None);
        let line = drawn(vec![of("short", &[(0.0, 5.0)]), of("long", &[(0.0, 5.0), (1.0, f64::NAN), (2.0, 7.0)])]);
        let line = line.unwrap();
        assert!(line.contains("Memory, MiB by seconds. long: 5 to 7.") && !line.contains("short"), "{line}");
        let wrong = Measured { disqualified: Some("wrong".into()), ..of("liar", &[(0.0, 5.0), (1.0, 6.0)]) };
        assert_eq!(drawn(vec![wrong]), None);
    }

    #[test]
    fn names_do_not_overlap() {
        let places = apart(&[50.0, 51.0, 52.0, 199.0, 200.0], 18.0, 0.0, 200.0);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 18.0 - 1e-9), "{places:?}");
        assert!(places[4] <= 200.0 && places[0] >= 0.0);
        assert_eq!(apart(&[], 18.0, 0.0, 1.0), Vec::<f64>::new());
    }
}
