//! The examination: what is tried, in which order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::answer::{Answer, ask};
use super::difference;
use super::report::{Asked, OnRuby, Report, There};
use super::sources;
use crate::app_settings::AppSettings;
use crate::engines::{Base, Running, Size};
use crate::found::Found;

/// What an application is loaded by that tells what is missing.
const TOLERANT: &str = include_str!("tolerant.rb");
/// Its name in backtraces.
const NAME: &str = "doctor.ru";
/// For each answer.
const TIME: Duration = Duration::from_secs(10);
/// For the end of a Ruby.
const END: Duration = Duration::from_secs(2);
/// So many things are spared before it stops looking for more.
const SPARED_MAX: usize = 40;
/// After so long even a time in whole seconds is another.
const AGAIN: Duration = Duration::from_millis(1100);

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
struct Told {
    found: Vec<Finding>,
    tried: Vec<String>,
    ended: Option<Cause>,
    files: Vec<String>,
    gems: Vec<Gem>,
    methods: Vec<String>,
}

/// What an exception came from: its kind (`library`, `constant`, `file`) and its name.
type Cause = (String, String);

/// Looks at one application: as it is here, and as it is on the user's Ruby.
pub fn examine(here: &Found, there: &Found, settings: &AppSettings, base: &Base, paths: &[String]) -> Report {
    let rackup = here.rackup.clone();
    let told = all_missing(here, settings, base);
    let own: Vec<String> = told.files.into_iter().filter(|file| !is_of(&told.gems, file)).collect();
    let doubts = sources::doubts(&rackup, &own, &told.methods);
    let mut report = Report { rackup, gemfile: here.gemfile.clone(), files: own, doubts, ..Report::default() };
    let began = Instant::now();
    let ours = match Running::start(here, settings, Size::Full, base) {
        Ok(running) => {
            report.loaded = Some(began.elapsed());
            report.did_without = told.tried;
            Some(running)
        }
        Err(refusal) => {
            report.refusal = Some(refusal.words);
            report.findings = told.found;
            report.findings.iter_mut().for_each(|finding| finding.ask_ruby(&settings.ruby.program));
            None
        }
    };
    let load_path = told.gems.iter().filter(|gem| Path::new(&gem.folder).starts_with(report.folder()));
    let load_path = load_path.flat_map(|gem| gem.paths.clone()).collect();
    report.gems = told.gems;
    let theirs = start_there(&Found { load_path, ..there.clone() }, settings, base, &mut report);
    if let Some(ours) = &ours {
        report.asked = asked(ours, theirs.as_ref(), settings, paths);
    }
    ours.into_iter().chain(theirs).for_each(|running| running.stop(END));
    report
}

fn is_of(gems: &[Gem], file: &str) -> bool {
    gems.iter().any(|gem| Path::new(file).starts_with(&gem.folder))
}

fn start_there(there: &Found, settings: &AppSettings, base: &Base, report: &mut Report) -> Option<Running> {
    match Running::start(there, settings, Size::Workers(1), base) {
        Ok(running) => {
            if let Running::Ruby(engine) = &running {
                report.ruby = engine.fact("ruby").map(str::to_owned);
            }
            report.on_ruby = OnRuby::Loads;
            Some(running)
        }
        Err(refusal) => {
            let words = refusal.words.lines().take(2).map(str::trim).collect::<Vec<_>>().join(" ");
            report.on_ruby = if refusal.is_of_app { OnRuby::Fails(words) } else { OnRuby::Absent(words) };
            None
        }
    }
}

