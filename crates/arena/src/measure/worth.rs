//! Removes or marks figures that rest on too little: percentiles of few requests, rates of a few batches of answers,
//! and latencies of a server whose queue grew. It works on summed figures, so that reports of older runs follow the
//! same rules. Pure.

use super::rounds::not_shown;
use crate::record::summary::{Case, Measured, Spread, requests_needed};
use loadgen::metric::{CPU, FAILED, Metric, OFFERED, P50, P99, P99_OVER_P50, P999, PERCENTILES, RATE, REQUESTS};

/// The longest request of a load.
pub const LONGEST: &str = "max_ms";
/// Figures that a duel has of few requests as well: it decides by the p99.
const KEPT_IN_DUELS: [&str; 3] = [P50, P99, P99_OVER_P50];
/// Least number of answers in each round, per request that is served at once, for a rate to be shown. Then the requests
/// in progress at the end of a load, which are not counted, are at most a tenth.
const BATCHES: f64 = 10.0;
/// Share of the offered requests below which a server did not keep up. The random times of a short load alone make a
/// difference that is smaller.
pub const KEPT_UP: f64 = 0.93;

/// Removes the figures of a case that rest on too little, with a remark, and notes which contenders did not keep up
/// with their rate. `at_once` is the number of requests that a contender serves at once, where that is known.
pub fn judge(case: &mut Case, at_once: &dyn Fn(&str) -> Option<u32>) {
    // Of a server that could serve more at once, no more are in progress than the load has.
    let most = case.at_once_most.unwrap_or(u32::MAX);
    for result in case.results.iter_mut().chain(&mut case.twin) {
        take_out_tails(result, &case.metrics, &[]);
        if let Some(at_once) = at_once(&result.contender) {
            take_out_batches(result, f64::from(at_once.min(most)));
        }
    }
    note_who_kept_up(case);
}

/// Judges a case of a duel. It has rates of few answers, and a p99 of few requests, since it decides by these; a remark
/// says on how few the p99 rests. In the place of a p99.9 of too few it shows the longest request, which ranks nobody.
pub fn judge_duel(case: &mut Case) {
    for result in case.results.iter_mut().chain(&mut case.twin) {
        take_out_tails(result, &case.metrics, &KEPT_IN_DUELS);
        say_how_few(result, &case.metrics);
    }
    show_longest(case);
    note_who_kept_up(case);
}

/// Adds a remark on a p99 of too few requests that is shown all the same.
fn say_how_few(result: &mut Measured, shown: &[String]) {
    let is_shown = result.numbers.contains_key(P99) && shown.iter().any(|metric| metric == P99);
    let few = result.fewest_requests().filter(|_| is_shown && result.is_of_few(P99));
    let words = few.map(|fewest| {
        let requests = if fewest == 1.0 { "request" } else { "requests" };
        let least = requests_needed(P99);
        format!("p99 is nearly the longest request: a round has only {fewest:.0} {requests}, and {least:.0} are needed")
    });
    let new = words.filter(|words| !result.remarks.contains(words));
    result.remarks.extend(new);
}

/// Shows the longest request of contenders whose p99.9 rests on too few requests, without a best one.
fn show_longest(case: &mut Case) {
    let Some(at) = case.metrics.iter().position(|name| name == P999) else { return };
    let mut counted = case.results.iter().filter(|result| result.disqualified.is_none());
    if !counted.any(|result| result.is_of_few(P999)) {
        return;
    }
    if !case.metrics.iter().any(|name| name == LONGEST) {
        case.metrics.insert(at + 1, LONGEST.to_owned());
        case.without_merit.push(LONGEST.to_owned());
    }
    if !case.results.iter().any(|result| result.numbers.contains_key(P999)) {
        case.metrics.remove(at);
    }
}

/// Notes which contenders did not keep up with their rate, so that their latencies are not ranked.
fn note_who_kept_up(case: &mut Case) {
    let is_about_failures = case.is_about_failures;
    for result in case.results.iter_mut().chain(&mut case.twin) {
        // More than it can serve is the very point there.
        result.served_share = served_share(result).filter(|_| !is_about_failures);
    }
}

