//! The log: the server's lines on standard output or in files, and the output of applications. Logging only copies a
//! line into memory: no request waits for a disk or a reader. Lost lines are counted and reported.

pub mod file;
pub mod files;
pub mod writer;
