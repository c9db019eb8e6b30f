//! Medians, percentiles and a shuffled order: the arena's, and what benchmarks need beside them.

pub use loadgen::SeededRng;
pub use loadgen::stats::{median, percentile};

/// Smallest and largest number.
pub fn range(numbers: &[f64]) -> Option<(f64, f64)> {
    let smallest = numbers.iter().copied().min_by(f64::total_cmp)?;
    let largest = numbers.iter().copied().max_by(f64::total_cmp)?;
    Some((smallest, largest))
}
