//! Rankings in groups: those in one group share the rank of its leader. One rule for ranks, verdicts and what is bold.

use super::{Standing, meaningful_ratio, ratio};
use crate::record::summary::{Case, Spread};
use loadgen::metric::{Direction, Metric};

/// Largest relative difference from the leader at which a contender may share its rank.
pub const AS_GOOD_PART: f64 = 0.25;

/// A ranking, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranking {
    /// Names in groups: those in one share the rank of its first.
    pub groups: Vec<Vec<String>>,
    /// Contenders whose place rests on their median alone, each in a group of its own: neither shown to be worse than
    /// the leader of a group nor within a quarter of it.
    pub undecided: Vec<String>,
}

impl Ranking {
    /// Whether any contender is shown to be worse than the best.
    pub fn tells(&self) -> bool {
        self.groups.len() > self.undecided.len() + 1
    }
}

/// Result of comparing a contender with the leader of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Not shown to be worse, and within a quarter.
    Shared,
    /// Shown to be worse.
    Worse,
    /// Neither shown to be worse nor within a quarter.
    Undecided,
}

/// Ranks a case by its first metric: the contenders with right answers and few failures.
pub fn rank(case: &mut Case) {
    let metric = case.metrics.first().and_then(|name| Metric::of(name)).filter(|metric| case.has_merit(metric));
    let found = metric.map(|metric| ranking_by(case, metric)).unwrap_or_default();
    (case.ranking, case.undecided) = (found.groups, found.undecided);
}

/// Ranking of a case by any metric.
pub fn ranking_by(case: &Case, metric: &Metric) -> Ranking {
    let list = case.figures(metric.name).map(|(name, spread)| (name.to_owned(), spread.clone()));
    ranking(list.collect(), metric.direction)
}

/// Ranks figures, best first. The first group is the best one and all that share its rank; the next groups are made
/// in the same way of those that are shown to be worse. The best one has the best median, unless another one is shown
/// to be better in the rounds that both have. An undecided contender is alone at the place of its median, behind the
/// leader with which it was compared, and no other is compared with it: one noisy contender does not make others
/// undecided. Figures that are not finite are left out. A metric without a good direction ranks none: all are in one
/// group.
pub fn ranking(list: Vec<(String, Spread)>, direction: Direction) -> Ranking {
    let is_of_rounds = |spread: &Spread| spread.is_sound() && !spread.all.is_empty();
    let mut list: Vec<(String, Spread)> = list.into_iter().filter(|(_, spread)| is_of_rounds(spread)).collect();
    let sign = match direction {
        Direction::Higher => -1.0,
        Direction::Lower => 1.0,
        Direction::Plain if list.is_empty() => return Ranking::default(),
        Direction::Plain => {
            let all = list.into_iter().map(|(name, _)| name).collect();
            return Ranking { groups: vec![all], undecided: Vec::new() };
        }
    };
    list.sort_by(|a, b| (sign * a.1.median).total_cmp(&(sign * b.1.median)));
    // With the median of its first one, by which a group has its place; it has none before an earlier leader.
    let mut groups: Vec<(f64, Vec<String>)> = Vec::new();
    let mut undecided = Vec::new();
    let mut least = f64::NEG_INFINITY;
    while !list.is_empty() {
        let at = leader_among(&list, direction);
        let (first, leader) = list.remove(at);
        least = least.max(sign * leader.median);
        let (mut shared, mut worse, mut alone) = (vec![first], Vec::new(), Vec::new());
        for (name, spread) in list {
            match place(&leader, &spread, direction) {
                Place::Shared => shared.push(name),
                Place::Worse => worse.push((name, spread)),
                Place::Undecided => alone.push((name, spread)),
            }
        }
        groups.push((least, shared));
        for (name, spread) in alone {
            groups.push((least.max(sign * spread.median), vec![name.clone()]));
            undecided.push(name);
        }
        list = worse;
    }
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ranking { groups: groups.into_iter().map(|(_, names)| names).collect(), undecided }
}

