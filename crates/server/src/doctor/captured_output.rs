//! What the application prints while it is examined: it goes to standard error, and no more of it than anybody reads.
//! Standard output is for what the doctor says.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// So much is passed on.
const PASSED_MAX: usize = 64 << 10;
/// For what was printed at the end. A process that the application has left behind may hold the pipe longer.
const END: Duration = Duration::from_millis(500);

/// From its making to its end, whatever this process and its children print is put aside.
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
            // Nobody hears it where the doctor has gone on.
            let _ = tell.send(pass(reader, out));
        })?;
        rustix::stdio::dup2_stdout(&writer)?;
        rustix::stdio::dup2_stderr(&writer)?;
        Ok(CapturedOutput { stdout, stderr, left_out })
    }

    /// Standard output and standard error are what they were.
    pub fn end(self) -> io::Result<()> {
        io::stdout().flush()?;
        rustix::stdio::dup2_stdout(&self.stdout)?;
        rustix::stdio::dup2_stderr(&self.stderr)?;
        match self.left_out.recv_timeout(END) {
            Ok(bytes @ 1..) => writeln!(io::stderr(), "\n... {bytes} more bytes that the application printed left out"),
            _ => Ok(()),
        }
    }
}

/// Reads to the end, so that nobody who prints has to wait, and passes the beginning on. How much it did not.
fn pass(mut from: PipeReader, mut to: impl Write) -> u64 {
    let mut buffer = [0; 8192];
    let (mut passed, mut left_out) = (0, 0);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return left_out,
            Ok(length) => {
                let fits = length.min(PASSED_MAX - passed);
                // Where nobody takes it, it is not missed.
                let _ = to.write_all(&buffer[..fits]);
                passed += fits;
                left_out += (length - fits) as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return left_out,
        }
    }
}
