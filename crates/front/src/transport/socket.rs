//! A TCP or Unix stream as one type, so that other modules need not distinguish them. TLS will be another variant.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use engine::Peer;
use engine::body::poll_piece;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, connect_unspec, send, sendmsg, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::transport::sendfile::Part;

/// An accepted connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection that belongs to no event loop.
#[derive(Debug)]
pub(crate) enum DetachedSocket {
    Tcp(net::TcpStream),
    Unix(unix::net::UnixStream),
}

impl DetachedSocket {
    /// Registers the connection with the event loop of the calling I/O thread.
    pub(crate) fn attach(self) -> io::Result<Socket> {
        match self {
            DetachedSocket::Tcp(stream) => TcpStream::from_std(stream).map(Socket::Tcp),
            DetachedSocket::Unix(stream) => UnixStream::from_std(stream).map(Socket::Unix),
        }
    }
}

impl Socket {
    /// Takes the connection out of its event loop.
    pub(crate) fn detach(self) -> io::Result<DetachedSocket> {
        match self {
            Socket::Tcp(stream) => stream.into_std().map(DetachedSocket::Tcp),
            Socket::Unix(stream) => stream.into_std().map(DetachedSocket::Unix),
        }
    }

    /// Both addresses of a TCP connection; none on a Unix socket. An error if the client has reset the connection: its
    /// address is unknown from then on.
    pub(crate) fn peer(&self) -> io::Result<Peer> {
        Ok(match self {
            Socket::Tcp(stream) => Peer::new(Some(stream.peer_addr()?), stream.local_addr().ok()),
            Socket::Unix(_) => Peer::default(),
        })
    }

    /// Whether this is a Unix socket, whose peer is on this machine and has no address.
    pub(crate) fn is_unix(&self) -> bool {
        matches!(self, Socket::Unix(_))
    }

    /// Whether there may be something to read, or an end or error to be seen.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(stream) => stream.poll_read_ready(cx),
            Socket::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    /// Makes the end of a TCP connection an error for the client, which otherwise could not tell it from the end of the
    /// response (RFC 9112 section 8).
    pub(crate) fn reset_when_dropped(&self) {
        if let Socket::Tcp(stream) = self
            && let Err(error) = set_socket_linger(stream, Some(Duration::ZERO))
        {
            tracing::debug!(target: "front", "cannot set SO_LINGER: {error}");
        }
    }

    /// Whether the kernel holds unread input. False if that is unknown.
    pub(crate) fn has_unread(&self) -> bool {
        rustix::io::ioctl_fionread(self).is_ok_and(|bytes| bytes > 0)
    }

    /// Waits until something has arrived, without a buffer, and returns it; nothing at the end of input. The same task
    /// may write meanwhile.
    pub(crate) async fn read_some(&self) -> io::Result<Bytes> {
        poll_fn(|cx| self.poll_read_some(cx)).await
    }

    fn poll_read_some(&self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            ready!(self.poll_read_ready(cx))?;
            // Pending where the kernel has nothing after all: then the event loop is asked anew.
            if let Poll::Ready(read) = poll_piece(|buffer| self.read_now(buffer)) {
                return Poll::Ready(read.map(BytesMut::freeze));
            }
        }
    }

    /// Appends what the kernel has at this moment; pending if that is nothing.
    fn read_now(&self, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        let read = match self {
            Socket::Tcp(stream) => stream.try_read_buf(buffer),
            Socket::Unix(stream) => stream.try_read_buf(buffer),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            read => Poll::Ready(read),
        }
    }

    /// Writes what the kernel takes, when the event loop reports that it takes something. The same task may read
    /// meanwhile.
    pub(crate) fn poll_write_some(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, || self.write_now(bytes))
    }

    /// Writes what the kernel takes at this moment, without asking the event loop: it reports a socket as writable only
    /// when a third of its buffer is free.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    /// Ends both directions, also for other processes that have the connection.
    pub(crate) fn end_for_all(&self) {
        let _ = shutdown(self, Shutdown::Both);
    }

    /// Resets a TCP connection at once, also for other processes that have it. One on a Unix socket can only be ended.
    pub(crate) fn reset_for_all(&self) {
        match self {
            // The socket loses its peer, which the kernel tells by a reset; closed here, it would live on elsewhere.
            Socket::Tcp(stream) => {
                let _ = connect_unspec(stream);
            }
            Socket::Unix(_) => self.end_for_all(),
        }
    }

    /// Ends the output. An error means that the client is gone, and is of no interest.
    pub(crate) fn end_output(&self) {
        let _ = shutdown(self, Shutdown::Write);
    }

    /// Sends up to `most` bytes of a file; of bytes that the socket has, which may be full, it sends nothing.
    pub(crate) fn poll_send_part(&self, cx: &mut Context<'_>, part: &mut Part, most: usize) -> Poll<io::Result<usize>> {
        if part.is_written() {
            return Poll::Ready(part.send(self, most));
        }
        self.poll_send(cx, || part.send(self, most))
    }

    /// Writes bytes that are followed by more at once, so that the kernel may wait for those before it sends.
    pub(crate) fn poll_write_more(&self, cx: &mut Context<'_>, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
        self.poll_send(cx, || Ok(sendmsg(self, bytes, &mut SendAncillaryBuffer::default(), flags)?))
    }

    fn poll_send(&self, cx: &mut Context<'_>, mut send: impl FnMut() -> io::Result<usize>) -> Poll<io::Result<usize>> {
        loop {
            let went = match self {
                Socket::Tcp(stream) => {
                    ready!(stream.poll_write_ready(cx))?;
                    stream.try_io(Interest::WRITABLE, &mut send)
                }
                Socket::Unix(stream) => {
                    ready!(stream.poll_write_ready(cx))?;
                    stream.try_io(Interest::WRITABLE, &mut send)
                }
            };
            match went {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                went => return Poll::Ready(went),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither kind of socket buffers in user space.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
