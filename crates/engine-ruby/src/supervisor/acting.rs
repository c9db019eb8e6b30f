//! Carries out the actions of the fleet. The answer of an action is the next event.

use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use super::event_loop::EventLoop;
use super::ipc_listener;
use super::launch::launch;
use super::setup::setup;
use crate::fleet::{Action, Event, Speaker};
use crate::message::Message;
use crate::process::folder::ProcessFolder;
use crate::process::memory::weigh;
use crate::process::{Loading, is_stopped, kill_of};
use crate::start_error::StartError;
use crate::wire::control::Control;

impl EventLoop {
    /// Carries out one action, and returns the event that answers it, if there is one.
    pub(super) fn act(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::StartMold => return Some(self.start_mold()),
            Action::SetUp { mold, preload, max_workers } => {
                // A Ruby that is replaced while the server runs must not keep it from starting workers.
                let needs_native = self.settings.needs_native && self.start.is_some();
                let frame = setup(&self.settings, preload, max_workers, needs_native);
                self.tell(Speaker::Mold(mold), |control| control.send(frame));
                if self.is_serving {
                    self.tell(Speaker::Mold(mold), Control::serving);
                }
            }
            Action::Fork { mold, worker } => {
                let index = self.fleet.index(worker);
                self.tell(Speaker::Mold(mold), |control| control.fork(worker, index));
            }
            Action::Ping(worker) => self.tell(Speaker::Worker(worker), Control::ping),
            Action::Stop(speaker) => self.tell(speaker, Control::stop),
            Action::Kill(pid) => self.kill(pid),
            Action::Forget(speaker) => self.forget(speaker),

            Action::AddWorker { worker, pid } => return Some(self.add_worker(worker, pid)),
            Action::Retire(worker, reason) => self.pool.retire(worker, reason),
            Action::Mark(worker, reason) => self.pool.mark(worker, reason),
            Action::Remove(worker) => self.pool.remove(worker, None),
            Action::Grown(workers) => self.pool.dispatch().utilization.grown(workers, Instant::now()),
            Action::ExitIsLogged(worker) => self.pool.note_logged_exit(worker),

            Action::AskKernel(dead) => return Some(Event::KernelAsked(dead, self.pool.kernel_has_killed())),
            Action::ReadMemory => return Some(self.read_memory()),
            Action::Weigh(all) => return self.weigh(all),
            Action::CheckAgain(worker, later) => self.feed_later(later, Event::WorkerDisconnected(worker)),

            Action::TakePlace { has_none } => {
                let is_taken = self.share.as_ref().is_none_or(|share| share.take(has_none));
                return is_taken.then_some(Event::PlaceTaken);
            }
            Action::KeepPlace => self.share.iter().for_each(|share| share.keep()),

            Action::Answer(outcome) => {
                // Whoever has ordered may look at once: a second TTIN counts from what the first has left.
                self.pool.show(self.fleet.view());
                self.questions.answer(outcome);
            }
            Action::AskForBacktraces { worker, pid } => self.ask_for_backtraces(worker, pid),
            Action::Started(facts) => {
                let _ = self.start.take().map(|start| start.send(Ok(facts)));
            }
            Action::CannotStart(error) => {
                let _ = self.start.take().map(|start| start.send(Err(error)));
            }
            Action::Log(line) => self.log(line),
        }
        None
    }

    /// Kills a mold, which is a child of this process, or a worker, whose process id a mold or a worker has reported.
    pub(super) fn kill(&self, pid: u32) {
        let user = self.settings.user.as_ref().map(|user| user.uid);
        kill_of(user.filter(|_| !self.fleet.has_mold(pid)), pid);
    }

    /// Sends a process an order, if it has connected.
    pub(super) fn tell(&self, speaker: Speaker, order: impl FnOnce(&Control)) {
        if let Some(control) = self.control(speaker) {
            order(&control);
        }
    }

    /// Sends SERVING once to the molds and to the workers in dispatch, for hooks that run then. Later ones get it after
    /// their SETUP, or when they are added.
    pub(super) fn serve(&mut self) {
        if mem::replace(&mut self.is_serving, true) {
            return;
        }
        self.pool.dispatch().workers.iter().for_each(|worker| worker.control.serving());
        for (speaker, link) in &self.links {
            if let (Speaker::Mold(_), Some(control)) = (speaker, &link.control) {
                control.serving();
            }
        }
    }

    fn start_mold(&mut self) -> Event {
        if let Err(error) = self.keep_folder() {
            return Event::MoldNotStarted(error);
        }
        match launch(&self.settings, &self.folder, &self.handshake.token, self.messages.clone()) {
            Ok(pid) => Event::MoldStarted(pid),
            Err(error) => Event::MoldNotStarted(StartError::Ruby(self.settings.ruby.clone(), error)),
        }
    }

    /// Creates a new process folder if the old one, or a part of it, was removed. Processes that connected through the
    /// old one are not affected: they need no path to its socket.
    fn keep_folder(&mut self) -> Result<(), StartError> {
        if self.folder.is_whole() {
            return Ok(());
        }
        let (folder, listener) = ProcessFolder::new(self.settings.user.as_ref())?;
        tracing::warn!(
            target: "engine",
            "{} is gone, or not whole any more: the folder of the Ruby processes is now {}. Whatever cleans temporary \
             folders should leave those alone that are locked (flock), or TMPDIR name another place",
            self.folder.path().display(),
            folder.path().display()
        );
        self.old_folders.push(mem::replace(&mut self.folder, folder));
        drop(tokio::spawn(ipc_listener::accept(
            listener,
            self.handshake.clone(),
            self.pool.clone(),
            self.messages.clone(),
        )));
        Ok(())
    }

    fn read_memory(&mut self) -> Event {
        let memory = self.kernel.memory_use();
        if let Some(kills) = self.kernel.old_kills(Instant::now()) {
            self.pool.forget_kills(kills);
        }
        Event::Memory { memory, is_loading: Loading::is_under_way() }
    }

    /// Reads the memory use of processes in another thread, since that takes milliseconds for a large process. If there
    /// is no thread to be had, it is retried later.
    fn weigh(&mut self, all: Vec<(Speaker, u32)>) -> Option<Event> {
        let messages = self.messages.clone();
        let weighing = thread::Builder::new().name("weighing".into()).spawn(move || {
            let weights = all.into_iter().map(|(who, pid)| (who, weigh(pid))).collect();
            let _ = messages.send(Message::Event(Event::Weighed(weights)));
        });
        let error = weighing.err()?;
        if !mem::replace(&mut self.lacks_threads, true) {
            let app = self.app();
            tracing::warn!(target: "engine", app, "no thread to look at the memory of workers: {error}");
        }
        Some(Event::Weighed(Vec::new()))
    }

    /// Feeds the fleet an event after this time.
    pub(super) fn feed_later(&self, later: Duration, event: Event) {
        let messages = self.messages.clone();
        drop(tokio::spawn(async move {
            tokio::time::sleep(later).await;
            let _ = messages.send(Message::Event(event));
        }));
    }

    fn ask_for_backtraces(&mut self, worker: u32, pid: u32) {
        if is_stopped(pid) {
            let why = format!("worker {worker} is stopped (by SIGSTOP, or a debugger) and cannot answer");
            return self.questions.answer(Err(why));
        }
        let question = self.questions.defer();
        self.tell(Speaker::Worker(worker), |control| control.threads(question));
    }
}
