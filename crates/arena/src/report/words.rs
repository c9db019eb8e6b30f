//! Sentences on the winners, made from a summary: no figure in prose is typed by hand.

use serde::Serialize;

use super::number;
use super::styles::Styles;
use crate::record::summary::{ALLOCATED_BY, Advice, Case, Measured, Spread, Summary, Who};
use crate::stats;
use loadgen::metric::{Direction, Metric, OFFERED, P50, P99};

/// Metric that ranks a case.
pub fn ranking_metric(case: &Case) -> Option<&'static Metric> {
    Metric::of(case.metrics.first()?)
}

/// Part of a Ruby's description that mentions a build without YJIT.
pub const YJIT_NOT_BUILT: &str = "built without YJIT";

/// A contender's number in a case, unless it is disqualified.
pub fn spread_of<'a>(case: &'a Case, contender: &str, metric: &Metric) -> Option<&'a Spread> {
    let result = case.results.iter().find(|result| result.contender == contender && result.disqualified.is_none())?;
    result.numbers.get(metric.name).filter(|spread| spread.is_sound())
}

/// Why a result is not ranked in its case, in a few words: `34 % failed`. None where it is.
pub fn not_ranked(case: &Case, result: &Measured) -> Option<String> {
    match (&result.disqualified, &result.not_compared) {
        (Some(_), _) => Some("disqualified".to_owned()),
        (None, Some(_)) => Some("measured at another time".to_owned()),
        (None, None) => Some(unranked(case, result, case.metrics.first().map_or("", String::as_str)))
            .filter(|words| !words.is_empty()),
    }
}

/// Why a figure is shown and not ranked, where the contender takes part in the comparison: `34 % failed`, or `served 55
/// %` of what was offered. Empty where it is ranked.
pub fn unranked(case: &Case, result: &Measured, metric: &str) -> String {
    match result.served_share {
        _ if case.counts(result, metric) => String::new(),
        _ if case.fails(result, metric) => format!("{} failed", number::failed(result.failed_share())),
        Some(share) if loadgen::metric::is_of_latencies(metric) => format!("served {:.0} %", share * 100.0),
        _ => String::new(),
    }
}

/// What must be known of a result's figures: its remarks, and what the percentiles of the tool that loaded it leave out
/// or hold beside right answers. Read in the sources of wrk 4.1.0 (`response_complete`: an answer that comes after the
/// time-out is counted, and is in no percentile; one of any status is) and of ab 2.3 (`close_connection`: all that
/// ended, well or badly).
pub fn remarks(case: &Case, result: &Measured) -> Vec<String> {
    let mut all = result.remarks.clone();
    let has_percentiles = result.numbers.contains_key(P50) || result.numbers.contains_key(P99);
    if !has_percentiles || result.disqualified.is_some() {
        return all;
    }
    let of = |kind: &str| result.errors.get(kind).copied().filter(|count| *count > 0);
    let tool = case.what.split(' ').next().unwrap_or_default();
    if tool == "wrk" {
        all.extend(of("timeout").map(|count| {
            format!(
                "wrk got {} after its time-out: they count as failed and are in no percentile, so that the slowest are \
                 missing from these latencies, as are those that were never answered",
                count_of(count, "answer", "answers")
            )
        }));
        all.extend(of(WRK_BAD_STATUS).map(|count| {
            format!(
                "wrk's latencies hold the {} with a status of 400 or more as well: errors that come quickly shorten \
                 them",
                count_of(count, "answer", "answers")
            )
        }));
    }
    if tool == "ab" && result.failed() > 0.0 {
        all.push(
            "ab's latencies hold the failed requests as well, each with the time until it failed, and not those that \
             were unanswered when its time was over"
                .to_owned(),
        );
    }
    all
}

/// As the load generator calls what wrk says of them.
const WRK_BAD_STATUS: &str = "status 400 or more";

fn count_of(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", number::tick(number as f64), if number == 1 { one } else { more })
}

/// Title of a column, with the rate if it is the same for all: `50 (1414/s)`.
pub fn with_rate(title: &str, case: &Case) -> String {
    rate_of_all(case).map_or_else(|| title.to_owned(), |rate| format!("{title} ({rate})"))
}

