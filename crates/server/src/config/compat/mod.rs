//! Configuration files of other servers: detects their kind and translates them into our settings, with remarks on the
//! rest.

mod explain;
pub mod flags;
mod kind;
mod leftover;
mod lenient_json;
mod passenger;
mod puma;
mod rainbows;
mod record;
mod thin;
mod translation;
mod unicorn;

use std::path::{self, Path, PathBuf};

use engine_ruby::reader::{Overriding, Question, ReadError};
use serde_json::Value;

use crate::config::app_settings::{EnvironmentSource, environment_variables};
use crate::config::arguments::{Arguments, Command, Origin, RawValue};
use crate::config::file_text::text_of;
use crate::config::options::Name;
use crate::config::rackup;
use crate::process::{bundle, heaps};
use record::Directive;
use translation::{Beside, DirectiveRule, RemarkKind, Translation};

pub use explain::explain;
pub use kind::ServerKind;
pub use thin::word_without_erb;

impl ServerKind {
    /// The directives of this server, each with its translation.
    fn rules(self) -> &'static [DirectiveRule] {
        match self {
            ServerKind::Puma => puma::RULES,
            ServerKind::Unicorn | ServerKind::Pitchfork => unicorn::RULES,
            ServerKind::Thin => thin::RULES,
            ServerKind::Passenger => passenger::RULES,
        }
    }

    /// Adds this server's defaults.
    fn finish(self, translation: &mut Translation) {
        match self {
            ServerKind::Puma => puma::finish(translation),
            ServerKind::Unicorn | ServerKind::Pitchfork => unicorn::finish(translation),
            ServerKind::Thin => thin::finish(translation),
            ServerKind::Passenger => passenger::finish(translation),
        }
        translation.assume("signals", self.word(), false);
        if translation.remarks.iter().any(|remark| remark.kind == RemarkKind::Hook) {
            let file = translation.own_path();
            translation.assume("hooks", &file, false);
            let hooks = translation.settings.iter_mut().filter(|setting| setting.row.long == "hooks");
            hooks.for_each(|setting| "its hooks".clone_into(&mut setting.place.written));
        }
    }

    /// Differences that any file of this server has.
    fn always(self) -> &'static [&'static str] {
        match self {
            ServerKind::Puma => puma::ALWAYS,
            ServerKind::Unicorn => unicorn::ALWAYS,
            ServerKind::Pitchfork => unicorn::ALWAYS_IN_PITCHFORK,
            ServerKind::Thin => thin::ALWAYS,
            ServerKind::Passenger => passenger::ALWAYS,
        }
    }
}

/// Adds another server's file to the parsed arguments. `path` is relative to `home`.
pub fn add(asked: &mut Arguments, kind: ServerKind, path: &Path, home: &Path, text: &str) {
    let translation = match translate(asked, kind, path, home, text) {
        Ok(translation) => translation,
        Err(problems) => return problems.into_iter().for_each(|why| asked.refuse(why)),
    };
    asked.compat = Some((translation.shown.clone(), kind.name()));
    asked.evaluated.clone_from(&translation.evaluated);
    // Those of flags count more.
    asked.variables = translation.variables.iter().chain(&asked.variables).cloned().collect();
    asked.file_host.clone_from(&translation.host);
    asked.file_port = translation.port;
    translation.refused().for_each(|why| asked.refuse(why));
    let mut missing: Vec<String> = Vec::new();
    for remark in &translation.remarks {
        let name = remark.name();
        match remark.kind {
            RemarkKind::Missing if !missing.contains(&name) => missing.push(name),
            // In full: users who know a directive from the other server do not look up what it does here.
            RemarkKind::Differs => asked.notices.push(format!("{}: {name}: {}", remark.place, remark.why)),
            RemarkKind::Missing | RemarkKind::Refused | RemarkKind::Hook | RemarkKind::Needless => {}
        }
    }
    let shown = &translation.shown;
    // As it stands in the file, a Symbol or a String.
    let names_jobs = |plugin: &str| plugin.trim_matches([':', '"']) == "solid_queue";
    if missing.iter().filter_map(|name| name.strip_prefix("plugin ")).any(names_jobs) {
        asked.notices.push(format!(
            "{shown}: plugin :solid_queue is not loaded, so no jobs run: start bin/jobs as a process of its own"
        ));
    }
    if !missing.is_empty() {
        let names = missing.join(", ");
        asked.notices.push(format!("{shown}: without a counterpart: {names}; `foolsgold explain {shown}` says more"));
    }
    if !translation.left.is_empty() {
        asked.notices.push(format!("{shown}: {}", leftover::in_words(&translation.left)));
    }
    if kind == ServerKind::Passenger {
        let unserved = passenger::unserved(&translation, |name| std::env::var(name).ok());
        asked.notices.extend(unserved.map(|why| format!("{shown}: {why}")));
        // Where another key says less, that counts.
        let most = translation.value("max-workers");
        asked.given.retain(|given| pool_key(given).is_none() || most == Some(given.value.as_str()));
    }
    for setting in translation.settings {
        let name = setting.row.name;
        // Another default is nearer.
        if name == Name::Bind && setting.place.is_assumed && asked.usual_host().is_some() {
            continue;
        }
        let value = setting.value;
        let origin = Origin::File(setting.place);
        asked.given.push(RawValue { name, value, origin, app: None });
    }
    let is_file = |path: &Path| !home.join(path).is_dir();
    if !asked.rackup.as_deref().is_some_and(is_file)
        && let Some(rackup) = translation.rackup
    {
        asked.rackup = Some(home.join(rackup));
    }
}

