//! SQLite's memory allocator. Each block is counted for the interpreter that asked for it; one that passes its limit
//! gets SQLITE_NOMEM, and the others are not affected.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use libsqlite3_sys as ffi;

/// The bytes that SQLite holds for one interpreter, and their limit.
pub struct Account {
    used: AtomicUsize,
    limit: usize,
}

impl Account {
    /// An account with a limit of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Account> {
        configure();
        Arc::new(Account { used: AtomicUsize::new(0), limit })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    fn take(&self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.limit;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes held now.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

thread_local! {
    /// The account for which SQLite runs in this thread; null for none.
    static CURRENT: Cell<*const Account> = const { Cell::new(ptr::null()) };
}

/// Runs `work` with this account as that of the thread. `work` may call SQLite but must not migrate to another thread.
pub fn counted<T>(account: &Arc<Account>, work: impl FnOnce() -> T) -> T {
    struct Restore(*const Account);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _restore = Restore(CURRENT.replace(Arc::as_ptr(account)));
    work()
}

/// The header before each block: its account, and its size in bytes.
struct Header {
    account: *const Account,
    size: usize,
}

const HEADER_BYTES: usize = size_of::<Header>();

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER_BYTES)?, HEADER_BYTES).ok()
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn allocate(size: c_int) -> *mut c_void {
    let Some((size, layout)) = usize::try_from(size).ok().and_then(|size| Some((size, layout(size)?))) else {
        return ptr::null_mut();
    };
    let account = CURRENT.get();
    // SAFETY: `counted` keeps the account alive as long as it is the current one.
    if let Some(account) = unsafe { account.as_ref() }
        && !account.take(layout.size())
    {
        return ptr::null_mut();
    }
    // SAFETY: the layout is never empty.
    let block = unsafe { alloc(layout) }.cast::<Header>();
    if block.is_null() {
        // SAFETY: `counted`, in whose scope this thread still is, holds the account that was charged before.
        if let Some(account) = unsafe { account.as_ref() } {
            account.give(layout.size());
        }
        return ptr::null_mut();
    }
    if !account.is_null() {
        // SAFETY: the address came from an Arc; the block holds the account until it is freed.
        unsafe { Arc::increment_strong_count(account) };
    }
    // SAFETY: the block is large enough and aligned for its header.
    unsafe {
        block.write(Header { account, size });
        block.add(1).cast()
    }
}

/// The address of a block's header.
unsafe fn header(block: *mut c_void) -> *mut Header {
    // SAFETY: the caller passes what `allocate` has given out.
    unsafe { block.cast::<Header>().sub(1) }
}

unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: SQLite passes what `allocate` has given out, once.
    let (at, Header { account, size }) = unsafe { (header(block), header(block).read()) };
    let Some(layout) = layout(size) else { return };
    // SAFETY: the block was allocated with this very layout.
    unsafe { dealloc(at.cast(), layout) };
    // SAFETY: the block has held the account until now.
    if let Some(held) = unsafe { account.as_ref() } {
        held.give(layout.size());
        // SAFETY: the count was raised when the block was allocated.
        unsafe { Arc::decrement_strong_count(account) };
    }
}

unsafe extern "C" fn reallocate(block: *mut c_void, wanted: c_int) -> *mut c_void {
    if block.is_null() {
        // SAFETY: nothing is asked of an allocation.
        return unsafe { allocate(wanted) };
    }
    // SAFETY: SQLite passes what `allocate` has given out.
    let (at, Header { account, size }) = unsafe { (header(block), header(block).read()) };
    let wanted = usize::try_from(wanted).ok();
    let layouts = wanted.and_then(|wanted| Some((wanted, layout(size)?, layout(wanted)?)));
    let Some((wanted, before, after)) = layouts else { return ptr::null_mut() };
    // SAFETY: the block holds the account.
    let held = unsafe { account.as_ref() };
    if held.is_some_and(|held| !held.take(after.size())) {
        return ptr::null_mut();
    }
    // SAFETY: the block was allocated with the layout `before`, and the new size is not 0.
    let fresh = unsafe { realloc(at.cast(), before, after.size()) }.cast::<Header>();
    let returned = if fresh.is_null() { after } else { before };
    if let Some(held) = held {
        held.give(returned.size());
    }
    if fresh.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the block is large enough and aligned for its header.
    unsafe {
        (*fresh).size = wanted;
        fresh.add(1).cast()
    }
}

unsafe extern "C" fn size(block: *mut c_void) -> c_int {
    if block.is_null() {
        return 0;
    }
    // SAFETY: SQLite passes what `allocate` has given out.
    c_int::try_from(unsafe { (*header(block)).size }).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn round_up(size: c_int) -> c_int {
    size.saturating_add(7) & !7
}

unsafe extern "C" fn start(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn end(_: *mut c_void) {}

/// Sets the allocator of SQLite, once for the process and before any other call.
fn configure() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let methods = ffi::sqlite3_mem_methods {
            xMalloc: Some(allocate),
            xFree: Some(free),
            xRealloc: Some(reallocate),
            xSize: Some(size),
            xRoundup: Some(round_up),
            xInit: Some(start),
            xShutdown: Some(end),
            pAppData: ptr::null_mut(),
        };
        // SAFETY: SQLite has not been initialized yet; it copies the table. Its own statistics, which all threads would
        // share behind a lock, are not needed.
        unsafe {
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods);
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int);
            ffi::sqlite3_initialize();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_for_who_asked_for_them() {
        let account = Account::new(1000);
        // SAFETY: each block is freed once, and not used after it.
        unsafe {
            let block = counted(&account, || allocate(100));
            assert_eq!(account.used(), 100 + HEADER_BYTES);
            assert!(counted(&account, || allocate(2000)).is_null());
            // A block stays with its account, whichever account is the thread's.
            let block = reallocate(block, 200);
            assert_eq!((account.used(), size(block)), (200 + HEADER_BYTES, 200));
            assert!(reallocate(block, 5000).is_null());
            free(block);
            assert_eq!(account.used(), 0);
            let nobodys = allocate(5000);
            free(nobodys);
        }
        assert_eq!(Arc::strong_count(&account), 1);
    }
}
