//! What a native function may touch.

use std::time::Instant;

use crate::folders::Folders;
use crate::handles::Handles;
use crate::value::Raise;

/// What a native function may touch.
pub struct Context<'a> {
    /// The most memory of the interpreter.
    pub memory_bytes: usize,
    /// What is held for objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Where files may be.
    pub folders: &'a Folders,
    /// The request under way, or the loading of the application.
    pub work: &'a mut dyn Work,
}

/// What runs: the engine keeps it.
pub trait Work {
    /// Whether it is a request, and not the application that is loaded.
    fn is_request(&self) -> bool;

    /// To be called before anything that may wait, and before anything is borrowed or locked: the request goes on in a
    /// thread where it holds up no other.
    fn leave(&mut self);

    /// Sends what the body has given so far, before a wait. A client that has gone is noticed by the next write.
    fn flush(&mut self);

    /// When whatever waits must be over.
    fn until(&self) -> Instant;

    /// What is to be raised when that time has come, if it has.
    fn overdue(&mut self) -> Option<Raise>;

    /// The same after a wait that took all of the time: another clock may have ended it a little early.
    fn overdue_by_now(&mut self) -> Option<Raise>;

    /// Says at any later time whether what runs then must end: for what works without coming back here.
    fn end(&self) -> Box<dyn Fn(Instant) -> bool>;
}

impl Context<'_> {
    /// As [`Work::leave`].
    pub fn leave(&mut self) {
        self.work.leave();
    }

    /// As [`Work::until`].
    pub fn until(&self) -> Instant {
        self.work.until()
    }

    /// As [`Work::overdue`].
    pub fn overdue(&mut self) -> Option<Raise> {
        self.work.overdue()
    }

    /// As [`Work::overdue_by_now`].
    pub fn overdue_by_now(&mut self) -> Option<Raise> {
        self.work.overdue_by_now()
    }

    /// To be called every few milliseconds by what can take long, and before what can block: whether it may go on.
    pub fn tick(&mut self) -> Result<(), Raise> {
        self.leave();
        self.overdue().map_or(Ok(()), Err)
    }
}
