//! Writes SVG in pixels of the page. Colours are CSS variables, so that one picture serves light and dark pages and
//! paper. A picture says everything without a script; what pictures.js needs to show exact figures and to hide a
//! contender stands in its groups.

use std::fmt::Write;

use crate::report::look::Look;
use crate::report::shape::{Outline, px, way};

/// Letters of this size have it from style.css.
const USUAL: f64 = 12.0;

/// What a stroke or an area is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// What is to be read first.
    Text,
    /// What is to be read second.
    Quiet,
    /// Lines of the grid.
    Rule,
    /// The ground.
    Paper,
    /// What went wrong.
    Bad,
    /// The contender whose group this is.
    Own,
    /// The same, half through.
    Faint,
    /// A part of a request's time, by its place.
    Part(u8),
}

/// Where a text stands by its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The point is its left end.
    Left,
    /// Its middle.
    Middle,
    /// Its right end.
    Right,
}

/// Draws.
pub struct Pen {
    svg: String,
}

/// A picture of this size in pixels, with a title and a description for those who do not see it.
pub fn picture(size: (f64, f64), id: &str, title: &str, about: &str, draw: impl FnOnce(&mut Pen)) -> String {
    let (width, height) = (size.0.ceil(), size.1.ceil());
    let svg = format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-t\" aria-describedby=\"{id}-d\" viewBox=\"0 0 {width} {height}\" \
         style=\"--w:{width}px\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n",
        escaped(title),
        escaped(about),
    );
    let mut pen = Pen { svg };
    draw(&mut pen);
    pen.svg + "</svg>\n"
}

impl Pen {
    /// What belongs to one contender: its colour, and that it goes when the contender is switched off. The further
    /// attributes are for pictures.js; the words are what a pointer is shown without it.
    pub fn of(&mut self, look: &Look, more: &[(&str, &str)], words: &str, draw: impl FnOnce(&mut Pen)) {
        self.put(format_args!("<g data-who=\"{}\" style=\"--own:{}\"", look.at, look.colour()));
        for (name, value) in more {
            self.put(format_args!(" data-{name}=\"{}\"", escaped(value)));
        }
        self.svg.push('>');
        if !words.is_empty() {
            self.put(format_args!("<title>{}</title>", escaped(words)));
        }
        draw(self);
        self.svg.push_str("</g>\n");
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.path(&[from, to], ink, width, "");
    }

    /// A line through these points, with lengths of strokes and gaps.
    pub fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let width = if width == 1.0 { String::new() } else { format!(" stroke-width=\"{width}\"") };
        self.put(format_args!("<path class=\"s-{}\" d=\"{}\"{width}{dash}/>", name(ink), way(points)));
    }

    /// A contender's mark.
    pub fn mark(&mut self, outline: &Outline, ink: Ink) {
        self.svg.push_str(&outline.svg(&format!("class=\"f-{}\"", name(ink))));
    }

    /// A shape with a stroke around it only, its inside covered.
    pub fn ring(&mut self, outline: &Outline, ink: Ink, width: f64) {
        let paint = format!("class=\"f-p s-{}\" stroke-width=\"{width}\"", name(ink));
        self.svg.push_str(&outline.svg(&paint));
    }

    /// An upright rectangle.
    pub fn bar(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let paint = format!("class=\"f-{}\"", name(ink));
        self.rect(from, to, &paint);
    }

    /// Nothing to be seen, but a pointer finds it.
    pub fn target(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.rect(from, to, "class=\"target\"");
    }

    fn rect(&mut self, from: (f64, f64), to: (f64, f64), paint: &str) {
        let (width, height) = (px(to.0 - from.0), px(to.1 - from.1));
        self.put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" {paint}/>",
            px(from.0),
            px(from.1)
        ));
    }

    /// A line of text; `y` is its middle.
    pub fn text(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, "");
    }

    /// The same in bold.
    pub fn bold(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, " b");
    }

    fn letters(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At, weight: &str) {
        let anchor = match at {
            At::Left => "",
            At::Middle => " m",
            At::Right => " e",
        };
        // Letters without a part below the line have their middle a third of their size above it.
        let (x, y) = (px(place.0), px(place.1 + size * 0.35));
        let larger = if size == USUAL { String::new() } else { format!(" font-size=\"{size}\"") };
        self.put(format_args!(
            "<text class=\"f-{}{anchor}{weight}\" x=\"{x}\" y=\"{y}\"{larger}>{}</text>",
            name(ink),
            escaped(text)
        ));
    }

    fn put(&mut self, text: std::fmt::Arguments) {
        let _ = self.svg.write_fmt(text);
    }
}

