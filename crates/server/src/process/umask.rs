//! Sets this process's umask. The process that takes its place inherits it, and must have the previous one again where
//! its settings name none.

use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::process::umask;

use crate::process::parent;

/// Variable that tells a successor the umask from before the settings changed it, in octal.
pub const VARIABLE: &str = "FOOLSGOLD_UMASK";

static BEFORE: OnceLock<u32> = OnceLock::new();

/// The umask before [`set`] changed it, in octal.
pub fn before() -> Option<String> {
    BEFORE.get().map(|bits| format!("{bits:03o}"))
}

/// Sets the umask of the settings, or else the one that the parent process had before it set its own.
pub fn set(wanted: Option<u32>) {
    let handed = parent::variable(VARIABLE).and_then(|text| u32::from_str_radix(&text, 8).ok());
    let Some(bits) = wanted.or(handed) else { return };
    let inherited = umask(Mode::from_bits_truncate(bits));
    let _ = BEFORE.set(handed.unwrap_or(inherited.bits()));
}
