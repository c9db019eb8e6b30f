//! Formats numbers for people: three significant digits, narrow spaces between thousands, a unit.

use crate::stats::{Beside, Ratio};
use loadgen::metric::Metric;

/// Narrow no-break space.
const THIN: char = '\u{202f}';
/// Mark for a contender that is not shown to be worse than the best, and does not share its rank.
pub const UNDECIDED: &str = "\u{202f}?";
/// Text in the place of a missing number.
pub const NONE: &str = "–";

/// A number of this metric, without its unit. Counts are exact.
pub fn value(number: f64, metric: &Metric) -> String {
    if !number.is_finite() {
        return NONE.to_owned();
    }
    match (metric.unit, metric.digits) {
        ("", 0) => grouped(number, 0),
        // A percentage just below 100 must not be rounded up to it.
        ("%", digits) if number < 100.0 => {
            let shift = 10_f64.powi(digits as i32);
            grouped((number * shift + 1e-9).floor() / shift, digits)
        }
        ("%", digits) => grouped(number, digits),
        // Siege measures in hundredths of a second; no answer takes no time.
        ("ms", _) if number == 0.0 => "≈ 0".to_owned(),
        _ => significant(number),
    }
}

/// A number with all measured digits, for tooltips.
pub fn exact(number: f64, metric: &Metric) -> String {
    if !number.is_finite() || metric.unit.is_empty() || metric.unit == "%" {
        return value(number, metric);
    }
    let digits = [(1000.0, 0), (100.0, 1), (1.0, 2)].into_iter().find(|(least, _)| number.abs() >= *least);
    grouped(number, digits.map_or(3, |(_, digits)| digits))
}

/// [`value`] with its unit.
pub fn with_unit(number: f64, metric: &Metric) -> String {
    match unit(metric) {
        "" => value(number, metric),
        unit => format!("{}{THIN}{unit}", value(number, metric)),
    }
}

/// Title of a metric with its unit: `Rate, requests/s`.
pub fn title(metric: &Metric) -> String {
    match unit(metric) {
        "" => metric.title.to_owned(),
        unit => format!("{}, {unit}", metric.title),
    }
}

/// Unit of the metric, with its proper symbol.
pub fn unit(metric: &Metric) -> &'static str {
    if metric.unit == "us" { "µs" } else { metric.unit }
}

/// Words for a contender's ratio to the best of its case, with the interval: `0.83× (0.79–0.87)`; `1×` for the best
/// itself. A contender for which it is undecided whether it is worse has [`UNDECIDED`] behind its ratio, or alone if
/// there is no ratio.
pub fn beside(all: &Beside, contender: &str) -> String {
    match all.best() {
        Some(_) if all.is_first(contender) => "1×".to_owned(),
        _ => {
            let mark = if all.is_undecided(contender) { UNDECIDED } else { "" };
            all.ratio(contender).map_or_else(|| mark.to_owned(), |found| format!("{}{mark}", ratio(&found)))
        }
    }
}

/// Formats three significant digits; two below 1.
pub fn significant(number: f64) -> String {
    if !number.is_finite() {
        return NONE.to_owned();
    }
    if number.abs() < 1e-6 {
        return "0".to_owned();
    }
    // Rounded first: 99.96 becomes 100, which has no decimals.
    let power = |number: f64| number.abs().log10().floor() as i32;
    let kept = if number.abs() < 1.0 { 2 } else { 3 };
    let step = 10_f64.powi(power(number) - kept + 1);
    let rounded = (number / step).round() * step;
    let digits = (kept - 1 - power(rounded)).max(0);
    grouped(rounded, digits as usize)
}

/// Formats a number of an axis, without trailing zeros.
pub fn tick(number: f64) -> String {
    if number.abs() >= 1e6 {
        return format!("{}{THIN}M", trimmed(format!("{:.2}", number / 1e6)));
    }
    if number.abs() >= 1000.0 { grouped(number, 0) } else { trimmed(format!("{number:.3}")) }
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a factor: `1.38×`.
pub fn times(number: f64) -> String {
    if number.is_infinite() {
        return "∞".to_owned();
    }
    let digits = if number >= 100.0 { 0 } else { usize::from(number < 10.0) + 1 };
    format!("{number:.digits$}×")
}

/// Formats a ratio with its interval: `1.38× (1.31–1.46)`. There is no interval with one round. Extreme ends, as with
/// two rounds, are shown as bounds: `0.75× (< 0.0001–> 9999)`.
pub fn ratio(ratio: &Ratio) -> String {
    let median = times(ratio.median);
    let (low, high) = (times(ratio.low), times(ratio.high));
    if low == high || ratio.rounds < 2 {
        return median;
    }
    let low = match ratio.low {
        tiny if tiny < 0.0001 => "< 0.0001".to_owned(),
        // Two decimals would round it to 0.
        small if small < 0.005 => significant(small),
        _ => low.trim_end_matches('×').to_owned(),
    };
    let high = if ratio.high > 9999.0 { "> 9999" } else { high.trim_end_matches('×') };
    format!("{median} ({low}–{high})")
}

/// Formats seconds as seconds, minutes or hours.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..120 => format!("{whole}{THIN}s"),
        120..7200 => format!("{}{THIN}min", (whole + 30) / 60),
        _ => format!("{}{THIN}h {}{THIN}min", whole / 3600, whole / 60 % 60),
    }
}

