//! Tables of a run for a terminal, as wide as it is. Without colors: the best has a star, which also survives a pipe.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};

use super::plot::{self, in_order};
use super::rows::{self, Row};
use super::rule::{self, Rule};
use super::styles::{Chip, Styles};
use super::{disqualifications, grammar, heading, number, remarks, sentence, traffic, twins, winners};
use crate::record::summary::{Case, Measured, Plot, Summary};
use loadgen::metric::{Metric, P99};

/// Most columns of the terminal that a name takes; longer ones are wrapped, which leaves room for more figures.
const NAME_MOST: u16 = 34;
/// Least width of a table, even on a narrower terminal.
pub(super) const NARROWEST: u16 = 40;

/// Writes all tables of a run.
pub fn print(summary: &Summary, out: &mut dyn Write, width: u16) -> io::Result<()> {
    let width = width.max(NARROWEST);
    let styles = Styles::of(summary);
    head(summary, out, width)?;
    at_the_rate(summary, &styles, out, width)?;
    let lines = plot::curves(summary);
    for plot in &lines {
        curve(summary, plot, &styles, out, width)?;
    }
    let is_told = |case: &&Case| !summary.is_at_users_rate(&case.name) && (lines.is_empty() || case.x.is_none());
    for case in summary.cases.iter().filter(is_told) {
        one_case(case, None, &styles, out, width)?;
    }
    disqualified(summary, &styles, out, width)?;
    tail(summary, &styles, out, width)
}

fn head(summary: &Summary, out: &mut dyn Write, width: u16) -> io::Result<()> {
    writeln!(out, "{}", summary.title)?;
    if !summary.question.is_empty() {
        say(out, &summary.question, width)?;
    }
    let rounds = grammar::count(summary.rounds as usize, "round", "rounds");
    say(out, &format!("{} · {} · {rounds}", heading::day(summary), heading::machine(summary)), width)?;
    if let Some(twins) = twins::compared(summary, &Styles::of(summary)) {
        let alarm = if twins.is_alarm { "THE TWINS DIFFER: " } else { "" };
        say(out, &format!("{alarm}{}.", twins.words), width)?;
    }
    if summary.rounds > 1 {
        let percent = Rule::now().confidence;
        let words = format!(
            "Below a median: the median of its rounds' ratios to the best of its column, with the {percent} % \
             interval; ? behind it: undecided, neither shown to be worse than the best nor within a quarter of it."
        );
        say(out, &words, width)?;
    }
    if !summary.shortcomings.is_empty() {
        say(out, &format!("NOT A RUN AS METHOD.md WANTS IT: {}.", summary.shortcomings.join("; ")), width)?;
    }
    if summary.is_quick {
        say(out, "QUICK RUN: it shows that everything works; its figures are not to be believed.", width)?;
    }
    Ok(())
}

/// Writes the results at the user's rate: a paragraph and the tables.
fn at_the_rate(summary: &Summary, styles: &Styles, out: &mut dyn Write, width: u16) -> io::Result<()> {
    let Some(found) = &summary.traffic else { return Ok(()) };
    writeln!(out, "\nAt your traffic")?;
    say(out, &sentence::readable(&found.answer, summary, styles), width)?;
    say(out, &format!("Something is broken when {}.", found.broken_when), width)?;
    for case in summary.cases.iter().filter(|case| found.cases.first() == Some(&case.name)) {
        one_case(case, Some(twins::chip(summary, styles)), styles, out, width)?;
    }
    for facts in traffic::facts(summary, found, styles) {
        writeln!(out, "\n{}", facts.title)?;
        let mut table = empty();
        let heads = facts.heads.iter().map(|head| heading(&head.title, &head.unit));
        table.set_header(["".to_owned()].into_iter().chain(heads));
        for row in &facts.rows {
            table.add_row([row.chip.title.clone()].into_iter().chain(row.cells.iter().cloned()));
        }
        for (column, head) in table.column_iter_mut().skip(1).zip(&facts.heads) {
            column.set_cell_alignment(if head.is_number { CellAlignment::Right } else { CellAlignment::Left });
        }
        if !facts.heads.is_empty() {
            write_table(out, table, width)?;
        }
        if !facts.note.is_empty() {
            say(out, &facts.note, width)?;
        }
    }
    Ok(())
}

