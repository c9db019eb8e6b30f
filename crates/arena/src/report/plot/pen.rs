//! Writes SVG in pixels of the page. Colors are CSS variables, so that one plot serves light and dark pages and print.
//! A plot is complete without a script; its groups have the data that pictures.js needs to show exact figures and to
//! hide a contender.

use std::fmt::Write;

use crate::report::shape::{Outline, px, way};
use crate::report::styles::Style;

/// Names of a plot. Both of its forms share them, and only the wide one contains them.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Id, unique on the page.
    pub id: &'a str,
    /// Title for screen readers.
    pub title: &'a str,
    /// The figures in words, for screen readers.
    pub about: &'a str,
    /// Meaning of the x values of its lines, for pictures.js.
    pub places: &'a str,
}

/// Font sizes below the default of 13 pixels, with their classes in style.css.
const SMALLER: [(f64, &str); 2] = [(12.0, " y"), (11.0, " z")];

/// Half the length of the cap at the end of a whisker.
const CAP: f64 = 4.0;
/// Size of a mark.
const MARK: f64 = 13.0;

/// Color of a stroke or an area, by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Primary text.
    Text,
    /// Secondary text.
    Quiet,
    /// Grid lines.
    Rule,
    /// Errors.
    Bad,
    /// The contender of the group.
    Own,
    /// The contender of the group, half transparent.
    Faint,
    /// A part of a request's time, by its index.
    Part(u8),
}

/// How a contender's line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    /// Whether it has its mark at each point.
    pub is_marked: bool,
    /// Whether it is paler, since none of its points is ranked.
    pub is_hollow: bool,
}

/// Where a text stands by its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The point is its left end.
    Left,
    /// The point is its middle.
    Middle,
    /// The point is its right end.
    Right,
}

/// Writer of an SVG.
pub struct Pen {
    svg: String,
}

/// A plot of this size in pixels, with a title and a description for screen readers.
pub fn picture(size: (f64, f64), names: Names, is_first: bool, draw: impl FnOnce(&mut Pen)) -> String {
    let (width, height) = (size.0.ceil(), size.1.ceil());
    let Names { id, title, about, places } = names;
    let mut svg = format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-t\" aria-describedby=\"{id}-d\" viewBox=\"0 0 {width} {height}\" \
         style=\"--w:{width}px\""
    );
    if !places.is_empty() {
        let _ = write!(svg, " data-x=\"{}\"", escaped(places));
    }
    svg.push('>');
    if is_first {
        let title = escaped(title);
        let about = escaped(about);
        let _ = write!(svg, "<title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{about}</desc>");
    }
    svg.push('\n');
    let mut pen = Pen { svg };
    draw(&mut pen);
    pen.svg + "</svg>\n"
}

impl Pen {
    /// Draws a group that belongs to one contender: it has its color and is hidden with it. `found` is the data of its
    /// points for pictures.js; `words` is the tooltip without a script.
    pub fn of(&mut self, style: &Style, found: &str, words: &str, draw: impl FnOnce(&mut Pen)) {
        self.put(format_args!("<g data-who=\"{}\"", style.at));
        if !found.is_empty() {
            self.put(format_args!(" data-found=\"{}\"", escaped(found)));
        }
        self.svg.push('>');
        if !words.is_empty() {
            self.put(format_args!("<title>{}</title>", escaped(words)));
        }
        draw(self);
        self.svg.push_str("</g>\n");
    }

