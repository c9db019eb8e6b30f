//! The outlines of marks, and how they are written in SVG.

use std::f64::consts::TAU;

/// As many shapes as can be told apart when they are small.
pub const SHAPES: usize = 8;
/// The one of published figures.
const DIAMOND: usize = 3;

/// A mark's form.
#[derive(Debug, Clone, PartialEq)]
pub enum Outline {
    /// Round: its middle and radius.
    Circle((f64, f64), f64),
    /// Straight lines from corner to corner.
    Corners(Vec<(f64, f64)>),
}

impl Outline {
    /// A shape around a point, as large to the eye as a circle of this radius.
    pub fn of(shape: usize, x: f64, y: f64, radius: f64) -> Outline {
        // How many corners, how far the inner ones lie in (1: there are none), where it begins, and its size.
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

    /// The mark of a published figure.
    pub fn diamond(x: f64, y: f64, radius: f64) -> Outline {
        Outline::of(DIAMOND, x, y, radius)
    }

    /// An element with this paint.
    pub fn svg(&self, paint: &str) -> String {
        match self {
            Outline::Circle((x, y), radius) => {
                format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {paint}/>", px(*x), px(*y), px(*radius))
            }
            Outline::Corners(points) => format!("<path d=\"{}Z\" {paint}/>", way(points)),
        }
    }
}

/// Pixels with one digit after the point: finer is not seen.
pub fn px(number: f64) -> f64 {
    (number * 10.0).round() / 10.0 + 0.0
}

/// From point to point, as the `d` of a path: the first one, then how far it is to each next one.
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