/// Writes a case with its table, which ends with its twin if there is one and `twin` gives its title. Metrics without
/// room are left out of the table from the right, and named below.
fn one_case(case: &Case, twin: Option<Chip>, styles: &Styles, out: &mut dyn Write, width: u16) -> io::Result<()> {
    writeln!(out, "\n{}", case.title)?;
    if !case.what.is_empty() {
        say(out, &case.what, width)?;
    }
    figures(&rows::table(case, styles, twin), out, width)?;
    say(out, &winners::of_case(case, styles), width)?;
    for remark in remarks::of_all(case, &in_order(case)) {
        say(out, &format!("Of {}: {}.", remark.whom(styles), remark.words), width)?;
    }
    let own = in_order(case).into_iter().map(|result| (styles.title(&result.contender), result));
    for (title, result) in own.chain(case.twin.iter().map(|twin| ("the twin".to_owned(), twin))) {
        let some = result.errors.iter().filter(|(_, count)| **count > 0);
        let kinds: Vec<String> = some.map(|(kind, count)| format!("{count} × {kind}")).collect();
        if !kinds.is_empty() {
            say(out, &format!("Errors of {title}: {}.", kinds.join(", ")), width)?;
        }
    }
    Ok(())
}

/// Writes the table of a case, if it has a figure. Those of disqualified contenders are not shown.
fn figures(data: &rows::Table, out: &mut dyn Write, width: u16) -> io::Result<()> {
    if !data.has_figures() {
        return Ok(());
    }
    let mut columns = data.columns.len();
    let build = |columns: usize| {
        let mut table = empty();
        let heads = data.columns.iter().take(columns).map(|column| heading(&column.title, &column.unit));
        table.set_header(["".to_owned(), "".to_owned()].into_iter().chain(heads));
        for row in data.rows.iter().filter(|row| row.disqualified.is_none()) {
            table.add_row(cells(row, columns, data.rounds_differ));
        }
        for row in &data.published {
            let numbers = row.cells.iter().take(columns).map(|cell| Cell::new(&cell.text));
            table.add_row([Cell::new(""), Cell::new(format!("({}, published)", row.name))].into_iter().chain(numbers));
        }
        aligned(table, 2)
    };
    while columns > 1 && natural_width(&build(columns)) > width {
        columns -= 1;
    }
    write_table(out, build(columns), width)?;
    if columns < data.columns.len() {
        let left_out: Vec<String> = data.columns[columns..].iter().map(|column| column.title.clone()).collect();
        say(out, &format!("No place for: {}.", left_out.join(", ")), width)?;
    }
    Ok(())
}

fn heading(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title}\n{unit}") }
}

fn cells(row: &Row, columns: usize, with_rounds: bool) -> Vec<Cell> {
    let star = if row.is_best { "★ " } else { "" };
    let number = |cell: &rows::Cell| {
        let star = if cell.is_best { "★ " } else { "" };
        let beside = if cell.beside.is_empty() { String::new() } else { format!("\n{}", cell.beside) };
        let unranked = if cell.unranked.is_empty() { String::new() } else { format!("\n{}", cell.unranked) };
        Cell::new(format!("{star}{}{beside}{unranked}", cell.text))
    };
    let mut name = format!("{star}{}", row.chip.title);
    if !row.unranked.is_empty() {
        name.extend(["\n", &row.unranked]);
    }
    if with_rounds && row.rounds > 0 {
        name.extend(["\n", &grammar::count(row.rounds, "round", "rounds")]);
    }
    let names = [Cell::new(&row.rank), Cell::new(name)];
    names.into_iter().chain(row.cells.iter().take(columns).map(number)).collect()
}

/// Writes a metric over the cases of a line plot.
fn curve(summary: &Summary, plot: &Plot, styles: &Styles, out: &mut dyn Write, width: u16) -> io::Result<()> {
    let Some(metric) = Metric::of(&plot.metric) else { return Ok(()) };
    let cases = plot::cases_of(plot, summary);
    let matrix = rows::matrix(&cases, metric, styles);
    writeln!(out, "\n{} ({}; {})", plot.title, matrix.what, matrix.hint)?;
    match rows::has_figures(&cases, metric) {
        true => write_matrix(&matrix, &plot.x_title, out, width)?,
        false => say(out, "Nobody has a figure for this.", width)?,
    }
    // Whom they concern, their words, and where.
    let mut gathered: Vec<(String, String, Vec<String>)> = Vec::new();
    for case in cases.iter().filter(|case| plot.metric == P99 || case.metrics.first() == Some(&plot.metric)) {
        let at = case.x.map_or_else(String::new, number::tick);
        let results: Vec<&Measured> = case.results.iter().collect();
        for remark in remarks::of_all(case, &results) {
            let whom = remark.whom(styles);
            match gathered.iter_mut().find(|(known, words, _)| *known == whom && *words == remark.words) {
                Some((_, _, places)) => places.push(at.clone()),
                None => gathered.push((whom, remark.words, vec![at.clone()])),
            }
        }
    }
    for (whom, words, places) in gathered {
        say(out, &format!("At {}, {whom}: {words}.", grammar::list(&places)), width)?;
    }
    Ok(())
}

