//! The wire to molds and workers, as PROTOCOL.md describes it: `frames`, `shapes` (of environments), `answer`, and
//! `control`, the orders beside requests.

pub mod answer;
pub mod control;
pub mod frames;
pub mod shapes;
