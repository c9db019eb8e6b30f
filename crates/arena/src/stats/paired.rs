//! Ratio of two contenders' figures, from the ratios within rounds: in a round both had their turns close in time, so
//! that most of a slow spell of the machine cancels out. Pure, and without random numbers: the bootstrap is computed
//! over all resamples at once. Written by hand, since crates for it draw resamples.
//!
//! The interval is that of the median of the logarithms of the ratios. Half of its width is the bootstrap's standard
//! error of that median, times √(n / (n − 1)) for n ratios, times Student's t for n − 1 degrees of freedom, since with
//! few of them the bootstrap alone is too optimistic: a t interval with the bootstrap's standard error (Hesterberg
//! 2015, "What teachers should know about the bootstrap"; the resamples' probabilities are those of Hutson and Ernst
//! 2000, "The exact bootstrap mean and variance of an L-estimator"). METHOD.md has an example.

use std::sync::OnceLock;

use crate::record::summary::Spread;

/// Confidence of an interval, in percent. More than the usual 95, because a run looks again after each round and stops
/// when it sees a difference: the simulation in the tests shows that with 3 to 10 looks two equal servers are found
/// different in less than 5 of 100 pairs.
pub const CONFIDENCE_PERCENT: u32 = 98;
/// Smallest relative difference of interest: nobody should choose a server by a smaller one.
pub const SMALLEST_PART: f64 = 0.05;
/// Student's t at 99 % for 1, 2, 3, … degrees of freedom; the last one stands for more. A table, since these thirty
/// constants are all that is needed of the distribution: less than a crate of distributions would bring.
const T: [f64; 30] = [
    31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.7181, 2.681, 2.650, 2.624, 2.602, 2.583,
    2.567, 2.552, 2.539, 2.528, 2.518, 2.508, 2.500, 2.492, 2.485, 2.479, 2.473, 2.467, 2.462, 2.457,
];

/// The rule by which two figures differ significantly, in words. It is stored with each conclusion, so that a report
/// can mark conclusions by another rule.
pub fn rule() -> String {
    format!(
        "median of the rounds' ratios; {CONFIDENCE_PERCENT} % interval by the bootstrap's error and Student's t; \
         {:.0} %",
        SMALLEST_PART * 100.0
    )
}

/// Results of [`middles`] by number of rounds, each computed once: they are the same for all figures of that many
/// rounds.
static MIDDLES: [OnceLock<Vec<(usize, usize, f64)>>; 101] = [const { OnceLock::new() }; 101];

/// Ratio of one figure to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Median of the rounds' ratios.
    pub median: f64,
    /// Lower end of its interval; 0 with one round, which shows no spread.
    pub low: f64,
    /// Upper end of its interval; infinite with one round.
    pub high: f64,
    /// Number of rounds that both have.
    pub rounds: usize,
}

/// Result of comparing two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// They differ: the interval excludes 1, and the ratio is large enough to be of interest.
    Apart,
    /// They are level: the whole interval is nearer to 1 than the smallest difference of interest.
    Level,
    /// Undecided; more rounds could decide. No difference was shown, and none was excluded.
    Open,
}

impl Ratio {
    /// Result of the comparison.
    pub fn standing(&self) -> Standing {
        let interest = SMALLEST_PART.ln_1p();
        let median = self.median.ln();
        let low = self.low.ln();
        let high = self.high.ln();
        // This also holds for an interval of width 0.
        if low > -interest && high < interest {
            return Standing::Level;
        }
        let leaves_1_out = low > 0.0 || high < 0.0;
        match (leaves_1_out, median.abs() >= interest) {
            (true, true) => Standing::Apart,
            _ => Standing::Open,
        }
    }
}

/// Ratio of `a` to `b`; `None` if they have no round in common, or a number is not finite or negative. Where one of
/// them is 0 in any round a ratio has no meaning, and the smallest number above 0 is added to all, so that 0 failures
/// can be compared with 1000. So the result does not depend on the unit: if 1 were added to failures per million
/// requests, one failure of 100 000 in each round would differ significantly from none.
pub fn ratio(a: &Spread, b: &Spread) -> Option<Ratio> {
    let pairs: Vec<(f64, f64)> = a.by_round().filter_map(|(round, one)| Some((one, b.in_round(round)?))).collect();
    let lowest = pairs.iter().flat_map(|(one, other)| [*one, *other]).fold(f64::INFINITY, f64::min);
    if pairs.is_empty() || lowest < 0.0 || pairs.iter().any(|(one, other)| !(one.is_finite() && other.is_finite())) {
        return None;
    }
    let positive = pairs.iter().flat_map(|(one, other)| [*one, *other]).filter(|number| *number > 0.0);
    let more = if lowest > 0.0 { 0.0 } else { positive.reduce(f64::min).unwrap_or(1.0) };
    let logs: Vec<f64> = pairs.iter().map(|(one, other)| ((one + more) / (other + more)).ln()).collect();
    let (middle, half) = interval(logs);
    Some(Ratio { median: middle.exp(), low: (middle - half).exp(), high: (middle + half).exp(), rounds: pairs.len() })
}

