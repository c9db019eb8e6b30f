//! Limits of a connection, checked by SQLite's callbacks: the deadline, the wait for a lock, and the files that a
//! statement may open.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use libsqlite3_sys as ffi;

use super::functions;
use ruby_native::folders::Folders;

/// Steps of SQLite's virtual machine between two checks of the deadline: a small part of a millisecond.
const STEPS: c_int = 1000;
/// Time for rolling back a transaction after the deadline.
const MOMENT: Duration = Duration::from_millis(500);
/// Milliseconds to sleep before the first attempt to get a lock again, the second, and so on.
const WAITS_MS: [u64; 10] = [1, 2, 5, 10, 15, 20, 25, 25, 50, 100];

/// The limits of one connection.
pub struct Watch {
    /// Whether the interpreter must stop at an instant.
    end: Box<dyn Fn(Instant) -> bool>,
    folders: Folders,
    /// The deadline of the statement.
    until: Cell<Instant>,
    /// Whether `end` counts as well.
    obeys: Cell<bool>,
    /// Time that a statement may wait for a lock.
    busy: Cell<Duration>,
    waiting_since: Cell<Instant>,
}

impl Watch {
    /// Limits for an interpreter that must stop when `end` returns true, and that may open files in `folders`.
    pub fn new(end: Box<dyn Fn(Instant) -> bool>, folders: Folders) -> Watch {
        let now = Instant::now();
        Watch {
            end,
            folders,
            until: Cell::new(now),
            obeys: Cell::new(true),
            busy: Cell::new(Duration::from_secs(5)),
            waiting_since: Cell::new(now),
        }
    }

    /// Sets the deadline of the statements that follow.
    pub fn allow(&self, until: Instant) {
        self.until.set(until);
        self.obeys.set(true);
    }

    /// Gives the statements that follow `MOMENT` from now, even after the request's deadline.
    pub fn allow_a_moment(&self) {
        self.until.set(Instant::now() + MOMENT);
        self.obeys.set(false);
    }

    /// Sets the time that a statement may wait for a lock.
    pub fn set_busy(&self, busy: Duration) {
        self.busy.set(busy);
    }

    /// The SQL to run instead of `PRAGMA busy_timeout`, whose number is set here: SQLite's own pragma would not set or
    /// return the time of our handler. It returns the same row as SQLite's. None for other SQL.
    pub fn busy_pragma(&self, sql: &[u8]) -> Option<String> {
        let text = without(sql.trim_ascii(), "pragma")?;
        let text = text.first().is_some_and(u8::is_ascii_whitespace).then(|| text.trim_ascii())?;
        let text = text.strip_suffix(b";").unwrap_or(text);
        let value = without(without(text, "main.").unwrap_or(text), BUSY)?.trim_ascii();
        if !value.is_empty() {
            let in_brackets = || value.strip_prefix(b"(")?.strip_suffix(b")");
            let number = value.strip_prefix(b"=").or_else(in_brackets)?.trim_ascii();
            let number: i64 = std::str::from_utf8(number).ok()?.parse().ok()?;
            self.set_busy(Duration::from_millis(u64::try_from(number).unwrap_or(0)));
        }
        Some(format!("SELECT {} AS timeout", self.busy.get().as_millis()))
    }

    fn is_over(&self) -> bool {
        let now = Instant::now();
        now >= self.until.get() || (self.obeys.get() && (self.end)(now))
    }

    fn wait(&self, count: usize) -> bool {
        let now = Instant::now();
        if count == 0 {
            self.waiting_since.set(now);
        }
        let since = self.waiting_since.get();
        let ends = since.checked_add(self.busy.get()).map_or(self.until.get(), |ends| ends.min(self.until.get()));
        if now >= ends || self.is_over() {
            return false;
        }
        let wait = Duration::from_millis(*WAITS_MS.get(count).unwrap_or(&100));
        #[expect(clippy::disallowed_methods, reason = "in a runner's thread, for a lock of another connection's")]
        std::thread::sleep(wait.min(ends.saturating_duration_since(now)));
        true
    }

    fn may_attach(&self, name: &CStr) -> bool {
        let name = name.to_bytes();
        // A temporary database has no name. `file:` URIs are refused, since they have parameters.
        let is_temporary = name.is_empty() || name == b":memory:";
        let path = Path::new(OsStr::from_bytes(name));
        is_temporary || (!name.starts_with(b"file:") && self.folders.database(path, true).is_ok())
    }
}

/// Sets the limits and callbacks of a connection that has just been opened.
pub fn attach(raw: NonNull<ffi::sqlite3>, watch: &Watch, memory_bytes: usize) {
    let db = raw.as_ptr();
    let data = ptr::from_ref(watch).cast_mut().cast::<c_void>();
    let bytes = |share: usize| c_int::try_from(memory_bytes / share).unwrap_or(c_int::MAX);
    // SAFETY: the connection is open; the watch is boxed and lives as long as the connection; none of these functions
    // keeps anything else of ours.
    unsafe {
        ffi::sqlite3_progress_handler(db, STEPS, Some(on_progress), data);
        ffi::sqlite3_busy_handler(db, Some(on_busy), data);
        ffi::sqlite3_set_authorizer(db, Some(on_action), data);
        ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_LENGTH, bytes(4));
        ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
        // Matching a long text with a long pattern takes the product of both.
        ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 250);
        // Threads of SQLite's own would not be counted.
        ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_WORKER_THREADS, 0);
        // As in every other SQLite: off until the application asks for it.
        ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_ENABLE_FKEY, 0 as c_int, ptr::null_mut::<c_int>());
        ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_DEFENSIVE, 1 as c_int, ptr::null_mut::<c_int>());
        // What is sorted stays in memory that is counted, instead of filling the disk.
        ffi::sqlite3_exec(db, c"PRAGMA temp_store = MEMORY".as_ptr(), None, ptr::null_mut(), ptr::null_mut());
    }
    functions::define(db);
}

