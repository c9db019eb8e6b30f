//! Captures the application's output while it is examined: it goes to standard error, up to a limit. Standard output is
//! for the doctor's report.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Bytes that are passed on.
const PASSED_MAX: u64 = 64 << 10;
/// Time to wait for the last output: a process that the application has left behind may hold the pipe for longer.
const END: Duration = Duration::from_millis(500);

/// Redirects the output of this process and its children, until [`CapturedOutput::end`].
pub struct CapturedOutput {
    stdout: OwnedFd,
    stderr: OwnedFd,
    left_out: Receiver<u64>,
}

impl CapturedOutput {
    pub fn begin() -> io::Result<CapturedOutput> {
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let (reader, writer) = io::pipe()?;
        let out = File::from(stderr.try_clone()?);
        let (tell, left_out) = mpsc::sync_channel(1);
        thread::Builder::new().name("prints".to_owned()).spawn(move || {
            // Without a receiver the doctor has gone on.
            let _ = tell.send(pass(reader, out));
        })?;
        rustix::stdio::dup2_stdout(&writer)?;
        rustix::stdio::dup2_stderr(&writer)?;
        Ok(CapturedOutput { stdout, stderr, left_out })
    }

    /// Restores standard output and standard error.
    pub fn end(self) -> io::Result<()> {
        io::stdout().flush()?;
        rustix::stdio::dup2_stdout(&self.stdout)?;
        rustix::stdio::dup2_stderr(&self.stderr)?;
        match self.left_out.recv_timeout(END) {
            Ok(bytes @ 1..) => {
                let bytes = engine::count(bytes, "more byte");
                writeln!(io::stderr(), "\n... {bytes} that the application printed left out")
            }
            _ => Ok(()),
        }
    }
}

/// Reads to the end, so that no writer blocks, and passes the beginning on. Returns the number of bytes left out.
fn pass(mut from: PipeReader, mut to: impl Write) -> u64 {
    let passed = io::copy(&mut from.by_ref().take(PASSED_MAX), &mut to);
    let left_out = io::copy(&mut from, &mut io::sink()).unwrap_or(0);
    // A closed standard error loses nothing of interest.
    passed.map_or(0, |_| left_out)
}
