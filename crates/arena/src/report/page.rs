//! The page of a run: one self-contained HTML file. This module collects its contents; the templates are in html/.

use serde::Serialize;

use super::division::{self, DivisionView};
use super::plot::{self, Drawing};
use super::rows::{self, Matrix, Table};
use super::rule::{self, Rule};
use super::styles::{Chip, Styles};
use super::twins::{self, Twins};
use super::{
    disqualifications, grammar, heading, number, ranking, remarks, sentence, settings, template, traffic, winners,
};
use crate::record::summary::{Advice, Case, Measured, Plot, PlotKind, Published, Summary, Who};
use loadgen::metric::{Metric, OVER_TIME, P50, P99, P999, PSS_PEAK};

/// Most winners of a use that are named where the rest, if it is more than one, is counted.
const NAMED: usize = 4;
/// Most columns of a matrix that can be read side by side.
const MATRIX_MOST: usize = 9;
/// Metrics of the bars at the user's rate.
const AT_RATE: [&str; 4] = [P50, P99, P999, PSS_PEAK];

#[derive(Serialize)]
struct Page<'a> {
    run: &'a Summary,
    marks: String,
    style: String,
    date: String,
    took: String,
    machine: String,
    verdict: String,
    shortcomings: &'a [String],
    is_imported: bool,
    twins: Option<Twins>,
    verdicts: Vec<VerdictRow>,
    advice: Option<Advice>,
    /// Whether an older rule than this program's was used for the recommendation.
    is_old_advice: bool,
    traffic: Option<TrafficView>,
    glance: Option<Matrix>,
    curves: Vec<PlotView>,
    /// Whether one of the curves has a figure.
    has_curves: bool,
    cases: Vec<CaseView>,
    /// Whether one of these cases has a figure.
    has_figures: bool,
    folded: Vec<CaseView>,
    published: bool,
    wrong: Vec<Wrong>,
    rule: Rule,
    present: Vec<WhoView<'a>>,
    missing: Vec<&'a Who>,
}

/// Results at the user's rate.
#[derive(Serialize)]
struct TrafficView {
    answer: String,
    broken_when: String,
    curve: Option<PlotView>,
    own: Option<CaseView>,
    tables: Vec<traffic::TrafficTable>,
}

/// One use with its winners.
#[derive(Serialize)]
struct VerdictRow {
    use_case: String,
    winners: Vec<Chip>,
    /// Number of winners beyond those that are named.
    more: usize,
    /// Titles of those, for a pointer.
    others: String,
    /// How sure it is that they are the best; empty for one that is shown to be.
    how_sure: &'static str,
    why: String,
    published: String,
}

/// A plot over many cases, and its figures.
#[derive(Serialize)]
struct PlotView {
    id: String,
    title: String,
    /// `None` if no contender has a figure.
    drawing: Option<Drawing>,
    matrix: Matrix,
    x_title: String,
}

#[derive(Serialize)]
struct CaseView {
    id: String,
    title: String,
    what: String,
    words: String,
    drawing: Option<Drawing>,
    /// Plot of all percentiles.
    spectrum: Option<Drawing>,
    /// Division of a request's time; the templates know it by this name.
    parts: Option<DivisionView>,
    /// Plots over the seconds of the load.
    times: Option<TimePlots>,
    has_published: bool,
    table: Table,
    /// How long the load generator waited for a processor, where that matters.
    waited: Option<String>,
    errors: Vec<Errors>,
    remarks: Vec<Errors>,
}

/// Plots with a common legend.
#[derive(Serialize)]
struct TimePlots {
    drawings: Vec<Drawing>,
    legend: Vec<Chip>,
}

/// Errors of a contender by kind, or remarks on the figures of one or several.
#[derive(Serialize)]
struct Errors {
    chips: Vec<Chip>,
    kinds: String,
}

/// A disqualification.
#[derive(Serialize)]
struct Wrong {
    chip: Chip,
    case: String,
    why: String,
}

#[derive(Serialize)]
struct WhoView<'a> {
    chip: Chip,
    who: &'a Who,
    asked: String,
    counted: String,
    /// Version, Ruby and settings in one line.
    line: String,
}

