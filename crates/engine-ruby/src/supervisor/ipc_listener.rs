//! The IPC listener for Ruby processes: a Unix socket in the process folder. Each connection begins with HELLO, which
//! has its role.

use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::geteuid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::dispatch::direct_writes::DirectWrites;
use crate::dispatch::pool::{Pool, died};
use crate::dispatch::relay::{Holder, relay, relay_rest};
use crate::dispatch::upgraded::{Hijacked, Taken, UpgradedConnection};
use crate::message::Message;
use crate::wire::frames::{self, Frame, Hello, Role, WireError};

/// The time limit for HELLO, which a process sends at once.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// The shortest time between two log entries about errors of accept(2).
const LOG_EACH: Duration = Duration::from_secs(10);
/// The largest length of a HELLO frame, in bytes.
const HELLO_BYTES: usize = 1024;

/// The credentials that a connection must show.
pub struct Handshake {
    /// The token that HELLO must contain.
    pub token: String,
    /// The user id that every peer must have, if the server starts processes as another user.
    pub uid: Option<u32>,
}

/// Accepts connections of processes for as long as the engine lives.
pub async fn accept(
    listener: StdListener,
    handshake: Arc<Handshake>,
    pool: Arc<Pool>,
    messages: UnboundedSender<Message>,
) {
    let listener = match UnixListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(target: "engine", "no connection of a Ruby process can be waited for: {error}");
            return;
        }
    };
    let mut logged: Option<Instant> = None;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (handshake, pool, messages) = (handshake.clone(), pool.clone(), messages.clone());
                drop(tokio::spawn(async move {
                    if let Err(error) = handle(stream, &handshake, &pool, &messages).await {
                        tracing::warn!(target: "engine", "connection of a Ruby process refused: {error}");
                    }
                }));
            }
            Err(error) => {
                if logged.is_none_or(|at| at.elapsed() > LOG_EACH) {
                    logged = Some(Instant::now());
                    tracing::error!(target: "engine", "cannot accept connections of Ruby processes: {error}");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Handshake {
    fn check(&self, stream: &UnixStream, hello: &Hello) -> Result<(), WireError> {
        if hello.token != self.token {
            return Err(WireError("HELLO with a wrong token".into()));
        }
        let peer = stream.peer_cred().map_err(|error| WireError(format!("nobody knows whose it is: {error}")))?;
        if self.uid.is_none() && peer.uid() == geteuid().as_raw() {
            return Ok(());
        }
        // The server kills and reads a process by the pid of its HELLO. With a false pid, another user's process could
        // have the server kill others, and a worker whose user a hook has changed would pass for one with the server's
        // rights.
        let is_user = self.uid.is_none_or(|uid| uid == peer.uid());
        let is_it = peer.pid().is_none_or(|pid| pid.cast_unsigned() == hello.pid);
        if !is_user || !is_it {
            return Err(WireError(format!("HELLO of pid {}, from another process or user", hello.pid)));
        }
        Ok(())
    }
}

async fn handle(
    mut stream: UnixStream,
    handshake: &Handshake,
    pool: &Arc<Pool>,
    messages: &UnboundedSender<Message>,
) -> Result<(), WireError> {
    let hello = timeout(HELLO_TIME, hello(&mut stream)).await.map_err(|_| WireError("no HELLO came".into()))??;
    let Some(hello) = hello else {
        // Its end has a line of its own.
        tracing::debug!(
            target: "engine",
            "a Ruby process closed a connection before it had said what that is for (HELLO), as one that is killed does"
        );
        return Ok(());
    };
    handshake.check(&stream, &hello)?;
    let broken = |error: io::Error| WireError(format!("{:?} connection: {error}", hello.role));
    match hello.role {
        Role::Mold => {
            let _ = messages.send(Message::Mold(hello.pid, stream));
        }
        Role::Control => {
            let _ = messages.send(Message::Control(hello.worker, hello.pid, stream));
        }
        Role::Slot => {
            let stream = stream.into_std().map_err(broken)?;
            let _ = messages.send(Message::Thread(hello.worker, hello.slot, stream));
        }
        Role::Claims => {
            let _ = messages.send(Message::Claims(hello.worker, stream));
        }
        Role::Body => {
            let thread = pool.thread(hello.worker, hello.slot);
            let file = thread.and_then(|thread| thread.file(hello.seq));
            let file = file.ok_or_else(|| WireError("a body was asked for that is not there".into()))?;
            send_file(&stream, &file).map_err(broken)?;
        }
        Role::Full | Role::Partial | Role::Rest => hijack(stream, &hello, pool).await.map_err(broken)?,
        Role::Direct => {
            // Without the worker's thread, no code waits for it.
            if let Some(thread) = pool.thread(hello.worker, hello.slot) {
                let stream = stream.into_std().map_err(broken)?;
                let (_, io_thread) = pool.io_thread(hello.worker);
                let _in = io_thread.enter();
                let stream = UnixStream::from_std(stream).map_err(broken)?;
                let direct = Arc::new(DirectWrites::new(hello.seq, stream));
                thread.write_directly_by(direct.clone());
                // An exception may have ended the wait for it.
                let _ = direct.confirm();
            }
        }
        Role::Broken => {
            if let Some(thread) = pool.thread(hello.worker, hello.slot) {
                thread.break_hijack(hello.seq);
            }
            stream.write_all(&[1]).await.map_err(broken)?;
        }
    }
    Ok(())
}

/// Reads HELLO; `None` if the process closed the connection before all of it had come.
async fn hello(stream: &mut UnixStream) -> Result<Option<Hello>, WireError> {
    // Exactly this frame: what follows belongs to the recipient of the connection.
    let Some(length) = unless_closed(stream.read_u32().await)? else { return Ok(None) };
    let length = length as usize;
    if !(1..=HELLO_BYTES).contains(&length) {
        return Err(WireError(format!("a HELLO of {length} bytes")));
    }
    let mut rest = BytesMut::zeroed(length);
    if unless_closed(stream.read_exact(&mut rest).await)?.is_none() {
        return Ok(None);
    }
    let kind = rest.split_to(1)[0];
    Hello::read(Frame { kind, payload: rest.freeze() }).map(Some)
}

/// What was read of HELLO; `None` if the process has closed the connection.
fn unless_closed<T>(read: io::Result<T>) -> Result<Option<T>, WireError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => Ok(None),
        Err(error) => Err(WireError(format!("HELLO did not come whole: {error}"))),
    }
}

