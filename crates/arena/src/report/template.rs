//! HTML templates of the pages: a common frame and style, and small scripts on which nothing depends. A page is
//! self-contained.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde::Serialize;

const FILES: [(&str, &str); 6] = [
    ("frame.html", include_str!("html/frame.html")),
    ("page.html", include_str!("html/page.html")),
    ("parts.html", include_str!("html/parts.html")),
    ("compare.html", include_str!("html/compare.html")),
    ("index.html", include_str!("html/index.html")),
    ("style.css", include_str!("html/style.css")),
];
const SCRIPTS: [(&str, &str); 2] =
    [("script.js", include_str!("html/script.js")), ("pictures.js", include_str!("html/pictures.js"))];

/// Fills in a template. All text is escaped except what the template marks as safe, which is our own SVG.
pub fn fill(name: &str, view: &impl Serialize) -> Result<String, String> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    for (name, text) in FILES.into_iter().chain(SCRIPTS) {
        templates.add_template(name, text).map_err(|error| format!("{name}: {error:#}"))?;
    }
    templates.add_filter("joined", joined);
    templates.add_filter("css", css);
    templates.add_filter("label", label);
    let template = templates.get_template(name).map_err(|error| error.to_string())?;
    template.render(Serde(view)).map_err(|error| format!("{name}: {error:#}"))
}

/// Quotes a text for CSS.
fn css(text: &str) -> String {
    let letter = |c: char| match c {
        c if c == '"' || c == '\\' || c.is_control() => format!("\\{:x} ", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}

/// Title and unit of a column: `Rate, requests/s`.
fn label(column: Value) -> String {
    let of = |name: &str| column.get_attr(name).ok().and_then(|value| value.as_str().map(str::to_owned));
    [of("title"), of("unit")].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Whether the space at this index separates the thousands of a number; not so in `p99 839 ms`.
fn is_thousands(letters: &[char], at: usize) -> bool {
    let before = letters[..at].iter().rev().take_while(|c| c.is_ascii_digit()).count();
    let after = letters[at + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
    let is_word = at > before && (letters[at - before - 1].is_alphabetic() || letters[at - before - 1] == '.');
    before > 0 && after == 3 && !is_word
}

/// Makes spaces and hyphens non-breaking within the digits of `10 000` and the parts of `-w 2`.
fn joined(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let is_digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        let is_option = at >= 3 && letters[at - 2] == '-' && letters[at - 3].is_whitespace();
        match letter {
            ' ' if is_option && is_digit(letters.get(at + 1)) => out.push('\u{a0}'),
            ' ' if is_thousands(&letters, at) => out.push('\u{202f}'),
            '-' if before.is_none_or(|c| c.is_whitespace() || *c == '-') => out.extend(['-', '\u{2060}']),
            letter => out.push(*letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_css_ends_where_it_ends() {
        assert_eq!(css("a \"b\" \\ c\n"), r#""a \22 b\22  \5c  c\a ""#);
    }

    #[test]
    fn what_belongs_together_is_joined() {
        assert_eq!(joined("10 000 primes, 2 x"), "10\u{202f}000 primes, 2 x");
        assert_eq!(joined("use -w 2, not a-b"), "use -\u{2060}w\u{a0}2, not a-b");
        assert_eq!(joined("p99 839.68 ms, 1.5 200, 20 40"), "p99 839.68 ms, 1.5 200, 20 40");
        assert_eq!(joined("-x"), "-\u{2060}x");
        assert_eq!(joined(""), "");
    }
}
