//! Writes SVG in pixels of the page. Colours are CSS variables, so that one picture serves light and dark pages and
//! paper. A picture says everything without a script; what pictures.js needs to show exact figures and to hide a
//! contender stands in its groups.

use std::fmt::Write;

use crate::report::look::Look;
use crate::report::shape::{Outline, px, way};

/// What a picture is called by. Both of its forms have the same, and only the wide one says it.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Nobody else's on the page.
    pub id: &'a str,
    /// For those who do not see it.
    pub title: &'a str,
    /// The figures in words, likewise.
    pub about: &'a str,
    /// What the places of its lines are, for pictures.js.
    pub places: &'a str,
}

/// Letters have their size from style.css: 13 pixels, or one of these.
const SMALLER: [(f64, &str); 2] = [(12.0, " y"), (11.0, " z")];

/// Half of the stroke at the end of a whisker.
const CAP: f64 = 4.0;
/// The side of a mark.
const MARK: f64 = 13.0;

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

/// How a contender's line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Without marks.
    Bare,
    /// With its mark at each point.
    Marked,
    /// Without marks and paler, since nothing of it is ranked.
    BareHollow,
    /// With marks and paler.
    MarkedHollow,
}

impl Stroke {
    /// Of a line with marks or without, whose points are all not ranked or are not.
    pub fn of(is_marked: bool, is_hollow: bool) -> Stroke {
        match (is_marked, is_hollow) {
            (false, false) => Stroke::Bare,
            (true, false) => Stroke::Marked,
            (false, true) => Stroke::BareHollow,
            (true, true) => Stroke::MarkedHollow,
        }
    }
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
    /// What belongs to one contender: its colour, and that it goes when the contender is switched off. What is found at
    /// the points of its line is for pictures.js; the words are what a pointer is shown without it.
    pub fn of(&mut self, look: &Look, found: &str, words: &str, draw: impl FnOnce(&mut Pen)) {
        self.put(format_args!("<g data-who=\"{}\"", look.at));
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

    /// Straight lines, each from its point to its other one.
    pub fn lines(&mut self, all: &[[(f64, f64); 2]], ink: Ink) {
        let way: String = all.iter().map(|ends| way(ends)).collect();
        if !way.is_empty() {
            self.put(format_args!("<path class=\"s-{}\" d=\"{way}\"/>", name(ink)));
        }
    }

    /// The line of the contender whose group this is, in its own dash; in parts, where it is broken. With its marks at
    /// the points, if it has some.
    pub fn own(&mut self, parts: &[Vec<(f64, f64)>], kind: Stroke) {
        let one = |points: &Vec<(f64, f64)>| if points.len() == 1 { way(points) + "h0" } else { way(points) };
        let way: String = parts.iter().map(one).collect();
        let class = match kind {
            Stroke::Bare => "l",
            Stroke::Marked => "l k",
            Stroke::BareHollow => "l n",
            Stroke::MarkedHollow => "l k n",
        };
        self.put(format_args!("<path class=\"{class}\" d=\"{way}\"/>"));
    }

    /// A ring in the place of a mark, for a point that is not ranked.
    pub fn hollow(&mut self, (x, y): (f64, f64)) {
        self.ring(&Outline::Circle((x, y), 4.2), Ink::Own, 1.5);
    }

    /// A fine line to the contender's mark at its end.
    pub fn leader(&mut self, points: &[(f64, f64)]) {
        self.put(format_args!("<path class=\"s-h e\" d=\"{}\"/>", way(points)));
    }

    /// A line across a bar, with a cap at each end that has one. It is drawn twice, so that it shows on the bar as well
    /// as beside it.
    pub fn whisker(&mut self, (from, to): (f64, f64), y: f64, (first, last): (bool, bool)) {
        let cap = format!("m0-{CAP}v{}", CAP * 2.0);
        let first = if first { format!("{cap}m0-{CAP}") } else { String::new() };
        let last = if last { cap } else { String::new() };
        let d = format!("M{} {}{first}h{}{last}", px(from), px(y), px(to - from));
        self.put(format_args!("<path class=\"w p\" d=\"{d}\"/><path class=\"w\" d=\"{d}\"/>"));
    }

    /// A contender's mark, of its own colour in any group.
    pub fn mark(&mut self, look: &Look, (x, y): (f64, f64)) {
        let (x, y) = (px(x - MARK / 2.0), px(y - MARK / 2.0));
        self.put(format_args!("<use href=\"#m{}\" x=\"{x}\" y=\"{y}\" width=\"{MARK}\" height=\"{MARK}\"/>", look.at));
    }

    /// A shape with a stroke around it only, its inside covered.
    pub fn ring(&mut self, outline: &Outline, ink: Ink, width: f64) {
        let paint = format!("class=\"f-p s-{}\" stroke-width=\"{width}\"", name(ink));
        self.svg.push_str(&outline.svg(&paint));
    }

    /// A bar from left to right, around this height; how thick it is stands in style.css.
    pub fn bar(&mut self, (from, to): (f64, f64), y: f64, ink: Ink) {
        let x = px(from);
        let y = px(y);
        let width = px(to - from);
        self.put(format_args!("<path class=\"s-{} bar\" d=\"M{x} {y}h{width}\"/>", name(ink)));
    }

    /// The same for what is not ranked: hatched, and paler than the bars that count.
    pub fn hatched(&mut self, (from, to): (f64, f64), y: f64) {
        let x = px(from);
        let y = px(y);
        let width = px(to - from);
        self.put(format_args!("<path class=\"s-o bar n\" d=\"M{x} {y}h{width}\"/>"));
    }

    /// Nothing to be seen, but a pointer finds it: a row from left to right, around this height; how high it is stands
    /// in style.css.
    pub fn row(&mut self, (from, to): (f64, f64), y: f64) {
        let x = px(from);
        let y = px(y);
        let width = px(to - from);
        self.put(format_args!("<path class=\"row\" d=\"M{x} {y}h{width}\"/>"));
    }

    /// A line of text; `y` is its middle.
    pub fn text(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, "");
    }

    /// The same in bold.
    pub fn bold(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, " b");
    }

    /// A line of small text over a bar, with a rim of paper so that it can be read there.
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
        // Letters without a part below the line have their middle a third of their size above it.
        let (x, y) = (px(place.0), px(place.1 + size * 0.35));
        // Text is of its own ink, and of the usual size, where nothing is said.
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
        let names = Names { id: "p1", title: "A <title>", about: "All & more", places: "" };
        let svg = picture((100.0, 50.0), names, true, |pen| {
            pen.of(&look, &look.title, "A <server>\n5", |pen| {
                pen.path(&[(0.0, 0.0), (10.54, 10.0)], Ink::Own, 1.5, look.dash());
                pen.bar((0.0, 5.0), 7.0, Ink::Faint);
            });
            pen.text((1.0, 1.0), "a < b", 13.0, Ink::Quiet, At::Right);
            pen.bold((1.0, 1.0), "c", 13.0, Ink::Text, At::Middle);
        });
        assert!(svg.starts_with("<svg role=\"img\" aria-labelledby=\"p1-t\"") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt;title&gt;</title>") && svg.contains("All &amp; more</desc>"));
        assert!(svg.contains("<g data-who=\"9\" data-found=\"A &lt;server&gt;\">"), "{svg}");
        assert!(svg.contains("<title>A &lt;server&gt;\n5</title>") && svg.contains("M0 0l10.5 10"), "{svg}");
        assert!(
            svg.contains("<path class=\"s-h bar\" d=\"M0 7h5\"/>")
                && svg.contains("stroke-dasharray")
                && svg.contains("a &lt; b")
        );
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
