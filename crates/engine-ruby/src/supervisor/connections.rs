//! The connections of molds and workers, from their HELLO until the fleet drops the process or dispatch takes them.

use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use engine::quota::quota;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::geteuid;
use tokio::net::UnixStream;

use super::control_frames::listen;
use super::event_loop::EventLoop;
use super::ipc_listener::send_descriptor;
use crate::dispatch::claims::Claims;
use crate::dispatch::worker::Worker;
use crate::dispatch::worker_memory::WorkerMemory;
use crate::dispatch::worker_thread::{ThreadOwner, WorkerThread};
use crate::fleet::{Event, Speaker};
use crate::process::has_own_user;
use crate::wire::control::Control;

impl EventLoop {
    pub(super) fn mold_came(&mut self, pid: u32, stream: UnixStream) {
        if self.fleet.has_mold(pid) {
            self.listen_to(Speaker::Mold(pid), stream);
            self.feed(Event::MoldConnected(pid));
        }
    }

    pub(super) fn control_came(&mut self, worker: u32, pid: u32, stream: UnixStream) {
        if self.fleet.has_worker(worker) {
            self.listen_to(Speaker::Worker(worker), stream);
            self.feed(Event::WorkerConnected(worker, pid));
        }
    }

    fn listen_to(&mut self, speaker: Speaker, stream: UnixStream) {
        let control = listen(stream, speaker, self.messages.clone());
        self.links.entry(speaker).or_default().control = Some(Arc::new(control));
    }

    /// Gives a worker the claims that it asks for, once. If there are none, its connection ends, and so does the
    /// worker.
    pub(super) fn claims_asked(&mut self, worker: u32, stream: &UnixStream) {
        let has_none = self.links.get(&Speaker::Worker(worker)).is_none_or(|link| link.claims.is_none());
        if !self.fleet.has_worker(worker) || !has_none {
            return;
        }
        match Claims::new().and_then(|claims| send_descriptor(stream, claims.file()).map(|()| claims)) {
            Ok(claims) => {
                self.links.entry(Speaker::Worker(worker)).or_default().claims = Some(Arc::new(claims));
            }
            Err(error) => {
                tracing::error!(target: "engine", worker, "worker {worker} gets no memory to share: {error}");
            }
        }
    }

    pub(super) fn thread_came(&mut self, worker: u32, number: u32, stream: StdStream) {
        if self.fleet.awaits_thread(worker) {
            self.links.entry(Speaker::Worker(worker)).or_default().threads.push((number, stream));
            self.feed(Event::ThreadConnected(worker));
        } else if self.pool.awaited_threads(worker).is_some_and(|(_, awaited)| awaited.contains(&number)) {
            let threads = &mut self.links.entry(Speaker::Worker(worker)).or_default().threads;
            threads.retain(|(other, _)| *other != number);
            threads.push((number, stream));
            self.add_threads(worker);
        }
    }

    /// Adds to dispatch the threads that a worker was ordered to open, in the order of their numbers, as far as they
    /// have connected. Their connections arrive in any order.
    fn add_threads(&mut self, worker: u32) {
        while let Some((mut owner, awaited)) = self.pool.awaited_threads(worker) {
            let next = awaited.start;
            let Some(link) = self.links.get_mut(&Speaker::Worker(worker)) else { return };
            let Some(at) = link.threads.iter().position(|(number, _)| *number == next) else { return };
            let (_, stream) = link.threads.swap_remove(at);
            if !is_of_own_user(&stream) {
                (owner.may_name_files, owner.memory) = (false, None);
            }
            // A connection that cannot be waited for is closed; the worker then ends, since its thread finds no front.
            if !self.open_thread(owner, next, stream).is_ok_and(|thread| self.pool.add_thread(thread)) {
                return;
            }
        }
    }

    /// Returns the control connection of a process, if it has connected.
    pub(super) fn control(&self, speaker: Speaker) -> Option<Arc<Control>> {
        self.links.get(&speaker)?.control.clone()
    }

    /// Drops the connections of a process that is gone.
    pub(super) fn forget(&mut self, speaker: Speaker) {
        self.links.remove(&speaker);
        if let Speaker::Mold(pid) = speaker {
            // The caller that waits for its hooks sees its channel close.
            self.preparing.take_if(|(preparing, _)| *preparing == pid);
        }
    }

    /// Adds a worker whose connections are complete to dispatch.
    pub(super) fn add_worker(&mut self, id: u32, pid: u32) -> Event {
        match self.worker(id, pid) {
            Ok(worker) => {
                self.pool.add(worker);
                if self.is_serving {
                    self.tell(Speaker::Worker(id), Control::serving);
                }
                Event::WorkerAdded(id)
            }
            Err(why) => Event::WorkerNotAdded(id, why),
        }
    }

    fn worker(&mut self, id: u32, pid: u32) -> Result<Worker, String> {
        let missing = || "it has no control connection".to_owned();
        let link = self.links.get_mut(&Speaker::Worker(id)).ok_or_else(missing)?;
        let control = link.control.clone().ok_or_else(missing)?;
        let mut streams = std::mem::take(&mut link.threads);
        streams.sort_by_key(|(number, _)| *number);
        let has_out_of_band = link.has_out_of_band;
        let claims = link.claims.clone();
        // A hook may have changed its user, or that of another worker, which has opened connections in its name.
        let are_own = streams.iter().all(|(_, stream)| is_of_own_user(stream));
        let has_same_rights = self.settings.user.is_none() && has_own_user(pid) && are_own;
        let memory = has_same_rights.then(|| WorkerMemory::of(pid)).flatten().map(Arc::new);
        let app = self.pool.app().map(str::to_owned);
        let may_name_files = has_same_rights;
        let owner = ThreadOwner { worker: id, pid, app, control: control.clone(), may_name_files, memory, claims };
        let mut threads = Vec::new();
        for (number, stream) in streams {
            let broken = |error: io::Error| format!("its connections cannot be waited for: {error}");
            threads.push(self.open_thread(owner.clone(), number, stream).map_err(broken)?);
        }
        let (io_thread, _) = self.pool.io_thread(id);
        let mut worker = Worker::new(id, pid.cast_signed(), io_thread, control, threads);
        worker.user = self.settings.user.as_ref().map(|user| user.uid);
        worker.quota = quota(self.settings.max_requests, self.settings.max_requests_jitter);
        worker.has_out_of_band = has_out_of_band;
        Ok(worker)
    }

    /// Begins to read the connection of a thread, and to write what is queued for it.
    fn open_thread(&self, owner: ThreadOwner, number: u32, stream: StdStream) -> io::Result<Arc<WorkerThread>> {
        let (_, io_thread) = self.pool.io_thread(owner.worker);
        let stream = {
            let _in = io_thread.enter();
            UnixStream::from_std(stream)?
        };
        let (reader, writer) = stream.into_split();
        let thread = Arc::new(WorkerThread::new(owner, number, writer));
        let flushing = thread.clone();
        let reading = self.pool.clone().read(thread.clone(), reader);
        drop(io_thread.spawn(async move {
            // The flusher ends with the reader.
            tokio::select! {
                () = reading => {}
                () = flushing.keep_flushing() => {}
            }
        }));
        Ok(thread)
    }
}

/// Returns whether a process of this one's user has opened this connection. The user of the worker does not show that:
/// another worker, whose user a hook has changed, knows the token, too, and can open connections in the name of this
/// worker.
fn is_of_own_user(stream: &StdStream) -> bool {
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}