    /// Draws a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.path(&[from, to], ink, width);
    }

    /// Draws a line through these points.
    pub fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let width = if width == 1.0 { String::new() } else { format!(" stroke-width=\"{width}\"") };
        self.put(format_args!("<path class=\"s-{}\" d=\"{}\"{width}/>", name(ink), way(points)));
    }

    /// Draws straight lines, each between two points.
    pub fn lines(&mut self, all: &[[(f64, f64); 2]], ink: Ink) {
        let way: String = all.iter().map(|ends| way(ends)).collect();
        if !way.is_empty() {
            self.put(format_args!("<path class=\"s-{}\" d=\"{way}\"/>", name(ink)));
        }
    }

    /// Draws dotted straight lines, each between two points.
    pub fn dotted(&mut self, all: &[[(f64, f64); 2]], ink: Ink) {
        let way: String = all.iter().map(|ends| way(ends)).collect();
        self.put(format_args!("<path class=\"s-{}\" d=\"{way}\" stroke-dasharray=\"2 3\"/>", name(ink)));
    }

    /// Draws the line of the group's contender in its own dash, in several pieces where it has gaps, with its marks if
    /// it has some.
    pub fn own(&mut self, parts: &[Vec<(f64, f64)>], stroke: Stroke) {
        let one = |points: &Vec<(f64, f64)>| if points.len() == 1 { way(points) + "h0" } else { way(points) };
        let way: String = parts.iter().map(one).collect();
        let marks = if stroke.is_marked { " k" } else { "" };
        let pale = if stroke.is_hollow { " n" } else { "" };
        self.put(format_args!("<path class=\"l{marks}{pale}\" d=\"{way}\"/>"));
    }

    /// Draws a ring in place of a mark, for a point that is not ranked.
    pub fn hollow(&mut self, (x, y): (f64, f64)) {
        self.ring(&Outline::Circle((x, y), 4.2), Ink::Own, 1.5);
    }

    /// Draws a thin line to the contender's mark at its end.
    pub fn leader(&mut self, points: &[(f64, f64)]) {
        self.put(format_args!("<path class=\"s-h e\" d=\"{}\"/>", way(points)));
    }

    /// Draws a line across a bar, with caps. It is drawn twice, so that it is visible on the bar and beside it.
    pub fn whisker(&mut self, (from, to): (f64, f64), y: f64, (first, last): (bool, bool)) {
        let cap = format!("m0-{CAP}v{}", CAP * 2.0);
        let first = if first { format!("{cap}m0-{CAP}") } else { String::new() };
        let last = if last { cap } else { String::new() };
        let d = format!("M{} {}{first}h{}{last}", px(from), px(y), px(to - from));
        self.put(format_args!("<path class=\"w p\" d=\"{d}\"/><path class=\"w\" d=\"{d}\"/>"));
    }

    /// Draws a contender's mark, in its own color in any group.
    pub fn mark(&mut self, style: &Style, (x, y): (f64, f64)) {
        let (x, y) = (px(x - MARK / 2.0), px(y - MARK / 2.0));
        self.put(format_args!("<use href=\"#m{}\" x=\"{x}\" y=\"{y}\" width=\"{MARK}\" height=\"{MARK}\"/>", style.at));
    }

    /// Draws an outlined shape that covers what is below.
    pub fn ring(&mut self, outline: &Outline, ink: Ink, width: f64) {
        let paint = format!("class=\"f-p s-{}\" stroke-width=\"{width}\"", name(ink));
        self.svg.push_str(&outline.svg(&paint));
    }

    /// Draws a bar from left to right, centered at this height; style.css has its thickness.
    pub fn bar(&mut self, ends: (f64, f64), y: f64, ink: Ink) {
        self.put(format_args!("<path class=\"s-{} bar\" d=\"{}\"/>", name(ink), across(ends, y)));
    }

    /// Draws the bar of a contender that is not ranked: hatched, and paler than the bars that are ranked.
    pub fn hatched(&mut self, ends: (f64, f64), y: f64) {
        self.put(format_args!("<path class=\"s-o bar n\" d=\"{}\"/>", across(ends, y)));
    }

    /// Adds an invisible area from left to right around this height, on which a pointer shows the tooltip; style.css
    /// has its thickness.
    pub fn row(&mut self, ends: (f64, f64), y: f64) {
        self.put(format_args!("<path class=\"row\" d=\"{}\"/>", across(ends, y)));
    }

    /// Draws a line of text; `y` is its middle.
    pub fn text(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, "");
    }

    /// Draws a line of bold text.
    pub fn bold(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, " b");
    }

    /// Draws small text over a bar, with an outline in the background's color so that it can be read there.
    pub fn over(&mut self, (x, y): (f64, f64), text: &str, size: f64, ink: Ink) {
        self.letters((x, y), text, size, ink, At::Left, " r");
    }

    fn letters(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At, weight: &str) {
        let anchor = match at {
            At::Left => "",
            At::Middle => " m",
            At::Right => " e",
        };
        if text.is_empty() {
            return;
        }
        // Letters without a descender have their middle about a third of their size above the baseline.
        let (x, y) = (px(place.0), px(place.1 + size * 0.35));
        // Text in the default color and size needs no class.
        let ink = if ink == Ink::Text { String::new() } else { format!("f-{}", name(ink)) };
        let small = SMALLER.iter().find(|(smaller, _)| *smaller == size).map_or("", |(_, class)| class);
        let class = format!("{ink}{anchor}{weight}{small}");
        let class = if class.is_empty() { class } else { format!(" class=\"{}\"", class.trim_start()) };
        self.put(format_args!("<text{class} x=\"{x}\" y=\"{y}\">{}</text>", escaped(text)));
    }

    fn put(&mut self, text: std::fmt::Arguments) {
        let _ = self.svg.write_fmt(text);
    }
}