/// Removes percentiles of too few requests, but for those that are `kept`. The remark names those that are among the
/// `shown` metrics; the others are only in a plot.
fn take_out_tails(result: &mut Measured, shown: &[String], kept: &[&str]) {
    let Some(fewest) = result.fewest_requests() else { return };
    let mut gone: Vec<&str> = Vec::new();
    let mut needed = f64::INFINITY;
    let tails = PERCENTILES.into_iter().map(|(_, name)| (name, requests_needed(name)));
    let tails = tails.chain([(P99_OVER_P50, requests_needed(P99))]);
    for (name, least) in tails.filter(|(name, _)| !kept.contains(name)) {
        let is_gone = fewest < least && result.numbers.remove(name).is_some();
        if is_gone && (name == P99_OVER_P50 || shown.iter().any(|metric| metric == name)) {
            gone.push(name);
            needed = needed.min(least);
        }
    }
    if !gone.is_empty() {
        let what = not_shown(&titles(&gone));
        let requests = if fewest == 1.0 { "request" } else { "requests" };
        result.remarks.push(format!("{what}: a round has only {fewest:.0} {requests}, and {needed:.0} are needed"));
    }
}

fn take_out_batches(result: &mut Measured, at_once: f64) {
    let Some(fewest) = result.fewest_requests().filter(|fewest| *fewest < at_once * BATCHES) else { return };
    let gone: Vec<&str> = [RATE, CPU].into_iter().filter(|name| result.numbers.remove(*name).is_some()).collect();
    if !gone.is_empty() {
        let answers = if fewest == 1.0 { "answer" } else { "answers" };
        let requests = if at_once == 1.0 { "request is" } else { "requests are" };
        result.remarks.push(format!(
            "{}: a round has only {fewest:.0} {answers} where {at_once:.0} {requests} served at once, and those in \
             progress at its end are not counted; use longer loads (--seconds, or -e SECONDS of a script for k6)",
            not_shown(&titles(&gone))
        ));
    }
}

/// Share of the offered requests that a contender answered, the median of the rounds; `None` if it kept up.
fn served_share(result: &Measured) -> Option<f64> {
    let served = result.numbers.get(RATE)?;
    let of = |name: &str, round: u32| result.numbers.get(name)?.in_round(round);
    let median = |share: &dyn Fn(u32) -> Option<f64>| {
        let shares: Vec<(u32, f64)> = served.by_round().filter_map(|(at, _)| Some((at, share(at)?))).collect();
        Some(Spread::of_rounds(&shares)?.median)
    };
    let in_time = median(&|round| share_in_time(|name| of(name, round)))?;
    let all = median(&|round| Some(of(RATE, round)? / of(OFFERED, round)?))?;
    (in_time < KEPT_UP).then_some(all)
}

/// Share of the offered requests that were answered by the end of a load, from its numbers. Requests that are due
/// within the shortest response time before the end do not count: even without a queue they cannot be answered by then.
/// `None` for a load without an offered rate.
pub fn share_in_time(number: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let offered = number(OFFERED).filter(|offered| *offered > 0.0)?;
    let requests = number(REQUESTS).unwrap_or(0.0) + number(FAILED).unwrap_or(0.0);
    let shortest_s = number("shortest_ms").unwrap_or(0.0) / 1_000.0;
    // As a share of the load, which lasted `requests / offered` seconds.
    let too_late = if requests > 0.0 { (shortest_s * offered / requests).min(1.0) } else { 0.0 };
    let share = number(RATE)? / offered / (1.0 - too_late);
    share.is_finite().then_some(share)
}

