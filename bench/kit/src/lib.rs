//! What the programs of bench/ share, and nothing that knows what is measured: servers as processes of their own, wrk,
//! statistics, and what machine this is.

pub mod machine;
pub mod process;
pub mod stats;
pub mod wrk;