/// Path data of a line from left to right at this height.
fn across((from, to): (f64, f64), y: f64) -> String {
    format!("M{} {}h{}", px(from), px(y), px(to - from))
}

/// Letter of an ink's classes in style.css: `s-t` is a stroke in the color of text, `f-t` an area in it.
fn name(ink: Ink) -> char {
    match ink {
        Ink::Text => 't',
        Ink::Quiet => 'q',
        Ink::Rule => 'r',
        Ink::Bad => 'b',
        Ink::Own => 'o',
        Ink::Faint => 'h',
        Ink::Part(place) => char::from(b'0' + place),
    }
}

/// Estimated width of a text of this size in pixels, by kinds of letters, since no font is available.
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

/// The text, or as much of it as fits, with an ellipsis.
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

/// A contender's name, or as much of its beginning and its end as fits, with an ellipsis between: the settings stand at
/// the end, and many names differ in them alone.
pub fn fitted_name(text: &str, size: f64, most: f64) -> String {
    if text_width(text, size) <= most {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| {
        let first: String = letters[..kept.div_ceil(2)].iter().collect();
        let last: String = letters[letters.len() - kept / 2..].iter().collect();
        format!("{}…{}", first.trim_end(), last.trim_start())
    };
    let mut shorter = (0..letters.len()).rev().map(cut);
    shorter.find(|name| text_width(name, size) <= most).unwrap_or_else(|| "…".to_owned())
}

/// A contender's name in one line, or two if needed; what does not fit is cut. The second line is for smaller letters,
/// so that more fits.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    if text_width(text, size) <= most {
        return vec![text.to_owned()];
    }
    let small = size - 2.0;
    let mut ends = text.match_indices(' ').map(|(at, _)| at).filter(|at| text_width(&text[..*at], small) <= most);
    match ends.next_back() {
        Some(at) => vec![text[..at].to_owned(), fitted_name(text[at..].trim_start(), small, most)],
        None => vec![fitted_name(text, size, most)],
    }
}

/// Escapes text for an element or a quoted attribute of HTML or SVG.
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
        let style = Style { title: "A <server>".into(), at: 9 };
        let names = Names { id: "p1", title: "A <title>", about: "All & more", places: "" };
        let svg = picture((100.0, 50.0), names, true, |pen| {
            pen.of(&style, &style.title, "A <server>\n5", |pen| {
                pen.path(&[(0.0, 0.0), (10.54, 10.0)], Ink::Own, 1.5);
                pen.bar((0.0, 5.0), 7.0, Ink::Faint);
            });
            pen.text((1.0, 1.0), "a < b", 13.0, Ink::Quiet, At::Right);
            pen.bold((1.0, 1.0), "c", 13.0, Ink::Text, At::Middle);
        });
        assert!(svg.starts_with("<svg role=\"img\" aria-labelledby=\"p1-t\"") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt;title&gt;</title>") && svg.contains("All &amp; more</desc>"));
        assert!(svg.contains("<g data-who=\"9\" data-found=\"A &lt;server&gt;\">"), "{svg}");
        assert!(svg.contains("<title>A &lt;server&gt;\n5</title>") && svg.contains("M0 0l10.5 10"), "{svg}");
        assert!(svg.contains("<path class=\"s-h bar\" d=\"M0 7h5\"/>") && svg.contains("a &lt; b"), "{svg}");
    }

    #[test]
    fn names_that_differ_at_their_ends_alone_do_so_when_they_are_cut() {
        let cut = |end: &str| fitted_name(&format!("A server with a long name -w 2 {end}"), 13.0, 120.0);
        let (one, other) = (cut("-t 1"), cut("-t 5"));
        assert!(one.starts_with("A ser") && one.ends_with("-t 1") && other.ends_with("-t 5"), "{one} {other}");
        assert!(one.contains('…') && text_width(&one, 13.0) <= 120.0, "{one}");
        assert_eq!((fitted_name("short", 13.0, 100.0), fitted_name("abc", 13.0, 0.0)), ("short".into(), "…".into()));
        let lines = wrapped("one server and all the words of its name -w 2 -t 1", 13.0, 110.0);
        assert!(lines.len() == 2 && lines[1].ends_with("-t 1"), "{lines:?}");
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
