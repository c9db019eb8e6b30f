//! A whole run: the services, rounds of turns in random order, every sample kept at once, the summary at
//! the end. An interrupted run goes on where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::contest::{Facts, Turn};
use super::plan::{Case, Plan};
use super::ready::{Present, Ready, present};
use super::services::Services;
use super::summarize;
use super::watcher::Watcher;
use crate::record::folder::Folder;
use crate::record::machine;
use crate::record::summary::{Summary, Who};
use crate::record::{Sample, TWIN};
use loadgen::K6Here;

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
