//! The guard: a small process that outlives this program if that is killed, and then ends what it has started. It
//! learns of everything through a pipe, whose end means the end of the program.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parking_lot::Mutex;

use super::ledger::{Ledger, LedgerEntry};

/// Time for servers to end after SIGTERM.
pub const PATIENCE: Duration = Duration::from_secs(2);

static GUARD: Mutex<Option<Child>> = Mutex::new(None);

/// Starts the guard: this program's executable with the arguments `words`, by which it recognises its role. Only
/// programs have one: a test ends what it starts itself.
pub fn post(words: &[&str]) -> Result<(), String> {
    // The file of this program may have been replaced since it was started.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("arena").args(words).arg(std::process::id().to_string()).current_dir("/");
    // A process that waits for the end of our output must not wait for the guard. Ctrl-C goes to the terminal's process
    // group, which the guard leaves.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let child = command.spawn().map_err(|error| format!("cannot start a guard for the servers: {error}"))?;
    *GUARD.lock() = Some(child);
    Ok(())
}

/// Ends the guard, and waits until it has ended. Nothing may be left for it to end.
pub fn dismiss() {
    let guard = GUARD.lock().take();
    if let Some(mut child) = guard {
        drop(child.stdin.take());
        let _ = child.wait();
    }
}

/// Main function of the guard: follows the ledger until the program is gone, then ends what is left.
pub fn stand(owner: u32, input: impl BufRead) {
    let mut ledger = Ledger::of(owner);
    let lines = input.lines().map_while(Result::ok);
    lines.filter_map(|line| read(&line)).for_each(|entry| ledger.change(&entry));
    ledger.end(PATIENCE, &|| false);
}

pub(super) fn id() -> Option<u32> {
    GUARD.lock().as_ref().map(Child::id)
}

pub(super) fn tell(entry: &LedgerEntry) {
    let mut guard = GUARD.lock();
    let Some(pipe) = guard.as_mut().and_then(|child| child.stdin.as_mut()) else { return };
    // Without a guard the program still ends everything itself, unless it is killed.
    let _ = pipe.write_all(format!("{}\n", written(entry)).as_bytes());
}

fn written(entry: &LedgerEntry) -> String {
    match entry {
        LedgerEntry::Started(id) => format!("started {id}"),
        LedgerEntry::Ended(id) => format!("ended {id}"),
        LedgerEntry::Made(folder) => format!("made {}", folder.display()),
        LedgerEntry::Removed(folder) => format!("removed {}", folder.display()),
    }
}

fn read(line: &str) -> Option<LedgerEntry> {
    let (what, which) = line.split_once(' ')?;
    match what {
        "started" => which.parse().ok().map(LedgerEntry::Started),
        "ended" => which.parse().ok().map(LedgerEntry::Ended),
        "made" => Some(LedgerEntry::Made(PathBuf::from(which))),
        "removed" => Some(LedgerEntry::Removed(PathBuf::from(which))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let folder = PathBuf::from("/a b/c");
        for entry in [
            LedgerEntry::Started(7),
            LedgerEntry::Ended(7),
            LedgerEntry::Made(folder.clone()),
            LedgerEntry::Removed(folder),
        ] {
            assert_eq!(read(&written(&entry)), Some(entry));
        }
        for line in ["", "started", "started x", "other 7"] {
            assert_eq!(read(line), None);
        }
    }
}
