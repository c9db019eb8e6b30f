//! The access log, one line per request. Lines are formatted (`log_line.rs`) in the thread that served the request,
//! added to one buffer, and written by a thread of their own.
//!
//! When the writer cannot keep up and the buffer is full, lines are dropped and counted: a blocked terminal or a full
//! disk must not delay requests. The loss is itself logged.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::log::log_line::{self, Entry, LogFormat};
use crate::log::query_log::QueryLog;

/// Bytes of lines that may wait for the writer: about twenty thousand requests.
const BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// Longest time for which lines are collected before they are written, to write many at once: each time the writer
/// wakes up, it takes a processor from the requests.
const GATHER_TIME: Duration = Duration::from_millis(20);
/// Bytes of lines that are written at once.
const GATHER_BYTES: usize = 256 * 1024;
/// Most time that the writer has for the last lines, unless [`AccessLog::end`] was given another.
const LAST_TIME: Duration = Duration::from_secs(5);

/// An access log. Dropping it writes what is buffered, unless [`AccessLog::end`] has done so.
#[derive(Debug)]
pub struct AccessLog {
    format: LogFormat,
    query: QueryLog,
    /// Number of dropped lines since the start; shared with other logs.
    dropped: Arc<AtomicU64>,
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<u8>,
    lost: u64,
    is_writer_awake: bool,
    is_closed: bool,
    /// The writer has written the last line.
    is_done: bool,
}

impl AccessLog {
    /// Creates a log with a writer thread. Increments `dropped` for each line that is lost because the buffer is full.
    pub fn new(
        format: LogFormat,
        query: QueryLog,
        writer: impl Write + Send + 'static,
        dropped: Arc<AtomicU64>,
    ) -> AccessLog {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let spawned = std::thread::Builder::new().name("access-log".into()).spawn(move || write_all(&theirs, writer));
        if let Err(error) = &spawned {
            tracing::error!(target: "front", "cannot start the thread of the access log, which is off now: {error}");
            shared.pending.lock().is_closed = true;
        }
        AccessLog { format, query, dropped, shared, writer: Mutex::new(spawned.ok()) }
    }

    /// Adds a line for a request.
    pub(crate) fn write(&self, entry: &Entry<'_>) {
        log_line::with(self.format, &self.query, entry, |line| self.add(line));
    }

