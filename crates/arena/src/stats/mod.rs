//! Medians, spreads, ratios, and when two are level. Pure: no clock, no files, and no number is made up; what is not
//! finite is left out.

pub mod dice;
pub mod rank;

pub use dice::Dice;
pub use rank::ranking;

use crate::record::summary::Spread;

/// Medians that differ by less than this part of the larger one are level, whatever their ranges say.
pub const LEVEL_PART: f64 = 0.03;
/// The same when one of them was measured only once: nothing is known of its range then.
pub const LEVEL_PART_OF_ONE: f64 = 0.10;

/// The middle of these numbers; the mean of the two middles of an even count.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let sorted = sorted(numbers);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even % 2 == 0 => Some(sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

/// The number that `percent` of the numbers do not exceed (nearest rank). They need not be sorted.
pub fn percentile(numbers: &[f64], percent: f64) -> Option<f64> {
    let sorted = sorted(numbers);
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.iter().copied().filter(|number| number.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

impl Spread {
    /// Of the rounds, in their order. None when no number is finite.
    pub fn of(numbers: &[f64]) -> Option<Spread> {
        let all: Vec<f64> = numbers.iter().copied().filter(|number| number.is_finite()).collect();
        let sorted = sorted(&all);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        Some(Spread { median: median(&all)?, low, high, all })
    }

    /// How many rounds it stands for.
    pub fn rounds(&self) -> usize {
        self.all.len().max(1)
    }

    /// Whether its numbers can be compared at all.
    pub fn is_sound(&self) -> bool {
        self.median.is_finite() && self.low.is_finite() && self.high.is_finite()
    }
}

/// Whether two medians are to be called level, because what was measured does not tell them apart:
///
/// - their ranges, from the lowest to the highest round, touch; or
/// - they differ by less than 3 % of the larger one, which no one should act on; or
/// - one of them was measured only once and they differ by less than 10 %.
///
/// Ranges that do not touch are Mann and Whitney's test at its strictest, with no table: were two contenders the same,
/// it would happen by chance in 1 of 126 comparisons with five rounds each, and in 1 of 10 with three.
pub fn level(a: &Spread, b: &Spread) -> bool {
    if !(a.is_sound() && b.is_sound()) {
        return false;
    }
    let is_one = a.rounds() == 1 || b.rounds() == 1;
    let part = if is_one { LEVEL_PART_OF_ONE } else { LEVEL_PART };
    let larger = a.median.abs().max(b.median.abs());
    let touches = a.low <= b.high && b.low <= a.high;
    touches || (a.median - b.median).abs() < part * larger
}

/// How many times as large one is as another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Of the medians.
    pub median: f64,
    /// The lowest round by the other's highest.
    pub low: f64,
    /// The highest round by the other's lowest; infinite when that one is 0.
    pub high: f64,
}

/// How many times as large `a` is as `b`; none when that has no meaning.
pub fn ratio(a: &Spread, b: &Spread) -> Option<Ratio> {
    let may = a.is_sound() && b.is_sound() && a.low >= 0.0 && b.low >= 0.0 && b.median > 0.0 && b.high > 0.0;
    may.then(|| Ratio { median: a.median / b.median, low: a.low / b.high, high: a.high / b.low })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(numbers: &[f64]) -> Spread {
        Spread::of(numbers).expect("finite numbers")
    }

    #[test]
    fn medians_of_odd_even_one_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0, f64::NAN]), Some(7.0));
        assert_eq!((median(&[]), median(&[f64::INFINITY])), (None, None));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn percentiles_are_ranks() {
        let numbers: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!((percentile(&numbers, 50.0), percentile(&numbers, 99.0)), (Some(50.0), Some(99.0)));
        assert_eq!((percentile(&numbers, 0.0), percentile(&numbers, 400.0)), (Some(1.0), Some(100.0)));
        assert_eq!((percentile(&[], 99.0), percentile(&[5.0], f64::NAN)), (None, Some(5.0)));
    }

    #[test]
    fn a_spread_keeps_the_order_of_its_rounds() {
        let it = spread(&[3.0, f64::NAN, 1.0, 2.0]);
        assert_eq!((it.median, it.low, it.high, it.all), (2.0, 1.0, 3.0, vec![3.0, 1.0, 2.0]));
        assert_eq!(Spread::of(&[f64::NAN]), None);
    }

    #[test]
    fn level_is_what_the_rounds_do_not_tell_apart() {
        assert!(level(&spread(&[100.0, 110.0, 120.0]), &spread(&[120.0, 130.0, 140.0])), "they touch");
        assert!(!level(&spread(&[100.0, 110.0, 120.0]), &spread(&[121.0, 130.0, 140.0])));
        assert!(level(&spread(&[100.0, 100.1]), &spread(&[102.0, 102.1])), "2 %");
        assert!(!level(&spread(&[100.0, 100.1]), &spread(&[104.0, 104.1])), "4 %");
        assert!(level(&spread(&[100.0]), &spread(&[109.0])) && !level(&spread(&[100.0]), &spread(&[120.0])));
        assert!(level(&spread(&[0.0]), &spread(&[0.0])));
        assert!(!level(&Spread { median: f64::NAN, ..Spread::default() }, &spread(&[1.0])));
    }

    #[test]
    fn a_ratio_has_the_widest_range() {
        let found = ratio(&spread(&[20.0, 30.0, 40.0]), &spread(&[10.0, 10.0, 20.0])).expect("a ratio");
        assert_eq!((found.median, found.low, found.high), (3.0, 1.0, 4.0));
        assert_eq!(ratio(&spread(&[1.0]), &spread(&[0.0])), None);
    }

    #[test]
    fn what_is_so_for_all_numbers() {
        let mut dice = Dice::from_seed(3);
        for _ in 0..2000 {
            let mut list = || -> Vec<f64> { (0..=dice.below(7)).map(|_| 1.0 + dice.fraction() * 9.0).collect() };
            let (a, b) = (spread(&list()), spread(&list()));
            assert!(a.low <= a.median && a.median <= a.high);
            assert_eq!(level(&a, &b), level(&b, &a));
            assert!(level(&a, &a));
            let (there, back) = (ratio(&a, &b).expect("a ratio"), ratio(&b, &a).expect("a ratio"));
            assert!((there.median * back.median - 1.0).abs() < 1e-9 && (there.low * back.high - 1.0).abs() < 1e-9);
            assert!(there.low <= there.median && there.median <= there.high);
        }
    }
}
