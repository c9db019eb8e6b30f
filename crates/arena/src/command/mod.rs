//! The commands of the program, a file each.
