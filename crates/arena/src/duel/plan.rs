//! Durations of turns, rounds and heats, in the full and the quick form and within a budget of time. Pure.

use super::strain::{BEYOND, BEYOND_LEAST};

/// Seconds of a turn that are neither load nor the start of the server: checks and exit. A first guess, which the clock
/// corrects while the duel runs.
const AROUND_S: f64 = 1.5;
/// Seconds to learn from one contender, without its start.
pub const CAPTURE_S: f64 = 4.0;
/// Seconds for the probe of the reference, without its start.
pub const PROBE_S: f64 = 6.0;

/// Finalists beside the best of each server. With all contenders the rounds would take hours; the heats show how slow
/// the others are.
pub const MORE_FINALISTS: usize = 3;

/// Mean number of requests of a load at the user's rate, at least: at a low rate these loads are longer than others.
const REQUESTS_LEAST: f64 = 20.0;
/// Most seconds of a load at the user's rate that is longer than others for the sake of enough requests.
const LONGEST_S: f64 = 200.0;
/// Lowest rate, in requests per second, that a duel can measure: with it the longest load has just enough requests.
pub const RATE_LEAST: f64 = REQUESTS_LEAST / LONGEST_S;

/// Least number of answers that a client gets, one after the other, in a load at full speed: pages may take seconds.
const ANSWERS_LEAST: f64 = 3.0;

/// Rounds that a duel needs for a twin.
const TWIN_ROUNDS: u32 = 3;

/// Planned durations and counts of a duel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelPlan {
    /// Settings tried of each contender, at most.
    pub settings: usize,
    /// Seconds of load for each setting in the first heat.
    pub first_heat_s: f64,
    /// Seconds of load for the best two settings of each contender; 0 where the first heat decides.
    pub second_heat_s: f64,
    /// Most seconds of a warm-up.
    pub warm_s: f64,
    /// Seconds at full load in each turn of a round.
    pub capacity_s: f64,
    /// Seconds at each share of capacity.
    pub open_s: f64,
    /// Number of shares of capacity at which latency is measured.
    pub loads: usize,
    /// Number of rounds; each finalist has one turn in a round.
    pub rounds: u32,
    /// Seconds within which an answer must come while there is no load.
    pub answer_s: f64,
    /// Seconds between the passes over all requests from which the answers are learned: more than a second, so that
    /// pages that show the time differ.
    pub apart_s: f64,
    /// Loads at the user's rate; `None` where no rate is known.
    pub traffic: Option<AtRate>,
}

/// Loads at the user's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtRate {
    /// The rate in requests per second.
    pub per_s: f64,
    /// Number of smaller machines that are tried, each as a part of this machine's processors.
    pub smaller: usize,
}

/// What of a duel is still to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remaining {
    /// Contenders that are tried with several settings.
    pub contenders: usize,
    /// Those of them from which nothing has been learned yet.
    pub unlearned: usize,
    /// Contenders in the rounds, at most.
    pub finalists: usize,
    /// Whether the reference has been probed.
    pub is_probed: bool,
    /// Mean seconds from the start of a server to its first answer.
    pub start_s: f64,
}

/// Words for a rate below [`RATE_LEAST`], which cannot be measured.
pub fn too_low() -> String {
    format!("below {RATE_LEAST}/s even a load of {LONGEST_S} s has fewer than {REQUESTS_LEAST} requests")
}

impl DuelPlan {
    /// The full form, whose figures are to be relied on.
    pub const FULL: DuelPlan = DuelPlan {
        settings: 5,
        first_heat_s: 5.0,
        second_heat_s: 10.0,
        warm_s: 10.0,
        capacity_s: 10.0,
        open_s: 10.0,
        loads: 3,
        rounds: 5,
        answer_s: 10.0,
        apart_s: 1.1,
        traffic: None,
    };

    /// The quick form, which shows that everything works.
    pub const QUICK: DuelPlan = DuelPlan {
        settings: 2,
        first_heat_s: 1.5,
        second_heat_s: 0.0,
        warm_s: 1.5,
        capacity_s: 2.5,
        open_s: 2.5,
        loads: 3,
        rounds: 2,
        answer_s: 10.0,
        apart_s: 1.1,
        traffic: None,
    };

    /// The longest plan that is not longer than this one and with which all that remains fits into these seconds. An
    /// error is the number of seconds that would be enough.
    pub fn within(self, remaining: &Remaining, left_s: f64) -> Result<DuelPlan, f64> {
        let needs = |plan: &DuelPlan| plan.seconds(remaining);
        let ladder = self.ladder();
        let shortest = ladder.iter().map(needs).fold(f64::INFINITY, f64::min);
        ladder.into_iter().find(|plan| needs(plan) <= left_s).ok_or(shortest)
    }