/// Reads a file and translates it; errors say why it could not be read.
fn translate(
    asked: &Arguments,
    kind: ServerKind,
    path: &Path,
    home: &Path,
    text: &str,
) -> Result<Translation, Vec<String>> {
    let shown = path.display().to_string();
    if kind == ServerKind::Passenger {
        let mut calls =
            passenger::read(text, |name| std::env::var(name).ok()).map_err(|why| vec![format!("{shown}: {why}")])?;
        calls.extend(daemonize(asked));
        calls.extend(pool_flags(asked));
        return Ok(Translation::of(kind, shown, home, calls));
    }
    // A variable of this program counts more than the file, as a flag does.
    let outdoes = |name: Name| {
        let given = asked.values(name).into_iter().next_back()?;
        given.is_for_this_program().then(|| given.value.clone())
    };
    let names: Vec<&str> = kind.rules().iter().map(|(name, _)| *name).collect();
    let ruby = asked.values(Name::Ruby).last().map_or_else(|| "ruby".to_owned(), |given| given.value.clone());
    let failed = |error: std::io::Error| vec![format!("{shown}: {error}")];
    let absolute = path::absolute(home.join(path)).map_err(failed)?;
    let folder = path::absolute(home.join(".")).map_err(failed)?;
    let gemfile = gemfile(asked, &folder);
    let lockfile = gemfile.as_deref().and_then(bundle::lockfile);
    let workers = outdoes(Name::Workers);
    let environment = environment(asked);
    let overriding = Overriding {
        workers: workers.clone(),
        daemonizes: daemonize(asked).is_some_and(|call| call.args == [Value::Bool(true)]),
        host: outdoes(Name::Host),
        port: outdoes(Name::Port),
    };
    let question = Question {
        ruby: Path::new(&ruby),
        path: &absolute,
        kind: kind.word(),
        gemfile: gemfile.as_deref(),
        lockfile: lockfile.as_deref(),
        names: &names,
        overriding,
        environment: &environment,
        folder: &folder,
        limits_heaps: heaps::are_free(&[]),
        stays: asked.command == Command::Serve && kind.is_code(),
    };
    if !question.stays {
        leftover::adopt();
    }
    let given_workers = asked.values(Name::Workers).into_iter().next_back();
    let beside = Beside {
        host: asked.usual_host().map(str::to_owned),
        workers: workers.clone(),
        usual_workers: given_workers.map(|given| given.value.clone()),
    };
    let words = |why: ReadError| match (&why, bundle::remedy(question.gemfile)) {
        (ReadError::Other(_), _) => why.to_string(),
        (ReadError::Ended, Some(remedy)) => format!("{why}, {remedy}"),
        (ReadError::Ended, None) => format!("{why}; its error message is in the server's output"),
    };
    let read = record::read(&question, kind.word());
    let (record, evaluated) = read.map_err(|why| vec![format!("{shown}: {}", words(why))])?;
    let left = if question.stays { Vec::new() } else { leftover::children() };
    match record.error {
        None => {
            let mut calls = record.calls;
            calls.extend(daemonize(asked).filter(|_| kind == ServerKind::Thin));
            let mut translation = Translation::with(beside, kind, shown, home, calls);
            // A directive counts more.
            if let Some((name, value)) = record.environment.filter(|_| translation.value("environment").is_none()) {
                translation.set_inferred("environment", &value, &format!("ENV[\"{name}\"] = \"{value}\""));
            }
            if kind == ServerKind::Unicorn && unicorn::ends_gracefully_at_term(text) {
                translation.set_inferred("signals", "unicorn-graceful", "its trap for TERM sends QUIT");
            }
            translation.evaluated = evaluated;
            translation.left = left;
            Ok(translation)
        }
        Some(failure) => {
            let so_far: Vec<Directive> = record.calls;
            let mut translation = Translation::with(beside, kind, shown.clone(), home, so_far);
            if let Some(call) = &failure.call {
                translation.unknown(call);
            }
            let mut problems: Vec<String> = translation.refused().collect();
            if failure.call.is_none() {
                problems.push(failure.in_words(&shown));
            }
            if !left.is_empty() {
                problems.push(format!("{shown}: {}", leftover::in_words(&left)));
            }
            Err(problems)
        }
    }
}

