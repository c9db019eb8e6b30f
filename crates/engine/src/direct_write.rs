//! Direct writes: the engine of a streamed body writes a long part of it to the client's connection itself, where that
//! costs less than to pass the bytes to the front. The front lends it the connection for that, when everything before
//! the part is written, and writes nothing until the engine reports how much it has written.

use std::os::fd::OwnedFd;

use tokio::sync::oneshot;

/// A request of an engine to write the next bytes of a body to the client itself. Dropping it declines: the engine
/// sends the bytes through the stream.
#[derive(Debug)]
pub struct DirectRequest {
    length: u64,
    sender: oneshot::Sender<DirectWrite>,
}

/// A client's connection, for as long as the engine writes to it. Dropping it without [`DirectWrite::finish`] means
/// that it is not known how much was written, so the front breaks the body off.
#[derive(Debug)]
pub struct DirectWrite {
    socket: OwnedFd,
    written: oneshot::Sender<u64>,
}

impl DirectRequest {
    /// Creates a request to write this number of bytes, and the future of the connection, which fails if the request
    /// is declined.
    pub(crate) fn new(length: u64) -> (DirectRequest, oneshot::Receiver<DirectWrite>) {
        let (sender, receiver) = oneshot::channel();
        (DirectRequest { length, sender }, receiver)
    }

    /// The number of bytes that the engine would write.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Lends the connection, as a descriptor of its own for the same open file. Returns the future of the number of
    /// bytes that the engine has written, [`DirectRequest::length`] at most; the rest comes through the stream. It
    /// fails if that number is not known.
    pub fn grant(self, socket: OwnedFd) -> oneshot::Receiver<u64> {
        let (written, receiver) = oneshot::channel();
        // An engine that is gone drops the connection, and the front sees that nothing is known.
        let _ = self.sender.send(DirectWrite { socket, written });
        receiver
    }
}

impl DirectWrite {
    /// The connection, which does not block.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Gives the connection back, and reports how many bytes were written to it.
    pub fn finish(self, written: u64) {
        drop(self.socket);
        let _ = self.written.send(written);
    }
}