/// The page of a run.
pub fn html(summary: &Summary) -> Result<String, String> {
    let styles = Styles::of(summary);
    let curves = plot::curves(summary).into_iter().enumerate().map(|(at, plot)| curve(summary, plot, &styles, at));
    let curves = curves.collect::<Result<Vec<_>, _>>()?;
    let mut cases = Vec::new();
    let mut folded = Vec::new();
    for (at, case) in summary.cases.iter().enumerate() {
        // Cases at the user's rate have a section of their own.
        let is_in_curves = summary.is_at_users_rate(&case.name) || (case.x.is_some() && !curves.is_empty());
        let view = case_view(summary, case, &styles, at, is_in_curves);
        if is_in_curves { folded.push(view) } else { cases.push(view) }
    }
    let (missing, present): (Vec<&Who>, Vec<&Who>) = summary.contenders.iter().partition(|who| !who.missing.is_empty());
    let page = Page {
        run: summary,
        marks: styles.marks(),
        style: styles.css(),
        date: heading::day(summary),
        took: number::duration(summary.took_s),
        machine: heading::machine(summary),
        verdict: winners::of_run(summary, &styles),
        shortcomings: &summary.shortcomings,
        is_imported: summary.is_imported,
        twins: twins::compared(summary, &styles),
        verdicts: verdicts(summary, &styles),
        is_old_advice: summary.advice.as_ref().is_some_and(|advice| !rule::older_rule_note(advice).is_empty()),
        advice: summary.advice.as_ref().map(|advice| well_said(advice, summary, &styles)),
        traffic: traffic_view(summary, &styles)?,
        glance: if curves.is_empty() { glance(summary, &styles) } else { None },
        published: folded.iter().any(|case| case.has_published),
        has_curves: curves.iter().any(|curve| curve.drawing.is_some()),
        has_figures: cases.iter().any(|case| !case.table.columns.is_empty()),
        curves,
        cases,
        folded,
        wrong: wrong(summary, &styles),
        rule: Rule::now(),
        present: present.iter().map(|who| who_view(who, &styles)).collect(),
        missing,
    };
    template::fill("page.html", &page)
}

fn traffic_view(summary: &Summary, styles: &Styles) -> Result<Option<TrafficView>, String> {
    let Some(found) = &summary.traffic else { return Ok(None) };
    let plot = summary.plots.iter().find(|plot| plot.cases.iter().any(|name| found.has(name)));
    let place = summary.cases.iter().position(|case| found.cases.first() == Some(&case.name));
    let own = place.map(|at| {
        let case = &summary.cases[at];
        let metrics = with_figures(case, AT_RATE.iter().filter_map(|name| Metric::of(name)).collect());
        let drawing = (!metrics.is_empty()).then(|| plot::bars(case, &metrics, styles, "at-rate"));
        CaseView { drawing, ..case_view(summary, case, styles, at, true) }
    });
    Ok(Some(TrafficView {
        answer: sentence::readable(&found.answer, summary, styles),
        broken_when: found.broken_when.clone(),
        curve: plot.map(|plot| curve(summary, plot, styles, summary.plots.len())).transpose()?,
        own,
        tables: traffic::facts(summary, found, styles),
    }))
}

fn verdicts(summary: &Summary, styles: &Styles) -> Vec<VerdictRow> {
    let row = |verdict: &crate::record::summary::Verdict| {
        // To count one takes as much room as to name it.
        let all = verdict.winners.len();
        let (named, others) = verdict.winners.split_at(if all <= NAMED + 1 { all } else { NAMED });
        VerdictRow {
            use_case: verdict.use_case.clone(),
            winners: named.iter().map(|name| styles.chip(name)).collect(),
            more: others.len(),
            others: grammar::list(&others.iter().map(|name| styles.title(name)).collect::<Vec<_>>()),
            how_sure: winners::how_sure(verdict),
            why: sentence::readable(&verdict.why, summary, styles),
            published: verdict.published.clone(),
        }
    };
    summary.verdicts.iter().map(row).collect()
}

fn well_said(advice: &Advice, summary: &Summary, styles: &Styles) -> Advice {
    let said = |text: &String| sentence::readable(text, summary, styles);
    Advice {
        sentence: said(&advice.sentence),
        reasons: advice.reasons.iter().map(said).collect(),
        uncertainty: advice.uncertainty.iter().map(said).collect(),
        ..advice.clone()
    }
}

/// Matrix of all cases that are ranked by the same metric, if they are more than one and not too many, and have a
/// figure.
fn glance(summary: &Summary, styles: &Styles) -> Option<Matrix> {
    let metric = ranking::metric_of(summary.cases.first()?)?;
    let cases: Vec<&Case> =
        summary.cases.iter().filter(|case| ranking::metric_of(case).is_some_and(|one| one == metric)).collect();
    let is_shown = (2..=MATRIX_MOST).contains(&cases.len()) && rows::has_figures(&cases, metric);
    is_shown.then(|| rows::matrix(&cases, metric, styles))
}

fn curve(summary: &Summary, plot: &Plot, styles: &Styles, at: usize) -> Result<PlotView, String> {
    let metric = Metric::of(&plot.metric).ok_or_else(|| format!("{:?} is no metric", plot.metric))?;
    let cases = plot::cases_of(plot, summary);
    Ok(PlotView {
        id: format!("curve-{at}"),
        title: plot.title.clone(),
        drawing: plot::lines(plot, &cases, styles, &format!("curve-{at}"))?,
        matrix: rows::matrix(&cases, metric, styles),
        x_title: plot.x_title.clone(),
    })
}

