//! The border between embedded Ruby and functions in Rust: values, what a function may touch, and the form in which
//! Arrays and Hashes cross. It knows no interpreter.

mod context;
pub mod folders;
mod handles;
mod native;
pub mod tree;
mod value;

pub use context::{Context, Work};
pub use folders::Folders;
pub use handles::{Handles, Life};
pub use native::{Native, Run};
pub use tree::Tree;
pub use value::{ARGUMENTS_MAX, Arg, Outcome, Raise, Value, arg, raise};
