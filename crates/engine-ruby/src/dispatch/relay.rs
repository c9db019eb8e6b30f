//! Copies bytes between a client connection that an application has taken over, as the front passes it on, and the Unix
//! socket through which the application reads and writes it; and from such a socket the rest of a streamed body.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use engine::body::{make_room, poll_piece};
use engine::{Duplex, Fault, Sink};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::WriteHalf;
use tokio::sync::{Notify, SetOnce};
use tokio::time::timeout;

use crate::process::has_ended;
use crate::wire::answer;
use crate::wire::frames::{self, Frame, Reader, WireError, kind};

const READ_BYTES: usize = 16 << 10;
/// The free space in a read buffer below which it is enlarged before the next read.
const ROOM_BYTES: usize = 4 << 10;
/// The interval of checks whether an application that has closed its writing side still reads; and how long after the
/// end of a worker its last bytes are waited for.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Tells the upgraded connections of a worker that it is about to leave, and then that its process has ended.
#[derive(Debug, Default)]
pub struct Leaving {
    /// Set when the worker is to leave.
    announced: SetOnce<()>,
    /// Set when its process has ended.
    ended: SetOnce<()>,
}

impl Leaving {
    /// Announces that the worker leaves; after the first time nothing changes.
    pub fn announce(&self) {
        let _ = self.announced.set(());
    }

    /// Announces that the process of the worker has ended.
    pub fn end(&self) {
        let _ = self.ended.set(());
    }
}

/// The process at the other end of an upgraded connection.
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The fault of a connection that its end has broken off.
    pub died: Fault,
    /// Set before it closes the connection because the application's code for that has failed.
    pub has_failed: Arc<AtomicBool>,
}

/// Relays until both directions have ended, the application has closed its socket, or the front accepts no more bytes.
/// Then it closes the socket, so that a blocked write of the application fails. When the worker is to leave, tells the
/// front, which closes the connection. If the socket is closed because the application's code has failed, or the
/// process that holds it ends, the output breaks off: then with [`Fault::Stopping`] if the worker was to leave, else
/// with `died`. Drops `while_open` when the client sends no more bytes, or the application accepts none.
pub async fn relay(
    mut stream: UnixStream,
    duplex: Duplex,
    leaving: Arc<Leaving>,
    holder: Holder,
    while_open: impl Send,
) {
    let (mut reader, mut writer) = stream.split();
    let Duplex { mut incoming, outgoing } = duplex;
    let output_ended = Notify::new();
    let output_ended = &output_ended;
    let leaves = leaving.clone();
    let to_client = async move {
        let mut has_announced = false;
        let ended = loop {
            let read = tokio::select! {
                read = read_some(&mut reader) => read,
                _ = leaving.announced.wait(), if !has_announced => {
                    outgoing.leave();
                    has_announced = true;
                    continue;
                }
            };
            match read {
                Ok(bytes) if !bytes.is_empty() => {
                    if outgoing.send(bytes.freeze()).await.is_err() {
                        return None;
                    }
                }
                // The worker has logged how.
                _ if holder.has_failed.load(Ordering::SeqCst) => break Err(Fault::App(Box::default())),
                // A process that ends closes its sockets as the application does, and has begun to end before.
                _ if has_ended(holder.pid) => {
                    break Err(if leaving.announced.initialized() { Fault::Stopping } else { holder.died });
                }
                // An error says only that the application has closed its socket without reading everything.
                _ => break Ok(()),
            }
        };
        output_ended.notify_one();
        outgoing.end(ended);
        Some(outgoing)
    };
    let to_app = async move {
        let mut has_output_ended = false;
        let reads_on = loop {
            let next = poll_fn(|cx| incoming.poll_next(cx));
            let next = tokio::select! {
                next = next => next,
                () = until_check(output_ended, &mut has_output_ended) => {
                    if has_left(&writer).await {
                        break false;
                    }
                    continue;
                }
            };
            let Some(Ok(bytes)) = next else { break true };
            if writer.write_all(&bytes).await.is_err() {
                break false;
            }
        };
        drop(while_open);
        if reads_on {
            // The application reads an end of file.
            let _ = writer.shutdown().await;
        }
    };
    let (mut to_client, mut to_app) = (pin!(to_client), pin!(to_app));
    tokio::select! {
        ended = &mut to_client => if let Some(outgoing) = ended {
            // An application that has ended its output may read on for any time.
            let announce = async {
                leaves.announced.wait().await;
                outgoing.leave();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = to_app => {}
                () = announce => {}
            }
        },
        () = &mut to_app => {
            to_client.await;
        }
    }
}

