//! The user's hooks that run before the program is started anew (Unicorn's `before_exec`, Puma's `before_restart`). A
//! mold runs them, in a process that it forks for this; the variables that they change are for the new program.

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::Surroundings;

use super::event_loop::EventLoop;
use crate::fleet::Speaker;
use crate::message::Prepared;

impl EventLoop {
    /// Has them run, where there are any.
    pub(super) fn run_exec_hooks(&mut self, limit: Duration, to: SyncSender<Prepared>) {
        if !self.fleet.says("before_exec", "yes") {
            let _ = to.send(Ok(Surroundings::default()));
            return;
        }
        let forking = self.fleet.forking_mold();
        let Some((pid, control)) = forking.and_then(|pid| Some((pid, self.control(Speaker::Mold(pid))?))) else {
            let _ = to.send(Err("there is no process at the moment that could run them".to_owned()));
            return;
        };
        control.before_exec(u32::try_from(limit.as_secs()).unwrap_or(u32::MAX));
        self.preparing = Some((pid, to));
    }

    /// What came of them.
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
            // By a variable, whoever may write to the application's files could have this user run anything.
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

/// `NAME=value`, or the name of one that was removed.
fn variable(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    }
}
