//! The protocol between the front and Ruby processes (PROTOCOL.md): `frames`, `shapes` (of environments), `answer`, and
//! `control` (orders beside requests).

pub mod answer;
pub mod control;
pub mod frames;
pub mod shapes;
