//! Commands that look without serving. `foolsgold config` shows the resolved settings (`effective`; `config_check`
//! checks the files that they name). The rest is `foolsgold doctor CONFIG.RU [PATH...]`: can the application run on the
//! embedded engine? It is loaded there, once as it is and once with everything missing left out, and gets some
//! requests, as it does on the user's Ruby if there is one; the doctor reports the outcome with a recommendation.
//! Nothing here listens, writes a lasting file, or leaves a process behind.

mod answer;
mod captured_output;
mod checks;
pub mod config_check;
mod difference;
pub mod effective;
mod loading;
mod print;
mod recommendation;
mod report;
mod scan;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::apps::engines::Alone;
use crate::apps::spec::{self, AppSpec, SpecError};
use crate::config::app_settings::{AppSettings, FOREVER};
use crate::config::arguments::{self, Command, Problem};
use crate::config::engine_kind::EngineKind;
use crate::config::invocation::Invocation;
use crate::config::options::{Row, TABLE};
use crate::config::settings::Settings;
use crate::process::exit;
use captured_output::CapturedOutput;
use recommendation::Recommendation;
use report::Report;

/// Time for loading and for a response where the settings have no limit.
const BOOT_TIME: Duration = Duration::from_secs(60);
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// What this command does, for messages about a failure.
const WHAT: &str = "examine this application";
/// The word for this command.
const WORD: &str = "doctor";

/// The text of `foolsgold doctor --help`.
const HELP: &str = "\
Usage: foolsgold doctor [OPTIONS] [CONFIG.RU] [PATH...]

Tells whether the application can run on embedded mruby, what it lacks there, and whether it answers a GET of each PATH
(default: /) as on your own Ruby. The application runs, with all its side effects; nothing listens.

      --json        print the report for programs
  -h, --help        this text

The options of the server count here, too: foolsgold --help names them.
Exit code: 0 it can run embedded, 1 it cannot, 2 it cannot be examined.
";

/// Arguments of this command only.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    /// The other words of the command line.
    rest: Vec<OsString>,
    paths: Vec<String>,
    json: bool,
}

/// Checks every application of the settings. Exit code: 0 if all can run on the embedded engine, else 1.
pub fn run(invocation: &Invocation) -> Option<ExitCode> {
    let (first, words) = invocation.arguments.split_first()?;
    if first != WORD {
        return None;
    }
    let words = Words::read(words);
    // A server with these words would read the same settings.
    let invocation = Invocation::new(words.rest, invocation.environment.clone(), invocation.machine);
    match invocation.typed().command {
        Command::Serve => {}
        Command::Help => return Some(exit::show(HELP)),
        _ => return Some(exit::refuse_to(WHAT, WORD, &["doctor: say `foolsgold doctor [CONFIG.RU] [PATH...]`"])),
    }
    let settings = match invocation.resolve(invocation.asked()) {
        Ok(settings) => settings,
        Err(mut problems) => {
            problems.iter_mut().for_each(add_hint);
            return Some(exit::refuse_to(WHAT, WORD, &problems));
        }
    };
    let examined = match CapturedOutput::begin() {
        Ok(captured) => {
            let examined = check_apps(settings, &invocation, &words.paths);
            // It may be closed; then the report is not read either.
            let _ = captured.end();
            examined
        }
        Err(error) => Err(SpecError::File(format!("what the application prints cannot be put aside: {error}"))),
    };
    Some(match examined {
        Ok(reports) => {
            let text = if words.json { print::json(&reports) } else { print::text(&reports) };
            let _ = exit::show(&text);
            if reports.iter().all(|report| Recommendation::of(report).is_good()) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            }
        }
        Err(SpecError::Options(problems)) => exit::refuse_to(WHAT, WORD, &problems),
        Err(SpecError::File(why)) => exit::refuse_to(WHAT, WORD, &[why]),
    })
}

fn check_apps(mut settings: Settings, invocation: &Invocation, paths: &[String]) -> Result<Vec<Report>, SpecError> {
    let bundle_gemfile = invocation.bundle_gemfile();
    let is_only_one = settings.apps.len() == 1;
    let mut reports = Vec::new();
    let alone = Alone::new().map_err(|error| SpecError::File(format!("the machine refused threads: {error}")))?;
    for app in &mut settings.apps {
        limit_times(app);
        // Settings that do not fit the other engine must not prevent the checks of this one.
        app.engine = None;
        app.incompatible.clear();
        let found = spec::find(app, bundle_gemfile.as_deref(), is_only_one)?;
        app.mruby.interpreters = 1;
        let (here, there) = (of(&found, EngineKind::Mruby), of(&found, EngineKind::Ruby));
        reports.push(checks::run(&here, &there, app, &alone.engine_context, paths));
    }
    Ok(reports)
}

