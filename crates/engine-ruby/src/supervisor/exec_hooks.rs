//! The user's hooks that run before the server executes itself anew (`before_exec` of Unicorn, `before_restart` of
//! Puma). A mold runs them in a process that it forks; the new program gets the environment variables that they change.

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::Surroundings;

use super::event_loop::EventLoop;
use crate::fleet::Speaker;
use crate::message::Prepared;

impl EventLoop {
    /// Runs the hooks, if there are any, and sends the result to `to`.
    pub(super) fn run_exec_hooks(&mut self, limit: Duration, to: SyncSender<Prepared>) {
        if !self.fleet.says("before_exec", "yes") {
            let _ = to.send(Ok(Surroundings::default()));
            return;
        }
        let forking = self.fleet.forking_mold();
        let Some((pid, control)) = forking.and_then(|pid| Some((pid, self.control(Speaker::Mold(pid))?))) else {
            let _ = to
                .send(Err("the mold that would run them has died; `foolsgold recycle` starts another one".to_owned()));
            return;
        };
        control.before_exec(u32::try_from(limit.as_secs()).unwrap_or(u32::MAX));
        self.preparing = Some((pid, to));
    }

    /// Handles the result of the hooks.
    pub(super) fn exec_hooks_ended(&mut self, mold: u32, words: Vec<String>) {
        let Some((_, to)) = self.preparing.take_if(|(preparing, _)| *preparing == mold) else { return };
        let mut words = words.into_iter();
        let why = words.next().unwrap_or_default();
        if !why.is_empty() {
            let _ = to.send(Err(why));
            return;
        }
        let folder = words.next().filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let mut wanted = Surroundings { variables: words.map(|word| variable(&word)).collect(), folder };
        if self.settings.user.is_some() && wanted != Surroundings::default() {
            let names = wanted.variables.iter().map(|(name, _)| name.as_str());
            let names: Vec<&str> = names.chain(wanted.folder.iter().map(|_| "the working directory")).collect();
            // A variable could make this user run anything that an author of the application's files likes.
            tracing::warn!(
                target: "engine",
                app = self.app(),
                "the hook before_exec runs as another user than the server, which leaves out what that has changed in \
                 its surroundings: {}",
                names.join(", ")
            );
            wanted = Surroundings::default();
        }
        let _ = to.send(Ok(wanted));
    }
}

/// Parses `NAME=value`, or the name of a variable that was removed.
fn variable(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    }
}
