//! The context of a native function: memory limit, handles, folders and the request under way.

use std::time::Instant;

use crate::folders::Folders;
use crate::handles::Handles;
use crate::value::Raise;

/// The context of one call of a native function.
pub struct Context<'a> {
    /// Memory limit of the interpreter, in bytes.
    pub memory_bytes: usize,
    /// Rust values that belong to objects of the interpreter.
    pub handles: &'a mut Handles,
    /// Folders in which the application may open files.
    pub folders: &'a Folders,
    /// The request under way, or the loading of the application.
    pub work: &'a mut dyn Work,
}

/// The request under way, or the loading of the application. The engine implements it.
pub trait Work {
    /// Whether a request runs; false while the application is loaded.
    fn is_request(&self) -> bool;

    /// Migrates the request to a thread where it delays no other request. Called before anything that may wait, and
    /// before anything is borrowed or locked.
    fn migrate(&mut self);

    /// Sends the part of the response body that is there, before a wait. A client that has gone away is noticed by the
    /// next write.
    fn flush(&mut self);

    /// The instant at which a wait must end: the request's deadline, or the limit of a Timeout block before it.
    fn until(&self) -> Instant;

    /// The exception to raise where that instant has passed: RequestTimeout, or the one that ends a Timeout block.
    fn overdue(&mut self) -> Option<Raise>;

    /// The same after a wait that took all of the time. Waits for the rest of it first, since a wait by another clock
    /// may end a few milliseconds early.
    fn overdue_by_now(&mut self) -> Option<Raise>;

    /// A function that says at any later instant whether the interpreter must stop, for libraries that run long without
    /// returning here.
    fn end(&self) -> Box<dyn Fn(Instant) -> bool>;
}

impl Context<'_> {
    /// Migrates the request, and returns the exception to raise where its time is over. Called every few milliseconds
    /// by long work, and before anything that can block.
    pub fn tick(&mut self) -> Result<(), Raise> {
        self.work.migrate();
        self.work.overdue().map_or(Ok(()), Err)
    }
}
