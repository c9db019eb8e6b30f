//! What natives of one interpreter share between calls: where its files may be, the memory of its
//! databases, and HTTP clients with their connections.

use std::sync::Arc;

use crate::folders::Folders;
use crate::native::Agents;
use crate::sqlite::memory::Account;

/// Of one interpreter.
pub struct Resources {
    /// Where files may be.
    pub folders: Folders,
    /// HTTP clients, each with connections that are kept.
    pub agents: Agents,
    account: Option<Arc<Account>>,
    memory_bytes: usize,
}

impl Resources {
    /// Of an interpreter with so much memory.
    pub fn new(memory_bytes: usize) -> Resources {
        Resources { folders: Folders::default(), agents: Agents::new(), account: None, memory_bytes }
    }

    /// Another interpreter takes the place.
    pub fn clear(&mut self) {
        *self = Resources::new(self.memory_bytes);
    }

    /// SQLite's memory.
    pub fn account(&mut self) -> &Arc<Account> {
        self.account.get_or_insert_with(|| Account::new(self.memory_bytes))
    }
}
