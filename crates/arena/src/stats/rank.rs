//! Rankings in groups: those in one group do not differ significantly from its leader.

use super::{Standing, ratio};
use crate::record::summary::{Case, Spread};
use loadgen::metric::{Direction, Metric};

/// Ranking of a case by its first metric, of contenders with right answers and few failures.
pub fn ranking_of(case: &Case) -> Vec<Vec<String>> {
    let Some(metric) = case.metrics.first().and_then(|name| Metric::of(name)) else { return Vec::new() };
    if case.has_merit(metric) { ranking_by(case, metric) } else { Vec::new() }
}

/// Ranking of a case by any metric.
pub fn ranking_by(case: &Case, metric: &Metric) -> Vec<Vec<String>> {
    let list = case.figures(metric.name).map(|(name, spread)| (name.to_owned(), spread.clone()));
    ranking(list.collect(), metric.direction)
}

/// Ranks figures, best first. The first group is the best one and all that are not told apart from it; the next groups
/// are made in the same way of those that remain. So the first group has exactly those whose interval beside the best
/// says so, wherever their medians stand. Figures that are not finite are left out. A metric without a good direction
/// ranks none: all are in one group.
pub fn ranking(list: Vec<(String, Spread)>, direction: Direction) -> Vec<Vec<String>> {
    let is_of_rounds = |spread: &Spread| spread.is_sound() && !spread.all.is_empty();
    let mut list: Vec<(String, Spread)> = list.into_iter().filter(|(_, spread)| is_of_rounds(spread)).collect();
    match direction {
        Direction::Higher => list.sort_by(|a, b| b.1.median.total_cmp(&a.1.median)),
        Direction::Lower => list.sort_by(|a, b| a.1.median.total_cmp(&b.1.median)),
        Direction::Plain if list.is_empty() => return Vec::new(),
        Direction::Plain => return vec![list.into_iter().map(|(name, _)| name).collect()],
    }
    let mut groups = Vec::new();
    while let Some((_, leader)) = list.first().cloned() {
        let (group, rest): (Vec<_>, Vec<_>) =
            list.into_iter().partition(|(_, spread)| !better(&leader, spread, direction));
        groups.push(group.into_iter().map(|(name, _)| name).collect());
        list = rest;
    }
    groups
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
        let groups = ranking(list.clone(), Direction::Higher);
        assert_eq!(groups, [vec!["first", "second"], vec!["third"], vec!["slow"]], "third is level with second only");
        assert_eq!(ranking(list.clone(), Direction::Lower)[0], ["slow"]);
        assert_eq!(ranking(list, Direction::Plain).len(), 1);
        assert_eq!(ranking(Vec::new(), Direction::Higher), Vec::<Vec<String>>::new());
        assert_eq!(ranking(Vec::new(), Direction::Plain), Vec::<Vec<String>>::new());
    }

    /// What decides is the interval that is shown, and not where the median stands.
    #[test]
    fn who_is_not_told_apart_from_the_best_is_level_with_it_behind_one_that_is() {
        let list = vec![
            entry("best", &[100.0, 101.0, 99.0]),
            entry("steady", &[80.0, 80.8, 79.2]),
            entry("noisy", &[70.0, 200.0, 30.0]),
        ];
        assert_eq!(ranking(list, Direction::Higher), [vec!["best", "noisy"], vec!["steady"]]);
    }

    #[test]
    fn everybody_is_ranked_once_whatever_the_order() {
        let mut rng = SeededRng::from_seed(5);
        for _ in 0..300 {
            let count = rng.below(9);
            let mut list: Vec<_> = (0..count)
                .map(|at| entry(&at.to_string(), &[1.0, 1.2, 1.1].map(|more| more * rng.fraction() * 100.0)))
                .collect();
            let groups = ranking(list.clone(), Direction::Lower);
            rng.shuffle(&mut list);
            assert_eq!(groups, ranking(list, Direction::Lower));
            assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), count);
            assert!(groups.iter().all(|group| !group.is_empty()));
        }
    }
}