/// Sends the descriptor of a file, with one byte. The file is opened anew, so that two workers that read the same body,
/// one after the other's death, do not share a position.
fn send_file(stream: &UnixStream, file: &std::fs::File) -> io::Result<()> {
    let own = std::fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let own = own.or_else(|_| file.try_clone())?;
    send_descriptor(stream, &own)
}

/// Sends a descriptor, with one byte.
pub(super) fn send_descriptor(stream: &UnixStream, file: &std::fs::File) -> io::Result<()> {
    let descriptors = [file.as_raw_fd()];
    let message = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&[frames::VERSION])], &message, MsgFlags::empty(), None)?;
    Ok(())
}

async fn hijack(mut stream: UnixStream, hello: &Hello, pool: &Arc<Pool>) -> io::Result<()> {
    let thread = pool.thread(hello.worker, hello.slot);
    // It counts before the worker goes on: one that is retired is stopped when it has nothing left.
    let connection = match (&thread, hello.role) {
        (Some(thread), Role::Full) => pool.take_connection(hello.worker, || thread.take_over(hello.seq)),
        (Some(thread), _) => pool.take_over_upgrade(thread, hello.seq).await,
        (None, _) => None,
    };
    let is_rest = hello.role == Role::Rest;
    let Some(UpgradedConnection { duplex, counted, leaving }) = connection else {
        // A stream that was closed while the worker opened this connection for it has no rest.
        return match is_rest {
            true => Ok(()),
            false => Err(io::Error::other("there is no connection to take over: the request has been answered")),
        };
    };
    let hijacked = thread.clone().filter(|_| !is_rest);
    let hijacked = hijacked.map(|thread| Hijacked::new(thread, hello.seq));
    let taken = thread.filter(|_| hello.role == Role::Full).map(|thread| Taken::new(thread, hello.seq));
    if !is_rest {
        stream.write_all(&[1]).await?;
    }
    let (worker, pid) = (hello.worker, hello.pid);
    let stream = stream.into_std()?;
    let (_, io_thread) = pool.io_thread(worker);
    let _in = io_thread.enter();
    let stream = UnixStream::from_std(stream)?;
    drop(io_thread.spawn(async move {
        match is_rest {
            true => relay_rest(stream, duplex.outgoing, leaving, died(worker, pid)).await,
            false => {
                let has_failed = hijacked.as_ref().map(Hijacked::has_failed).unwrap_or_default();
                let holder = Holder { pid, died: died(worker, pid), has_failed };
                relay(stream, duplex, leaving, holder, taken).await;
            }
        }
        drop(counted);
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;

    use super::*;
    use crate::wire::frames::{VERSION, kind};

    #[tokio::test]
    async fn a_connection_shows_the_token_and_one_of_another_user_its_own_process() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let (own, server) = (std::process::id(), geteuid().as_raw());
        let is_let_in = |uid: Option<u32>, pid: u32, token: &str| {
            let hello = Hello { role: Role::Mold, worker: 0, slot: 0, seq: 0, pid, token: token.to_owned() };
            Handshake { token: "secret".to_owned(), uid }.check(&ours, &hello).is_ok()
        };
        assert!(is_let_in(None, own, "secret") && is_let_in(None, own + 1, "secret"));
        assert!(!is_let_in(None, own, "guessed") && !is_let_in(None, own, ""));
        assert!(is_let_in(Some(server), own, "secret") && !is_let_in(Some(server), own + 1, "secret"));
        assert!(!is_let_in(Some(server + 1), own, "secret"));
    }

    #[tokio::test]
    async fn a_hello_is_read_to_its_end_and_no_further_and_none_is_long() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let sent = frames::frame(kind::HELLO, |out| {
            out.put_slice(&[VERSION, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
            out.put_slice(b"secret");
        });
        theirs.write_all(&sent).await.unwrap();
        theirs.write_all(b"rest").await.unwrap();
        let read = hello(&mut ours).await.unwrap().unwrap();
        assert_eq!((read.role, read.worker, read.pid, read.token.as_str()), (Role::Control, 7, 9, "secret"));
        let mut rest = [0; 4];
        ours.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"rest");
        for length in [0, 1025] {
            theirs.write_u32(length).await.unwrap();
            assert!(hello(&mut ours).await.is_err(), "{length} bytes");
        }
    }

    #[tokio::test]
    async fn a_process_that_is_killed_before_its_hello_has_come_is_no_error() {
        for sent in [&b""[..], b"\0\0", b"\0\0\0\x16\x01"] {
            let (mut ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(sent).await.unwrap();
            drop(theirs);
            assert!(hello(&mut ours).await.unwrap().is_none(), "{sent:?}");
        }
    }
}
