//! Log files (`--log-file`, `--redirect-stdout`, `--redirect-stderr`), which can be opened anew after a rotation.
//!
//! With a log file this process's standard output is a pipe to a thread of its own, which writes what comes out of it
//! to the file: what the application's processes print, whichever they are and whenever they were started, goes to the
//! new file as soon as that thread has it. Our own lines go past the pipe, straight to the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// So much of what an application prints is written at once.
const READ_BYTES: usize = 64 * 1024;
/// At the end, what is in a pipe is written in this time; a process that lives on may hold the pipe open for ever.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// Where standard output and standard error go.
#[derive(Debug, Default)]
pub struct LogFiles {
    stdout: Option<Arc<LogFile>>,
    stderr: Option<Arc<LogFile>>,
    /// Our own lines go where standard error goes, if that is a file.
    logs_to_stderr: bool,
    /// Closed when their thread has written all.
    ends: Mutex<Vec<Receiver<()>>>,
    /// What standard error was, if that is a file now: until the server serves somebody may look there.
    before: Mutex<Option<File>>,
}

/// One open file.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Bytes that could not be written since the last that could.
    lost: usize,
    /// What was written last is the beginning of a line.
    is_cut: bool,
}

impl LogFiles {
    /// Opens what was asked for, and turns standard output and standard error there.
    /// Our own lines go with standard output, or with standard error where that is wanted and is a file.
    pub fn open(stdout: Option<&Path>, stderr: Option<&Path>, logs_to_stderr: bool) -> Result<LogFiles, String> {
        let one = |path: &Path| LogFile::open(path).map(Arc::new);
        let out = stdout.map(one).transpose()?;
        let err = match (&out, stderr) {
            (Some(out), Some(path)) if out.path == absolute(path)? => Some(out.clone()),
            (_, path) => path.map(one).transpose()?,
        };
        let (ends, before) = (Mutex::default(), Mutex::default());
        let files = LogFiles { stdout: out, stderr: err, logs_to_stderr, ends, before };
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
            *self.before() = Some(before.into());
            let (reader, writer) = io::pipe()?;
            rustix::stdio::dup2_stderr(&writer)?;
            ends.push(follow(reader, file.clone())?);
        }
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner) = ends;
        Ok(())
    }

    /// Where our own lines are written.
    pub fn own_lines(&self) -> Box<dyn Write + Send> {
        let file = self.stderr.as_ref().filter(|_| self.logs_to_stderr).or(self.stdout.as_ref());
        match file {
            Some(file) => Box::new(Writer(file.clone())),
            None => Box::new(io::stdout()),
        }
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        // It is replaced whole.
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says why there is no server to whoever started it, where standard error is a file by now.
    pub fn tell_starter(&self, text: &str) {
        if let Some(mut before) = self.before().take() {
            // It may be closed.
            let _ = before.write_all(text.as_bytes());
        }
    }

    /// The server serves: whoever started it can go.
    pub fn let_starter_go(&self) {
        self.before().take();
    }

    /// Where the files are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().into_iter().map(|file| file.path.as_path())
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
        let wrong: Vec<String> = files.iter().filter_map(|file| file.reopen().err()).collect();
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        Ok(format!("opened anew: {}", names.join(", ")))
    }

    /// Writes what has come out by now. From then on standard output is the file itself.
    pub fn finish(&self) {
        for (file, is_out) in self.stdout.iter().map(|file| (file, true)).chain(self.stderr.iter().map(|f| (f, false)))
        {
            let open = file.lock();
            let file = open.file.as_fd();
            let _ = if is_out { rustix::stdio::dup2_stdout(file) } else { rustix::stdio::dup2_stderr(file) };
        }
        for end in self.ends.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = end.recv_timeout(LAST_WORDS_TIME);
        }
    }
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

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("the log file {}: {error}", path.display()))
}

fn append(path: &Path) -> Result<File, String> {
    let told = |error: io::Error| format!("the log file {} cannot be opened: {error}", path.display());
    let kind = fs::metadata(path).ok().map(|found| found.file_type());
    if kind.is_some_and(|kind| kind.is_dir()) {
        return Err(format!("the log file {} is a folder", path.display()));
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    if !kind.is_some_and(|kind| kind.is_fifo()) {
        return options.open(path).map_err(told);
    }
    // To open a pipe without a reader would be to wait for one.
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => format!("the log file {} is a pipe that nobody reads", path.display()),
        _ => told(error),
    })?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND).map_err(|error| told(error.into()))?;
    Ok(file)
}

