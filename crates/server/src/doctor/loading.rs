//! Loads an application, with an end to it: each loading in its time, and as often as it takes to find what is missing.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use engine::brief;
use files::TempFolder;
use serde::Deserialize;

use super::answer;
use crate::apps::engines::{EngineContext, Refusal, RefusalKind, Running, Size};
use crate::apps::spec::AppSpec;
use crate::apps::trial::Verdict;
use crate::config::app_settings::AppSettings;
use crate::config::engine_kind::EngineKind;

/// What an application is loaded by that tells what is missing.
const TOLERANT: &str = include_str!("tolerant.rb");
/// Its name in backtraces.
const NAME: &str = "doctor.ru";
/// For the end of a Ruby.
pub const END: Duration = Duration::from_secs(2);
/// So many things are spared before it stops looking for more.
const SPARED_MAX: usize = 50;
/// The time of all loadings that look for more, in those of one.
const TIMES: u32 = 2;
/// Each engine keeps the time itself, but for what cannot be interrupted: reading a program. This is added then.
const GRACE: Duration = Duration::from_secs(1);
/// As a program's main thread has it.
const STACK_BYTES: usize = 8 << 20;

/// What is missing, as tolerant.rb tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Finding {
    /// `library`, `constant`, `name` (a method or constant that something lacks), or `error`.
    pub kind: String,
    pub name: String,
    pub words: String,
    /// `file:line`, perhaps with the method.
    pub places: Vec<String>,
    /// What the user's Ruby says of a file that does not parse.
    #[serde(default)]
    pub remark: Option<String>,
}

/// A gem beside the application of which something was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Gem {
    /// With its version.
    pub name: String,
    pub folder: String,
    /// That are required from.
    pub paths: Vec<PathBuf>,
}

/// All of what tolerant.rb tells.
#[derive(Debug, Default, Deserialize)]
pub struct Told {
    pub found: Vec<Finding>,
    pub tried: Vec<String>,
    ended: Option<Cause>,
    pub files: Vec<String>,
    pub gems: Vec<Gem>,
    pub methods: Vec<String>,
    /// Why there may be more than it tells.
    #[serde(skip)]
    pub unfinished: Option<String>,
    /// It neither loaded nor failed.
    #[serde(skip)]
    pub stuck: Option<Refusal>,
}

/// What an exception came from: its kind (`library`, `constant`, `file`) and its name.
type Cause = (String, String);

/// What keeps a loading from telling anything.
enum Trouble {
    Refused(Refusal),
    /// It was left behind, until this process ends.
    Stuck,
}

impl From<String> for Trouble {
    fn from(words: String) -> Trouble {
        Trouble::Refused(words.into())
    }
}

/// Loads the application as the server would.
pub fn start(
    found: &AppSpec,
    settings: &AppSettings,
    size: Size,
    base: &Arc<EngineContext>,
) -> Result<Running, Refusal> {
    if found.engine == EngineKind::Ruby {
        // Processes are ended when their time is over.
        return Running::start(found, settings, size, base);
    }
    load(found, settings, base).map_err(|trouble| match trouble {
        Trouble::Refused(refusal) => refusal,
        Trouble::Stuck => stuck(found, settings),
    })
}

fn load(found: &AppSpec, settings: &AppSettings, base: &Arc<EngineContext>) -> Result<Running, Trouble> {
    Running::try_in_a_child(found, settings, base).map_err(Trouble::Refused)?;
    let (tell, told) = mpsc::sync_channel(1);
    let own_found = found.clone();
    let own_settings = settings.clone();
    let own_base = base.clone();
    let work = move || {
        if let Err(unheard) = tell.send(Running::start(&own_found, &own_settings, Size::Full, &own_base))
            && let Ok(running) = unheard.0
        {
            running.stop(Duration::ZERO);
        }
    };
    let spawned = thread::Builder::new().name("loading".to_owned()).stack_size(STACK_BYTES).spawn(work);
    spawned.map_err(|error| format!("the machine refused a thread: {error}"))?;
    match told.recv_timeout(settings.ruby.boot_time + GRACE) {
        Ok(started) => started.map_err(Trouble::Refused),
        Err(_) => Err(Trouble::Stuck),
    }
}

fn stuck(found: &AppSpec, settings: &AppSettings) -> Refusal {
    let verdict = Verdict::Stuck(settings.ruby.boot_time);
    let words = format!("{} cannot be loaded: {verdict}", found.rackup.display());
    Refusal { kind: RefusalKind::App, words }
}

/// All that is missing: as long as something ends the loading, once more without it, in the time for this.
pub fn all_missing(found: &AppSpec, settings: &AppSettings, base: &Arc<EngineContext>) -> Told {
    let mut spared: Vec<Cause> = Vec::new();
    let mut last = Told::default();
    let time = settings.ruby.boot_time * TIMES;
    let end = Instant::now() + time;
    loop {
        match tolerant(found, &spared, settings, base) {
            Ok(told) => last = told,
            // Where the first one fails, so does the real loading, with better words.
            Err(Trouble::Refused(_)) if spared.is_empty() => return last,
            Err(Trouble::Refused(_)) => return last.cut_off("without these it does not load within --boot-time"),
            Err(Trouble::Stuck) => return Told { stuck: Some(stuck(found, settings)), ..last },
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

impl Told {
    /// There may be more, and this is why nobody looked.
    fn cut_off(self, why: &str) -> Told {
        let name = self.ended.as_ref().map(|(_, name)| format!("\"{name}\" and ")).unwrap_or_default();
        Told { unfinished: Some(format!("{name}perhaps others, which were not looked for: {why}")), ..self }
    }
}

fn tolerant(
    found: &AppSpec,
    spared: &[Cause],
    settings: &AppSettings,
    base: &Arc<EngineContext>,
) -> Result<Told, Trouble> {
    let folder = TempFolder::new("foolsgold-doctor-").map_err(|error| error.to_string())?;
    let rackup = folder.path().join(NAME);
    let pairs: Vec<String> =
        spared.iter().map(|(kind, name)| format!("[{}, {}]", quoted(kind), quoted(name))).collect();
    let (config, doctor) = (quoted(&found.rackup.to_string_lossy()), quoted(&rackup.to_string_lossy()));
    // In one line, so that the lines of what follows are right.
    let text = format!("CONFIG = {config}; DOCTOR = {doctor}; SPARED = [{}]; {TOLERANT}", pairs.join(", "));
    fs::write(&rackup, text).map_err(|error| format!("{}: {error}", rackup.display()))?;
    let running = load(&AppSpec { rackup, ..found.clone() }, settings, base)?;
    let answer = answer::body(&*running.engine(), settings, "/", settings.ruby.boot_time);
    running.stop(END);
    let told = serde_json::from_slice(&answer?);
    told.map_err(|error| format!("what was found cannot be read: {error}").into())
}

/// As a Ruby string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
