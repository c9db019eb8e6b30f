//! From a command line that is understood to a server that serves, and on to its end, in three steps: `prepare` (who
//! started this process, its terminal, its output), `setup` (what it takes while it may still be root), `serve`.
//! Whatever one step has taken is given back when a later one fails. Only this room serves applications.

pub mod prepare;
pub mod serve;
pub mod setup;
