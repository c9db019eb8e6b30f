//! Parts of a recommendation: the user's criteria, the choice, and the reason for it. Pure.

use super::compare::{Rival, server};

/// Criteria of the user for the choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Criteria {
    /// Present server of the application: a contender's name (`puma -w 2 -t 5`) or a recipe's (`puma`).
    pub now: Option<String>,
    /// Highest p99 at 80 % load, in milliseconds, that is good enough.
    pub p99_max_ms: Option<f64>,
    /// Caveats, in sentences: what was not measured or not checked.
    pub caveats: Vec<String>,
}

/// Reason for the user's present server, after the names of those that are level with it. They may be shown to be
/// better, but not by enough.
pub const NO_GAIN: &str = "it serves the app now, and none of these is shown to have a p99 lower by a millisecond or, \
                           without such a difference, to need a quarter less memory";

/// What decided between contenders of equal rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The higher rate.
    Rate,
    /// The lower p99.
    P99,
    /// Less memory.
    Memory,
    /// It is the user's present server.
    Now,
    /// Fewer workers and threads.
    Simpler,
    /// It alone is shown to be better than the user's present server.
    Shown,
}

/// The recommended contender, with the others by how they compare with it.
pub struct Choice<'a> {
    /// The contender that is recommended.
    pub best: &'a Rival<'a>,
    /// Contenders within the bound whose rate is level with it; at the user's rate, those that carry as much of it.
    pub level: Vec<&'a Rival<'a>>,
    /// Contenders whose p99 is out of bounds; at the user's rate, those that do not carry it.
    pub out: Vec<&'a Rival<'a>>,
    /// What decided.
    pub because: Because,
    /// Bound of the p99 in milliseconds.
    pub bound_ms: f64,
    /// Whether no contender keeps the bound, so that the lowest p99 was chosen.
    pub is_over: bool,
    /// Whether it was chosen for the user's rate.
    pub is_at_rate: bool,
}

impl Choice<'_> {
    /// Beginning of the recommendation: "for this app on this machine, use X with -w A -t B". `at` is inserted after
    /// "app": the user's rate in words with a space before them, or nothing.
    pub fn start(&self, criteria: &Criteria, at: &str) -> String {
        let name = self.best.server();
        let stays = criteria.now.as_ref().is_some_and(|now| server(now) == name);
        let verb = if stays { "stay with" } else { "use" };
        let since = if self.because == Because::Now { ", since no other is shown to be clearly better" } else { "" };
        format!("for this app{at} on this machine, {verb} {name} with {}{since}", self.best.options())
    }

    /// Addition to the reason for the smallest setting: names the contenders with one as small, before which the chosen
    /// one stands by its median rate alone. Empty where there are none, and where something else decided.
    pub fn as_small(&self) -> String {
        let best = self.best;
        let is_as_small = |one: &&&Rival| one.size() == best.size() && one.rate.median <= best.rate.median;
        let names: Vec<&str> = self.level.iter().filter(is_as_small).map(|one| one.who.name.as_str()).collect();
        match self.because {
            Because::Simpler if !names.is_empty() => format!(
                "; as small: {}, behind it by the median of the capacity alone, which may be chance",
                names.join(", ")
            ),
            _ => String::new(),
        }
    }
}
