//! What a recommendation is made of: what the user wishes, who was chosen and what decided. Types alone.

use super::compare::Rival;

/// What the user says about the choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wishes {
    /// What serves the application today: a contender's name (`puma -w 2 -t 5`) or a recipe's (`puma`).
    pub now: Option<String>,
    /// The p99 at 80 % load that is still good enough.
    pub p99_max_ms: Option<f64>,
    /// What was not measured or not checked, in sentences.
    pub doubts: Vec<String>,
}

/// What decided between those that serve equally many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// It serves more.
    Rate,
    /// It has the lowest p99.
    P99,
    /// It holds less.
    Memory,
    /// The user has it.
    Now,
    /// It is the smallest.
    Simpler,
}

/// The contender that is recommended, and what decided.
pub struct Choice<'a> {
    /// The contender that is recommended.
    pub best: &'a Rival<'a>,
    /// Those whose rate is level with it, within the bound; at the user's rate, those that carry as much of it.
    pub level: Vec<&'a Rival<'a>>,
    /// Those whose p99 is out of bounds; at the user's rate, those that do not carry it.
    pub out: Vec<&'a Rival<'a>>,
    /// What decided.
    pub because: Because,
    /// The bound of the p99.
    pub bound_ms: f64,
    /// Whether nobody keeps the bound and the lowest p99 was taken.
    pub is_over: bool,
    /// Whether it was chosen for the user's rate.
    pub is_at_rate: bool,
}