/// Relays the rest of a streamed body, in frames, until its END, or a FAULT, which breaks it off. If the socket ends
/// before that, the body breaks off, too: with [`Fault::Stopping`] if the worker was to leave, else with `died`. A
/// child that the worker has forked may keep the socket open: when the worker has ended and nothing comes for a moment,
/// that is the end as well. When the client has gone, the socket is closed, so that writes of the application fail.
pub async fn relay_rest(mut stream: UnixStream, sink: Sink, leaving: Arc<Leaving>, died: Fault) {
    let mut buffer = BytesMut::new();
    let fault = loop {
        match frames::take(&mut buffer) {
            Ok(Some(frame)) if frame.kind == kind::CHUNK => {
                let joined = frames::join_chunks(frame, &mut buffer);
                if sink.send(joined.payload).await.is_err() {
                    return;
                }
                continue;
            }
            Ok(Some(frame)) if frame.kind == kind::END => return sink.finish(),
            Ok(Some(frame)) if frame.kind == kind::FAULT => {
                break exception(frame).unwrap_or_else(|error| Fault::Broken(error.to_string()));
            }
            Ok(Some(frame)) => break Fault::Broken(format!("a frame of kind {} in the rest of a body", frame.kind)),
            Err(error) => break Fault::Broken(error.to_string()),
            Ok(None) => {}
        }
        let read = tokio::select! {
            read = read_more(&mut stream, &mut buffer) => read,
            () = sink.gone() => return,
            () = until_silent(&leaving) => Ok(0),
        };
        if !matches!(read, Ok(1..)) {
            break if leaving.announced.initialized() { Fault::Stopping } else { died };
        }
    };
    sink.fail(fault);
}

/// Reads what comes next; the result is empty at the end of the stream. While it waits, there is no buffer.
async fn read_some(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<BytesMut> {
    poll_fn(|cx| {
        poll_piece(|buffer| {
            let reading = pin!(stream.read_buf(buffer));
            reading.poll(cx)
        })
    })
    .await
}

/// Reads more of a stream of frames, and returns the number of bytes. The memory of the buffer is given back while it
/// waits for the beginning of a frame.
async fn read_more(stream: &mut UnixStream, buffer: &mut BytesMut) -> io::Result<usize> {
    if buffer.is_empty() {
        *buffer = BytesMut::new();
        *buffer = read_some(stream).await?;
        return Ok(buffer.len());
    }
    make_room(buffer, ROOM_BYTES, READ_BYTES);
    stream.read_buf(buffer).await
}

/// Reads the exception of a FAULT. On this connection, its number and its flags say nothing.
fn exception(frame: Frame) -> Result<Fault, WireError> {
    let mut reader = Reader::new(frame.payload, "FAULT");
    reader.bytes(5)?;
    Ok(answer::fault(reader.list()))
}

/// Waits until a worker has ended, and then for the time in which its last bytes are read.
async fn until_silent(leaving: &Leaving) {
    leaving.ended.wait().await;
    tokio::time::sleep(CHECK_INTERVAL).await;
}

/// Waits until the next check is due. While the application still writes, its end is read by the other direction, so no
/// timer is set.
async fn until_check(output_ended: &Notify, has_output_ended: &mut bool) {
    if !*has_output_ended {
        output_ended.notified().await;
        *has_output_ended = true;
    }
    tokio::time::sleep(CHECK_INTERVAL).await;
}

/// Returns whether the application has closed its end of the socket altogether, and not only for writing.
async fn has_left(writer: &WriteHalf<'_>) -> bool {
    let ready = timeout(Duration::ZERO, writer.ready(Interest::WRITABLE)).await;
    ready.is_ok_and(|ready| ready.is_ok_and(|ready| ready.is_write_closed()))
}
