//! Draws on plotters' SVG backend in pixels of the page. Colours are names: they are drawn as colours that nothing else
//! has, and then become CSS variables, so that one picture serves light and dark pages and paper.

use plotters::backend::SVGBackend;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, IntoFont, RGBAColor, ShapeStyle, TextStyle};
use regex::{Captures, Regex};

use crate::report::look::DASHES;

/// The backend draws on whole numbers: this many are one pixel.
pub const UNITS: f64 = 4.0;
/// The backend makes letters smaller than it is told by this factor.
const LETTERS: f64 = 1.24;
/// Colours of pictures have this red, which is how they are found again.
const MARK: u8 = 1;

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
    /// A contender, by its colour.
    Series(usize),
    /// The same, with a dash of its own: those that share a colour do not share this.
    Dashed(usize, usize),
    /// The same, half through.
    Faint(usize),
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

/// Draws. The first failure is kept and told at the end.
pub struct Pen<'a> {
    backend: SVGBackend<'a>,
    failure: Option<String>,
}

/// A picture of this size in pixels, with a title and a description for those who do not see it.
pub fn picture(
    size: (f64, f64),
    id: &str,
    title: &str,
    about: &str,
    draw: impl FnOnce(&mut Pen),
) -> Result<String, String> {
    let (width, height) = (size.0.ceil(), size.1.ceil());
    let mut svg = String::new();
    let backend = SVGBackend::with_string(&mut svg, ((width * UNITS) as u32, (height * UNITS) as u32));
    let mut pen = Pen { backend, failure: None };
    draw(&mut pen);
    let end = pen.backend.present().map_err(|error| error.to_string());
    let failure = pen.failure.take().or(end.err());
    drop(pen);
    if let Some(failure) = failure {
        return Err(format!("cannot draw {title}: {failure}"));
    }
    let body = svg.find('>').map_or("", |end| &svg[end + 1..]);
    let head = format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-t\" aria-describedby=\"{id}-d\" viewBox=\"0 0 {} {}\" \
         style=\"--w:{width}px\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        width * UNITS,
        height * UNITS,
        escaped(title),
        escaped(about),
    );
    Ok(head + &named_colours(body)?)
}

