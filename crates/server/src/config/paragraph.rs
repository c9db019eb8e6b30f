//! Text in lines as wide as a terminal.

use std::fmt::Write;

/// Column at which text is wrapped.
const WIDTH: usize = 100;

/// Appends wrapped text, each line with this prefix.
pub fn append(out: &mut String, before: &str, words: &str) {
    let mut column = 0;
    for word in words.split_whitespace() {
        if column > 0 && column + 1 + word.len() > WIDTH {
            out.push('\n');
            column = 0;
        }
        let gap = if column == 0 { before } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(out, "{gap}{word}");
        column += gap.len() + word.len();
    }
    out.push('\n');
}
