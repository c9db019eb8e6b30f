//! What is decided before anything runs: the tables of options and commands, arguments, environment, settings files,
//! those of other servers, and the settings that come of them. Two stages: what was asked for, in which no value is
//! looked into, and what was settled, which is checked as a whole and never changes. All that is wrong is told at once.

pub mod admin;
pub mod app_settings;
pub mod arguments;
pub mod bind_query;
pub mod binds;
pub mod commands;
pub mod compat;
pub mod control_path;
pub mod engine_kind;
pub mod file;
pub mod file_text;
pub mod help;
pub mod incompatible;
pub mod invocation;
pub mod log_filter;
pub mod machine_defaults;
pub mod operating;
pub mod options;
pub mod rackup;
pub mod reader;
pub mod settings;
pub mod signal_map;
pub mod size;
pub mod suggest;
pub mod toml_file;
pub mod workers;
