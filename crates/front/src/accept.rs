//! Takes connections from one listener: a permit first, then a socket, then a task of its own.
//! While there is no permit nothing is accepted, so that connections over the limit wait in the kernel's backlog.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::{self, End};
use crate::drain::Guard;
use crate::lanes::{Lane, Lanes};
use crate::link::Common;
use crate::listen::{Bound, FileKeeper, Listener};
use crate::socket::{Homeless, Socket};

/// The wait after an error such as too many open files: from the first to the last, doubling.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LAST_WAIT: Duration = Duration::from_secs(1);

/// A listener on the lane that accepts.
pub(crate) enum Door {
    Tcp(TcpListener),
    Unix(UnixListener, #[allow(dead_code, reason = "held for its Drop")] FileKeeper),
}

impl Door {
    pub(crate) fn new(listener: Listener) -> io::Result<Door> {
        Ok(match listener.socket {
            Bound::Tcp(listener) => Door::Tcp(TcpListener::from_std(listener)?),
            Bound::Unix(listener, file) => Door::Unix(UnixListener::from_std(listener)?, file),
        })
    }

    /// One that the kernel holds, if there is one. It asks the kernel itself: the event loop may not have heard of it.
    fn accept_now(&self) -> io::Result<Option<Homeless>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = match self {
            Door::Tcp(listener) => accept_with(listener, flags).map(|socket| Homeless::Tcp(socket.into())),
            Door::Unix(listener, _) => accept_with(listener, flags).map(|socket| Homeless::Unix(socket.into())),
        };
        match accepted {
            Ok(Homeless::Tcp(stream)) => {
                without_delay(stream.set_nodelay(true));
                Ok(Some(Homeless::Tcp(stream)))
            }
            Ok(homeless) => Ok(Some(homeless)),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn poll_accept(&self, cx: &mut std::task::Context<'_>) -> Poll<io::Result<Socket>> {
        match self {
            Door::Tcp(listener) => listener.poll_accept(cx).map_ok(|(stream, _)| {
                without_delay(stream.set_nodelay(true));
                Socket::Tcp(stream)
            }),
            Door::Unix(listener, _) => listener.poll_accept(cx).map_ok(|(stream, _)| Socket::Unix(stream)),
        }
    }
}

fn without_delay(set: io::Result<()>) {
    if let Err(error) = set {
        tracing::debug!(target: "front", "cannot set TCP_NODELAY: {error}");
    }
}

/// Accepts until the stop, and then what the kernel had accepted for us by then.
pub(crate) async fn run(door: Door, lanes: &Lanes, common: Arc<Common>, permits: Arc<Semaphore>, guard: Guard) {
    let mut wait = FIRST_WAIT;
    loop {
        let accepted = tokio::select! {
            biased;
            () = common.stop.draining() => break,
            accepted = next(&door, &common, &permits) => accepted,
        };
        match accepted {
            Ok(Some((socket, permit))) => {
                wait = FIRST_WAIT;
                place(socket, lanes, &common, permit, &guard);
            }
            // The semaphore is never closed.
            Ok(None) => return,
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(target: "front", "cannot accept connections, trying again in {wait:?}: {error}");
                tokio::select! {
                    () = common.stop.draining() => break,
                    () = tokio::time::sleep(wait) => wait = (wait * 2).min(LAST_WAIT),
                }
            }
        }
    }
    empty_backlog(&door, lanes, &common, &permits, &guard);
    // Whoever waits for all guards may rely on the listener, and a Unix socket's file, being gone by then.
    drop(door);
    drop(guard);
}

/// The next connection, with its place. Where room is made for it, it is accepted first: only then is one needed.
async fn next(
    door: &Door,
    common: &Common,
    permits: &Arc<Semaphore>,
) -> io::Result<Option<(Socket, OwnedSemaphorePermit)>> {
    let accepted = poll_fn(|cx| door.poll_accept(cx));
    if let Some(room) = &common.room {
        let socket = accepted.await?;
        let permit = room.place(permits, common.settings.limits.connections).await;
        return Ok(permit.map(|permit| (socket, permit)));
    }
    let Ok(permit) = permits.clone().acquire_owned().await else { return Ok(None) };
    Ok(Some((accepted.await?, permit)))
}

/// Closing a listener resets what is in its backlog, so that is accepted first, as far as there are permits.
fn empty_backlog(door: &Door, lanes: &Lanes, common: &Arc<Common>, permits: &Arc<Semaphore>, guard: &Guard) {
    while let Ok(permit) = permits.clone().try_acquire_owned() {
        match door.accept_now() {
            Ok(Some(homeless)) => spawn(Moved::Goes(homeless), lanes.quietest(), common, permit, guard),
            Err(error) if is_of_one_connection(&error) => {}
            _ => return,
        }
    }
}

/// A socket belongs to the event loop that accepted it until it is told otherwise.
fn place(socket: Socket, lanes: &Lanes, common: &Arc<Common>, permit: OwnedSemaphorePermit, guard: &Guard) {
    let lane = lanes.quietest();
    let moved = if lane.accepts() { Ok(Moved::Stays(socket)) } else { socket.leave().map(Moved::Goes) };
    match moved {
        Ok(moved) => spawn(moved, lane, common, permit, guard),
        Err(error) => lost(&error),
    }
}

fn spawn(moved: Moved, lane: &Lane, common: &Arc<Common>, permit: OwnedSemaphorePermit, guard: &Guard) {
    let (common, guard) = (common.clone(), guard.clone());
    lane.spawn(async move {
        let settled = match moved {
            Moved::Stays(socket) => Ok(socket),
            Moved::Goes(socket) => socket.settle(),
        };
        let socket = match settled {
            Ok(socket) => socket,
            Err(error) => return lost(&error),
        };
        let end = connection::serve(socket, common.clone()).await;
        match end {
            End::Finished if common.stop.is_draining() => guard.finished(),
            End::Finished => {}
            End::Cut => guard.cut(),
        }
        drop(permit);
    });
}

fn lost(error: &io::Error) {
    tracing::warn!(target: "front", "a connection was lost: {error}");
}

/// A connection on its way to its lane.
enum Moved {
    Stays(Socket),
    Goes(Homeless),
}

/// The client had gone before it was accepted: no fault of ours.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
