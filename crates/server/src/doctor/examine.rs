//! The examination: what is tried, in which order.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::answer::{Answer, ask};
use super::report::{Asked, Report, There};
use super::sources;
use crate::app_settings::AppSettings;
use crate::engines::{Base, Running, Size};
use crate::found::Found;

/// What an application is loaded by that must not stop at the first thing that is missing.
const TOLERANT: &str = include_str!("tolerant.rb");
/// Its name in backtraces.
const NAME: &str = "doctor.ru";
/// For each answer.
const TIME: Duration = Duration::from_secs(10);
/// For the end of a Ruby.
const END: Duration = Duration::from_secs(2);

/// What is missing, as tolerant.rb tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Finding {
    /// `library`, `constant`, `name` (a method or constant that something lacks), or `error`.
    pub kind: String,
    pub name: String,
    pub words: String,
    /// `file:line`, perhaps with the method.
    pub places: Vec<String>,
}

/// All of what tolerant.rb tells.
#[derive(Debug, Default, Deserialize)]
struct Told {
    found: Vec<Finding>,
    files: Vec<String>,
    methods: Vec<String>,
}

/// Looks at one application: as it is here, and as it is on the user's Ruby.
pub fn examine(here: &Found, there: &Found, settings: &AppSettings, base: &Base, paths: &[String]) -> Report {
    let rackup = here.rackup.clone();
    // Where this fails, so does the real loading, with better words.
    let told = tolerant(here, settings, base).unwrap_or_default();
    let doubts = sources::doubts(&rackup, &told.files, &told.methods);
    let mut report = Report {
        rackup,
        gemfile: here.gemfile.clone(),
        files: told.files,
        findings: told.found,
        doubts,
        ..Report::default()
    };
    let usual = ["/".to_owned()];
    let paths = if paths.is_empty() { &usual } else { paths };
    let began = Instant::now();
    match Running::start(here, settings, Size::Full, base) {
        Ok(running) => {
            report.loaded = Some(began.elapsed());
            let answers = paths.iter().map(|path| (path.clone(), ask(&*running.engine(), settings, path, TIME)));
            report.asked = answers.map(|(path, here)| Asked { path, here, there: There::NotAsked }).collect();
            running.stop(END);
        }
        Err(why) => report.refusal = Some(why),
    }
    compare(&mut report, there, settings, base);
    report
}

/// The same requests on the user's Ruby.
fn compare(report: &mut Report, there: &Found, settings: &AppSettings, base: &Base) {
    match Running::start(there, settings, Size::Workers(1), base) {
        Ok(running) => {
            if let Running::Ruby(engine) = &running {
                report.ruby = engine.fact("ruby").map(str::to_owned);
            }
            for asked in &mut report.asked {
                asked.there = compared(asked.here.as_ref().ok(), ask(&*running.engine(), settings, &asked.path, TIME));
            }
            running.stop(END);
        }
        Err(why) => report.not_compared = Some(why.lines().take(2).map(str::trim).collect::<Vec<_>>().join(" ")),
    }
}

fn compared(here: Option<&Answer>, there: Result<Answer, String>) -> There {
    match (here, there) {
        (_, Err(why)) => There::Failed(why.lines().next().unwrap_or_default().to_owned()),
        (None, Ok(there)) => There::Other(format!("status {} there", there.status)),
        (Some(here), Ok(there)) => here.difference(&there).map_or(There::Same, There::Other),
    }
}

/// Loads it with all that is missing put aside.
fn tolerant(found: &Found, settings: &AppSettings, base: &Base) -> Result<Told, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for a file of ours: {error}"))?;
    let rackup = folder.path().join(NAME);
    // In one line, so that the lines of what follows are right.
    let text = format!("CONFIG = {}; DOCTOR = {}; {TOLERANT}", quoted(&found.rackup), quoted(&rackup));
    fs::write(&rackup, text).map_err(|error| format!("{}: {error}", rackup.display()))?;
    let running = Running::start(&Found { rackup, ..found.clone() }, settings, Size::Full, base)?;
    let answer = ask(&*running.engine(), settings, "/", TIME);
    running.stop(END);
    serde_json::from_slice(&answer?.body).map_err(|error| format!("what was found cannot be read: {error}"))
}

/// As a Ruby string.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'"))
}
