//! A case as a table, and many cases as a matrix, as data for the page, the terminal and Markdown.

use std::collections::BTreeSet;

use serde::Serialize;

use super::offered_rate::with_rate;
use super::plot::{good_end, in_order};
use super::ranking::{is_best, spread_of, unranked};
use super::styles::{Chip, Styles};
use super::{grammar, number};
use crate::record::summary::{Case, Measured, Published, Spread};
use crate::stats::Beside;
use loadgen::metric::{Direction, Metric};

/// The table of a case.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Table {
    /// Columns, one for each metric that is shown.
    pub columns: Vec<Column>,
    /// Rows of contenders, best first.
    pub rows: Vec<Row>,
    /// Figures that the original study published.
    pub published: Vec<Row>,
    /// Whether the rows have different numbers of rounds; more rounds are more certain.
    pub rounds_differ: bool,
}

impl Table {
    /// Whether the original study, or a contender that is not disqualified, has a figure.
    pub fn has_figures(&self) -> bool {
        let rows = self.rows.iter().filter(|row| row.disqualified.is_none()).chain(&self.published);
        rows.flat_map(|row| &row.cells).any(|cell| !cell.text.is_empty() && cell.text != number::NONE)
    }
}

/// A column of a table: a metric.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Column {
    /// Title of the metric.
    pub title: String,
    /// Unit of the metric, for people.
    pub unit: String,
    /// Words for the good direction.
    pub hint: String,
}

/// A row of a table: a contender.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Row {
    /// Rank: `1`, or `2=` where several share it, `3?` where it is undecided; empty for one that is not ranked.
    pub rank: String,
    /// Whether it is in the first group.
    pub is_best: bool,
    /// Name in records.
    pub name: String,
    /// Title for people, and mark.
    pub chip: Chip,
    /// Cells, one for each column.
    pub cells: Vec<Cell>,
    /// Reason why it is disqualified.
    pub disqualified: Option<String>,
    /// Number of rounds of its figures.
    pub rounds: usize,
    /// Whether it was measured at another time than the others.
    pub is_apart: bool,
    /// Reason why a contender that takes part in the comparison is not ranked: `2.1 % failed`; else empty.
    pub unranked: String,
}

/// A cell of a table: a number.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Cell {
    /// The median.
    pub text: String,
    /// Ratio to the best one of its column, with the interval: `0.83× (0.79–0.87)`.
    pub beside: String,
    /// Whether it is the best one of its column, or as good.
    pub is_best: bool,
    /// In a matrix: share of the best one of its column, 1 or less.
    pub share: Option<f64>,
    /// Reason why the figure is not ranked, if its row does not give one: `2.1 % failed`, `served 55 %`.
    pub unranked: String,
    /// In a matrix: whether it was measured at another time than the others.
    pub is_apart: bool,
}

/// The table of a case. The last row is that of its twin, if there is one and `twin` gives its title: it is neither
/// ranked nor compared with others.
pub fn table(case: &Case, styles: &Styles, twin: Option<Chip>) -> Table {
    let metrics: Vec<&Metric> = shown(case);
    let besides: Vec<Beside> = metrics.iter().map(|metric| Beside::of(case, metric)).collect();
    let old = |old: &Published| {
        let cell = |metric: &&Metric| Cell {
            text: old.numbers.get(metric.name).map_or_else(String::new, |number| number::value(*number, metric)),
            ..Cell::default()
        };
        let chip = Chip { title: old.server.clone(), ..Chip::default() };
        Row { name: old.server.clone(), chip, cells: metrics.iter().map(cell).collect(), ..Row::default() }
    };
    let results = in_order(case).into_iter().map(|result| (result, styles.chip(&result.contender)));
    let row = |(result, chip): (&Measured, Chip)| row(case, result, (&metrics, &besides), chip);
    let rows: Vec<Row> = results.chain(case.twin.as_ref().zip(twin)).map(row).collect();
    let rounds: BTreeSet<usize> = rows.iter().map(|row| row.rounds).filter(|rounds| *rounds > 0).collect();
    Table {
        columns: metrics.iter().map(|metric| column(case, metric)).collect(),
        rows,
        published: case.published.iter().map(old).collect(),
        rounds_differ: rounds.len() > 1,
    }
}