/// Formats with spaces between thousands; four digits are not separated.
fn grouped(number: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", number.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::from(if number < 0.0 { "−" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len() > 4 && (whole.len() - at) % 3 == 0 {
            out.push(THIN);
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

/// A share of failed requests: `2.1 %`; empty for none.
pub fn failed(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => String::new(),
        few if few < 0.1 => "< 0.1 %".to_owned(),
        // More than the 1 % above which nobody is ranked must not look like 1 %.
        above if above > 1.0 && above < 1.05 => format!("{:.2} %", above.max(1.01)),
        some => format!("{some:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::metric::{FAILED, P99, RATE};

    fn of(name: &str) -> &'static Metric {
        Metric::of(name).expect("a metric")
    }

    #[test]
    fn three_digits_that_mean_something() {
        let shown = |number: f64| significant(number).replace(THIN, " ");
        assert_eq!(shown(12_345.0), "12 300");
        assert_eq!(shown(1_234_567.0), "1 230 000");
        assert_eq!([1234.0, 99.96, 9.876, 0.5].map(shown), ["1230", "100", "9.88", "0.50"]);
        assert_eq!([0.0123, 0.0, -12.34, 1e300].map(|number| shown(number).len()), [5, 1, 7, 401]);
        assert_eq!(shown(f64::NAN), NONE);
    }

    #[test]
    fn counts_are_exact_and_percents_do_not_flatter() {
        assert_eq!(value(54_915.0, of(FAILED)).replace(THIN, " "), "54 915");
        assert_eq!(value(99.999, of("availability_pct")), "99.99");
        assert_eq!(value(100.0, of("availability_pct")), "100.00");
        let exact = |number: f64| exact(number, of(RATE)).replace(THIN, " ");
        assert_eq!([26_882.4, 123.45, 2.214, 0.0123].map(exact), ["26 882", "123.5", "2.21", "0.012"]);
        assert_eq!((value(0.0, of(P99)), value(0.0, of(FAILED))), ("≈ 0".to_owned(), "0".to_owned()));
        assert_eq!(with_unit(33.3, of("cpu_us_per_request")).replace(THIN, " "), "33.3 µs");
        assert_eq!(with_unit(8.68, of(RATE)).replace(THIN, " "), "8.68 requests/s");
    }

    #[test]
    fn a_share_of_failures_for_which_one_is_not_ranked_does_not_look_like_1_percent() {
        let shares = [0.0, 0.000_4, 0.009_96, 0.01, 0.010_001, 0.010_12, 0.0106, 0.177].map(failed);
        assert_eq!(shares, ["", "< 0.1 %", "1.0 %", "1.0 %", "1.01 %", "1.01 %", "1.1 %", "17.7 %"]);
    }

    #[test]
    fn times_ticks_and_durations() {
        assert_eq!(ratio(&Ratio { median: 1.384, low: 1.31, high: 12.46, rounds: 3 }), "1.38× (1.31–12.5)");
        assert_eq!(ratio(&Ratio { median: 2.0, low: 0.0, high: f64::INFINITY, rounds: 1 }), "2.00×");
        let wild = Ratio { median: 0.75, low: 0.0003, high: 1824.0, rounds: 2 };
        assert_eq!(ratio(&wild), "0.75× (0.00030–1824)");
        let wilder = Ratio { median: 0.75, low: 0.000_03, high: 1e24, rounds: 2 };
        assert_eq!(ratio(&wilder), "0.75× (< 0.0001–> 9999)");
        assert_eq!((tick(0.30000000000000004), tick(2_500_000.0).replace(THIN, " ")), ("0.3".into(), "2.5 M".into()));
        assert_eq!(duration(59.6).replace(THIN, " "), "60 s");
        assert_eq!(duration(7260.0).replace(THIN, " "), "2 h 1 min");
    }
}
