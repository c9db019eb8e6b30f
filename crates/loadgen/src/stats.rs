//! Median and percentiles of a few numbers. Pure functions; numbers that are not finite are left out.

/// The median; the mean of the two middle numbers if their count is even.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let sorted = sorted(numbers);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even % 2 == 0 => Some(sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

/// The percentile by nearest rank: the number that `percent` of the numbers do not exceed. They need not be sorted.
pub fn percentile(numbers: &[f64], percent: f64) -> Option<f64> {
    let sorted = sorted(numbers);
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The finite numbers in ascending order.
pub fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.iter().copied().filter(|number| number.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
