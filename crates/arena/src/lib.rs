//! The arena: compares application servers on real work. It starts them as a user would, checks their answers, loads
//! them in turns, and records what it measures. It knows nothing of how any of them works inside.

pub mod command;
pub mod contender;
pub mod duel;
pub mod environment;
mod measure;
pub mod record;
pub mod report;
pub mod stats;
pub mod study;
