//! Log files (`--log-file`, `--redirect-stdout`, `--redirect-stderr`), which can be reopened after a rotation.
//!
//! With a log file, this process's standard output is a pipe to a thread that writes to the file: the output of the
//! application's processes, whenever they were started, goes to the new file as soon as that thread has reopened it.
//! The server's own lines bypass the pipe.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tracing::{info, warn};

use crate::config::settings::LogForm;
use crate::log::file::{ErrorSink, FileView, FormerStderr, LogFile};
use crate::process::folder::inode;
use crate::process::init;
use crate::process::links::Links;
use crate::process::stream::{Stream, write_in_background};

/// Bytes of application output written at once.
const READ_BYTES: usize = 64 * 1024;
/// At shutdown, most time for the server's own last lines.
const LAST_TIME: Duration = Duration::from_secs(5);
/// At shutdown, time to write what is in a pipe; a process that lives on may hold the pipe open for ever.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// Destinations of standard output and standard error.
#[derive(Debug, Default)]
pub struct LogFiles {
    stdout: Option<Arc<LogFile>>,
    stderr: Option<Arc<LogFile>>,
    /// Standard output as it is, if no file takes the server's own lines.
    plain: Option<Arc<LogFile>>,
    /// The server's own lines go to the file of standard error, if there is one.
    logs_to_stderr: bool,
    /// Number of lines dropped because they were written too slowly.
    dropped: Arc<AtomicU64>,
    /// Each is closed when its thread has written everything.
    ends: Mutex<Vec<Receiver<()>>>,
    /// The previous standard output, if a file has replaced it, for as long as that of standard error would be kept.
    former_stdout: Mutex<Option<File>>,
    /// The previous standard error, if a file has replaced it: until the server serves, the user may read it.
    former_stderr: FormerStderr,
}

/// State of the log.
#[derive(Debug, Serialize)]
pub struct LogView {
    /// Lines lost since the start: they could not be written, or were dropped.
    pub lost_lines: u64,
    /// Lines of these that were dropped because the log is written too slowly.
    pub dropped_lines: u64,
    /// The log files, or standard output.
    pub files: Vec<FileView>,
}

impl LogView {
    /// Whether a file cannot be written now.
    pub fn is_failing(&self) -> bool {
        self.files.iter().any(|file| file.failing_since_ms.is_some())
    }
}

impl LogFiles {
    /// Opens the configured files, whose paths are absolute, and redirects standard output and standard error to them.
    /// The server's own lines go with standard output, or, with `logs_to_stderr`, to the file of standard error.
    pub fn open(
        stdout: Option<&Path>,
        stderr: Option<&Path>,
        logs_to_stderr: bool,
        form: LogForm,
        links: Links,
    ) -> Result<LogFiles, String> {
        let former_stderr = FormerStderr::default();
        let err = match stderr {
            Some(path) => opened(path, Stream::Error, form, ErrorSink::FormerStderr(former_stderr.clone()), links)?,
            None => None,
        };
        let errors = || err.clone().map_or(ErrorSink::StandardError, ErrorSink::File);
        let out = match (stdout, &err) {
            (Some(path), Some(err)) if err.is_at(path) => Some(err.clone()),
            (Some(path), _) => opened(path, Stream::Output, form, errors(), links)?,
            (None, _) => None,
        };
        let has_own_file = out.is_some() || (logs_to_stderr && err.is_some());
        let plain = if has_own_file { None } else { LogFile::standard(Stream::Output, form, errors()).map(Arc::new) };
        let (stdout, stderr) = (out, err);
        let files = LogFiles { stdout, stderr, plain, logs_to_stderr, former_stderr, ..LogFiles::default() };
        files.turn().map_err(|error| format!("the log files cannot be written to: {error}"))?;
        Ok(files)
    }

    fn turn(&self) -> io::Result<()> {
        let mut ends = Vec::new();
        if let Some(file) = &self.stdout {
            *self.former_stdout.lock() = Some(io::stdout().as_fd().try_clone_to_owned()?.into());
            let (reader, writer) = io::pipe()?;
            rustix::stdio::dup2_stdout(&writer)?;
            ends.push(follow(reader, file.clone())?);
        }
        if let Some(file) = &self.stderr {
            *self.former_stderr.lock() = Some(io::stderr().as_fd().try_clone_to_owned()?.into());
            let (reader, writer) = io::pipe()?;
            rustix::stdio::dup2_stderr(&writer)?;
            ends.push(follow(reader, file.clone())?);
        }
        *self.ends.lock() = ends;
        Ok(())
    }

    /// A writer for the server's own lines.
    pub fn own_lines(&self) -> Box<dyn Write + Send> {
        match self.own() {
            Some(file) => Box::new(Writer(file.clone())),
            None => Box::new(io::stdout()),
        }
    }

    /// The file of the server's own lines; `None` if standard output is closed.
    fn own(&self) -> Option<&Arc<LogFile>> {
        let file = self.stderr.as_ref().filter(|_| self.logs_to_stderr).or(self.stdout.as_ref());
        file.or(self.plain.as_ref())
    }

    /// At shutdown, the time that is left for the server's own last lines. The time for which their reader has been
    /// taking nothing counts, so that it is not waited for twice, nor after it has long been gone.
    pub fn last_time(&self) -> Duration {
        LAST_TIME.saturating_sub(self.own().map_or(Duration::ZERO, |file| file.stalled_for()))
    }

    /// The counter of dropped lines.
    pub fn dropped(&self) -> Arc<AtomicU64> {
        self.dropped.clone()
    }

