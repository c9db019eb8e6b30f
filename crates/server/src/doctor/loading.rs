//! Loads an application within a time limit, repeatedly if necessary to find everything that is missing.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use engine::brief;
use files::TempFolder;
use serde::Deserialize;

use super::answer;
use crate::apps::engines::{EngineContext, Refusal, RefusalKind, RunningEngine, Size};
use crate::apps::spec::AppSpec;
use crate::apps::trial::Verdict;
use crate::config::app_settings::AppSettings;
use crate::config::engine_kind::EngineKind;

/// A config.ru that loads the application and reports what is missing.
const STUB_MISSING: &str = include_str!("stub_missing.rb");
/// Its name in backtraces.
const NAME: &str = "doctor.ru";
/// Time for a Ruby to exit.
pub const END: Duration = Duration::from_secs(2);
/// Number of missing things after which the search stops.
const SPARED_MAX: usize = 50;
/// Time of all attempts, as a multiple of the boot time.
const TIMES: u32 = 2;
/// Added to the boot time: each engine limits it itself, except for parsing, which it cannot interrupt.
const GRACE: Duration = Duration::from_secs(1);
/// Stack of the loading thread, as of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// A missing thing, as reported by stub_missing.rb.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Finding {
    /// `library`, `constant`, `name` (a method or constant that an object lacks), or `error`.
    pub kind: String,
    pub name: String,
    pub words: String,
    /// `file:line`, perhaps with the method.
    pub places: Vec<String>,
    /// Opinion of the user's Ruby on a file that does not parse.
    #[serde(default)]
    pub remark: Option<String>,
}

/// A gem beside the application, of which a file was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Gem {
    /// Name and version.
    pub name: String,
    pub folder: String,
    /// Its folders on the load path.
    pub paths: Vec<PathBuf>,
}

/// The report of stub_missing.rb.
#[derive(Debug, Default, Deserialize)]
pub struct LoadReport {
    pub found: Vec<Finding>,
    pub tried: Vec<String>,
    ended: Option<Cause>,
    pub files: Vec<String>,
    pub gems: Vec<Gem>,
    pub methods: Vec<String>,
    /// Why the report may be incomplete.
    #[serde(skip)]
    pub unfinished: Option<String>,
    /// Set if the application neither loaded nor failed.
    #[serde(skip)]
    pub stuck: Option<Refusal>,
}

/// Cause of an exception: kind (`library`, `constant`, `file`) and name.
type Cause = (String, String);

/// Why a loading has no report.
enum LoadError {
    Refused(Refusal),
    /// The loading thread is stuck, and left behind until this process exits.
    Stuck,
}

impl From<String> for LoadError {
    fn from(words: String) -> LoadError {
        LoadError::Refused(words.into())
    }
}

/// Loads the application as the server would.
pub fn start(
    found: &AppSpec,
    settings: &AppSettings,
    size: Size,
    engine_context: &Arc<EngineContext>,
) -> Result<RunningEngine, Refusal> {
    if found.engine == EngineKind::Ruby {
        // Its processes are killed when their time is over.
        return RunningEngine::start(found, settings, size, engine_context);
    }
    load(found, settings, engine_context).map_err(|error| match error {
        LoadError::Refused(refusal) => refusal,
        LoadError::Stuck => stuck(found, settings),
    })
}

fn load(
    found: &AppSpec,
    settings: &AppSettings,
    engine_context: &Arc<EngineContext>,
) -> Result<RunningEngine, LoadError> {
    RunningEngine::try_in_a_child(found, settings, engine_context).map_err(LoadError::Refused)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let own_found = found.clone();
    let own_settings = settings.clone();
    let own_context = engine_context.clone();
    let work = move || {
        if let Err(unheard) = sender.send(RunningEngine::start(&own_found, &own_settings, Size::Full, &own_context))
            && let Ok(running) = unheard.0
        {
            running.stop(Duration::ZERO);
        }
    };
    let spawned = thread::Builder::new().name("loading".to_owned()).stack_size(STACK_BYTES).spawn(work);
    spawned.map_err(|error| format!("the machine refused a thread: {error}"))?;
    match receiver.recv_timeout(settings.ruby.boot_time + GRACE) {
        Ok(started) => started.map_err(LoadError::Refused),
        Err(_) => Err(LoadError::Stuck),
    }
}

fn stuck(found: &AppSpec, settings: &AppSettings) -> Refusal {
    let verdict = Verdict::Stuck(settings.ruby.boot_time);
    let words = format!("{} cannot be loaded: {verdict}", found.rackup.display());
    Refusal { kind: RefusalKind::App, words }
}

/// Finds everything that is missing: as long as something ends the loading, loads again without it, within the time
/// limit.
pub fn all_missing(found: &AppSpec, settings: &AppSettings, engine_context: &Arc<EngineContext>) -> LoadReport {
    let mut spared: Vec<Cause> = Vec::new();
    let mut last = LoadReport::default();
    let time = settings.ruby.boot_time * TIMES;
    let end = Instant::now() + time;
    loop {
        match load_with_stubs(found, &spared, settings, engine_context) {
            Ok(report) => last = report,
            // If the first attempt fails, so does the real loading, with a better error.
            Err(LoadError::Refused(_)) if spared.is_empty() => return last,
            Err(LoadError::Refused(_)) => return last.cut_off("without these it does not load within --boot-time"),
            Err(LoadError::Stuck) => return LoadReport { stuck: Some(stuck(found, settings)), ..last },
        }
        match &last.ended {
            Some(cause) if !spared.contains(cause) => {
                if spared.len() == SPARED_MAX {
                    return last.cut_off(&format!("{SPARED_MAX} were enough"));
                }
                if Instant::now() >= end {
                    return last.cut_off(&format!("{}, twice --boot-time, were over", brief(time)));
                }
                spared.push(cause.clone());
            }
            _ => return last,
        }
    }
}

impl LoadReport {
    /// Marks the report as incomplete, with the reason.
    fn cut_off(self, why: &str) -> LoadReport {
        let name = self.ended.as_ref().map(|(_, name)| format!("\"{name}\" and ")).unwrap_or_default();
        LoadReport { unfinished: Some(format!("{name}perhaps others, which were not looked for: {why}")), ..self }
    }
}

fn load_with_stubs(
    found: &AppSpec,
    spared: &[Cause],
    settings: &AppSettings,
    engine_context: &Arc<EngineContext>,
) -> Result<LoadReport, LoadError> {
    let folder = TempFolder::new("foolsgold-doctor-").map_err(|error| error.to_string())?;
    let rackup = folder.path().join(NAME);
    let pairs: Vec<String> =
        spared.iter().map(|(kind, name)| format!("[{}, {}]", quoted(kind), quoted(name))).collect();
    let (config, doctor) = (quoted(&found.rackup.to_string_lossy()), quoted(&rackup.to_string_lossy()));
    // In one line, so that the following lines keep their numbers.
    let text = format!("CONFIG = {config}; DOCTOR = {doctor}; SPARED = [{}]; {STUB_MISSING}", pairs.join(", "));
    fs::write(&rackup, text).map_err(|error| format!("{}: {error}", rackup.display()))?;
    let running = load(&AppSpec { rackup, ..found.clone() }, settings, engine_context)?;
    let answer = answer::body(&*running.engine(), settings, "/", settings.ruby.boot_time);
    running.stop(END);
    let report = serde_json::from_slice(&answer?);
    report.map_err(|error| format!("what was found cannot be read: {error}").into())
}

/// A text as a Ruby string literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
