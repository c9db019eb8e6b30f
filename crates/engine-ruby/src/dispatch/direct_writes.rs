//! The connection for direct writes of a worker thread: the front passes clients' sockets on, and the worker reports
//! how much it has written to each.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::worker_memory::{Lent, WorkerMemory};
use crate::wire::frames;

/// The longest time for a report. The worker writes for a second at most; it may be stopped meanwhile.
const REPORT_TIME: Duration = Duration::from_secs(30);

/// The interval of checks whether the worker still runs: a child that it has forked may hold the connection open.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The connection for direct writes.
#[derive(Debug)]
pub struct DirectWrites {
    /// The number that the worker thread has given it, and names in each offer of a part.
    number: u32,
    stream: UnixStream,
}

impl DirectWrites {
    /// Takes over the connection with this number.
    pub fn new(number: u32, stream: UnixStream) -> DirectWrites {
        DirectWrites { number, stream }
    }

    /// Whether the worker waits here for an answer to the offer of this part. It may have been offered on an earlier
    /// connection, which an exception in the worker has ended: then what is sent here would be for another part.
    pub fn is_offered(&self, lent: &Lent) -> bool {
        lent.offered_on != 0 && lent.offered_on == self.number
    }

    /// Whether the worker has opened this connection before the other one.
    pub fn is_before(&self, other: &DirectWrites) -> bool {
        self.number < other.number
    }

    /// Tells the worker that the connection is accepted. From then on it waits there for an answer to each offer.
    pub fn confirm(&self) -> io::Result<()> {
        self.send(None)
    }

    /// Tells the worker that it is not to write the part that it has lent. If the connection has ended, the worker does
    /// not wait for this.
    pub fn decline(&self) {
        let _ = self.send(None);
    }

    /// Passes a client's socket to the worker, and returns how many bytes the worker has written to it: 0 if it could
    /// not be passed, since the worker waits no more. None if that is not known: the worker has ended, or an exception
    /// has ended the connection.
    pub async fn write(&self, socket: &OwnedFd, memory: &WorkerMemory) -> Option<u64> {
        if self.send(Some(socket.as_fd())).is_err() {
            self.decline();
            return Some(0);
        }
        let until = Instant::now() + REPORT_TIME;
        let mut report = [0; 8];
        let mut length = 0;
        while length < report.len() {
            match timeout(CHECK_INTERVAL, self.stream.readable()).await {
                Ok(readable) => readable.ok()?,
                Err(_) if memory.has_ended() || Instant::now() >= until => return None,
                Err(_) => continue,
            }
            match self.stream.try_read(&mut report[length..]) {
                Ok(0) => return None,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The kernel says so of an end that has not read what was sent to it: the worker never had the socket.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Some(0),
                Err(_) => return None,
            }
        }
        Some(u64::from_be_bytes(report))
    }

    /// Sends one byte, and this descriptor. The worker reads each before it sends more, so there is always room.
    fn send(&self, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.as_slice();
        if !descriptors.is_empty() {
            message.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(&self.stream, &[IoSlice::new(&[frames::VERSION])], &mut message, flags)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSliceMut, Read, Write};
    use std::os::unix::net::UnixStream as StdStream;

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};

    use super::*;

    /// A connection whose other end is a worker's.
    fn connection() -> (DirectWrites, StdStream) {
        let (ours, theirs) = StdStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let direct = DirectWrites::new(1, UnixStream::from_std(ours).unwrap());
        direct.confirm().unwrap();
        assert_eq!((&theirs).read(&mut [0; 9]).unwrap(), 1, "it is accepted");
        (direct, theirs)
    }

    /// Reads one byte, and the descriptor that comes with it.
    fn socket(worker: &StdStream) -> Option<StdStream> {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut messages = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut byte)];
        let received = recvmsg(worker, &mut into, &mut messages, RecvFlags::CMSG_CLOEXEC).unwrap();
        assert_eq!(received.bytes, 1);
        let descriptor = messages.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut found) => found.next(),
            _ => None,
        });
        descriptor.map(StdStream::from)
    }

    #[tokio::test]
    async fn a_worker_gets_the_socket_and_reports_what_it_has_written() {
        let memory = WorkerMemory::of(std::process::id()).unwrap();
        let (direct, mut worker) = connection();
        direct.decline();
        assert!(socket(&worker).is_none());
        let (ours, mut client) = StdStream::pair().unwrap();
        let writing = std::thread::spawn(move || {
            let mut to_client = socket(&worker).unwrap();
            to_client.write_all(b"gold").unwrap();
            drop(to_client);
            worker.write_all(&4_u64.to_be_bytes()).unwrap();
            worker
        });
        let lent = OwnedFd::from(ours);
        assert_eq!(direct.write(&lent, &memory).await, Some(4));
        drop(lent);
        let mut read = String::new();
        client.read_to_string(&mut read).unwrap();
        assert_eq!(read, "gold");
        let worker = writing.join().unwrap();
        let breaking = std::thread::spawn(move || drop((socket(&worker).unwrap(), worker)));
        let (ours, _client) = StdStream::pair().unwrap();
        assert_eq!(direct.write(&ours.into(), &memory).await, None, "its end goes after it has the socket");
        breaking.join().unwrap();
        let (ours, _client) = StdStream::pair().unwrap();
        assert_eq!(direct.write(&ours.into(), &memory).await, Some(0), "its end has gone before");
    }

    #[tokio::test]
    async fn a_worker_that_closes_the_connection_without_taking_the_socket_has_written_nothing() {
        let memory = WorkerMemory::of(std::process::id()).unwrap();
        let (direct, worker) = connection();
        let closing = std::thread::spawn(move || {
            recv(&worker, &mut [0; 1], RecvFlags::PEEK).unwrap();
            drop(worker);
        });
        let (ours, _client) = StdStream::pair().unwrap();
        assert_eq!(direct.write(&ours.into(), &memory).await, Some(0));
        closing.join().unwrap();
    }

    #[tokio::test]
    async fn a_part_that_was_offered_on_another_connection_is_not_written_on_this_one() {
        let (direct, _worker) = connection();
        let part = |offered_on| Lent { address: 8, length: 77, offered_on };
        let found = [0, 1, 2].map(|number| direct.is_offered(&part(number)));
        assert_eq!(found, [false, true, false]);
    }

    #[tokio::test]
    async fn of_a_worker_that_has_ended_nothing_is_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let memory = WorkerMemory::of(child.id()).unwrap();
        child.wait().unwrap();
        // A child of the worker has the connection.
        let (direct, _held) = connection();
        let (ours, _client) = StdStream::pair().unwrap();
        assert_eq!(direct.write(&ours.into(), &memory).await, None);
    }
}