/// The row of a result: its figures in these metrics, each set beside the best of its column.
fn row(case: &Case, result: &Measured, (metrics, besides): (&[&Metric], &[Beside]), chip: Chip) -> Row {
    let of_row = case.metrics.first().map_or_else(String::new, |metric| unranked(case, result, metric));
    let cells = metrics.iter().zip(besides).map(|(metric, beside)| {
        let own = unranked(case, result, metric.name);
        let unranked = if own == of_row || !result.numbers.contains_key(metric.name) { String::new() } else { own };
        Cell { unranked, ..cell(result.numbers.get(metric.name), metric, beside, &result.contender) }
    });
    let cells = cells.collect();
    let (rank, is_best) = rank(case, &result.contender);
    Row {
        rank,
        is_best,
        name: result.contender.clone(),
        chip,
        cells,
        unranked: of_row,
        disqualified: result.disqualified.clone(),
        rounds: if result.disqualified.is_none() { rounds(result, metrics) } else { 0 },
        is_apart: result.not_compared.is_some(),
    }
}

/// Number of rounds of its figures.
fn rounds(result: &Measured, metrics: &[&Metric]) -> usize {
    let figures = metrics.iter().filter_map(|metric| result.numbers.get(metric.name));
    figures.map(Spread::rounds).max().unwrap_or(0)
}

fn column(case: &Case, metric: &Metric) -> Column {
    let unit = number::unit(metric).to_owned();
    let hint = if case.has_merit(metric) { good_end(metric) } else { "" };
    Column { title: metric.title.to_owned(), unit, hint: hint.to_owned() }
}

/// Metrics of a case for which some contender has a number.
fn shown(case: &Case) -> Vec<&'static Metric> {
    let measured: BTreeSet<&str> =
        case.results.iter().flat_map(|result| result.numbers.keys()).map(String::as_str).collect();
    let known = case.metrics.iter().filter_map(|name| Metric::of(name));
    known.filter(|metric| measured.contains(metric.name)).collect()
}

fn cell(spread: Option<&Spread>, metric: &Metric, beside: &Beside, contender: &str) -> Cell {
    let Some(spread) = spread.filter(|spread| spread.is_sound()) else {
        return Cell { text: number::NONE.to_owned(), ..Cell::default() };
    };
    Cell {
        text: number::value(spread.median, metric),
        beside: number::beside(beside, contender),
        is_best: beside.is_best(contender),
        ..Cell::default()
    }
}

/// Rank of a contender and whether it is best. `2=`: one contender is ranked before a group of several. `3?`: two have
/// better medians, and it is not shown to be worse than they are.
fn rank(case: &Case, contender: &str) -> (String, bool) {
    let mut place = 1;
    for group in &case.ranking {
        if group.iter().any(|name| name == contender) {
            let mark = match group.len() {
                2.. => "=",
                _ if case.undecided.iter().any(|name| name == contender) => "?",
                _ => "",
            };
            return (format!("{place}{mark}"), is_best(case, contender));
        }
        place += group.len();
    }
    (String::new(), false)
}

/// One metric of several cases: contenders as rows, cases as columns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Matrix {
    /// Metric and unit: `Rate, requests/s`.
    pub what: String,
    /// Words for the good direction.
    pub hint: String,
    /// Columns: the cases.
    pub columns: Vec<Head>,
    /// Rows: the contenders.
    pub rows: Vec<Row>,
}

/// A column of a matrix: a case.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Head {
    /// Title of the case, or its number on the x axis.
    pub title: String,
    /// Name of the case, for a link.
    pub name: String,
}

/// Matrix of a metric over cases, with contenders in the order of their first appearance. A case on the x axis is
/// titled by its number, and with its rate if that is the same for all.
pub fn matrix(cases: &[&Case], metric: &Metric, styles: &Styles) -> Matrix {
    let head = |case: &&Case| {
        let title = case.x.map_or_else(|| case.title.clone(), number::tick);
        Head { title: with_rate(&title, case), name: case.name.clone() }
    };
    let names = names_in(cases);
    let besides: Vec<Beside> = cases.iter().map(|case| Beside::of(case, metric)).collect();
    let row = |name: &&str| {
        let cells = cases.iter().zip(&besides).map(|(case, beside)| matrix_cell(case, name, metric, beside));
        Row { name: (*name).to_owned(), chip: styles.chip(name), cells: cells.collect(), ..Row::default() }
    };
    let what = number::title(metric);
    let hint = good_end(metric).to_owned();
    Matrix { what, hint, columns: cases.iter().map(head).collect(), rows: names.iter().map(row).collect() }
}

