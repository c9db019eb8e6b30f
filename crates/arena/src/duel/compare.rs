//! Contenders of a duel side by side: their figures, and the words for a difference. Pure.

use crate::measure::TOO_SHORT;
use crate::record::summary::{Carried, Measured, Spread, Summary, Who, is_failing};
use crate::report::number;
use crate::stats;
use loadgen::metric::{Metric, P99, PSS_PEAK, RATE, REQUESTS};

use super::cases;
use super::strain::kinds;

/// A contender with the figures that decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival<'a> {
    /// Its name and settings.
    pub who: &'a Who,
    /// Requests per second at full load.
    pub rate: &'a Spread,
    /// p99 at 80 % of its own capacity, or at the user's rate.
    pub p99: Option<&'a Spread>,
    /// p99 at half of its own capacity; `None` in a duel at the user's rate.
    pub half_p99: Option<&'a Spread>,
    /// Peak memory at full load, or at the user's rate.
    pub memory: Option<&'a Spread>,
    /// Results at the user's rate, if the duel has one: then p99 and memory are those at that rate.
    pub carried: Option<&'a Carried>,
}

impl Rival<'_> {
    /// Name of its recipe.
    pub fn server(&self) -> &str {
        server(&self.who.name)
    }

    /// Its setting as command line options.
    pub fn options(&self) -> String {
        format!("-w {} -t {}", self.who.workers, self.who.threads)
    }

    /// Size of its setting, by which a tie is decided: threads of all workers, then workers.
    pub fn size(&self) -> (u32, u32) {
        (self.who.workers.saturating_mul(self.who.threads), self.who.workers)
    }

    /// Load at which its p99 was measured, for people.
    pub fn load(&self) -> &'static str {
        if self.carried.is_some() { "your rate" } else { "80 % load" }
    }

    /// Its rate, p99 and memory, for people.
    pub fn figures(&self) -> String {
        let mut words = vec![format!("{} at full load", value(RATE, self.rate.median))];
        words.extend(self.p99.map(|p99| format!("p99 {} at {}", value(P99, p99.median), self.load())));
        let memory = self.memory.map(|memory| value(PSS_PEAK, memory.median));
        let load = if self.carried.is_some() { "your rate" } else { "full load" };
        words.extend(memory.map(|memory| format!("peak memory {memory} at {load}")));
        words.join(", ")
    }
}

/// The recipe's name in a contender's name: `puma` in `puma -w 2 -t 5`.
pub fn server(name: &str) -> &str {
    name.split(" -").next().unwrap_or(name).trim()
}

/// Contenders whose results count, fastest first, and sentences on why the others' do not.
pub fn rivals(summary: &Summary) -> (Vec<Rival<'_>>, Vec<String>) {
    let mut rivals = Vec::new();
    let mut out = Vec::new();
    let loaded = cases::load(80);
    let results = cases::case(summary, cases::CAPACITY).map_or(&[][..], |case| &case.results);
    for result in results {
        let name = &result.contender;
        let Some(who) = summary.contenders.iter().find(|who| who.name == *name) else { continue };
        let all = summary.cases.iter().filter(|case| case.name != cases::SETTINGS);
        let mut own = all.flat_map(|case| &case.results).filter(|other| other.contender == *name);
        if let Some(why) = own.find_map(|one| one.disqualified.as_ref()) {
            out.push(format!("{name} does not count: {}", first_line(why)));
            continue;
        }
        let Some(rate) = result.numbers.get(RATE).filter(|rate| rate.median > 0.0) else {
            out.push(format!("{name} does not count: {}", without_rate(result)));
            continue;
        };
        let at_load = cases::measured(summary, &loaded, name);
        let too_many = |one: &&Measured| is_failing(one.failed(), one.right());
        // Not at 100 % of its capacity, where some requests may fail: the random draws of an open loop exceed it.
        let half = cases::measured(summary, &cases::load(50), name);
        if let Some(one) = [Some(result), half, at_load].into_iter().flatten().find(too_many) {
            let kinds = kinds(&one.errors);
            let of = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
            out.push(format!("{name} does not count: more than 1 of 100 requests failed{of}"));
            continue;
        }
        let carried = summary.traffic.iter().flat_map(|traffic| &traffic.carried).find(|one| one.contender == *name);
        let at_rate = carried.and_then(|_| cases::measured(summary, &cases::traffic(1), name));
        // Where the load generator was late there is no p99 at the rate, and that of another load must not take its
        // place. Nor that of the memory: all contenders are compared by that of one load.
        let (p99, half_p99, memory) = match at_rate {
            Some(one) => (p99_of(one), None, one.numbers.get(PSS_PEAK)),
            None => (at_load.and_then(p99_of), half.and_then(p99_of), result.numbers.get(PSS_PEAK)),
        };
        rivals.push(Rival { who, rate, p99, half_p99, memory, carried });
    }
    // Servers that dropped out before the rounds, with their last reason.
    let tried = cases::case(summary, cases::SETTINGS).map_or(&[][..], |case| &case.results);
    for result in
        tried.iter().filter(|one| !results.iter().any(|other| server(&other.contender) == server(&one.contender)))
    {
        let is_without = result.numbers.get(RATE).is_none_or(|rate| rate.median <= 0.0);
        let why = result.disqualified.as_deref().map(first_line).or(is_without.then(|| without_rate(result)));
        out.extend(why.map(|why| format!("{} does not count: {why}", result.contender)));
    }
    rivals.sort_by(|a, b| b.rate.median.total_cmp(&a.rate.median));
    (rivals, out)
}

