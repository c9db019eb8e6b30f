//! The log on standard output or in a file: lines of text or JSON, written by one thread in batches. Logging only
//! copies a line into memory, so a slow reader never holds up a request; lines that it cannot keep up with are dropped,
//! and counted in the log itself.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, fmt};

use crate::config::log_filter::LogFilter;
use crate::config::settings::LogForm;

/// Longest time that a line waits for a batch: too short to notice, long enough for thousands of lines in one write.
const BATCH_TIME: Duration = Duration::from_millis(10);
/// A batch of this size is written at once.
const BATCH_BYTES: usize = 64 * 1024;
/// Most bytes that are kept for a slow reader, about 40,000 lines.
const HELD_BYTES: usize = 8 * 1024 * 1024;

/// Longest time that [`Flush`] waits, in case nothing reads the log.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// Waits until the log is written.
pub type Flush = Box<dyn Fn() + Send>;

/// The open log. [`Log::finish`] returns when everything logged before it is written.
pub struct Log {
    held: Arc<Held>,
    thread: Option<JoinHandle<()>>,
}

/// Lines that are not written yet. Every thread adds to them; only the writer thread takes them.
#[derive(Default)]
struct Held {
    form: LogForm,
    state: Mutex<State>,
    changed: Condvar,
    /// Number of lines dropped since the start.
    ever_dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    dropped: u64,
    ended: bool,
    /// A [`Flush`] waits, so that the next batch is written at once.
    is_awaited: bool,
    /// Everything is written.
    is_done: bool,
    /// Bytes since the start: added, and written.
    put: u64,
    written: u64,
}

/// Opens the log for the whole process. Dropped lines are counted in `dropped`, too.
pub fn open(
    form: LogForm,
    filter: &LogFilter,
    mut out: Box<dyn Write + Send>,
    dropped: Arc<AtomicU64>,
) -> Result<Log, TryInitError> {
    let held = Arc::new(Held { form, ever_dropped: dropped, ..Held::default() });
    let layer = layer(form, held.clone());
    tracing_subscriber::registry().with(layer.with_filter(filter.targets())).try_init()?;
    let writer = held.clone();
    let thread = thread::Builder::new().name("log".into()).spawn(move || writer.write_all_to(&mut *out));
    // Without a thread to spare nothing else will start either; the lines are then written at the exit.
    Ok(Log { held, thread: thread.ok() })
}

/// The log lines that this closure writes on this thread.
pub fn line(form: LogForm, log: impl FnOnce()) -> Vec<u8> {
    let held = Arc::new(Held::default());
    let subscriber = tracing_subscriber::registry().with(layer(form, held.clone()));
    tracing::subscriber::with_default(subscriber, log);
    std::mem::take(&mut held.state.lock().lines)
}

fn layer<S>(form: LogForm, lines: Arc<Held>) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let layer = fmt::layer().with_ansi(false).with_writer(lines);
    match form {
        LogForm::Json => layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
        LogForm::Text | LogForm::NoAccess => layer.fmt_fields(TextFields).boxed(),
    }
}

impl Log {
    /// A function that waits until everything logged before is written, at most for [`FLUSH_TIME`].
    pub fn flusher(&self) -> Flush {
        let held = self.held.clone();
        Box::new(move || {
            let mut state = held.state.lock();
            let wanted = state.put;
            state.is_awaited = state.written < wanted;
            held.changed.notify_all();
            // The caller goes on in any case.
            held.changed.wait_while_for(&mut state, |state| state.written < wanted, FLUSH_TIME);
        })
    }

    /// Writes the remaining lines, for up to this time, and ends the log.
    pub fn finish(mut self, time: Duration) {
        self.held.state.lock().ended = true;
        self.held.changed.notify_all();
        match self.thread.take() {
            // If nobody reads standard output, the thread is stuck in a write, and ends with the process.
            Some(thread) => {
                let mut state = self.held.state.lock();
                self.held.changed.wait_while_for(&mut state, |state| !state.is_done, time);
                let is_stuck = !state.is_done && !thread.is_finished();
                drop(state);
                if !is_stuck {
                    // A panic has been reported on standard error already.
                    drop(thread.join());
                }
            }
            None => self.held.write_all_to(&mut io::stdout()),
        }
    }
}

impl Held {
    fn put(&self, line: &[u8]) {
        let mut state = self.state.lock();
        if state.lines.len() + line.len() > HELD_BYTES {
            state.dropped += 1;
            self.ever_dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = state.lines.len();
        state.lines.extend_from_slice(line);
        state.put += line.len() as u64;
        let wake = before == 0 || (before < BATCH_BYTES && state.lines.len() >= BATCH_BYTES);
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }

    /// Writes batches until the log ends. A reader that is gone must not stop the server.
    fn write_all_to(&self, out: &mut dyn Write) {
        let mut batch = Vec::new();
        loop {
            let (dropped, ended) = self.take(&mut batch);
            let _ = out.write_all(&batch);
            if dropped > 0 {
                let warning = line(self.form, || {
                    tracing::warn!(
                        target: "server",
                        lost_lines = dropped,
                        "{dropped} log lines were dropped: the log is written too slowly"
                    );
                });
                let _ = out.write_all(&warning);
            }
            let _ = out.flush();
            {
                let mut state = self.state.lock();
                state.written += batch.len() as u64;
                state.is_done = ended;
            }
            self.changed.notify_all();
            batch.clear();
            if ended {
                return;
            }
        }
    }

    /// Waits for a batch. Returns the number of lines dropped since the last one, and whether the log has ended.
    fn take(&self, batch: &mut Vec<u8>) -> (u64, bool) {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.lines.is_empty() && !state.ended);
        let is_small = |state: &mut State| state.lines.len() < BATCH_BYTES && !state.ended && !state.is_awaited;
        self.changed.wait_while_for(&mut state, is_small, BATCH_TIME);
        state.is_awaited = false;
        std::mem::swap(&mut state.lines, batch);
        (std::mem::take(&mut state.dropped), state.ended)
    }
}