/// The watch behind the pointer that SQLite passes to its callbacks.
// SAFETY: to be called with the pointer that SQLite was given, while the connection is open.
unsafe fn watch<'a>(data: *mut c_void) -> &'a Watch {
    // SAFETY: it is the one from `attach`, which lives as long as the connection that calls.
    unsafe { &*data.cast::<Watch>() }
}

unsafe extern "C" fn on_progress(data: *mut c_void) -> c_int {
    // SAFETY: SQLite passes the pointer that `attach` gave to sqlite3_progress_handler.
    c_int::from(unsafe { watch(data) }.is_over())
}

unsafe extern "C" fn on_busy(data: *mut c_void, count: c_int) -> c_int {
    // SAFETY: SQLite passes the pointer that `attach` gave to sqlite3_busy_handler.
    c_int::from(unsafe { watch(data) }.wait(usize::try_from(count).unwrap_or(usize::MAX)))
}

/// Pragmas that are refused, since they affect more than their connection.
const REFUSED: [&str; 5] =
    ["temp_store_directory", "data_store_directory", "hard_heap_limit", "soft_heap_limit", "threads"];
/// Pragmas that are ignored: a file that is mapped into memory and then truncated would kill the process.
const IGNORED: [&str; 1] = ["mmap_size"];
/// The pragma that sets the wait for a lock. SQLite's own would put a handler without a deadline in the place of ours.
/// The authorizer sees it where [`Watch::busy_pragma`] does not recognise it: behind a comment, or in a list of
/// statements.
const BUSY: &str = "busy_timeout";

/// The text behind a word at its beginning, in upper or lower case; None where the text does not begin with it.
fn without<'a>(text: &'a [u8], word: &str) -> Option<&'a [u8]> {
    let (begin, rest) = text.split_at_checked(word.len())?;
    begin.eq_ignore_ascii_case(word.as_bytes()).then_some(rest)
}

/// The time of `PRAGMA busy_timeout = N`: none where it is not a number above 0, as in SQLite.
fn milliseconds(text: &CStr) -> Duration {
    let number = text.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map_or(Duration::ZERO, Duration::from_millis)
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn on_action(
    data: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    if action != ffi::SQLITE_ATTACH && action != ffi::SQLITE_PRAGMA {
        return ffi::SQLITE_OK;
    }
    // The name of a database may be an expression, whose value is not known yet.
    if first.is_null() {
        return ffi::SQLITE_DENY;
    }
    // SAFETY: SQLite's texts end in NUL.
    let first = unsafe { CStr::from_ptr(first) };
    if action == ffi::SQLITE_ATTACH {
        // SAFETY: SQLite passes the pointer that `attach` gave to sqlite3_set_authorizer.
        let may = unsafe { watch(data) }.may_attach(first);
        return if may { ffi::SQLITE_OK } else { ffi::SQLITE_DENY };
    }
    let is = |names: &[&str]| names.iter().any(|name| first.to_bytes().eq_ignore_ascii_case(name.as_bytes()));
    if is(&[BUSY]) && !second.is_null() {
        // SAFETY: SQLite's texts end in NUL, and it passes the pointer that `attach` gave to sqlite3_set_authorizer.
        unsafe { watch(data).set_busy(milliseconds(CStr::from_ptr(second))) };
    }
    match () {
        () if is(&REFUSED) => ffi::SQLITE_DENY,
        () if is(&[BUSY]) => ffi::SQLITE_IGNORE,
        () if is(&IGNORED) => ffi::SQLITE_IGNORE,
        () => ffi::SQLITE_OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pragma_for_the_wait_answers_with_the_time_that_counts() {
        let watch = Watch::new(Box::new(|_| false), Folders::default());
        for (sql, answer) in [
            ("PRAGMA busy_timeout", Some("SELECT 5000 AS timeout")),
            (" pragma\n main.Busy_Timeout = 250 ; ", Some("SELECT 250 AS timeout")),
            ("PRAGMA busy_timeout(70);", Some("SELECT 70 AS timeout")),
            ("PRAGMA busy_timeout=-1", Some("SELECT 0 AS timeout")),
            ("PRAGMA busy_timeout = many", None),
            ("PRAGMA busy_timeout; SELECT 1", None),
            ("PRAGMA busy_timeouts", None),
            ("PRAGMAbusy_timeout", None),
            ("PRAGMA", None),
            ("", None),
        ] {
            assert_eq!(watch.busy_pragma(sql.as_bytes()).as_deref(), answer, "{sql}");
        }
    }
}
