//! Reads a request's body to its end before the request goes on: in memory while it is small, in a file without a
//! name when it is not. A slow client costs a connection and some disk, never an interpreter.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use engine::{Input, TempFile};
use http_body::Body;
use hyper::body::Incoming;

use crate::link::Link;

/// Why a body was not taken.
#[derive(Debug)]
pub(crate) enum IntakeError {
    /// Longer than allowed.
    TooLarge,
    /// Not complete in time.
    Late,
    /// Not complete when the place of its connection was wanted.
    Displaced,
    /// Not written as HTTP says; the connection knows why.
    Malformed,
    /// The client closed before the end.
    Gone,
    /// It could not be kept.
    Disk(io::Error),
}

/// The whole body.
pub(crate) async fn read(mut body: Incoming, link: &Link) -> Result<Input, IntakeError> {
    if body.is_end_stream() {
        return Ok(Input::Empty);
    }
    let limits = &link.common.settings.limits;
    if body.size_hint().lower() > limits.body_bytes {
        return Err(IntakeError::TooLarge);
    }
    link.wait_until(Some(Instant::now() + limits.body_time));
    let mut store = Store::new(limits.body_memory_bytes);
    while let Some(bytes) = next(&mut body, link).await? {
        if store.len + bytes.len() as u64 > limits.body_bytes {
            return Err(IntakeError::TooLarge);
        }
        store.add(bytes).map_err(IntakeError::Disk)?;
    }
    link.wait_until(None);
    Ok(store.finish())
}

/// The next bytes; trailers are dropped.
async fn next(body: &mut Incoming, link: &Link) -> Result<Option<Bytes>, IntakeError> {
    poll_fn(|cx| {
        loop {
            return match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(None) => Poll::Ready(Ok(None)),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => Poll::Ready(Ok(Some(bytes))),
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(_))) if link.malformed().is_some() => Poll::Ready(Err(IntakeError::Malformed)),
                Poll::Ready(Some(Err(_))) => Poll::Ready(Err(IntakeError::Gone)),
                Poll::Pending if link.is_late() => Poll::Ready(Err(IntakeError::Late)),
                Poll::Pending if link.is_dismissed() => Poll::Ready(Err(IntakeError::Displaced)),
                Poll::Pending => Poll::Pending,
            };
        }
    })
    .await
}

/// What has been read so far.
struct Store {
    memory_bytes: usize,
    first: Bytes,
    joined: BytesMut,
    file: Option<TempFile>,
    len: u64,
}

impl Store {
    fn new(memory_bytes: usize) -> Store {
        Store { memory_bytes, first: Bytes::new(), joined: BytesMut::new(), file: None, len: 0 }
    }

    /// Writes to the file block this thread, for one piece as large as hyper's buffer at a time: into the page cache.
    fn add(&mut self, bytes: Bytes) -> io::Result<()> {
        self.len += bytes.len() as u64;
        if let Some(file) = &self.file {
            return file.put(&bytes, self.len - bytes.len() as u64);
        }
        if self.len > self.memory_bytes as u64 {
            let file = TempFile::new()?;
            let held = self.len - bytes.len() as u64;
            // One of both is empty.
            file.put(&self.first, 0)?;
            file.put(&self.joined, 0)?;
            file.put(&bytes, held)?;
            (self.first, self.joined, self.file) = (Bytes::new(), BytesMut::new(), Some(file));
        } else if self.first.is_empty() && self.joined.is_empty() {
            self.first = bytes;
        } else {
            if self.joined.is_empty() {
                self.joined.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.joined.extend_from_slice(&bytes);
        }
        Ok(())
    }

    fn finish(self) -> Input {
        match self.file {
            Some(file) => Input::File(Arc::new(file), self.len),
            None if self.len == 0 => Input::Empty,
            None if self.joined.is_empty() => Input::Memory(self.first),
            None => Input::Memory(self.joined.freeze()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn store(memory_bytes: usize, pieces: &[&'static str]) -> Input {
        let mut store = Store::new(memory_bytes);
        for piece in pieces {
            store.add(Bytes::from_static(piece.as_bytes())).unwrap();
        }
        store.finish()
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
    }
}
