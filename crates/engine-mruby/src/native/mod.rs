//! Native functions: Rust functions that Ruby can call, those of the libraries and the engine's own.

mod call;
mod input;
mod log;
mod source;
mod store;
mod table;
mod wait;

pub use call::{Call, Running};
pub use table::{LIBRARIES, OWN, run};
