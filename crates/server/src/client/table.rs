//! Tables for a terminal: columns as wide as needed, numbers aligned right.

/// Space between two columns.
const GAP: &str = "  ";

/// Rows under headings. A heading that begins with `>` aligns its column right.
pub struct Table {
    rights: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub fn new(headings: &[&str]) -> Table {
        let rights = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let first = headings.iter().map(|heading| heading.trim_start_matches('>').to_owned()).collect();
        Table { rights, rows: vec![first] }
    }

    /// Adds a row.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table as lines of text.
    pub fn text(&self) -> String {
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| letters(cell)).max();
        let widths: Vec<usize> = (0..self.rights.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let room = " ".repeat(width.saturating_sub(letters(cell)));
                let (before, after) = if self.rights[column] { (room.as_str(), "") } else { ("", room.as_str()) };
                if column > 0 {
                    line.push_str(GAP);
                }
                line.push_str(before);
                line.push_str(cell);
                line.push_str(after);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

fn letters(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", ">n", "what"]);
        table.add(vec!["a".into(), "1".into(), "größer".into()]);
        table.add(vec!["longer".into(), "1000".into(), String::new()]);
        assert_eq!(table.text(), "name       n  what\na          1  größer\nlonger  1000\n");
    }
}