fn p99_of(one: &Measured) -> Option<&Spread> {
    one.numbers.get(P99)
}

/// Why a contender has no rate at full load.
fn without_rate(result: &Measured) -> &'static str {
    let Some(right) = result.numbers.get(REQUESTS) else { return "its capacity could not be measured" };
    match right.median > 0.0 {
        true => TOO_SHORT,
        false => "it answered nothing",
    }
}

/// First line of a reason. Below it stands the tail of a log with paths of this machine, for the terminal only.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Factor between two figures: `1.4×`.
pub fn times(one: &Spread, other: &Spread) -> String {
    let factor = stats::ratio(one, other).map_or(1.0, |ratio| ratio.median);
    if factor >= 9.95 { format!("{factor:.0}×") } else { format!("{factor:.1}×") }
}

/// Words for two p99s of which it is undecided whether they differ.
pub const P99_OPEN: &str = "and the p99 of the two does not differ significantly";
/// Words for two p99s that differ by too little to be noticed.
pub const SAME_P99: &str = "the same p99";

/// Words for the relation of one p99 to another: `half its p99`.
pub fn of_its_p99(one: &Spread, other: &Spread) -> String {
    let factor = stats::ratio(one, other).map_or(1.0, |ratio| ratio.median);
    match factor {
        f if (0.95..=1.05).contains(&f) => SAME_P99.to_owned(),
        f if (0.45..=0.55).contains(&f) => "half its p99".to_owned(),
        f if (0.31..=0.36).contains(&f) => "a third of its p99".to_owned(),
        f if (1.9..=2.1).contains(&f) => "twice its p99".to_owned(),
        f if f < 0.095 => format!("{f:.2}× its p99"),
        f => format!("{f:.1}× its p99"),
    }
}

/// A number with its unit.
pub fn value(metric: &str, number: f64) -> String {
    let Some(known) = Metric::of(metric) else { return format!("{number}") };
    // Halves are rounded up, as in the tables: a double of 6.645 is a little less than that.
    let shift = 10_f64.powi(known.digits as i32);
    format!("{:.*} {}", known.digits, (number * shift).round() / shift, known.unit).trim_end().to_owned()
}

/// Ratio of one figure to another over the rounds that both have, with its interval: `1.38× (1.31–1.46)`.
pub fn ratio_of(one: &Spread, other: &Spread) -> Option<String> {
    stats::ratio(one, other).map(|ratio| number::ratio(&ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_said_as_people_do() {
        let one = |number: f64| Spread::of(&[number; 3]).unwrap();
        let times = |a: f64, b: f64| super::times(&one(a), &one(b));
        let of_its_p99 = |a: f64, b: f64| super::of_its_p99(&one(a), &one(b));
        assert_eq!((times(1400.0, 1000.0), times(25.0, 1.0)), ("1.4×".into(), "25×".into()));
        assert_eq!(super::times(&one(1.0), &Spread::default()), "1.0×");
        let words = [(10.0, "half its p99"), (20.0, "the same p99"), (40.0, "twice its p99"), (15.0, "0.8× its p99")];
        for (p99, expected) in words {
            assert_eq!(of_its_p99(p99, 20.0), expected);
        }
        assert_eq!(of_its_p99(1.0, 3.0), "a third of its p99");
        assert_eq!(of_its_p99(1.0, 30.0), "0.03× its p99");
    }

    #[test]
    fn numbers_have_their_units_and_ratios_are_those_of_the_rounds() {
        assert_eq!((value(RATE, 1000.4).as_str(), value(P99, 1.5).as_str()), ("1000 requests/s", "1.50 ms"));
        // As seen once: 6.64 ms in the paragraph, and 6.65 in the table below it.
        assert_eq!(value(P99, 6.645), "6.65 ms");
        // Twice in each round that both have, but 4/3 by the medians.
        let of = |numbers: &[f64]| Spread::of(numbers).unwrap();
        let (one, other) = (of(&[200.0, 100.0]), of(&[100.0, 50.0, 170.0]));
        assert_eq!(ratio_of(&one, &other).as_deref(), Some("2.00×"));
        assert_eq!(times(&one, &other), "2.0×");
        assert_eq!(server("puma-jruby -w 1 -t 8"), "puma-jruby");
    }
}
