//! Reads a request's body to its end before the engine gets the request: in memory while it is small, else in an
//! unlinked temporary file. A slow client occupies a connection and some disk, never an interpreter.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use engine::{Fault, Input};
use files::TempFile;
use http_body::Body;
use hyper::body::Incoming;

use crate::connection::link::Link;

/// Bytes that are written to a file at once, at multiples of this: a file system then takes one large page of memory
/// for them (ext4 since Linux 6.16) where odd pieces take several. Larger ones save no more.
const PIECE_BYTES: usize = 128 * 1024;

/// Minimum rate of a long body, in bytes per second.
const LEAST_RATE: u64 = 500;

/// Time in which connections are closed to get a file for a body, of a request or of a response.
pub(crate) const FILE_TIME: Duration = Duration::from_secs(2);

/// Reason why a body was not accepted.
#[derive(Debug)]
pub(crate) enum IntakeError {
    /// The body is longer than allowed.
    TooLarge,
    /// No byte arrived for too long, or the body arrived too slowly.
    Late,
    /// The connection is evicted before the body was complete.
    Evicted,
    /// The body is not valid HTTP; [`Link::malformed`] has the reason.
    Malformed,
    /// The client disconnected before the end of the body.
    Gone,
    /// The body could not be stored.
    Disk(io::Error),
    /// The body needs a file, and there are as many open files as there may be.
    OutOfFiles,
}

impl IntakeError {
    /// The fault of the request.
    #[cold]
    pub(crate) fn fault(&self, link: &Link) -> Fault {
        match self {
            IntakeError::TooLarge => Fault::BodyTooLarge,
            IntakeError::Late => Fault::BodyLate("the body did not arrive in time"),
            IntakeError::Evicted => {
                Fault::BodyLate("there are no places for connections left, and the body of the request came slowly")
            }
            IntakeError::Malformed => Fault::BodyMalformed(link.body_refusal().why),
            IntakeError::Gone => Fault::ClientGone,
            IntakeError::Disk(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                    Fault::DiskFull(error.to_string())
                }
                _ => Fault::DiskError(error.to_string()),
            },
            IntakeError::OutOfFiles => Fault::OutOfFiles,
        }
    }
}

/// Reads the whole body of a request that has one.
pub(crate) async fn read(mut body: Incoming, link: &Arc<Link>) -> Result<Input, IntakeError> {
    let limits = &link.common.settings.limits;
    if body.size_hint().lower() > limits.body_bytes {
        return Err(IntakeError::TooLarge);
    }
    let begun = Instant::now();
    let mut store = Store::new(limits.body_memory_bytes);
    link.wait_until(Some(due(begun, begun, 0, limits.body_time)));
    while let Some(bytes) = next(&mut body, link).await? {
        if store.len + bytes.len() as u64 > limits.body_bytes {
            return Err(IntakeError::TooLarge);
        }
        keep(&mut store, bytes, link).await?;
        link.wait_until(Some(due(begun, Instant::now(), store.len, limits.body_time)));
    }
    store.finish().map_err(IntakeError::Disk)
}

/// Stores a part of a body. A disk that holds up the thread meanwhile does not make the client a slow one.
async fn keep(store: &mut Store, bytes: Bytes, link: &Arc<Link>) -> Result<(), IntakeError> {
    if store.needs_file(bytes.len()) {
        let file = Box::pin(new_file(link)).await?;
        store.begin_file(file).map_err(IntakeError::Disk)?;
    }
    store.add(bytes).map_err(IntakeError::Disk)?;
    link.body_goes_on();
    Ok(())
}

/// Makes a temporary file. At the limit of open files it closes connections that can be spared, for [`FILE_TIME`] at
/// most; the client's own connection may be one of them.
async fn new_file(link: &Link) -> Result<TempFile, IntakeError> {
    let ends = Instant::now() + FILE_TIME;
    loop {
        match TempFile::new() {
            Err(error) if files::is_short_of_files(&error) => {}
            made => return made.map_err(IntakeError::Disk),
        }
        if Instant::now() >= ends {
            return Err(IntakeError::OutOfFiles);
        }
        link.common.connections.evict_for_file().await;
        // The client need not have been slow: its body has waited here. So it gets all of the answer: the eviction is
        // not confirmed, after which nothing that it still sends would be read.
        if link.is_evicted() {
            return Err(IntakeError::OutOfFiles);
        }
    }
}