    fn add(&self, line: &[u8]) {
        let mut pending = self.shared.pending.lock();
        if pending.is_closed || pending.lines.len() + line.len() > BUFFER_BYTES {
            pending.lost += 1;
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = pending.lines.len();
        pending.lines.extend_from_slice(line);
        let is_enough = before < GATHER_BYTES && pending.lines.len() >= GATHER_BYTES;
        let wakes = !pending.is_writer_awake || is_enough;
        pending.is_writer_awake = true;
        drop(pending);
        if wakes {
            self.shared.changed.notify_one();
        }
    }

    /// Writes what is buffered, for up to this time, and takes no more lines. For the shutdown: a request that a script
    /// still runs keeps the log alive, and the process ends before it.
    pub fn end(&self, time: Duration) {
        self.shared.pending.lock().is_closed = true;
        self.shared.changed.notify_all();
        let Some(writer) = self.writer.lock().take() else { return };
        let mut pending = self.shared.pending.lock();
        let _ = self.shared.changed.wait_while_for(&mut pending, |pending| !pending.is_done, time);
        let is_stuck = !pending.is_done && !writer.is_finished();
        drop(pending);
        // If its reader takes nothing, the thread is stuck in a write, and ends with the process.
        if !is_stuck {
            let _ = writer.join();
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.end(LAST_TIME);
    }
}

/// The writer thread: waits for a line, collects more for a moment, writes.
fn write_all(shared: &Shared, mut writer: impl Write) {
    let mut batch = Vec::new();
    loop {
        let mut pending = shared.pending.lock();
        while pending.lines.is_empty() && !pending.is_closed {
            pending.is_writer_awake = false;
            shared.changed.wait(&mut pending);
        }
        let is_little = |pending: &mut Pending| pending.lines.len() < GATHER_BYTES && !pending.is_closed;
        shared.changed.wait_while_for(&mut pending, is_little, GATHER_TIME);
        std::mem::swap(&mut batch, &mut pending.lines);
        let lost = std::mem::take(&mut pending.lost);
        let is_last = pending.is_closed;
        drop(pending);
        if lost > 0 {
            tracing::warn!(target: "front", "{lost} lines of the access log were lost: its reader is too slow");
        }
        if let Err(error) = writer.write_all(&batch).and_then(|()| writer.flush()) {
            tracing::warn!(target: "front", "cannot write the access log: {error}");
        }
        batch.clear();
        if is_last {
            shared.pending.lock().is_done = true;
            shared.changed.notify_all();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::Shelf;

    #[test]
    fn what_was_added_is_written_soon_and_at_the_end_and_once() {
        let out = Shelf::default();
        let log = AccessLog::new(LogFormat::Text, QueryLog::Full, out.clone(), Arc::default());
        let begun = std::time::Instant::now();
        for length in [250, 500] {
            (0..50).for_each(|_| log.add(b"line\n"));
            while out.0.lock().len() < length && begun.elapsed() < LAST_TIME {
                std::thread::park_timeout(GATHER_TIME);
            }
        }
        log.add(b"last\n");
        drop(log);
        assert_eq!(*out.0.lock(), ["line\n".repeat(100), "last\n".to_owned()].concat().into_bytes());
        assert!(begun.elapsed() < LAST_TIME, "the end waits for nothing else");
    }

    #[test]
    fn the_end_wakes_a_writer_that_has_nothing_to_write() {
        let log = AccessLog::new(LogFormat::Text, QueryLog::Full, Shelf::default(), Arc::default());
        // It is in its first wait soon, or has not begun yet and sees the end.
        std::thread::park_timeout(GATHER_TIME);
        let begun = std::time::Instant::now();
        log.end(LAST_TIME);
        assert!(begun.elapsed() < LAST_TIME);
    }

    /// Takes nothing until it is let go.
    struct Stuck {
        is_entered: std::sync::mpsc::Sender<()>,
        may_go: std::sync::mpsc::Receiver<()>,
        out: Shelf,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.is_entered.send(());
            // An error means that the test has let go of it for good.
            let _ = self.may_go.recv();
            self.out.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_end_waits_for_a_reader_as_long_as_it_is_told_to() {
        let (entered, is_entered) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel();
        let stuck = Stuck { is_entered: entered, may_go, out: Shelf::default() };
        let log = AccessLog::new(LogFormat::Text, QueryLog::Full, stuck, Arc::default());
        log.add(b"line\n");
        is_entered.recv_timeout(LAST_TIME).unwrap();
        let begun = std::time::Instant::now();
        log.end(Duration::ZERO);
        drop(log);
        assert!(begun.elapsed() < LAST_TIME);
        drop(go);
    }

    #[test]
    fn lines_beyond_the_buffer_are_lost_and_counted_and_nobody_waits() {
        let (entered, is_entered) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel();
        let (out, dropped) = (Shelf::default(), Arc::new(AtomicU64::new(0)));
        let stuck = Stuck { is_entered: entered, may_go, out: out.clone() };
        let log = AccessLog::new(LogFormat::Text, QueryLog::Full, stuck, dropped.clone());
        log.add(b"first\n");
        is_entered.recv_timeout(LAST_TIME).unwrap();
        // The writer has the first line, and does not come back: these wait, up to the last byte.
        let line = vec![b'x'; BUFFER_BYTES / 4];
        (0..4).for_each(|_| log.add(&line));
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        (0..3).for_each(|_| log.add(b"\n"));
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        drop(go);
        drop(log);
        assert_eq!((out.0.lock().len(), dropped.load(Ordering::Relaxed)), (6 + BUFFER_BYTES, 3));
    }
}
