//! The start of the engine: a folder, a socket, a thread for all that is not a request, and the first worker.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use engine::TempFolder;
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;

use crate::door::Pass;
use crate::pool::Pool;
use crate::supervisor::{Event, Place, Supervisor, Work};
use crate::user::User;
use crate::{Settings, StartError, door, scripts, watch};

/// What a mold says of itself when it is ready.
pub type Facts = Vec<(String, String)>;

/// Events are few (a process begins, speaks or ends), and none may be lost.
#[expect(clippy::disallowed_methods, reason = "see above")]
fn channel() -> (UnboundedSender<Event>, UnboundedReceiver<Event>) {
    unbounded_channel()
}

/// A private folder with our Ruby files in it, and a name for the socket.
fn place() -> io::Result<Place> {
    let folder = TempFolder::new("foolsgold-wire-")?;
    scripts::write(&folder.path().join("ruby"))?;
    let socket = folder.path().join("wire.sock");
    Ok(Place { folder, socket, token: Uuid::new_v4().simple().to_string() })
}

/// Whoever runs the application must come into the folder, and nobody else may.
fn give_away(place: &Place, user: &User) -> io::Result<()> {
    let scripts = place.folder.path().join("ruby");
    for entry in fs::read_dir(&scripts)? {
        user.own(&entry?.path())?;
    }
    [place.socket.as_path(), &scripts].into_iter().try_for_each(|path| user.own(path))?;
    place.folder.let_in(user.gid)
}

/// Starts everything, and waits for the first worker.
pub fn boot(settings: Settings, lanes: Vec<Handle>) -> Result<(Arc<Pool>, Supervisor, Facts), StartError> {
    let (events, inbox) = channel();
    settings.meter.recorder.set_slow(settings.slow_time);
    let pool = Pool::new(lanes, &settings, events.clone());
    let place = place().map_err(StartError::Machine)?;
    let kill_time = settings.kill_time;
    let pass = Pass { token: place.token.clone(), uid: settings.user.as_ref().map(|user| user.uid) };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(StartError::Machine)?;
    let listener: io::Result<UnixListener> = {
        let _in = runtime.enter();
        UnixListener::bind(&place.socket)
    };
    let listener = listener.map_err(StartError::Machine)?;
    if let Some(user) = &settings.user {
        give_away(&place, user).map_err(|error| StartError::User(user.name.clone(), error))?;
    }
    let (told, telling) = mpsc::sync_channel(1);
    let work = Work::new(settings, pool.clone(), place, events.clone(), told);
    let (theirs, outbox) = (pool.clone(), events.clone());
    let thread = thread::Builder::new().name("workers".into()).spawn(move || {
        runtime.block_on(async move {
            drop(tokio::spawn(door::keep(listener, pass, theirs.clone(), outbox)));
            drop(tokio::spawn(watch::watch(theirs, kill_time)));
            work.run(inbox).await;
        });
    });
    let thread = thread.map_err(StartError::Machine)?;
    match telling.recv().unwrap_or_else(|_| Err(StartError::Ended("exited".to_owned()))) {
        Ok(facts) => Ok((pool, Supervisor::new(events, thread), facts)),
        Err(error) => {
            // It ends by itself now; what it has made is removed by then.
            let _ = thread.join();
            Err(error)
        }
    }
}