    /// Ever shorter plans: first less of each load, then fewer rounds, then fewer settings.
    fn ladder(self) -> Vec<DuelPlan> {
        let mut plans = vec![self];
        let mut plan = self;
        let mut step = |change: &dyn Fn(&mut DuelPlan)| {
            change(&mut plan);
            plans.push(plan);
        };
        for seconds in [7.0, 5.0] {
            step(&|plan| {
                plan.capacity_s = plan.capacity_s.min(seconds);
                plan.open_s = plan.open_s.min(seconds);
                plan.warm_s = plan.warm_s.min(seconds);
                plan.second_heat_s = plan.second_heat_s.min(seconds);
            });
        }
        step(&|plan| plan.rounds = plan.rounds.min(3));
        step(&|plan| (plan.second_heat_s, plan.first_heat_s) = (0.0, plan.first_heat_s.min(3.0)));
        step(&|plan| plan.settings = plan.settings.min(3));
        step(&|plan| {
            plan.capacity_s = plan.capacity_s.min(3.0);
            plan.open_s = plan.open_s.min(3.0);
            plan.warm_s = plan.warm_s.min(3.0);
        });
        step(&|plan| plan.rounds = plan.rounds.min(2));
        step(&|plan| plan.settings = plan.settings.min(2));
        step(&|plan| (plan.first_heat_s, plan.rounds) = (plan.first_heat_s.min(1.5), 1));
        plans
    }

    /// Seconds of all that remains of the duel.
    pub fn seconds(&self, remaining: &Remaining) -> f64 {
        let Remaining { contenders, unlearned, finalists, is_probed, start_s } = *remaining;
        let unprobed = usize::from(!is_probed);
        let second_heats = if self.second_heat_s > 0.0 { 2 * contenders } else { 0 };
        let first_heats = contenders * self.settings;
        let rounds = self.rounds as usize;
        let starts = unlearned + unprobed + first_heats + second_heats + rounds * self.turns_in_round(finalists);
        let turns_s = (self.turn_s() + self.traffic_s()) * (rounds * (finalists + usize::from(self.has_twin()))) as f64;
        let heats_s =
            self.heat_s(self.first_heat_s) * first_heats as f64 + self.heat_s(self.second_heat_s) * second_heats as f64;
        CAPTURE_S * unlearned as f64 + PROBE_S * unprobed as f64 + heats_s + turns_s + start_s * starts as f64
    }

    /// Turns in one round: the twin has turns of its own, and with a rate each has a second turn at that rate.
    pub fn turns_in_round(&self, finalists: usize) -> usize {
        (finalists + usize::from(self.has_twin())) * (1 + usize::from(self.traffic.is_some()))
    }

    /// Seconds of a turn at the user's rate, on smaller machines, and beyond that rate until something breaks, without
    /// the server's start; 0 without a rate.
    pub fn traffic_s(&self) -> f64 {
        let Some(AtRate { smaller, .. }) = self.traffic else { return 0.0 };
        let loads_s = (1 + smaller) as f64 * self.at_rate_s(1) + self.at_rate_s(2);
        AROUND_S + self.heat_warm_s() + loads_s + BEYOND as f64 * self.at_rate_s(BEYOND_LEAST)
    }

    /// Seconds of a load at this multiple of the user's rate. Beyond twice the rate it only has to show what breaks.
    pub fn at_rate_s(&self, times: u32) -> f64 {
        let usual = if times > 2 { self.open_s / 2.0 } else { self.open_s };
        let Some(AtRate { per_s, .. }) = self.traffic else { return usual };
        // With fewer requests, chance alone would decide, or there would be none at all.
        let long_enough = (REQUESTS_LEAST / (per_s * f64::from(times))).ceil();
        usual.max(long_enough.min(LONGEST_S))
    }

    /// The same plan for pages that take this many seconds: a load at full speed may be over before the first of them
    /// is answered.
    pub fn for_answers_of(self, answer_s: f64) -> DuelPlan {
        let least_s = (answer_s * ANSWERS_LEAST * 10.0).ceil() / 10.0;
        let longer = |seconds: f64| if seconds > 0.0 { seconds.max(least_s.clamp(0.0, LONGEST_S)) } else { seconds };
        DuelPlan {
            first_heat_s: longer(self.first_heat_s),
            second_heat_s: longer(self.second_heat_s),
            capacity_s: longer(self.capacity_s),
            ..self
        }
    }

