//! Accepts connections of one listener: first the socket, then a permit for the connection, then a task of its own.
//! While no permit is free, and no connection can be evicted, nothing more is accepted: connections wait in the
//! kernel's backlog.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::OwnedSemaphorePermit;

use crate::connection::link::Common;
use crate::connection::table::ClientPermit;
use crate::drain::Guard;
use crate::http1::serve::{self, End};
use crate::io_threads::{IoThreadHandle, IoThreads};
use crate::listener::address::BindError;
use crate::listener::listen::{Bound, FileKeeper, Listener};
use crate::proxy::trust;
use crate::transport::socket::{DetachedSocket, Socket};

/// Wait after an error such as a lack of memory: doubled from the first to the last.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LAST_WAIT: Duration = Duration::from_secs(1);
/// Number of errors of single connections in a row after which the listener pauses for [`FIRST_WAIT`], so that its
/// thread can do other work: the cause may be no connection at all, as where a seccomp filter forbids accept(2).
const FAILED_IN_A_ROW: u64 = 100;
/// Errors of accept(2) that concern only the connection to be accepted: those of the network, and EPERM of a firewall.
const OF_ONE_CONNECTION: [Errno; 10] = [
    Errno::PERM,
    Errno::PROTO,
    Errno::NOPROTOOPT,
    Errno::OPNOTSUPP,
    Errno::TIMEDOUT,
    Errno::NETDOWN,
    Errno::NETUNREACH,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
    Errno::NONET,
];

/// A listener registered with the event loop of the thread that accepts.
pub(crate) enum AsyncListener {
    Tcp(TcpListener),
    Unix(UnixListener, FileKeeper),
}

impl AsyncListener {
    /// Registers a listener with the event loop that the calling thread has entered.
    pub(crate) fn new(listener: Listener) -> Result<AsyncListener, BindError> {
        let bind = listener.local();
        let registered = match listener.socket {
            Bound::Tcp(listener) => TcpListener::from_std(listener).map(AsyncListener::Tcp),
            Bound::Unix(listener, file) => {
                UnixListener::from_std(listener).map(|listener| AsyncListener::Unix(listener, file))
            }
        };
        registered.map_err(|why| BindError { bind, why })
    }

    /// Accepts a connection that the kernel holds, if there is one. Asks the kernel itself, since the event loop may
    /// not know of it yet.
    fn accept_now(&self) -> io::Result<Option<DetachedSocket>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = match self {
            AsyncListener::Tcp(listener) => {
                accept_with(listener, flags).map(|socket| DetachedSocket::Tcp(socket.into()))
            }
            AsyncListener::Unix(listener, _) => {
                accept_with(listener, flags).map(|socket| DetachedSocket::Unix(socket.into()))
            }
        };
        if let Ok(DetachedSocket::Tcp(stream)) = &accepted {
            without_delay(stream.set_nodelay(true));
        }
        match accepted {
            Ok(socket) => Ok(Some(socket)),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The next connection, with its peer's address unless it is on a Unix socket.
    fn poll_accept(&self, cx: &mut std::task::Context<'_>) -> Poll<io::Result<(Socket, Option<SocketAddr>)>> {
        match self {
            AsyncListener::Tcp(listener) => listener.poll_accept(cx).map_ok(|(stream, peer)| {
                without_delay(stream.set_nodelay(true));
                (Socket::Tcp(stream), Some(peer))
            }),
            AsyncListener::Unix(listener, _) => {
                listener.poll_accept(cx).map_ok(|(stream, _)| (Socket::Unix(stream), None))
            }
        }
    }
}

fn without_delay(set: io::Result<()>) {
    if let Err(error) = set {
        tracing::debug!(target: "front", "cannot set TCP_NODELAY: {error}");
    }
}

/// Accepts until the stop, then what the kernel has accepted by that time.
pub(crate) async fn run(mut listener: AsyncListener, io_threads: &IoThreads, common: Arc<Common>, guard: Guard) {
    let mut wait = FIRST_WAIT;
    let mut failed = 0_u64;
    loop {
        let accepted = tokio::select! {
            biased;
            () = common.stop.draining() => break,
            accepted = poll_fn(|cx| listener.poll_accept(cx)) => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                (wait, failed) = (FIRST_WAIT, 0);
                // `None` if its client has reached its limit of connections.
                if let Some(permit) = obtain_permit(&socket, peer, &common).await {
                    dispatch(socket, io_threads, &common, permit, &guard);
                }
            }
            Err(error) if is_of_one_connection(&error) => {
                failed += 1;
                if failed == FAILED_IN_A_ROW {
                    tracing::warn!(target: "front", "cannot accept connections, {failed} of them in a row: {error}");
                }
                if failed.is_multiple_of(FAILED_IN_A_ROW) {
                    tokio::select! {
                        () = common.stop.draining() => break,
                        () = tokio::time::sleep(FIRST_WAIT) => {}
                    }
                }
            }
            // Evicting another connection frees a file for this one shortly.
            Err(error) if files::is_short_of_files(&error) => {
                tokio::select! {
                    () = common.stop.draining() => break,
                    () = common.connections.evict_for_file() => {}
                }
            }
            Err(error) => {
                tracing::warn!(target: "front", "cannot accept connections, trying again in {wait:?}: {error}");
                tokio::select! {
                    () = common.stop.draining() => break,
                    () = tokio::time::sleep(wait) => wait = (wait * 2).min(LAST_WAIT),
                }
            }
        }
    }
    // The file goes first, so that no new client finds the socket while those in the backlog are accepted.
    if let AsyncListener::Unix(_, file) = &mut listener {
        file.remove();
    }
    empty_backlog(&listener, io_threads, &common, &guard);
    // Whoever waits for all guards may rely on the listener, and a Unix socket's file, being gone by then.
    drop(listener);
    drop(guard);
}

