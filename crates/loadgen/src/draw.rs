//! Chance with a seed for loads: times of requests, and which one comes.

use crate::dice::Dice;

/// A source of times and places.
#[derive(Debug, Clone)]
pub struct Draw(Dice);

impl Draw {
    /// The same for the same seed.
    pub fn from_seed(seed: u64) -> Draw {
        Draw(Dice::from_seed(seed))
    }

    /// Above 0 and at most 1.
    pub fn fraction(&mut self) -> f64 {
        self.0.fraction()
    }

    /// Seconds until the next of events that come at this rate and know nothing of each other (Poisson).
    pub fn gap_s(&mut self, per_s: f64) -> f64 {
        -self.fraction().ln() / per_s
    }

    /// The place of one of these, drawn by their weights, which are given added up.
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
    fn weights_and_rates_are_kept_and_seeds_decide() {
        let mut draw = Draw::from_seed(3);
        let mut found = [0_u32; 3];
        for _ in 0..10_000 {
            found[draw.place(&[5.0, 7.0, 10.0])] += 1;
        }
        assert!((4_800..5_200).contains(&found[0]) && (1_850..2_150).contains(&found[1]), "{found:?}");
        let mean = (0..10_000).map(|_| draw.gap_s(200.0)).sum::<f64>() / 10_000.0;
        assert!((0.0048..0.0052).contains(&mean), "{mean}");
        assert_eq!(Draw::from_seed(1).fraction(), Draw::from_seed(1).fraction());
        assert_ne!(Draw::from_seed(1).fraction(), Draw::from_seed(2).fraction());
        assert_eq!((draw.place(&[]), draw.place(&[1.0])), (0, 0));
    }
}
