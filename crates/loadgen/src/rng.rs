//! Seeded random numbers, the same for the same seed on every machine: the order of turns, the times of requests, and
//! the choice among them. Reports contain seeds, so the algorithms must not change with an update of a crate: the
//! numbers are those of ChaCha8, which is specified, and what is derived from them is tested below.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::distr::OpenClosed01;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// A generator of random numbers. Not for secrets.
#[derive(Debug)]
pub struct SeededRng(ChaCha8Rng);

impl SeededRng {
    /// A generator with a seed from the clock.
    pub fn from_clock() -> SeededRng {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SeededRng::from_seed(now.as_nanos() as u64)
    }

    /// A generator with this seed.
    pub fn from_seed(seed: u64) -> SeededRng {
        SeededRng(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.0.random()
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.random_range(0..bound.max(1))
    }

    /// Returns a number above 0 and up to 1.
    pub fn fraction(&mut self) -> f64 {
        self.0.sample(OpenClosed01)
    }

    /// Shuffles the items; all orders are equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.0);
    }

    /// Returns the seconds until the next event of a Poisson process with this rate.
    pub fn gap_s(&mut self, per_s: f64) -> f64 {
        -self.fraction().ln() / per_s
    }

    /// Returns a random index by weights, given as their cumulative sums.
    pub fn place(&mut self, sums: &[f64]) -> usize {
        let Some(total) = sums.last().filter(|_| sums.len() > 1) else { return 0 };
        let at = self.fraction() * total;
        sums.partition_point(|sum| *sum < at).min(sums.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_loses_nothing_and_repeats_with_its_seed() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            SeededRng::from_seed(seed).shuffle(&mut items);
            items
        };
        assert_ne!(shuffled(7), shuffled(8));
        let mut items = shuffled(7);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..20));
        SeededRng::from_seed(0).shuffle::<u32>(&mut []);
    }

    /// If this fails after an update, seeds of older reports give other runs: keep the old version, or say so in
    /// CHANGELOG.
    #[test]
    fn a_seed_means_the_same_in_every_version() {
        let mut rng = SeededRng::from_seed(7);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        rng.shuffle(&mut items);
        assert_eq!(items, [0, 7, 5, 2, 4, 1, 6, 3]);
        assert_eq!([100, 1000, 1_000_000].map(|bound| rng.below(bound)), [15, 182, 167_989]);
        assert_eq!(format!("{:.12}", rng.fraction()), "0.704276128036");
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let mut rng = SeededRng::from_seed(1);
        let mean = (0..10_000).map(|_| rng.fraction()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn weights_and_rates_are_kept() {
        let mut rng = SeededRng::from_seed(3);
        let mut found = [0_u32; 3];
        for _ in 0..10_000 {
            found[rng.place(&[5.0, 7.0, 10.0])] += 1;
        }
        assert!((4_800..5_200).contains(&found[0]) && (1_850..2_150).contains(&found[1]), "{found:?}");
        let mean = (0..10_000).map(|_| rng.gap_s(200.0)).sum::<f64>() / 10_000.0;
        assert!((0.0048..0.0052).contains(&mean), "{mean}");
        assert_eq!((rng.place(&[]), rng.place(&[1.0])), (0, 0));
    }
}
