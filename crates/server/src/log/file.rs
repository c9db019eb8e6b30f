//! A file of the log, or a standard stream. Lines that cannot be written are lost and counted; that is reported on
//! standard error at once, and in the file once it can be written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use engine::{count, unix_ms};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Serialize;

use crate::config::settings::LogForm;
use crate::log::writer;
use crate::process::folder::{inode, with_missing};
use crate::process::links::Links;
use crate::process::stream::{Stream, write_in_background};

/// Time after which a line that is still being written shows that the reader of a pipe has stopped reading.
const STALLED_TIME: Duration = Duration::from_millis(100);
/// Time that a reader of a non-blocking standard output may take before lines are lost.
const READER_TIME: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// An open log file.
#[derive(Debug)]
pub struct LogFile {
    /// `None` for a standard stream.
    path: Option<PathBuf>,
    /// What it is without a path.
    stream: Stream,
    /// Format of the server's own lines.
    form: LogForm,
    errors: ErrorSink,
    links: Links,
    open: Mutex<Open>,
    /// Since when a write has been under way. Outside of the lock that it holds.
    writing: Mutex<Option<Instant>>,
    lost: LostCounts,
}

/// What was lost since the start. Outside of the lock, which a write holds for as long as the reader of a pipe wants.
#[derive(Debug, Default)]
struct LostCounts {
    lines: AtomicU64,
    bytes: AtomicU64,
}

/// The previous standard error, if a file has replaced it.
pub type FormerStderr = Arc<Mutex<Option<File>>>;

/// Where a file that cannot be written is reported.
#[derive(Debug)]
pub enum ErrorSink {
    /// Standard error, which is no log file.
    StandardError,
    /// Standard error, which is this log file.
    File(Arc<LogFile>),
    /// The previous standard error, as long as that is open.
    FormerStderr(FormerStderr),
}

#[derive(Debug)]
struct Open {
    file: File,
    /// The last write ended within a line.
    is_cut: bool,
    failing: Option<Failing>,
}

/// A period in which a file cannot be written.
#[derive(Debug)]
struct Failing {
    since: SystemTime,
    began: Instant,
    why: String,
    lines: u64,
    bytes: u64,
}

/// State of a log file.
#[derive(Debug, Clone, Serialize)]
pub struct FileView {
    /// Its path, or `standard output`, or `standard error`.
    pub file: String,
    /// Lines lost since the start.
    pub lost_lines: u64,
    /// Bytes lost since the start.
    pub lost_bytes: u64,
    /// Since when the file cannot be written, in milliseconds since 1970; `None` if it can.
    pub failing_since_ms: Option<u64>,
    /// Why it cannot be written.
    pub why: Option<String>,
}

fn append(path: &Path, links: Links) -> Result<File, String> {
    let failed = |error: io::Error| format!("the log file {} cannot be opened: {error}", path.display());
    let kind = fs::metadata(path).ok().map(|found| found.file_type());
    if kind.is_some_and(|kind| kind.is_dir()) {
        return Err(format!("the log file {} is a folder", path.display()));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    if !kind.is_some_and(|kind| kind.is_fifo()) {
        return links.open(path, &options, OFlags::empty()).map_err(failed);
    }
    // A blocking open of a pipe would wait for a reader.
    let file = links.open(path, &options, OFlags::NONBLOCK);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => format!("the log file {} is a pipe that nobody reads", path.display()),
        _ => failed(error),
    })?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND).map_err(|error| failed(error.into()))?;
    Ok(file)
}

impl LogFile {
    /// Opens the file at an absolute path for appending.
    pub fn open(path: &Path, form: LogForm, errors: ErrorSink, links: Links) -> Result<LogFile, String> {
        let file = append(path, links).map_err(|why| with_missing(why, path))?;
        Ok(LogFile { path: Some(path.to_owned()), links, ..LogFile::of(Stream::Output, form, errors, file) })
    }

    /// A standard stream as it is now; `None` if it is closed.
    pub fn standard(stream: Stream, form: LogForm, errors: ErrorSink) -> Option<LogFile> {
        let file = match stream {
            Stream::Output => io::stdout().as_fd().try_clone_to_owned(),
            Stream::Error => io::stderr().as_fd().try_clone_to_owned(),
        };
        Some(LogFile::of(stream, form, errors, file.ok()?.into()))
    }

