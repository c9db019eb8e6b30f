//! The tables of scenarios and of results.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use crate::findings::Findings;
use crate::scenarios::Scenario;

/// Result of a scenario.
pub struct Row {
    /// Name of the scenario.
    pub name: &'static str,
    /// Its findings.
    pub findings: Findings,
    /// Its duration, with start and stop of the server.
    pub took: Duration,
}

impl Row {
    /// Whether there are no complaints.
    pub fn is_well(&self) -> bool {
        self.findings.complaints.is_empty()
    }

    /// The result in a word or two.
    pub fn verdict(&self) -> &'static str {
        match (self.is_well(), self.findings.is_skipped) {
            (true, true) => "not tried",
            (true, false) => "well",
            (false, _) => "NOT WELL",
        }
    }
}

/// Prints the scenarios.
pub fn list(scenarios: &[&Scenario], out: &mut dyn Write) -> io::Result<()> {
    let mut table = empty(&["scenario", "what happens"]);
    for scenario in scenarios {
        table.add_row([scenario.name, scenario.about]);
    }
    writeln!(out, "{table}")
}

/// Prints the results.
pub fn print(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let heads = ["scenario", "requests", "failed", "503s", "longest wait", "time", "verdict"];
    let mut table = empty(&heads);
    for row in rows {
        let findings = &row.findings;
        let longest = format!("{:.0} ms", findings.longest_ms);
        let verdict = row.verdict();
        let Findings { requests, failed, shed, .. } = findings;
        let cells = [row.name.to_owned(), requests.to_string(), failed.to_string(), shed.to_string()];
        let took = format!("{:.0} s", row.took.as_secs_f64());
        table.add_row(cells.into_iter().chain([longest, took, verdict.to_owned()]));
    }
    for column in table.column_iter_mut().skip(1).take(heads.len() - 2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}\n")?;
    for row in rows {
        for words in row.findings.remarks.iter().chain(&row.findings.complaints) {
            writeln!(out, "{}: {}", row.name, words.replace('\n', "\n    "))?;
        }
    }
    let bad = rows.iter().filter(|row| !row.is_well()).count();
    let skipped = rows.iter().filter(|row| row.findings.is_skipped).count();
    let all = rows.len();
    if skipped > 0 {
        writeln!(out, "\n{skipped} of {all} could not be tried here")?;
    }
    if bad == 0 {
        writeln!(out, "\nall {} went well", all - skipped)
    } else {
        writeln!(out, "\n{bad} of {all} did NOT go well")
    }
}

fn empty(heads: &[&str]) -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().top_border(line).header_separator(line).bottom_border(line));
    table.set_header(heads);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_makes_a_row_not_well() {
        let findings = Findings { complaints: vec!["it broke".into()], requests: 7, ..Findings::default() };
        let rows = [Row { name: "some", findings, took: Duration::from_secs(3) }];
        let mut out = Vec::new();
        print(&rows, &mut out).expect("written");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("NOT WELL") && text.contains("some: it broke") && text.contains("1 of 1"), "{text}");
    }
}
