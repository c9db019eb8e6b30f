//! What the programs of bench/ share, and nothing that knows what is measured: options, servers as processes, wrk,
//! statistics, and what machine this is.

pub mod machine;
pub mod options;
pub mod process;
pub mod stats;
pub mod wrk;