/// As in style.css: `s-t` is a stroke in the colour of text, `f-t` an area in it.
fn name(ink: Ink) -> char {
    match ink {
        Ink::Text => 't',
        Ink::Quiet => 'q',
        Ink::Rule => 'r',
        Ink::Paper => 'p',
        Ink::Bad => 'b',
        Ink::Own => 'o',
        Ink::Faint => 'h',
        Ink::Part(place) => char::from(b'0' + place),
    }
}

/// About how wide a text of this size is, in pixels: by kinds of letters, since no font is at hand.
pub fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '\u{202f}' => 0.29,
        'f' | 'r' | 't' | ' ' | '(' | ')' | '-' | '/' => 0.37,
        'm' | 'w' | 'M' | 'W' | '%' => 0.9,
        c if c.is_uppercase() => 0.69,
        c if c.is_ascii() => 0.58,
        _ => 0.7,
    };
    text.chars().map(width).sum::<f64>() * size
}

/// The text, or as much of it as has place, and three points.
pub fn fitted(text: &str, size: f64, most: f64) -> String {
    if text_width(text, size) <= most {
        return text.to_owned();
    }
    let mut out: String = text.to_owned();
    while !out.is_empty() && text_width(&out, size) + size > most {
        out.pop();
    }
    out.trim_end().to_owned() + "…"
}

/// The text in one line, or in two when they are needed; what has no place in them is cut. A second line is of smaller
/// letters, so more goes in.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    if text_width(text, size) <= most {
        return vec![text.to_owned()];
    }
    let small = size - 2.0;
    let mut ends = text.match_indices(' ').map(|(at, _)| at).filter(|at| text_width(&text[..*at], small) <= most);
    match ends.next_back() {
        Some(at) => vec![text[..at].to_owned(), fitted(text[at..].trim_start(), small, most)],
        None => vec![fitted(text, size, most)],
    }
}

/// For the text of an element of HTML or SVG, or a quoted attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_names_for_colours_and_words_for_readers() {
        let look = Look { title: "A <server>".into(), at: 9 };
        let svg = picture((100.0, 50.0), "p1", "A <title>", "All & more", |pen| {
            pen.of(&look, &[("name", &look.title)], "A <server>\n5", |pen| {
                pen.path(&[(0.0, 0.0), (10.54, 10.0)], Ink::Own, 1.5, look.dash());
                pen.bar((0.0, 0.0), (5.0, 5.0), Ink::Faint);
            });
            pen.text((1.0, 1.0), "a < b", 13.0, Ink::Quiet, At::Right);
            pen.bold((1.0, 1.0), "c", 13.0, Ink::Text, At::Middle);
        });
        assert!(svg.starts_with("<svg role=\"img\" aria-labelledby=\"p1-t\"") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt;title&gt;</title>") && svg.contains("All &amp; more</desc>"));
        assert!(svg.contains("<g data-who=\"9\" style=\"--own:var(--c9)\" data-name=\"A &lt;server&gt;\">"), "{svg}");
        assert!(svg.contains("<title>A &lt;server&gt;\n5</title>") && svg.contains("M0 0L10.5 10"), "{svg}");
        assert!(svg.contains("class=\"f-h\"") && svg.contains("stroke-dasharray") && svg.contains("a &lt; b"));
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(fitted("short", 13.0, 100.0), "short");
        let cut = fitted("a very long name of a server with all its settings", 13.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 13.0) <= 105.0, "{cut}");
        assert_eq!(fitted("abc", 13.0, 0.0), "…");
        assert_eq!(wrapped("some server with a name", 13.0, 110.0), ["some server with a", "name"]);
        assert_eq!(wrapped("short", 13.0, 100.0), ["short"]);
        assert_eq!(wrapped("", 13.0, 0.0), [""]);
    }
}
