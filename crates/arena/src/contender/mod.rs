//! The servers that are compared: recipes that say how each is found, started, counted and stopped, and the running
//! servers.

mod catalogue;
mod check;
mod count;
mod observe;
mod plan;
mod presence;
mod recipe;
mod reload;
mod server;
mod start;
mod temporary;

pub use catalogue::Catalogue;
pub use count::Counts;
pub use observe::Observation;
pub use plan::Allocator;
pub use presence::{Presence, detect};
pub use recipe::{
    Count, Door, Find, GeneratedFile, Get, Needs, Part, Question, Recipe, Reload, ReloadStep, Runtime, Shape, Stop,
};
pub use server::{Server, Wanted};
pub use start::quoted;