/// Rate of a case in which all are asked the same number of requests per second, in words: `1414/s`; the median where
/// the rounds differ. None for other cases.
fn rate_of_all(case: &Case) -> Option<String> {
    // A series at equal rates is named so (`ladder=50`).
    let is_of_all = case.name.contains('=');
    let offered = case.results.iter().filter_map(|result| result.numbers.get(OFFERED)).filter(|_| is_of_all);
    let all: Vec<f64> = offered.flat_map(|spread| spread.all.iter().copied()).collect();
    let exact = |rate: f64| if rate < 100.0 { number::significant(rate) } else { number::tick(rate.round()) };
    stats::median(&all).map(|rate| format!("{}/s", exact(rate)))
}

/// Whether this contender is the best of its case, or as good, in the metric that ranks the case.
pub fn is_best(case: &Case, contender: &str) -> bool {
    ranking_metric(case).is_some_and(|metric| stats::Beside::of(case, metric).is_best(contender))
}

/// Joins names: A, B and C.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        // A name may contain a comma itself.
        [first @ .., last] if names.iter().any(|name| name.contains(", ")) => {
            format!("{}; and {last}", first.join("; "))
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Sentence on a case: the best contender, its figure, and its lead.
pub fn of_case(case: &Case, styles: &Styles) -> String {
    let titles = |group: &Vec<String>| -> Vec<String> { group.iter().map(|name| styles.title(name)).collect() };
    let (Some(metric), Some(best)) = (ranking_metric(case), case.ranking.first()) else {
        return "Nobody could be ranked.".to_owned();
    };
    let leader = best.first().and_then(|name| spread_of(case, name, metric));
    let second = stats::next_worse(&case.ranking, &case.undecided);
    let open = titles(&undecided(case, metric));
    let unsure = if open.is_empty() { String::new() } else { format!("; undecided: {}", list(&open)) };
    let figure = leader.map_or_else(String::new, |spread| number::with_unit(spread.median, metric));
    let ahead = second.map_or_else(String::new, |group| behind(case, metric, leader, group, &titles(group)));
    match (metric.direction, best.len()) {
        (Direction::Plain, _) => String::new(),
        (_, 1) if second.is_none() && open.is_empty() => {
            format!("Only {} could be ranked: {figure}.", titles(best).concat())
        }
        (_, 1) if open.is_empty() => format!("{} is best with {figure}{ahead}.", titles(best).concat()),
        (_, 1) => format!("{} is first by its median, with {figure}{ahead}{unsure}.", titles(best).concat()),
        _ if second.is_none() => {
            let why = if leader.is_some_and(|spread| spread.all.len() < 2) {
                "One round tells nobody apart"
            } else {
                "None are told apart"
            };
            format!("{why}: {}, {}{unsure}.", list(&titles(best)), between(case, best, metric))
        }
        _ => {
            // The ratio is that of the first one.
            let first = titles(best).into_iter().next().unwrap_or_default();
            let ahead = ahead.strip_prefix(", ").map_or(ahead.clone(), |ratio| format!("; {first} has {ratio}"));
            format!("{} are level, {}{ahead}{unsure}.", list(&titles(best)), between(case, best, metric))
        }
    }
}

/// Those of which it is not known whether they are worse than the best.
fn undecided(case: &Case, metric: &Metric) -> Vec<String> {
    let beside = stats::Beside::of(case, metric);
    let others = case.ranking.iter().skip(1).flatten();
    others.filter(|name| beside.is_undecided(name)).cloned().collect()
}

/// Range of medians in a group, which are not equal but level.
fn between(case: &Case, group: &[String], metric: &Metric) -> String {
    let medians = group.iter().filter_map(|name| spread_of(case, name, metric)).map(|spread| spread.median);
    let (low, high) =
        medians.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), median| (low.min(median), high.max(median)));
    let (from, to) = (number::value(low, metric), number::with_unit(high, metric));
    if from == number::value(high, metric) { format!("at {to}") } else { format!("between {from} and {to}") }
}