/// Fields that the message of a line contains, so a line of text leaves them out. A line of JSON has all of them.
const IN_WORDS: [&str; 19] = [
    "worker",
    "pid",
    "status",
    "signal",
    "reason",
    "method",
    "path",
    "fault",
    "ms",
    "queue_ms",
    "interpreter",
    "replayed",
    "lost",
    "pss_kib",
    "limit_kib",
    "held_bytes",
    "lost_lines",
    "lost_bytes",
    "file",
];

/// Formats a line of text: the message, then fields that it does not contain as `name=value`.
struct TextFields;

#[derive(Default)]
struct TextLine {
    words: String,
    id: String,
    rest: String,
}

impl Visit for TextLine {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.words, "{value:?}"),
            "id" => write!(self.id, "{value:?}"),
            name if IN_WORDS.contains(&name) => Ok(()),
            name => write!(self.rest, " {name}={value:?}"),
        };
    }
}

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> std::fmt::Result {
        let mut line = TextLine::default();
        fields.record(&mut line);
        let mut lines = line.words.split('\n');
        write_escaped(&mut writer, lines.next().unwrap_or_default())?;
        // Of an exception with its backtrace they stand in the first line, which is the one that is searched for.
        if !line.id.is_empty() && !line.words.contains(&line.id) {
            writer.write_str(" id=")?;
            write_escaped(&mut writer, &line.id)?;
        }
        write_escaped(&mut writer, &line.rest)?;
        // The message of an exception may have text of a client in it, which must not look like a line of the log.
        for more in lines {
            let is_apart = more.is_empty() || more.starts_with("  ");
            writer.write_str(if is_apart { "\n" } else { "\n  " })?;
            write_escaped(&mut writer, more)?;
        }
        Ok(())
    }
}

/// Writes part of a line, with its control characters escaped as in a literal of Rust: they could break the line, or
/// control the terminal that shows it.
fn write_escaped(writer: &mut Writer<'_>, text: &str) -> std::fmt::Result {
    let is_escaped = |char: char| char.is_control() && char != '\t';
    for part in text.split_inclusive(is_escaped) {
        match part.strip_suffix(is_escaped) {
            Some(plain) => {
                writer.write_str(plain)?;
                write!(writer, "{}", part[plain.len()..].escape_debug())?;
            }
            None => writer.write_str(part)?,
        }
    }
    Ok(())
}

/// Where the library puts lines: it writes each with one call.
impl Write for &Held {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn lines_come_out_in_order_and_all_of_them() {
        let held = Arc::new(Held::default());
        let writer = held.clone();
        let thread = thread::spawn(move || {
            let mut out = Vec::new();
            writer.write_all_to(&mut out);
            out
        });
        let expected: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        for line in expected.lines() {
            held.put(format!("{line}\n").as_bytes());
        }
        held.state.lock().ended = true;
        held.changed.notify_all();
        assert_eq!(String::from_utf8(thread.join().unwrap()).unwrap(), expected);
    }

    #[test]
    fn lines_that_are_waited_for_do_not_wait_for_a_batch() {
        let held = Arc::new(Held::default());
        let writer = held.clone();
        let thread = thread::spawn(move || writer.write_all_to(&mut io::sink()));
        let flush = Log { held: held.clone(), thread: None }.flusher();
        let times = (0..20).map(|_| {
            let begun = Instant::now();
            held.put(b"line\n");
            flush();
            begun.elapsed()
        });
        let fastest = times.min().unwrap();
        assert!(fastest < BATCH_TIME / 2, "{fastest:?}");
        assert_eq!(held.state.lock().written, 100);
        held.state.lock().ended = true;
        held.changed.notify_all();
        thread.join().unwrap();
    }

    #[test]
    fn no_text_in_a_line_looks_like_another_line_or_controls_a_terminal() {
        let written = line(LogForm::Text, || {
            let message = "not a number: \"\n2026 INFO forged\u{1b}[2J\r\n\n  app.rb:1\ta\n\u{9b}é\"";
            tracing::error!(target: "app", id = "one\ntwo", more = "\u{7f}\nthree", "{message}");
        });
        let text = String::from_utf8(written).unwrap();
        let (_, said) = text.split_once(" ERROR app: ").unwrap();
        let wanted = "not a number: \" id=one\\ntwo more=\\u{7f}\\nthree\n  2026 INFO forged\\u{1b}[2J\\r\n\n  \
                      app.rb:1\ta\n  \\u{9b}é\"\n";
        assert_eq!(said, wanted);
    }

    #[test]
    fn what_nobody_reads_is_dropped_and_counted() {
        let held = Held::default();
        let line = vec![b'x'; HELD_BYTES / 2];
        for _ in 0..5 {
            held.put(&line);
        }
        held.state.lock().ended = true;
        let mut out = Vec::new();
        held.write_all_to(&mut out);
        let text = String::from_utf8(out.split_off(HELD_BYTES)).unwrap();
        assert!(text.contains("WARN server: 3 log lines were dropped: the log is written too slowly\n"), "{text}");
        assert_eq!(held.ever_dropped.load(Ordering::Relaxed), 3);
    }
}