/// The same requests to both, and once more where the answers differ.
fn asked(ours: &Running, theirs: Option<&Running>, settings: &AppSettings, paths: &[String]) -> Vec<Asked> {
    let usual = ["/".to_owned()];
    let paths = if paths.is_empty() { &usual } else { paths };
    let get = |running: &Running, path: &str| ask(&*running.engine(), settings, path, TIME);
    let first = |path: &String| {
        let here = get(ours, path);
        let there = theirs.map_or(There::NotAsked, |theirs| match get(theirs, path) {
            Err(why) => There::Failed(why.lines().next().unwrap_or_default().to_owned()),
            Ok(there) => compared(here.as_ref().ok().map(|here| [here; 2]), [&there; 2], Some(&there)),
        });
        Asked { path: path.clone(), here, there }
    };
    let mut all: Vec<Asked> = paths.iter().map(first).collect();
    let end = Instant::now() + AGAIN;
    for asked in &mut all {
        let (Some(theirs), Ok(here), There::Other { answer: Some(there), .. }) = (theirs, &asked.here, &asked.there)
        else {
            continue;
        };
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            thread::park_timeout(left);
        }
        if let (Ok(here_again), Ok(there_again)) = (get(ours, &asked.path), get(theirs, &asked.path)) {
            asked.there = compared(Some([here, &here_again]), [there, &there_again], None);
        }
    }
    all
}

fn compared(here: Option<[&Answer; 2]>, there: [&Answer; 2], answer: Option<&Answer>) -> There {
    let found = match here {
        Some(here) => difference::between(here, there),
        None => difference::Difference { real: vec![format!("status {} there", there[0].status)], ..<_>::default() },
    };
    // As it stands after one answer, nobody knows what changes with each.
    if found.real.is_empty() { There::Same(found.changing) } else { There::Other { found, answer: answer.cloned() } }
}

/// All that is missing: as long as something ends the loading, once more without it.
fn all_missing(found: &Found, settings: &AppSettings, base: &Base) -> Told {
    let mut spared: Vec<Cause> = Vec::new();
    let end = Instant::now() + settings.ruby.boot_time;
    loop {
        // Where this fails, so does the real loading, with better words.
        let Ok(told) = tolerant(found, &spared, settings, base) else { return Told::default() };
        match &told.ended {
            Some(cause) if !spared.contains(cause) && spared.len() < SPARED_MAX && Instant::now() < end => {
                spared.push(cause.clone());
            }
            _ => return told,
        }
    }
}

fn tolerant(found: &Found, spared: &[Cause], settings: &AppSettings, base: &Base) -> Result<Told, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for a file of ours: {error}"))?;
    let rackup = folder.path().join(NAME);
    let pairs: Vec<String> =
        spared.iter().map(|(kind, name)| format!("[{}, {}]", quoted(kind), quoted(name))).collect();
    let (config, doctor) = (quoted(&found.rackup.to_string_lossy()), quoted(&rackup.to_string_lossy()));
    // In one line, so that the lines of what follows are right.
    let text = format!("CONFIG = {config}; DOCTOR = {doctor}; SPARED = [{}]; {TOLERANT}", pairs.join(", "));
    fs::write(&rackup, text).map_err(|error| format!("{}: {error}", rackup.display()))?;
    let found = Found { rackup, ..found.clone() };
    let running = Running::start(&found, settings, Size::Full, base).map_err(|refusal| refusal.words)?;
    let answer = ask(&*running.engine(), settings, "/", TIME);
    running.stop(END);
    serde_json::from_slice(&answer?.body).map_err(|error| format!("what was found cannot be read: {error}"))
}

/// As a Ruby string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

impl Finding {
    /// Whether a file that does not parse here would parse there.
    fn ask_ruby(&mut self, ruby: &Path) {
        let Some(rest) = self.words.strip_prefix("SyntaxError: ") else { return };
        let ends = rest.match_indices(':').map(|(at, _)| &rest[..at]);
        let Some(file) = ends.into_iter().find(|path| Path::new(path).is_file()) else { return };
        let checked = Command::new(ruby).arg("-c").arg(file).stdin(Stdio::null()).output();
        let Ok(checked) = checked else { return };
        let remark = if checked.status.success() {
            "`ruby -c` accepts the file: it has syntax that the embedded interpreter lacks (docs/writing-apps.md)"
        } else {
            "`ruby -c` refuses the file too"
        };
        self.remark = Some(remark.to_owned());
    }
}