    fn of(stream: Stream, form: LogForm, errors: ErrorSink, file: File) -> LogFile {
        let open = Mutex::new(Open { file, is_cut: false, failing: None });
        let (writing, lost) = (Mutex::default(), LostCounts::default());
        LogFile { path: None, stream, form, errors, links: Links::All, open, writing, lost }
    }

    /// Whether this is the file at an absolute path.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path.as_deref() == Some(path)
    }

    /// Its path; `None` for a standard stream.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn name(&self) -> String {
        match (&self.path, self.stream) {
            (Some(path), _) => path.display().to_string(),
            (None, Stream::Output) => "standard output".to_owned(),
            (None, Stream::Error) => "standard error".to_owned(),
        }
    }

    /// Lends the open file, unless a line has been on its way to it for too long.
    pub fn with<T>(&self, take: impl FnOnce(&File) -> T) -> Option<T> {
        Some(take(&self.open.try_lock_for(STALLED_TIME)?.file))
    }

    /// Whether the path leads to another file by now, or to none: this one was renamed or removed.
    pub fn is_moved(&self) -> bool {
        let Some(path) = &self.path else { return false };
        self.with(|file| inode(file.metadata())).is_some_and(|open| open != inode(fs::metadata(path)))
    }

    /// Opens the path again. Returns a report for the user.
    pub fn reopen(&self) -> Result<String, String> {
        let Some(path) = &self.path else { return Ok(format!("{} stays as it is", self.name())) };
        let file = append(path, self.links).map_err(|why| match path.try_exists() {
            Ok(false) if path.parent().is_some_and(|folder| !folder.exists()) => {
                format!("{why}: its folder is gone; until it is back the log goes on in the old file")
            }
            Ok(false) => format!(
                "{why}; where this process may not make files the rotation has to (`create` in logrotate's \
                 configuration), until then the log goes on in the old one"
            ),
            _ => why,
        })?;
        let open = &mut *self.open.lock();
        let is_same = inode(file.metadata()).is_some_and(|new| inode(open.file.metadata()) == Some(new));
        open.file = file;
        let name = path.display();
        let failing = open.failing.as_ref().map(|failing| {
            let lines = count(failing.lines, "line");
            format!("; it could not be written so far ({}): {lines} lost", failing.why)
        });
        let failing = failing.unwrap_or_default();
        if is_same {
            return Ok(format!("{name} was not moved away, and goes on{failing}"));
        }
        open.is_cut = false;
        Ok(format!("opened anew: {name}{failing}"))
    }

    /// Writes lines. If the disk is full, they are lost and counted.
    pub fn write(&self, bytes: &[u8]) {
        let mut open = self.open.lock();
        *self.writing.lock() = Some(Instant::now());
        self.recover(&mut open);
        let lost = if open.failing.is_some() { bytes } else { &bytes[bytes.len() - open.put(bytes)..] };
        *self.writing.lock() = None;
        let begins = open.lose(lost, &self.lost);
        let why = open.failing.as_ref().filter(|_| begins).map(|failing| failing.why.clone());
        drop(open);
        if let Some(why) = why {
            self.errors.tell(&format!(
                "foolsgold: the log cannot be written to {}: {why}. Its lines are lost until it can; `foolsgold \
                 status` and /metrics count them\n",
                self.name()
            ));
        }
    }

    /// How long lines have been on their way: the reader of a pipe takes nothing, or takes them slowly.
    pub fn stalled_for(&self) -> Duration {
        self.writing.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Checks whether a failing file can be written again. While a line is being written, which takes as long as the
    /// reader of a pipe wants, there is nothing to check.
    pub fn retry(&self) {
        if let Some(mut open) = self.open.try_lock() {
            self.recover(&mut open);
        }
    }

    /// Writes how much was lost, if that can be written now.
    fn recover(&self, open: &mut Open) {
        let Some(Failing { began, why, lines, bytes, .. }) = &open.failing else { return };
        let name = self.name();
        let time = engine::brief(began.elapsed());
        let words = count(*lines, "line");
        let line = writer::line(self.form, || {
            tracing::warn!(
                target: "server",
                lost_lines = lines, lost_bytes = bytes, file = name,
                "the log could not be written for {time} ({why}): {words} lost, {bytes} bytes"
            );
        });
        let first: &[u8] = if open.is_cut { b"\n" } else { b"" };
        if open.put(&[first, &line].concat()) == 0 {
            open.failing = None;
        }
    }

    /// State of the file.
    pub fn view(&self) -> FileView {
        let open = self.open.try_lock_for(STALLED_TIME);
        let lost_lines = self.lost.lines.load(Ordering::Relaxed);
        let lost_bytes = self.lost.bytes.load(Ordering::Relaxed);
        let failing = match &open {
            None => Some((SystemTime::now(), "its reader takes nothing at the moment".to_owned())),
            Some(open) => open.failing.as_ref().map(|failing| (failing.since, failing.why.clone())),
        };
        let (failing_since_ms, why) = failing.map(|(since, why)| (unix_ms(since), why)).unzip();
        FileView { file: self.name(), lost_lines, lost_bytes, failing_since_ms, why }
    }
}