/// Sets limits for loading and for a response where there are none: the checks must end, whatever the application
/// does.
fn limit_times(app: &mut AppSettings) {
    let limited = |time: Duration, usual: Duration| if time == FOREVER { usual } else { time };
    app.ruby.boot_time = limited(app.ruby.boot_time, BOOT_TIME);
    (app.request_time, app.has_request_time) = (limited(app.request_time, ANSWER_TIME), true);
}

fn of(found: &AppSpec, engine: EngineKind) -> AppSpec {
    AppSpec { engine, ..found.clone() }
}

/// A second word is more likely a path of the application than a second application.
fn add_hint(problem: &mut Problem) {
    if problem.0.contains(arguments::ONE_AT_A_TIME) {
        problem.0.push_str("; a path to ask for begins with a slash: `foolsgold doctor CONFIG.RU / /a/page`");
    }
}

impl Words {
    /// Splits the words: those that begin with a slash and are no file, nor named like one, are paths to request. So
    /// are folders without an application, such as `/home`, behind the application.
    fn read(words: &[OsString]) -> Words {
        let mut read = Words::default();
        let mut is_value = false;
        let mut has_app = false;
        for word in words {
            if is_value {
                is_value = false;
                read.rest.push(word.clone());
                continue;
            }
            is_value = awaits_value(word);
            match word.to_str() {
                Some("--json") => read.json = true,
                Some(path) if is_asked_for(path, has_app) => read.paths.push(path.to_owned()),
                // The root folder is never an application.
                Some("/") => read.paths.push("/".to_owned()),
                _ => {
                    has_app |= !word.as_encoded_bytes().starts_with(b"-");
                    read.rest.push(word.clone());
                }
            }
        }
        read
    }
}

/// Whether the next word is the value of this one, which is a flag.
fn awaits_value(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    let is_it = |row: &&Row| match word.strip_prefix("--") {
        Some(long) => row.long == long,
        None => row.short.is_some_and(|letter| word.strip_prefix('-').is_some_and(|short| short.chars().eq([letter]))),
    };
    TABLE.iter().find(is_it).is_some_and(|row| row.takes_value())
}

fn is_asked_for(word: &str, has_app: bool) -> bool {
    let path = Path::new(word);
    let may_be_app = if has_app && path.is_dir() { path.join("config.ru").exists() } else { path.exists() };
    word.starts_with('/') && !may_be_app && path.extension().is_none_or(|extension| extension != "ru")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use machine::Machine;

    use super::*;
    use crate::config::settings;

    #[test]
    fn the_configured_times_are_the_limits_and_without_one_there_is_another() {
        let times = |words: &[&str]| {
            let asked = arguments::read(words.iter().map(OsString::from).collect(), &[]);
            let mut found = settings::resolve(asked, Machine { cores: 1, has_quota: false, memory: None }).unwrap();
            limit_times(&mut found.apps[0]);
            [found.apps[0].ruby.boot_time, found.apps[0].request_time].map(|time| time.as_secs())
        };
        assert_eq!(times(&[]), [60, 30]);
        assert_eq!(times(&["--boot-time", "5m", "--request-time", "2m"]), [300, 120]);
        assert_eq!(times(&["--boot-time", "none", "--request-time", "none"]), [60, 30]);
    }

    #[test]
    fn paths_are_told_from_files() {
        let words =
            ["shop", "/", "/etc/passwd", "--json", "/no/such?x=1", "/no/such.ru", "-e", "test"].map(OsString::from);
        let read = Words::read(&words);
        assert_eq!(read.paths, ["/", "/no/such?x=1"]);
        assert_eq!(read.rest, ["shop", "/etc/passwd", "/no/such.ru", "-e", "test"].map(OsString::from));
        assert!(read.json);
        let words = ["-C", "/no/such", "--dir", "/no/folder", "--fresh", "/no/such"].map(OsString::from);
        let read = Words::read(&words);
        assert_eq!((read.paths, read.rest.as_slice()), (vec!["/no/such".to_owned()], &words[..5]));
    }

    #[test]
    fn a_folder_without_an_application_is_a_path_behind_the_application() {
        let folder = tempfile::tempdir().unwrap();
        let (page, app) = (folder.path().join("home"), folder.path().join("blog"));
        std::fs::create_dir(&page).unwrap();
        std::fs::create_dir(&app).unwrap();
        std::fs::write(app.join("config.ru"), "").unwrap();
        let read = |words: &[&Path]| {
            let words: Vec<OsString> = words.iter().map(|word| word.as_os_str().to_owned()).collect();
            let read = Words::read(&words);
            (read.paths.iter().map(PathBuf::from).collect::<Vec<_>>(), read.rest.len())
        };
        let shop = Path::new("shop");
        assert_eq!(read(&[shop, &page, &app]), (vec![page.clone()], 2), "a second application is refused");
        assert_eq!(read(&[&page]), (vec![], 1), "the only word may be an application");
        assert_eq!(read(&[Path::new("--fresh"), &page]), (vec![], 2));
    }
}
