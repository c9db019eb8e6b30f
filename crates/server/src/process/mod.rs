//! This process among others: who started it, as whom it runs, its sockets, its pid file, the service manager, its end.
//! Nothing here knows an option, an application or the front's requests: what is needed of them is an argument. Only
//! this room starts the program again and takes over file descriptors by their numbers.

pub mod daemon;
pub mod exit;
pub mod folder;
pub mod identity;
pub mod inherited;
pub mod init;
pub mod numbered;
pub mod open_files;
pub mod parent;
pub mod pidfile;
pub mod program;
pub mod run_files;
pub mod sockets;
pub mod state_file;
pub mod systemd;