/// Words for the next group, whose first entry is compared with the leader.
fn behind(case: &Case, metric: &Metric, leader: Option<&Spread>, group: &[String], titles: &[String]) -> String {
    let names = match titles {
        [first, others @ ..] if others.len() >= NAMED => format!("{first} ({} level with it)", others.len()),
        [first, others @ ..] if !others.is_empty() => format!("{first} ({} level with it)", list(others)),
        titles => list(titles),
    };
    let next = group.first().and_then(|name| spread_of(case, name, metric));
    let (Some(leader), Some(next)) = (leader, next) else { return String::new() };
    let (ratio, said) = match metric.direction {
        Direction::Lower => (stats::meaningful_ratio(next, leader), "has"),
        _ => (stats::meaningful_ratio(leader, next), "is next"),
    };
    let Some(ratio) = ratio else {
        return format!("; {names} has {}", number::with_unit(next.median, metric));
    };
    match said {
        "has" => format!("; {names} has {} as much", number::ratio(&ratio)),
        _ => format!(", {} as much as {names}", number::ratio(&ratio)),
    }
}

/// The run in one or two sentences: how often each contender was best.
pub fn of_run(summary: &Summary, styles: &Styles) -> String {
    // A contender that alone could be ranked has won nothing.
    let is_contest = |case: &&Case| case.ranking.iter().flatten().count() > 1;
    let ranked: Vec<&Case> = summary.cases.iter().filter(is_contest).collect();
    if let [case] = ranked[..] {
        return of_case(case, styles);
    }
    if ranked.is_empty() {
        return "Nothing could be ranked.".to_owned();
    }
    let mut bests: Vec<Best> = Vec::new();
    for case in &ranked {
        let group = &case.ranking[0];
        let is_sure = ranking_metric(case).is_none_or(|metric| undecided(case, metric).is_empty());
        for name in group {
            let at = bests.iter().position(|best| best.name == *name).unwrap_or_else(|| {
                bests.push(Best { name: name.clone(), ..Best::default() });
                bests.len() - 1
            });
            match group.len() {
                2.. => bests[at].level += 1,
                _ if is_sure => bests[at].alone += 1,
                _ => bests[at].unsure += 1,
            }
        }
    }
    bests.sort_by_key(|best| (std::cmp::Reverse(best.cases()), std::cmp::Reverse(best.alone)));
    let said = bests.iter().take(NAMED).enumerate();
    let said: Vec<String> = said.map(|(at, best)| best.in_words(styles, ranked.len(), at == 0)).collect();
    let others = match bests.len().saturating_sub(NAMED) {
        0 => "",
        _ => "; others no more often",
    };
    format!("{}{others}.", said.join("; "))
}

/// Most contenders named in the sentence on a run.
const NAMED: usize = 3;

/// Number of cases in which a contender was in the first group.
#[derive(Default)]
struct Best {
    name: String,
    /// Cases in which all others are shown to be worse.
    alone: usize,
    /// Cases in which others are level with it.
    level: usize,
    /// Cases in which it is alone in its group and others are undecided.
    unsure: usize,
}

impl Best {
    fn cases(&self) -> usize {
        self.alone + self.level + self.unsure
    }

    fn in_words(&self, styles: &Styles, all: usize, is_first: bool) -> String {
        let kinds = [
            (self.alone, "is best in"),
            (self.level, "is level with the best in"),
            (self.unsure, "is first by its median, with others undecided, in"),
        ];
        let some = kinds.into_iter().filter(|(count, _)| *count > 0).enumerate();
        let said: Vec<String> = some
            .map(|(at, (count, is))| match at {
                0 if is_first && count == all => format!("{is} all {all} cases"),
                0 if is_first => format!("{is} {count} of {all} cases"),
                0 => format!("{is} {count}"),
                _ => format!("{is} {count} more"),
            })
            .collect();
        format!("{} {}", styles.title(&self.name), said.join(" and "))
    }
}

/// Result of the twin: differences that the run shows where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Twins {
    /// Sentence for people.
    pub words: String,
    /// Whether the twins differ in more cases than chance explains; then other differences of the run are no more
    /// reliable.
    pub is_alarm: bool,
    /// Whether they were compared in any case. If not, the run has shown nothing of its noise.
    pub is_compared: bool,
}

/// Share of equal pairs that may differ significantly by chance.
const BY_CHANCE: f64 = 0.05;

