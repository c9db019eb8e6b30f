//! The arena: application servers compared on real work. It starts them as a user would, checks their answers, loads
//! them in turns, and writes down what it saw. It knows nothing of how any of them works inside.

pub mod command;
pub mod contender;
pub mod duel;
pub mod place;
pub mod record;
pub mod report;
pub mod stats;
pub mod study;

// Load and processes are a crate of their own, and are called here by what they are.
pub use loadgen as load;
pub use loadgen::{metric, process, scenario};
