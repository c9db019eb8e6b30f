//! Presentation of a summary: tables, plots, the page, comparisons, the README's tables.

pub mod compare;
pub mod index;
pub mod number;
pub mod page;
mod parts;
pub mod plot;
pub mod rows;
mod rule;
pub mod shape;
pub mod splice;
pub mod styles;
pub mod table;
mod template;
pub mod traffic;
pub mod words;
pub mod worse;
