//! Checks the rule against its promise: how often two equal servers are found different, and how often a true
//! difference is found. Simulated with fixed seeds, without a clock.

use super::*;
use crate::stats::SeededRng;

const TRIALS: usize = 1500;
/// First and last look, as in the recipes of studies.
const FIRST_LOOK: usize = 3;
const LAST_LOOK: usize = 10;

/// Distribution of the figures of rounds around the truth.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal(f64),
    /// Some rounds meet a machine that stalls, and the figure drops far.
    Stalls(f64),
    /// Two exponential tails, as of a load that shares its machine.
    HeavyTails(f64),
}

impl Noise {
    /// Error of a figure's logarithm.
    fn draw(self, rng: &mut SeededRng) -> f64 {
        match self {
            Noise::Normal(cv) => normal(rng) * cv,
            Noise::Stalls(cv) if rng.fraction() < 0.15 => normal(rng) * cv - rng.fraction() * cv * 6.0,
            Noise::Stalls(cv) => normal(rng) * cv,
            Noise::HeavyTails(cv) => (rng.fraction().ln() - rng.fraction().ln()) * cv / std::f64::consts::SQRT_2,
        }
    }
}

/// Number of contenders and families of cases in a study.
const CONTENDERS: usize = 8;
const FAMILIES: usize = 7;
/// Part of a machine's slow change that is left one turn later: with turns of half a minute, half of it after half an
/// hour.
const LEFT: f64 = 0.989;

/// A machine that slowly becomes faster and slower.
struct DriftingMachine {
    /// Present error of logarithms of figures.
    off: f64,
    /// Standard deviation of that error.
    drift: f64,
}

impl DriftingMachine {
    fn new(drift: f64, rng: &mut SeededRng) -> DriftingMachine {
        DriftingMachine { off: normal(rng) * drift, drift }
    }

    /// Error this many turns later.
    fn after(&mut self, turns: usize, rng: &mut SeededRng) -> f64 {
        let left = LEFT.powi(turns as i32);
        self.off = self.off * left + normal(rng) * self.drift * (1.0 - left * left).sqrt();
        self.off
    }
}

/// Order of turns in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// All contenders have their turns in a family before the next one begins: as `study/run.rs` does.
    ByFamily,
    /// A contender has all families before the next one begins.
    ByContender,
}

/// Order of turns, and the drift of the machine.
#[derive(Debug, Clone, Copy)]
struct StudySetting {
    order: Order,
    drift: f64,
}

const OF_STUDIES: StudySetting = StudySetting { order: Order::ByFamily, drift: 0.15 };
const BY_CONTENDER: StudySetting = StudySetting { order: Order::ByContender, drift: 0.15 };
const CALM: StudySetting = StudySetting { order: Order::ByFamily, drift: 0.0 };

/// Figures of two servers after each round, of which the first has `truth` times the figure of the second. Other
/// contenders stand between them, in random order.
fn rounds(setting: StudySetting, rng: &mut SeededRng, noise: Noise, truth: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut machine = DriftingMachine::new(setting.drift, rng);
    let turns_between = if setting.order == Order::ByFamily { 1 } else { FAMILIES };
    for _ in 0..LAST_LOOK {
        let mut places: Vec<usize> = (0..CONTENDERS).collect();
        rng.shuffle(&mut places);
        let (first, second) = (places[0].min(places[1]), places[0].max(places[1]));
        let early = machine.after(first * turns_between, rng);
        let late = machine.after((second - first) * turns_between, rng);
        machine.after(CONTENDERS * FAMILIES - second * turns_between, rng);
        let (of_a, of_b) = if places[0] < places[1] { (early, late) } else { (late, early) };
        a.push((truth.ln() + of_a + noise.draw(rng)).exp() * 1000.0);
        b.push((of_b + noise.draw(rng)).exp() * 1000.0);
    }
    (a, b)
}

fn normal(rng: &mut SeededRng) -> f64 {
    (-2.0 * rng.fraction().ln()).sqrt() * (std::f64::consts::TAU * rng.fraction()).cos()
}

fn standing(a: &[f64], b: &[f64]) -> Standing {
    ratio(&Spread::of(a).unwrap(), &Spread::of(b).unwrap()).unwrap().standing()
}

/// Percentage of pairs that are found different, with a fixed number of rounds.
fn told_apart(setting: StudySetting, noise: Noise, truth: f64, count: usize) -> f64 {
    let mut rng = SeededRng::from_seed(count as u64 + 1);
    let apart = (0..TRIALS).filter(|_| {
        let (a, b) = rounds(setting, &mut rng, noise, truth);
        standing(&a[..count], &b[..count]) == Standing::Apart
    });
    apart.count() as f64 / TRIALS as f64 * 100.0
}

