//! The start of the engine: a folder, a socket, a thread for all that is not a request, and the first worker.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use tokio::net::UnixListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;

use crate::pool::Pool;
use crate::supervisor::{Event, Supervisor, Work};
use crate::{Settings, StartError, door, scripts, watch};

/// What a mold says of itself when it is ready.
pub type Facts = Vec<(String, String)>;

/// Events are few (a process begins, speaks or ends), and none may be lost.
#[expect(clippy::disallowed_methods, reason = "see above")]
fn channel() -> (UnboundedSender<Event>, UnboundedReceiver<Event>) {
    unbounded_channel()
}

/// Starts everything, and waits for the first worker.
pub fn boot(settings: Settings, lanes: Vec<Handle>) -> Result<(Arc<Pool>, Supervisor, Facts), StartError> {
    let (events, inbox) = channel();
    let pool = Pool::new(lanes, settings.queue_places, events.clone());
    let folder = tempfile::Builder::new()
        .prefix("foolsgold-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(StartError::Machine)?;
    scripts::write(&folder.path().join("ruby")).map_err(StartError::Machine)?;
    let socket = folder.path().join("wire.sock");
    let token = Uuid::new_v4().simple().to_string();
    let (told, telling) = mpsc::sync_channel(1);
    let work = Work::new(settings.clone(), pool.clone(), folder, socket.clone(), token.clone(), events.clone(), told);

    let runtime = Builder::new_current_thread().enable_all().build().map_err(StartError::Machine)?;
    let listener: io::Result<UnixListener> = {
        let _in = runtime.enter();
        UnixListener::bind(&socket)
    };
    let listener = listener.map_err(StartError::Machine)?;
    let (theirs, kill_time, outbox) = (pool.clone(), settings.kill_time, events.clone());
    let thread = thread::Builder::new().name("workers".into()).spawn(move || {
        runtime.block_on(async move {
            drop(tokio::spawn(door::keep(listener, token, theirs.clone(), outbox)));
            drop(tokio::spawn(watch::watch(theirs, kill_time)));
            work.run(inbox).await;
        });
    });
    thread.map_err(StartError::Machine)?;
    let facts = telling.recv().map_err(|_| StartError::Ended("nobody said how".to_owned()))??;
    Ok((pool, Supervisor::new(events), facts))
}