fn write_matrix(matrix: &rows::Matrix, x_title: &str, out: &mut dyn Write, width: u16) -> io::Result<()> {
    let mut table = empty();
    let heads = matrix.columns.iter().map(|head| head.title.clone());
    table.set_header([x_title.to_owned()].into_iter().chain(heads));
    for row in &matrix.rows {
        let number = |cell: &rows::Cell| {
            let failed = match cell.is_apart {
                _ if !cell.unranked.is_empty() => format!("\n{}", cell.unranked),
                true => "\nat another time".to_owned(),
                false => String::new(),
            };
            format!("{}{}{failed}", if cell.is_best { "★ " } else { "" }, cell.text)
        };
        table.add_row([row.chip.title.clone()].into_iter().chain(row.cells.iter().map(number)));
    }
    write_table(out, aligned(table, 1), width)
}

fn disqualified(summary: &Summary, styles: &Styles, out: &mut dyn Write, width: u16) -> io::Result<()> {
    for (name, case, why) in disqualifications::list(summary, styles) {
        writeln!(out)?;
        say(out, &format!("DISQUALIFIED: {} in {case}: {why}", styles.title(&name)), width)?;
    }
    Ok(())
}

fn tail(summary: &Summary, styles: &Styles, out: &mut dyn Write, width: u16) -> io::Result<()> {
    writeln!(out)?;
    for verdict in &summary.verdicts {
        let named = winners::of_use(verdict, styles);
        let why = match sentence::readable(&verdict.why, summary, styles) {
            none if none.is_empty() => none,
            why => format!(". {why}"),
        };
        say(out, &format!("Best for {}: {named}{why}", verdict.use_case), width)?;
        if !verdict.published.is_empty() {
            say(out, &format!("  in the original: {}", verdict.published), width)?;
        }
    }
    if let Some(advice) = &summary.advice {
        let said = |text: &str| sentence::readable(text, summary, styles);
        say(out, &format!("{}{}", rule::older_rule_note(advice), said(&advice.sentence)), width)?;
        for reason in &advice.reasons {
            say(out, &format!("  - {}", said(reason)), width)?;
        }
        for doubt in &advice.uncertainty {
            say(out, &format!("  ? {}", said(doubt)), width)?;
        }
        if !advice.command.is_empty() {
            writeln!(out, "  $ {}", advice.command)?;
        }
    } else {
        say(out, &winners::of_run(summary, styles), width)?;
    }
    for who in summary.contenders.iter().filter(|who| !who.missing.is_empty()) {
        say(out, &format!("Missing: {}: {}", who.title, who.missing.join("; ")), width)?;
    }
    for note in &summary.notes {
        say(out, &format!("Note: {note}"), width)?;
    }
    Ok(())
}

pub(super) fn empty() -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().top_border(line).header_separator(line).bottom_border(line));
    table
}

/// The table, with its numbers aligned to the right: the columns after the first ones, which have names.
fn aligned(mut table: Table, names: usize) -> Table {
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Width of the table with the space after each column.
fn natural_width(table: &Table) -> u16 {
    let widths = table.column_max_content_widths();
    let capped = widths.iter().enumerate().map(|(at, width)| if at < 2 { *width.min(&NAME_MOST) } else { *width });
    capped.map(|width| width + 2).sum::<u16>().saturating_sub(1)
}

/// Writes a text wrapped at words, with the indentation of its first line on all lines.
fn say(out: &mut dyn Write, text: &str, width: u16) -> io::Result<()> {
    let indent = &text[..text.len() - text.trim_start().len()];
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && line.chars().count() + word.chars().count() + 1 > usize::from(width) {
            writeln!(out, "{line}")?;
            line.clear();
        }
        line.push_str(if line.is_empty() { indent } else { " " });
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

/// Writes a table, with wrapped cells if it is too wide.
pub(super) fn write_table(out: &mut dyn Write, mut table: Table, width: u16) -> io::Result<()> {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
        if column.index < 2 {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(NAME_MOST + 1)));
        }
    }
    if natural_width(&table) > width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
