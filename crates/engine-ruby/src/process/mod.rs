//! Ruby processes that the front starts itself: molds, and workers of a Ruby that cannot fork. Submodules: `folder`
//! (their folder), `scripts` (the server's Ruby files), `user`, `reader` (configuration files of other servers),
//! `native` (the C extension) and `memory` (their memory use).

pub mod folder;
pub mod memory;
pub mod native;
pub mod reader;
pub mod scripts;
pub mod user;

use std::io;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc::UnboundedSender;

use reader::Successor;
use user::command;

use crate::exit::Exit;
use crate::message::Message;
use crate::settings::Settings;

/// Number of molds, of all applications and generations of this process, that are loading their application.
static LOADING: AtomicUsize = AtomicUsize::new(0);

/// A guard that counts one loading mold until it is dropped.
pub struct Loading(());

impl Loading {
    /// Counts one more loading mold.
    pub fn begin() -> Loading {
        LOADING.fetch_add(1, Ordering::SeqCst);
        Loading(())
    }

    /// Returns whether any mold is loading: that is the process that the kernel kills first when memory is full.
    pub fn is_under_way() -> bool {
        LOADING.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        LOADING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The endpoint to which a started process connects.
pub struct Endpoint<'a> {
    /// The folder of the server's Ruby files.
    pub scripts: &'a Path,
    /// The path of the Unix socket.
    pub socket: &'a Path,
    /// The handshake token.
    pub token: &'a str,
}

/// Starts a mold and returns its process id; where a process that has evaluated a configuration fits, that continues as
/// the mold. The end of the process is reported by [`Message::Ended`].
pub fn start(settings: &Settings, endpoint: &Endpoint<'_>, messages: UnboundedSender<Message>) -> io::Result<u32> {
    let mut command = command(&settings.ruby, settings.user.as_ref());
    for folder in &settings.load_path {
        command.arg("-I").arg(folder);
    }
    let mold = endpoint.scripts.join("mold.rb");
    command.arg(&mold).env("FOOLS_GOLD_WIRE", endpoint.socket).env("FOOLS_GOLD_TOKEN", endpoint.token);
    for name in &settings.environment_variables {
        command.env(name, &settings.environment);
    }
    // `bundle exec` makes Ruby load Bundler before any of the server's files; the Gemfile that it named may be gone by
    // now.
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
    thread::Builder::new().name("ruby wait".into()).stack_size(64 << 10).spawn(move || wait(child, &messages))?;
    Ok(pid)
}

fn wait(mut child: Child, messages: &UnboundedSender<Message>) {
    let pid = child.id();
    let exit = child.wait().map_or(Exit::unknown(), Exit::new);
    let _ = messages.send(Message::Ended(pid, exit));
}

/// Sends SIGKILL to a process. That it has ended already is no error.
pub fn kill_now(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}

/// Returns whether a process is stopped by a signal (SIGSTOP) or a debugger; false where `/proc` does not say.
pub fn is_stopped(pid: u32) -> bool {
    // The state is the first word after the name, which is in parentheses and may have parentheses in it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
