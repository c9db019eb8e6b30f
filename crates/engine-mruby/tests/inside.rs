//! The tests of the engine without HTTP: one file a subject, all in one test program, since twenty that are linked
//! alone cost half a minute. `bin/suite` runs the files side by side; `cargo test -p engine-mruby --test inside
//! language::` runs those with that in their names.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code: a panic is how a test says no, and what it prints is what bin/rack-cases and its kin show"
)]

mod support;

mod client;
mod crashes;
mod files;
mod gems;
mod language;
mod library;
mod orders;
mod plugins;
mod pool;
mod programs;
mod rack;
mod rack_cases;
mod redis;
mod regexp;
mod runaway;
mod spec;
mod sqlite;
mod table;
mod timeout;
