//! The functions that Rust gives to Ruby. All of them stand in `table.rs`.

mod agents;
mod chars;
mod cipher;
mod context;
mod decimal;
mod digest;
mod encoding;
mod erb;
mod file;
mod float;
mod format;
mod http;
mod input;
mod inspect;
mod json;
mod log;
mod pack;
mod path;
mod prime;
mod random;
mod redis;
mod rounding;
mod sqlite;
mod store;
mod table;
mod temporary;
mod text;
mod time;
mod yaml;
mod zlib;

pub use agents::Agents;
pub use context::Context;
pub use table::TABLE;

use crate::value::{Arg, Outcome, Raise, Value, arg, raise};
