//! The connections over which molds and workers are given orders, and what they say on them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc::UnboundedSender;

use crate::answer;
use crate::control::Control;
use crate::event::{Event, Speaker};
use crate::exit::Exit;
use crate::frames::{self, Frame, Reader, WireError, frame, kind, put_item};
use crate::process::Booting;
use crate::reason::Reason;
use crate::settings::{PUMA_SINGLE, Settings};
use crate::start_error::StartError;
use crate::work::Work;

/// Why a worker could not boot comes on another connection than word of its end, and so perhaps later.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// In this time the front has heard of a signal that was sent to all processes of the service.
const FRONTS_OWN: Duration = Duration::from_secs(1);
/// A mold says within this time how a worker of it has ended, unless it is busy with code of the application.
const MOLDS_WORD: Duration = Duration::from_secs(5);

/// Listens to a connection, and gives the way to write to it.
pub fn listen(stream: UnixStream, speaker: Speaker, events: UnboundedSender<Event>) -> Control {
    let (reader, writer) = stream.into_split();
    let (control, orders) = Control::new();
    drop(tokio::spawn(Control::write(orders, writer)));
    drop(tokio::spawn(async move {
        if let Err(error) = hear(reader, speaker, &events).await {
            tracing::error!(target: "engine", "{speaker} broke the protocol: {error}");
        }
        let _ = events.send(Event::Silent(speaker));
    }));
    control
}

async fn hear(mut reader: OwnedReadHalf, speaker: Speaker, events: &UnboundedSender<Event>) -> Result<(), WireError> {
    let mut buffer = BytesMut::new();
    loop {
        while let Some(frame) = frames::take(&mut buffer)? {
            let _ = events.send(Event::Said(speaker, frame));
        }
        match reader.read_buf(&mut buffer).await {
            Ok(count) if count > 0 => {}
            _ => return Ok(()),
        }
    }
}

/// What a mold is told first.
pub fn setup(settings: &Settings) -> Bytes {
    // Bytes: a path need not be UTF-8.
    let of = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(Vec::new, of);
    let yes = |is_so: bool| if is_so { "yes" } else { "" }.into();
    let pairs: [(&str, Vec<u8>); 15] = [
        ("rackup", of(&settings.rackup)),
        ("environment", settings.environment.clone().into()),
        ("hooks", path(&settings.hooks)),
        ("hooks_kind", settings.hooks_kind.clone().into()),
        ("hooks_names", settings.hooks_names.join(",").into()),
        ("threads", settings.threads.to_string().into()),
        ("gemfile", path(&settings.gemfile)),
        ("software", engine::env::SOFTWARE.into()),
        ("native", path(&settings.native)),
        ("oob_gc", yes(settings.oob_gc)),
        ("early_hints", yes(settings.early_hints)),
        ("files", yes(settings.user.is_none())),
        ("tag", settings.tag.clone().into()),
        ("single", yes(is_single(settings))),
        ("preload", settings.preload.as_str().into()),
    ];
    frame(kind::SETUP, |out| {
        for (name, value) in pairs {
            put_item(out, name.as_bytes());
            put_item(out, &value);
        }
    })
}

/// Whether `rack.multiprocess` is false. With the files of Puma's cluster mode, Unicorn and Pitchfork it is true even
/// with one worker, as in those servers.
fn is_single(settings: &Settings) -> bool {
    settings.max_workers == 1 && matches!(settings.hooks_kind.as_str(), "" | PUMA_SINGLE)
}

/// Takes what was said.
pub fn take(work: &mut Work, speaker: Speaker, frame: Frame) {
    let number = frame.kind;
    if let Err(error) = understand(work, speaker, frame) {
        tracing::error!(target: "engine", "{speaker} sent an invalid frame of kind {number}: {error}");
    }
}

fn understand(work: &mut Work, speaker: Speaker, frame: Frame) -> Result<(), WireError> {
    let kind = frame.kind;
    let mut reader = Reader::new(frame.payload, "a frame of orders");
    if let Speaker::Worker(worker) = speaker {
        work.heard(worker);
    }
    match (kind, speaker) {
        (kind::LOG, _) => log(work, reader.u8()?, speaker, &reader.text()),
        (kind::PING, Speaker::Worker(_)) => {}
        (kind::THREADS, Speaker::Worker(_)) => work.backtraces_came(reader.u32()?, reader.text()),
        (kind::TRACE, Speaker::Worker(_)) => {
            let lines = reader.list();
            if let Some((id, lines)) = lines.split_first() {
                work.settings.meter.recorder.add_backtrace(id, lines);
            }
        }
        (kind::OUT_OF_BAND, Speaker::Worker(worker)) => work.pool.is_back(worker),
        (kind::READY, Speaker::Mold(pid)) => work.mold_is_ready(pid, pairs(reader.list())),
        (kind::READY, Speaker::Worker(worker)) => {
            let has_errands = ("out_of_band".to_owned(), "yes".to_owned());
            work.worker_ready(worker, pairs(reader.list()).contains(&has_errands));
        }
        (kind::FAILED, Speaker::Mold(pid)) => {
            if let Some(mold) = work.molds.get_mut(&pid) {
                mold.is_over = true;
            }
            work.cannot_start(failed(work, reader.list()));
        }
        (kind::HOOK_FAILED, Speaker::Worker(worker)) => {
            work.end_is_logged(worker);
            work.hook_failed(failed_hook(reader.list()));
        }
        (kind::FAILED, Speaker::Worker(worker)) => {
            work.end_is_logged(worker);
            let mut error = failed(work, reader.list());
            if let (Some(shared), StartError::App(error)) = (&work.not_shared, &mut error) {
                error.message = format!("{} ({})", error.message, loads_again(shared));
            }
            work.cannot_start(error);
        }
        (kind::ENDING, Speaker::Worker(worker)) => asked_to_end(work, worker, reader.u8()? == 1),
        (kind::BEFORE_EXEC, Speaker::Mold(mold)) => work.exec_hooks_ended(mold, reader.list()),
        (kind::SHARED, Speaker::Mold(mold)) => work.will_not_fork(mold, &reader.list()),
        (kind::FORKED, Speaker::Mold(mold)) => forked(work, mold, reader.u32()?, reader.u32()?)?,
        (kind::EXITED, Speaker::Mold(mold)) => {
            let (worker, pid, code) = (reader.u32()?, reader.u32()?, reader.i32()?);
            let exit = Exit::of(code);
            // While one boots, what it reports itself says more.
            let is_booting = work.workers.get(&worker).is_some_and(|worker| !worker.is_ready);
            exited(work, mold, worker, exit);
            if !is_booting {
                work.log_exit(worker, pid, exit);
            }
        }
        (other, speaker) => {
            return Err(WireError(format!("a frame of kind {other} from the {speaker}, where it has no meaning")));
        }
    }
    Ok(())
}

