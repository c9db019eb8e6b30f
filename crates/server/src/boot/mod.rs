//! From a command line that is understood to a server that serves, and on to its end: `run` is the whole way, with
//! three steps in it, `prepare` (who started this process, its terminal, its output), `setup` (what it takes while it
//! may still be root), and `serve`. Whatever one step has taken is given back when a later one fails.

pub mod prepare;
pub mod run;
pub mod serve;
pub mod setup;
