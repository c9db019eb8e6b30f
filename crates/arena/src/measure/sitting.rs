//! Finds samples that were measured at another time than the rest of their round. Contenders are compared round by
//! round because in one round the machine was in the same state for all; a sample of another time, which has only the
//! number of the round, is compared with no other. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::summary::{Case, Measured, Spread};
use crate::record::{Sample, date};

/// Seconds between two samples of a round above which they do not belong together. Stops, starts, checks, warm-ups and
/// the load that divides a request's time take two minutes at most between two samples; more is an interruption, or a
/// round joined from several runs.
pub const GAP_MOST_S: i64 = 600;

/// A sample taken at another time than most of its round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Name of the case.
    pub case: String,
    /// Name of the contender.
    pub contender: String,
    /// Number of the round.
    pub round: u32,
    /// Seconds between it and the others.
    pub away_s: i64,
}

/// A sample with its time, in seconds since 1970.
struct Taken<'a> {
    begin: i64,
    end: i64,
    sample: &'a Sample,
}

/// Finds the strays of all rounds. A sample without a start time counts as one of its round.
pub fn strays(samples: &[Sample]) -> Vec<Stray> {
    let rounds: BTreeSet<u32> = samples.iter().map(|sample| sample.round).collect();
    rounds.into_iter().flat_map(|round| of_round(samples.iter().filter(|one| one.round == round))).collect()
}

fn of_round<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<Stray> {
    let taken = samples.filter_map(|sample| {
        let begin = date::seconds(&sample.started)?;
        Some(Taken { begin, end: begin + sample.took_s.max(0.0).ceil() as i64, sample })
    });
    let mut taken: Vec<Taken> = taken.collect();
    taken.sort_by_key(|one| one.begin);
    let mut sittings: Vec<Vec<Taken>> = Vec::new();
    let mut end = i64::MIN;
    for one in taken {
        let goes_on = one.begin.saturating_sub(end) <= GAP_MOST_S;
        end = end.max(one.end);
        match sittings.last_mut() {
            Some(sitting) if goes_on => sitting.push(one),
            _ => sittings.push(vec![one]),
        }
    }
    let most = sittings.iter().map(Vec::len).max().unwrap_or(0);
    let Some(main) = sittings.iter().position(|sitting| sitting.len() == most) else { return Vec::new() };
    let main = sittings.remove(main);
    let (Some(first), Some(last)) = (main.first(), main.iter().map(|one| one.end).max()) else { return Vec::new() };
    let stray = |one: &Taken| Stray {
        case: one.sample.case.clone(),
        contender: one.sample.contender.clone(),
        round: one.sample.round,
        away_s: (one.begin - last).max(first.begin - one.end),
    };
    sittings.iter().flatten().filter(|one| one.sample.is_timed()).map(stray).collect()
}

/// Removes the figures of strays from a case. A contender that has only such figures keeps them and is compared with no
/// other. Does nothing for strays that have been removed before.
pub fn leave_out(case: &mut Case, strays: &[Stray]) {
    let own: Vec<&Stray> = strays.iter().filter(|stray| stray.case == case.name).collect();
    for result in case.results.iter_mut().chain(&mut case.twin) {
        let own: Vec<&&Stray> = own.iter().filter(|stray| stray.contender == result.contender).collect();
        if !own.is_empty() && result.not_compared.is_none() {
            without(result, &own);
        }
    }
}

fn without(result: &mut Measured, strays: &[&&Stray]) {
    let rounds: BTreeSet<u32> = strays.iter().map(|stray| stray.round).collect();
    let is_there = |spread: &Spread| spread.by_round().any(|(round, _)| rounds.contains(&round));
    if !result.numbers.values().any(is_there) {
        return;
    }
    let minutes = strays.iter().map(|stray| stray.away_s).max().unwrap_or_default() / 60;
    let in_time = |spread: &Spread| {
        let kept: Vec<(u32, f64)> = spread.by_round().filter(|(round, _)| !rounds.contains(round)).collect();
        Spread::of_rounds(&kept)
    };
    let kept = result.numbers.iter().filter_map(|(name, spread)| Some((name.clone(), in_time(spread)?)));
    let kept: BTreeMap<String, Spread> = kept.collect();
    if kept.is_empty() {
        let why = format!("measured up to {minutes} min apart from the others, and so compared with nobody");
        result.remarks.push(why.clone());
        result.not_compared = Some(why);
        return;
    }
    result.numbers = kept;
    let all: Vec<String> = rounds.iter().map(u32::to_string).collect();
    let (what, it) = if all.len() == 1 { ("round", "it is") } else { ("rounds", "they are") };
    result.remarks.push(format!(
        "{what} {} measured up to {minutes} min apart from the others of that time: {it} left out",
        all.join(", ")
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::measured;
    use crate::stats::rank;
    use loadgen::metric::RATE;

    fn sample(contender: &str, round: u32, minute: u64, rate: f64) -> Sample {
        let started = date::written(1_000_000_000 + minute * 60);
        Sample { case: "c".into(), round, started, took_s: 60.0, ..Sample::of(contender, &[(RATE, rate)]) }
    }

    /// Two contenders in two rounds one after the other, and a third one later.
    fn run(later: [u64; 2]) -> Vec<Sample> {
        vec![
            sample("a", 1, 0, 100.0),
            sample("b", 1, 2, 50.0),
            sample("late", 1, later[0], 900.0),
            sample("a", 2, 8, 101.0),
            sample("b", 2, 10, 51.0),
            sample("late", 2, later[1], 905.0),
        ]
    }

    fn case(samples: &[Sample]) -> Case {
        let of = |name: &str| measured(name, &samples.iter().filter(|one| one.contender == name).collect::<Vec<_>>());
        let mut case = Case {
            name: "c".into(),
            metrics: vec![RATE.into()],
            results: ["a", "b", "late"].map(of).into(),
            ..Case::default()
        };
        leave_out(&mut case, &strays(samples));
        rank(&mut case);
        case
    }

    #[test]
    fn what_was_measured_an_hour_later_is_compared_with_nobody() {
        let samples = run([60, 70]);
        let mut found = case(&samples);
        assert!(!found.ranking.iter().flatten().any(|name| name == "late"), "{:?}", found.ranking);
        let late = found.results[2].clone();
        assert_eq!(late.numbers[RATE].all, [900.0, 905.0], "its figures stay");
        assert!(late.remarks[0].contains("59 min apart") && late.not_compared.is_some(), "{late:?}");
        leave_out(&mut found, &strays(&samples));
        assert_eq!(found.results[2], late, "it is not said twice");
    }

    #[test]
    fn one_round_of_another_time_is_left_out_and_the_others_count() {
        let samples = run([4, 70]);
        let mut found = case(&samples);
        let late = found.results[2].clone();
        assert_eq!((&late.numbers[RATE].all, late.not_compared.as_ref()), (&vec![900.0], None));
        assert!(late.remarks[0].starts_with("round 2 measured up to 59 min apart"), "{late:?}");
        assert!(found.ranking.iter().flatten().any(|name| name == "late"));
        leave_out(&mut found, &strays(&samples));
        assert_eq!(found.results[2], late, "it is not said twice");
    }

    #[test]
    fn a_run_without_a_pause_has_none() {
        assert!(strays(&run([4, 12])).is_empty());
        let silent = Sample { started: String::new(), ..sample("a", 1, 0, 1.0) };
        assert!(strays(&[silent, sample("b", 1, 900, 1.0)]).is_empty());
        assert!(strays(&[]).is_empty());
    }
}
