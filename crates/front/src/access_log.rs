//! One line per request. Lines are put together in the thread that served the request, added to one buffer, and
//! written by a thread of their own.
//!
//! When the writer cannot keep up and the buffer is full, lines are dropped and counted, not waited for: a stuck
//! terminal or a full disk must not stop the answering of requests. The loss is itself logged.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::{Method, Uri};

use crate::link::Link;
use crate::request_id::RequestId;

/// Bytes of lines that may wait for the writer: about twenty thousand requests.
const BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// Lines are gathered for so long before they are written, to write many at once.
const GATHER_TIME: Duration = Duration::from_millis(2);
/// Targets are cut to so many bytes in the log.
const TARGET_BYTES: usize = 2048;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Words with spaces between.
    Text,
    /// One JSON object per line.
    Json,
}

/// Where the lines go. Dropping it writes what is left.
#[derive(Debug)]
pub struct AccessLog {
    format: LogFormat,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
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
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        // Appending bytes cannot leave it half-changed in a way that matters.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessLog {
    /// A log with a writer thread of its own.
    pub fn new(format: LogFormat, writer: impl Write + Send + 'static) -> AccessLog {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let spawned = std::thread::Builder::new().name("access-log".into()).spawn(move || write_all(&theirs, writer));
        if let Err(error) = &spawned {
            tracing::error!(target: "front", "there will be no access log: {error}");
            shared.lock().is_closed = true;
        }
        AccessLog { format, shared, writer: spawned.ok() }
    }

    fn add(&self, line: &[u8]) {
        let mut pending = self.shared.lock();
        if pending.is_closed || pending.lines.len() + line.len() > BUFFER_BYTES {
            pending.lost += 1;
            return;
        }
        pending.lines.extend_from_slice(line);
        if !pending.is_writer_awake {
            pending.is_writer_awake = true;
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The writer's life: wait for a line, gather for a moment, write.
fn write_all(shared: &Shared, mut writer: impl Write) {
    let mut batch = Vec::new();
    loop {
        let mut pending = shared.lock();
        while pending.lines.is_empty() && !pending.is_closed {
            pending.is_writer_awake = false;
            pending = shared.changed.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        if !pending.is_closed {
            pending = shared.changed.wait_timeout(pending, GATHER_TIME).unwrap_or_else(PoisonError::into_inner).0;
        }
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
            return;
        }
    }
}

/// What is remembered of a request until its line is written, which happens when this is dropped.
pub(crate) struct Record {
    pub(crate) link: Arc<Link>,
    pub(crate) received: Instant,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) id: RequestId,
    /// 0 as long as there is none.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) queued: Duration,
    /// One word for what went wrong, or nothing.
    pub(crate) fault: &'static str,
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(log) = &self.link.common.settings.access_log else { return };
        if self.status == 0 && self.fault.is_empty() {
            self.fault = self.link.cut_by().name();
        }
        LINE.with_borrow_mut(|line| {
            line.text.clear();
            match log.format {
                LogFormat::Text => self.write_text(line),
                LogFormat::Json => self.write_json(line),
            }
            line.text.push('\n');
            log.add(line.text.as_bytes());
        });
    }
}

/// Writes the line of a request that never became one.
pub(crate) fn refused(link: &Link, received: Instant, status: u16) {
    let Some(log) = &link.common.settings.access_log else { return };
    LINE.with_borrow_mut(|line| {
        line.text.clear();
        let took = millis(received.elapsed());
        line.stamp();
        // Writing to a string cannot fail, here and below.
        let _ = match log.format {
            LogFormat::Text => {
                line.text.push(' ');
                line.client(link);
                writeln!(line.text, " - - {status} 0 {took:.3} 0.000 - refused")
            }
            LogFormat::Json => {
                line.text.insert_str(0, "{\"time\":\"");
                line.text.push_str("\",\"client\":\"");
                line.client(link);
                writeln!(line.text, "\",\"status\":{status},\"bytes\":0,\"ms\":{took:.3},\"fault\":\"refused\"}}")
            }
        };
        log.add(line.text.as_bytes());
    });
}

impl Record {
    fn write_text(&self, line: &mut Line) {
        line.stamp();
        line.text.push(' ');
        line.client(&self.link);
        line.text.push(' ');
        line.text.push_str(self.method.as_str());
        line.text.push(' ');
        line.target(&self.target);
        let _ = match self.status {
            0 => write!(line.text, " -"),
            status => write!(line.text, " {status}"),
        };
        let (total, queued) = (millis(self.received.elapsed()), millis(self.queued));
        let _ = write!(line.text, " {} {total:.3} {queued:.3} ", self.bytes);
        line.text.push_str(self.id.as_str());
        if !self.fault.is_empty() {
            line.text.push(' ');
            line.text.push_str(self.fault);
        }
    }

