//! Stacks for running Ruby. A call that turns out to be long can be suspended on the I/O thread where it began and go
//! on in another thread, at any depth of calls.

use std::io;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Size of a stack: room for the deepest nesting of calls that the interpreter allows (MRB_CALL_LEVEL_MAX) with a
/// margin. Only the pages that are used take memory.
const STACK_BYTES: usize = 16 << 20;

/// The means for work on a stack to migrate to another thread.
pub struct Migration(*const Yielder<(), ()>);

impl Migration {
    /// No migration: the work stays in its thread.
    pub const fn none() -> Migration {
        Migration(std::ptr::null())
    }

    /// Whether the work can migrate.
    pub fn can_migrate(&self) -> bool {
        !self.0.is_null()
    }

    /// Suspends the work. Returns when another thread resumes it; at once where the work cannot migrate.
    pub fn migrate(&self) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the yielder lives in the frame of the coroutine that runs this very code, so it is still there.
        unsafe { (*self.0).suspend(()) }
    }
}

type Work = Coroutine<(), (), (), DefaultStack>;

/// A stack, either free or with suspended work on it.
pub struct Stack {
    free: Option<DefaultStack>,
    work: Option<Work>,
}

// SAFETY: a suspended coroutine may be resumed in another thread as long as nothing on its stack belongs to the thread
// it left. Its frames are the interpreter's C code, which uses no thread-local storage, and this crate's callbacks,
// which hold no guard, span or thread-local reference across `Migration::migrate`.
unsafe impl Send for Stack {}

impl Stack {
    /// Reserves the address space of a stack.
    pub fn new() -> io::Result<Stack> {
        Ok(Stack { free: Some(DefaultStack::new(STACK_BYTES)?), work: None })
    }

    /// Whether work can begin on the stack. After a panic in its work it cannot: the stack went with that.
    pub fn is_free(&self) -> bool {
        self.free.is_some()
    }

    /// Runs `work` until it ends (true) or migrates (false).
    pub fn begin(&mut self, work: impl FnOnce(Migration) + 'static) -> bool {
        let Some(stack) = self.free.take() else { return true };
        self.work = Some(Coroutine::with_stack(stack, move |yielder, ()| work(Migration(yielder))));
        self.resume()
    }

    /// Abandons suspended work; returns whether there was any. Its frames stay in memory, with all that they refer to,
    /// since frames of C cannot be unwound.
    pub fn abandon(&mut self) -> bool {
        self.work.take().map(std::mem::forget).is_some()
    }

    /// Resumes suspended work in the current thread, until it ends (true) or migrates (false).
    pub fn resume(&mut self) -> bool {
        let Some(mut work) = self.work.take() else { return true };
        match work.resume(()) {
            CoroutineResult::Yield(()) => {
                self.work = Some(work);
                false
            }
            CoroutineResult::Return(()) => {
                self.free = Some(work.into_stack());
                true
            }
        }
    }
}