    /// Whether a twin takes part: one or two rounds are too few to show false differences.
    pub fn has_twin(&self) -> bool {
        self.rounds >= TWIN_ROUNDS
    }

    /// Seconds of a turn in a round, without the server's start.
    pub fn turn_s(&self) -> f64 {
        AROUND_S + self.warm_s + self.capacity_s + self.loads as f64 * self.open_s
    }

    /// Seconds of a turn in a heat with `load_s` seconds of load, without the server's start.
    pub fn heat_s(&self, load_s: f64) -> f64 {
        AROUND_S + self.heat_warm_s() + load_s
    }

    /// Seconds of warming up in a heat: shorter than in a round, since a heat only sorts out.
    pub fn heat_warm_s(&self) -> f64 {
        self.warm_s.min(3.0)
    }
}

/// Estimate of the time left: the planned time, corrected by how much longer than planned everything has taken so far.
/// It is at most what is left of the budget, after which a duel begins no round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Clock {
    planned_s: f64,
    budget_s: Option<f64>,
    done_s: f64,
    took_s: f64,
}

impl Clock {
    /// A clock for a plan of this many seconds, and for a budget of seconds if there is one.
    pub fn new(planned_s: f64, budget_s: Option<f64>) -> Clock {
        Clock { planned_s, budget_s, ..Clock::default() }
    }

    /// Sets the planned seconds that are still to come.
    pub fn replan(&mut self, rest_s: f64) {
        self.planned_s = self.done_s + rest_s;
    }

    /// Records that something planned for `planned_s` seconds took `took_s`.
    pub fn done(&mut self, planned_s: f64, took_s: f64) {
        self.done_s += planned_s;
        self.took_s += took_s;
    }

