//! Output of a command with a time limit.

use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::gate::{note, start};
use super::ledger::LedgerEntry;

/// Interval at which the end of the command is polled.
const LOOK: Duration = Duration::from_millis(5);
/// Time for the rest of the output after the command has ended: a process that it left behind may keep the pipe open.
const REST: Duration = Duration::from_secs(1);
/// Most pieces of output that are kept; further ones are dropped.
const PIECES: usize = 1024;
/// Most bytes of a piece.
const PIECE_BYTES: usize = 8 * 1024;

/// Runs a command without input to its end, and returns its output. If it has not ended after `limit`, it is killed
/// with all processes of its group, and that is an error.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = start(command)?;
    let stdout = child.stdout.take().map(pieces);
    let stderr = child.stderr.take().map(pieces);
    let end = Instant::now() + limit;
    let ended = loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => thread::park_timeout(LOOK),
            other => break other,
        }
    };
    if !matches!(ended, Ok(Some(_))) {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // One that ends at this moment needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
    }
    note(&LedgerEntry::Ended(child.id()));
    let status = ended?.ok_or_else(|| {
        io::Error::new(ErrorKind::TimedOut, format!("it did not end within {limit:?} and was killed"))
    })?;
    let end = Instant::now() + REST;
    let all = |pieces: Option<Receiver<Vec<u8>>>| pieces.map(|pieces| joined(&pieces, end)).unwrap_or_default();
    Ok(Output { status, stdout: all(stdout), stderr: all(stderr) })
}

/// Reads a stream on a thread of its own, piece by piece: a command whose output is not read would block.
fn pieces(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(PIECES);
    thread::spawn(move || {
        let mut bytes = [0; PIECE_BYTES];
        loop {
            match stream.read(&mut bytes) {
                // A piece is dropped if the channel is full.
                Ok(count) if count > 0 => drop(sender.try_send(bytes[..count].to_vec())),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
    receiver
}

/// Output until the end of the stream, or until `end`. It is bounded as well: a process that was left behind may write
/// without end, so that there is always another piece.
fn joined(pieces: &Receiver<Vec<u8>>, end: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < PIECES * PIECE_BYTES
        && let Ok(piece) = pieces.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        all.extend(piece);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> io::Result<Output> {
        output_within(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn a_command_says_what_it_says_and_how_it_ended() {
        let output = run("echo out; echo err >&2; exit 3", Duration::from_secs(60)).expect("its output");
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
        // More than a pipe holds.
        let large = run("head -c 200000 /dev/zero", Duration::from_secs(60)).expect("its output");
        assert_eq!((large.stdout.len(), large.status.success()), (200_000, true));
        assert!(output_within(&mut Command::new("no-such-program-here"), Duration::from_secs(60)).is_err());
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_has_started() {
        let begun = Instant::now();
        let error = run("sleep 600; true", Duration::from_millis(50)).expect_err("it hangs");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("did not end within 50ms"), "{error}");
        // What it has left behind has its output, and is not waited for.
        let output = run("sleep 20 & echo here", Duration::from_secs(60)).expect("its output");
        assert_eq!(output.stdout, b"here\n");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn one_that_is_left_behind_and_writes_on_and_on_is_not_read_for_ever() {
        // For two seconds, and not for ever, which would outlast the test.
        let output = run("timeout 2 yes & sleep 0.1", Duration::from_secs(60)).expect("its output");
        let length = output.stdout.len();
        assert!((1..(PIECES + 1) * PIECE_BYTES).contains(&length), "{length} bytes");
    }
}
