//! A whole run: starts the services, measures in rounds, stores every sample at once, and makes the summary at the end.
//! In a round each family of cases is measured on all contenders before the next one, both in random order, so that two
//! contenders run a case as close in time as possible. An interrupted run is resumed where it stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::contest::{Facts, Keep, Turn, TurnContext, can};
use super::context::Context;
use super::ladder::capacity_by;
use super::plan::{Plan, PlannedCase, divided_s};
use super::ready::{Present, ReadyRun, present};
use super::recipe::{Entry, Study};
use super::services::Services;
use super::summarize::{self, MeasuredRun};
use super::watcher::Watcher;
use crate::record::folder::Folder;
use crate::record::machine;
use crate::record::summary::{NOT_STOPPED, Who};
use crate::record::{Sample, TWIN};
use loadgen::K6Here;

impl ReadyRun<'_> {
    /// Runs the study, or what is left of it, into this folder.
    pub fn run(self, folder: &Folder, watcher: &dyn Watcher) -> Result<(), String> {
        let since = Instant::now();
        let machine = self.machine(folder);
        let ReadyRun { asked, study, context, plan, who, twin, left_out } = self;
        // A resumed run must find the same contenders.
        folder.write_who(&who)?;
        let app = context.apps.join(&study.app);
        let app_there = context.environment.bring(&app)?;
        let logs = folder.logs();
        let services = Services::start(&study.services, context.environment, &app_there, &logs)?;
        let common = TurnContext {
            study,
            plan: &plan,
            environment: context.environment,
            app: &app,
            env: &services.env,
            logs: &logs,
            k6: asked.k6.clone().map(|version| K6Here::with(version, folder.path().join("k6"))),
        };
        let rounds = Rounds {
            common: &common,
            folder,
            watcher,
            present: present_with_twin(study, context, &who, twin.as_ref()),
            twin_of: twin.as_ref().map(|(_, of)| of.as_str()),
            who,
            done: Done::of(&folder.samples()?.0, folder.is_whole()),
        };
        let who = rounds.measure()?;
        drop(services);
        let samples = folder.samples()?.0;
        let measured_s: f64 = samples.iter().map(|sample| sample.took_s).sum();
        let measured = MeasuredRun {
            asked,
            study,
            plan: &plan,
            context,
            who,
            twin_of: twin.map(|(_, of)| of),
            machine,
            samples: &samples,
            took_s: since.elapsed().as_secs_f64().max(measured_s),
        };
        let mut summary = measured.summary();
        summary.notes.extend(left_out);
        folder.write_summary(&summary)
    }

    /// Facts of the machine at the beginning of the run, also when the run is resumed or summarized again.
    fn machine(&self, folder: &Folder) -> Vec<(String, String)> {
        if let Ok(earlier) = folder.read_summary() {
            return earlier.machine;
        }
        self.asked.origin.as_ref().map_or_else(machine::facts, |origin| origin.machine.clone())
    }
}

/// Installed contenders, and after them the twin, if there is one.
fn present_with_twin<'a>(
    study: &'a Study,
    context: &Context<'a>,
    who: &[Who],
    twin: Option<&'a (Entry, String)>,
) -> Vec<Present<'a>> {
    let mut all = present(study, context, who);
    let of_twin = twin.and_then(|(entry, of)| {
        let original = all.iter().find(|one| one.entry.name() == of)?;
        Some(Present { entry, recipe: original.recipe })
    });
    all.extend(of_twin);
    all
}

/// The rounds of a run, each with the turns of all contenders in all families of cases.
struct Rounds<'a> {
    common: &'a TurnContext<'a>,
    folder: &'a Folder,
    watcher: &'a dyn Watcher,
    /// Installed contenders, with the twin.
    present: Vec<Present<'a>>,
    /// Name of the twin's original.
    twin_of: Option<&'a str>,
    /// What is known of each contender.
    who: Vec<Who>,
    done: Done,
}