/// Index of the leader among figures that are sorted by their medians: the first one to which none is shown to be
/// better. Further rounds are for what is undecided, so that medians may be of other rounds; then the rounds in common
/// decide.
fn leader_among(list: &[(String, Spread)], direction: Direction) -> usize {
    let is_beaten = |one: &Spread| list.iter().any(|(_, other)| better(other, one, direction));
    list.iter().position(|(_, one)| !is_beaten(one)).unwrap_or(0)
}

/// First group after the best that is shown to be worse; undecided contenders are skipped.
pub fn next_worse<'a>(groups: &'a [Vec<String>], undecided: &[String]) -> Option<&'a Vec<String>> {
    groups.iter().skip(1).find(|group| !group.iter().any(|name| undecided.contains(name)))
}

/// Compares a figure with that of the leader. One round of both shows nothing of the distance: then a figure that is
/// not shown to be worse shares its rank. One of them with more rounds has been compared with others: that the two have
/// fewer than two rounds in common does not make this one as good. Where a 0 makes a ratio meaningless, only an equal
/// median is near.
pub fn place(leader: &Spread, spread: &Spread, direction: Direction) -> Place {
    if better(leader, spread, direction) {
        return Place::Worse;
    }
    let is_near = match meaningful_ratio(leader, spread) {
        Some(ratio) => ratio.median.ln().abs() <= AS_GOOD_PART.ln_1p(),
        None => leader.median.total_cmp(&spread.median).is_eq(),
    };
    let is_of_one_round = leader.rounds() < 2 && spread.rounds() < 2;
    if is_near || is_of_one_round { Place::Shared } else { Place::Undecided }
}

