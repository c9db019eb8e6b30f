//! The address of a listener of this process, and whether another process has it.

use front::{Bind, Listener};

use crate::admin::state::inode_of;
use crate::control::handle::ServerHandle;

/// The address of a listener, as bound.
#[derive(Debug, Clone)]
pub struct Place {
    bind: Bind,
    /// Device and inode of a Unix socket's file.
    inode: Option<(u64, u64)>,
}

impl Place {
    /// The place of a listener whose file, if it has one, exists now.
    pub fn of(listener: &Listener) -> Place {
        let bind = match listener.local() {
            // A reload may change the folder of this process.
            Bind::Unix(path) => Bind::Unix(std::path::absolute(&path).unwrap_or(path)),
            other => other,
        };
        let inode = match &bind {
            Bind::Unix(path) => inode_of(path),
            _ => None,
        };
        Place { bind, inode }
    }

    /// Whether a successor serves here: it has the same socket, or has replaced the file.
    pub fn is_successors(&self, server: &ServerHandle) -> bool {
        let succession = server.succession();
        let has_successor = succession.is_followed() || succession.is_replaced();
        has_successor && (succession.has_taken(&self.bind) || self.is_lost())
    }

    /// Whether a process serves here that is not the one that answers: a successor, or the previous process, which goes
    /// on when this one is ended, as in Unicorn.
    pub fn is_anothers(&self, server: &ServerHandle) -> bool {
        self.is_successors(server) || server.succession().has_predecessor_at(&self.bind)
    }

    /// Whether the file of a Unix socket is gone, or is that of another socket.
    pub fn is_lost(&self) -> bool {
        match &self.bind {
            Bind::Unix(path) => inode_of(path) != self.inode,
            _ => false,
        }
    }

    /// Listens here again. An error if another process listens on a Unix socket of this path.
    pub fn listen_again(&self, server: &ServerHandle) -> Result<Listener, String> {
        match &self.bind {
            Bind::Unix(path) => front::listen_privately(path, false).map_err(|error| error.to_string()),
            bind => server.succession().listen_again(bind),
        }
    }
}
