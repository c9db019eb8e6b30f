//! The ledger of this program, and the gate through which it is written: closed for ever when the program ends in the
//! middle.

use std::mem;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::guard;
use super::ledger::{Entry, KILLING, Ledger};
use super::until;

/// That of this program.
static OWN: Mutex<Ledger> = Mutex::new(Ledger::of(0));
/// Held while something is started or written down, and for ever once the program ends in the middle.
static GATE: Mutex<()> = Mutex::new(());

/// Whoever starts something, writes down what was measured, or tells somebody passes here, and holds what it gets
/// meanwhile: when servers are ended because the program has to end, nobody passes any more.
pub fn gate() -> MutexGuard<'static, ()> {
    GATE.lock()
}

/// Writes it down, here and with the guard.
pub fn note(entry: &Entry) {
    let mut own = OWN.lock();
    own.change(entry);
    guard::tell(entry);
}

/// Lets nobody pass the gate again, ends all processes of this program, and removes its folders. Politely at first,
/// for as long as `patience`, unless `is_hurried` says otherwise.
pub fn halt(patience: Duration, is_hurried: &dyn Fn() -> bool) {
    // Whoever holds it for long waits for somebody who does not read what is said.
    until(KILLING, || GATE.try_lock().map(mem::forget).is_some());
    let mut own = OWN.lock().clone();
    (own.owner, own.guard) = (std::process::id(), guard::id());
    own.end(patience, is_hurried);
}