    /// Estimated seconds until the end.
    pub fn left_s(&self) -> f64 {
        let slowness = if self.done_s > 0.0 { self.took_s / self.done_s } else { 1.0 };
        let left_s = (self.planned_s - self.done_s).max(0.0) * slowness;
        self.budget_s.map_or(left_s, |budget_s| left_s.min((budget_s - self.took_s).max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole duel, of servers that start in this time.
    fn whole(contenders: usize, finalists: usize, start_s: f64) -> Remaining {
        Remaining { contenders, unlearned: contenders, finalists, is_probed: false, start_s }
    }

    #[test]
    fn the_quick_form_of_two_is_well_under_two_minutes() {
        let seconds = DuelPlan::QUICK.seconds(&whole(2, 2, 1.0));
        assert!(seconds < 105.0, "{seconds}");
    }

    #[test]
    fn a_budget_holds_the_turns_at_the_users_rate_too() {
        let wished = DuelPlan { traffic: Some(AtRate { per_s: 120.0, smaller: 1 }), ..DuelPlan::FULL };
        let two = whole(2, 2, 1.0);
        assert!(wished.seconds(&two) > DuelPlan::FULL.seconds(&two) + 2.0 * 5.0 * 40.0);
        for minutes in [5.0, 15.0, 60.0] {
            let plan = wished.within(&two, minutes * 60.0).unwrap();
            assert!(plan.seconds(&two) <= minutes * 60.0 && plan.traffic.is_some(), "{minutes}: {plan:?}");
        }
        assert_eq!((wished.turns_in_round(2), DuelPlan::FULL.turns_in_round(2)), (6, 3));
    }

    #[test]
    fn at_a_low_rate_a_load_is_long_enough_for_some_requests() {
        let at = |per_s: f64| DuelPlan { traffic: Some(AtRate { per_s, smaller: 1 }), ..DuelPlan::FULL };
        let loads_s = |per_s: f64| [1, 2, 4, 256].map(|times| at(per_s).at_rate_s(times));
        assert_eq!(loads_s(120.0), [10.0, 10.0, 5.0, 5.0]);
        assert_eq!(loads_s(0.7), [29.0, 15.0, 8.0, 5.0]);
        assert_eq!(loads_s(RATE_LEAST), [200.0, 100.0, 50.0, 5.0]);
        // The time that it takes is planned.
        assert!(at(RATE_LEAST).traffic_s() > 500.0 && at(0.7).traffic_s() < 120.0);
        assert_eq!(too_low(), "below 0.1/s even a load of 200 s has fewer than 20 requests");
    }

    #[test]
    fn a_load_at_full_speed_is_long_enough_for_slow_pages() {
        assert_eq!(DuelPlan::FULL.for_answers_of(0.01), DuelPlan::FULL);
        assert_eq!(DuelPlan::QUICK.for_answers_of(f64::NAN), DuelPlan::QUICK);
        let slow = DuelPlan::QUICK.for_answers_of(2.01);
        assert_eq!((slow.first_heat_s, slow.second_heat_s, slow.capacity_s, slow.open_s), (6.1, 0.0, 6.1, 2.5));
    }

    #[test]
    fn budgets_are_kept_or_refused_with_what_it_takes() {
        let three = whole(3, 4, 1.0);
        for minutes in [3.0, 5.0, 10.0, 30.0, 120.0] {
            let plan = DuelPlan::FULL.within(&three, minutes * 60.0).unwrap();
            assert!(plan.seconds(&three) <= minutes * 60.0 && plan.rounds >= 1, "{minutes}: {plan:?}");
        }
        assert_eq!(DuelPlan::FULL.within(&three, 7200.0).unwrap(), DuelPlan::FULL);
        assert!(DuelPlan::FULL.within(&three, 600.0).unwrap().rounds >= 2);
        let enough = DuelPlan::FULL.within(&whole(9, 10, 1.0), 60.0).unwrap_err();
        assert!(DuelPlan::FULL.within(&whole(9, 10, 1.0), enough).is_ok(), "{enough}");
        assert!(DuelPlan::QUICK.within(&whole(2, 2, 1.0), 120.0).is_ok());
    }

    #[test]
    fn every_start_of_a_server_takes_its_time() {
        let plan = DuelPlan { settings: 4, rounds: 3, ..DuelPlan::FULL };
        let longer =
            |remaining: Remaining| plan.seconds(&Remaining { start_s: 10.0, ..remaining }) - plan.seconds(&remaining);
        // Two to learn from, one of them probed; four settings and the better two of each; three rounds with a twin.
        assert_eq!(longer(whole(2, 2, 0.0)), 10.0 * f64::from(2 + 1 + 2 * 4 + 2 * 2 + 3 * 3));
        let learned = Remaining { unlearned: 0, is_probed: true, ..whole(2, 2, 0.0) };
        assert_eq!(longer(learned), 10.0 * f64::from(2 * 4 + 2 * 2 + 3 * 3));
        assert_eq!(plan.seconds(&whole(2, 2, 0.0)) - plan.seconds(&learned), 2.0 * CAPTURE_S + PROBE_S);
        // With a rate each has two turns in a round.
        let at_rate = DuelPlan { traffic: Some(AtRate { per_s: 9.0, smaller: 0 }), second_heat_s: 0.0, ..plan };
        let slow = Remaining { start_s: 10.0, ..learned };
        assert_eq!(at_rate.seconds(&slow) - at_rate.seconds(&learned), 10.0 * f64::from(2 * 4 + 3 * 3 * 2));
        // What fits with quick starts does not with slow ones.
        let budget_s = DuelPlan::FULL.seconds(&whole(3, 4, 1.0));
        assert_eq!(DuelPlan::FULL.within(&whole(3, 4, 1.0), budget_s), Ok(DuelPlan::FULL));
        let shorter = DuelPlan::FULL.within(&whole(3, 4, 20.0), budget_s).unwrap();
        assert!(shorter.seconds(&whole(3, 4, 20.0)) <= budget_s && shorter != DuelPlan::FULL, "{shorter:?}");
    }

    #[test]
    fn each_step_of_the_ladder_is_shorter() {
        for wished in [DuelPlan::FULL, DuelPlan::QUICK] {
            let seconds: Vec<f64> = wished.ladder().iter().map(|plan| plan.seconds(&whole(3, 4, 1.0))).collect();
            assert!(seconds.windows(2).all(|two| two[1] <= two[0]), "{seconds:?}");
        }
    }

    #[test]
    fn the_clock_learns_how_slow_everything_is() {
        let mut clock = Clock::new(100.0, None);
        assert_eq!(clock.left_s(), 100.0);
        clock.done(10.0, 20.0);
        assert_eq!(clock.left_s(), 180.0);
        clock.replan(45.0);
        assert_eq!(clock.left_s(), 90.0);
        clock.done(100.0, 1.0);
        assert_eq!(clock.left_s(), 0.0);
    }

    #[test]
    fn no_more_time_is_left_than_the_budget_has() {
        let mut clock = Clock::new(100.0, Some(120.0));
        clock.done(30.0, 90.0);
        assert_eq!(clock.left_s(), 30.0);
        clock.done(10.0, 90.0);
        assert_eq!(clock.left_s(), 0.0);
    }
}
