//! `arena list`: contenders, installed or missing, and studies.

use std::io::Write;

use clap::Args;

use super::home::Home;
use super::words::say;
use crate::contender::{self, Presence};
use crate::environment::{Environment, EnvironmentOptions};
use loadgen::{ab_here, k6_version, siege_here, wrk_here};

/// Lists contenders and studies.
#[derive(Debug, Args)]
pub struct ListCommand {
    #[command(flatten)]
    source: EnvironmentOptions,
}

impl ListCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let environment = Environment::open(&self.source)?;
        // Errors in recipes are reported before anything else.
        let (contenders, studies, _) = home.read()?;
        let names = contenders.all().iter().map(|recipe| &recipe.name);
        let width = names.chain(studies.0.iter().map(|study| &study.name)).map(String::len).max().unwrap_or(0);
        say(out, &format!("Contenders on {}:", environment.in_words()))?;
        for recipe in contenders.all() {
            match contender::detect(recipe, &environment) {
                Presence::Here { version, ruby } => say(out, &format!("  {:<width$} {version}, {ruby}", recipe.name))?,
                Presence::Missing { lacks, get } => {
                    say(out, &format!("  {:<width$} missing: {}", recipe.name, lacks.join("; ")))?;
                    get.iter().try_for_each(|way| say(out, &format!("  {:<width$}   {way}", "")))?;
                }
            }
        }
        say(out, "\nLoad tools (k6 with --load k6):")?;
        for (name, here) in [("wrk", wrk_here()), ("ab", ab_here()), ("siege", siege_here())] {
            let words = here.map_or_else(|why| format!("missing: {why}"), |()| "installed".to_owned());
            say(out, &format!("  {name:<width$} {words}"))?;
        }
        match k6_version() {
            Ok(version) => say(out, &format!("  {:<width$} {version}", "k6"))?,
            Err(why) => say(out, &format!("  {:<width$} missing: {why}", "k6"))?,
        }
        say(out, "\nStudies (arena run NAME):")?;
        for study in studies.0 {
            say(out, &format!("  {:<width$} {}", study.name, study.question))?;
        }
        Ok(())
    }
}
