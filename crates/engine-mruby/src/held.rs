//! What Rust keeps for the Ruby of one interpreter, which knows it by handles: open files, databases, connections. A
//! thing goes when it is closed, when the garbage collector finds its handle, or with the interpreter.

use std::collections::HashMap;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

use crate::folders::Folders;
use crate::native::{Raise, raise};
use crate::sqlite::memory::Account;
use crate::sqlite::{Connection, Statement};

/// So many things at once; each may hold a file descriptor.
const THINGS_MAX: usize = 1024;

/// Something that is kept.
pub enum Thing {
    /// A file that is read.
    File(Arc<File>),
    /// A database.
    Database(Rc<Connection>),
    /// A statement of one.
    Statement(Box<Statement>),
}

/// All of it.
pub struct Held {
    /// Where files may be.
    pub folders: Folders,
    /// The memory of all databases.
    account: Option<Arc<Account>>,
    memory_bytes: usize,
    things: HashMap<i64, Thing>,
    last: i64,
}

impl Held {
    /// Of an interpreter with so much memory.
    pub fn new(memory_bytes: usize) -> Held {
        Held { folders: Folders::default(), account: None, memory_bytes, things: HashMap::new(), last: 0 }
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

    /// SQLite's memory.
    pub fn account(&mut self) -> &Arc<Account> {
        self.account.get_or_insert_with(|| Account::new(self.memory_bytes))
    }

    /// The request is over: nothing of it holds a lock. How many transactions it had left open.
    pub fn settle(&mut self) -> usize {
        let databases = self.things.values().filter_map(|thing| match thing {
            Thing::Database(connection) => Some(connection),
            _ => None,
        });
        databases.filter(|connection| connection.settle()).count()
    }

    /// A database.
    pub fn database(&self, handle: i64) -> Result<Rc<Connection>, Raise> {
        match self.things.get(&handle) {
            Some(Thing::Database(connection)) => Ok(connection.clone()),
            _ => Err(raise("ArgumentError", "prepare called on a closed database")),
        }
    }

    /// A statement.
    pub fn statement(&mut self, handle: i64) -> Result<&mut Statement, Raise> {
        match self.things.get_mut(&handle) {
            Some(Thing::Statement(statement)) => Ok(statement),
            _ => Err(raise("SQLite3::Exception", "cannot use a closed statement")),
        }
    }

    /// A file.
    pub fn file(&self, handle: i64) -> Result<&Arc<File>, Raise> {
        match self.things.get(&handle) {
            Some(Thing::File(file)) => Ok(file),
            _ => Err(raise("IOError", "closed stream")),
        }
    }
}