fn times(case: &Case, styles: &Styles, id: &str) -> Option<TimePlots> {
    let metrics = OVER_TIME.iter().filter_map(|name| Metric::of(name)).enumerate();
    let of = |(at, metric)| plot::over_time(case, metric, styles, &format!("{id}-t{at}"));
    let drawings: Vec<Drawing> = metrics.filter_map(of).collect();
    let mut legend: Vec<Chip> = Vec::new();
    for chip in drawings.iter().flat_map(|drawing| &drawing.legend) {
        if !legend.iter().any(|known| known.at == chip.at) {
            legend.push(chip.clone());
        }
    }
    (!drawings.is_empty()).then_some(TimePlots { drawings, legend })
}

fn case_view(summary: &Summary, case: &Case, styles: &Styles, at: usize, is_in_curves: bool) -> CaseView {
    let id = format!("case-{at}");
    let twin = summary.is_at_users_rate(&case.name).then(|| twins::chip(summary, styles));
    let table = rows::table(case, styles, twin);
    let metrics = if is_in_curves { Vec::new() } else { drawn(summary, case) };
    let drawing = (!metrics.is_empty()).then(|| plot::bars(case, &metrics, styles, &id));
    let seen = |old: &Published| case.results.iter().any(|result| old.is_of(&result.contender));
    let has_published = case.published.iter().any(seen);
    let of_twin = || Chip { title: "the twin".to_owned(), ..Chip::default() };
    let own = case.results.iter().map(|result| (styles.chip(&result.contender), result));
    let errors = own.chain(case.twin.iter().map(|twin| (of_twin(), twin))).filter_map(|(chip, result)| {
        let kind = |(kind, count): (&String, &u64)| format!("{} × {kind}", number::tick(*count as f64));
        let kinds: Vec<String> = result.errors.iter().filter(|(_, count)| **count > 0).map(kind).collect();
        (!kinds.is_empty()).then(|| Errors { chips: vec![chip], kinds: kinds.join(", ") })
    });
    let twin = case.twin.iter().flat_map(|twin| &twin.remarks);
    let twin = twin.map(|words| Errors { chips: vec![of_twin()], kinds: words.clone() });
    let results: Vec<&Measured> = case.results.iter().collect();
    let remarks = remarks::of_all(case, &results).into_iter();
    let remarks = remarks.map(|one| Errors { chips: one.chips(styles), kinds: one.words }).chain(twin);
    CaseView {
        remarks: remarks.collect(),
        title: case.title.clone(),
        what: case.what.clone(),
        words: winners::of_case(case, styles),
        drawing,
        spectrum: plot::spectrum(case, styles, &format!("{id}-s")),
        parts: division::of(case, styles, &format!("{id}-p")),
        times: times(case, styles, &id),
        has_published,
        table,
        waited: remarks::waited(case, styles),
        errors: errors.collect(),
        id,
    }
}

/// Metrics of the bar plots that name this case, or else the one that ranks it; only those that some contender has.
fn drawn(summary: &Summary, case: &Case) -> Vec<&'static Metric> {
    let bars = summary.plots.iter().filter(|plot| plot.kind == PlotKind::Bars && plot.cases.contains(&case.name));
    let mut metrics = grammar::distinct(bars.filter_map(|plot| Metric::of(&plot.metric)));
    if metrics.is_empty() {
        metrics.extend(ranking::metric_of(case));
    }
    with_figures(case, metrics)
}

/// Those of these metrics that some contender of a case has.
fn with_figures<'a>(case: &Case, mut metrics: Vec<&'a Metric>) -> Vec<&'a Metric> {
    metrics.retain(|metric| case.results.iter().any(|result| result.numbers.contains_key(metric.name)));
    metrics
}

fn wrong(summary: &Summary, styles: &Styles) -> Vec<Wrong> {
    let found = disqualifications::list(summary, styles).into_iter();
    found.map(|(name, case, why)| Wrong { chip: styles.chip(&name), case, why }).collect()
}

fn who_view<'a>(who: &'a Who, styles: &Styles) -> WhoView<'a> {
    let workers = grammar::count(who.workers as usize, "worker", "workers");
    let asked = match who.threads {
        0 | 1 => workers,
        threads => format!("{workers} × {threads} threads"),
    };
    let asked = match settings::growth(who) {
        Some(growth) => format!("{asked} ({growth})"),
        None => asked,
    };
    let counted = settings::counted(who);
    let line = [&who.version, &who.ruby, &asked].into_iter().filter(|text| !text.is_empty()).cloned();
    WhoView { chip: styles.chip(&who.name), who, line: line.collect::<Vec<_>>().join(" · "), asked, counted }
}
