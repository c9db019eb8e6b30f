//! Sentences on the winners of a case and of a whole run.

use super::grammar::{distinct, list};
use super::number;
use super::ranking::{metric_of, spread_of};
use super::styles::Styles;
use crate::record::summary::{Case, Spread, Summary, Verdict};
use crate::stats;
use loadgen::metric::{Direction, Metric};

/// Most contenders named in the sentence on a run, and in a group that is behind the best of a case.
const NAMED: usize = 3;

/// Sentence on a case: the best contender, its figure, and its lead.
pub fn of_case(case: &Case, styles: &Styles) -> String {
    let titles = |group: &Vec<String>| -> Vec<String> { group.iter().map(|name| styles.title(name)).collect() };
    let (Some(metric), Some(best)) = (metric_of(case), case.ranking.first()) else {
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
            format!("{} are not told apart, {}{ahead}{unsure}.", list(&titles(best)), between(case, best, metric))
        }
    }
}

/// Titles of the winners of a use, with how sure it is that they are the best; or `nobody`.
pub fn of_use(verdict: &Verdict, styles: &Styles) -> String {
    let titles: Vec<String> = verdict.winners.iter().map(|name| styles.title(name)).collect();
    match how_sure(verdict) {
        _ if titles.is_empty() => "nobody".to_owned(),
        "" => list(&titles),
        words => format!("{} ({words})", list(&titles)),
    }
}

/// How sure it is that the winners of a use are the best; empty for one that is shown to be.
pub fn how_sure(verdict: &Verdict) -> &'static str {
    match (verdict.winners.len(), verdict.is_open) {
        (0, _) | (1, false) => "",
        (1, true) => "by its median alone",
        (_, false) => "not told apart",
        (_, true) => "not told apart, and others undecided",
    }
}

/// Contenders of which it is not known whether they are worse than the best.
fn undecided(case: &Case, metric: &Metric) -> Vec<String> {
    let beside = stats::Beside::of(case, metric);
    let others = case.ranking.iter().skip(1).flatten();
    others.filter(|name| beside.is_undecided(name)).cloned().collect()
}

/// Range of medians in a group, which are not equal but not told apart.
fn between(case: &Case, group: &[String], metric: &Metric) -> String {
    let medians = group.iter().filter_map(|name| spread_of(case, name, metric)).map(|spread| spread.median);
    let (low, high) =
        medians.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), median| (low.min(median), high.max(median)));
    let (from, to) = (number::value(low, metric), number::with_unit(high, metric));
    if from == number::value(high, metric) { format!("at {to}") } else { format!("between {from} and {to}") }
}

