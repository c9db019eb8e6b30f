//! Medians, percentiles and a shuffled order. Pure.

use std::time::{SystemTime, UNIX_EPOCH};

/// The middle of these numbers; the mean of the two middles of an even count.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even % 2 == 0 => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

/// The number below which `percent` of the sorted numbers lie (nearest rank).
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Smallest and largest.
pub fn range(numbers: &[f64]) -> Option<(f64, f64)> {
    let smallest = numbers.iter().copied().min_by(f64::total_cmp)?;
    let largest = numbers.iter().copied().max_by(f64::total_cmp)?;
    Some((smallest, largest))
}

/// Numbers that no contender can rely on (xorshift64).
pub struct Dice(u64);

impl Dice {
    /// Others in every run.
    pub fn from_clock() -> Dice {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Dice::from_seed(now.as_nanos() as u64)
    }

    /// The same for the same seed.
    pub fn from_seed(seed: u64) -> Dice {
        // Seeds that are near each other must not give numbers that are: the odd factor spreads their bits.
        let mut dice = Dice(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of the numbers below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Between 0 and 1, never 0: 53 bits, as many as a float holds.
    pub fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn percentiles_are_ranks() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((percentile(&sorted, 50.0), percentile(&sorted, 99.0)), (Some(50.0), Some(99.0)));
        assert_eq!(percentile(&[], 99.0), None);
    }

    #[test]
    fn a_shuffle_loses_nothing() {
        let mut items: Vec<u32> = (0..20).collect();
        Dice::from_seed(7).shuffle(&mut items);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..20));
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let mut dice = Dice::from_seed(1);
        let mean = (0..10_000).map(|_| dice.fraction()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
    }
}
