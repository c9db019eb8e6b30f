//! Ruby processes that the front starts itself: molds, and workers of a Ruby that cannot fork.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc::UnboundedSender;

use crate::control::Control;
use crate::event::Event;
use crate::exit::Exit;
use crate::reader::Successor;
use crate::settings::Settings;

/// A process that we started.
pub struct Mold {
    pub since: Instant,
    pub control: Option<Control>,
    /// Set when it has loaded the application: whether it can fork.
    pub ready: Option<bool>,
    /// The worker it has become, of a Ruby that cannot fork.
    pub worker: Option<u32>,
    /// It has said that it cannot load the application, or will fork no more workers: that it ends is no news.
    pub is_over: bool,
    /// It makes way, since then, for one that does not load the application.
    pub yields: Option<Instant>,
    /// Its connection has ended.
    pub is_silent: bool,
    /// It has ended, in these words, and when that was heard.
    pub ended: Option<(Exit, Instant)>,
    /// Workers of it that are gone, with their processes, and of whose end it has not told yet.
    pub untold: Vec<(u32, u32)>,
    /// Its share of memory, as last looked at.
    pub pss_kib: Option<u64>,
    /// As long as it has not loaded the application.
    pub loading: Option<Loading>,
}

/// How many molds of this process, of whatever application and generation, load their application now.
static LOADING: AtomicUsize = AtomicUsize::new(0);

/// One of them, until this goes.
pub struct Loading(());

impl Loading {
    fn begin() -> Loading {
        LOADING.fetch_add(1, Ordering::SeqCst);
        Loading(())
    }

    /// Whether there is any: it is the first that the kernel takes when memory is full.
    pub fn is_under_way() -> bool {
        LOADING.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        LOADING.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Mold {
    /// One that was just started.
    pub fn new() -> Mold {
        let (control, ready, worker, ended, untold, pss_kib) = (None, None, None, None, Vec::new(), None);
        let (is_over, yields, is_silent) = (false, None, false);
        let loading = Some(Loading::begin());
        Mold {
            since: Instant::now(),
            control,
            ready,
            worker,
            is_over,
            yields,
            is_silent,
            ended,
            untold,
            pss_kib,
            loading,
        }
    }
}

/// A worker that was ordered, until it has ended.
pub struct Booting {
    pub since: Instant,
    pub pid: Option<u32>,
    /// The mold that forked it, until that has told of its end.
    pub mold: Option<u32>,
    pub control: Option<Arc<Control>>,
    pub slots: Vec<(u32, UnixStream)>,
    /// It has said that it is ready.
    pub has_said_so: bool,
    /// All its connections have come in, too.
    pub is_ready: bool,
    /// It is on its way out, and does not count.
    pub is_leaving: bool,
    /// No successor is to come: its place is free when it has ended.
    pub is_last: bool,
    /// It has something to do between requests.
    pub has_errands: bool,
    /// Its connection has ended, and how it ended is not known yet.
    pub is_silent: bool,
    /// How it ended, in words, as its mold has told.
    pub ended: Option<Exit>,
    /// For how long nothing was heard of it.
    pub silent: Duration,
    /// The log has said so.
    pub is_silence_told: bool,
    /// Its share of memory, and what it shares with nobody, as last looked at, and when that was.
    pub pss_kib: Option<u64>,
    pub own_kib: Option<u64>,
    pub weighed: Option<Instant>,
}

impl Booting {
    /// One that is being ordered.
    pub fn new() -> Booting {
        let (pid, mold, control, slots, pss_kib) = (None, None, None, Vec::new(), None);
        let (own_kib, weighed) = (None, None);
        let (has_said_so, is_ready, is_leaving, is_last, has_errands) = (false, false, false, false, false);
        let (is_silent, ended) = (false, None);
        let (since, silent) = (Instant::now(), Duration::ZERO);
        Booting {
            since,
            pid,
            mold,
            control,
            slots,
            has_said_so,
            is_ready,
            is_leaving,
            is_last,
            has_errands,
            is_silent,
            ended,
            silent,
            is_silence_told: false,
            pss_kib,
            own_kib,
            weighed,
        }
    }
}

/// Where a process finds its way in.
pub struct Way<'a> {
    /// The folder of our Ruby files.
    pub scripts: &'a Path,
    /// The Unix socket.
    pub socket: &'a Path,
    /// The secret.
    pub token: &'a str,
}

/// Starts one, or lets the process go on that has evaluated the configuration. Its end is an event, with its number.
pub fn start(settings: &Settings, way: &Way<'_>, events: UnboundedSender<Event>) -> io::Result<u32> {
    let mut command = match &settings.user {
        Some(user) => user.command(&settings.ruby),
        None => Command::new(&settings.ruby),
    };
    for folder in &settings.load_path {
        command.arg("-I").arg(folder);
    }
    let mold = way.scripts.join("mold.rb");
    command.arg(&mold).env("FOOLS_GOLD_WIRE", way.socket).env("FOOLS_GOLD_TOKEN", way.token);
    for name in engine::SECRET_VARIABLES {
        command.env_remove(name);
    }
    for name in ["RACK_ENV", "APP_ENV", "RAILS_ENV"] {
        command.env(name, &settings.environment);
    }
    // `bundle exec` has Ruby load Bundler before anything of ours; the Gemfile that it named may be gone by now.
    if let Some(gemfile) = &settings.gemfile {
        command.env("BUNDLE_GEMFILE", gemfile);
    }
    if let Some(number) = settings.open_files {
        command.env("FOOLS_GOLD_OPEN_FILES", number.to_string());
    }
    let read = settings.evaluated.as_ref();
    // Standard input is for debuggers; a server in the background has none.
    let successor = Successor {
        ruby: &settings.ruby,
        gemfile: settings.gemfile.as_deref(),
        load_path: &settings.load_path,
        hooks: settings.hooks.as_deref(),
        user: settings.user.as_ref(),
        command: &command,
        script: &mold,
    };
    let child = match read.and_then(|read| read.go_on(&successor)) {
        Some(child) => child,
        None => command.stdin(Stdio::inherit()).spawn()?,
    };
    let pid = child.id();
    thread::Builder::new().name("ruby wait".into()).stack_size(64 << 10).spawn(move || wait(child, &events))?;
    Ok(pid)
}

fn wait(mut child: Child, events: &UnboundedSender<Event>) {
    let pid = child.id();
    let exit = child.wait().map_or(Exit::unknown(), Exit::new);
    let _ = events.send(Event::Ended(pid, exit));
}

/// Ends one without a chance to refuse. That it has ended already is no error.
pub fn kill_now(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}

/// Whether a process is stopped, by a signal (SIGSTOP) or a debugger. False where `/proc` does not say.
pub fn is_stopped(pid: u32) -> bool {
    // The state is the first word after the name, which is in parentheses and may have parentheses in it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
