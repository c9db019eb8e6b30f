//! The rules of the repository, as a test. A rule is a function from the tree to complaints, each with its position and
//! what to do instead. No rule reads a disk, so each is tested on a bad example; tests/tidy.rs runs them all on the
//! real tree.

pub mod arrows;
mod c_calls;
pub mod circles;
mod imports;
pub mod leftovers;
pub mod links;
pub mod map;
pub mod openings;
pub mod places;
pub mod reasons;
pub mod targets;
pub mod tree;
pub mod versions;
pub mod widths;

pub use tree::{SourceFile, Tree};

/// A rule: returns its complaints about a tree.
pub type Rule = fn(&Tree) -> Vec<String>;

/// All rules, with their names.
pub const RULES: [(&str, Rule); 12] = [
    ("lines are narrow", widths::check),
    ("files say what they are", openings::check),
    ("arrows between crates are written down", arrows::check),
    ("files do not import each other in circles", circles::check),
    ("dependencies have reasons", reasons::dependencies),
    ("unsafe code has reasons", reasons::unsafe_code),
    ("some words have one place", places::check),
    ("nothing is left over", leftovers::check),
    ("what ARCHITECTURE names is there", map::check),
    ("tests are run", targets::check),
    ("links lead somewhere", links::check),
    ("versions are the same", versions::check),
];
