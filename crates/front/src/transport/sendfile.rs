//! Files that the kernel copies to a socket (`sendfile`), so that this process does not read them, and bytes that an
//! engine has written to the socket itself. hyper supports bodies of bytes only, so it gets a placeholder of the same
//! length. When hyper writes that, the wire recognises its address and sends the next part of a file instead, or
//! nothing.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Longest part.
pub(crate) const PART_BYTES: usize = 512 * 1024;
/// Longest file that is sent together with its head.
const SMALL_BYTES: usize = 32 * 1024;
/// Bytes read at once from a file, to bring it into the page cache or where `sendfile` is not supported.
const READ_BYTES: usize = 64 * 1024;

/// Zeros that are never read, so that they take no memory.
static PLACEHOLDER: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; PART_BYTES]);

/// What is sent instead of a placeholder of the same length: a range of a file, or nothing, since the socket has these
/// bytes.
pub(crate) struct Part {
    file: Option<Arc<File>>,
    at: u64,
    left: usize,
}

impl Part {
    pub(crate) fn new(file: Arc<File>, at: u64, left: usize) -> Part {
        Part { file: Some(file), at, left }
    }

    /// Bytes that the socket has already.
    pub(crate) fn written(count: usize) -> Part {
        Part { file: None, at: 0, left: count }
    }

    /// Whether the socket has these bytes, so that none of them need be sent.
    pub(crate) fn is_written(&self) -> bool {
        self.file.is_none()
    }

    /// Whether everything is sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.left == 0
    }

    /// Sends at most `most` bytes to the socket. Returns how many it took.
    pub(crate) fn send(&mut self, socket: impl std::os::fd::AsFd, most: usize) -> io::Result<usize> {
        let count = self.left.min(most);
        let Some(file) = &self.file else {
            self.left -= count;
            return Ok(count);
        };
        let mut at = self.at;
        let sent = match rustix::fs::sendfile(&socket, file, Some(&mut at), count) {
            // The file system does not support it, or a sandbox does not allow it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                let mut bytes = vec![0; count.min(READ_BYTES)];
                let count = file.read_at(&mut bytes, self.at)?;
                rustix::io::write(&socket, &bytes[..count])
            }
            went => went,
        }?;
        if sent == 0 && count > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
        }
        self.at += sent as u64;
        self.left -= sent;
        Ok(sent)
    }
}

/// Whether a part could not be sent because its file could not be read; all other errors are those of the socket.
pub(crate) fn is_of_file(error: &io::Error) -> bool {
    let is_read_error = matches!(Errno::from_io_error(error), Some(Errno::IO | Errno::STALE));
    is_read_error || error.kind() == io::ErrorKind::UnexpectedEof
}

/// A placeholder of this length, [`PART_BYTES`] at most.
pub(crate) fn placeholder(length: usize) -> Bytes {
    let bytes: &'static [u8] = &PLACEHOLDER;
    Bytes::from_static(&bytes[..length.min(PART_BYTES)])
}

/// Whether the bytes are a placeholder, or the rest of one.
pub(crate) fn is_placeholder(bytes: &[u8]) -> bool {
    PLACEHOLDER.as_ptr_range().contains(&bytes.as_ptr()) && !bytes.is_empty()
}

