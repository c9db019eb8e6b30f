//! How each contender looks, the same in every picture and table of a report: a colour, a mark of its own shape, and a
//! dash of its own, so that nobody has to see colours apart.

use std::collections::BTreeMap;

use serde::Serialize;

use super::shape::{Outline, SHAPES};
use crate::record::summary::{Summary, Who};

/// As many colours as style.css has: `--c0` to `--c15`. Further contenders have darker and paler ones.
pub const COLOURS: usize = 16;
/// Lengths of strokes and gaps, for the same number of lines.
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

/// The look of one contender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// For people.
    pub title: String,
    /// Its place among all; colour, shape and dash follow from it.
    pub at: usize,
}

impl Look {
    /// In CSS; nobody else's below [`COLOURS`] times three.
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

    /// Its mark around a point.
    pub fn outline(&self, x: f64, y: f64, radius: f64) -> Outline {
        Outline::of((self.at + self.at / SHAPES) % SHAPES, x, y, radius)
    }
}

/// The looks of all.
#[derive(Debug, Clone, Default)]
pub struct Looks(BTreeMap<String, Look>);

/// A contender's name with its mark, for a template.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Chip {
    /// For people.
    pub title: String,
    /// An SVG picture, safe as it is.
    pub mark: String,
    /// What its parts of a picture are called by.
    pub at: usize,
    /// In a legend: why it is drawn hollow; empty where it is not.
    pub why: String,
}

impl Looks {
    /// By the order of the contenders, those first that are in a picture of many cases: of many settings in a duel few
    /// are. Those that are missing take no colour.
    pub fn of(summary: &Summary) -> Looks {
        let mut looks = Looks::default();
        let curves = || summary.cases.iter().filter(|case| case.x.is_some());
        let is_drawn = |who: &&Who| curves().flat_map(|case| &case.results).any(|one| one.contender == who.name);
        let present = || summary.contenders.iter().filter(|who| who.missing.is_empty());
        for who in present().filter(is_drawn).chain(present().filter(|who| !is_drawn(who))) {
            looks.add(&who.name, if who.title.is_empty() { &who.name } else { &who.title });
        }
        for result in summary.cases.iter().flat_map(|case| &case.results) {
            looks.add(&result.contender, &result.contender);
        }
        // Two that people could not tell apart by their titles go by their names.
        let titles: Vec<String> = looks.0.values().map(|look| look.title.clone()).collect();
        for (name, look) in &mut looks.0 {
            if titles.iter().filter(|title| **title == look.title).count() > 1 {
                look.title.clone_from(name);
            }
        }
        looks
    }

    fn add(&mut self, name: &str, title: &str) {
        let at = self.0.len();
        self.0.entry(name.to_owned()).or_insert_with(|| Look { title: title.to_owned(), at });
    }

    /// Of this contender; plain when it is unknown.
    pub fn get(&self, name: &str) -> Look {
        self.0.get(name).cloned().unwrap_or_else(|| Look { title: name.to_owned(), ..Look::default() })
    }

    /// Its title.
    pub fn title(&self, name: &str) -> String {
        self.get(name).title
    }

    /// Its title and mark.
    pub fn chip(&self, name: &str) -> Chip {
        // Without a look there is no mark either: it would be another contender's.
        let Some(look) = self.0.get(name) else { return Chip { title: name.to_owned(), ..Chip::default() } };
        let mark = format!("<svg class=\"mark\"><use href=\"#m{}\"/></svg>", look.at);
        Chip { title: look.title.clone(), mark, at: look.at, ..Chip::default() }
    }

