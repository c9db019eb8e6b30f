//! Addresses, listening sockets, and the loop that accepts connections and gives each to an I/O thread. A connection is
//! accepted before a permit for it is known to be free, since only then it is known that one is needed; it is served
//! when it has one.

pub(crate) mod accept;
pub(crate) mod address;
pub(crate) mod listen;
pub(crate) mod private;
