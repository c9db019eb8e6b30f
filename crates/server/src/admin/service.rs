//! The thread that serves the admin listener and the control socket, samples the server each second, leaves the admin
//! listener to a successor, and keeps the files of both sockets in place.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use front::{Bind, IoThreads, Listener, Stop};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::task::JoinHandle as Task;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

use crate::admin::engine::AdminEngine;
use crate::admin::guard::Guard;
use crate::admin::place::Place;
use crate::admin::routes::Access;
use crate::admin::state::{AdminState, inode_of};
use crate::admin::view::{sample, sample_server};
use crate::control::handle::ServerHandle;

/// Time for a client to send a request, to begin with one or to take the response, also of a listener that is left to a
/// successor; and the time that an answer may take, since a reload loads an application.
const SAY_TIME: Duration = Duration::from_secs(10);
const ASK_TIME: Duration = Duration::from_secs(60);
const ANSWER_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Connections at each listener. A further one replaces an idle one: a probe must not fail because others hold
/// connections open.
const CONNECTIONS: usize = 64;
/// What the log says where all are taken.
const NO_MORE: &str = "this is the limit of the control socket and of the admin listener, which no option changes";
/// Limits of a request to the API.
const HEADER_BYTES: usize = 16 * 1024;
const BODY_BYTES: usize = 64 * 1024;
/// At shutdown, time for responses that are being sent.
const END_TIME: Duration = Duration::from_millis(500);
/// How long idle threads are kept: a started thread stays.
const STAY_TIME: Duration = Duration::from_secs(u32::MAX as u64);
/// Seconds between two checks of the sockets' files.
const SEEK_EACH: u64 = 5;

/// State shared by the admin thread and its owner.
pub struct Service {
    state: Arc<AdminState>,
    io_threads: IoThreads,
    runtime: Handle,
    end: Notify,
    /// Notified when a successor serves, has failed, owns everything, or is gone.
    pub succession: Arc<Notify>,
    /// Shuts down the control socket.
    control: Stop,
    admin: Mutex<Option<AdminListener>>,
    serving: Mutex<Vec<Task<()>>>,
}

/// The admin listener of this process, which may be shut down.
#[derive(Clone)]
struct AdminListener {
    place: Place,
    guard: Guard,
    stop: Stop,
}

