//! What came of an order.

/// In words; or why it was refused.
pub type Outcome = Result<String, String>;