impl<'a> Rounds<'a> {
    /// Measures what is left of all rounds, until nothing is undecided or no more rounds are allowed. Returns what is
    /// known of the contenders then.
    fn measure(mut self) -> Result<Vec<Who>, String> {
        let plan = self.common.plan;
        let names: Vec<&'a str> = self.present.iter().map(|one| one.entry.name()).filter(|one| *one != TWIN).collect();
        self.watcher.begins(first_rounds_s(plan, &self.present, &self.done));
        for round in 1..=plan.effort.most() {
            let earlier: Vec<Sample> =
                self.folder.samples()?.0.into_iter().filter(|sample| sample.round < round).collect();
            let question = RoundQuestion::of(round, self.common.study, plan, &names, self.twin_of, &earlier);
            if question.is_answered() {
                break;
            }
            let is_about = |case: &PlannedCase, name: &str| question.is_about(case, name);
            let left = RemainingWork { plan, round, is_about: &is_about };
            if let Some(words) = question.in_words(round) {
                self.watcher.said(&words);
                self.watcher.begins(left.seconds(&self.present, &self.done));
            }
            for family in plan.order_of_families(round) {
                let slowest = question.slowest.get(&plan.families[family].recipe.name).copied();
                let order = plan.order(round, family, self.present.len());
                for at in &order {
                    self.load(&left, family, self.present[*at], slowest)?;
                }
                // After the loads of all contenders, which are then closer to each other in time.
                for at in &order {
                    self.divide(&left, family, self.present[*at])?;
                }
            }
        }
        Ok(self.who)
    }

    /// Loads a contender with the cases of a family that are left. `slowest` is the capacity of the family's slowest
    /// contender.
    fn load(&mut self, left: &RemainingWork, family: usize, one: Present, slowest: Option<f64>) -> Result<(), String> {
        let cases = left.to_load(family, &one, &self.done);
        self.turn(left.round, family, one, cases, slowest, |turn, keep, watcher| turn.run(keep, watcher))
    }

    /// Divides the time of a contender's requests, in the cases of a family for which that is left.
    fn divide(&mut self, left: &RemainingWork, family: usize, one: Present) -> Result<(), String> {
        let cases = left.to_divide(family, &one, &self.done);
        self.turn(left.round, family, one, cases, None, |turn, keep, watcher| turn.divide(keep, watcher))
    }

    /// Runs a turn in these cases of a family, if there are any, and stores its samples and facts.
    fn turn(
        &mut self,
        round: u32,
        family: usize,
        one: Present,
        cases: Vec<&PlannedCase>,
        slowest: Option<f64>,
        run: impl FnOnce(&Turn, &mut Keep, &dyn Watcher) -> Result<Facts, String>,
    ) -> Result<(), String> {
        if cases.is_empty() {
            return Ok(());
        }
        let family = &self.common.plan.families[family];
        let Present { entry, recipe } = one;
        let capacity = self.done.rate(&family.recipe.name, entry.name(), round);
        let turn = Turn { common: self.common, entry, recipe, family, cases, slowest, capacity, round };
        let mut keep = |sample: Sample| self.folder.append(&sample).map(|()| self.done.note(&sample));
        let facts = run(&turn, &mut keep, self.watcher)?;
        note_facts(&mut self.who, entry.name(), facts);
        self.folder.write_who(&self.who)
    }
}

/// What a round must decide: which contenders it measures in which families.
struct RoundQuestion<'a> {
    /// Undecided families and contenders; `None` in the rounds in which everything is measured.
    open: Option<BTreeSet<(String, String)>>,
    /// Capacity of the slowest contender, by family.
    slowest: BTreeMap<String, f64>,
    twin_of: Option<&'a str>,
}

