//! Preparation of a run before it has a folder: what is measured, which contenders are installed, and whether a resumed
//! run has the same servers and recipes as at its beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use super::by_k6;
use super::context::Context;
use super::origin::Origin;
use super::plan::Plan;
use super::published::Figures;
use super::recipe::{Entry, Study, Tool};
use super::request::RunRequest;
use super::twin;
use crate::contender::{self, Presence};
use crate::environment::Environment;
use crate::record::machine;
use crate::record::summary::{ALLOCATED_BY, NOT_STOPPED, Who};
use loadgen::{ab_here, k6_version, siege_here, wrk_here};

/// A run whose options, contenders and cases have been checked.
pub struct ReadyRun<'a> {
    pub(super) asked: &'a RunRequest,
    pub(super) study: &'a Study,
    pub(super) context: &'a Context<'a>,
    pub(super) plan: Plan,
    pub(super) who: Vec<Who>,
    /// The twin's entry in the study, and the name of its original.
    pub(super) twin: Option<(Entry, String)>,
    /// Cases that cannot be measured here, in sentences.
    pub(super) left_out: Vec<String>,
}

impl<'a> ReadyRun<'a> {
    /// Checks everything that can be checked before a run. `earlier` are the contenders that an interrupted run has
    /// recorded.
    pub fn make(
        asked: &'a RunRequest,
        study: &'a Study,
        context: &'a Context<'a>,
        earlier: &[Who],
    ) -> Result<ReadyRun<'a>, String> {
        let mut plan = Plan::of(study, asked, context.figures)?;
        let entries = chosen(asked, study, earlier)?;
        let left_out = plan.leave_out(&|name| is_library(context.environment, "ruby", name));
        if plan.families.is_empty() {
            return Err(left_out.join("\n"));
        }
        if let Some(complaint) = asked.k6.as_ref().and_then(|_| by_k6::complaint(&plan)) {
            return Err(complaint);
        }
        let who = entries.into_iter().map(|entry| one(entry, context, earlier)).collect::<Result<Vec<_>, _>>()?;
        let who = numbered(who);
        if who.iter().all(|one| !one.missing.is_empty()) {
            return Err(nobody(&who));
        }
        let here: Vec<&Entry> = present(study, context, &who).into_iter().map(|one| one.entry).collect();
        let original = twin::original(&here, asked.effort.most(), asked.seed);
        let twin = original.map(|entry| (twin::of(entry), entry.name().to_owned()));
        Ok(ReadyRun { asked, study, context, plan, who, twin, left_out })
    }

    /// Names of its contenders, installed or missing.
    pub fn names(&self) -> Vec<&str> {
        self.who.iter().map(|one| one.name.as_str()).collect()
    }

    /// Name of the challenger, if it is a challenge.
    pub fn challenger(&self) -> Option<String> {
        self.asked.challenge.as_ref().map(|challenge| challenge.name_in(self.study))
    }

    /// Differences between now and the beginning of the run, with which its samples must not be mixed.
    pub fn differences(&self, earlier: &[Who]) -> Vec<String> {
        let mut found = Vec::new();
        let now = Origin::of(self.study, self.context);
        if self.asked.origin.is_none() {
            found.push(
                "its run.json does not say where its servers came from, nor by which recipes they ran (a program of \
                 before wrote it): that they are those of now cannot be known"
                    .to_owned(),
            );
        }
        if let Some(then) = &self.asked.origin {
            if then.place != now.place {
                let other = if then.place.0 == now.place.0 { ", but another one" } else { "" };
                let then = &then.place.0;
                let now = &now.place.0;
                found.push(format!("the servers came from {then}, now they come from {now}{other}"));
            }
            if then.foolsgold != now.foolsgold {
                found.push("foolsgold was another build (--foolsgold)".to_owned());
            }
            let is_other = |name: &&String| now.recipes.get(*name) != then.recipes.get(*name);
            let names = then.recipes.keys().filter(is_other).cloned().collect::<Vec<_>>();
            found.extend((!names.is_empty()).then(|| format!("these recipes were others: {}", names.join(", "))));
        }
        if let Some(then) = &self.asked.k6 {
            let now = k6_version();
            found.extend((now.as_ref() != Ok(then)).then(|| {
                let now = now.map_or_else(|error| error, |now| format!("now it is {now}"));
                format!("it was loaded by {then}, {now}")
            }));
        }
        for (then, now) in
            earlier.iter().filter_map(|then| Some((then, self.who.iter().find(|w| w.name == then.name)?)))
        {
            let version = |who: &Who| match who.missing.is_empty() {
                true => format!("{} on {}", who.version, who.ruby),
                false => "missing".to_owned(),
            };
            if version(then) != version(now) {
                found.push(format!("{} was {}, now it is {}", then.name, version(then), version(now)));
            }
        }
        found
    }

    /// Differences between this machine, with its load tools, and the one on which the run began. They do not matter to
    /// a run that is only summarized again.
    pub fn other_machine(&self) -> Vec<String> {
        let Some(Origin { machine: then, .. }) = &self.asked.origin else { return Vec::new() };
        let now = machine::facts();
        let differs = |name: &&str| {
            let known = |facts: &[(String, String)]| {
                let fact = facts.iter().find(|(key, _)| key == name);
                fact.map_or_else(|| "not there".to_owned(), |(_, value)| value.clone())
            };
            let (then, now) = (known(then), known(&now));
            (then != now).then(|| format!("{name}: it was {then}, now it is {now}"))
        };
        machine::LASTING.iter().filter(|fact| self.is_about(fact)).filter_map(differs).collect()
    }

    /// Whether a fact of the machine matters to this run. The version of a load tool matters only if the tool makes one
    /// of its loads.
    fn is_about(&self, fact: &str) -> bool {
        let is_by_k6 = self.asked.k6.is_some();
        let loads = |tools: &[Tool]| !is_by_k6 && self.plan.cases().any(|case| tools.contains(&case.tool));
        match fact {
            "wrk" => loads(&[Tool::Wrk]),
            "ab" => loads(&[Tool::Ab]),
            "siege" => loads(&[Tool::Siege, Tool::SiegeOnce]),
            _ => true,
        }
    }
}

