//! Axes: positions of values, and the values written beside them.

/// Smallest value on a logarithmic axis.
const SMALLEST: f64 = 1e-9;

/// An axis, from its lowest to its highest value.
#[derive(Debug, Clone, Copy)]
pub enum Scale {
    /// A linear axis.
    Linear(f64, f64),
    /// A logarithmic axis.
    Log(f64, f64),
}

impl Scale {
    /// An axis from 0, or, if logarithmic, from just below the lowest value; it ends just above the highest.
    pub fn around(low: f64, high: f64, is_log: bool) -> Scale {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        if !is_log || low < SMALLEST || !low.is_finite() {
            return Scale::Linear(0.0, high * 1.04);
        }
        Scale::Log(low / 1.15, high.max(low * 1.5) * 1.15)
    }

    /// An axis over these x values, with a margin on both sides.
    pub fn over(places: &[f64], is_log: bool) -> Scale {
        let low = places.iter().copied().fold(f64::INFINITY, f64::min);
        let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low < high { (low, high) } else { (low.min(1.0), high.max(2.0)) };
        if is_log && low > SMALLEST {
            return Scale::Log(low / 1.12, high * 1.12);
        }
        let room = (high - low) * 0.03;
        Scale::Linear(low - room, high + room)
    }

    /// Whether this value can be shown on the axis.
    pub fn holds(self, value: f64) -> bool {
        value.is_finite() && (matches!(self, Scale::Linear(..)) || value > SMALLEST)
    }

    /// Position of a value between two pixels.
    pub fn at(self, value: f64, from: f64, to: f64) -> f64 {
        let share = match self {
            Scale::Linear(low, high) => (value - low) / (high - low),
            Scale::Log(low, high) => (value.max(SMALLEST) / low).ln() / (high / low).ln(),
        };
        let share = if share.is_finite() { share.clamp(-1.0, 2.0) } else { 0.0 };
        from + share * (to - from)
    }

    /// Round values to write beside the axis, at most this many.
    pub fn ticks(self, most: usize) -> Vec<f64> {
        match self {
            Scale::Linear(from, to) => even(from, to, most),
            Scale::Log(from, to) => by_factors(from, to, most),
        }
    }
}

fn even(from: f64, to: f64, most: usize) -> Vec<f64> {
    let least = (to - from) / most.max(1) as f64;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let Some(step) = steps.into_iter().find(|step| *step >= least) else { return Vec::new() };
    let first = (from / step).ceil();
    (0..most).map(|at| (first + at as f64) * step).filter(|tick| *tick <= to).collect()
}

fn by_factors(from: f64, to: f64, most: usize) -> Vec<f64> {
    let of = |steps: &[f64]| -> Vec<f64> {
        let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (from..=to).contains(tick)).collect()
    };
    let fine = [of(&[1.0, 2.0, 3.0, 5.0, 7.0]), of(&[1.0, 2.0, 5.0]), of(&[1.0, 3.0]), of(&[1.0])];
    let fits = fine.iter().find(|ticks| ticks.len() <= most);
    let sparse = fine[3].len().div_ceil(most.max(1)).max(1);
    fits.cloned().unwrap_or_else(|| fine[3].iter().copied().step_by(sparse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places() {
        let linear = Scale::around(5.0, 100.0, false);
        assert_eq!(linear.at(0.0, 10.0, 110.0), 10.0);
        assert!((linear.at(104.0, 10.0, 110.0) - 110.0).abs() < 0.5);
        let log = Scale::around(1.0, 1000.0, true);
        let a = log.at(1.0, 0.0, 400.0);
        let b = log.at(10.0, 0.0, 400.0);
        let c = log.at(100.0, 0.0, 400.0);
        assert!(((b - a) - (c - b)).abs() < 1.0, "equal factors, equal steps");
        assert!(!log.holds(0.0) && linear.holds(0.0) && !linear.holds(f64::NAN));
    }

    #[test]
    fn ticks_are_few_and_never_endless() {
        assert_eq!(Scale::around(0.0, 100.0, false).ticks(6)[1], 20.0);
        assert_eq!(Scale::around(1.0, 1000.0, true).ticks(6), [1.0, 10.0, 100.0, 1000.0]);
        for (low, high) in [(0.0, 0.0), (f64::NAN, f64::NAN), (1e-300, 1e300), (-5.0, -1.0), (3.0, 3.0)] {
            for is_log in [false, true] {
                let scale = Scale::around(low, high, is_log);
                assert!(scale.ticks(6).len() <= 12, "{low} {high} {is_log}");
                let place = scale.at(high, 0.0, 100.0);
                assert!(place.is_finite());
            }
        }
        assert!(Scale::over(&[], true).ticks(5).len() < 10);
        assert!(Scale::over(&[8.0], true).at(8.0, 0.0, 100.0).is_finite());
    }
}
