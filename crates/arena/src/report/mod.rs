//! Presentation of a summary: tables, plots, the page, comparisons, the README's tables.

pub mod compare;
mod disqualifications;
mod division;
pub mod grammar;
mod heading;
pub mod index;
pub mod number;
mod offered_rate;
pub mod page;
pub mod plot;
mod ranking;
mod remarks;
pub mod rows;
mod rule;
#[cfg(test)]
mod sample_case;
mod sentence;
mod settings;
pub mod shape;
pub mod splice;
pub mod styles;
pub mod table;
mod template;
pub mod traffic;
pub mod twins;
mod winners;
pub mod worse;
