//! Appearance of each contender, the same in all plots and tables of a report: a color, a mark of its own shape, and a
//! dash pattern, so that colors need not be distinguished.

use std::collections::BTreeMap;

use serde::Serialize;

use super::shape::{Outline, SHAPES};
use crate::record::summary::{Summary, Who};

/// Number of colors in style.css: `--c0` to `--c15`. Further contenders have darker and paler ones.
pub const COLOURS: usize = 16;
/// Lengths of strokes and gaps of lines, one entry for each color.
const DASHES: [&str; COLOURS] = [
    "",
    "7 4",
    "2 3",
    "11 3 2 3",
    "5 2",
    "12 5",
    "1 4",
    "8 3 2 3 2 3",
    "4 4",
    "14 2",
    "2 6",
    "9 3 4 3",
    "6 6",
    "16 4 1 4",
    "3 2 3 5",
    "10 2 1 2 1 2",
];

/// Appearance of one contender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// Title for people.
    pub title: String,
    /// Index among all contenders, which determines color, shape and dash.
    pub at: usize,
}

impl Style {
    /// Color in CSS; unique among the first three times [`COLOURS`] contenders.
    pub fn colour(&self) -> String {
        let own = format!("var(--c{})", self.at % COLOURS);
        match self.at / COLOURS % 3 {
            0 => own,
            1 => format!("color-mix(in oklab,{own} 55%,var(--ink))"),
            _ => format!("color-mix(in oklab,{own} 55%,var(--paper))"),
        }
    }

    /// Strokes and gaps, for `stroke-dasharray`.
    pub fn dash(&self) -> &'static str {
        DASHES[(self.at + self.at / COLOURS) % COLOURS]
    }

    /// Outline of its mark around a point.
    pub fn outline(&self, x: f64, y: f64, radius: f64) -> Outline {
        Outline::of((self.at + self.at / SHAPES) % SHAPES, x, y, radius)
    }
}

/// Appearance of all contenders, by name.
#[derive(Debug, Clone, Default)]
pub struct Styles(BTreeMap<String, Style>);

/// A contender's title with its mark, for a template.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Chip {
    /// Title for people.
    pub title: String,
    /// The mark as SVG that needs no escaping.
    pub mark: String,
    /// Index that names the contender's elements in plots.
    pub at: usize,
    /// Reason why the contender is drawn hollow, for a legend; empty where it is not.
    pub why: String,
}

impl Styles {
    /// Assigns appearances in the order of the contenders, starting with those in a line plot, who are few of the many
    /// settings of a duel. Missing contenders take no color.
    pub fn of(summary: &Summary) -> Styles {
        let mut styles = Styles::default();
        let curves = || summary.cases.iter().filter(|case| case.x.is_some());
        let is_drawn = |who: &&Who| curves().flat_map(|case| &case.results).any(|one| one.contender == who.name);
        let present = || summary.contenders.iter().filter(|who| who.missing.is_empty());
        for who in present().filter(is_drawn).chain(present().filter(|who| !is_drawn(who))) {
            styles.add(&who.name, if who.title.is_empty() { &who.name } else { &who.title });
        }
        for result in summary.cases.iter().flat_map(|case| &case.results) {
            styles.add(&result.contender, &result.contender);
        }
        // Contenders with equal titles are shown by name.
        let titles: Vec<String> = styles.0.values().map(|style| style.title.clone()).collect();
        for (name, style) in &mut styles.0 {
            if titles.iter().filter(|title| **title == style.title).count() > 1 {
                style.title.clone_from(name);
            }
        }
        styles
    }

    fn add(&mut self, name: &str, title: &str) {
        let at = self.0.len();
        self.0.entry(name.to_owned()).or_insert_with(|| Style { title: title.to_owned(), at });
    }

    /// Appearance of this contender; a default one if it is unknown.
    pub fn get(&self, name: &str) -> Style {
        self.0.get(name).cloned().unwrap_or_else(|| Style { title: name.to_owned(), ..Style::default() })
    }

    /// Title of this contender.
    pub fn title(&self, name: &str) -> String {
        self.get(name).title
    }

    /// Title and mark of this contender.
    pub fn chip(&self, name: &str) -> Chip {
        // Without an appearance there is no mark either: it would be another contender's.
        let Some(style) = self.0.get(name) else { return Chip { title: name.to_owned(), ..Chip::default() } };
        let mark = format!("<svg class=\"mark\"><use href=\"#m{}\"/></svg>", style.at);
        Chip { title: style.title.clone(), mark, at: style.at, ..Chip::default() }
    }

