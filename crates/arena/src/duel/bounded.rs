//! Bounded reading of files and pipes that a user names: a device that never ends, or a pipe without a writer, is an
//! error instead of an endless wait.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// Reads all of a regular file of at most `most` bytes. `what` names its purpose in each error message.
pub fn file(path: &Path, what: &str, most: u64) -> Result<Vec<u8>, String> {
    let complaint = |words: &str| format!("cannot read {what} {}: {words}", path.display());
    let cannot = |error: io::Error| complaint(&error.to_string());
    // A device or a pipe may give endless bytes, or none.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(complaint("it is no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(cannot)?.take(most + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > most {
        return Err(complaint(&format!("it has more than {most} bytes, which is the most")));
    }
    Ok(bytes)
}

/// Opens a file for reading. Does not wait for the writer of a pipe: a [`TimeoutReader`] waits for its data.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Reader that fails when no bytes arrive for a time.
#[derive(Debug)]
pub struct TimeoutReader<R> {
    input: R,
    timeout: Duration,
}

impl<R: Read + AsFd> TimeoutReader<R> {
    /// Reads from `input` directly, which must not buffer.
    pub fn new(input: R, timeout: Duration) -> TimeoutReader<R> {
        TimeoutReader { input, timeout }
    }

    fn wait(&self) -> io::Result<()> {
        let limit = Timespec { tv_sec: self.timeout.as_secs() as i64, tv_nsec: self.timeout.subsec_nanos().into() };
        let mut asked = [PollFd::new(&self.input, PollFlags::IN)];
        if poll(&mut asked, Some(&limit))? > 0 {
            return Ok(());
        }
        let words = format!("nothing came for {:?}: is there somebody who writes?", self.timeout);
        Err(io::Error::new(io::ErrorKind::TimedOut, words))
    }
}

impl<R: Read + AsFd> Read for TimeoutReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            match self.input.read(bytes) {
                // Another reader of the pipe has taken the data.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn plain_files_only_and_no_more_than_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body");
        fs::write(&path, "1234").unwrap();
        assert_eq!(file(&path, "the body", 4).unwrap(), b"1234");
        assert!(file(&path, "the body", 3).unwrap_err().contains("more than 3 bytes"));
        for other in ["/dev/zero", "/"] {
            let error = file(Path::new(other), "the body", 9).unwrap_err();
            assert_eq!(error, format!("cannot read the body {other}: it is no plain file"));
        }
        assert!(file(&folder.path().join("none"), "the body", 9).unwrap_err().contains("No such file"));
    }

    #[test]
    fn silence_is_an_end() {
        let (input, mut writer) = io::pipe().unwrap();
        let mut reader = TimeoutReader::new(input, Duration::from_millis(30));
        writer.write_all(b"ab").unwrap();
        let mut bytes = [0; 9];
        assert_eq!(reader.read(&mut bytes).unwrap(), 2);
        let error = reader.read(&mut bytes).unwrap_err();
        assert!(error.to_string().contains("nothing came for 30ms"), "{error}");
        drop(writer);
        assert_eq!(reader.read(&mut bytes).unwrap(), 0);
    }
}
