//! The HTTP client behind Net::HTTP.

pub mod calls;
mod connection;
mod forward;
mod heads;
mod limits;