impl ErrorSink {
    /// Writes a line; if that fails there is no place left to report it.
    fn tell(&self, line: &str) {
        match self {
            ErrorSink::StandardError => drop(io::stderr().write_all(line.as_bytes())),
            ErrorSink::File(file) => file.write(line.as_bytes()),
            ErrorSink::FormerStderr(former) => {
                if let Some(stderr) = former.lock().as_mut() {
                    let _ = stderr.write_all(line.as_bytes());
                }
            }
        }
    }
}

impl Open {
    /// Counts bytes that could not be written. Returns whether the file has begun to fail with them.
    fn lose(&mut self, bytes: &[u8], lost: &LostCounts) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let begins = self.failing.as_ref().is_some_and(|failing| failing.bytes == 0);
        // An unfinished line counts, too.
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count().max(1);
        let (lines, length) = (ends as u64, bytes.len() as u64);
        lost.lines.fetch_add(lines, Ordering::Relaxed);
        lost.bytes.fetch_add(length, Ordering::Relaxed);
        if let Some(failing) = &mut self.failing {
            failing.lines += lines;
            failing.bytes += length;
        }
        begins
    }

    /// Writes as much as it can. Returns the number of bytes left; if that is not 0, the file is failing.
    fn put(&mut self, mut bytes: &[u8]) -> usize {
        write_in_background();
        while !bytes.is_empty() {
            let error = match self.file.write(bytes) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    self.is_cut = bytes[count - 1] != b'\n';
                    bytes = &bytes[count..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && is_read(&self.file) => continue,
                Err(error) => error,
            };
            let since = SystemTime::now();
            let began = Instant::now();
            let why = error.to_string();
            self.failing.get_or_insert(Failing { since, began, why, lines: 0, bytes: 0 });
            break;
        }
        bytes.len()
    }
}

