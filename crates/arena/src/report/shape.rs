//! Outlines of marks, and their SVG.

use std::f64::consts::TAU;

/// Number of shapes that are distinguishable when small.
pub const SHAPES: usize = 8;
/// Shape of published figures.
const DIAMOND: usize = 3;

/// Outline of a mark.
#[derive(Debug, Clone, PartialEq)]
pub enum Outline {
    /// A circle: center and radius.
    Circle((f64, f64), f64),
    /// A polygon: its corners.
    Corners(Vec<(f64, f64)>),
}

impl Outline {
    /// Outline of a shape around a point, that looks as large as a circle of this radius.
    pub fn of(shape: usize, x: f64, y: f64, radius: f64) -> Outline {
        // Number of corners, relative radius of the inner ones (1 for none), angle of the first one in turns, and size.
        let (corners, inner, turn, size) = match shape {
            0 => return Outline::Circle((x, y), radius * 0.92),
            1 => (4, 1.0, 0.125, 1.16),
            2 => (3, 1.0, -0.25, 1.2),
            DIAMOND => (4, 1.0, 0.0, 1.12),
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
        Outline::Corners((0..steps).map(point).collect())
    }

    /// Outline of a published figure's mark.
    pub fn diamond(x: f64, y: f64, radius: f64) -> Outline {
        Outline::of(DIAMOND, x, y, radius)
    }

    /// SVG element with these paint attributes.
    pub fn svg(&self, paint: &str) -> String {
        match self {
            Outline::Circle((x, y), radius) => {
                format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {paint}/>", px(*x), px(*y), px(*radius))
            }
            Outline::Corners(points) => format!("<path d=\"{}Z\" {paint}/>", way(points)),
        }
    }
}

/// Rounds pixels to one decimal; finer steps are invisible.
pub fn px(number: f64) -> f64 {
    (number * 10.0).round() / 10.0 + 0.0
}

/// The `d` of an SVG path through these points: the first one, then relative steps.
pub fn way(points: &[(f64, f64)]) -> String {
    let mut last: Option<(f64, f64)> = None;
    let mut way = String::new();
    for (x, y) in points.iter().map(|(x, y)| (px(*x), px(*y))) {
        let (letter, (dx, dy)) = last.map_or(("M", (x, y)), |(before, height)| ("l", (px(x - before), px(y - height))));
        let letter = if way.contains('l') { if dx < 0.0 { "" } else { " " } } else { letter };
        let between = if dy < 0.0 { "" } else { " " };
        way += &format!("{letter}{dx}{between}{dy}");
        last = Some((x, y));
    }
    way
}
