//! A whole run: who is here, the services, rounds of turns in random order, every sample kept at once, the summary at
//! the end. An interrupted run goes on where it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::contest::{Facts, Turn};
use super::effort::Effort;
use super::plan::{Case, Plan};
use super::published::Figures;
use super::recipe::{Entry, Recipe};
use super::services::Services;
use super::summarize;
use crate::contender::{self, Catalogue, Presence};
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

/// A contender that is here.
struct Present<'a> {
    number: usize,
    entry: &'a Entry,
    recipe: &'a contender::Recipe,
}

/// Runs a study into a folder, or what is left of it.
pub fn run(
    asked: &Asked,
    study: &Recipe,
    ground: &Ground,
    folder: &Folder,
    watcher: &dyn Watcher,
) -> Result<Summary, String> {
    let since = Instant::now();
    let mut plan = Plan::of(study, asked, ground.figures)?;
    let left_out = plan.leave_out(&|name| is_library(ground.place, "ruby", name));
    if plan.families.is_empty() {
        return Err(left_out.join("\n"));
    }
    let plan = plan;
    // A run that is summed up again was not made on the machine of now.
    let facts_of_machine = folder.read_summary().map_or_else(|_| machine::facts(), |earlier| earlier.machine);
    let mut who = who(asked, study, ground, folder)?;
    let present = present(study, ground, &who);
    if present.is_empty() {
        return Err(nobody(&who));
    }
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

fn is_library(place: &Place, ruby: &str, name: &str) -> bool {
    let mut command = place.command(ruby, Path::new("/"));
    let told = command.args(["-e", "require ARGV[0]", name]).stdin(Stdio::null()).output();
    told.is_ok_and(|output| output.status.success())
}

/// Everybody who was asked for, here or missing. What an interrupted run had learned is kept.
fn who(asked: &Asked, study: &Recipe, ground: &Ground, folder: &Folder) -> Result<Vec<Who>, String> {
    let chosen = |name: &str| asked.only.is_empty() || asked.only.iter().any(|word| name.contains(word.as_str()));
    let is_in = |entry: &&Entry| !asked.only.is_empty() || entry.in_quick || !asked.is_quick;
    let entries = study.contenders.iter().filter(|entry| chosen(entry.name())).filter(is_in);
    let entries: Vec<&Entry> = entries.collect();
    if entries.is_empty() {
        let names: Vec<&str> = study.contenders.iter().map(Entry::name).collect();
        return Err(format!("--only: {} has {}", study.name, names.join(", ")));
    }
    let earlier: Vec<Who> = folder.read_who()?;
    entries.into_iter().map(|entry| one(entry, ground, &earlier)).collect()
}

fn one(entry: &Entry, ground: &Ground, earlier: &[Who]) -> Result<Who, String> {
    let Some(recipe) = ground.catalogue.get(&entry.recipe) else {
        return Err(format!("there is no contender {}: arena list shows all", entry.recipe));
    };
    let mut who = Who {
        name: entry.name().to_owned(),
        title: title(entry, recipe),
        workers: entry.workers,
        threads: entry.threads,
        notes: recipe.all_notes(),
        ..Who::default()
    };
    who.notes.extend(entry.note.clone());
    who.notes.extend(entry.allocator.map(|who| format!("memory is allocated by {}", who.name())));
    match contender::look(recipe, ground.place) {
        Presence::Here { version, ruby } => {
            (who.version, who.ruby) = (version, ruby);
            who.missing = lacking(entry, recipe, ground.place);
        }
        Presence::Missing { mut lacks, get } => {
            lacks.extend(get.iter().map(|way| format!("to get it: {way}")));
            who.missing = lacks;
        }
    }
    if let Some(known) = earlier.iter().find(|known| known.name == who.name) {
        (who.counted_workers, who.counted_threads) = (known.counted_workers, known.counted_threads);
        who.commands.clone_from(&known.commands);
    }
    Ok(who)
}

/// What its Ruby lacks for this application.
fn lacking(entry: &Entry, recipe: &contender::Recipe, place: &Place) -> Vec<String> {
    let ruby = if recipe.runtime == contender::Runtime::Jruby { "jruby" } else { "ruby" };
    let lacks = entry.needs.iter().filter(|name| !is_library(place, ruby, name));
    lacks
        .map(|name| format!("this application needs {name} on {ruby}; to get it: {ruby} -S gem install {name}"))
        .collect()
}

/// One that takes part more than once is told apart by what is different.
fn title(entry: &Entry, recipe: &contender::Recipe) -> String {
    match (&entry.name, entry.allocator) {
        (None, _) => recipe.title.clone(),
        (Some(_), Some(allocator)) => format!("{}, {}", recipe.title, allocator.name()),
        (Some(_), None) => format!("{}, {} × {}", recipe.title, entry.workers, entry.threads),
    }
}

fn present<'a>(study: &'a Recipe, ground: &Ground<'a>, who: &[Who]) -> Vec<Present<'a>> {
    let here: BTreeSet<&str> = who.iter().filter(|one| one.missing.is_empty()).map(|one| one.name.as_str()).collect();
    let entries = study.contenders.iter().enumerate().filter(|(_, entry)| here.contains(entry.name()));
    let with_recipes = entries.filter_map(|(number, entry)| {
        let recipe = ground.catalogue.get(&entry.recipe)?;
        Some(Present { number, entry, recipe })
    });
    with_recipes.collect()
}

fn nobody(who: &[Who]) -> String {
    let lines: Vec<String> = who.iter().map(|one| format!("  {}: {}", one.name, one.missing.join("; "))).collect();
    format!("none of the contenders is here:\n{}", lines.join("\n"))
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
