//! SQLite connections with limits on time, memory and the files they may open.

pub mod calls;
mod error;
mod functions;
pub mod memory;
mod statement;
mod watch;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;

use libsqlite3_sys as ffi;

pub use error::SqliteError;
pub use statement::{Form, Rows, Statement, bind_all};
pub use watch::Watch;

use memory::{Account, counted};

/// Prepared statements that a connection keeps.
const CACHE_STATEMENTS: usize = 64;
/// Bytes of SQL up to which a statement is kept; longer ones are rarely run twice.
const CACHE_SQL_BYTES: usize = 4096;

/// The mode in which a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Read only.
    ReadOnly,
    /// Read and write; the file must exist.
    ReadWrite,
    /// Read and write; the file is created if needed.
    Create,
}

/// An open database.
pub struct SqliteConnection {
    raw: NonNull<ffi::sqlite3>,
    /// The limits that SQLite's callbacks check. Boxed, since SQLite holds its address.
    pub watch: Box<Watch>,
    account: Arc<Account>,
    cache: RefCell<Vec<(Vec<u8>, NonNull<ffi::sqlite3_stmt>)>>,
}

impl SqliteConnection {
    /// Opens a file, or a database in memory where there is no path.
    pub fn open(
        path: Option<&Path>,
        mode: Mode,
        watch: Watch,
        account: &Arc<Account>,
    ) -> Result<Rc<SqliteConnection>, SqliteError> {
        let name = path.map_or(c":memory:".to_bytes(), |path| path.as_os_str().as_encoded_bytes());
        let name = CString::new(name).map_err(|_| misuse("path name contains null byte"))?;
        let flags = match mode {
            Mode::ReadOnly => ffi::SQLITE_OPEN_READONLY,
            Mode::ReadWrite => ffi::SQLITE_OPEN_READWRITE,
            Mode::Create => ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE,
        };
        // Only one thread uses it at a time, so SQLite need not lock it.
        let flags = flags | ffi::SQLITE_OPEN_NOMUTEX | ffi::SQLITE_OPEN_EXRESCODE;
        let mut raw = ptr::null_mut();
        // SAFETY: the name ends in NUL, and the place for the result is ours.
        let code =
            counted(account, || unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &raw mut raw, flags, ptr::null()) });
        let Some(raw) = NonNull::new(raw) else { return Err(SqliteError { code, message: "out of memory".into() }) };
        let connection = SqliteConnection {
            raw,
            watch: Box::new(watch),
            account: account.clone(),
            cache: RefCell::new(Vec::with_capacity(CACHE_STATEMENTS)),
        };
        connection.check(code)?;
        counted(account, || watch::attach(raw, &connection.watch, account.limit()));
        Ok(Rc::new(connection))
    }

    /// Ok for SQLITE_OK, else the connection's last error.
    fn check(&self, code: c_int) -> Result<(), SqliteError> {
        if code & 0xff == ffi::SQLITE_OK { Ok(()) } else { Err(self.error(code)) }
    }

    /// An error where there was no memory for the value that was read last.
    fn has_memory(&self) -> Result<(), SqliteError> {
        // SAFETY: the connection is open.
        let code = unsafe { ffi::sqlite3_errcode(self.raw.as_ptr()) };
        if code & 0xff == ffi::SQLITE_NOMEM { Err(self.error(code)) } else { Ok(()) }
    }

    fn error(&self, code: c_int) -> SqliteError {
        // SAFETY: the connection is open; SQLite's text ends in NUL and lives until the next call.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.raw.as_ptr())) };
        SqliteError { code, message: message.to_string_lossy().into_owned() }
    }

    /// Prepares the first statement of `sql` and returns it with the byte where the next one begins. None where there
    /// are only blanks and comments. `lasting` is for statements that are kept.
    fn prepare(&self, sql: &[u8], lasting: bool) -> Result<(Option<NonNull<ffi::sqlite3_stmt>>, usize), SqliteError> {
        let Ok(length) = c_int::try_from(sql.len()) else { return Err(misuse("the SQL is too long")) };
        let mut raw = ptr::null_mut();
        let mut tail = ptr::null();
        let flags = if lasting { ffi::SQLITE_PREPARE_PERSISTENT } else { 0 };
        // SAFETY: the connection is open; pointer and length are those of `sql`; the places for results are ours.
        let code = counted(&self.account, || unsafe {
            let text = sql.as_ptr().cast();
            ffi::sqlite3_prepare_v3(self.raw.as_ptr(), text, length, flags, &raw mut raw, &raw mut tail)
        });
        self.check(code).map_err(|error| self.point_at(error, sql))?;
        let used = if tail.is_null() { sql.len() } else { (tail as usize).saturating_sub(sql.as_ptr() as usize) };
        Ok((NonNull::new(raw), used.min(sql.len())))
    }

    /// Appends the SQL to the message, with a `^` below the place of the error.
    fn point_at(&self, error: SqliteError, sql: &[u8]) -> SqliteError {
        // SAFETY: the connection is open.
        let offset = unsafe { ffi::sqlite3_error_offset(self.raw.as_ptr()) };
        let mut left = usize::try_from(offset).ok();
        let mut message = format!("{}:", error.message);
        for line in String::from_utf8_lossy(sql).split_inclusive('\n') {
            message.push('\n');
            message.push_str(line.trim_end_matches('\n'));
            match left {
                Some(at) if at < line.len() => {
                    left = None;
                    let before = line.get(..at).map_or(at, |before| before.chars().count());
                    message.push_str(&format!("\n{}^", " ".repeat(before)));
                }
                Some(at) => left = Some(at - line.len()),
                None => {}
            }
        }
        SqliteError { message, ..error }
    }

    /// Keeps a prepared statement for the next use of the same SQL; the oldest one makes room.
    fn keep(&self, sql: Vec<u8>, raw: NonNull<ffi::sqlite3_stmt>) {
        let mut cache = self.cache.borrow_mut();
        if cache.len() >= CACHE_STATEMENTS {
            let (_, oldest) = cache.remove(0);
            self.finalize(oldest);
        }
        cache.push((sql, raw));
    }

    fn finalize(&self, raw: NonNull<ffi::sqlite3_stmt>) {
        // SAFETY: the statement belongs to this open connection, and its caller has given up the only pointer to it.
        counted(&self.account, || unsafe { ffi::sqlite3_finalize(raw.as_ptr()) });
    }

    /// Number of rows that the last statement changed.
    pub fn changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_changes64(self.raw.as_ptr()) }
    }

    /// Number of rows changed since the connection was opened.
    pub fn total_changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_total_changes64(self.raw.as_ptr()) }
    }

    /// Rowid of the row that was inserted last.
    pub fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_last_insert_rowid(self.raw.as_ptr()) }
    }

    /// Whether a transaction is under way.
    pub fn is_in_transaction(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.raw.as_ptr()) == 0 }
    }
}

impl Drop for SqliteConnection {
    fn drop(&mut self) {
        let cached = std::mem::take(&mut *self.cache.borrow_mut());
        cached.into_iter().for_each(|(_, raw)| self.finalize(raw));
        // SAFETY: statements hold a reference to the connection, so there is none left, and this is its last use.
        counted(&self.account, || unsafe { ffi::sqlite3_close(self.raw.as_ptr()) });
    }
}

fn misuse(message: &str) -> SqliteError {
    SqliteError { code: ffi::SQLITE_MISUSE, message: message.into() }
}
