//! The launch of a mold: its command, and the thread that reports its end.

use std::io;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use crate::exit::Exit;
use crate::fleet::Event;
use crate::message::Message;
use crate::process::folder::ProcessFolder;
use crate::process::reader::Successor;
use crate::process::user::{command, set_variable};
use crate::process::{bundle, heaps};
use crate::settings::Settings;

/// Starts a mold, which connects to the socket in this folder with this token, and returns its process id; where a
/// process that has evaluated a configuration fits, that continues as the mold. The end of the process is reported by
/// [`Event::MoldEnded`].
pub fn launch(
    settings: &Settings,
    folder: &ProcessFolder,
    token: &str,
    messages: UnboundedSender<Message>,
) -> io::Result<u32> {
    let mut command = command(&settings.ruby, settings.user.as_ref());
    for path in &settings.load_path {
        command.arg("-I").arg(path);
    }
    // `bundle exec` makes Ruby load Bundler before any of the server's files; the Gemfile that it named may be gone by
    // now.
    bundle::set_variables(&mut command, settings.gemfile.as_deref(), settings.lockfile.as_deref());
    // None replaces what the server sets itself.
    let is_own = |name: &str| {
        name.starts_with("FOOLS_GOLD_")
            || name == "BUNDLE_GEMFILE" && settings.gemfile.is_some()
            || settings.environment_variables.contains(&name)
    };
    for (name, value) in settings.variables.iter().filter(|(name, _)| !is_own(name)) {
        set_variable(&mut command, settings.user.as_ref(), name, value);
    }
    let mold = folder.scripts().join("mold.rb");
    command.arg(&mold).env("FOOLS_GOLD_WIRE", folder.socket()).env("FOOLS_GOLD_TOKEN", token);
    for name in &settings.environment_variables {
        command.env(name, &settings.environment);
    }
    if let Some(number) = settings.open_files {
        command.env("FOOLS_GOLD_OPEN_FILES", number.to_string());
    }
    let successor = Successor {
        ruby: &settings.ruby,
        gemfile: settings.gemfile.as_deref(),
        load_path: &settings.load_path,
        hooks: settings.hooks.as_deref(),
        user: settings.user.as_ref(),
        command: &command,
        script: &mold,
    };
    // The thread first: a process for which none waits would stay as a zombie.
    let (started, starting) = mpsc::channel();
    let waiting = thread::Builder::new().name("ruby wait".into()).stack_size(64 << 10);
    waiting.spawn(move || starting.recv().map_or((), |child| wait(child, &messages)))?;
    let child = match settings.evaluated.as_ref().and_then(|evaluated| evaluated.go_on(&successor)) {
        Some(child) => child,
        None => {
            // A process that goes on was started with its limit, and its file may have set the variable since.
            if settings.limits_heaps {
                heaps::limit(&mut command);
            }
            // Standard input is for debuggers; a server in the background has none.
            command.stdin(Stdio::inherit()).spawn()?
        }
    };
    let pid = child.id();
    let _ = started.send(child);
    Ok(pid)
}

fn wait(mut child: Child, messages: &UnboundedSender<Message>) {
    let pid = child.id();
    let exit = child.wait().map_or(Exit::unknown(), Exit::new);
    let _ = messages.send(Message::Event(Event::MoldEnded(pid, exit)));
}
