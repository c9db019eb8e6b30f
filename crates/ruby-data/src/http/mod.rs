//! An HTTP client.

mod agents;
pub mod calls;
