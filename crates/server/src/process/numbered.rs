//! Inherited sockets, known by their file descriptor numbers alone.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, getsockname, sendmsg};
use nix::unistd::close;
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};

/// The first descriptor after standard input, output and error, and so the first socket that systemd hands over.
pub const FIRST: RawFd = 3;

/// Whether a file is open with this descriptor number.
pub fn is_open(number: RawFd) -> bool {
    // What is no socket gives another error.
    !matches!(getsockname::<SockaddrStorage>(number), Err(nix::errno::Errno::EBADF))
}

/// Takes ownership of the file with this descriptor number, and closes the number: child processes must not inherit it.
///
/// The process sends the file to itself. pidfd_getfd would be shorter; it is forbidden in most containers, and missing
/// in kernels before 5.6.
pub fn take(number: RawFd) -> rustix::io::Result<OwnedFd> {
    // The socket pair gets free numbers, and could get this one.
    if !is_open(number) {
        return Err(Errno::BADF);
    }
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
    // At the limit of open files, the message arrives without the file.
    let taken = taken.ok_or(Errno::MFILE)?;
    // The number is open, or it could not have been sent.
    let _ = close(number);
    Ok(taken)
}
