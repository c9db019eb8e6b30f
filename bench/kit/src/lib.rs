//! Code that the programs of bench/ share and that does not know what is measured: options, output, servers as
//! processes, wrk, statistics, and facts about the machine.

pub mod machine;
pub mod options;
pub mod output;
pub mod process;
pub mod stats;
pub mod wrk;
