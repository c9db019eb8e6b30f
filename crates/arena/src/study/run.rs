//! A whole run: the services, rounds of turns in random order, every sample kept at once, the summary at
//! the end. An interrupted run goes on where it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::contest::{Facts, Turn};
use super::effort::Effort;
use super::plan::Case;
use super::published::Figures;
use super::ready::{Origin, Present, Ready, present};
use super::services::Services;
use super::summarize;
use crate::contender::Catalogue;
use crate::place::Place;
use crate::record::folder::Folder;
use crate::record::machine;
use crate::record::summary::{Summary, Who};

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
        let Ready { asked, study, ground, plan, mut who, left_out } = self;
        // A run that is summed up again was not made on the machine of now.
        let facts_of_machine = folder.read_summary().map_or_else(|_| machine::facts(), |earlier| earlier.machine);
        // Whoever goes on with it must find the same.
        folder.write_who(&who)?;
        let present = present(study, ground, &who);
        let app = ground.apps.join(&study.app);
        let app_there = ground.place.bring(&app)?;
        let services = Services::start(&study.services, ground.place, &app_there, &folder.logs())?;
        let done = done(folder)?;
        let all_s = plan.turn_s() * present.len() as f64 * f64::from(plan.effort.rounds);
        watcher.begins(all_s, 0.0);
        for round in 1..=plan.effort.rounds {
            for at in plan.order(round, present.len()) {
                let Present { number, entry, recipe } = present[at];
                let is_wanted = |case: &Case| !done.contains(&(case.name.clone(), entry.name().to_owned(), round));
                let turn = Turn {
                    study,
                    plan: &plan,
                    entry,
                    recipe,
                    place: ground.place,
                    app: &app,
                    env: &services.env,
                    logs: &folder.logs(),
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
        let mut summary = summarize::summary(asked, study, &plan, ground, who, facts_of_machine, &samples, took_s);
        summary.notes.extend(left_out);
        folder.write_summary(&summary)?;
        folder.read_summary()
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