/// An error if a load tool of the chosen cases is not installed: every contender would be disqualified in these cases.
pub fn check_tools(asked: &RunRequest, study: &Study, figures: &Figures) -> Result<(), String> {
    if asked.k6.is_some() {
        return Ok(());
    }
    let plan = Plan::of(study, asked, figures)?;
    let lacking = |(tools, is_here): &External| {
        let loaded = plan.families.iter().map(|family| &family.recipe).filter(|case| tools.contains(&case.tool));
        let names: Vec<&str> = loaded.map(|case| case.name.as_str()).collect();
        if names.is_empty() {
            return None;
        }
        let why = is_here().err()?;
        let names = names.join(", ");
        Some(format!("{why}. It loads {names}: without it, choose other cases (--case) or another tool (--load k6)"))
    };
    let lacking: Vec<String> = TOOLS.iter().filter_map(lacking).collect();
    if lacking.is_empty() { Ok(()) } else { Err(lacking.join("\n")) }
}

/// An external load generator: the tools of cases that use it, and the check whether it is installed.
type External = (&'static [Tool], fn() -> Result<(), String>);

/// The external load generators.
const TOOLS: [External; 3] =
    [(&[Tool::Wrk], wrk_here), (&[Tool::Ab], ab_here), (&[Tool::Siege, Tool::SiegeOnce], siege_here)];

/// An installed contender.
#[derive(Clone, Copy)]
pub(super) struct Present<'a> {
    pub entry: &'a Entry,
    pub recipe: &'a contender::Recipe,
}

fn is_library(environment: &Environment, ruby: &str, name: &str) -> bool {
    let mut command = environment.command(ruby, Path::new("/"));
    let required = command.args(["-e", "require ARGV[0]", name]).stdin(Stdio::null()).output();
    required.is_ok_and(|output| output.status.success())
}

/// All selected contenders, installed or missing. A resumed run has those with which it began (`earlier`): one that its
/// study got since would have other rounds than the rest, and the twin would be drawn among others.
fn chosen<'a>(asked: &RunRequest, study: &'a Study, earlier: &[Who]) -> Result<Vec<&'a Entry>, String> {
    let has_one = |name: &str, words: &[String]| words.iter().any(|word| name.contains(word.as_str()));
    let chosen = |name: &str| (asked.only.is_empty() || has_one(name, &asked.only)) && !has_one(name, &asked.without);
    let is_in = |entry: &&Entry| !asked.only.is_empty() || entry.in_quick || !asked.is_quick;
    let was_in = |entry: &&Entry| earlier.is_empty() || earlier.iter().any(|who| who.name == entry.name());
    let entries = study.contenders.iter().filter(|entry| chosen(entry.name())).filter(is_in).filter(was_in);
    let entries: Vec<&Entry> = entries.collect();
    if entries.is_empty() {
        let words = [("--only ", &asked.only), ("--without ", &asked.without)];
        let words = words.map(|(flag, words)| words.iter().map(|word| format!("{flag}{word}")).collect::<Vec<_>>());
        return Err(format!("{}: {} has {}", words.concat().join(" "), study.name, study.names().join(", ")));
    }
    Ok(entries)
}

