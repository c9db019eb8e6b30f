//! Who won, in words, from a summary: no figure in prose is typed by hand.

use super::look::Looks;
use super::number;
use crate::metric::{Metric, Sense};
use crate::record::summary::{Case, Spread, Summary};
use crate::stats;

/// The metric that ranks a case.
pub fn ranking_metric(case: &Case) -> Option<&'static Metric> {
    Metric::of(case.metrics.first()?)
}

/// A contender's number in a case, if it counts.
pub fn spread_of<'a>(case: &'a Case, contender: &str, metric: &Metric) -> Option<&'a Spread> {
    let result = case.results.iter().find(|result| result.contender == contender && result.disqualified.is_none())?;
    result.numbers.get(metric.name).filter(|spread| spread.is_sound())
}

/// A, B and C.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// One case: who is best, with what figure, and by how much.
pub fn of_case(case: &Case, looks: &Looks) -> String {
    let titles = |group: &Vec<String>| -> Vec<String> { group.iter().map(|name| looks.title(name)).collect() };
    let (Some(metric), Some(best)) = (ranking_metric(case), case.ranking.first()) else {
        return "Nobody could be ranked.".to_owned();
    };
    let leader = best.first().and_then(|name| spread_of(case, name, metric));
    let figure = leader.map_or_else(String::new, |spread| number::with_unit(spread.median, metric));
    let second = case.ranking.get(1);
    let ahead = second.map_or_else(String::new, |group| behind(case, metric, leader, group, &titles(group)));
    match (metric.sense, best.len()) {
        (Sense::Plain, _) => String::new(),
        (_, 1) if second.is_none() => format!("Only {} could be ranked: {figure}.", titles(best).concat()),
        (_, 1) => format!("{} is best with {figure}{ahead}.", titles(best).concat()),
        _ if second.is_none() => format!("All are level at about {figure}: {}.", list(&titles(best))),
        _ => format!("{} are level at about {figure}{ahead}.", list(&titles(best))),
    }
}

/// What the next group does, beside the leader.
fn behind(case: &Case, metric: &Metric, leader: Option<&Spread>, group: &[String], titles: &[String]) -> String {
    let next = group.first().and_then(|name| spread_of(case, name, metric));
    let (Some(leader), Some(next)) = (leader, next) else { return String::new() };
    let (ratio, said) = match metric.sense {
        Sense::Lower => (stats::ratio(next, leader), "has"),
        _ => (stats::ratio(leader, next), "is next"),
    };
    let Some(ratio) = ratio else {
        return format!("; {} has {}", list(titles), number::with_unit(next.median, metric));
    };
    match said {
        "has" if titles.len() == 1 => format!("; {} has {} as much", titles[0], number::ratio(&ratio)),
        "has" => format!("; {} have about {} as much", list(titles), number::ratio(&ratio)),
        _ => format!(", {} as much as {}", number::ratio(&ratio), list(titles)),
    }
}

/// The run in one or two sentences: how often each was best.
pub fn of_run(summary: &Summary, looks: &Looks) -> String {
    let ranked: Vec<&Case> = summary.cases.iter().filter(|case| !case.ranking.is_empty()).collect();
    if let [case] = ranked[..] {
        return of_case(case, looks);
    }
    let mut alone: Vec<(String, usize)> = Vec::new();
    let mut ties = 0;
    for case in &ranked {
        match &case.ranking[0][..] {
            [name] => match alone.iter_mut().find(|(winner, _)| winner == name) {
                Some((_, wins)) => *wins += 1,
                None => alone.push((name.clone(), 1)),
            },
            _ => ties += 1,
        }
    }
    alone.sort_by_key(|(_, wins)| std::cmp::Reverse(*wins));
    if ranked.is_empty() {
        return "Nothing could be ranked.".to_owned();
    }
    let wins: Vec<String> = alone.iter().map(|(name, wins)| format!("{} in {wins}", looks.title(name))).collect();
    let of = format!("Of {} cases", ranked.len());
    match (wins.is_empty(), ties) {
        (true, _) => format!("{of}, every one ends level between its best."),
        (false, 0) => format!("{of}, the best is {}.", list(&wins)),
        (false, 1) => format!("{of}, the best is {}; one ends level.", list(&wins)),
        (false, ties) => format!("{of}, the best is {}; {ties} end level.", list(&wins)),
    }
}

/// The machine in one line: its processor, its memory, its system.
pub fn machine(summary: &Summary) -> String {
    let wanted = ["processor", "memory", "virtualisation", "system"];
    let fact = |name: &&str| summary.machine.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let facts: Vec<String> = wanted.iter().filter_map(fact).collect();
    if facts.is_empty() { "machine not recorded".to_owned() } else { facts.join(" · ") }
}

/// What counts what: "3 rounds".
pub fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Measured;

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
    fn wins_ties_and_nothing() {
        let looks = Looks::default();
        let said = |case: &Case| of_case(case, &looks).replace('\u{202f}', " ");
        let rate = case("requests_per_s", &[("a", &[200.0, 200.0]), ("b", &[100.0, 100.0])], &[&["a"], &["b"]]);
        assert_eq!(said(&rate), "a is best with 200 requests/s, 2.00× as much as b.");
        let p99 = case("p99_ms", &[("a", &[2.0]), ("b", &[6.0]), ("c", &[6.1])], &[&["a"], &["b", "c"]]);
        assert_eq!(said(&p99), "a is best with 2.00 ms; b and c have about 3.00× as much.");
        let tie = case("p99_ms", &[("a", &[2.0]), ("b", &[2.0])], &[&["a", "b"]]);
        assert_eq!(said(&tie), "All are level at about 2.00 ms: a and b.");
        assert_eq!(said(&case("p99_ms", &[], &[])), "Nobody could be ranked.");
        assert_eq!(said(&case("p99_ms", &[("a", &[2.0])], &[&["a"]])), "Only a could be ranked: 2.00 ms.");
        let run = Summary { cases: vec![rate.clone(), rate, p99, tie], ..Summary::default() };
        assert_eq!(of_run(&run, &looks), "Of 4 cases, the best is a in 3; one ends level.");
        assert_eq!(of_run(&Summary::default(), &looks), "Nothing could be ranked.");
    }
}
