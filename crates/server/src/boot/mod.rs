//! From a parsed command line to a serving process, and to its shutdown. `run` is the whole way; its three steps are
//! `prepare` (parent process, terminal, output), `setup` (what must be taken while the process may still be root) and
//! `serve`. When a step fails, everything that earlier steps have taken is released.

pub mod prepare;
pub mod run;
pub mod serve;
pub mod setup;