impl LogFile {
    fn open(path: &Path) -> Result<LogFile, String> {
        let path = absolute(path)?;
        let file = append(&path)?;
        Ok(LogFile { path, open: Mutex::new(Open { file, lost: 0, is_cut: false }) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        // A file that is swapped half-way does not exist.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reopen(&self) -> Result<(), String> {
        let file = append(&self.path).map_err(|why| match self.path.try_exists() {
            Ok(false) if self.path.parent().is_some_and(|folder| !folder.exists()) => {
                format!("{why}: its folder is gone; until it is back the log goes on in the old file")
            }
            Ok(false) => format!(
                "{why}; where this process may not make files the rotation has to (`create` in logrotate's \
                 configuration), until then the log goes on in the old one"
            ),
            _ => why,
        })?;
        let open = &mut *self.lock();
        (open.file, open.is_cut) = (file, false);
        Ok(())
    }

    /// A full disk costs lines, and nothing else; how much was lost is told when there is room again.
    fn write(&self, bytes: &[u8]) {
        let open = &mut *self.lock();
        if open.lost > 0 {
            let first = if open.is_cut { "\n" } else { "" };
            let told = format!("{first}{} bytes of the log could not be written, and are lost\n", open.lost);
            if open.put(told.as_bytes()) == 0 {
                open.lost = 0;
            }
        }
        open.lost += if open.lost > 0 { bytes.len() } else { open.put(bytes) };
    }
}

impl Open {
    /// Writes as much as there is room for; how much is left.
    fn put(&mut self, mut bytes: &[u8]) -> usize {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => break,
                Ok(count) => {
                    self.is_cut = bytes[count - 1] != b'\n';
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        bytes.len()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_renamed_is_left_alone_after_a_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("log"), folder.path().join("log.1"));
        let file = LogFile::open(&path).unwrap();
        file.write(b"one\n");
        fs::rename(&path, &aside).unwrap();
        file.write(b"two\n");
        file.reopen().unwrap();
        file.write(b"three\n");
        assert_eq!(fs::read_to_string(&aside).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    }

    #[test]
    fn what_was_lost_is_told_on_a_line_of_its_own() {
        // Half of a line had room.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let file = LogFile::open(&path).unwrap();
        file.write(b"2026");
        file.lock().lost = 988;
        file.write(b"next\n");
        let told = "2026\n988 bytes of the log could not be written, and are lost\nnext\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), told);
        file.lock().lost = 5;
        file.write(b"last\n");
        let more = "5 bytes of the log could not be written, and are lost\nlast\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{told}{more}"));
    }

    #[test]
    fn a_full_disk_is_counted_and_a_pipe_needs_a_reader() {
        let full = LogFile::open(Path::new("/dev/full")).unwrap();
        full.write(b"one\n");
        full.write(b"two\n");
        assert_eq!(full.lock().lost, 8);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(LogFile::open(&path).unwrap_err().contains("is a pipe that nobody reads"));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let reader = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        LogFile::open(&path).unwrap().write(b"line\n");
        let mut text = [0; 5];
        File::from(reader).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"line\n");
    }

    #[test]
    fn the_old_file_stays_where_a_new_one_cannot_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("logs");
        fs::create_dir(&inner).unwrap();
        let file = LogFile::open(&inner.join("log")).unwrap();
        fs::rename(&inner, folder.path().join("moved")).unwrap();
        let why = file.reopen().unwrap_err();
        assert!(why.contains("cannot be opened") && why.contains("its folder is gone"), "{why}");
        file.write(b"still\n");
        assert_eq!(fs::read_to_string(folder.path().join("moved/log")).unwrap(), "still\n");
        assert!(LogFile::open(folder.path()).unwrap_err().contains("is a folder"));
    }

    #[test]
    fn a_full_disk_costs_lines_and_says_so_later() {
        let folder = tempfile::tempdir().unwrap();
        let file = LogFile::open(Path::new("/dev/full")).unwrap();
        file.write(b"lost\n");
        file.write(b"lost too\n");
        let path = folder.path().join("log");
        file.lock().file = append(&path).unwrap();
        file.write(b"here\n");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "14 bytes of the log could not be written, and are lost\nhere\n");
    }
}
