//! The program `arena`.

fn main() {}
