//! This process: who started it, its user, sockets, pid file, service manager and exit. Nothing here knows an option,
//! an application or a request: arguments say what is needed of them. Only this folder starts the program again and
//! takes over file descriptors by number.

pub mod bundle;
pub mod daemon;
pub mod exit;
pub mod folder;
pub mod heaps;
pub mod identity;
pub mod inherited;
pub mod init;
pub mod links;
pub mod numbered;
pub mod open_files;
pub mod parent;
pub mod pidfile;
pub mod program;
pub mod run_files;
pub mod sockets;
pub mod state_file;
pub mod stream;
pub mod systemd;
pub mod umask;
