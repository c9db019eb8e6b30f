//! Compares each figure of a case with the best one: the ratio that decides whether they differ, with its interval.
//! Pages show this ratio beside a median, in agreement with what they print in bold.

use super::{Place, Ranking, Ratio, meaningful_ratio, place, ranking_by};
use crate::record::summary::{Case, Spread};
use loadgen::metric::{Direction, Metric};

/// The figures of a case in one metric, compared with the best.
#[derive(Debug, Clone)]
pub struct Beside<'a> {
    /// Ranking of the contenders.
    ranking: Ranking,
    direction: Direction,
    /// Figures by contender.
    figures: Vec<(&'a str, &'a Spread)>,
}

impl<'a> Beside<'a> {
    /// Compares the figures of a case. There is no best one for a metric without a good direction, for failures, or
    /// where a tool has rounded a time to 0, which is no measurement.
    pub fn of(case: &'a Case, metric: &Metric) -> Beside<'a> {
        let is_merit = case.tells_better(metric);
        let figures: Vec<(&str, &Spread)> = case.figures(metric.name).collect();
        let is_measured = !metric.name.ends_with("_ms") || figures.iter().all(|(_, spread)| spread.median > 0.0);
        let ranking = if is_merit && is_measured { ranking_by(case, metric) } else { Ranking::default() };
        Beside { ranking, direction: metric.direction, figures }
    }

    /// Whether this contender is the best or shares its rank. False for every contender if none is shown to be worse.
    pub fn is_best(&self, name: &str) -> bool {
        let first = self.ranking.groups.first().filter(|_| self.ranking.tells());
        first.is_some_and(|group| group.iter().any(|one| one == name))
    }

    /// Whether this contender is not shown to be worse than the best, and does not share its rank.
    pub fn is_undecided(&self, name: &str) -> bool {
        let best = self.first().and_then(|first| self.figure(first));
        let both = best.zip(self.figure(name));
        both.is_some_and(|(best, own)| place(best, own, self.direction) == Place::Undecided)
    }

    /// Whether this contender is the best one, with which the others are compared.
    pub fn is_first(&self, name: &str) -> bool {
        self.first().is_some_and(|first| first == name)
    }

    /// Ratio of a contender's figure to that of the best. `None` for the best itself, for contenders that are not
    /// ranked, with one round, which has no interval, and where a 0 makes a ratio meaningless.
    pub fn ratio(&self, name: &str) -> Option<Ratio> {
        let first = self.first().filter(|first| *first != name)?;
        let own = self.figure(name)?;
        let best = self.figure(first)?;
        meaningful_ratio(own, best).filter(|ratio| ratio.rounds > 1)
    }

    /// Interval of a contender's ratio to the best, as figures of the metric: multiplied by the median of the best.
    pub fn interval(&self, name: &str) -> Option<(f64, f64)> {
        let ratio = self.ratio(name)?;
        let best = self.best()?;
        Some((ratio.low * best, ratio.high * best))
    }

    /// Median of the best one; `None` if the others are not compared with it.
    pub fn best(&self) -> Option<f64> {
        let first = self.figure(self.first()?)?;
        let is_alone = self.ranking.groups.iter().flatten().count() < 2;
        (!is_alone && first.all.len() > 1).then_some(first.median)
    }

    fn first(&self) -> Option<&str> {
        Some(self.ranking.groups.first()?.first()?.as_str())
    }

    fn figure(&self, name: &str) -> Option<&'a Spread> {
        self.figures.iter().find(|(one, _)| *one == name).map(|(_, spread)| *spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Standing;

    fn of(name: &str) -> &'static Metric {
        Metric::of(name).unwrap()
    }

    #[test]
    fn who_is_bold_is_not_told_apart_by_the_ratio_that_is_shown() {
        let figures: [(&str, &[f64]); 4] = [
            ("near", &[96.0, 99.0, 97.0]),
            ("best", &[100.0, 101.0, 99.0]),
            ("wild", &[50.0, 120.0, 90.0]),
            ("slow", &[50.0, 51.5, 49.5]),
        ];
        let case = Case::of("requests_per_s", &figures);
        let beside = Beside::of(&case, of("requests_per_s"));
        for (name, _) in figures {
            let is_level = beside.ratio(name).is_none_or(|ratio| ratio.standing() != Standing::Apart);
            assert_eq!(beside.is_best(name), is_level, "{name}: {:?}", beside.ratio(name));
        }
        // Its interval is so wide that the difference is not significant. That does not make it as good.
        let figures: [(&str, &[f64]); 3] =
            [("best", &[100.0, 101.0, 99.0]), ("unknown", &[10.0, 120.0, 30.0]), ("slow", &[50.0, 51.5, 49.5])];
        let unknown = Case::of("requests_per_s", &figures);
        let unknown = Beside::of(&unknown, of("requests_per_s"));
        assert!(unknown.ratio("unknown").is_some_and(|ratio| ratio.standing() != Standing::Apart));
        assert!(unknown.is_best("best") && !unknown.is_best("unknown"));
        let undecided = |name: &str| unknown.is_undecided(name);
        assert_eq!(["best", "unknown", "slow", "nobody"].map(undecided), [false, true, false, false]);
        let alone = Case::of("requests_per_s", &figures[..2]);
        assert!(!Beside::of(&alone, of("requests_per_s")).is_best("best"), "nobody is shown to be worse");
        assert!(beside.is_first("best") && beside.ratio("best").is_none() && beside.best() == Some(100.0));
        let (low, high) = beside.interval("slow").unwrap();
        assert!(low < 50.0 && 50.0 < high && high < 60.0, "{low} {high}");
    }

    #[test]
    fn where_no_interval_is_there_is_no_ratio() {
        let once = Case::of("p99_ms", &[("a", &[1.0]), ("b", &[2.0])]);
        let beside = Beside::of(&once, of("p99_ms"));
        assert!(beside.ratio("b").is_none() && beside.best().is_none() && !beside.is_best("a"));
        let rounded = Case::of("p99_ms", &[("a", &[0.0, 0.0]), ("b", &[2.0, 2.0])]);
        assert!(Beside::of(&rounded, of("p99_ms")).ratio("b").is_none());
        let swapped = Case::of("swap_mib", &[("a", &[0.0, 0.0, 0.0]), ("b", &[20.0, 21.0, 22.0])]);
        let beside = Beside::of(&swapped, of("swap_mib"));
        assert!(beside.ratio("b").is_none() && beside.is_best("a") && !beside.is_best("b"));
        for metric in ["failed", "requests"] {
            let case = Case::of(metric, &[("a", &[1.0, 2.0]), ("b", &[20.0, 21.0])]);
            assert!(Beside::of(&case, of(metric)).best().is_none(), "{metric}");
        }
    }

    #[test]
    fn what_is_no_merit_in_a_case_has_no_best() {
        let figures: [(&str, &[f64]); 2] = [("a", &[8.0, 8.0, 8.0]), ("b", &[9.0, 9.0, 9.0])];
        let mut case = Case::of("elapsed_s", &figures);
        assert!(Beside::of(&case, of("elapsed_s")).is_best("a"));
        case.without_merit = vec!["elapsed_s".into()];
        let beside = Beside::of(&case, of("elapsed_s"));
        assert!(!beside.is_best("a") && beside.best().is_none() && beside.ratio("b").is_none());
    }

    #[test]
    fn who_is_not_ranked_stands_beside_nobody() {
        let mut case = Case::of("p99_ms", &[("a", &[1.0, 1.0, 1.0]), ("b", &[3.0, 3.0, 3.0]), ("c", &[0.1, 0.1, 0.1])]);
        case.results[2].not_compared = Some("at another time".into());
        let beside = Beside::of(&case, of("p99_ms"));
        assert!(beside.ratio("c").is_none() && beside.is_best("a"));
        assert!((beside.ratio("b").unwrap().median - 3.0).abs() < 1e-9);
    }
}
