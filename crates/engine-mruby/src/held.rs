//! What Rust keeps for the Ruby of one interpreter, which knows it by handles: open files, databases, connections. A
//! thing goes when it is closed, when the garbage collector finds its handle, or with the interpreter.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use crate::folders::Folders;
use crate::native::{Raise, raise};

/// So many things at once; each may hold a file descriptor.
const THINGS_MAX: usize = 1024;

/// Something that is kept.
pub enum Thing {
    /// A file that is read.
    File(Arc<File>),
}

/// All of it.
pub struct Held {
    /// Where files may be.
    pub folders: Folders,
    /// The most bytes that a thing may take for itself.
    pub memory_bytes: usize,
    things: HashMap<i64, Thing>,
    last: i64,
}

impl Held {
    /// Of an interpreter with so much memory.
    pub fn new(memory_bytes: usize) -> Held {
        Held { folders: Folders::default(), memory_bytes, things: HashMap::new(), last: 0 }
    }

    /// Another interpreter takes the place.
    pub fn clear(&mut self) {
        *self = Held { last: self.last, ..Held::new(self.memory_bytes) };
    }

    /// Keeps a thing; its handle.
    pub fn keep(&mut self, thing: Thing) -> Result<i64, Raise> {
        if self.things.len() >= THINGS_MAX {
            return Err(raise("Errno::EMFILE", "files, databases and connections of this interpreter"));
        }
        self.last += 1;
        self.things.insert(self.last, thing);
        Ok(self.last)
    }

    /// Nobody holds it any more.
    pub fn release(&mut self, handle: i64) {
        self.things.remove(&handle);
    }

    /// What is there.
    pub fn get(&mut self, handle: i64) -> Option<&mut Thing> {
        self.things.get_mut(&handle)
    }

    /// A file.
    pub fn file(&self, handle: i64) -> Result<&Arc<File>, Raise> {
        match self.things.get(&handle) {
            Some(Thing::File(file)) => Ok(file),
            _ => Err(raise("IOError", "closed stream")),
        }
    }
}
