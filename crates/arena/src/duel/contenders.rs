//! The contenders of a duel: the installed servers, the settings that each can have, and its right answers.

use std::collections::BTreeSet;

use crate::contender::{Catalogue, Presence, Recipe, Runtime, detect};
use crate::environment::Environment;
use crate::record::summary::Who;

use super::answer::KnownAnswer;
use super::options::{DuelOptions, Now, Today};
use super::plan::Remaining;
use super::settings::{Ability, Setting};
use super::successive_halving::finalists_most;

/// Recipe whose server gives the right answers, unless the user's present server takes part: the server that most
/// people run.
const REFERENCE: &str = "puma";

/// Seconds from the start of a server to its first answer, before they are measured: on JRuby the virtual machine
/// starts as well.
const START_S: f64 = 1.0;
const START_ON_JRUBY_S: f64 = 10.0;

/// Key of a recipe's `cannot` that keeps it out of duels.
const NO_DUEL: &str = "duel";

/// A server that takes part.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Recipe: how it is started and stopped.
    pub recipe: Recipe,
    /// Version, as the program itself reports it.
    pub version: String,
    /// Ruby implementation and version on which it runs.
    pub ruby: String,
    /// Right answers, widened by this server's own differences.
    pub learned: Vec<KnownAnswer>,
    /// Seconds from its start to its first answer: the longest that was measured, or a guess.
    pub start_s: f64,
    /// Memory of one worker in KiB; `None` where it could not be read.
    pub worker_kib: Option<u64>,
    /// Settings that are tried.
    pub settings: Vec<Setting>,
    /// Sentences about it for the report.
    pub notes: Vec<String>,
}

/// Contenders that are installed, the reference first, and those that are not.
#[derive(Debug, Default)]
pub struct Contenders {
    /// Contenders that take part.
    pub here: Vec<Contender>,
    /// Contenders that cannot take part, each with what is missing.
    pub missing: Vec<Who>,
    /// The server of today, which is among those that take part.
    pub now: Option<Today>,
}

impl Contenders {
    /// All of the duel that these take part in.
    pub fn remaining(&self) -> Remaining {
        remaining(&[], &self.here, self.now.is_some())
    }

    /// Finds the contenders of the catalogue that the options name.
    pub fn gather(
        options: &DuelOptions,
        catalogue: &Catalogue,
        environment: &Environment,
    ) -> Result<Contenders, String> {
        let mut contenders = Contenders::default();
        for recipe in wanted(options, catalogue)? {
            match detect(recipe, environment) {
                Presence::Here { version, ruby } => contenders.here.push(Contender::new(recipe, version, ruby)),
                Presence::Missing { lacks, get } => {
                    let missing = lacks.into_iter().chain(get.into_iter().map(|way| format!("get it: {way}")));
                    let name = recipe.name.clone();
                    let title = recipe.title.clone();
                    contenders.missing.push(Who { name, title, missing: missing.collect(), ..Who::default() });
                }
            }
        }
        if contenders.here.is_empty() {
            let names: Vec<&str> = contenders.missing.iter().map(|who| who.name.as_str()).collect();
            let names = names.join(", ");
            let environment = environment.in_words();
            return Err(format!(
                "none of {names} is here ({environment}): `arena ring` builds a place with most of them"
            ));
        }
        contenders.now = options.now.as_ref().map(|now| contenders.today(now, environment)).transpose()?;
        let now = contenders.now.as_ref().map(|now| now.server.as_str());
        contenders.here.sort_by_key(|one| order(one, now));
        Ok(contenders)
    }

    /// The server of today as it takes part. An error if it is not here, or cannot have these settings.
    fn today(&self, now: &Now, environment: &Environment) -> Result<Today, String> {
        let server = now.server.clone();
        let Some(one) = self.here.iter().find(|one| one.recipe.name == server) else {
            let missing = self.missing.iter().find(|who| who.name == server).map(|who| who.missing.join("; "));
            return Err(format!(
                "--now {server}: it is not here ({}): {}",
                environment.in_words(),
                missing.unwrap_or_default()
            ));
        };
        let setting = setting_of(now, &one.recipe).map_err(|why| format!("--now \"{}\": {why}", now.name()))?;
        Ok(Today { server, setting })
    }
}

/// The setting that the user gives for the server of today; `None` without any. An error says why the server cannot
/// have it, and what would be right.
fn setting_of(now: &Now, recipe: &Recipe) -> Result<Option<Setting>, String> {
    let has_no = |what: &str| recipe.cannot.get(what).map(String::as_str);
    if now.workers.is_none() && now.threads.is_none() {
        return Ok(None);
    }
    let name = &recipe.name;
    let workers = match (now.workers, has_no("workers")) {
        (None | Some(0 | 1), Some(_)) => 1,
        (Some(many), Some(why)) => return Err(format!("{name} cannot have {many} workers ({why}): leave -w out")),
        (Some(0), None) if recipe.has_zero_for_one() => 1,
        (Some(0), None) => return Err(format!("{name} has at least one worker: write -w 1")),
        (Some(workers), None) => workers,
        (None, None) => return Err("say how many workers it has, too: add -w N".to_owned()),
    };
    let threads = match (now.threads, has_no("threads")) {
        (None | Some(1), Some(_)) => 1,
        (Some(many), Some(why)) => return Err(format!("{name} cannot have {many} threads ({why}): leave -t out")),
        (Some(threads), None) => threads,
        (None, None) => return Err("say how many threads a worker has, too: add -t N".to_owned()),
    };
    Ok(Some(Setting { workers, threads }))
}