/// Looks for a contender, and keeps what an interrupted run has recorded of it: counts, commands, and how it stopped.
fn one(entry: &Entry, context: &Context, earlier: &[Who]) -> Result<Who, String> {
    let Some(recipe) = context.catalogue.get(&entry.recipe) else {
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
    who.notes.extend(entry.allocator.map(|who| format!("{ALLOCATED_BY}{}", who.name())));
    match contender::detect(recipe, context.environment) {
        Presence::Here { version, ruby } => {
            (who.version, who.ruby) = (version, ruby);
            who.missing = lacking(entry, recipe, context.environment);
        }
        Presence::Missing { mut lacks, get } => {
            lacks.extend(get.iter().map(|way| format!("to get it: {way}")));
            who.missing = lacks;
        }
    }
    if let Some(known) = earlier.iter().find(|known| known.name == who.name) {
        (who.counted_workers, who.counted_threads) = (known.counted_workers, known.counted_threads);
        who.commands.clone_from(&known.commands);
        who.notes.extend(known.notes.iter().filter(|note| note.starts_with(NOT_STOPPED)).cloned());
    }
    Ok(who)
}

/// Libraries for this application that its Ruby lacks.
fn lacking(entry: &Entry, recipe: &contender::Recipe, environment: &Environment) -> Vec<String> {
    let ruby = if recipe.runtime == contender::Runtime::Jruby { "jruby" } else { "ruby" };
    let lacks = entry.needs.iter().filter(|name| !is_library(environment, ruby, name));
    lacks
        .map(|name| format!("this application needs {name} on {ruby}; to get it: {ruby} -S gem install {name}"))
        .collect()
}

/// Title of a contender; one of several entries for a server gets what distinguishes it.
fn title(entry: &Entry, recipe: &contender::Recipe) -> String {
    match (&entry.name, entry.allocator) {
        (None, _) => recipe.title.clone(),
        (Some(_), None) if entry.stock => format!("{}, stock limits", recipe.title),
        (Some(_), None) if entry.idle_s.is_some() => format!("{}, may go idle", recipe.title),
        (Some(_), Some(allocator)) => format!("{}, {}", recipe.title, allocator.name()),
        (Some(_), None) => format!("{}, {} × {}", recipe.title, entry.workers, entry.threads),
    }
}

/// Adds numbers to titles that several contenders have: entries that take part again with the same settings.
fn numbered(who: Vec<Who>) -> Vec<Who> {
    let mut seen: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for one in &who {
        seen.entry(one.title.clone()).or_default().1 += 1;
    }
    let number = |mut one: Who| {
        if let Some((count, all)) = seen.get_mut(&one.title).filter(|(_, all)| *all > 1) {
            *count += 1;
            one.title = format!("{}, {count} of {all}", one.title);
        }
        one
    };
    who.into_iter().map(number).collect()
}

pub(super) fn present<'a>(study: &'a Study, context: &Context<'a>, who: &[Who]) -> Vec<Present<'a>> {
    let here: BTreeSet<&str> = who.iter().filter(|one| one.missing.is_empty()).map(|one| one.name.as_str()).collect();
    let entries = study.contenders.iter().filter(|entry| here.contains(entry.name()));
    let with_recipes = entries.filter_map(|entry| {
        let recipe = context.catalogue.get(&entry.recipe)?;
        Some(Present { entry, recipe })
    });
    with_recipes.collect()
}

fn nobody(who: &[Who]) -> String {
    let lines: Vec<String> = who.iter().map(|one| format!("  {}: {}", one.name, one.missing.join("; "))).collect();
    format!("none of the contenders is here:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipe_that_chooses_its_workers_says_so_in_the_words_of_the_reports() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arena/contenders/foolsgold-default.toml");
        let recipe: contender::Recipe = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(recipe.chooses_workers(), "{:?}", recipe.all_notes());
    }

    #[test]
    fn entries_with_the_same_title_are_numbered() {
        let who = ["Puma, 2 × 5", "Thin", "Puma, 2 × 5"];
        let who = numbered(who.map(|title| Who { title: title.into(), ..Who::default() }).into());
        let titles: Vec<&str> = who.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["Puma, 2 × 5, 1 of 2", "Thin", "Puma, 2 × 5, 2 of 2"]);
    }
}