/// Number of slices before the first placeholder.
pub(crate) fn before_placeholder(slices: &[IoSlice<'_>]) -> usize {
    slices.iter().position(|slice| is_placeholder(slice)).unwrap_or(slices.len())
}

/// The body bytes for hyper from position `at`, [`PART_BYTES`] at most, if they are in the page cache: a placeholder,
/// or the bytes themselves if there are few. `None` if they are not, judged by the first and last byte. `UnexpectedEof`
/// if the file is shorter.
pub(crate) fn now(file: &File, at: u64, length: usize) -> io::Result<Option<Bytes>> {
    if length <= SMALL_BYTES {
        let mut bytes = vec![0; length];
        let count = read_now(file, at, &mut bytes)?;
        // Fewer than requested: the rest is not in the page cache.
        return Ok((count == Some(length)).then(|| Bytes::from(bytes)));
    }
    let length = length.min(PART_BYTES);
    for at in [at, at + length as u64 - 1] {
        if read_now(file, at, &mut [0])?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(placeholder(length)))
}

/// Reads without waiting for the disk. Returns the number of bytes, at least one, or `None` if that is impossible.
fn read_now(file: &File, at: u64, bytes: &mut [u8]) -> io::Result<Option<usize>> {
    match preadv2(file, &mut [io::IoSliceMut::new(bytes)], at, ReadWriteFlags::NOWAIT) {
        Ok(0) => nothing_read(file, at),
        Ok(count) => Ok(Some(count)),
        // The page is not in memory, the file system does not say, or a filter of system calls forbids it. If the file
        // itself is unreadable, a read that waits says why.
        Err(_) => Ok(None),
    }
}

/// The outcome of a read without waiting that has returned no bytes. Linux 5.9 and 5.10 return none in the middle of a
/// file, too, where only a read that may wait gets the bytes (readv(2), "Bugs").
fn nothing_read(file: &File, at: u64) -> io::Result<Option<usize>> {
    match at < file.metadata()?.len() {
        true => Ok(None),
        false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter")),
    }
}

/// Brings a range of the file into the page cache; blocks.
pub(crate) fn bring_into_memory(file: &File, at: u64, length: usize) -> io::Result<()> {
    let mut bytes = vec![0; READ_BYTES.min(length)];
    let (mut at, end) = (at, at + length as u64);
    while at < end {
        let count = usize::try_from(end - at).map_or(bytes.len(), |left| left.min(bytes.len()));
        file.read_exact_at(&mut bytes[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_placeholder_is_known_by_its_address_also_when_a_part_of_it_is_gone() {
        let mut placeholder = placeholder(100);
        assert!(is_placeholder(&placeholder) && !is_placeholder(&[0; 100]));
        bytes::Buf::advance(&mut placeholder, 99);
        assert!(is_placeholder(&placeholder));
        let slices = [IoSlice::new(b"head"), IoSlice::new(&placeholder), IoSlice::new(b"end")];
        assert_eq!([before_placeholder(&slices), before_placeholder(&slices[1..]), before_placeholder(&[])], [1, 0, 0]);
    }

    #[test]
    fn a_part_is_sent_and_a_file_that_has_become_shorter_is_told() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let file = Arc::new(file);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut part = Part::new(file.clone(), 3, 5);
        assert_eq!((part.send(&ours, 2).unwrap(), part.send(&ours, 100).unwrap()), (2, 3));
        assert!(part.is_sent());
        let mut got = [0; 5];
        theirs.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"34567");
        let mut beyond = Part::new(file.clone(), 10, 1);
        let shorter = beyond.send(&ours, 1).unwrap_err();
        assert!(shorter.kind() == io::ErrorKind::UnexpectedEof && is_of_file(&shorter));
        drop(theirs);
        assert!(!is_of_file(&Part::new(file.clone(), 0, 1).send(&ours, 1).unwrap_err()), "the client is gone");
        assert!([Errno::IO, Errno::STALE].into_iter().all(|number| is_of_file(&number.into())), "the disk fails");
        assert_eq!(now(&file, 10, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(bring_into_memory(&file, 5, 6).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        bring_into_memory(&file, 0, 10).unwrap();
    }

    /// As in Linux 5.9 and 5.10.
    #[test]
    fn a_read_without_waiting_that_returns_nothing_is_the_end_of_a_file_only_where_that_ends() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        for at in [0, 9] {
            assert_eq!(nothing_read(&file, at).unwrap(), None, "{at}");
        }
        for at in [10, 11] {
            assert_eq!(nothing_read(&file, at).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{at}");
        }
    }

    /// A filter of system calls that forbids preadv2 has the same effect.
    #[test]
    fn what_cannot_be_read_without_waiting_is_left_to_a_read_that_waits() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        file.set_len(10).unwrap();
        for length in [10, SMALL_BYTES + 1] {
            assert_eq!(now(&file, 0, length).unwrap(), None);
        }
        assert!(bring_into_memory(&file, 0, 10).is_err(), "it is open for writing only");
    }

    #[test]
    fn a_file_is_read_ahead_to_the_end_of_a_part_and_a_short_one_is_given_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(READ_BYTES as u64 + 1).unwrap();
        bring_into_memory(&file, 0, READ_BYTES + 1).unwrap();
        bring_into_memory(&file, READ_BYTES as u64 - 1, 2).unwrap();
        for length in [SMALL_BYTES, SMALL_BYTES + 1] {
            // Some file systems do not say whether it is in memory.
            if let Some(bytes) = now(&file, 1, length).unwrap() {
                assert_eq!((bytes.len(), is_placeholder(&bytes)), (length, length > SMALL_BYTES));
            }
        }
        assert_eq!(now(&file, READ_BYTES as u64, 2).unwrap(), None, "one byte is left");
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut nothing = Part::new(Arc::new(file), 0, 0);
        assert!(nothing.is_sent() && !nothing.is_written());
        assert_eq!(nothing.send(&ours, 1).unwrap(), 0);
    }

    #[test]
    fn of_bytes_that_the_socket_has_nothing_is_sent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut part = Part::written(5);
        assert!(part.is_written() && !part.is_sent());
        assert_eq!((part.send(&ours, 2).unwrap(), part.send(&ours, 100).unwrap()), (2, 3));
        assert!(part.is_sent());
        drop(ours);
        assert_eq!(theirs.read(&mut [0; 9]).unwrap(), 0);
    }

    #[test]
    fn what_sendfile_does_not_take_is_read() {
        // A file whose length the kernel does not know before it is read.
        let file = Arc::new(File::open("/proc/self/status").unwrap());
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        assert_eq!(Part::new(file, 0, 5).send(&ours, 5).unwrap(), 5);
        let mut got = [0; 5];
        theirs.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"Name:");
    }
}
