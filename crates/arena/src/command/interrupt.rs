//! Handles an interruption (Ctrl-C, SIGTERM, a closed terminal): stops the servers, removes temporary folders, reports
//! where the measurements are, and exits. A second signal skips the wait.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use indicatif::ProgressBar;
use parking_lot::Mutex;
use procfs::process::Process;
use tokio::signal::unix::{Signal, SignalKind, signal};

use loadgen::process::{PATIENCE, adopt, dismiss, halt, post};

/// Argument with which the guard process is started.
pub(super) const GUARD: &str = "guard";

static HURRIED: AtomicBool = AtomicBool::new(false);
static SHOWN: Mutex<CurrentRun> =
    Mutex::new(CurrentRun { is_to_measure: false, bar: None, folder: None, goes_on: None });

/// State of the present run that an interruption needs for its messages.
struct CurrentRun {
    /// Whether the command starts servers and measures them. If not, it only asks programs for their versions.
    is_to_measure: bool,
    bar: Option<ProgressBar>,
    folder: Option<PathBuf>,
    /// Command that resumes the run.
    goes_on: Option<String>,
}

/// Makes sure that everything started from now on is stopped, even if this program is killed. `is_to_measure`: whether
/// servers will be started and measured, or programs only asked for their versions.
pub(super) fn prepare(is_to_measure: bool) -> Result<(), String> {
    shown(|shown| shown.is_to_measure = is_to_measure);
    let (ready, is_ready) = sync_channel(1);
    let thread = thread::Builder::new().name("signals".into()).spawn(move || listen(&ready));
    thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    is_ready.recv().map_err(|error| error.to_string())??;
    post(&[GUARD])?;
    adopt()
}

/// Registers a progress bar, which is cleared before the last message.
pub(super) fn shows(bar: &ProgressBar) {
    shown(|shown| shown.bar = Some(bar.clone()));
}

/// Registers the folder of the measurements, and the command that resumes the run.
pub(super) fn measures(folder: &Path, goes_on: Option<String>) {
    shown(|shown| (shown.folder, shown.goes_on) = (Some(folder.to_owned()), goes_on));
}

fn shown<T>(with: impl FnOnce(&mut CurrentRun) -> T) -> T {
    with(&mut SHOWN.lock())
}

fn listen(ready: &SyncSender<Result<(), String>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let wait = |runtime: tokio::runtime::Runtime| runtime.block_on(wait(ready));
    if let Err(error) = runtime.and_then(wait) {
        let _ = ready.send(Err(format!("cannot listen to signals: {error}")));
    }
}

async fn wait(ready: &SyncSender<Result<(), String>>) -> std::io::Result<()> {
    let mut signals = Signals::new()?;
    let _ = ready.send(Ok(()));
    let (name, code) = signals.next().await;
    let what = match shown(|shown| shown.is_to_measure) {
        true => "the servers",
        false => "the programs that were asked for their versions",
    };
    say(&format!("{name}: ending {what}; once more ends them at once"));
    thread::spawn(move || exit(code));
    let (name, _) = signals.next().await;
    say(&format!("{name} again: ending them at once"));
    HURRIED.store(true, Ordering::Release);
    // The other thread exits the program; further signals change nothing.
    std::future::pending().await
}

/// Stops everything, and exits this program.
fn exit(code: i32) -> ! {
    halt(PATIENCE, &|| HURRIED.load(Ordering::Acquire));
    say(&shown(|shown| exit_message(shown)));
    dismiss();
    std::process::exit(code)
}

/// The last message of an interrupted program: where its samples are, and the command that resumes it.
fn exit_message(run: &CurrentRun) -> String {
    let Some(folder) = &run.folder else {
        let when = if run.is_to_measure { " before anything was measured" } else { "" };
        return format!("interrupted{when}");
    };
    let path = folder.display();
    let samples = fs::read(folder.join("raw.jsonl")).unwrap_or_default();
    match (samples.is_empty(), &run.goes_on) {
        (true, Some(command)) => format!("interrupted before anything was measured\nto go on: {command}"),
        (false, Some(command)) => format!("interrupted; what was measured is in {path}\nto go on: {command}"),
        (false, None) => format!("interrupted; a duel begins anew. What was measured is in {path}"),
        (true, None) => format!("interrupted before anything was measured; the servers' logs are in {path}"),
    }
}

fn say(words: &str) {
    if let Some(bar) = shown(|shown| shown.bar.take()) {
        bar.finish_and_clear();
    }
    // Writing to a closed terminal fails.
    let _ = writeln!(stderr(), "arena: {words}");
}

struct Signals {
    int: Signal,
    term: Signal,
    /// `None` under nohup.
    hup: Option<Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let hup = (!is_hup_ignored()).then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Signals { int: signal(SignalKind::interrupt())?, term: signal(SignalKind::terminate())?, hup })
    }

    /// Waits for the next signal. Returns its name and the exit code for it.
    async fn next(&mut self) -> (&'static str, i32) {
        let hup = async {
            match &mut self.hup {
                Some(hup) => hup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.int.recv() => ("SIGINT", 130),
            _ = self.term.recv() => ("SIGTERM", 143),
            _ = hup => ("SIGHUP", 129),
        }
    }
}

fn is_hup_ignored() -> bool {
    // The first bit is that of signal 1.
    Process::myself().and_then(|me| me.status()).is_ok_and(|status| status.sigign & 1 == 1)
}
