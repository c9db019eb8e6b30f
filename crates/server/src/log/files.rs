//! Log files (`--log-file`, `--redirect-stdout`, `--redirect-stderr`), which can be opened anew after a rotation.
//!
//! With a log file this process's standard output is a pipe to a thread of its own, which writes what comes out of it
//! to the file: what the application's processes print, whichever they are and whenever they were started, goes to the
//! new file as soon as that thread has it. Our own lines go past the pipe, straight to the file.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use crate::config::settings::LogForm;
use crate::log::file::{ErrorSink, FileView, FormerStderr, LogFile, absolute};
use crate::process::init;

/// So much of what an application prints is written at once.
const READ_BYTES: usize = 64 * 1024;
/// At the end, what is in a pipe is written in this time; a process that lives on may hold the pipe open for ever.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// Where standard output and standard error go.
#[derive(Debug, Default)]
pub struct LogFiles {
    stdout: Option<Arc<LogFile>>,
    stderr: Option<Arc<LogFile>>,
    /// Standard output as it is, where no file takes our own lines.
    plain: Option<Arc<LogFile>>,
    /// Our own lines go where standard error goes, if that is a file.
    logs_to_stderr: bool,
    /// Lines that were dropped because they were written too slowly.
    dropped: Arc<AtomicU64>,
    /// Closed when their thread has written all.
    ends: Mutex<Vec<Receiver<()>>>,
    /// What standard error was, if that is a file now: until the server serves somebody may look there.
    former_stderr: FormerStderr,
}

/// What became of the lines of the log.
#[derive(Debug, Serialize)]
pub struct LogView {
    /// Lines since the start that are in no log: they could not be written, or were dropped.
    pub lost_lines: u64,
    /// Those of them that were dropped because the log is written too slowly.
    pub dropped_lines: u64,
    /// The log files, or standard output.
    pub files: Vec<FileView>,
}

impl LogView {
    /// Whether a file cannot be written at present.
    pub fn is_failing(&self) -> bool {
        self.files.iter().any(|file| file.failing_since_ms.is_some())
    }
}

impl LogFiles {
    /// Opens what was asked for, and turns standard output and standard error there.
    /// Our own lines go with standard output, or with standard error where that is wanted and is a file.
    pub fn open(
        stdout: Option<&Path>,
        stderr: Option<&Path>,
        logs_to_stderr: bool,
        form: LogForm,
    ) -> Result<LogFiles, String> {
        let former_stderr = FormerStderr::default();
        let err = stderr
            .map(|path| LogFile::open(path, form, ErrorSink::FormerStderr(former_stderr.clone())).map(Arc::new))
            .transpose()?;
        let errors = || err.clone().map_or(ErrorSink::StandardError, ErrorSink::File);
        let out = match (stdout, &err) {
            (Some(path), Some(err)) if err.is_at(&absolute(path)?) => Some(err.clone()),
            (Some(path), _) => Some(Arc::new(LogFile::open(path, form, errors())?)),
            (None, _) => None,
        };
        let has_own_file = out.is_some() || (logs_to_stderr && err.is_some());
        let plain = if has_own_file { None } else { LogFile::standard_output(form, errors()).map(Arc::new) };
        let (stdout, stderr) = (out, err);
        let files = LogFiles { stdout, stderr, plain, logs_to_stderr, former_stderr, ..LogFiles::default() };
        files.turn().map_err(|error| format!("the log files cannot be written to: {error}"))?;
        Ok(files)
    }

    fn turn(&self) -> io::Result<()> {
        let mut ends = Vec::new();
        if let Some(file) = &self.stdout {
            let (reader, writer) = io::pipe()?;
            rustix::stdio::dup2_stdout(&writer)?;
            ends.push(follow(reader, file.clone())?);
        }
        if let Some(file) = &self.stderr {
            let before: OwnedFd = io::stderr().as_fd().try_clone_to_owned()?;
            *self.former_stderr.lock() = Some(before.into());
            let (reader, writer) = io::pipe()?;
            rustix::stdio::dup2_stderr(&writer)?;
            ends.push(follow(reader, file.clone())?);
        }
        *self.ends.lock() = ends;
        Ok(())
    }

    /// Where our own lines are written.
    pub fn own_lines(&self) -> Box<dyn Write + Send> {
        let file = self.stderr.as_ref().filter(|_| self.logs_to_stderr).or(self.stdout.as_ref());
        match file.or(self.plain.as_ref()) {
            Some(file) => Box::new(Writer(file.clone())),
            None => Box::new(io::stdout()),
        }
    }

    /// Where lines are counted that are dropped because they were written too slowly.
    pub fn dropped(&self) -> Arc<AtomicU64> {
        self.dropped.clone()
    }

    /// What became of the lines so far.
    pub fn view(&self) -> LogView {
        let files: Vec<FileView> = self.written().map(|file| file.view()).collect();
        let dropped_lines = self.dropped.load(Ordering::Relaxed);
        let lost_lines = dropped_lines + files.iter().map(|file| file.lost_lines).sum::<u64>();
        LogView { lost_lines, dropped_lines, files }
    }

    /// Tries again what could not be written to; to be called now and then.
    pub fn retry(&self) {
        self.written().for_each(|file| file.retry());
    }

    fn written(&self) -> impl Iterator<Item = &Arc<LogFile>> {
        self.files().into_iter().chain(&self.plain)
    }

    /// Says why there is no server to whoever started it, where standard error is a file by now.
    pub fn tell_starter(&self, text: &str) {
        if let Some(mut before) = self.former_stderr.lock().take() {
            // It may be closed.
            let _ = before.write_all(text.as_bytes());
        }
    }

    /// The server serves: whoever started it can go. What a service manager reads stays: there it is said if the files
    /// cannot be written.
    pub fn let_starter_go(&self) {
        self.former_stderr.lock().take_if(|before| !init::is_below() && !is_journal(before));
    }

    /// Where the files are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().into_iter().filter_map(|file| file.path())
    }

    fn files(&self) -> Vec<&Arc<LogFile>> {
        let mut files: Vec<&Arc<LogFile>> = self.stdout.iter().collect();
        files.extend(self.stderr.iter().filter(|file| !self.stdout.iter().any(|out| Arc::ptr_eq(out, file))));
        files
    }

    /// Opens the files by their names again: what was renamed is left alone from now on. The old file stays where the
    /// new one cannot be opened. The answer says what was done.
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

    /// Writes what has come out by now. From then on standard output is the file itself.
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

/// Whether this is systemd's journal, which says so by device and inode.
fn is_journal(file: &File) -> bool {
    let Ok(found) = file.metadata() else { return false };
    std::env::var("JOURNAL_STREAM").is_ok_and(|said| said == format!("{}:{}", found.dev(), found.ino()))
}

/// Writes what comes out of the pipe.
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

/// Our own lines on their way to the file.
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