/// Deadline for more of a body: `silence` after the last bytes, and for the whole body `silence` plus the time it needs
/// at [`LEAST_RATE`], so that a client cannot hold a connection for long by a byte now and then.
fn due(begun: Instant, last: Instant, received: u64, silence: Duration) -> Instant {
    let paid_for = Duration::from_millis(received.saturating_mul(1000) / LEAST_RATE);
    let at_this_rate = begun.checked_add(silence.saturating_add(paid_for));
    at_this_rate.map_or(last + silence, |at| at.min(last + silence))
}

/// The next bytes; ignores trailers.
async fn next(body: &mut Incoming, link: &Link) -> Result<Option<Bytes>, IntakeError> {
    poll_fn(|cx| {
        loop {
            return match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(None) => Poll::Ready(Ok(None)),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => Poll::Ready(Ok(Some(bytes))),
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(_))) if link.is_malformed() => Poll::Ready(Err(IntakeError::Malformed)),
                Poll::Ready(Some(Err(_))) => Poll::Ready(Err(IntakeError::Gone)),
                Poll::Pending if link.deadline.is_passed() => Poll::Ready(Err(IntakeError::Late)),
                Poll::Pending if link.is_evicted() => Poll::Ready(Err(IntakeError::Evicted)),
                Poll::Pending => Poll::Pending,
            };
        }
    })
    .await
}

/// The body as far as it was read.
struct Store {
    memory_bytes: usize,
    /// Bytes that are written to the file at once: the least power of two that is not below `memory_bytes`, and
    /// [`PIECE_BYTES`] at most.
    piece_bytes: usize,
    first: Bytes,
    joined: BytesMut,
    file: Option<Arc<TempFile>>,
    /// Bytes in the file, which come before those in memory.
    in_file: u64,
    len: u64,
}

impl Store {
    fn new(memory_bytes: usize) -> Store {
        let piece_bytes = memory_bytes.min(PIECE_BYTES).next_power_of_two();
        let (first, joined) = (Bytes::new(), BytesMut::new());
        Store { memory_bytes, piece_bytes, first, joined, file: None, in_file: 0, len: 0 }
    }

    /// Whether a file must be created before `more` bytes are added.
    fn needs_file(&self, more: usize) -> bool {
        self.file.is_none() && self.first.len() + self.joined.len() + more > self.memory_bytes
    }

    /// Moves what is in memory to a file, where everything goes from now on.
    fn begin_file(&mut self, file: TempFile) -> io::Result<()> {
        self.file = Some(Arc::new(file));
        // One of the two is empty.
        let (first, joined) = (std::mem::take(&mut self.first), std::mem::take(&mut self.joined));
        self.joined.reserve(self.piece_bytes);
        self.add_to_file(&first)?;
        self.add_to_file(&joined)
    }