impl<'a> RoundQuestion<'a> {
    /// Derives the question from the samples of earlier rounds.
    fn of(
        round: u32,
        study: &Study,
        plan: &Plan,
        names: &[&str],
        twin_of: Option<&'a str>,
        earlier: &[Sample],
    ) -> RoundQuestion<'a> {
        let open = (round > plan.effort.rounds).then(|| summarize::open(study, plan, names, earlier));
        RoundQuestion { open, slowest: summarize::slowest(plan, earlier), twin_of }
    }

    fn is_answered(&self) -> bool {
        self.open.as_ref().is_some_and(BTreeSet::is_empty)
    }

    fn is_about(&self, case: &PlannedCase, contender: &str) -> bool {
        // A rate that is the same for all is known only when all capacities are.
        if case.slowest_pct > 0 && !self.slowest.contains_key(&case.family) {
            return false;
        }
        // A twin has its turns with its original.
        let name = if contender == TWIN { self.twin_of.unwrap_or(contender) } else { contender };
        self.open.as_ref().is_none_or(|open| open.contains(&(case.family.clone(), name.to_owned())))
    }

    fn in_words(&self, round: u32) -> Option<String> {
        let open = self.open.as_ref()?;
        let families = open.iter().map(|(family, _)| family).collect::<BTreeSet<_>>().len();
        let count = open.iter().map(|(_, name)| name).collect::<BTreeSet<_>>().len();
        let cases = if families == 1 { "case" } else { "cases" };
        Some(format!("round {round}: {count} contenders in {families} {cases} are neither told apart nor level yet"))
    }
}

/// Case, contender and round.
type Key = (String, String, u32);

/// What has been measured, before an interruption or since.
#[derive(Default)]
struct Done {
    /// Loads that were made or tried, each with the capacity that it shows ([`capacity_by`]).
    loaded: BTreeMap<Key, Option<f64>>,
    /// Loads that gave figures.
    with_numbers: BTreeSet<Key>,
    divided: BTreeSet<Key>,
    /// Whether the run had finished and is only summarized again: nothing more is measured then.
    is_whole: bool,
}

impl Done {
    fn of(samples: &[Sample], is_whole: bool) -> Done {
        let mut done = Done { is_whole, ..Done::default() };
        samples.iter().for_each(|sample| done.note(sample));
        done
    }

    fn note(&mut self, sample: &Sample) {
        let key = (sample.case.clone(), sample.contender.clone(), sample.round);
        if !sample.is_timed() {
            self.divided.insert(key);
            return;
        }
        if !sample.numbers.is_empty() {
            self.with_numbers.insert(key.clone());
        }
        let is_void = sample.numbers.is_empty() && sample.disqualified.is_none();
        self.loaded.insert(key, capacity_by(&sample.numbers, is_void));
    }

    fn rate(&self, case: &str, contender: &str, round: u32) -> Option<f64> {
        self.loaded.get(&(case.to_owned(), contender.to_owned(), round)).copied().flatten()
    }
}

/// Work that is left in a round.
struct RemainingWork<'a> {
    plan: &'a Plan,
    round: u32,
    /// Whether the round measures this case on the contender of this name.
    is_about: &'a dyn Fn(&PlannedCase, &str) -> bool,
}

