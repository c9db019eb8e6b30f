//! Numbers that no contender can rely on, the same for the same seed: the order of turns, and the draws of workloads.

use std::time::{SystemTime, UNIX_EPOCH};

/// Xorshift with 64 bits. Not for secrets.
#[derive(Debug, Clone)]
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
            dice.draw();
        }
        dice
    }

    /// Any 64 bits but all zeros.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of the numbers below `bound`; 0 when there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % (bound as u64).max(1)) as usize
    }

    /// Between 0 and 1, never 0: 53 bits, as many as a float holds.
    pub fn fraction(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 / (1_u64 << 53) as f64
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
    fn a_shuffle_loses_nothing_and_repeats_with_its_seed() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Dice::from_seed(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut items = shuffled(7);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..20));
        Dice::from_seed(0).shuffle::<u32>(&mut []);
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let mut dice = Dice::from_seed(1);
        let mean = (0..10_000).map(|_| dice.fraction()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
        assert_eq!(dice.below(0), 0);
    }
}
