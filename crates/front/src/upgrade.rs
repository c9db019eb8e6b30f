//! A connection that leaves HTTP: after a head (upgrade, partial hijack) or without one (full hijack), its bytes are
//! relayed between the socket and the application until both directions have ended.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use engine::{Duplex, Fault, Sink, Source};
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::link::Handover;
use crate::socket::Socket;

/// Bytes on the way in each direction.
pub(crate) const CAPACITY: usize = 64 * 1024;
/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;
/// How often a silent client's connection is looked at for an application that has left it.
const LOOK_TIME: Duration = Duration::from_millis(500);

/// Appends a head as it stands on the wire.
pub(crate) fn write_head(out: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Relays until both directions have ended. `early` is what the client sent before the hand-over.
pub(crate) async fn relay(socket: Socket, early: Vec<u8>, handover: Handover, write_time: Duration) {
    let Handover { head, duplex, reply, record } = handover;
    let (mut reader, mut writer) = tokio::io::split(socket);
    let Duplex { incoming: from_app, outgoing: to_app } = duplex;
    let is_said = AtomicBool::new(false);
    let upward = up(&mut reader, early, to_app, &is_said);
    let downward = async {
        let sent = down(&mut writer, head, from_app, write_time).await;
        is_said.store(true, Relaxed);
        sent
    };
    // The application may go on after the connection's end; it is not told that the client has gone until it is done.
    let running = async {
        if let Some(reply) = reply {
            reply.await;
        }
    };
    let ((), sent, ()) = tokio::join!(upward, downward, running);
    if let Some(mut record) = record {
        record.bytes = sent;
    }
}

/// Ends with the client's side, or when the application has said all (`is_said`) and reads no more.
async fn up(reader: &mut (impl AsyncReadExt + Unpin), early: Vec<u8>, to_app: Sink, is_said: &AtomicBool) {
    if !early.is_empty() && to_app.send(Bytes::from(early)).await.is_err() {
        return;
    }
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ_BYTES);
        match timeout(LOOK_TIME, reader.read_buf(&mut buffer)).await {
            Err(_) if is_said.load(Relaxed) && to_app.is_gone() => return,
            Err(_) => {}
            Ok(Ok(0)) => return to_app.finish(),
            Ok(Ok(_)) => {
                if to_app.send(buffer.split().freeze()).await.is_err() {
                    return;
                }
            }
            Ok(Err(_)) => return to_app.fail(Fault::ClientGone),
        }
    }
}

/// Returns how many bytes went to the client.
async fn down(
    writer: &mut (impl AsyncWriteExt + Unpin),
    head: Bytes,
    mut from_app: Source,
    write_time: Duration,
) -> u64 {
    let mut sent = 0;
    if write(writer, &head, write_time).await.is_ok() {
        while let Some(Ok(bytes)) = poll_fn(|cx| from_app.poll_next(cx)).await {
            if write(writer, &bytes, write_time).await.is_err() {
                break;
            }
            sent += bytes.len() as u64;
        }
    }
    // A client that only half-closed still learns here that nothing more will come.
    let _ = writer.shutdown().await;
    sent
}

/// Writes all of it; every step must come to something within the time.
pub(crate) async fn write(
    writer: &mut (impl AsyncWriteExt + Unpin),
    mut bytes: &[u8],
    write_time: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = timeout(write_time, writer.write(bytes)).await??;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
    }
    Ok(())
}

/// Closes so that the last answer arrives: a socket closed over unread bytes is reset, and the reset can overtake
/// the answer. So the client's bytes are read and thrown away, within bounds, until it closes.
pub(crate) async fn linger(socket: &mut Socket, most_time: Duration, most_bytes: usize) {
    let ends = Instant::now() + most_time;
    let mut buffer = vec![0; READ_BYTES];
    let mut left = most_bytes;
    if socket.shutdown().await.is_err() {
        return;
    }
    while left > 0 {
        match timeout(ends.saturating_duration_since(Instant::now()), socket.read(&mut buffer)).await {
            Ok(Ok(count)) if count > 0 => left = left.saturating_sub(count),
            _ => return,
        }
    }
}
