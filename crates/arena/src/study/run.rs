//! A whole run: the services, rounds of turns in random order, every sample kept at once, the summary at
//! the end. An interrupted run goes on where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::challenge::Challenge;
use super::contest::{Facts, Turn};
use super::effort::Effort;
use super::plan::{Case, Plan};
use super::published::Figures;
use super::ready::{Origin, Present, Ready, present};
use super::services::Services;
use super::summarize;
use crate::contender::Catalogue;
use crate::place::Place;
use crate::record::folder::Folder;
use crate::record::machine;
use crate::record::summary::{Summary, Who};
use crate::record::{Sample, TWIN};
use loadgen::K6Here;

/// What was asked for; kept in the run folder, so that the run can be resumed as it was meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The study.
    pub study: String,
    /// Its quick form.
    pub is_quick: bool,
    /// What it may take.
    pub effort: Effort,
    /// Only contenders with one of these words in their names; empty: all.
    pub only: Vec<String>,
    /// Only cases with one of these words in their names; empty: all.
    pub cases: Vec<String>,
    /// Makes the orders.
    pub seed: u64,
    /// The command line.
    pub command: String,
    /// What must be the same when it goes on; nothing in the folders of older programs.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// With k6 in the place of each case's own load, where it has one like it: its version.
    #[serde(default)]
    pub k6: Option<String>,
    /// What was loaded elsewhere and imported: the machine of the servers, in words.
    #[serde(default)]
    pub machine: Option<String>,
    /// A recipe that is not the arena's and takes part.
    #[serde(default)]
    pub challenge: Option<Challenge>,
}

/// Whoever watches a run.
pub trait Watcher {
    /// All of it may take so many seconds, of which so many have passed.
    fn begins(&self, seconds: f64, passed: f64);
    /// What is being done now.
    fn doing(&self, words: &str);
    /// Work of so many seconds is done or was left out.
    fn passed(&self, seconds: f64);
    /// Something that a person should know.
    fn said(&self, line: &str);
}

/// Where everything is.
pub struct Ground<'a> {
    /// Contenders' recipes.
    pub catalogue: &'a Catalogue,
    /// Where they come from.
    pub place: &'a Place,
    /// The folder apps/.
    pub apps: &'a Path,
    /// The original studies' figures.
    pub figures: &'a Figures,
}

impl Ready<'_> {
    /// Runs it into a folder, or what is left of it there.
    pub fn run(self, folder: &Folder, watcher: &dyn Watcher) -> Result<Summary, String> {
        let since = Instant::now();
        let Ready { asked, study, ground, plan, mut who, twin, left_out } = self;
        // A run that is summed up again was not made on the machine of now.
        let facts_of_machine = folder.read_summary().map_or_else(|_| machine::facts(), |earlier| earlier.machine);
        // Whoever goes on with it must find the same.
        folder.write_who(&who)?;
        let mut present = present(study, ground, &who);
        let names: Vec<&str> = present.iter().map(|one| one.entry.name()).collect();
        let of_twin = twin.as_ref().and_then(|(entry, of)| {
            let original = present.iter().find(|one| one.entry.name() == of)?;
            Some(Present { number: study.contenders.len(), entry, recipe: original.recipe })
        });
        present.extend(of_twin);
        let original = twin.as_ref().map(|(_, of)| of.clone());
        let app = ground.apps.join(&study.app);
        let app_there = ground.place.bring(&app)?;
        let services = Services::start(&study.services, ground.place, &app_there, &folder.logs())?;
        let done = done(folder)?;
        let k6 = asked.k6.clone().map(|version| K6Here::with(version, folder.path().join("k6")));
        let all_s = plan.turn_s() * present.len() as f64 * f64::from(plan.effort.rounds);
        watcher.begins(all_s, 0.0);
        for round in 1..=plan.effort.most() {
            let earlier: Vec<Sample> = folder.samples()?.0.into_iter().filter(|sample| sample.round < round).collect();
            let question = Question::of(round, &plan, &names, original.as_deref(), &earlier);
            if question.is_answered() {
                break;
            }
            if let Some(words) = question.in_words(round) {
                watcher.said(&words);
                watcher.begins(plan.turn_s() * question.contenders() as f64, 0.0);
            }
            for at in plan.order(round, present.len()) {
                let Present { number, entry, recipe } = present[at];
                let is_there = |case: &Case| done.contains(&(case.name.clone(), entry.name().to_owned(), round));
                let is_wanted = |case: &Case| question.is_about(case, entry.name()) && !is_there(case);
                let turn = Turn {
                    study,
                    plan: &plan,
                    entry,
                    recipe,
                    place: ground.place,
                    app: &app,
                    env: &services.env,
                    logs: &folder.logs(),
                    slowest: &question.slowest,
                    k6: k6.as_ref(),
                    round,
                    number,
                };
                let skipped = plan.cases().filter(|case| !is_wanted(case)).count();
                watcher.passed(skipped as f64 * (plan.effort.seconds + 0.5));
                let facts = turn.run(&is_wanted, &mut |sample| folder.append(&sample), watcher)?;
                learn(&mut who, entry.name(), facts);
                folder.write_who(&who)?;
                watcher.passed(3.0 + plan.families.len() as f64 * plan.effort.warm_up_s * 0.5);
            }
        }
        drop(services);
        let samples = folder.samples()?.0;
        let measured_s: f64 = samples.iter().map(|sample| sample.took_s).sum();
        let took_s = since.elapsed().as_secs_f64().max(measured_s);
        let mut summary =
            summarize::summary(asked, study, &plan, ground, (who, original), facts_of_machine, &samples, took_s);
        summary.notes.extend(left_out);
        folder.write_summary(&summary)?;
        folder.read_summary()
    }
}

