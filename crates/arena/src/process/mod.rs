//! Processes that belong to a run, and what the kernel says of them.
