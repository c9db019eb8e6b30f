//! Sockets that this process was started with, known by their numbers alone.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::close;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};

/// Makes the file with this number ours. The number itself is given up: what this process starts has nothing to do
/// with it.
///
/// The process sends it to itself. pidfd_getfd would be shorter; it is forbidden in most containers, and missing in
/// kernels before 5.6.
pub fn take(number: RawFd) -> rustix::io::Result<OwnedFd> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let numbers = [number];
    let message = [ControlMessage::ScmRights(&numbers)];
    sendmsg::<()>(ours.as_raw_fd(), &[IoSlice::new(b".")], &message, MsgFlags::empty(), None)
        .map_err(|error| Errno::from_raw_os_error(error as i32))?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&theirs, &mut [IoSliceMut::new(&mut [0])], &mut extra, RecvFlags::CMSG_CLOEXEC)?;
    let taken = extra.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    // Whoever may have no more open files gets the message without it.
    let taken = taken.ok_or(Errno::MFILE)?;
    // It is open, or it could not have been sent.
    let _ = close(number);
    Ok(taken)
}