/// Waits for [`READER_TIME`] until the other end can be written to.
fn is_read(file: &File) -> bool {
    poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&READER_TIME)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn open(path: &Path) -> Result<LogFile, String> {
        LogFile::open(path, LogForm::Text, ErrorSink::FormerStderr(FormerStderr::default()), Links::All)
    }

    /// A line of text without its time.
    fn untimed(line: &str) -> &str {
        line.split_once(' ').map_or(line, |(_, rest)| rest).trim_start()
    }

    #[test]
    fn what_was_lost_is_told_on_a_line_of_its_own_that_looks_like_the_others() {
        // Half of a line was written.
        for (form, words) in [
            (LogForm::Text, "WARN server: the log could not be written for"),
            (LogForm::Json, "\"level\":\"WARN\",\"message\":\"the log could not be written for"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            let errors = ErrorSink::FormerStderr(FormerStderr::default());
            let file = LogFile::open(&path, form, errors, Links::All).unwrap();
            file.write(b"2026");
            let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
            let whole = std::mem::replace(&mut file.open.lock().file, full);
            file.write(b"lost\n");
            file.write(b"lost too\n");
            file.retry();
            let seen = file.view();
            assert_eq!((seen.lost_lines, seen.lost_bytes, seen.why.as_deref()), (2, 14, Some(NO_SPACE)));
            file.open.lock().file = whole;
            file.write(b"next\n");
            assert_eq!(file.view().failing_since_ms, None);
            let text = fs::read_to_string(&path).unwrap();
            let [first, second, next] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
            assert_eq!((first, next), ("2026", "next"));
            assert!(second.contains(words) && second.contains("2 lines lost, 14 bytes"), "{text}");
            if form == LogForm::Json {
                let line: serde_json::Value = serde_json::from_str(second).unwrap();
                assert_eq!((&line["lost_lines"], &line["lost_bytes"]), (&2.into(), &14.into()), "{line}");
            } else {
                assert!(untimed(second).starts_with(words), "{text}");
            }
        }
    }

    const NO_SPACE: &str = "No space left on device (os error 28)";

    #[test]
    fn what_was_lost_stays_counted_while_a_line_is_on_its_way() {
        let full = open(Path::new("/dev/full")).unwrap();
        full.write(b"one\n");
        let held = full.open.lock();
        let seen = full.view();
        drop(held);
        assert_eq!((seen.lost_lines, seen.lost_bytes), (1, 4));
        assert!(seen.why.unwrap().contains("its reader takes nothing"));
    }

    #[test]
    fn lines_that_no_reader_takes_are_known_to_be_on_their_way() {
        let (reader, writer) = io::pipe().unwrap();
        let errors = ErrorSink::FormerStderr(FormerStderr::default());
        let pipe = std::os::fd::OwnedFd::from(writer).into();
        let file = LogFile::of(Stream::Output, LogForm::Text, errors, pipe);
        assert_eq!(file.stalled_for(), Duration::ZERO);
        // More than a pipe holds.
        let lines = vec![b'x'; 1 << 20];
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| file.write(&lines));
            while file.stalled_for().is_zero() {
                std::thread::yield_now();
            }
            drop(reader);
            writing.join().unwrap();
        });
        assert_eq!(file.stalled_for(), Duration::ZERO);
    }

    #[test]
    fn a_full_disk_is_told_elsewhere_once_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("errors");
        let errors = Arc::new(open(&path).unwrap());
        let errors = ErrorSink::File(errors);
        let full = LogFile::open(Path::new("/dev/full"), LogForm::Text, errors, Links::All).unwrap();
        full.write(b"one\n");
        full.write(b"two\n");
        assert!(full.reopen().unwrap().contains("2 lines lost"));
        full.retry();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with(&format!("foolsgold: the log cannot be written to /dev/full: {NO_SPACE}.")), "{text}");
    }

    #[test]
    fn a_link_that_is_put_in_place_of_a_log_of_roots_is_not_followed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (path, aim) = (folder.path().join("log"), folder.path().join("aim"));
        let errors = ErrorSink::FormerStderr(FormerStderr::default());
        let file = LogFile::open(&path, LogForm::Text, errors, Links::OfRoot).unwrap();
        fs::rename(&path, folder.path().join("log.1")).unwrap();
        std::os::unix::fs::symlink(&aim, &path).unwrap();
        std::os::unix::fs::lchown(&path, Some(65_534), Some(65_534)).unwrap();
        let why = file.reopen().unwrap_err();
        assert!(why.contains("a symbolic link that does not belong to root") && !aim.exists(), "{why}");
        file.write(b"on\n");
        assert_eq!(fs::read_to_string(folder.path().join("log.1")).unwrap(), "on\n");
    }

    #[test]
    fn a_pipe_needs_a_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(open(&path).unwrap_err().contains("is a pipe that nobody reads"));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let reader = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        open(&path).unwrap().write(b"line\n");
        let mut text = [0; 5];
        File::from(reader).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"line\n");
    }

    #[test]
    fn the_old_file_stays_where_a_new_one_cannot_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("logs");
        fs::create_dir(&inner).unwrap();
        let file = open(&inner.join("log")).unwrap();
        fs::rename(&inner, folder.path().join("moved")).unwrap();
        let why = file.reopen().unwrap_err();
        assert!(why.contains("cannot be opened") && why.contains("its folder is gone"), "{why}");
        file.write(b"still\n");
        assert_eq!(fs::read_to_string(folder.path().join("moved/log")).unwrap(), "still\n");
        assert!(open(folder.path()).unwrap_err().contains("is a folder"));
    }
}