fn titles(names: &[&str]) -> Vec<&'static str> {
    names.iter().filter_map(|name| Some(Metric::of(name)?.title)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ranking_by;

    /// A metric with the figures of three rounds.
    type ThreeRounds<'a> = (&'a str, [f64; 3]);

    fn case(results: &[(&str, &[ThreeRounds])]) -> Case {
        let result = |(name, numbers): &(&str, &[ThreeRounds])| Measured::of(name, numbers);
        let metrics = ["p50_ms", "p99_ms", "p999_ms"].map(str::to_owned).into();
        Case { metrics, results: results.iter().map(result).collect(), ..Case::default() }
    }

    fn judged(at_once: Option<u32>, numbers: &[ThreeRounds]) -> Measured {
        let mut case = case(&[("x", numbers)]);
        judge(&mut case, &|_| at_once);
        judge(&mut case, &|_| at_once);
        case.results.remove(0)
    }

    #[test]
    fn a_percentile_of_few_requests_is_not_shown() {
        let all = |requests: f64| {
            let tails = ["p50_ms", "p95_ms", "p99_ms", "p999_ms", "p99_over_p50"].map(|name| (name, [9.0, 9.0, 9.0]));
            judged(None, &[&tails[..], &[("requests", [5_000.0, requests, 5_000.0])]].concat())
        };
        let found = all(399.0);
        assert_eq!(found.numbers.keys().collect::<Vec<_>>(), ["p50_ms", "p95_ms", "requests"]);
        let words = "p99, p99.9, p99 over p50 are not shown: a round has only 399 requests, and 400 are needed";
        assert_eq!(found.remarks, [words]);
        let found = all(400.0);
        assert!(found.numbers.contains_key("p99_ms") && found.numbers.contains_key("p99_over_p50"), "{found:?}");
        assert!(found.remarks[0].starts_with("p99.9 is not shown"), "{:?}", found.remarks);
        assert!(all(4_000.0).remarks.is_empty());
        // As seen in a run that was shown: "a round has only 1 requests, and inf are needed".
        let mut alone = case(&[("x", &[("p99_over_p50", [1.0; 3]), ("requests", [1.0; 3])])]);
        alone.metrics = vec!["after_idle_ms".into()];
        judge(&mut alone, &|_| None);
        let words = "p99 over p50 is not shown: a round has only 1 request, and 400 are needed";
        assert_eq!(alone.results[0].remarks, [words]);
        let few = all(79.0);
        assert!(!few.numbers.contains_key("p95_ms") && !few.remarks[0].contains("p95"), "no column shows it: {few:?}");
    }

    #[test]
    fn a_duel_shows_the_longest_request_in_place_of_a_p999_of_few() {
        let tails = ["p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms"];
        let of = |fewest: f64| {
            let numbers = tails.map(|name| (name, [9.0, 9.0, 9.0]));
            let numbers = [&numbers[..], &[("requests", [5_000.0, fewest, 5_000.0])]].concat();
            let mut case = case(&[("x", &numbers)]);
            judge_duel(&mut case);
            judge_duel(&mut case);
            case
        };
        let few = of(771.0);
        assert_eq!(few.metrics, ["p50_ms", "p99_ms", "max_ms"]);
        assert_eq!(few.without_merit, ["max_ms"]);
        let figures: Vec<&str> = few.results[0].numbers.keys().map(String::as_str).collect();
        assert_eq!(figures, ["max_ms", "p50_ms", "p95_ms", "p99_ms", "requests"]);
        let words = "p99.9 is not shown: a round has only 771 requests, and 4000 are needed";
        assert_eq!(few.results[0].remarks, [words]);
        let many = of(4_000.0);
        assert_eq!((many.metrics.len(), many.metrics[2].as_str(), many.results[0].remarks.len()), (3, P999, 0));
        // By its p99 it decides, whatever that is.
        let hardly_any = of(90.0).results.remove(0);
        assert!(hardly_any.numbers.contains_key(P99), "{hardly_any:?}");
        let words = "p99 is nearly the longest request: a round has only 90 requests, and 400 are needed";
        assert_eq!(hardly_any.remarks[1..], [words]);
        // Of another contender there were enough.
        let with = |requests: f64| [("p999_ms", [9.0; 3]), ("max_ms", [9.5; 3]), ("requests", [requests; 3])];
        let mut both = case(&[("x", &with(900.0)), ("y", &with(9_000.0))]);
        judge_duel(&mut both);
        assert_eq!(both.metrics, ["p50_ms", "p99_ms", "p999_ms", "max_ms"]);
        let has = both.results.iter().map(|result| result.numbers.contains_key(P999));
        assert_eq!(has.collect::<Vec<_>>(), [false, true]);
    }

    /// As seen once: of `/sleep`, which takes a second, 4 processes answered four requests in two seconds.
    #[test]
    fn a_rate_of_a_few_batches_is_not_shown() {
        let of = |requests: f64, at_once| {
            judged(
                at_once,
                &[("requests", [requests; 3]), ("requests_per_s", [2.5; 3]), ("cpu_us_per_request", [5.0; 3])],
            )
        };
        let found = of(4.0, Some(4));
        assert_eq!(found.numbers.keys().collect::<Vec<_>>(), ["requests"]);
        assert!(found.remarks[0].starts_with("Rate, CPU per request are not shown: a round has only 4 answers"));
        assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
        assert!(of(40.0, Some(4)).remarks.is_empty() && of(4.0, None).remarks.is_empty());
    }

    #[test]
    fn no_more_requests_are_served_at_once_than_the_load_has() {
        let rate_of = |clients: Option<u32>, requests: f64| {
            let mut case = case(&[("x", &[("requests", [requests; 3]), ("requests_per_s", [30.0; 3])])]);
            case.at_once_most = clients;
            judge(&mut case, &|_| Some(10));
            case.results[0].numbers.get(RATE).map(|rate| rate.median)
        };
        // Of a server with ten threads.
        assert_eq!((rate_of(None, 60.0), rate_of(Some(512), 60.0)), (None, None));
        assert_eq!((rate_of(Some(1), 60.0), rate_of(Some(1), 9.0)), (Some(30.0), None));
        assert_eq!(rate_of(Some(6), 60.0), Some(30.0));
    }

    /// If a page takes a second, a tenth of the requests of a load of ten seconds is answered after its end.
    #[test]
    fn who_answers_slowly_all_the_time_keeps_up() {
        let served = |rate: f64, shortest_ms: f64| {
            let numbers = [("offered_per_s", 100.0), ("requests_per_s", rate), ("shortest_ms", shortest_ms)];
            let numbers = numbers.map(|(name, number)| (name, [number; 3]));
            judged(None, &[&numbers[..], &[("requests", [990.0; 3]), ("failed", [10.0; 3])]].concat()).served_share
        };
        assert_eq!((served(89.5, 1_000.0), served(89.5, 5.0)), (None, Some(0.895)));
        assert_eq!((served(80.0, 1_000.0), served(0.0, 90_000.0)), (Some(0.8), None));
    }

    #[test]
    fn who_does_not_keep_up_is_not_best_in_latencies_and_is_in_others() {
        let numbers = |rate: f64, p99: f64| {
            [
                ("offered_per_s", [100.0; 3]),
                ("requests_per_s", [rate; 3]),
                ("p99_ms", [p99; 3]),
                ("requests", [999.0; 3]),
            ]
        };
        let (behind, up) = (numbers(90.0, 20.0), numbers(99.0, 50.0));
        let mut case = case(&[("behind", &behind), ("up", &up)]);
        judge(&mut case, &|_| None);
        assert_eq!(case.results[0].served_share, Some(0.9));
        assert_eq!(case.results[1].served_share, None);
        let ranked = |case: &Case, name: &str| ranking_by(case, Metric::of(name).unwrap()).groups.concat();
        assert_eq!(ranked(&case, "p99_ms"), ["up"]);
        assert_eq!(ranked(&case, "requests_per_s"), ["up", "behind"]);
        case.is_about_failures = true;
        judge(&mut case, &|_| None);
        assert_eq!(case.results[0].served_share, None);
    }
}