/// The thread. Dropping the value ends it.
pub struct Serving {
    pub service: Arc<Service>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Starts the thread; nothing listens yet.
    pub fn start(state: Arc<AdminState>) -> io::Result<Serving> {
        let runtime = Builder::new_current_thread().enable_all().thread_keep_alive(STAY_TIME).build()?;
        // The thread that answers is started now and stays: at the limit of threads, users will want to know why.
        thread::Builder::new().spawn(|| ())?;
        drop(runtime.spawn_blocking(|| ()));
        let service = Arc::new(Service {
            state,
            io_threads: IoThreads::start(1)?,
            runtime: runtime.handle().clone(),
            end: Notify::new(),
            succession: Arc::default(),
            control: Stop::new(),
            admin: Mutex::default(),
            serving: Mutex::default(),
        });
        let theirs = service.clone();
        let work = move || {
            runtime.block_on(theirs.run());
            // A reload that a client waits for is abandoned at shutdown.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("admin".into()).spawn(work)?;
        Ok(Serving { service, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.service.end.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            warn!(target: "server", "the thread of the control socket and the admin listener was lost");
        }
    }
}

impl Service {
    /// Serves the control socket until the shutdown.
    pub fn serve_control(self: &Arc<Service>, listener: Listener) {
        self.serve(listener, Access::Control, Guard::Nobody, self.control.clone());
    }

    /// Serves the admin listener until the shutdown, or until a successor serves there.
    pub fn serve_admin(self: &Arc<Service>, listener: Listener, guard: Guard) {
        let stop = Stop::new();
        let admin = AdminListener { place: Place::of(&listener), guard: guard.clone(), stop: stop.clone() };
        let earlier = self.admin.lock().replace(admin);
        if let Some(earlier) = earlier {
            earlier.stop.drain();
        }
        self.serve(listener, Access::Admin, guard, stop);
    }

    fn serve(self: &Arc<Service>, listener: Listener, access: Access, guard: Guard, stop: Stop) {
        let (state, runtime) = (self.state.clone(), self.runtime.clone());
        let engine = AdminEngine { state, access, guard, place: Place::of(&listener), runtime };
        let service = self.clone();
        let task = self.runtime.spawn(async move {
            let (engine, settings) = (Arc::new(engine), Arc::new(front_settings()));
            match front::serve(vec![listener], &service.io_threads, engine, settings, stop.clone()) {
                Ok(serving) => {
                    serving.await;
                }
                Err(error) => {
                    tracing::error!(target: "server", "{error}");
                    // An admin listener is tried again.
                    stop.drain();
                }
            }
        });
        let mut serving = self.serving.lock();
        serving.retain(|task| !task.is_finished());
        serving.push(task);
    }

    async fn run(self: &Arc<Service>) {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut passed = 0_u64;
        let mut newest_first = BTreeSet::new();
        loop {
            tokio::select! {
                () = self.end.notified() => break,
                () = self.succession.notified() => {
                    self.follow_succession();
                    continue;
                }
                _ = seconds.tick() => {}
            }
            take_samples(&self.state, &mut newest_first);
            passed += 1;
            if passed.is_multiple_of(SEEK_EACH) {
                self.follow_succession();
            }
        }
        self.control.drain();
        if let Some(admin) = &*self.admin.lock() {
            admin.stop.drain();
        }
        let tasks = std::mem::take(&mut *self.serving.lock());
        let all = async {
            for task in tasks {
                // A panic has been reported already.
                let _ = task.await;
            }
        };
        // What takes longer is cut off: it ends with the I/O threads.
        let _ = timeout(END_TIME, all).await;
    }

    /// Leaves to a successor what it serves, too, and takes it back when the successor is gone.
    fn follow_succession(self: &Arc<Service>) {
        let Some(running) = self.state.running() else { return };
        let server = &running.server;
        if !server.succession().is_alone() {
            self.leave(server);
        } else if !server.is_draining() {
            self.seek();
            self.seek_admin(server);
        }
    }

    /// Accepts no connections any more where they must reach a successor.
    fn leave(&self, server: &ServerHandle) {
        if let Some(admin) = &*self.admin.lock()
            && (server.succession().is_replaced() || admin.place.is_successors(server))
        {
            admin.stop.drain();
        }
        // A control socket that both have. Until this process is replaced, it would take the file along.
        let control = self.state.control_file().map(|(path, _)| Bind::Unix(path));
        if server.succession().is_replaced() && control.is_some_and(|bind| server.succession().has_taken(&bind)) {
            self.control.drain();
        }
    }

    /// Makes the control socket again if its file is gone, since some programs clean up folders for temporary files, or
    /// if a successor has replaced it and died.
    fn seek(self: &Arc<Service>) {
        let Some((path, _)) = self.state.control_file().filter(|(path, inode)| inode_of(path) != Some(*inode)) else {
            return;
        };
        // If a live server listens there, this one stays without a file.
        match front::listen_privately(&path, false) {
            Ok(listener) => {
                info!(target: "server", "the control socket {} was gone, and is there again", path.display());
                self.state.set_control(&path);
                self.serve_control(listener);
            }
            Err(error) => tracing::debug!(target: "server", "the control socket is gone: {error}"),
        }
    }

    /// Serves the admin listener again after it was left to a successor, which is gone; or if its file is gone.
    fn seek_admin(self: &Arc<Service>, server: &ServerHandle) {
        let admin = self.admin.lock().clone();
        let Some(admin) = admin.filter(|admin| admin.stop.is_draining() || admin.place.is_lost()) else { return };
        let shown = self.state.admin().unwrap_or_default();
        match admin.place.listen_again(server) {
            Ok(listener) => {
                info!(target: "server", "the admin page, /metrics and /readyz are on {shown} again");
                self.serve_admin(listener, admin.guard);
            }
            Err(error) => tracing::debug!(target: "server", "{shown} cannot be served again: {error}"),
        }
    }
}

/// Samples the server and its applications for the history, and logs where the order of requests has changed since the
/// last time. `newest_first` has the names of the applications whose newest requests come first. To be called each
/// second.
fn take_samples(state: &AdminState, newest_first: &mut BTreeSet<String>) {
    state.logs.retry();
    let Some(running) = state.running() else { return };
    let server = sample_server(&state.memory, state.share_kib());
    let apps = running.server.apps().all();
    for app in apps {
        let seen = app.glance_of(&app.current());
        state.history.note(app.name(), &sample(app, &seen, server), Instant::now());
        if note_order(newest_first, app.name(), seen.all.is_newest_first) {
            log_order(seen.all.is_newest_first, (apps.len() > 1).then_some(app.name()));
        }
    }
}

/// Notes whether the newest requests of an application come first. Returns whether that has changed.
fn note_order(newest_first: &mut BTreeSet<String>, app: &str, is_newest_first: bool) -> bool {
    match is_newest_first {
        true => newest_first.insert(app.to_owned()),
        false => newest_first.remove(app),
    }
}

fn log_order(is_newest_first: bool, app: Option<&str>) {
    if is_newest_first {
        warn!(
            target: "engine", app,
            "overload: requests wait for a second and more, and still more come; every second one that begins is now \
             the newest"
        );
    } else {
        info!(target: "engine", app, "overload is over: requests begin in the order of their arrival again");
    }
}

fn front_settings() -> front::Settings {
    let limits = front::Limits {
        header_bytes: HEADER_BYTES,
        header_count: 100,
        header_time: SAY_TIME,
        body_bytes: BODY_BYTES as u64,
        body_memory_bytes: BODY_BYTES,
        body_time: SAY_TIME,
        keep_alive: ASK_TIME,
        connections: CONNECTIONS,
        connections_per_client: None,
        spare_files: 0,
        write_time: ASK_TIME,
        spool_bytes: 0,
        queue_wait: ANSWER_TIME,
        request_time: ANSWER_TIME,
        drain_time: SAY_TIME,
        websocket_drain: Duration::ZERO,
    };
    front::Settings {
        limits,
        trusted: Vec::new(),
        access_log: None,
        passes_underscores: false,
        remote_address: front::RemoteAddress::Socket,
        scheme: None,
        more_connections: NO_MORE,
        json_errors: true,
        counts: Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_order_is_told_once_for_each_application() {
        let mut newest_first = BTreeSet::new();
        let mut note = |app: &str, is_newest_first| note_order(&mut newest_first, app, is_newest_first);
        assert!(!note("a", false) && note("a", true) && !note("a", true) && note("b", true));
        assert!(note("a", false) && !note("a", false) && !note("b", true));
    }
}