/// Why the application cannot be loaded, in the words of its exception; where a gem is missing, with what gets it.
fn failed(work: &Work, words: Vec<String>) -> StartError {
    let mut error = answer::error(words);
    let missing = error.message.strip_prefix("cannot load such file -- ").filter(|path| !path.starts_with(['/', '.']));
    if let Some(missing) = missing.filter(|_| error.class == "LoadError") {
        let name = missing.split('/').next().unwrap_or(missing);
        let remedy = match &work.settings.gemfile {
            Some(gemfile) => format!("if it is of a gem, add that to {}, and `bundle install`", gemfile.display()),
            None => format!("if it is of a gem: `gem install {name}`, or a Gemfile and `bundle install`"),
        };
        error.message = format!("{} ({remedy})", error.message);
    }
    StartError::App(Box::new(error))
}

/// Which hook has kept a worker from starting, and how.
fn failed_hook(words: Vec<String>) -> StartError {
    let mut words = words.into_iter();
    let (hook, place) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    StartError::Hook(hook, place, Box::new(answer::error(words.collect())))
}

/// Whoever stops a service sends the signal to all of its processes: then the front ends too, and workers with it. One
/// that a worker has sent itself is meant for it alone.
fn asked_to_end(work: &mut Work, worker: u32, is_own: bool) {
    if is_own {
        return work.pool.retire(worker, Reason::Signal);
    }
    let events = work.events.clone();
    drop(tokio::spawn(async move {
        tokio::time::sleep(FRONTS_OWN).await;
        let _ = events.send(Event::Worn(worker, Reason::Signal));
    }));
}

/// Why an application that could be loaded is loaded once more, where it then fails.
fn loads_again(shared: &str) -> String {
    format!(
        "it could be loaded before workers were forked, and is now loaded in each of them, because they would share \
         {shared}. If workers do not use that, or each connects anew by itself, --preload=force forks them all the \
         same; otherwise close it in before_fork and open it in after_fork"
    )
}

fn forked(work: &mut Work, mold: u32, worker: u32, pid: u32) -> Result<(), WireError> {
    if work.settings.user.as_ref().is_some_and(|user| !user.runs(pid)) {
        return Err(WireError(format!("it says that worker {worker} is pid {pid}, which is not its own")));
    }
    if let Some(worker) = work.workers.get_mut(&worker) {
        worker.pid = Some(pid);
        // One that has become a worker itself cannot tell of its own end.
        worker.mold = Some(mold).filter(|mold| *mold != pid);
    }
    Ok(())
}

fn exited(work: &mut Work, mold: u32, worker: u32, exit: Exit) {
    work.end_is_told(mold, worker);
    match work.workers.get_mut(&worker) {
        Some(booting) if !booting.is_ready => booting.ended = Some(exit),
        _ => return work.worker_ended(worker, None),
    }
    look_again(work, worker, LAST_WORDS);
}

/// The connection of a worker has ended. How one that boots has ended is known to its mold, which says so at once.
pub fn fell_silent(work: &mut Work, worker: u32) {
    let awaits_its_end = |booting: &mut Booting| {
        !booting.is_ready && booting.mold.is_some() && !std::mem::replace(&mut booting.is_silent, true)
    };
    if work.workers.get_mut(&worker).is_some_and(awaits_its_end) {
        look_again(work, worker, MOLDS_WORD);
    } else {
        work.worker_ended(worker, None);
    }
}

fn look_again(work: &Work, worker: u32, later: Duration) {
    let events = work.events.clone();
    drop(tokio::spawn(async move {
        tokio::time::sleep(later).await;
        let _ = events.send(Event::Silent(Speaker::Worker(worker)));
    }));
}

/// A list of names and values.
fn pairs(list: Vec<String>) -> Vec<(String, String)> {
    let mut items = list.into_iter();
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        pairs.push((name, value));
    }
    pairs
}

fn log(work: &Work, level: u8, speaker: Speaker, text: &str) {
    let (who, worker, pid) = match speaker {
        Speaker::Mold(pid) => (speaker.to_string(), None, Some(pid)),
        Speaker::Worker(id) => (work.named(id), Some(id), work.workers.get(&id).and_then(|worker| worker.pid)),
    };
    let app = work.app();
    match level {
        1 => tracing::error!(target: "app", worker, pid, app, "{who}: {text}"),
        2 => tracing::warn!(target: "app", worker, pid, app, "{who}: {text}"),
        3 => tracing::info!(target: "app", worker, pid, app, "{who}: {text}"),
        _ => tracing::debug!(target: "app", worker, pid, app, "{who}: {text}"),
    }
}