/// What remains of a duel when something has been learned from some of these contenders and from others not. `has_now`
/// says that one of them is the server of today, which is in the rounds with its own setting as well.
pub fn remaining(learned: &[Contender], unlearned: &[Contender], has_now: bool) -> Remaining {
    let all = || learned.iter().chain(unlearned);
    let servers: BTreeSet<&str> = all().map(Contender::server).collect();
    let contenders = learned.len() + unlearned.len();
    let mean = |seconds: f64, count: usize| seconds / count.max(1) as f64;
    let measured_s = mean(learned.iter().map(|one| one.start_s).sum(), learned.len());
    // Most of a start is that of the application, which is the same for all.
    let all_s = learned.iter().map(|one| one.start_s).chain(unlearned.iter().map(|one| one.start_s.max(measured_s)));
    Remaining {
        contenders,
        unlearned: unlearned.len(),
        finalists: finalists_most(contenders, servers.len()) + usize::from(has_now),
        is_probed: !learned.is_empty(),
        start_s: mean(all_s.sum(), contenders),
    }
}

fn wanted<'a>(options: &DuelOptions, catalogue: &'a Catalogue) -> Result<Vec<&'a Recipe>, String> {
    let names = || catalogue.all().iter().map(|recipe| recipe.name.as_str()).collect::<Vec<_>>().join(", ");
    let known = |name: &String| {
        let recipe = catalogue.get(name);
        let recipe = recipe.ok_or_else(|| format!("there is no contender `{name}`; there are {}", names()))?;
        match recipe.cannot.get(NO_DUEL) {
            Some(why) => Err(format!("`{name}` takes part in no duel: {why}")),
            None => Ok(recipe),
        }
    };
    let mut recipes: Vec<&Recipe> = match options.contenders.is_empty() {
        true => catalogue.all().iter().filter(|recipe| !recipe.cannot.contains_key(NO_DUEL)).collect(),
        false => options.contenders.iter().map(known).collect::<Result<Vec<_>, _>>()?,
    };
    // Today's server always takes part.
    if let Some(now) = &options.now {
        recipes.push(known(&now.server)?);
    }
    let mut seen = BTreeSet::new();
    recipes.retain(|recipe| seen.insert(recipe.name.as_str()));
    Ok(recipes)
}

/// Sort key that puts the reference first: today's server, then the usual one, then others on CRuby.
fn order(one: &Contender, now: Option<&str>) -> u8 {
    match one.recipe.runtime {
        _ if now == Some(one.recipe.name.as_str()) => 0,
        _ if one.recipe.name == REFERENCE => 1,
        Runtime::Cruby => 2,
        Runtime::Jruby => 3,
        Runtime::Mruby => 4,
    }
}

impl Contender {
    fn new(recipe: &Recipe, version: String, ruby: String) -> Contender {
        let learned = Vec::new();
        let settings = Vec::new();
        let start_s = if recipe.runtime == Runtime::Jruby { START_ON_JRUBY_S } else { START_S };
        let notes = Vec::new();
        Contender { recipe: recipe.clone(), version, ruby, learned, start_s, worker_kib: None, settings, notes }
    }

    /// Name of its recipe.
    pub fn name(&self) -> &str {
        &self.recipe.name
    }

    /// Website of the server, which identifies it: several recipes for one server share it.
    pub fn server(&self) -> &str {
        &self.recipe.home
    }

    /// Its name with settings: `puma -w 2 -t 5`.
    pub fn name_with(&self, setting: Setting) -> String {
        format!("{} {}", self.recipe.name, setting.in_words())
    }

    /// Bounds of its settings, from what the recipe says that the server cannot do.
    pub fn ability(&self) -> Ability {
        let one = |what: &str| self.recipe.cannot.contains_key(what).then_some(1);
        let threads_run_together = self.recipe.runtime != Runtime::Cruby;
        Ability { workers_most: one("workers"), threads_most: one("threads"), threads_run_together }
    }

    /// Entry for the summary, with this setting.
    pub fn who(&self, setting: Setting) -> Who {
        Who {
            name: self.name_with(setting),
            title: format!("{} {}", self.recipe.title, setting.in_words()),
            version: self.version.clone(),
            ruby: self.ruby.clone(),
            workers: setting.workers,
            threads: setting.threads,
            notes: self.recipe.all_notes().into_iter().chain(self.notes.iter().cloned()).collect(),
            ..Who::default()
        }
    }
}
