//! The memory of a worker process, from which long parts of a body are read. They are copied twice on their way to the
//! client instead of three times, and the worker does no work for it.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use bytes::{Bytes, BytesMut};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The number of bytes that are read at once: as many as a frame has at most. With less, the waking of tasks between
/// two pieces costs more than a smaller part of the processor's cache saves.
const PIECE_BYTES: usize = 512 << 10;
/// The number of buffers that are used again.
const BUFFERS: usize = 3;

/// The memory of a process that this one may read.
#[derive(Debug)]
pub struct WorkerMemory {
    pid: Pid,
    /// Readable when the process has ended and its id may be another's.
    ended: OwnedFd,
}

/// A part of a body in the memory of a worker, which leaves it there until it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lent {
    /// Where it begins in the address space of the worker.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The number of the connection for direct writes on which the worker waits, to write the part to the client
    /// itself; 0 if it does not.
    pub offered_on: u32,
}

impl Lent {
    /// Returns the part without these first bytes.
    pub fn after(self, bytes: u64) -> Lent {
        let bytes = bytes.min(self.length);
        Lent { address: self.address.saturating_add(bytes), length: self.length - bytes, offered_on: 0 }
    }
}

impl WorkerMemory {
    /// Returns the memory of a running process; none where the kernel knows no descriptors of processes (before 5.3).
    pub fn of(pid: u32) -> Option<WorkerMemory> {
        let pid = Pid::from_raw(pid.cast_signed())?;
        Some(WorkerMemory { pid, ended: pidfd_open(pid, PidfdFlags::empty()).ok()? })
    }

    /// Reads from this address into the buffer, which may be filled only in part, and returns the number of bytes. None
    /// if nothing can be read: the process has ended, nothing is there, or this process may not (ptrace(2), "Ptrace
    /// access mode checking").
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<usize> {
        let from = RemoteIoVec { base: usize::try_from(address).ok()?, len: buffer.len() };
        let pid = nix::unistd::Pid::from_raw(self.pid.as_raw_nonzero().get());
        let count = process_vm_readv(pid, &mut [IoSliceMut::new(buffer)], &[from]).ok().filter(|count| *count > 0)?;
        // A process that still runs has been the one with this id until now.
        (!self.has_ended()).then_some(count)
    }

    /// Returns whether the process has ended.
    pub fn has_ended(&self) -> bool {
        let mut ended = [PollFd::new(&self.ended, PollFlags::IN)];
        !matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }
}

/// Reads a lent part piece by piece.
#[derive(Debug)]
pub struct Pieces<'a> {
    memory: &'a WorkerMemory,
    left: Lent,
    /// Buffers of earlier pieces. Those that have been sent are used again.
    buffers: VecDeque<Bytes>,
}

impl<'a> Pieces<'a> {
    /// Begins to read this part.
    pub fn new(memory: &'a WorkerMemory, lent: Lent) -> Pieces<'a> {
        Pieces { memory, left: lent, buffers: VecDeque::new() }
    }

    /// Returns the next piece; none after the last one, or when no more can be read.
    pub fn next(&mut self) -> Option<Bytes> {
        let length = usize::try_from(self.left.length).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        if length == 0 {
            return None;
        }
        let mut buffer = self.buffer();
        buffer.resize(length, 0);
        let count = self.memory.read(self.left.address, &mut buffer)?;
        buffer.truncate(count);
        self.left.address = self.left.address.checked_add(count as u64)?;
        self.left.length -= count as u64;
        let piece = buffer.freeze();
        if self.buffers.len() < BUFFERS {
            self.buffers.push_back(piece.clone());
        }
        Some(piece)
    }

    fn buffer(&mut self) -> BytesMut {
        match self.buffers.pop_front().map(Bytes::try_into_mut) {
            Some(Ok(buffer)) => return buffer,
            Some(Err(in_use)) => self.buffers.push_front(in_use),
            None => {}
        }
        BytesMut::with_capacity(PIECE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> WorkerMemory {
        WorkerMemory::of(std::process::id()).unwrap()
    }

    fn lent(bytes: &[u8]) -> Lent {
        Lent { address: bytes.as_ptr() as u64, length: bytes.len() as u64, offered_on: 0 }
    }

    #[test]
    fn a_part_is_read_whole_whether_its_pieces_are_kept_or_not() {
        let bytes: Vec<u8> = (0..10 * PIECE_BYTES + 7).map(|number| (number % 251) as u8).collect();
        let memory = own();
        for is_kept in [true, false] {
            let mut pieces = Pieces::new(&memory, lent(&bytes));
            let (mut kept, mut read) = (Vec::new(), Vec::new());
            while let Some(piece) = pieces.next() {
                read.extend_from_slice(&piece);
                if is_kept {
                    kept.push(piece);
                }
            }
            assert!(read == bytes);
            assert!(kept.concat() == if is_kept { bytes.as_slice() } else { &[] }, "a buffer was used again too early");
        }
    }

    #[test]
    fn the_rest_of_a_part_begins_behind_what_was_written_and_never_behind_its_end() {
        let part = Lent { address: 8, length: 100, offered_on: 1 };
        assert_eq!(part.after(0), Lent { offered_on: 0, ..part });
        assert_eq!(part.after(30), Lent { address: 38, length: 70, offered_on: 0 });
        assert_eq!(part.after(u64::MAX).length, 0);
    }

    #[test]
    fn what_cannot_be_read_ends_the_pieces() {
        let memory = own();
        let next = |address, length| Pieces::new(&memory, Lent { address, length, offered_on: 0 }).next();
        assert_eq!(next(8, 100), None);
        assert_eq!(next(u64::MAX - 1, u64::MAX), None);
        assert_eq!(next(8, 0), None);
    }

    #[test]
    fn a_process_that_has_ended_has_no_memory() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let memory = WorkerMemory::of(child.id()).unwrap();
        assert!(!memory.has_ended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(memory.has_ended());
        let bytes = [1; 100];
        assert_eq!(Pieces::new(&memory, lent(&bytes)).next(), None);
    }
}