/// The same with a look after each round until it is decided or the rounds are used up; and the mean number of rounds.
fn told_apart_by_looks(setting: StudySetting, noise: Noise, truth: f64) -> (f64, f64) {
    let mut rng = SeededRng::from_seed(9);
    let mut apart = 0;
    let mut took = 0;
    for _ in 0..TRIALS {
        let (a, b) = rounds(setting, &mut rng, noise, truth);
        let decided = (FIRST_LOOK..=LAST_LOOK).find(|count| standing(&a[..*count], &b[..*count]) != Standing::Open);
        let count = decided.unwrap_or(LAST_LOOK);
        apart += usize::from(standing(&a[..count], &b[..count]) == Standing::Apart);
        took += count;
    }
    (apart as f64 / TRIALS as f64 * 100.0, took as f64 / TRIALS as f64)
}

const NOISES: [Noise; 7] = [
    Noise::Normal(0.02),
    Noise::Normal(0.05),
    Noise::Normal(0.10),
    Noise::Normal(0.20),
    Noise::Stalls(0.05),
    Noise::Stalls(0.15),
    Noise::HeavyTails(0.10),
];

#[test]
fn twins_are_told_apart_in_less_than_5_of_100_pairs() {
    for setting in [OF_STUDIES, CALM] {
        for noise in NOISES {
            for count in [2, 3, 5, LAST_LOOK] {
                let wrong = told_apart(setting, noise, 1.0, count);
                assert!(wrong <= 5.0, "{setting:?}, {noise:?}, {count} rounds: {wrong} %");
            }
            let (wrong, _) = told_apart_by_looks(setting, noise, 1.0);
            assert!(wrong <= 5.0, "{setting:?}, {noise:?}, looked at after each round: {wrong} %");
        }
    }
}

/// Of tables in which all contenders are equal: the percentage of comparisons with the best that find a difference, and
/// that of tables in which any does. The best has the highest median. Undecided contenders get further rounds, and the
/// best with them, as `study/run.rs` does.
fn told_apart_from_the_best(contenders: usize, noise: Noise, trials: usize) -> (f64, f64) {
    let mut rng = SeededRng::from_seed(contenders as u64);
    let (mut pairs, mut tables) = (0, 0);
    for _ in 0..trials {
        let mut figures: Vec<Vec<(u32, f64)>> = vec![Vec::new(); contenders];
        let mut open: Vec<usize> = (0..contenders).collect();
        let mut apart = 0;
        for round in 1..=LAST_LOOK {
            for one in &open {
                figures[*one].push((round as u32, noise.draw(&mut rng).exp() * 1000.0));
            }
            if round < FIRST_LOOK {
                continue;
            }
            let spreads: Vec<Spread> = figures.iter().map(|list| Spread::of_rounds(list).unwrap()).collect();
            let by_median = |a: &usize, b: &usize| spreads[*a].median.total_cmp(&spreads[*b].median);
            let best = (0..contenders).max_by(by_median).unwrap();
            let found = |one: &usize| ratio(&spreads[*one], &spreads[best]).unwrap().standing();
            let others = || (0..contenders).filter(|one| *one != best);
            apart = others().filter(|one| found(one) == Standing::Apart).count();
            open = others().filter(|one| found(one) == Standing::Open).collect();
            if open.is_empty() {
                break;
            }
            open.push(best);
        }
        pairs += apart;
        tables += usize::from(apart > 0);
    }
    let percent = |count: usize, of: usize| count as f64 / of as f64 * 100.0;
    (percent(pairs, trials * (contenders - 1)), percent(tables, trials))
}

/// METHOD gives these numbers.
#[test]
fn in_a_table_of_many_equals_more_are_told_apart_from_the_best() {
    for (contenders, pairs_most, tables) in [(2, 6.0, 1.0..7.0), (8, 7.5, 18.0..38.0), (18, 10.0, 45.0..72.0)] {
        let (of_pairs, of_tables) = told_apart_from_the_best(contenders, Noise::Normal(0.1), 300);
        assert!(of_pairs <= pairs_most, "{contenders} contenders: {of_pairs} % of comparisons");
        assert!(tables.contains(&of_tables), "{contenders} contenders: {of_tables} % of tables");
    }
}

#[test]
fn slow_changes_of_the_machine_tell_no_equals_apart_and_hide_more_the_further_apart_the_turns_are() {
    let both = [OF_STUDIES, BY_CONTENDER];
    let equals = both.map(|setting| told_apart(setting, Noise::Normal(0.03), 1.0, 5));
    assert!(equals.iter().all(|percent| *percent <= 5.0), "{equals:?}");
    let tenth = both.map(|setting| told_apart(setting, Noise::Normal(0.03), 1.1, 5));
    assert!(tenth[0] > 2.0 * tenth[1], "{tenth:?}");
}

#[test]
fn a_true_tenth_is_seen_more_often_with_more_rounds() {
    for noise in [Noise::Normal(0.03), Noise::Normal(0.05), Noise::Stalls(0.03), Noise::HeavyTails(0.05)] {
        let power: Vec<f64> = [3, 5, 7, LAST_LOOK].map(|count| told_apart(OF_STUDIES, noise, 1.1, count)).into();
        assert!(power.windows(2).all(|two| two[0] < two[1]), "{noise:?}: {power:?}");
        assert!(power[3] > 50.0, "{noise:?}: {power:?}");
    }
}