/// What a round is for.
struct Question<'a> {
    /// By family and contender what is not decided; none in the rounds that are for everything.
    open: Option<BTreeSet<(String, String)>>,
    /// By family, what the slowest contender can do.
    slowest: BTreeMap<String, f64>,
    twin_of: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// By what the rounds before it said.
    fn of(round: u32, plan: &Plan, names: &[&str], twin_of: Option<&'a str>, earlier: &[Sample]) -> Question<'a> {
        let open = (round > plan.effort.rounds).then(|| summarize::open(plan, names, earlier));
        Question { open, slowest: summarize::slowest(plan, earlier), twin_of }
    }

    fn is_answered(&self) -> bool {
        self.open.as_ref().is_some_and(BTreeSet::is_empty)
    }

    fn is_about(&self, case: &Case, contender: &str) -> bool {
        // A rate that is the same for all can be told only when all have shown what they can do.
        if case.slowest_pct > 0 && !self.slowest.contains_key(&case.family) {
            return false;
        }
        // A twin has its turns with its original.
        let name = if contender == TWIN { self.twin_of.unwrap_or(contender) } else { contender };
        self.open.as_ref().is_none_or(|open| open.contains(&(case.family.clone(), name.to_owned())))
    }

    fn contenders(&self) -> usize {
        let names = self.open.iter().flatten().map(|(_, name)| name);
        names.collect::<BTreeSet<_>>().len()
    }

    fn in_words(&self, round: u32) -> Option<String> {
        let open = self.open.as_ref()?;
        let families = open.iter().map(|(family, _)| family).collect::<BTreeSet<_>>().len();
        let count = self.contenders();
        let cases = if families == 1 { "case" } else { "cases" };
        Some(format!("round {round}: {count} contenders in {families} {cases} are neither told apart nor level yet"))
    }
}

fn done(folder: &Folder) -> Result<BTreeSet<(String, String, u32)>, String> {
    Ok(folder.samples()?.0.into_iter().map(|sample| (sample.case, sample.contender, sample.round)).collect())
}

fn learn(who: &mut [Who], name: &str, facts: Facts) {
    let Some(one) = who.iter_mut().find(|one| one.name == name) else { return };
    if let Some(counts) = facts.counts {
        (one.counted_workers, one.counted_threads) = (Some(counts.workers), Some(counts.threads));
    }
    if !facts.commands.is_empty() {
        one.commands = facts.commands;
    }
}

/// The folder apps/ and the others, beside the program or where its sources are.
pub fn home() -> Result<PathBuf, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut places: Vec<PathBuf> = beside.ancestors().skip(1).map(Path::to_path_buf).collect();
    places.extend(std::env::current_dir());
    places.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let is_home = |place: &PathBuf| place.join("arena/contenders").is_dir() && place.join("apps").is_dir();
    let found = places.into_iter().find(is_home);
    found.ok_or_else(|| "the folders arena/ and apps/ are not here: run arena in its repository, or give --home".into())
}
