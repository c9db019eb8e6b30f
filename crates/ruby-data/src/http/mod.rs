//! The HTTP client behind Net::HTTP.

mod agents;
pub mod calls;
mod connection;
mod forward;
mod heads;
mod limits;