/// The right of a connection to be served, held until it ends.
struct ConnectionPermit {
    /// `None` for a connection that waited for a permit when the shutdown began, and is still served.
    _permit: Option<OwnedSemaphorePermit>,
    _client: Option<ClientPermit>,
}

/// Obtains a permit for a connection, unless its client has reached its limit. The connection is accepted first: only
/// then it is known that a permit is needed, and for which client.
async fn obtain_permit(socket: &Socket, peer: Option<SocketAddr>, common: &Common) -> Option<ConnectionPermit> {
    let client = match peer.filter(|peer| !trust::trusts(&common.settings.trusted, Some(*peer), false)) {
        None => Ok(None),
        Some(peer) => common.connections.admit_client(peer),
    };
    let Ok(client) = client else {
        common.settings.counts.turned_away();
        return None;
    };
    let permit = async {
        let permit = common.connections.permit().await;
        common
            .connections
            .wait_for_file(|| has_more_than_spare_files(socket, common.settings.limits.spare_files))
            .await;
        permit
    };
    let permit = tokio::select! {
        biased;
        permit = permit => permit,
        () = common.stop.draining() => None,
    };
    Some(ConnectionPermit { _permit: permit, _client: client })
}

/// Whether the next file to be opened is not among the last `spare` numbers, which are kept for everything else. The
/// kernel always gives the lowest free number. While this socket's number is far below, the next one is not determined:
/// if it is among the last all the same, that is noticed when it comes.
fn has_more_than_spare_files(socket: &Socket, spare: u64) -> bool {
    let Some(limit) = getrlimit(Resource::Nofile).current.filter(|_| spare > 0) else { return true };
    let first_spare = limit - spare.min(limit / 2);
    let is_below = |file: RawFd, number: u64| u64::try_from(file).is_ok_and(|file| file < number);
    is_below(socket.as_fd().as_raw_fd(), first_spare / 2)
        || fcntl_dupfd_cloexec(socket, 0).is_ok_and(|next| is_below(next.as_raw_fd(), first_spare))
}

/// Accepts what is in the backlog, while permits are free: closing a listener would reset these connections.
fn empty_backlog(listener: &AsyncListener, io_threads: &IoThreads, common: &Arc<Common>, guard: &Guard) {
    let mut failed = 0_u64;
    while let Some(permit) = common.connections.permit_now() {
        let permit = ConnectionPermit { _permit: Some(permit), _client: None };
        match listener.accept_now() {
            Ok(Some(socket)) => spawn(Accepted::Detached(socket), io_threads.least_busy(), common, permit, guard),
            Err(error) if is_of_one_connection(&error) && failed < FAILED_IN_A_ROW => failed += 1,
            _ => return,
        }
    }
}

/// Moves a socket to the thread with the fewest connections. It belongs to the event loop that accepted it until then.
fn dispatch(socket: Socket, io_threads: &IoThreads, common: &Arc<Common>, permit: ConnectionPermit, guard: &Guard) {
    let thread = io_threads.least_busy();
    let accepted =
        if thread.accepts() { Ok(Accepted::Attached(socket)) } else { socket.detach().map(Accepted::Detached) };
    match accepted {
        Ok(accepted) => spawn(accepted, thread, common, permit, guard),
        Err(error) => lost(&error),
    }
}

