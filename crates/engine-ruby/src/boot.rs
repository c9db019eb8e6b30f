//! The start of the engine: the process folder with its socket, the supervisor's thread, and the first worker.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use uuid::Uuid;

use crate::dispatch::pool::Pool;
use crate::dispatch::watch;
use crate::fleet::Facts;
use crate::message::channel;
use crate::process::folder::ProcessFolder;
use crate::settings::Settings;
use crate::start_error::StartError;
use crate::supervisor::ipc_listener::{self, Handshake};
use crate::supervisor::{EventLoop, Supervisor};

/// Starts the engine and waits for its first worker. Returns the pool, the handle of the supervisor and what the mold
/// reported.
pub fn boot(settings: Settings, io_threads: Vec<Handle>) -> Result<(Arc<Pool>, Supervisor, Facts), StartError> {
    let (messages, inbox) = channel();
    settings.meter.recorder.set_slow(settings.slow_time);
    let pool = Pool::new(io_threads, &settings, messages.clone());
    let (folder, listener) = ProcessFolder::new(settings.user.as_ref())?;
    let kill_time = settings.kill_time;
    let token = Uuid::new_v4().simple().to_string();
    let handshake = Arc::new(Handshake { token, uid: settings.user.as_ref().map(|user| user.uid) });
    let runtime = Builder::new_current_thread().enable_all().build().map_err(StartError::Machine)?;
    let (started, start) = mpsc::sync_channel(1);
    let supervisor = EventLoop::new(settings, pool.clone(), folder, handshake.clone(), messages.clone(), started);
    let theirs = pool.clone();
    let outbox = messages.clone();
    let thread = thread::Builder::new().name("workers".into()).spawn(move || {
        runtime.block_on(async move {
            drop(tokio::spawn(ipc_listener::accept(listener, handshake, theirs.clone(), outbox)));
            drop(tokio::spawn(watch::watch(theirs, kill_time)));
            supervisor.run(inbox).await;
        });
    });
    let thread = thread.map_err(StartError::Machine)?;
    match start.recv().unwrap_or_else(|_| Err(StartError::Ended("exited".to_owned()))) {
        Ok(facts) => Ok((pool, Supervisor::new(messages, thread), facts)),
        Err(error) => {
            // The thread ends by itself now, and has removed its files by then.
            let _ = thread.join();
            Err(error)
        }
    }
}