    /// What a page has of each look once, for all of its tables and pictures: the mark alone (`#m3`), and on a ground
    /// of paper for the points of a line (`#k3`).
    pub fn marks(&self) -> String {
        let of = |look: &Look| {
            let fill = format!("fill=\"{}\"", look.colour());
            let alone = look.outline(0.0, 0.0, 5.0).svg(&fill);
            let point = look.outline(0.0, 0.0, 4.8).svg(&fill);
            let ground = look.outline(0.0, 0.0, 6.1).svg("class=\"f-p\"");
            let at = look.at;
            format!(
                "<symbol id=\"m{at}\" viewBox=\"-6.5 -6.5 13 13\">{alone}</symbol><marker id=\"k{at}\" \
                 viewBox=\"-8 -8 16 16\" markerWidth=\"16\" markerHeight=\"16\" \
                 markerUnits=\"userSpaceOnUse\">{ground}{point}</marker>"
            )
        };
        let all: String = self.0.values().map(of).collect();
        format!("<svg class=\"marks\" aria-hidden=\"true\">{all}</svg>")
    }

    /// The colour and the dash of each, in CSS: for what belongs to it in all pictures.
    pub fn style(&self) -> String {
        let of = |look: &Look| {
            let own = format!("[data-who=\"{}\"]", look.at);
            let dash = look.dash();
            let dash = if dash.is_empty() { "none" } else { dash };
            let at = look.at;
            format!(
                "{own}{{--own:{}}}{own} .l{{stroke-dasharray:{dash}}}{own} .k{{marker:url(#k{at})}}{own} \
                 .e{{marker-end:url(#k{at})}}\n",
                look.colour()
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
    fn looks_are_steady_and_the_first_sixty_four_differ() {
        let who = |at: usize| Who { name: format!("n{at:02}"), title: format!("T{at}"), ..Who::default() };
        let mut summary = Summary { contenders: (0..64).map(who).collect(), ..Summary::default() };
        let looks = Looks::of(&summary);
        let all = || (0..64).map(|at| looks.get(&format!("n{at:02}")));
        let marks: BTreeSet<_> = all().map(|look| (look.colour(), look.outline(0.0, 0.0, 5.0).svg(""))).collect();
        assert_eq!(marks.len(), 64);
        let lines: BTreeSet<_> = all().map(|look| (look.colour(), look.dash())).collect();
        assert_eq!(lines.len(), 64);
        let colours: BTreeSet<_> = all().take(COLOURS * 3).map(|look| look.colour()).collect();
        assert_eq!(colours.len(), COLOURS * 3, "a colour is shared");
        let dashes: BTreeSet<_> = all().take(COLOURS).map(|look| look.dash()).collect();
        assert_eq!(dashes.len(), COLOURS, "a dash is shared");
        summary.contenders[0].missing.push("x".into());
        assert_eq!(Looks::of(&summary).get("n01").at, 0, "one that is missing takes no colour");
        assert_eq!(looks.get("unknown").title, "unknown");
    }

    #[test]
    fn those_in_a_curve_take_the_first_colours() {
        let who = |at: usize| Who { name: format!("n{at:02}"), ..Who::default() };
        let result = |at: usize| Measured { contender: format!("n{at:02}"), ..Measured::default() };
        let curve = Case { x: Some(50.0), results: vec![result(8), result(0)], ..Case::default() };
        let summary = Summary { contenders: (0..9).map(who).collect(), cases: vec![curve], ..Summary::default() };
        let looks = Looks::of(&summary);
        assert_eq!((looks.get("n00").at, looks.get("n08").at, looks.get("n01").at), (0, 1, 2));
    }

    #[test]
    fn contenders_of_one_title_go_by_their_names() {
        let who = |name: &str| Who { name: name.into(), title: "Puma".into(), ..Who::default() };
        let summary = Summary { contenders: vec![who("puma -w 1"), who("puma -w 2")], ..Summary::default() };
        assert_eq!(Looks::of(&summary).title("puma -w 2"), "puma -w 2");
        let looks = Looks::of(&summary);
        assert!(looks.chip("puma -w 1").mark.contains("#m0"));
        assert!(looks.marks().contains("id=\"m0\"") && looks.marks().contains("id=\"k1\""));
        assert!(looks.style().contains("[data-who=\"0\"]{--own:var(--c0)}"), "{}", looks.style());
    }
}
