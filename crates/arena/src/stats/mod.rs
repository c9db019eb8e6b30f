//! Medians, spreads, ratios, and significance of differences. Pure: no clock and no files; numbers that are not finite
//! are left out.

pub mod beside;
pub mod paired;
pub mod rank;

pub use beside::Beside;
pub use loadgen::SeededRng;
pub use loadgen::stats::{median, percentile};
pub use paired::{
    CONFIDENCE_PERCENT, Ratio, Standing, are_apart, are_open, known_within, meaningful_ratio, ratio, rule, standing,
};
pub use rank::{Place, Ranking, better, next_worse, place, rank, ranking, ranking_by};

use loadgen::stats::sorted;

use crate::record::summary::Spread;

impl Spread {
    /// Spread of the rounds 1, 2, 3, … `None` if no number is finite.
    pub fn of(numbers: &[f64]) -> Option<Spread> {
        let numbered: Vec<(u32, f64)> = (1..).zip(numbers.iter().copied()).collect();
        Spread::of_rounds(&numbered)
    }

    /// Spread of these rounds, each with its number. `None` if no number is finite.
    pub fn of_rounds(numbers: &[(u32, f64)]) -> Option<Spread> {
        let finite = || numbers.iter().filter(|(_, number)| number.is_finite());
        let all: Vec<f64> = finite().map(|(_, number)| *number).collect();
        let sorted = sorted(&all);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        Some(Spread { median: median(&all)?, low, high, at: finite().map(|(round, _)| *round).collect(), all })
    }

    /// Numbers with their rounds. Without stored rounds they are 1, 2, 3, …
    pub fn by_round(&self) -> impl Iterator<Item = (u32, f64)> {
        let round = |at: usize| self.at.get(at).copied().unwrap_or(at as u32 + 1);
        self.all.iter().enumerate().map(move |(at, number)| (round(at), *number))
    }

    /// Number of this round.
    pub fn in_round(&self, wanted: u32) -> Option<f64> {
        self.by_round().find(|(round, _)| *round == wanted).map(|(_, number)| number)
    }

    /// Number of rounds.
    pub fn rounds(&self) -> usize {
        self.all.len().max(1)
    }

    /// Whether all its numbers are finite, so that it can be compared.
    pub fn is_sound(&self) -> bool {
        self.median.is_finite() && self.low.is_finite() && self.high.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(numbers: &[f64]) -> Spread {
        Spread::of(numbers).expect("finite numbers")
    }

    #[test]
    fn a_spread_keeps_the_order_of_its_rounds() {
        let it = spread(&[3.0, f64::NAN, 1.0, 2.0]);
        assert_eq!((it.median, it.low, it.high, &it.all), (2.0, 1.0, 3.0, &vec![3.0, 1.0, 2.0]));
        assert_eq!(it.by_round().collect::<Vec<_>>(), [(1, 3.0), (3, 1.0), (4, 2.0)]);
        assert_eq!((it.in_round(3), it.in_round(2)), (Some(1.0), None));
        assert_eq!(Spread::of(&[f64::NAN]), None);
    }

    #[test]
    fn of_a_stored_spread_only_the_rounds_count() {
        let read = |text: &str| serde_json::from_str::<Spread>(text).unwrap();
        let stored = serde_json::to_string(&spread(&[3.0, 1.0, 2.0])).unwrap();
        let it = read(&stored.replace("\"median\":2.0", "\"median\":9.0"));
        assert!(stored.contains("\"median\":2.0") && it == Spread { at: vec![], ..spread(&[3.0, 1.0, 2.0]) }, "{it:?}");
        assert!(!read("{\"median\":2.0,\"all\":[]}").is_sound());
    }
}