/// The variables that the code of a file finds: those of flags, and those for the environment with its value, where one
/// is set that counts more than the file.
fn environment(asked: &Arguments) -> Vec<(&str, &str)> {
    let of_flags = asked.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let given = asked.values(Name::Environment).into_iter().next_back().filter(|given| given.is_for_this_program());
    let Some(given) = given else { return of_flags.collect() };
    let by = if given.is_for_middleware() { EnvironmentSource::OtherSetting } else { EnvironmentSource::OwnSetting };
    let names = environment_variables(by, &[]);
    of_flags.chain(names.into_iter().map(|name| (name, given.value.as_str()))).collect()
}

/// `--daemonize` of the command line or the environment, as a key of the file: Thin and Passenger have a log file and a
/// pid file by default if they run in the background, and Thin obeys `log` only then.
fn daemonize(asked: &Arguments) -> Option<Directive> {
    let given = asked.values(Name::Daemonize).into_iter().next_back()?;
    // Any other word is an error that is reported with all others.
    let is_yes = given.yes_or_no().filter(|yes| *yes || !given.value.is_empty())?;
    let args = vec![Value::Bool(is_yes)];
    Some(Directive { name: "daemonize".to_owned(), line: None, file: None, args, written: given.as_written() })
}

/// The flags of Passenger for numbers of processes, each as the key of the file whose place it takes: another key may
/// say a smaller number.
fn pool_flags(asked: &Arguments) -> impl Iterator<Item = Directive> {
    asked.pool_flags.iter().filter_map(|given| {
        let name = pool_key(given)?.to_owned();
        let args = vec![Value::String(given.value.clone())];
        Some(Directive { name, line: None, file: None, args, written: given.as_written() })
    })
}

/// The key of Passenger's file for the flag with which this was given.
fn pool_key(given: &RawValue) -> Option<&'static str> {
    match &given.origin {
        Origin::Flag(flag) if flag == "--max-pool-size" => Some("max_pool_size"),
        Origin::Flag(flag) if flag == "--max-instances" => Some("max_instances"),
        _ => None,
    }
}

/// Names of the variables of Passenger that are set, which count beside its file only.
pub fn variables_of_passenger(asked: &Arguments) -> Vec<String> {
    let mut names = passenger::set_variables(|name| std::env::var(name).ok());
    let has_environment = !asked.values(Name::Environment).is_empty();
    names.retain(|name| !(has_environment && name == passenger::APP_ENV));
    names
}

/// The application's Gemfile, as far as it is known before the file has named a folder.
fn gemfile(asked: &Arguments, folder: &Path) -> Option<PathBuf> {
    let named = folder.join(asked.rackup.as_deref().unwrap_or(Path::new("")));
    let rackup = if named.is_dir() { named.join("config.ru") } else { named };
    let rackup = rackup::in_real_folder(&rackup).unwrap_or(rackup);
    let top = folder.canonicalize().ok();
    rackup::gemfile(&rackup, std::env::var_os("BUNDLE_GEMFILE").as_deref(), top.as_deref())
}

/// The directives of the server with this word; empty for others.
pub fn directives(word: &str) -> Vec<&'static str> {
    let kinds = [ServerKind::Puma, ServerKind::Unicorn, ServerKind::Pitchfork];
    let rules =
        kinds.iter().find(|kind| word.split(',').next() == Some(kind.word())).map_or(&[][..], |kind| kind.rules());
    rules.iter().map(|(name, _)| *name).collect()
}

/// Server that a `--hooks` file is written for, as a word for the Ruby side; empty for our own.
pub fn hooks_kind(path: &Path) -> Result<&'static str, String> {
    let own = path.file_name().is_some_and(|name| name == "foolsgold.rb");
    if let Some(kind) = ServerKind::by_name(path).filter(|_| !own) {
        return Ok(kind.word());
    }
    let text = text_of(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    Ok(ServerKind::by_content(&text).filter(|_| !own).map_or("", ServerKind::word))
}

#[cfg(test)]
#[path = "compat_test.rs"]
mod tests;