/// Names of the contenders of these cases, each once.
pub fn names_in<'a>(cases: &[&'a Case]) -> Vec<&'a str> {
    grammar::distinct(cases.iter().flat_map(|case| &case.results).map(|result| result.contender.as_str()))
}

/// Whether a contender has a figure for this metric in one of these cases, and is not disqualified there.
pub fn has_figures(cases: &[&Case], metric: &Metric) -> bool {
    let has = |case: &&Case| case.results.iter().any(|one| spread_of(case, &one.contender, metric).is_some());
    cases.iter().any(has)
}

fn matrix_cell(case: &Case, name: &str, metric: &Metric, beside: &Beside) -> Cell {
    let result = case.results.iter().find(|result| result.contender == name);
    if result.is_some_and(|result| result.disqualified.is_some()) {
        return Cell { text: "disqualified".to_owned(), ..Cell::default() };
    }
    let spread = spread_of(case, name, metric);
    let mut cell = cell(spread, metric, beside, name);
    // Who is not ranked is neither the best nor a share of it.
    let medians: Vec<f64> = case.figures(metric.name).map(|(_, spread)| spread.median).collect();
    let share =
        spread.filter(|_| result.is_some_and(|result| case.counts(result, metric.name))).and_then(
            |spread| match metric.direction {
                Direction::Higher => Some(spread.median / medians.iter().copied().fold(0.0, f64::max)),
                Direction::Lower => Some(medians.iter().copied().fold(f64::INFINITY, f64::min) / spread.median),
                Direction::Plain => None,
            },
        );
    cell.share = share.filter(|share| share.is_finite());
    // That too many failed is said where no figure is shown, too: it may be the reason.
    let is_told = |one: &&Measured| spread.is_some() || case.fails(one, metric.name);
    cell.unranked = result.filter(is_told).map_or_else(String::new, |one| unranked(case, one, metric.name));
    cell.is_apart = result.is_some_and(|result| result.not_compared.is_some());
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &str, rate: &[f64]) -> Measured {
        Measured::of(name, &[("requests_per_s", rate)])
    }

    fn case() -> Case {
        let wrong = Measured { disqualified: Some("lies".into()), ..result("c", &[900.0]) };
        let group = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Case {
            metrics: vec!["requests_per_s".into(), "p99_ms".into(), "unknown".into()],
            results: vec![wrong, result("b", &[50.0, 51.0]), result("a", &[100.0, 101.0]), result("d", &[50.0, 52.0])],
            ranking: vec![group(&["a"]), group(&["b", "d"])],
            published: vec![Published {
                server: "a".into(),
                contender: None,
                numbers: [("requests_per_s".into(), 7.0)].into(),
            }],
            ..Case::default()
        }
    }

    #[test]
    fn rows_are_ranked_and_the_disqualified_come_last() {
        let table = table(&case(), &Styles::default(), None);
        assert_eq!(table.columns.len(), 1, "nobody has a p99");
        let rows: Vec<(&str, &str)> = table.rows.iter().map(|row| (row.rank.as_str(), row.name.as_str())).collect();
        assert_eq!(rows, [("1", "a"), ("2=", "b"), ("2=", "d"), ("", "c")]);
        assert!(table.rows[0].cells[0].is_best && !table.rows[3].cells[0].is_best);
        assert_eq!(table.published[0].cells[0].text, "7.00");
    }

    #[test]
    fn the_twin_has_the_last_row_and_is_compared_with_nobody() {
        let chip = || Some(Chip { title: "the twin of a".into(), ..Chip::default() });
        let with = |twin: Option<Measured>| table(&Case { twin, ..case() }, &Styles::default(), chip());
        assert_eq!(with(None).rows.len(), 4);
        let table = with(Some(result("twin", &[120.0, 121.0])));
        let row = &table.rows[4];
        assert_eq!((row.chip.title.as_str(), row.rank.as_str(), row.is_best), ("the twin of a", "", false));
        assert_eq!((row.cells[0].text.as_str(), row.cells[0].beside.as_str()), ("121", ""));
        assert!(!row.cells[0].is_best && table.rows[0].cells[0].is_best && !table.rounds_differ);
        assert!(with(Some(result("twin", &[120.0]))).rounds_differ);
    }

    #[test]
    fn who_is_undecided_has_a_mark_at_its_rank_and_behind_its_ratio() {
        let figures = [("a", [100.0, 101.0, 99.0]), ("b", [50.0, 50.5, 49.5]), ("c", [70.0, 200.0, 30.0])];
        let mut case = Case::of("requests_per_s", &figures);
        crate::stats::rank(&mut case);
        let table = table(&case, &Styles::default(), None);
        let rows: Vec<(&str, &str)> = table.rows.iter().map(|row| (row.rank.as_str(), row.name.as_str())).collect();
        assert_eq!(rows, [("1", "a"), ("2?", "c"), ("3", "b")]);
        let marked: Vec<bool> = table.rows.iter().map(|row| row.cells[0].beside.ends_with(number::UNDECIDED)).collect();
        assert_eq!(marked, [false, true, false], "{:?}", table.rows);
    }

    #[test]
    fn rows_say_of_how_many_rounds_they_are_where_that_differs() {
        let table_of = |case: &Case| table(case, &Styles::default(), None);
        let mut some = case();
        assert!(!table_of(&some).rounds_differ);
        some.results[1] = result("b", &[50.0, 51.0, 49.0]);
        let found = table_of(&some);
        let rounds: Vec<usize> = found.rows.iter().map(|row| row.rounds).collect();
        assert!(found.rounds_differ && rounds == [2, 3, 2, 0], "{rounds:?}");
        some.results[1].numbers.clear();
        assert!(!table_of(&some).rounds_differ, "one without a figure has no rounds");
    }

    #[test]
    fn a_matrix_compares_with_the_best() {
        let case = case();
        let metric = Metric::of("requests_per_s").expect("a metric");
        let matrix = matrix(&[&case], metric, &Styles::default());
        let cell = |name: &str| &matrix.rows.iter().find(|row| row.name == name).expect("a row").cells[0];
        assert_eq!((cell("a").share, cell("c").text.as_str()), (Some(1.0), "disqualified"));
        assert!(cell("b").share.is_some_and(|share| share < 0.51));
    }

    #[test]
    fn a_column_at_a_rate_that_is_the_same_for_all_says_which() {
        let mut case = Case { name: "ladder=50".into(), x: Some(50.0), ..case() };
        for result in &mut case.results {
            result.add(&[("offered_per_s", [1414.0, 1414.0])]);
        }
        let metric = Metric::of("requests_per_s").expect("a metric");
        let titles = |case: &Case| matrix(&[case], metric, &Styles::default()).columns[0].title.clone();
        assert_eq!(titles(&case), "50 (1414/s)");
        case.name = "ladder@50".into();
        assert_eq!(titles(&case), "50");
    }

    #[test]
    fn that_most_requests_failed_is_said_where_there_is_no_figure_as_well() {
        let mut case = case();
        for result in &mut case.results[1..3] {
            result.numbers.remove("requests_per_s");
        }
        // The tool saw no failure; the load after it, which checks all answers, did.
        case.results[1].add(&[("failed", [0.0]), ("requests", [43.0]), ("checked_failed_ppm", [130_000.0])]);
        let metric = Metric::of("requests_per_s").expect("a metric");
        let matrix = matrix(&[&case], metric, &Styles::default());
        let cell = |name: &str| {
            let cell = &matrix.rows.iter().find(|row| row.name == name).expect("a row").cells[0];
            (cell.text.as_str(), cell.unranked.as_str())
        };
        assert_eq!((cell("b"), cell("a")), (("–", "13.0 % failed"), ("–", "")));
    }

    #[test]
    fn who_fails_is_no_measure_for_the_shade_of_others() {
        let mut case = case();
        case.results[2].add(&[("failed", [50.0]), ("requests", [50.0])]);
        let metric = Metric::of("requests_per_s").expect("a metric");
        let matrix = matrix(&[&case], metric, &Styles::default());
        let share = |name: &str| matrix.rows.iter().find(|row| row.name == name).expect("a row").cells[0].share;
        assert!(share("a").is_none() && share("d") == Some(1.0), "{:?}", matrix.rows);
    }
}