/// Whether the measurements show that the first one is better than the second.
pub fn better(one: &Spread, other: &Spread, direction: Direction) -> bool {
    let Some(ratio) = ratio(one, other).filter(|ratio| ratio.standing() == Standing::Apart) else { return false };
    match direction {
        Direction::Higher => ratio.median > 1.0,
        Direction::Lower => ratio.median < 1.0,
        Direction::Plain => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SeededRng;

    fn entry(name: &str, numbers: &[f64]) -> (String, Spread) {
        (name.to_owned(), Spread::of(numbers).unwrap_or(Spread { median: f64::NAN, ..Spread::default() }))
    }

    #[test]
    fn groups_follow_their_leaders() {
        let list = vec![
            entry("slow", &[50.0, 51.0, 49.0]),
            entry("second", &[96.0, 97.0, 95.0]),
            entry("first", &[100.0, 101.0, 99.0]),
            entry("third", &[92.0, 93.0, 91.0]),
            entry("nothing", &[]),
        ];
        let found = ranking(list.clone(), Direction::Higher);
        let groups = [vec!["first", "second"], vec!["third"], vec!["slow"]];
        assert_eq!(found.groups, groups, "third shares the rank of second only");
        assert!(found.tells() && found.undecided.is_empty());
        assert_eq!(ranking(list.clone(), Direction::Lower).groups[0], ["slow"]);
        assert_eq!(ranking(list, Direction::Plain).groups.len(), 1);
        assert_eq!(ranking(Vec::new(), Direction::Higher), Ranking::default());
        assert_eq!(ranking(Vec::new(), Direction::Plain), Ranking::default());
        assert!(!Ranking::default().tells());
    }

    /// As seen in a run that was shown: of 35 100 and 9730 requests/s both were first, since the second one's interval
    /// was 0.06 to 1.28.
    #[test]
    fn who_is_neither_worse_nor_within_a_quarter_is_undecided_and_has_the_place_of_its_median() {
        let list = vec![
            entry("best", &[100.0, 101.0, 99.0]),
            entry("steady", &[80.0, 80.8, 79.2]),
            entry("noisy", &[70.0, 200.0, 30.0]),
        ];
        let found = ranking(list, Direction::Higher);
        assert_eq!(found.groups, [["best"], ["steady"], ["noisy"]]);
        assert!(found.undecided == ["noisy"] && found.tells());
        // It leads no group: who is worse than the best is not undecided because of it.
        let list = vec![
            entry("best", &[100.0, 101.0, 99.0]),
            entry("noisy", &[70.0, 200.0, 30.0]),
            entry("steady", &[50.0, 50.5, 49.5]),
        ];
        let found = ranking(list, Direction::Higher);
        assert_eq!(found.groups, [["best"], ["noisy"], ["steady"]]);
        assert_eq!(found.undecided, ["noisy"]);
        // Where nobody is worse, nothing is told.
        let list = vec![entry("best", &[100.0, 101.0, 99.0]), entry("noisy", &[70.0, 200.0, 30.0])];
        assert!(!ranking(list, Direction::Higher).tells());
    }

    /// The machine became slower in the further rounds, in which the one that was told apart had no turn.
    #[test]
    fn where_medians_are_of_other_rounds_the_rounds_in_common_say_who_is_best() {
        let list = vec![
            entry("second", &[90.0, 90.9, 89.1]),
            entry("best", &[100.0, 101.0, 99.0, 70.0, 71.0, 69.0]),
            entry("level", &[98.0, 99.0, 97.0, 69.0, 70.0, 68.0]),
            entry("slow", &[40.0, 40.4, 39.6]),
        ];
        assert!(list[0].1.median > list[1].1.median);
        let found = ranking(list, Direction::Higher);
        assert_eq!(found.groups, [vec!["best", "level"], vec!["second"], vec!["slow"]]);
        assert!(found.undecided.is_empty() && found.tells());
    }

    #[test]
    fn one_round_says_nothing_of_a_distance_and_only_0_is_near_0() {
        let of = |one: &[f64], other: &[f64]| place(&entry("", one).1, &entry("", other).1, Direction::Lower);
        assert_eq!((of(&[1.0], &[9.0]), of(&[0.0], &[9.0])), (Place::Shared, Place::Shared));
        // As seen in a run: of 0 and 1133 failures, with too wide an interval, both were bold, and 135 were not.
        assert_eq!(of(&[0.0; 3], &[1978.0, 861.0, 1133.0]), Place::Undecided);
        assert_eq!((of(&[0.0; 3], &[0.0; 3]), of(&[0.0; 3], &[0.0, 0.0, 9.0])), (Place::Shared, Place::Shared));
        assert_eq!(of(&[0.0; 3], &[2000.0, 1900.0, 2100.0]), Place::Worse);
        assert_eq!(of(&[1.0; 3], &[2.0, 1.0, 9.0]), Place::Undecided);
    }

    /// As after an interruption: rounds that were measured at another time are left out.
    #[test]
    fn who_has_hardly_a_round_in_common_with_the_best_is_not_as_good_because_of_that() {
        let best = entry("", &[100.0, 101.0, 99.0]).1;
        let of = |rounds: &[(u32, f64)]| place(&best, &Spread::of_rounds(rounds).unwrap(), Direction::Higher);
        assert_eq!([of(&[(1, 10.0)]), of(&[(4, 10.0)]), of(&[(3, 9.0), (4, 10.0)])], [Place::Undecided; 3]);
        assert_eq!((of(&[(1, 96.0)]), of(&[(1, 50.0), (2, 50.5), (3, 49.5)])), (Place::Shared, Place::Worse));
    }

    #[test]
    fn everybody_is_ranked_once_whatever_the_order() {
        let mut rng = SeededRng::from_seed(5);
        for _ in 0..300 {
            let count = rng.below(9);
            let mut list: Vec<_> = (0..count)
                .map(|at| entry(&at.to_string(), &[1.0, 1.2, 1.1].map(|more| more * rng.fraction() * 100.0)))
                .collect();
            let found = ranking(list.clone(), Direction::Lower);
            rng.shuffle(&mut list);
            assert_eq!(found, ranking(list, Direction::Lower));
            assert_eq!(found.groups.iter().map(Vec::len).sum::<usize>(), count);
            assert!(found.groups.iter().all(|group| !group.is_empty()));
            assert!(found.undecided.iter().all(|name| found.groups.contains(&vec![name.clone()])));
        }
    }
}
