//! The border between embedded Ruby and functions in Rust: values, the context of a function, and the encoding of
//! Arrays and Hashes. It depends on no interpreter.

mod context;
pub mod errno;
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