impl Pen<'_> {
    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let result = self.backend.draw_line(unit(from), unit(to), &stroke(ink, width));
        self.note(result.map_err(|error| error.to_string()));
    }

    /// A line through these points.
    pub fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let result = self.backend.draw_path(points.iter().copied().map(unit), &stroke(ink, width));
        self.note(result.map_err(|error| error.to_string()));
    }

    /// An area between these points.
    pub fn area(&mut self, points: &[(f64, f64)], ink: Ink) {
        let result = self.backend.fill_polygon(points.iter().copied().map(unit), &stroke(ink, 0.0));
        self.note(result.map_err(|error| error.to_string()));
    }

    /// A shape with an outline only, its inside covered.
    pub fn ring(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        self.area(points, Ink::Paper);
        let closed: Vec<(f64, f64)> = points.iter().chain(points.iter().take(2)).copied().collect();
        self.path(&closed, ink, width);
    }

    /// An upright rectangle.
    pub fn bar(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let result = self.backend.draw_rect(unit(from), unit(to), &stroke(ink, 0.0), true);
        self.note(result.map_err(|error| error.to_string()));
    }

    /// A line of text; `y` is its middle.
    pub fn text(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, FontStyle::Normal);
    }

    /// The same in bold.
    pub fn bold(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At) {
        self.letters(place, text, size, ink, at, FontStyle::Bold);
    }

    fn letters(&mut self, place: (f64, f64), text: &str, size: f64, ink: Ink, at: At, weight: FontStyle) {
        let across = match at {
            At::Left => HPos::Left,
            At::Middle => HPos::Center,
            At::Right => HPos::Right,
        };
        let font = ("x", size * UNITS * LETTERS).into_font().style(weight);
        let colour = colour(ink);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(across, VPos::Center));
        let result = self.backend.draw_text(text, &style, unit(place));
        self.note(result.map_err(|error| error.to_string()));
    }

    fn note(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
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

fn unit(point: (f64, f64)) -> (i32, i32) {
    ((point.0 * UNITS).round() as i32, (point.1 * UNITS).round() as i32)
}

fn stroke(ink: Ink, width: f64) -> ShapeStyle {
    ShapeStyle { color: colour(ink), filled: true, stroke_width: (width * UNITS).round() as u32 }
}

fn colour(ink: Ink) -> RGBAColor {
    let (kind, which, through) = match ink {
        Ink::Text => (0, 0, 1.0),
        Ink::Quiet => (0, 1, 1.0),
        Ink::Rule => (0, 2, 1.0),
        Ink::Paper => (0, 3, 1.0),
        Ink::Bad => (0, 4, 1.0),
        Ink::Series(which) => (1, which, 1.0),
        Ink::Dashed(colour, dash) => (2, colour | dash << 4, 1.0),
        Ink::Faint(which) => (1, which, 0.45),
    };
    RGBAColor(MARK, kind, which as u8, through)
}

/// Puts variables in the place of our colours, and takes off what the page's style says better.
fn named_colours(svg: &str) -> Result<String, String> {
    let ours = Regex::new("(fill|stroke)=\"#01([0-9A-F]{2})([0-9A-F]{2})\"").map_err(|error| error.to_string())?;
    let named = ours.replace_all(svg, |found: &Captures| {
        let which = usize::from_str_radix(&found[3], 16).unwrap_or(0);
        let (which, dash) = if &found[2] == "02" { (which & 15, which >> 4) } else { (which, 0) };
        let name = match &found[2] {
            "00" => ["ink", "quiet", "rule", "paper", "bad"].get(which).map_or_else(String::new, |name| (*name).into()),
            _ => format!("c{which}"),
        };
        let dash = DASHES.get(dash).filter(|dash| &found[2] == "02" && !dash.is_empty());
        let dash = dash.map_or_else(String::new, |dash| format!(" stroke-dasharray=\"{}\"", in_units(dash)));
        format!("{}=\"var(--{name})\"{dash}", &found[1])
    });
    let sizes = Regex::new("font-size=\"([0-9.]+)\"").map_err(|error| error.to_string())?;
    let named = sizes.replace_all(&named, |found: &Captures| {
        let size: f64 = found[1].parse().unwrap_or(LETTERS);
        format!("font-size=\"{}\"", size.round())
    });
    let plain = named.replace(" font-family=\"x\"", "").replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    Ok(plain.replace("font-weight=\"bold\"", "font-weight=\"600\""))
}

fn in_units(dash: &str) -> String {
    let scaled = |part: &str| part.parse::<f64>().map_or_else(|_| String::new(), |part| (part * UNITS).to_string());
    dash.split(' ').map(scaled).collect::<Vec<_>>().join(" ")
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
        let drawn = picture((100.0, 50.0), "p1", "A <title>", "All & more", |pen| {
            pen.line((0.0, 0.0), (10.5, 10.0), Ink::Dashed(1, 1), 1.5);
            pen.line((0.0, 0.0), (10.5, 9.0), Ink::Dashed(1, 2), 1.5);
            pen.bar((0.0, 0.0), (5.0, 5.0), Ink::Series(7));
            pen.text((1.0, 1.0), "a < b", 13.0, Ink::Quiet, At::Right);
            pen.bold((1.0, 1.0), "c", 13.0, Ink::Text, At::Middle);
        });
        let svg = drawn.expect("a picture");
        assert!(svg.starts_with("<svg role=\"img\" aria-labelledby=\"p1-t\"") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt;title&gt;</title>") && svg.contains("All &amp; more</desc>"));
        assert!(svg.contains("stroke=\"var(--c1)\" stroke-dasharray=\"28 16\"") && svg.contains("x2=\"42\""));
        assert!(svg.contains("stroke=\"var(--c1)\" stroke-dasharray=\"8 12\""), "another dash of the same colour");
        assert!(
            svg.contains("fill=\"var(--c7)\"") && svg.contains("fill=\"var(--quiet)\"") && svg.contains("a &lt; b")
        );
        assert!(!svg.contains("#01") && !svg.contains("font-family") && svg.contains("font-size=\"52\""));
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
