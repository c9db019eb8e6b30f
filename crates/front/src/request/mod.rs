//! A request from its parsed head to what the engine is given. Its body is read to the end first, in memory or in a
//! file, so that a slow client never holds an interpreter.

pub(crate) mod form;
pub(crate) mod intake;
pub(crate) mod visit;
