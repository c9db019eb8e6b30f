//! What SQLite asks while it works: whether it may go on, whether it may wait for a lock, and whether it may do what a
//! statement says.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use libsqlite3_sys as ffi;

use super::functions;
use ruby_native::folders::Folders;

/// So many steps of SQLite's machine are a small part of a millisecond.
const STEPS: c_int = 1000;
/// What is left for a transaction to be rolled back when the time is over.
const MOMENT: Duration = Duration::from_millis(500);
/// How long to wait for a lock, the first time, the second, and so on.
const WAITS_MS: [u64; 10] = [1, 2, 5, 10, 15, 20, 25, 25, 50, 100];

/// The bounds of one connection.
pub struct Watch {
    /// Whether what runs must end at a time.
    end: Box<dyn Fn(Instant) -> bool>,
    folders: Folders,
    /// When the statement must be over.
    until: Cell<Instant>,
    /// Whether an order to end counts as well.
    obeys: Cell<bool>,
    /// How long it may wait for a lock.
    busy: Cell<Duration>,
    waiting_since: Cell<Instant>,
}

impl Watch {
    /// Of an interpreter that must end when `end` says so, with these folders.
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

    /// From now on, until then.
    pub fn allow(&self, until: Instant) {
        self.until.set(until);
        self.obeys.set(true);
    }

    /// To clean up, whatever the time.
    pub fn allow_a_moment(&self) {
        self.until.set(Instant::now() + MOMENT);
        self.obeys.set(false);
    }

    /// How long a lock is waited for.
    pub fn set_busy(&self, busy: Duration) {
        self.busy.set(busy);
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
        // A temporary one has no name. `file:` would bring parameters along.
        let is_temporary = name.is_empty() || name == b":memory:";
        let path = Path::new(OsStr::from_bytes(name));
        is_temporary || (!name.starts_with(b"file:") && self.folders.database(path, true).is_ok())
    }
}

/// Sets all bounds of a connection that has just been opened.
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

/// The watch behind the pointer that SQLite hands back.
// SAFETY: to be called with the pointer that SQLite was given, while the connection is open.
unsafe fn watch<'a>(data: *mut c_void) -> &'a Watch {
    // SAFETY: it is the one from `attach`, which lives as long as the connection that calls.
    unsafe { &*data.cast::<Watch>() }
}

unsafe extern "C" fn on_progress(data: *mut c_void) -> c_int {
    // SAFETY: SQLite passes what it was given.
    c_int::from(unsafe { watch(data) }.is_over())
}

unsafe extern "C" fn on_busy(data: *mut c_void, count: c_int) -> c_int {
    // SAFETY: SQLite passes what it was given.
    c_int::from(unsafe { watch(data) }.wait(usize::try_from(count).unwrap_or(usize::MAX)))
}

/// Pragmas that reach beyond their connection.
const REFUSED: [&str; 5] =
    ["temp_store_directory", "data_store_directory", "hard_heap_limit", "soft_heap_limit", "threads"];
/// Without effect: a file that is mapped into memory and then cut off ends the process.
const IGNORED: [&str; 1] = ["mmap_size"];

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn on_action(
    data: *mut c_void,
    action: c_int,
    first: *const c_char,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    if action != ffi::SQLITE_ATTACH && action != ffi::SQLITE_PRAGMA {
        return ffi::SQLITE_OK;
    }
    // The name of a database may be an expression, which nobody knows yet.
    if first.is_null() {
        return ffi::SQLITE_DENY;
    }
    // SAFETY: SQLite's texts end in NUL.
    let first = unsafe { CStr::from_ptr(first) };
    if action == ffi::SQLITE_ATTACH {
        // SAFETY: SQLite passes what it was given.
        let may = unsafe { watch(data) }.may_attach(first);
        return if may { ffi::SQLITE_OK } else { ffi::SQLITE_DENY };
    }
    let is = |names: &[&str]| names.iter().any(|name| first.to_bytes().eq_ignore_ascii_case(name.as_bytes()));
    match () {
        () if is(&REFUSED) => ffi::SQLITE_DENY,
        () if is(&IGNORED) => ffi::SQLITE_IGNORE,
        () => ffi::SQLITE_OK,
    }
}
