//! How each contender looks, the same in every picture and table of a report: a colour, a mark of its own shape, and a
//! dash of its own, so that nobody has to see colours apart.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use serde::Serialize;

use crate::record::summary::{Summary, Who};

/// As many colours as can be told apart by most people; style.css has them as `--c0` to `--c7`.
pub const COLOURS: usize = 8;
/// Lengths of strokes and gaps, for the same number of lines.
pub const DASHES: [&str; COLOURS] = ["", "7 4", "2 3", "11 3 2 3", "5 2", "12 5", "1 4", "8 3 2 3 2 3"];

/// The look of one contender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// For people.
    pub title: String,
    /// Below [`COLOURS`].
    pub colour: usize,
    /// Which shape: the same as the colour for the first eight, another for the next.
    pub shape: usize,
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
        // One that shares a colour with an earlier one has another shape and another dash.
        let (colour, shape) = (at % COLOURS, (at + at / COLOURS) % COLOURS);
        self.0.entry(name.to_owned()).or_insert_with(|| Look { title: title.to_owned(), colour, shape });
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
        let Some(look) = self.0.get(name) else { return Chip { title: name.to_owned(), mark: String::new() } };
        let points = outline(look.shape, 6.0, 6.0, 5.0);
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let mark = format!(
            "<svg class=\"mark\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><polygon points=\"{}\" \
             fill=\"var(--c{})\"/></svg>",
            points.join(" "),
            look.colour
        );
        Chip { title: look.title.clone(), mark }
    }
}

/// The outline of a shape around a point: each as large to the eye as a circle of this radius.
pub fn outline(shape: usize, x: f64, y: f64, radius: f64) -> Vec<(f64, f64)> {
    // How many corners, how far the inner ones lie in (1: there are none), where it begins, and its size.
    let (corners, inner, turn, size) = match shape % COLOURS {
        0 => (24, 1.0, 0.0, 0.92),
        1 => (4, 1.0, 0.125, 1.16),
        2 => (3, 1.0, -0.25, 1.2),
        3 => (4, 1.0, 0.0, 1.12),
        4 => (3, 1.0, 0.25, 1.2),
        5 => (4, 0.42, 0.0, 1.26),
        6 => (5, 0.46, -0.25, 1.24),
        _ => (4, 0.42, 0.125, 1.26),
    };
    let steps = if inner < 1.0 { corners * 2 } else { corners };
    let point = |step: usize| {
        let reach = radius * size * if inner < 1.0 && step % 2 == 1 { inner } else { 1.0 };
        let angle = TAU * (turn + step as f64 / steps as f64);
        (x + reach * angle.cos(), y + reach * angle.sin())
    };
    (0..steps).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::{Case, Measured};

    #[test]
    fn looks_are_steady_and_the_first_sixty_four_differ() {
        let who = |at: usize| Who { name: format!("n{at:02}"), title: format!("T{at}"), ..Who::default() };
        let mut summary = Summary { contenders: (0..64).map(who).collect(), ..Summary::default() };
        let looks = Looks::of(&summary);
        let seen: std::collections::BTreeSet<_> =
            (0..64).map(|at| looks.get(&format!("n{at:02}"))).map(|look| (look.colour, look.shape)).collect();
        assert_eq!(seen.len(), 64);
        summary.contenders[0].missing.push("x".into());
        assert_eq!(Looks::of(&summary).get("n01").colour, 0, "one that is missing takes no colour");
        assert_eq!(looks.get("unknown").title, "unknown");
    }

    #[test]
    fn those_in_a_curve_take_the_first_colours() {
        let who = |at: usize| Who { name: format!("n{at:02}"), ..Who::default() };
        let result = |at: usize| Measured { contender: format!("n{at:02}"), ..Measured::default() };
        let curve = Case { x: Some(50.0), results: vec![result(8), result(0)], ..Case::default() };
        let summary = Summary { contenders: (0..9).map(who).collect(), cases: vec![curve], ..Summary::default() };
        let looks = Looks::of(&summary);
        assert_eq!((looks.get("n00").colour, looks.get("n08").colour, looks.get("n01").colour), (0, 1, 2));
    }

    #[test]
    fn contenders_of_one_title_go_by_their_names() {
        let who = |name: &str| Who { name: name.into(), title: "Puma".into(), ..Who::default() };
        let summary = Summary { contenders: vec![who("puma -w 1"), who("puma -w 2")], ..Summary::default() };
        assert_eq!(Looks::of(&summary).title("puma -w 2"), "puma -w 2");
        assert!(Looks::of(&summary).chip("puma -w 1").mark.contains("var(--c0)"));
    }
}
