//! A request from its parsed head to what the engine gets. Its body is read to the end first, in memory or in a file,
//! so that a slow client never occupies an interpreter.

pub(crate) mod context;
pub(crate) mod form;
pub(crate) mod intake;