    /// State of the log.
    pub fn view(&self) -> LogView {
        let files: Vec<FileView> = self.written().map(|file| file.view()).collect();
        let dropped_lines = self.dropped.load(Ordering::Relaxed);
        let lost_lines = dropped_lines + files.iter().map(|file| file.lost_lines).sum::<u64>();
        LogView { lost_lines, dropped_lines, files }
    }

    /// Retries files that cannot be written; to be called periodically.
    pub fn retry(&self) {
        self.written().for_each(|file| file.retry());
    }

    fn written(&self) -> impl Iterator<Item = &Arc<LogFile>> {
        self.files().into_iter().chain(&self.plain)
    }

    /// Reports a failed start on the previous standard error, if a file has replaced it.
    pub fn tell_starter(&self, text: &str) {
        if let Some(mut before) = self.former_stderr.lock().take() {
            write_in_background();
            // It may be closed.
            let _ = before.write_all(text.as_bytes());
        }
    }

    /// Closes the previous standard output and standard error once the server serves, unless a service manager reads
    /// them: there, files that cannot be written are reported.
    pub fn let_starter_go(&self) {
        for former in [&self.former_stdout, &*self.former_stderr] {
            former.lock().take_if(|before| !init::is_below() && !is_journal(before));
        }
    }

    /// Standard output and standard error for a process that takes the place of this one: the previous ones, as long as
    /// they are open, else the files. The pipes to this process end with it, and a successor whose settings name no
    /// file would write to them. `None` for a stream that no file has replaced.
    pub fn streams(&self) -> [Option<File>; 2] {
        let stream = |former: &Mutex<Option<File>>, file: Option<&Arc<LogFile>>| {
            let file = file?;
            let former = former.lock().as_ref().map(File::try_clone);
            former.or_else(|| file.with(File::try_clone))?.ok()
        };
        [stream(&self.former_stdout, self.stdout.as_ref()), stream(&self.former_stderr, self.stderr.as_ref())]
    }

    /// Paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().into_iter().filter_map(|file| file.path())
    }

    fn files(&self) -> Vec<&Arc<LogFile>> {
        let mut files: Vec<&Arc<LogFile>> = self.stdout.iter().collect();
        files.extend(self.stderr.iter().filter(|file| !self.stdout.iter().any(|out| Arc::ptr_eq(out, file))));
        files
    }

    /// Opens all paths again: renamed files get no further lines. A file whose path cannot be opened stays in use.
    /// Returns a report for the user.
    pub fn reopen(&self) -> Result<String, String> {
        let files = self.files();
        if files.is_empty() {
            return Err("there is no log file to open anew: the log goes to standard output".to_owned());
        }
        let (done, wrong): (Vec<_>, Vec<_>) = files.iter().map(|file| file.reopen()).partition(Result::is_ok);
        let words = |all: Vec<Result<String, String>>| {
            let words: Vec<String> = all.into_iter().map(|one| one.unwrap_or_else(|why| why)).collect();
            words.join("; ")
        };
        if wrong.is_empty() { Ok(words(done)) } else { Err(words(wrong)) }
    }

    /// Opens the files again that were renamed since they were opened, and logs each outcome when all are open.
    pub fn reopen_moved(&self) {
        let moved = self.files().into_iter().filter(|file| file.is_moved());
        let outcomes: Vec<_> = moved.map(|file| file.reopen()).collect();
        outcomes.iter().for_each(log_outcome);
    }

    /// Writes what processes have printed so far. From then on standard output is the file itself.
    pub fn finish(&self) {
        for (file, is_out) in self.stdout.iter().map(|file| (file, true)).chain(self.stderr.iter().map(|f| (f, false)))
        {
            let _ = file
                .with(|file| if is_out { rustix::stdio::dup2_stdout(file) } else { rustix::stdio::dup2_stderr(file) });
        }
        for end in self.ends.lock().drain(..) {
            let _ = end.recv_timeout(LAST_WORDS_TIME);
        }
    }
}

/// Logs the outcome of a reopening.
pub fn log_outcome(outcome: &Result<String, String>) {
    match outcome {
        Ok(words) => info!(target: "server", "{words}"),
        Err(why) => warn!(target: "server", "{why}"),
    }
}

/// The file of one stream; `None` where its path stands for that stream itself.
fn opened(
    path: &Path,
    of: Stream,
    form: LogForm,
    errors: ErrorSink,
    links: Links,
) -> Result<Option<Arc<LogFile>>, String> {
    Ok(match Stream::at(path) {
        Some(same) if same == of => None,
        Some(other) => LogFile::standard(other, form, errors).map(Arc::new),
        None => Some(Arc::new(LogFile::open(path, form, errors, links)?)),
    })
}

/// Whether this is systemd's journal, by the device and inode in JOURNAL_STREAM (systemd.exec(5)).
fn is_journal(file: &File) -> bool {
    let Some((device, inode)) = inode(file.metadata()) else { return false };
    std::env::var("JOURNAL_STREAM").is_ok_and(|said| said == format!("{device}:{inode}"))
}

/// Starts a thread that copies the pipe to the file. The receiver is closed when it is done.
fn follow(mut pipe: PipeReader, file: Arc<LogFile>) -> io::Result<Receiver<()>> {
    let (sender, end) = sync_channel::<()>(0);
    thread::Builder::new().name("output".into()).spawn(move || {
        let _end = sender;
        let mut bytes = vec![0; READ_BYTES];
        loop {
            match pipe.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => file.write(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(end)
}

/// The server's own lines on their way to a file.
struct Writer(Arc<LogFile>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
