//! The ledger of this program, and the gate, a lock for changes to it, which closes for ever when the program is
//! interrupted.

use std::io;
use std::mem;
use std::process::{Child, Command};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::adopted;
use super::guard;
use super::ledger::{KILLING, Ledger, LedgerEntry};
use super::until;

/// The ledger of this program.
static OWN: Mutex<Ledger> = Mutex::new(Ledger::of(0));
/// Held while something is started or recorded, and for ever once the program is interrupted.
static GATE: Mutex<()> = Mutex::new(());

/// Locks the gate. Everything that starts a process, records a measurement or prints holds this lock meanwhile; after
/// [`halt`] it is never free again.
pub fn gate() -> MutexGuard<'static, ()> {
    GATE.lock()
}

/// Starts a child of this program and records it. Whoever has waited for it records its end.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let _gate = gate();
    let child = adopted::started(command)?;
    note(&LedgerEntry::Started(child.id()));
    Ok(child)
}

/// Records an entry in the ledger, here and in the guard process.
pub fn note(entry: &LedgerEntry) {
    if let LedgerEntry::Ended(id) = entry {
        adopted::forget(*id);
    }
    let mut own = OWN.lock();
    own.change(entry);
    guard::tell(entry);
}

/// Closes the gate for ever, ends all processes of this program, and removes its folders. Sends SIGTERM first and waits
/// for `patience`, unless `is_hurried` returns true.
pub fn halt(patience: Duration, is_hurried: &dyn Fn() -> bool) {
    // A thread that holds the gate for long is blocked by a reader of its output.
    until(KILLING, || GATE.try_lock().map(mem::forget).is_some());
    let mut own = OWN.lock().clone();
    (own.owner, own.guard) = (std::process::id(), guard::id());
    own.end(patience, is_hurried);
}
