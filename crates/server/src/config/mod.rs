//! Settings: the tables of options and commands, arguments, environment, settings files, those of other servers, and
//! the resolved settings. Two stages: parsed arguments, whose values are not checked, and resolved settings, which are
//! checked as a whole and never change. All errors are reported at once.

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
pub mod paragraph;
pub mod rackup;
pub mod reader;
pub mod settings;
pub mod signal_map;
pub mod size;
pub mod suggest;
pub mod toml_apps;
pub mod toml_file;
pub mod workers;
