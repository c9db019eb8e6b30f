//! The tests from outside, against the built program: one file a subject, all in one test program, since sixty that
//! are linked alone cost minutes. `bin/suite` runs the files side by side; `cargo test -p server --test outside
//! reload::` runs those with that in their names.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "what was skipped or measured is told to whoever runs it"
)]

mod support;

mod addresses;
mod answers;
mod app;
mod apps;
mod choice;
mod cli;
mod clock;
mod compat_configs;
mod compat_hooks;
mod control;
mod crowd;
mod development;
mod doctor;
mod doctor_hostile;
mod drain;
mod environment;
mod error_logs;
mod errors;
mod full_log;
mod gone;
mod hostile;
mod hostile_ruby;
mod http;
mod idle;
mod init;
mod limits;
mod link_shortener;
mod logs;
mod memory;
mod metrics;
mod modes;
mod native_steps;
mod objects;
mod ops_daemon;
mod ops_files;
mod ops_pause;
mod ops_systemd;
mod ops_upgrade;
mod other_user;
mod proxy;
mod rack;
mod refusals;
mod reload;
mod remedies;
mod ruby_answers;
mod ruby_apps;
mod ruby_choice;
mod ruby_death;
mod ruby_delay;
mod ruby_end;
mod ruby_files;
mod ruby_habits;
mod ruby_hijack;
mod ruby_left;
mod ruby_long;
mod ruby_mold;
mod ruby_native;
mod ruby_pool;
mod ruby_preload;
mod ruby_reload;
mod ruby_requests;
mod ruby_rough;
mod ruby_signals;
mod runaway;
mod sandbox;
mod settings_file;
mod signals;
mod swept;
mod temporary;
