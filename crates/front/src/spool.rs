//! Takes a streamed response from the engine as fast as it is made and keeps it for a client that reads slowly:
//! first in memory, then in a file without a name. An engine's thread is held back only when that is full too.

use std::collections::VecDeque;
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use engine::{Fault, Source};

/// Bytes of one response kept in memory.
const MEMORY_BYTES: usize = 256 * 1024;
/// Bytes read back from the file at once.
const READ_BYTES: u64 = 64 * 1024;

/// The reading end.
pub(crate) struct Spool(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    file_bytes: u64,
}

#[derive(Default)]
struct State {
    memory: VecDeque<Bytes>,
    memory_len: usize,
    /// Bytes from `read` to `written` in the file come after those in memory.
    file: Option<File>,
    read: u64,
    written: u64,
    end: Option<Result<(), Fault>>,
    is_reader_gone: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
}

impl Spool {
    /// Puts `first` in and starts a task that drains the source.
    pub(crate) fn start(first: Vec<Bytes>, source: Source, file_bytes: u64) -> Spool {
        let memory_len = first.iter().map(Bytes::len).sum();
        let state = State { memory: first.into(), memory_len, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), file_bytes });
        tokio::spawn(pump(source, shared.clone()));
        Spool(shared)
    }

    /// Whether all of it has been read, to a good end.
    pub(crate) fn is_read_out(&self) -> bool {
        let state = self.0.lock();
        state.memory.is_empty() && state.read == state.written && state.end == Some(Ok(()))
    }

    /// The next bytes for the client. Reading back from the file blocks for one piece that was written just now.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        let mut state = self.0.lock();
        if let Some(bytes) = state.memory.pop_front() {
            state.memory_len -= bytes.len();
            wake(&mut state.pump);
            return Poll::Ready(Some(Ok(bytes)));
        }
        if state.read < state.written {
            let bytes = state.read_back().map_err(|error| broken("read back", &error));
            wake(&mut state.pump);
            return Poll::Ready(Some(bytes));
        }
        match state.end.take() {
            Some(Ok(())) => {
                state.end = Some(Ok(()));
                Poll::Ready(None)
            }
            Some(Err(fault)) => {
                state.end = Some(Ok(()));
                Poll::Ready(Some(Err(fault)))
            }
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_reader_gone = true;
        state.memory.clear();
        state.file = None;
        wake(&mut state.pump);
    }
}

/// Moves chunks until the source ends or the reader is gone. Dropping the source then tells the engine.
async fn pump(mut source: Source, shared: Arc<Shared>) {
    loop {
        let next = poll_fn(|cx| {
            if !shared.has_room(cx) {
                return Poll::Pending;
            }
            let mut state = shared.lock();
            if state.is_reader_gone {
                return Poll::Ready(None);
            }
            // For the reader's going, while the source has nothing.
            state.pump = Some(cx.waker().clone());
            drop(state);
            source.poll_next(cx).map(Some)
        })
        .await;
        let Some(next) = next else { return };
        let mut state = shared.lock();
        match next {
            Some(Ok(bytes)) => {
                if let Err(error) = state.put(bytes) {
                    state.end = Some(Err(broken("write", &error)));
                }
            }
            Some(Err(fault)) => state.end = Some(Err(fault)),
            None => state.end = Some(Ok(())),
        }
        let is_over = state.end.is_some();
        wake(&mut state.reader);
        if is_over {
            return;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, cx: &mut Context<'_>) -> bool {
        let mut state = self.lock();
        let is_full = state.memory_len >= MEMORY_BYTES && state.written - state.read >= self.file_bytes;
        let is_file_full = state.written > state.read && state.written - state.read >= self.file_bytes;
        if (is_full || is_file_full) && !state.is_reader_gone {
            state.pump = Some(cx.waker().clone());
            return false;
        }
        true
    }
}

impl State {
    /// To memory while that has room and nothing waits in the file, which must come first.
    fn put(&mut self, bytes: Bytes) -> io::Result<()> {
        if self.is_reader_gone {
            return Ok(());
        }
        if self.read == self.written && self.memory_len < MEMORY_BYTES {
            self.memory_len += bytes.len();
            self.memory.push_back(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        if let Some(file) = &self.file {
            file.write_all_at(&bytes, self.written)?;
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn read_back(&mut self) -> io::Result<Bytes> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut bytes = vec![0; (self.written - self.read).min(READ_BYTES) as usize];
        file.read_exact_at(&mut bytes, self.read)?;
        self.read += bytes.len() as u64;
        if self.read == self.written {
            // All read: the disk gets its space back.
            (self.read, self.written) = (0, 0);
            file.set_len(0)?;
        }
        Ok(Bytes::from(bytes))
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn broken(what: &str, error: &io::Error) -> Fault {
    tracing::error!(target: "front", "cannot {what} the temporary file of a response: {error}");
    Fault::Broken(format!("temporary file of a response: {error}"))
}