/// Compares the twins over all cases; `None` if the run has no twin.
pub fn twins(summary: &Summary, styles: &Styles) -> Option<Twins> {
    let title = styles.title(summary.twin_of.as_deref()?);
    let compared = summary.cases.iter().filter_map(|case| {
        let metric = ranking_metric(case).filter(|metric| metric.direction != Direction::Plain)?;
        let original = case.results.iter().find(|one| Some(&one.contender) == summary.twin_of.as_ref())?;
        let twin =
            case.twin.as_ref().filter(|twin| [twin, original].iter().all(|one| case.counts(one, metric.name)))?;
        let ratio = stats::ratio(twin.numbers.get(metric.name)?, original.numbers.get(metric.name)?)?;
        Some((case, ratio))
    });
    let compared: Vec<(&Case, stats::Ratio)> = compared.collect();
    let apart: Vec<String> = compared
        .iter()
        .filter(|(_, ratio)| ratio.standing() == stats::Standing::Apart)
        .map(|(case, ratio)| format!("{}: {}", case.title, number::ratio(ratio)))
        .collect();
    let is_compared = !compared.is_empty();
    let is_alarm = is_compared && chance(compared.len(), apart.len()) < BY_CHANCE;
    let count = match (apart.len(), compared.len()) {
        (_, 0) => format!(
            "{title} was measured twice, as if it were two servers, and the two could not be compared: in no case are \
             both ranked"
        ),
        (0, all) => {
            let cases = count(all, "case", "cases");
            format!("{title} was measured twice, as if it were two servers: they are told apart in none of {cases}")
        }
        (some, all) => {
            let cases = count(all, "case", "cases");
            let so = match is_alarm {
                true => "that is more than chance explains, and the other differences of this run are worth no more",
                false => "chance explains that",
            };
            format!(
                "{title} was measured twice, as if it were two servers: they are told apart in {some} of {cases} \
                 ({}); {so}",
                apart.join("; ")
            )
        }
    };
    Some(Twins { words: count, is_alarm, is_compared })
}

/// Probability that at least `apart` of these equal pairs differ by chance.
fn chance(pairs: usize, apart: usize) -> f64 {
    let mut ways = 1.0;
    let mut fewer = 0.0;
    for hits in 0..apart {
        fewer += ways * BY_CHANCE.powi(hits as i32) * (1.0 - BY_CHANCE).powi((pairs - hits) as i32);
        ways *= (pairs - hits) as f64 / (hits + 1) as f64;
    }
    1.0 - fewer
}

/// The machine in one line: processor, memory, virtualization and system.
pub fn machine(summary: &Summary) -> String {
    let wanted = ["processor", "memory", "virtualisation", "system"];
    let fact = |name: &&str| summary.machine.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let facts: Vec<String> = wanted.iter().filter_map(fact).collect();
    if facts.is_empty() { "machine not recorded".to_owned() } else { facts.join(" · ") }
}

/// Settings of a contender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its name in records.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Workers and threads per worker: `2 × 5`; and what was counted, where that is something else.
    pub size: String,
    /// Version, as the program itself reports it.
    pub version: String,
    /// Allocator, where it is not the C library's.
    pub allocator: String,
    /// Ruby implementation and version, without date and platform; `its own` if it has none.
    pub ruby: String,
}

/// Workers and threads of a contender as it was started, and as they were counted where these numbers differ: threads
/// that a server has for itself, or interpreters in place of processes.
fn size(who: &Who) -> String {
    let threads = who.threads.max(1);
    let asked = format!("{} × {threads}", who.workers);
    let is_as_asked = |(processes, all)| (processes, all) == (who.workers, who.workers * threads);
    if who.counted_workers.zip(who.counted_threads).is_none_or(is_as_asked) {
        return asked;
    }
    format!("{asked} (counted: {})", counted(who))
}

/// Processes and threads that were counted while a contender ran: `2 processes, 16 threads`. Empty if nothing was.
pub fn counted(who: &Who) -> String {
    let processes = who.counted_workers.map(|number| count(number as usize, "process", "processes"));
    let threads = who.counted_threads.map(|number| count(number as usize, "thread", "threads"));
    processes.into_iter().chain(threads).collect::<Vec<_>>().join(", ")
}