#[test]
fn a_large_difference_ends_early_and_a_twin_does_not_take_for_ever() {
    let (seen, took) = told_apart_by_looks(OF_STUDIES, Noise::Normal(0.05), 1.5);
    assert!(seen > 99.0 && took < 5.0, "{seen} % in {took} rounds");
    let (_, took) = told_apart_by_looks(CALM, Noise::Normal(0.005), 1.0);
    assert!(took < 4.0, "two quiet equals are found level in {took} rounds");
}

#[test]
fn a_ratio_is_of_rounds_that_both_have() {
    let a = Spread::of_rounds(&[(1, 20.0), (2, 60.0), (4, 1000.0)]).unwrap();
    let b = Spread::of_rounds(&[(2, 30.0), (1, 10.0), (3, 1.0)]).unwrap();
    let found = ratio(&a, &b).unwrap();
    assert!((found.median - 2.0).abs() < 1e-9 && found.rounds == 2, "{found:?}");
    assert_eq!(ratio(&a, &Spread::of_rounds(&[(9, 1.0)]).unwrap()), None);
}

#[test]
fn one_round_tells_nothing_apart_and_equals_are_level() {
    let of = |numbers: &[f64]| Spread::of(numbers).unwrap();
    let one = ratio(&of(&[900.0]), &of(&[100.0])).unwrap();
    assert_eq!((one.standing(), one.low, one.high), (Standing::Open, 0.0, f64::INFINITY));
    assert_eq!(standing(&[7.0, 8.0], &[7.0, 8.0]), Standing::Level);
    assert_eq!(standing(&[100.0, 110.0, 90.0], &[50.0, 55.0, 45.0]), Standing::Apart, "half of it in each round");
    assert!(!are_apart(&of(&[f64::MAX, 1.0]), &of(&[1.0, f64::MAX])));
}

#[test]
fn counts_of_0_are_compared_all_the_same() {
    assert_eq!(standing(&[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]), Standing::Level);
    assert_eq!(standing(&[0.0, 0.0, 0.0], &[1000.0, 1200.0, 900.0]), Standing::Apart);
    assert_eq!(standing(&[0.0, 1.0, 0.0], &[0.0, 0.0, 0.0]), Standing::Open);
    assert_eq!(ratio(&Spread::of(&[-1.0]).unwrap(), &Spread::of(&[1.0]).unwrap()), None);
}

/// METHOD has this example, and a reader who followed its rule without the factor of √(3 / 2) got another interval.
#[test]
fn an_interval_of_three_rounds_is_the_one_that_is_worked_out_in_method() {
    let of = |numbers: &[f64]| Spread::of(numbers).unwrap();
    // The order of the rounds does not matter.
    let found = ratio(&of(&[1200.0, 1500.0, 1100.0]), &of(&[1000.0; 3])).unwrap();
    let [low, middle, high] = [1.1_f64, 1.2, 1.5].map(f64::ln);
    let mean = (7.0 * low + 13.0 * middle + 7.0 * high) / 27.0;
    let variance = (7.0 * (low - mean).powi(2) + 13.0 * (middle - mean).powi(2) + 7.0 * (high - mean).powi(2)) / 27.0;
    let half = 6.965 * (variance * 3.0 / 2.0).sqrt();
    assert!((found.low - (middle - half).exp()).abs() < 1e-9, "{found:?}");
    assert!((found.high - (middle + half).exp()).abs() < 1e-9, "{found:?}");
    let shown = [0.2176, 0.01363, 0.996, 0.44, 3.25];
    let worked_out = [mean, variance, half, found.low, found.high];
    for (shown, number) in shown.into_iter().zip(worked_out) {
        assert!((number - shown).abs() < shown * 0.01, "{shown}: {number}");
    }
    assert!((found.median - 1.2).abs() < 1e-9, "{found:?}");
}

#[test]
fn resamples_are_counted_whole() {
    for count in [2, 3, 4, 5, 10, 31, 100] {
        let sum: f64 = middles(count).iter().map(|(_, _, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{count}: {sum}");
    }
    // Of three: the smallest is the median of a resample when two or three of the draws are it, 7 of 27.
    assert!((middles(3)[0].2 - 7.0 / 27.0).abs() < 1e-12);
    // Of two: one of the four resamples is the first number twice.
    assert!(middles(2).iter().any(|(i, j, share)| (*i, *j) == (0, 0) && (share - 0.25).abs() < 1e-12));
}

#[test]
fn the_other_way_round_is_the_inverse() {
    let mut rng = SeededRng::from_seed(3);
    for _ in 0..500 {
        let count = 1 + rng.below(9);
        let mut list = || -> Vec<f64> { (0..count).map(|_| 1.0 + rng.fraction() * 9.0).collect() };
        let (a, b) = (Spread::of(&list()).unwrap(), Spread::of(&list()).unwrap());
        let there = ratio(&a, &b).unwrap();
        let back = ratio(&b, &a).unwrap();
        assert!((there.median * back.median - 1.0).abs() < 1e-9 && there.standing() == back.standing());
        assert!(there.low <= there.median && there.median <= there.high);
        assert!(ratio(&a, &a).unwrap().standing() != Standing::Apart);
    }
}
