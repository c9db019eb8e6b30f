//! Carries bytes between a connection that an application has taken over, as the front gives it, and the Unix socket
//! that the application has of it.

use std::future::poll_fn;

use bytes::BytesMut;
use engine::{Duplex, Fault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const READ_BYTES: usize = 16 << 10;

/// Until both directions have ended.
pub async fn relay(mut stream: UnixStream, duplex: Duplex) {
    let (mut reader, mut writer) = stream.split();
    let Duplex { mut incoming, outgoing } = duplex;
    let to_client = async move {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(READ_BYTES);
            match reader.read_buf(&mut buffer).await {
                Ok(0) => return outgoing.finish(),
                Ok(_) => {
                    if outgoing.send(buffer.split().freeze()).await.is_err() {
                        return;
                    }
                }
                Err(_) => return outgoing.fail(Fault::ClientGone),
            }
        }
    };
    let to_app = async move {
        while let Some(Ok(bytes)) = poll_fn(|cx| incoming.poll_next(cx)).await {
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
        // The application reads an end.
        let _ = writer.shutdown().await;
    };
    tokio::join!(to_client, to_app);
}