/// Settings of each contender that took part.
pub fn settings(summary: &Summary, styles: &Styles) -> Vec<Settings> {
    let of = |who: &Who| {
        // A built-in allocator is part of the version; a preloaded one is among the notes.
        let (version, built_in) = who.version.split_once(", ").unwrap_or((&who.version, ""));
        let loaded = who.notes.iter().find_map(|note| note.strip_prefix(ALLOCATED_BY));
        let ruby = who.ruby.split(" (").next().unwrap_or_default();
        let jit = if who.ruby.contains(YJIT_NOT_BUILT) {
            ", built without YJIT"
        } else if who.ruby.contains("+YJIT") {
            ", with YJIT"
        } else {
            ""
        };
        Settings {
            name: who.name.clone(),
            title: styles.title(&who.name),
            size: size(who),
            version: version.to_owned(),
            allocator: loaded.unwrap_or(built_in).to_owned(),
            ruby: if ruby.is_empty() { "its own".to_owned() } else { format!("{ruby}{jit}") },
        }
    };
    summary.contenders.iter().filter(|who| who.missing.is_empty()).map(of).collect()
}

/// What stands before a recommendation that was made by another rule than that of this program: with today's it may be
/// another one.
pub fn by_which_rule(advice: &Advice) -> &'static str {
    if advice.rule == stats::rule() { "" } else { "By an older rule than the one of this page: " }
}

/// Why a run is not one as METHOD.md wants it, in words; nothing where it is.
pub fn shortcomings(summary: &Summary) -> String {
    summary.shortcomings.join("; ")
}

/// What counts what: "3 rounds".
pub fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Disqualified contenders, each with the cases and the reason. A reason common to several cases is listed once.
pub fn disqualified(summary: &Summary) -> Vec<(String, String, String)> {
    let mut found: Vec<(String, Vec<&Case>, &str)> = Vec::new();
    for case in &summary.cases {
        for result in &case.results {
            let Some(why) = &result.disqualified else { continue };
            match found.iter_mut().find(|(name, _, reason)| *name == result.contender && reason == why) {
                Some((_, cases, _)) => cases.push(case),
                None => found.push((result.contender.clone(), vec![case], why)),
            }
        }
    }
    let place = |cases: &[&Case]| match cases {
        [case] => case.title.clone(),
        cases if cases.len() == summary.cases.len() => "all cases".to_owned(),
        cases => format!("{} cases", cases.len()),
    };
    found.into_iter().map(|(name, cases, why)| (name, place(&cases), why.to_owned())).collect()
}

