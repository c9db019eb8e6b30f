//! The specification of an application: its file, its Gemfile and its engine. Determined at the start and at each
//! reload.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::apps::choice::{self, AppTraits, Choice};
use crate::config::app_settings::AppSettings;
use crate::config::arguments::Problem;
use crate::config::engine_kind::EngineKind;
use crate::config::rackup;

/// An application that was found.
#[derive(Debug, Clone)]
pub struct AppSpec {
    pub engine: EngineKind,
    /// Log line that says why it is that engine.
    pub why: String,
    /// Absolute path, as the next.
    pub rackup: PathBuf,
    pub gemfile: Option<PathBuf>,
    /// Folders at the beginning of Ruby's load path.
    pub load_path: Vec<PathBuf>,
    /// The same for the other engine, with its settings: for Ruby, if the embedded engine was chosen only because
    /// nothing spoke against it, and the application does not load in it; for the embedded engine, if only a sign in
    /// the source spoke for Ruby, and that has no Rack.
    pub instead: Option<Arc<(AppSpec, AppSettings)>>,
}

/// Why an application cannot be loaded.
#[derive(Debug)]
pub enum SpecError {
    /// Options that do not fit the engine, or a misspelt command in the place of its file.
    Options(Vec<Problem>),
    /// Its file is missing, or cannot be used.
    File(String),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::File(why) => f.write_str(why),
            SpecError::Options(problems) => {
                let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
                f.write_str(&lines.join("; "))
            }
        }
    }
}

/// Finds an application. `BUNDLE_GEMFILE` is for the only one; among several, each has its own Gemfile, and the
/// variable is for those without one. One that another server's file sets for the application counts more, as in
/// Passenger, which sets its `envvars` last.
pub fn find(
    settings: &mut AppSettings,
    bundle_gemfile: Option<&OsStr>,
    is_only_one: bool,
) -> Result<AppSpec, SpecError> {
    if let Some(why) = settings.rackup.as_deref().and_then(rackup::missing_command) {
        return Err(SpecError::Options(vec![Problem(why)]));
    }
    let rackup = rackup::find(settings.rackup.as_deref()).map_err(SpecError::File)?;
    let own = if is_only_one { None } else { rackup::gemfile(&rackup, None, None) };
    // As Bundler does, which begins in the working directory.
    let top = std::env::current_dir().ok().filter(|_| is_only_one);
    let set = settings.ruby.variables.iter().find(|(name, _)| name == "BUNDLE_GEMFILE");
    let set = set.map(|(_, path)| OsStr::new(path));
    let gemfile = own.or_else(|| rackup::gemfile(&rackup, set.or(bundle_gemfile), top.as_deref()));
    let leanings = &*settings.leanings;
    let ruby = &*settings.ruby.program;
    let traits = AppTraits { rackup: &rackup, gemfile: gemfile.as_deref(), leanings, ruby };
    let Choice { engine, why, although } = choice::choose(settings.engine, &traits);
    let other = although.map(|why| (why, settings.clone()));
    settings.fit_to(engine).map_err(SpecError::Options)?;
    let mut found = AppSpec { engine, why, rackup, gemfile, load_path: Vec::new(), instead: None };
    if let Some((why, mut settings)) = other
        && settings.fit_to(engine.other()).is_ok()
    {
        let theirs = AppSpec { engine: engine.other(), why, ..found.clone() };
        found.instead = Some(Arc::new((theirs, settings)));
    }
    Ok(found)
}
