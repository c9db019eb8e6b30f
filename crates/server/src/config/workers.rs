//! Number of worker processes, from three options that may be given in part, and their user.

use engine_ruby::User;
use nix::unistd::geteuid;

use crate::config::app_settings::{AppSettings, WorkerBounds};
use crate::config::arguments::{OWN_VARIABLES, Origin, Problem};
use crate::config::engine_kind::EngineKind;
use crate::config::machine_defaults;
use crate::config::options::Name;
use crate::config::reader::SettingsReader;
use crate::config::settings::Settings;

impl SettingsReader<'_> {
    /// Returns the bounds of the number of workers. `--workers` alone sets both; beside one of the others it sets the
    /// missing one. Without any of them there is one worker per core, and up to two while all of them compute.
    pub fn workers(&mut self) -> WorkerBounds {
        let given = self.pick(Name::Workers);
        // One per core, as far as memory allows. Puma's 0 is a single process; here it is one worker.
        let workers = if given.value == "auto" {
            machine_defaults::workers(self.machine)
        } else {
            self.small(Name::Workers).max(1)
        };
        let said = |reader: &mut Self, name| {
            let is_outdone = reader.is_outdone(name);
            reader.optional(name).filter(|_| !is_outdone).map(|_| reader.small(name))
        };
        let (min, max) = (said(self, Name::MinWorkers), said(self, Name::MaxWorkers));
        let fewest = if given.origin == Origin::Default { 1 } else { workers };
        let mut is_for_computing = false;
        let (min, max) = match (min, max) {
            (None, None) if given.origin == Origin::Default && given.value == "auto" => {
                is_for_computing = true;
                (workers, machine_defaults::workers_most(self.machine))
            }
            (None, None) => (workers, workers),
            // A setting of this program counts more than a platform's WEB_CONCURRENCY.
            (None, Some(max)) if matches!(given.origin, Origin::Variable(_)) => (fewest.min(max), max),
            (None, Some(max)) => (fewest, max),
            (Some(min), None) => (min, workers.max(min)),
            (Some(min), Some(max)) => (min, max),
        };
        if min > max {
            let given = self.pick(Name::MaxWorkers);
            self.refuse(&given, &format!("must be at least {min}, the fewest (--min-workers, or --workers)"));
        }
        WorkerBounds { min, max, is_for_computing }
    }

    /// Whether `--workers` replaces this bound: it was set for this program with higher precedence, as on the command
    /// line beside a file.
    pub fn is_outdone(&self, bound: Name) -> bool {
        let given = self.pick(Name::Workers);
        let is_ours = !matches!(&given.origin, Origin::Variable(name) if !name.starts_with(OWN_VARIABLES));
        let rank = |name| self.asked.rank_for(self.app, name);
        is_ours && rank(Name::Workers).zip(rank(bound)).is_some_and(|(all, one)| all < one)
    }

    /// Whether Puma's file is read, and nothing asks for workers.
    pub fn is_puma_single(&self) -> bool {
        let given = self.pick(Name::Workers);
        // A default of Puma has no line, and counts less than a variable.
        let is_said = !matches!(&given.origin, Origin::File(place) if place.line.is_none() && !place.is_compat);
        self.asked.reads_file_of(&["Puma"]) && (!is_said || given.value == "0")
    }

    /// User of the Ruby processes, if not the server's.
    pub fn ruby_user(&mut self) -> Option<User> {
        let name = self.optional(Name::RubyUser)?;
        let given = self.pick(Name::RubyUser);
        if !geteuid().is_root() {
            self.refuse(
                &given,
                "only root can start processes as another user: start the server as root, or leave it out",
            );
            return None;
        }
        if self.optional(Name::User).is_some() {
            self.refuse(&given, "is for a server that stays root, and --user is said, too: leave out one of them");
            return None;
        }
        let (user, group) = name.split_once(':').map_or((&*name, None), |(user, group)| (user, Some(group)));
        User::find(user, group).map_err(|why| self.refuse(&given, &why)).ok()
    }

    /// Limit of all workers together, which must be enough for the minimum of each application.
    pub fn total_workers(&mut self, apps: &[AppSettings]) -> Option<usize> {
        self.optional(Name::TotalWorkers)?;
        let total = self.small(Name::TotalWorkers);
        let least = fewest(apps.iter().filter(|app| app.engine == Some(EngineKind::Ruby)));
        if total < least {
            self.refuse_value(Name::TotalWorkers, &at_least(least));
        }
        Some(total)
    }
}

/// Checks that limit once it is known which applications run on Ruby.
pub fn fit(settings: &Settings, engines: &[EngineKind]) -> Result<(), Problem> {
    let Some(total) = settings.total_workers else { return Ok(()) };
    let pairs = settings.apps.iter().zip(engines).filter(|(_, engine)| **engine == EngineKind::Ruby);
    let least = fewest(pairs.map(|(app, _)| app));
    if total >= least { Ok(()) } else { Err(Problem(format!("total-workers = {total}: {}", at_least(least)))) }
}

fn fewest<'a>(apps: impl Iterator<Item = &'a AppSettings>) -> usize {
    apps.map(|app| app.ruby.min_workers).sum()
}

fn at_least(least: usize) -> String {
    format!("must be at least {least}, the fewest of all applications together")
}