/// Makes a recorded sentence readable: contenders with settings become their titles (`Puma -w 2`, not `puma -w 2`), and
/// the first letter a capital. Names of a single word are kept, since they could be any word.
pub fn sentence(text: &str, summary: &Summary, styles: &Styles) -> String {
    let mut names: Vec<&str> = summary.contenders.iter().map(|who| who.name.as_str()).collect();
    names.retain(|name| name.contains(' '));
    // A name may be a prefix of a longer one.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let begins = !out.ends_with(|c: char| c.is_alphanumeric());
        let found = names.iter().find(|name| begins && rest.starts_with(**name) && !goes_on(&rest[name.len()..]));
        let step = match found {
            Some(name) => {
                out.push_str(&styles.title(name));
                name.len()
            }
            None if out.is_empty() => {
                out.extend(letter.to_uppercase());
                letter.len_utf8()
            }
            None => {
                out.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[step..];
    }
    out
}

/// Whether a name that ends here is only the start of a longer word.
fn goes_on(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(metric: &str, numbers: &[(&str, &[f64])], ranking: &[&[&str]]) -> Case {
        let result = |(name, all): &(&str, &[f64])| {
            let numbers = Spread::of(all).map(|spread| (metric.to_owned(), spread)).into_iter().collect();
            Measured { contender: (*name).into(), numbers, ..Measured::default() }
        };
        Case {
            metrics: vec![metric.into()],
            results: numbers.iter().map(result).collect(),
            ranking: ranking.iter().map(|group| group.iter().map(|name| (*name).to_owned()).collect()).collect(),
            ..Case::default()
        }
    }

    #[test]
    fn sentences_name_settings_by_their_titles() {
        let who = |name: &str, title: &str| Who { name: name.into(), title: title.into(), ..Who::default() };
        let contenders =
            vec![who("puma", "Puma"), who("puma -w 2", "Puma -w 2"), who("puma -w 2 -t 3", "Puma -w 2 -t 3")];
        let summary = Summary { contenders, ..Summary::default() };
        let said = |text: &str| sentence(text, &summary, &Styles::of(&summary));
        assert_eq!(said("puma -w 2 -t 3: 5; puma -w 2 is level"), "Puma -w 2 -t 3: 5; Puma -w 2 is level");
        assert_eq!(said("use puma -w 24, a puma"), "Use puma -w 24, a puma");
        assert_eq!(said(""), "");
    }

    #[test]
    fn what_the_percentiles_of_a_tool_leave_out_is_said_where_something_failed() {
        let of = |what: &str, errors: &[(&str, u64)]| {
            let mut one = case("p99_ms", &[("a", &[2.0])], &[]);
            one.what = what.into();
            let mut result = one.results[0].clone();
            result.remarks = vec!["first".into()];
            result.errors = errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
            let failed = errors.iter().map(|(_, count)| *count as f64).sum();
            result.numbers.insert("failed".into(), Spread::of(&[failed]).unwrap());
            (remarks(&one, &result), remarks(&one, &Measured { numbers: [].into(), ..result.clone() }))
        };
        let (late, none) = of("wrk --latency -t2 /a", &[("timeout", 791), ("read", 3)]);
        assert!(late.len() == 2 && late[1].contains("wrk got 791 answers after its time-out"), "{late:?}");
        assert_eq!(none, ["first"], "without percentiles nothing is missing from them");
        let (quick, _) = of("wrk --latency -t2 /a", &[("status 400 or more", 12_345)]);
        assert!(quick[1].contains("hold the 12\u{202f}345 answers with a status of 400 or more"), "{quick:?}");
        let (ab, _) = of("ab -q -c9 /a", &[("read", 2)]);
        assert!(ab[1].contains("ab's latencies hold the failed requests as well"), "{ab:?}");
        assert_eq!(of("ab -q -c9 /a", &[]).0, ["first"]);
        assert_eq!(of("closed loop: 4 clients", &[("timeout", 9)]).0, ["first"], "ours has them among its latencies");
    }

    #[test]
    fn wins_ties_and_nothing() {
        let styles = Styles::default();
        let said = |case: &Case| of_case(case, &styles).replace('\u{202f}', " ");
        let rate = case("requests_per_s", &[("a", &[200.0, 200.0]), ("b", &[100.0, 100.0])], &[&["a"], &["b"]]);
        assert_eq!(said(&rate), "a is best with 200 requests/s, 2.00× as much as b.");
        let p99 = case("p99_ms", &[("a", &[2.0]), ("b", &[6.0]), ("c", &[6.1])], &[&["a"], &["b", "c"]]);
        assert_eq!(said(&p99), "a is best with 2.00 ms; b (c level with it) has 3.00× as much.");
        let tie = case("p99_ms", &[("a", &[2.0, 2.1]), ("b", &[491.0, 3.0])], &[&["a", "b"]]);
        assert_eq!(said(&tie), "None are told apart: a and b, between 2.05 and 247 ms.");
        let none = case("failed_ppm", &[("a", &[0.0, 0.0, 0.0]), ("b", &[90.0, 91.0, 92.0])], &[&["a"], &["b"]]);
        assert_eq!(said(&none), "a is best with 0; b has 91.");
        let once = case("p99_ms", &[("a", &[2.0]), ("b", &[9.0])], &[&["a", "b"]]);
        assert_eq!(said(&once), "One round tells nobody apart: a and b, between 2.00 and 9.00 ms.");
        assert_eq!(said(&case("p99_ms", &[], &[])), "Nobody could be ranked.");
        assert_eq!(said(&case("p99_ms", &[("a", &[2.0])], &[&["a"]])), "Only a could be ranked: 2.00 ms.");
        let run = Summary { cases: vec![rate.clone(), rate, p99, tie], ..Summary::default() };
        assert_eq!(
            of_run(&run, &styles),
            "a is best in 3 of 4 cases and is level with the best in 1 more; b is level with the best in 1."
        );
        assert_eq!(of_run(&Summary::default(), &styles), "Nothing could be ranked.");
    }

    #[test]
    fn the_rate_of_all_is_the_median_of_the_rounds() {
        let of = |name: &str| {
            let offered: [(&str, &[f64]); 2] = [("a", &[1414.2, 1400.0]), ("b", &[1414.2, 1414.2])];
            rate_of_all(&Case { name: name.into(), ..case("offered_per_s", &offered, &[]) })
        };
        assert_eq!(of("ladder=50").as_deref(), Some("1414/s"));
        assert_eq!((of("ladder@50"), of("ladder")), (None, None), "a rate of each one's own");
        assert_eq!(rate_of_all(&Case { name: "ladder=50".into(), ..Case::default() }), None);
    }

    #[test]
    fn who_is_undecided_is_neither_level_nor_beaten() {
        let styles = Styles::default();
        let of = |numbers: &[(&str, &[f64])]| {
            let mut case = case("requests_per_s", numbers, &[]);
            stats::rank(&mut case);
            case
        };
        let said = |case: &Case| of_case(case, &styles).replace('\u{202f}', " ");
        let best: (&str, &[f64]) = ("best", &[100.0, 101.0, 99.0]);
        let wild: (&str, &[f64]) = ("wild", &[70.0, 200.0, 30.0]);
        let slow: (&str, &[f64]) = ("slow", &[50.0, 50.5, 49.5]);
        let all = of(&[best, wild, slow]);
        assert_eq!(
            said(&all),
            "best is first by its median, with 100 requests/s, 2.00× as much as slow; undecided: wild."
        );
        let two = of(&[best, wild]);
        assert_eq!(said(&two), "best is first by its median, with 100 requests/s; undecided: wild.");
        let sure = of(&[best, slow]);
        let run = |cases: &[&Case]| {
            let cases = cases.iter().map(|case| (*case).clone()).collect();
            of_run(&Summary { cases, ..Summary::default() }, &styles)
        };
        assert_eq!(
            run(&[&sure, &all]),
            "best is best in 1 of 2 cases and is first by its median, with others undecided, in 1 more."
        );
        let near: (&str, &[f64]) = ("near", &[97.0, 98.0, 96.0]);
        assert_eq!(
            run(&[&of(&[best, near, slow]), &of(&[near, best])]),
            "best is level with the best in all 2 cases; near is level with the best in 2."
        );
    }

    #[test]
    fn twins_that_differ_are_an_alarm_when_chance_does_not_explain_it() {
        let of = |ratios: &[f64]| {
            let one = |ratio: &f64| {
                let mut one = case("requests_per_s", &[("a", &[100.0, 101.0, 99.0])], &[&["a"]]);
                let numbers: Vec<f64> = [100.0, 101.0, 99.0].map(|rate| rate * ratio).into();
                one.title = "Page".into();
                one.twin = case("requests_per_s", &[("twin", &numbers)], &[]).results.pop();
                one
            };
            let cases = ratios.iter().map(one).collect();
            twins(&Summary { cases, twin_of: Some("a".into()), ..Summary::default() }, &Styles::default()).unwrap()
        };
        let calm = of(&[1.0, 1.0, 1.0]);
        assert!(calm.words.ends_with("told apart in none of 3 cases") && !calm.is_alarm, "{calm:?}");
        let mut many = vec![1.0; 12];
        many[3] = 1.5;
        assert!(of(&many).words.contains("in 1 of 12 cases (Page: 1.50×); chance explains that"), "{:?}", of(&many));
        (many[4], many[5]) = (0.5, 0.5);
        assert!(of(&many).is_alarm && of(&many).words.contains("worth no more"), "{:?}", of(&many));
        assert_eq!(twins(&Summary::default(), &Styles::default()), None);
        // Who is not ranked is compared with nobody, its twin as little.
        let mut one = case("requests_per_s", &[("a", &[100.0, 101.0, 99.0])], &[&["a"]]);
        one.twin = case("requests_per_s", &[("twin", &[50.0, 51.0, 49.0])], &[]).results.pop();
        let found = |one: &Case| {
            let summary = Summary { cases: vec![one.clone()], twin_of: Some("a".into()), ..Summary::default() };
            twins(&summary, &Styles::default()).unwrap()
        };
        assert!(found(&one).words.contains("in 1 of 1 case") && found(&one).is_compared, "{:?}", found(&one));
        let failing = |result: &mut Measured| {
            for (name, number) in [("failed", 5.0), ("requests", 95.0)] {
                result.numbers.insert(name.into(), Spread::of(&[number]).unwrap());
            }
        };
        let mut original = one.clone();
        failing(&mut original.results[0]);
        let mut twin = one.clone();
        failing(twin.twin.as_mut().unwrap());
        one.results[0].disqualified = Some("it lied".into());
        for out in [one, original, twin] {
            let found = found(&out);
            assert!(!found.is_compared && !found.is_alarm, "they do not differ either: {found:?}");
            assert!(found.words.contains("could not be compared: in no case are both ranked"), "{found:?}");
        }
    }
}