/// Ratio of `a` to `b` like [`ratio`]; `None` where a 0 in a round makes it meaningless for a reader.
pub fn meaningful_ratio(a: &Spread, b: &Spread) -> Option<Ratio> {
    let is_zero = |spread: &Spread| spread.all.contains(&0.0);
    ratio(a, b).filter(|_| !is_zero(a) && !is_zero(b))
}

/// Interval of one figure alone, by the same rule: how far its rounds differ, slow spells of the machine included.
/// `None` with one round, or where a number is not above 0.
pub fn known_within(spread: &Spread) -> Option<(f64, f64)> {
    if spread.all.len() < 2 || !spread.all.iter().all(|number| number.is_finite() && *number > 0.0) {
        return None;
    }
    let (middle, half) = interval(spread.all.iter().map(|number| number.ln()).collect());
    Some(((middle - half).exp(), (middle + half).exp()))
}

/// Result of comparing two figures; open if they have no ratio.
pub fn standing(a: &Spread, b: &Spread) -> Standing {
    ratio(a, b).map_or(Standing::Open, |ratio| ratio.standing())
}

/// Whether two figures differ significantly.
pub fn are_apart(a: &Spread, b: &Spread) -> bool {
    standing(a, b) == Standing::Apart
}

/// Whether it is undecided if two figures differ, so that another round could decide it.
pub fn are_open(a: &Spread, b: &Spread) -> bool {
    standing(a, b) == Standing::Open
}

/// Median, and half the width of its interval.
fn interval(mut numbers: Vec<f64>) -> (f64, f64) {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len();
    let median = f64::midpoint(numbers[(count - 1) / 2], numbers[count / 2]);
    if count < 2 {
        return (median, f64::INFINITY);
    }
    let of_few = MIDDLES.get(count).map(|known| known.get_or_init(|| middles(count)));
    let of_many = if of_few.is_none() { middles(count) } else { Vec::new() };
    let middles = of_few.unwrap_or(&of_many);
    let middle = |i: usize, j: usize| f64::midpoint(numbers[i], numbers[j]);
    let mean: f64 = middles.iter().map(|&(i, j, share)| share * middle(i, j)).sum();
    let variance: f64 = middles.iter().map(|&(i, j, share)| share * (middle(i, j) - mean).powi(2)).sum();
    // As with any variance of a sample, one degree of freedom is lost: the factor of √(n / (n − 1)).
    let error = (variance * count as f64 / (count - 1) as f64).sqrt();
    (median, T[(count - 2).min(T.len() - 1)] * error)
}

/// Distribution of the median of a bootstrap resample of `count` sorted numbers: pairs of positions whose mean may be
/// the median (the same position twice for an odd count), each with its share of all resamples.
fn middles(count: usize) -> Vec<(usize, usize, f64)> {
    let part = |number: usize| number as f64 / count as f64;
    // Share of resamples whose `rank`th smallest number is the one at this position.
    let half = count / 2;
    let is_at = |place: usize, rank: usize| at_least(count, part(place + 1), rank) - at_least(count, part(place), rank);
    if count % 2 == 1 {
        return (0..count).map(|place| (place, place, is_at(place, half + 1))).collect();
    }
    // Half of the draws lie at or below the lower middle one, and half at or above the upper one.
    let ways = ways(count, half);
    let mut found = Vec::new();
    for low in 0..count {
        let below = power(part(low + 1), half) - power(part(low), half);
        let mut same = is_at(low, half);
        for high in low + 1..count {
            let above = power(part(count - high), half) - power(part(count - high - 1), half);
            let share = ways * below * above;
            same -= share;
            found.push((low, high, share));
        }
        found.push((low, low, same.max(0.0)));
    }
    found
}

/// Probability that at least `least` of `count` draws hit, each with this chance.
fn at_least(count: usize, chance: f64, least: usize) -> f64 {
    let of = |hits: usize| ways(count, hits) * power(chance, hits) * power(1.0 - chance, count - hits);
    (least..=count).map(of).sum::<f64>().min(1.0)
}

/// Binomial coefficient.
fn ways(of: usize, chosen: usize) -> f64 {
    (1..=chosen).map(|at| (of - chosen + at) as f64 / at as f64).product()
}

fn power(base: f64, exponent: usize) -> f64 {
    base.powi(exponent as i32)
}

#[cfg(test)]
#[path = "paired_test.rs"]
mod tests;