    /// SVG definitions that a page has once for all its tables and plots: the mark alone (`#m3`), and on a background
    /// for the points of a line (`#k3`).
    pub fn marks(&self) -> String {
        let of = |style: &Style| {
            let fill = format!("fill=\"{}\"", style.colour());
            let alone = style.outline(0.0, 0.0, 5.0).svg(&fill);
            let point = style.outline(0.0, 0.0, 4.8).svg(&fill);
            let background = style.outline(0.0, 0.0, 6.1).svg("class=\"f-p\"");
            let at = style.at;
            format!(
                "<symbol id=\"m{at}\" viewBox=\"-6.5 -6.5 13 13\">{alone}</symbol><marker id=\"k{at}\" \
                 viewBox=\"-8 -8 16 16\" markerWidth=\"16\" markerHeight=\"16\" \
                 markerUnits=\"userSpaceOnUse\">{background}{point}</marker>"
            )
        };
        let all: String = self.0.values().map(of).collect();
        format!("<svg class=\"marks\" aria-hidden=\"true\">{all}</svg>")
    }

    /// CSS with the color and dash of each contender, for its elements in all plots.
    pub fn css(&self) -> String {
        let of = |style: &Style| {
            let own = format!("[data-who=\"{}\"]", style.at);
            let dash = style.dash();
            let dash = if dash.is_empty() { "none" } else { dash };
            let at = style.at;
            format!(
                "{own}{{--own:{}}}{own} .l{{stroke-dasharray:{dash}}}{own} .k{{marker:url(#k{at})}}{own} \
                 .e{{marker-end:url(#k{at})}}\n",
                style.colour()
            )
        };
        self.0.values().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::record::summary::{Case, Measured};

    #[test]
    fn styles_are_steady_and_the_first_sixty_four_differ() {
        let who = |at: usize| Who { name: format!("n{at:02}"), title: format!("T{at}"), ..Who::default() };
        let mut summary = Summary { contenders: (0..64).map(who).collect(), ..Summary::default() };
        let styles = Styles::of(&summary);
        let all = || (0..64).map(|at| styles.get(&format!("n{at:02}")));
        let marks: BTreeSet<_> = all().map(|style| (style.colour(), style.outline(0.0, 0.0, 5.0).svg(""))).collect();
        assert_eq!(marks.len(), 64);
        let lines: BTreeSet<_> = all().map(|style| (style.colour(), style.dash())).collect();
        assert_eq!(lines.len(), 64);
        let colours: BTreeSet<_> = all().take(COLOURS * 3).map(|style| style.colour()).collect();
        assert_eq!(colours.len(), COLOURS * 3, "a colour is shared");
        let dashes: BTreeSet<_> = all().take(COLOURS).map(|style| style.dash()).collect();
        assert_eq!(dashes.len(), COLOURS, "a dash is shared");
        summary.contenders[0].missing.push("x".into());
        assert_eq!(Styles::of(&summary).get("n01").at, 0, "one that is missing takes no colour");
        assert_eq!(styles.get("unknown").title, "unknown");
    }

    #[test]
    fn those_in_a_curve_take_the_first_colours() {
        let who = |at: usize| Who { name: format!("n{at:02}"), ..Who::default() };
        let result = |at: usize| Measured { contender: format!("n{at:02}"), ..Measured::default() };
        let curve = Case { x: Some(50.0), results: vec![result(8), result(0)], ..Case::default() };
        let summary = Summary { contenders: (0..9).map(who).collect(), cases: vec![curve], ..Summary::default() };
        let styles = Styles::of(&summary);
        assert_eq!((styles.get("n00").at, styles.get("n08").at, styles.get("n01").at), (0, 1, 2));
    }

    #[test]
    fn contenders_of_one_title_go_by_their_names() {
        let who = |name: &str| Who { name: name.into(), title: "Puma".into(), ..Who::default() };
        let summary = Summary { contenders: vec![who("puma -w 1"), who("puma -w 2")], ..Summary::default() };
        assert_eq!(Styles::of(&summary).title("puma -w 2"), "puma -w 2");
        let styles = Styles::of(&summary);
        assert!(styles.chip("puma -w 1").mark.contains("#m0"));
        assert!(styles.marks().contains("id=\"m0\"") && styles.marks().contains("id=\"k1\""));
        assert!(styles.css().contains("[data-who=\"0\"]{--own:var(--c0)}"), "{}", styles.css());
    }
}
