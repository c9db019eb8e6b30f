//! Orphans of servers: processes whose parent has ended. They become children of this program, and not of the machine's
//! first process, so that they are known to be a server's even if they have left its session and emptied their
//! environment.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

/// Whether this program adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);
/// The children that it has started, until it has waited for them. Held while one is started.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes orphans children of this program from now on. Only for a program whose children are started through the gate,
/// or stay in its own session: others would be taken for orphans, and be waited for here.
pub fn adopt() -> Result<(), String> {
    set_child_subreaper(Some(getpid())).map_err(|error| format!("cannot adopt what servers leave: {error}"))?;
    ADOPTS.store(true, Ordering::Release);
    Ok(())
}

/// Starts a child.
pub(super) fn started(command: &mut Command) -> io::Result<Child> {
    let mut all = STARTED.lock();
    let child = command.spawn()?;
    all.insert(child.id());
    Ok(child)
}

/// Forgets a child, which has been waited for.
pub(super) fn forget(id: u32) {
    STARTED.lock().remove(&id);
}

/// Whether this program adopts orphans.
pub(super) fn adopts() -> bool {
    ADOPTS.load(Ordering::Acquire)
}

/// Whether this program has started this child itself.
pub(super) fn is_started(id: u32) -> bool {
    STARTED.lock().contains(&id)
}

/// Waits for an adopted child that has ended, so that nothing is left of it.
pub(super) fn reap(id: u32) {
    let all = STARTED.lock();
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    // Who has started a child waits for it, to know how it has ended.
    if !all.contains(&id) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}