impl<'a> RemainingWork<'a> {
    /// Cases of a family that a contender has still to run, in the order of the round.
    fn to_load(&self, family: usize, one: &Present, done: &Done) -> Vec<&'a PlannedCase> {
        // Its study may have got a case since.
        if done.is_whole {
            return Vec::new();
        }
        let mut cases = self.plan.order_of_cases(self.round, family);
        cases.retain(|case| {
            let is_done = done.loaded.contains_key(&self.key(case, one));
            can(case.tool, one.recipe) && (self.is_about)(case, one.entry.name()) && !is_done
        });
        cases
    }

    /// Whether the time of a contender's requests is divided. Not in further rounds, which are for what is undecided;
    /// nor for a twin, which repeats its original, or for one that takes minutes to warm up.
    fn is_divided(&self, one: &Present) -> bool {
        let is_soon_warm = self.plan.warm_up_s(one.entry) <= self.plan.effort.warm_up_s;
        self.round <= self.plan.effort.rounds && one.entry.name() != TWIN && is_soon_warm
    }

    /// Cases that were loaded and whose time is still to be divided.
    fn to_divide(&self, family: usize, one: &Present, done: &Done) -> Vec<&'a PlannedCase> {
        if !self.is_divided(one) || done.is_whole {
            return Vec::new();
        }
        let mut cases = self.plan.order_of_cases(self.round, family);
        cases.retain(|case| {
            let key = self.key(case, one);
            case.divided_s().is_some() && done.with_numbers.contains(&key) && !done.divided.contains(&key)
        });
        cases
    }

    fn key(&self, case: &PlannedCase, one: &Present) -> Key {
        (case.name.clone(), one.entry.name().to_owned(), self.round)
    }

    /// Estimated seconds of the work that is left in the round.
    fn seconds(&self, present: &[Present], done: &Done) -> f64 {
        let of = |one: &Present, family: usize| {
            let loads = self.to_load(family, one, done);
            let is_divided = self.is_divided(one);
            // Cases loaded now are divided afterwards; those loaded before may have been left undivided.
            let before = self.to_divide(family, one, done);
            let divided = loads.iter().filter(|_| is_divided).chain(&before).copied();
            self.plan.turn_s(one.entry, loads.iter().copied()) + divided_s(divided)
        };
        let families = self.plan.families.len();
        present.iter().flat_map(|one| (0..families).map(move |family| of(one, family))).sum()
    }
}

/// Estimated seconds of the rounds in which everything is measured. The first of them has no loads at the slowest
/// contender's rate.
fn first_rounds_s(plan: &Plan, present: &[Present], done: &Done) -> f64 {
    let of = |round: u32| {
        let is_about = |case: &PlannedCase, _: &str| case.slowest_pct == 0 || round > 1;
        RemainingWork { plan, round, is_about: &is_about }.seconds(present, done)
    };
    (1..=plan.effort.rounds).map(of).sum()
}

fn note_facts(who: &mut [Who], name: &str, facts: Facts) {
    let Some(one) = who.iter_mut().find(|one| one.name == name) else { return };
    if let Some(counts) = facts.counts {
        (one.counted_workers, one.counted_threads) = (Some(counts.workers), Some(counts.threads));
    }
    if !facts.commands.is_empty() {
        one.commands = facts.commands;
    }
    one.notes.extend(facts.not_stopped.map(|why| format!("{NOT_STOPPED}{why}")));
}

/// The folder that contains apps/ and arena/, beside the program or its sources.
pub fn home() -> Result<PathBuf, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut places: Vec<PathBuf> = beside.ancestors().skip(1).map(Path::to_path_buf).collect();
    places.extend(std::env::current_dir());
    places.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let is_home = |place: &PathBuf| place.join("arena/contenders").is_dir() && place.join("apps").is_dir();
    let found = places.into_iter().find(is_home);
    found.ok_or_else(|| "the folders arena/ and apps/ are not here: run arena in its repository, or give --home".into())
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{RATE, REQUESTS};

    use super::*;

    #[test]
    fn a_capacity_that_was_not_measured_is_no_fault_of_the_server_after_an_interruption_either() {
        let rate_of = |numbers: &[(&str, f64)], disqualified: Option<&str>| {
            let (case, disqualified) = ("ladder".to_owned(), disqualified.map(str::to_owned));
            let sample = Sample { case, round: 1, disqualified, ..Sample::of("x", numbers) };
            Done::of(&[sample], false).rate("ladder", "x", 1)
        };
        assert_eq!(rate_of(&[(RATE, 7.0), (REQUESTS, 70.0)], None), Some(7.0));
        // A load that could not be made, and one that ended before its first answer came.
        assert_eq!((rate_of(&[], None), rate_of(&[(RATE, 0.0), (REQUESTS, 16.0)], None)), (Some(0.0), Some(0.0)));
        // One without an answer, and a server that did not start.
        let silent = [(RATE, 0.0), (REQUESTS, 0.0)];
        assert_eq!((rate_of(&silent, Some("no right answer")), rate_of(&[], Some("it ended"))), (None, None));
    }
}
