//! The outcome of an operator's order.

/// A sentence for the operator: what was done, or why the order was refused.
pub type Outcome = Result<String, String>;