/// Words for the next group, whose first contender is compared with the leader.
fn behind(case: &Case, metric: &Metric, leader: Option<&Spread>, group: &[String], titles: &[String]) -> String {
    let names = match titles {
        [first, others @ ..] if others.len() >= NAMED => format!("{first} ({} not told apart from it)", others.len()),
        [first, others @ ..] if !others.is_empty() => format!("{first} ({} not told apart from it)", list(others)),
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

/// Sentence on a run: how often each contender was best.
pub fn of_run(summary: &Summary, styles: &Styles) -> String {
    // A contender that alone could be ranked has won nothing.
    let is_contest = |case: &&Case| case.ranking.iter().flatten().count() > 1;
    let ranked: Vec<&Case> = summary.cases.iter().filter(is_contest).collect();
    if ranked.is_empty() {
        return of_no_contest(&summary.cases, styles);
    }
    let all = summary.cases.len();
    let rest = match all - ranked.len() {
        0 => String::new(),
        rest => format!(" In {rest} of {all} cases fewer than two are ranked."),
    };
    if let [case] = ranked[..] {
        let place = if all == 1 { String::new() } else { format!("{}: ", case.title) };
        return format!("{place}{}{rest}", of_case(case, styles));
    }
    let mut bests: Vec<Best> = Vec::new();
    for case in &ranked {
        let group = &case.ranking[0];
        let is_sure = metric_of(case).is_none_or(|metric| undecided(case, metric).is_empty());
        for name in group {
            let at = bests.iter().position(|best| best.name == *name).unwrap_or_else(|| {
                bests.push(Best { name: name.clone(), ..Best::default() });
                bests.len() - 1
            });
            match group.len() {
                2.. => bests[at].shared += 1,
                _ if is_sure => bests[at].alone += 1,
                _ => bests[at].unsure += 1,
            }
        }
    }
    bests.sort_by_key(|best| std::cmp::Reverse((best.cases(), best.counts())));
    // Contenders with equal numbers are named together: none of them ends up among the unnamed others.
    let groups: Vec<&[Best]> = bests.chunk_by(|one, other| one.counts() == other.counts()).collect();
    let said = groups.iter().take(NAMED).enumerate();
    let said: Vec<String> = said.map(|(at, group)| in_words(group, styles, ranked.len(), at == 0)).collect();
    let others = if groups.len() > NAMED { "; others no more often" } else { "" };
    format!("{}{others}.{rest}", said.join("; "))
}

/// Sentence on a run in which no case ranks two contenders. It says what the sentences on the cases say.
fn of_no_contest(cases: &[Case], styles: &Styles) -> String {
    let names = cases.iter().flat_map(|case| case.ranking.iter().flatten());
    let alone = distinct(names.map(|name| styles.title(name)));
    match (&alone[..], cases) {
        ([], _) => "Nothing could be ranked.".to_owned(),
        (_, [case]) => of_case(case, styles),
        ([one], _) => format!("Only {one} could be ranked, and so is compared with nobody."),
        (several, _) => format!("In no case could two be ranked: {} could, each without a rival.", list(several)),
    }
}

/// Numbers of cases in which a contender was in the first group.
#[derive(Default)]
struct Best {
    name: String,
    /// Cases in which all others are shown to be worse.
    alone: usize,
    /// Cases in which others are not told apart from it.
    shared: usize,
    /// Cases in which it is alone in its group and others are undecided.
    unsure: usize,
}

impl Best {
    fn cases(&self) -> usize {
        self.alone + self.shared + self.unsure
    }

    fn counts(&self) -> (usize, usize, usize) {
        (self.alone, self.shared, self.unsure)
    }
}

/// Words for contenders that are best, or share the first place, in equally many cases.
fn in_words(group: &[Best], styles: &Styles, all: usize, is_first: bool) -> String {
    let titles: Vec<String> = group.iter().map(|best| styles.title(&best.name)).collect();
    let (alone, shared, unsure) = group.first().map(Best::counts).unwrap_or_default();
    let kinds = match group.len() {
        1 => ["is best in", "shares the first place in", "is first by its median, with others undecided, in"],
        _ => [
            "are each best in",
            "each share the first place in",
            "are each first by their median, with others undecided, in",
        ],
    };
    let some = [alone, shared, unsure].into_iter().zip(kinds).filter(|(count, _)| *count > 0).enumerate();
    let said: Vec<String> = some
        .map(|(at, (count, is))| match at {
            0 if is_first && count == all => format!("{is} all {all} cases"),
            0 if is_first => format!("{is} {count} of {all} cases"),
            0 => format!("{is} {count}"),
            _ => format!("{is} {count} more"),
        })
        .collect();
    format!("{} {}", list(&titles), said.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_case::case;

    #[test]
    fn wins_ties_and_nothing() {
        let styles = Styles::default();
        let said = |case: &Case| of_case(case, &styles).replace('\u{202f}', " ");
        let rate = case("requests_per_s", &[("a", &[200.0, 200.0]), ("b", &[100.0, 100.0])], &[&["a"], &["b"]]);
        assert_eq!(said(&rate), "a is best with 200 requests/s, 2.00× as much as b.");
        let p99 = case("p99_ms", &[("a", &[2.0]), ("b", &[6.0]), ("c", &[6.1])], &[&["a"], &["b", "c"]]);
        assert_eq!(said(&p99), "a is best with 2.00 ms; b (c not told apart from it) has 3.00× as much.");
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
            "a is best in 3 of 4 cases and shares the first place in 1 more; b shares the first place in 1."
        );
        assert_eq!(of_run(&Summary::default(), &styles), "Nothing could be ranked.");
    }

    #[test]
    fn winners_of_a_use_are_named_with_how_sure_that_is() {
        let of = |names: &[&str], is_open: bool| {
            let winners = names.iter().map(|name| (*name).to_owned()).collect();
            of_use(&Verdict { winners, is_open, ..Verdict::default() }, &Styles::default())
        };
        assert_eq!([of(&["a"], false), of(&["a"], true)], ["a", "a (by its median alone)"]);
        assert_eq!(of(&["a", "b"], false), "a and b (not told apart)");
        assert_eq!(of(&["a", "b"], true), "a and b (not told apart, and others undecided)");
        assert_eq!(of(&[], true), "nobody");
    }

    #[test]
    fn what_a_run_says_of_one_that_alone_was_ranked_is_what_its_cases_say() {
        let styles = Styles::default();
        let of = |names: &[&str]| {
            let alone = |name: &&str| case("p99_ms", &[(*name, &[2.0])], &[&[*name]]);
            let nobody = || case("p99_ms", &[("x", &[])], &[]);
            let cases: Vec<Case> = names.iter().map(alone).collect();
            let only = of_run(&Summary { cases: cases.clone(), ..Summary::default() }, &styles);
            let cases = cases.into_iter().chain([nobody()]).collect();
            (only.replace('\u{202f}', " "), of_run(&Summary { cases, ..Summary::default() }, &styles))
        };
        let only = "Only a could be ranked, and so is compared with nobody.".to_owned();
        assert_eq!(of(&["a"]), ("Only a could be ranked: 2.00 ms.".to_owned(), only.clone()));
        assert_eq!(of(&["a", "a"]), (only.clone(), only));
        let both = "In no case could two be ranked: a and b could, each without a rival.".to_owned();
        assert_eq!(of(&["a", "b"]), (both.clone(), both));
    }

    #[test]
    fn of_a_run_in_which_some_cases_rank_nobody_their_number_is_said() {
        let styles = Styles::default();
        let both = Case {
            title: "Page".into(),
            ..case("p99_ms", &[("a", &[2.0, 2.0]), ("b", &[6.0, 6.0])], &[&["a"], &["b"]])
        };
        let alone = case("p99_ms", &[("a", &[2.0])], &[&["a"]]);
        let run = |cases: &[&Case]| {
            let cases = cases.iter().map(|case| (*case).clone()).collect();
            of_run(&Summary { cases, ..Summary::default() }, &styles).replace('\u{202f}', " ")
        };
        assert_eq!(
            run(&[&both, &alone]),
            "Page: a is best with 2.00 ms; b has 3.00× as much. In 1 of 2 cases fewer than two are ranked."
        );
        let of_four = run(&[&both, &both, &alone, &alone]);
        assert_eq!(of_four, "a is best in all 2 cases. In 2 of 4 cases fewer than two are ranked.");
    }

    #[test]
    fn who_is_undecided_shares_no_place_and_is_not_beaten() {
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
            "best and near each share the first place in all 2 cases."
        );
    }

    #[test]
    fn all_who_are_best_equally_often_are_named() {
        let styles = Styles::default();
        let level = |names: &[&str]| {
            let numbers: Vec<(&str, &[f64])> = names.iter().map(|name| (*name, &[9.0][..])).collect();
            case("requests_per_s", &numbers, &[names])
        };
        let run = |cases: &[Case]| of_run(&Summary { cases: cases.to_vec(), ..Summary::default() }, &styles);
        let five = ["a", "b", "c", "d", "e"];
        let all = run(&[level(&five), level(&five)]);
        assert_eq!(all, "a, b, c, d and e each share the first place in all 2 cases.");
        let some = run(&[level(&five), level(&five[..4]), level(&five[..3]), level(&five[..2])]);
        assert_eq!(
            some,
            "a and b each share the first place in all 4 cases; c shares the first place in 3; d shares the first \
             place in 2; others no more often."
        );
    }
}
