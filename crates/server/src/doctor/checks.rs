//! The checks of an application, in their order.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{Answer, ask};
use super::difference;
use super::loading::{END, Finding, Gem, all_missing, start};
use super::report::{Asked, OnRuby, Report, There};
use super::scan;
use crate::apps::engines::{EngineContext, RefusalKind, RunningEngine, Size};
use crate::apps::spec::AppSpec;
use crate::config::app_settings::{AppSettings, Ruby, RubyWorker};
use crate::process::program::find_program;

/// Interval at which a process is polled.
const LOOK: Duration = Duration::from_millis(10);
/// Time until a second request: enough for a time in whole seconds to change.
const AGAIN: Duration = Duration::from_millis(1100);

/// Checks an application on the embedded engine and on the user's Ruby.
pub fn run(
    here: &AppSpec,
    there: &AppSpec,
    settings: &AppSettings,
    engine_context: &Arc<EngineContext>,
    paths: &[String],
) -> Report {
    let rackup = here.rackup.clone();
    let missing = all_missing(here, settings, engine_context);
    let own: Vec<String> = missing.files.into_iter().filter(|file| !is_of(&missing.gems, file)).collect();
    let doubts = scan::doubts(&rackup, &own, &missing.methods);
    let mut report = Report { rackup, gemfile: here.gemfile.clone(), files: own, doubts, ..Report::default() };
    let began = Instant::now();
    // If it did not finish with parts left out, it would not do so now.
    let real = missing.stuck.map_or_else(|| start(here, settings, Size::Full, engine_context), Err);
    let ours = match real {
        Ok(running) => {
            report.loaded = Some(began.elapsed());
            report.did_without = missing.tried;
            Some(running)
        }
        Err(refusal) => {
            report.refusal = Some(refusal.words);
            report.findings = missing.found;
            report.unfinished = missing.unfinished;
            ask_ruby(&mut report.findings, &settings.ruby);
            None
        }
    };
    let load_path = missing.gems.iter().filter(|gem| Path::new(&gem.folder).starts_with(report.folder()));
    let load_path = load_path.flat_map(|gem| gem.paths.clone()).collect();
    report.gems = missing.gems;
    let theirs = start_there(&AppSpec { load_path, ..there.clone() }, settings, engine_context, &mut report);
    if let Some(ours) = &ours {
        report.asked = asked(ours, theirs.as_ref(), settings, paths);
    }
    ours.into_iter().chain(theirs).for_each(|running| running.stop(END));
    report
}

fn is_of(gems: &[Gem], file: &str) -> bool {
    gems.iter().any(|gem| Path::new(file).starts_with(&gem.folder))
}

fn start_there(
    there: &AppSpec,
    settings: &AppSettings,
    engine_context: &Arc<EngineContext>,
    report: &mut Report,
) -> Option<RunningEngine> {
    let mut settings = settings.clone();
    // Nothing is built here.
    if settings.ruby.worker == RubyWorker::Native {
        settings.ruby.worker = RubyWorker::Auto;
    }
    match start(there, &settings, Size::Workers(1), engine_context) {
        Ok(running) => {
            if let RunningEngine::Ruby(engine) = &running {
                report.ruby = engine.fact("ruby").map(str::to_owned);
            }
            report.on_ruby = OnRuby::Loads;
            Some(running)
        }
        Err(refusal) => {
            let words = refusal.words.lines().take(2).map(str::trim).collect::<Vec<_>>().join(" ");
            report.on_ruby = match refusal.kind {
                RefusalKind::App | RefusalKind::NoRack => OnRuby::Fails(words),
                RefusalKind::Engine | RefusalKind::Hook => OnRuby::Absent(words),
            };
            None
        }
    }
}

/// Sends the same requests to both, and again if the responses differ.
fn asked(ours: &RunningEngine, theirs: Option<&RunningEngine>, settings: &AppSettings, paths: &[String]) -> Vec<Asked> {
    let usual = ["/".to_owned()];
    let paths = if paths.is_empty() { &usual } else { paths };
    let get = |running: &RunningEngine, path: &str| ask(&*running.engine(), settings, path, settings.request_time);
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
    // After one response it is unknown what changes with each.
    if found.real.is_empty() { There::Same(found.changing) } else { There::Other { found, answer: answer.cloned() } }
}

/// Asks Ruby whether it can parse the files that do not parse here, as far as the time allows.
fn ask_ruby(findings: &mut [Finding], ruby: &Ruby) {
    let end = Instant::now() + ruby.boot_time;
    for finding in findings {
        let Some(rest) = finding.words.strip_prefix("SyntaxError: ") else { continue };
        let ends = rest.match_indices(':').map(|(at, _)| &rest[..at]);
        let Some(file) = ends.into_iter().find(|path| Path::new(path).is_file()) else { continue };
        let Some(accepts) = parses(ruby, file, end) else { return };
        let remark = if accepts {
            "`ruby -c` accepts the file: it has syntax that the embedded interpreter lacks (docs/writing-apps.md)"
        } else {
            "`ruby -c` refuses the file too"
        };
        finding.remark = Some(remark.to_owned());
    }
}

/// Whether `ruby -c` accepts a file; `None` if it does not finish in time. It runs as the user of the workers.
fn parses(ruby: &Ruby, file: &str, end: Instant) -> Option<bool> {
    let program = find_program(&ruby.program)?;
    let mut command = engine_ruby::command(&program, ruby.user.as_ref());
    command.arg("-c").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().ok()? {
            return Some(status.success());
        }
        thread::park_timeout(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
