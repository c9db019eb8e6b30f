//! The log: lines on standard output or in files, and what the processes of applications print.
//! Whoever logs only copies a line into memory: nothing that is served waits for a disk or for a reader. What is lost
//! is counted, and told.

pub mod file;
pub mod files;
pub mod writer;
