//! Errors of SQLite, and their exceptions in Ruby.

use std::ffi::c_int;

use libsqlite3_sys as ffi;

use ruby_native::{Raise, raise};

/// Error code of ours, not of SQLite: a value for which SQLite has no type.
pub const WRONG_TYPE: c_int = -1;

/// An error of SQLite.
#[derive(Debug)]
pub struct SqliteError {
    /// SQLite's (extended) result code.
    pub code: c_int,
    /// SQLite's message.
    pub message: String,
}

/// Exception classes of the gem sqlite3 by SQLite's primary result code, from 1 (SQLITE_ERROR) on.
const CLASSES: [&str; 26] = [
    "SQLite3::SQLException",
    "SQLite3::InternalException",
    "SQLite3::PermissionException",
    "SQLite3::AbortException",
    "SQLite3::BusyException",
    "SQLite3::LockedException",
    "SQLite3::MemoryException",
    "SQLite3::ReadOnlyException",
    "SQLite3::InterruptException",
    "SQLite3::IOException",
    "SQLite3::CorruptException",
    "SQLite3::NotFoundException",
    "SQLite3::FullException",
    "SQLite3::CantOpenException",
    "SQLite3::ProtocolException",
    "SQLite3::EmptyException",
    "SQLite3::SchemaChangedException",
    "SQLite3::TooBigException",
    "SQLite3::ConstraintException",
    "SQLite3::MismatchException",
    "SQLite3::MisuseException",
    "SQLite3::UnsupportedException",
    "SQLite3::AuthorizationException",
    "SQLite3::FormatException",
    "SQLite3::RangeException",
    "SQLite3::NotADatabaseException",
];

impl SqliteError {
    /// The exception for Ruby.
    pub fn raise(self) -> Raise {
        if self.code == WRONG_TYPE {
            return raise("RuntimeError", self.message);
        }
        let at = usize::try_from((self.code & 0xff) - 1).ok();
        let class = at.and_then(|at| CLASSES.get(at)).copied().unwrap_or("SQLite3::Exception");
        raise(class, self.message)
    }

    /// Whether the watch may have ended the statement: while it ran, or while it waited for a lock.
    pub fn is_of_watch(&self) -> bool {
        matches!(self.code & 0xff, ffi::SQLITE_INTERRUPT | ffi::SQLITE_BUSY)
    }
}