    fn write_json(&self, line: &mut Line) {
        line.text.push_str("{\"time\":\"");
        line.stamp();
        line.text.push_str("\",\"client\":\"");
        line.client(&self.link);
        line.text.push_str("\",\"method\":\"");
        line.text.push_str(self.method.as_str());
        line.text.push_str("\",\"target\":\"");
        line.target(&self.target);
        let _ = match self.status {
            0 => write!(line.text, "\",\"status\":null"),
            status => write!(line.text, "\",\"status\":{status}"),
        };
        let (total, queued) = (millis(self.received.elapsed()), millis(self.queued));
        let _ = write!(line.text, ",\"bytes\":{},\"ms\":{total:.3},\"queue_ms\":{queued:.3},\"id\":\"", self.bytes);
        line.text.push_str(self.id.as_str());
        line.text.push('"');
        if !self.fault.is_empty() {
            let _ = write!(line.text, ",\"fault\":\"{}\"", self.fault);
        }
        line.text.push('}');
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

thread_local! {
    static LINE: RefCell<Line> = const { RefCell::new(Line { text: String::new(), second: 0, stamp: String::new() }) };
}

/// The line being put together, and the formatted second it was last done in.
struct Line {
    text: String,
    second: u64,
    stamp: String,
}

impl Line {
    /// RFC 3339 in UTC, with milliseconds.
    fn stamp(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if now.as_secs() != self.second || self.stamp.is_empty() {
            self.second = now.as_secs();
            self.stamp = date_time(self.second);
        }
        self.text.push_str(&self.stamp);
        let _ = write!(self.text, ".{:03}Z", now.subsec_millis());
    }

    fn client(&mut self, link: &Link) {
        let _ = match link.peer.remote {
            Some(address) => write!(self.text, "{}", address.ip().to_canonical()),
            None => write!(self.text, "unix"),
        };
    }

    /// The target, with everything escaped that could end a word, a string or a line, or move a terminal.
    fn target(&mut self, target: &Uri) {
        let before = self.text.len();
        let _ = write!(Escaped(&mut self.text, before + TARGET_BYTES), "{target}");
    }
}

struct Escaped<'a>(&'a mut String, usize);

impl std::fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() <= self.1 && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
        {
            self.0.push_str(text);
            return Ok(());
        }
        for c in text.chars() {
            if self.0.len() >= self.1 {
                return Ok(());
            }
            match c {
                '!'..='~' if c != '"' && c != '\\' => self.0.push(c),
                // Percent-encoding is right in both formats, and what the client should have written.
                _ => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(self.0, "%{byte:02X}");
                    }
                }
            }
        }
        Ok(())
    }
}

/// Days to a date by the usual count of eras of 400 years that begin in March.
fn date_time(second: u64) -> String {
    let (days, time) = (second / 86_400, second % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(date_time(0), "1970-01-01T00:00:00");
        assert_eq!(date_time(951_782_400), "2000-02-29T00:00:00");
        assert_eq!(date_time(1_735_689_599), "2024-12-31T23:59:59");
        assert_eq!(date_time(4_107_542_400), "2100-03-01T00:00:00");
    }

    #[test]
    fn targets_cannot_break_a_line_or_a_string() {
        let mut text = String::new();
        write!(Escaped(&mut text, 2048), "/a\"b\\c\n\u{1b}é d").unwrap();
        assert_eq!(text, "/a%22b%5Cc%0A%1B%C3%A9%20d");
        let mut text = String::new();
        write!(Escaped(&mut text, 10), "/{}", "a".repeat(100)).unwrap();
        assert_eq!(text.len(), 10);
    }

    #[test]
    fn what_was_added_is_written_at_the_end() {
        let out = Shelf::default();
        let log = AccessLog::new(LogFormat::Text, out.clone());
        for _ in 0..100 {
            log.add(b"line\n");
        }
        drop(log);
        assert_eq!(out.0.lock().unwrap().len(), 500);
    }

    #[derive(Clone, Default)]
    struct Shelf(Arc<Mutex<Vec<u8>>>);

    impl Write for Shelf {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
