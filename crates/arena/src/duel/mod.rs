//! A user's own application: workload, learned answers, settings, advice. All of it is pure but `fetch` and what drives
//! it, `run` and its parts.

pub mod asked;
pub mod urls;

pub mod access_line;
pub mod access_log;

pub mod fetch;
pub mod glob;
pub mod kind;
pub mod learn;

pub mod plan;
pub mod settings;

pub mod advise;
pub mod cases;
pub mod compare;