    /// Adds bytes; the file must have begun if they need one. Writing to it blocks this thread for a piece or a few,
    /// into the page cache.
    fn add(&mut self, bytes: Bytes) -> io::Result<()> {
        self.len += bytes.len() as u64;
        if self.file.is_some() {
            return self.add_to_file(&bytes);
        }
        if self.first.is_empty() && self.joined.is_empty() {
            self.first = bytes;
            return Ok(());
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.joined.extend_from_slice(&bytes);
        Ok(())
    }

    /// Writes whole pieces, and keeps the rest in memory.
    fn add_to_file(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !self.joined.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.piece_bytes - self.joined.len()));
            self.joined.extend_from_slice(now);
            if self.joined.len() < self.piece_bytes {
                return Ok(());
            }
            self.put_joined()?;
            bytes = later;
        }
        let (pieces, rest) = bytes.split_at(bytes.len() - bytes.len() % self.piece_bytes);
        self.put(pieces)?;
        self.joined.extend_from_slice(rest);
        Ok(())
    }

    /// Writes what is in memory to the file.
    fn put_joined(&mut self) -> io::Result<()> {
        let mut joined = std::mem::take(&mut self.joined);
        self.put(&joined)?;
        joined.clear();
        self.joined = joined;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.put(bytes, self.in_file)?;
        self.in_file += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> io::Result<Input> {
        if self.file.is_some() {
            self.put_joined()?;
        }
        Ok(match self.file {
            Some(file) => Input::File(file, self.len),
            None if self.len == 0 => Input::Empty,
            None if self.joined.is_empty() => Input::Memory(self.first),
            None => Input::Memory(self.joined.freeze()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::link::tests::link;
    use crate::tests_support::block_on;
    use std::os::unix::fs::FileExt;

    fn add(store: &mut Store, bytes: Bytes) {
        if store.needs_file(bytes.len()) {
            store.begin_file(TempFile::new().unwrap()).unwrap();
        }
        store.add(bytes).unwrap();
    }

    fn store(memory_bytes: usize, pieces: &[&'static str]) -> Input {
        let mut store = Store::new(memory_bytes);
        for piece in pieces {
            add(&mut store, Bytes::from_static(piece.as_bytes()));
        }
        store.finish().unwrap()
    }

    #[test]
    fn a_body_may_take_as_long_as_it_goes_on_and_is_not_too_slow() {
        let begun = Instant::now();
        let minute = Duration::from_secs(60);
        assert_eq!(due(begun, begun, 0, minute), begun + minute);
        let hour = begun + 60 * minute;
        assert_eq!(due(begun, hour, 10_000_000, minute), hour + minute, "2700 bytes per second");
        assert!(due(begun, hour, 1_000_000, minute) < hour, "280 bytes per second");
        assert_eq!(due(begun, begun + minute, 5_000, minute), begun + minute + Duration::from_secs(10));
        assert_eq!(due(begun, begun, u64::MAX, minute), begun + minute);
    }

    #[test]
    fn a_body_makes_progress_when_a_part_of_it_is_stored() {
        let link = link();
        link.head_given(Instant::now(), Instant::now());
        link.body_came();
        let before = link.since();
        let mut store = Store::new(0);
        block_on(keep(&mut store, Bytes::from("gold"), &link)).unwrap();
        assert!(link.since() > before);
        assert_eq!((store.len, store.in_file), (4, 4));
    }

    #[test]
    fn a_disk_without_space_is_not_a_broken_one() {
        let link = link();
        let fault = |kind: ErrorKind| IntakeError::Disk(kind.into()).fault(&link).name();
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert_eq!(fault(kind), "disk_full", "{kind}");
        }
        assert_eq!(fault(ErrorKind::PermissionDenied), "disk_error");
    }

    #[test]
    fn small_bodies_stay_in_memory_and_large_ones_go_to_a_file() {
        assert!(matches!(store(5, &[]), Input::Empty));
        assert!(matches!(store(5, &["abc"]), Input::Memory(bytes) if bytes == "abc"));
        assert!(matches!(store(5, &["ab", "c", "de"]), Input::Memory(bytes) if bytes == "abcde"));
        let Input::File(file, 7) = store(5, &["ab", "cde", "f", "g"]) else { panic!("not in a file") };
        let mut read = [0; 7];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"abcdefg");
        let Input::File(file, 18) = store(5, &["ab", "cdefghij", "kl", "mn", "o", "pq", "r"]) else { panic!() };
        let mut read = [0; 18];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"abcdefghijklmnopqr");
        assert!(matches!(store(0, &["a"]), Input::File(_, 1)), "nothing may be in memory");
    }

    #[test]
    fn a_file_is_written_in_pieces_whose_size_is_a_power_of_two() {
        let bytes: Vec<u8> = (0..1_000_000).map(|number: u32| (number % 251) as u8).collect();
        for (memory_bytes, piece_bytes) in [(0, 1), (1000, 1024), (112 << 10, PIECE_BYTES), (500_000, PIECE_BYTES)] {
            for arrives in [1 << 10, 30_000, 300_000] {
                let mut store = Store::new(memory_bytes);
                assert_eq!(store.piece_bytes, piece_bytes);
                for part in bytes.chunks(arrives) {
                    add(&mut store, Bytes::copy_from_slice(part));
                    assert_eq!(store.in_file % piece_bytes as u64, 0);
                    let kept = store.first.len() + store.joined.len();
                    assert!(kept <= memory_bytes.max(piece_bytes - 1), "{kept} bytes are in memory");
                    assert!(store.file.is_none() || store.joined.capacity() <= memory_bytes.max(piece_bytes).max(64));
                    assert_eq!(store.in_file + kept as u64, store.len);
                }
                let Input::File(file, 1_000_000) = store.finish().unwrap() else { panic!("not in a file") };
                let mut read = vec![0; bytes.len()];
                file.read_exact_at(&mut read, 0).unwrap();
                assert!(read == bytes, "{memory_bytes} {arrives}");
            }
        }
    }
}