fn spawn(accepted: Accepted, thread: &IoThreadHandle, common: &Arc<Common>, permit: ConnectionPermit, guard: &Guard) {
    let common = common.clone();
    let guard = guard.clone();
    thread.spawn(async move {
        let attached = match accepted {
            Accepted::Attached(socket) => Ok(socket),
            Accepted::Detached(socket) => socket.attach(),
        };
        let socket = match attached {
            Ok(socket) => socket,
            Err(error) => return lost(&error),
        };
        let end = serve::serve(socket, common.clone()).await;
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

/// A connection on its way to its I/O thread.
enum Accepted {
    Attached(Socket),
    Detached(DetachedSocket),
}

/// Whether the client disconnected before it was accepted, or its connection has an error of its own, which is no
/// failure of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    let is_gone = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    );
    is_gone || Errno::from_io_error(error).is_some_and(|number| OF_ONE_CONNECTION.contains(&number))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::fd::OwnedFd;

    use rustix::net::sockopt::tcp_nodelay;

    use super::*;
    use crate::listener::address::Bind;
    use crate::listener::listen::listen;
    use crate::tests_support::block_on;

    /// epoll takes no regular file, and no listener at the kernel's limit of watched files
    /// (`fs.epoll.max_user_watches`). Found only after the server has begun to serve, the error looks like an ordinary
    /// shutdown.
    #[test]
    fn a_listener_that_the_event_loop_does_not_take_is_an_error_with_its_address() {
        let mut listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let Bind::Tcp(address) = listener.local() else { panic!("not TCP") };
        let file = tempfile::tempfile().unwrap();
        rustix::io::ioctl_fionbio(&file, true).unwrap();
        listener.socket = Bound::Tcp(OwnedFd::from(file).into());
        let error = block_on(async { AsyncListener::new(listener) }).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot listen on tcp://{address}: ")), "{error}");
    }

    /// Otherwise each part of a stream would wait until the client has confirmed the one before.
    #[test]
    fn short_parts_of_answers_are_sent_at_once_however_their_connection_was_accepted() {
        block_on(async {
            let listener = listen(&["127.0.0.1:0".parse().unwrap()]).unwrap().remove(0);
            let Bind::Tcp(address) = listener.local() else { panic!("not TCP") };
            let listener = AsyncListener::new(listener).unwrap();
            let _clients = [(); 2].map(|()| TcpStream::connect(address).unwrap());
            let (polled, _) = poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
            let of_backlog = std::iter::repeat_with(|| listener.accept_now().unwrap()).flatten().next().unwrap();
            for socket in [polled, of_backlog.attach().unwrap()] {
                assert!(tcp_nodelay(&socket).unwrap());
            }
        });
    }

    /// Half of all files are for connections, and their numbers are far from that here.
    #[test]
    fn a_connection_with_a_low_number_leaves_all_the_files_that_are_to_be_spared() {
        let (socket, _peer) = block_on(async { tokio::net::UnixStream::pair().unwrap() });
        let socket = Socket::Unix(socket);
        for spare in [0, 1, u64::MAX] {
            assert!(has_more_than_spare_files(&socket, spare), "{spare}");
        }
    }

    #[test]
    fn what_a_firewall_or_the_network_has_against_one_connection_does_not_slow_the_listener() {
        let is_of_one = |number: Errno| is_of_one_connection(&number.into());
        for number in [Errno::PERM, Errno::PROTO, Errno::HOSTUNREACH, Errno::CONNABORTED, Errno::INTR] {
            assert!(is_of_one(number), "{number:?}");
        }
        for number in [Errno::NOMEM, Errno::NOBUFS, Errno::MFILE, Errno::NFILE, Errno::INVAL, Errno::BADF] {
            assert!(!is_of_one(number), "{number:?}");
        }
    }

    #[test]
    fn the_page_about_the_log_has_the_line_that_says_that_no_connection_can_be_accepted() {
        let page = include_str!("../../../../docs/logging.md");
        let row = page.lines().find(|line| line.starts_with("| `cannot accept connections, ... of them in a row` |"));
        assert!(row.is_some_and(|row| row.contains(&format!("| {FAILED_IN_A_ROW} attempts "))), "{row:?}");
    }
}
