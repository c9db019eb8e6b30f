//! Every file of tests from outside is a module of the program that runs them.

use std::collections::HashSet;

use crate::tree::Tree;

const PROGRAM: &str = "tests/outside.rs";

/// Complaints about files of tests/ that are no module of that program.
pub fn check(tree: &Tree) -> Vec<String> {
    let program = tree.files.iter().find(|file| file.path == PROGRAM).map_or("", |file| &file.text);
    let modules: HashSet<&str> =
        program.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    let tests = tree.ending(&[".rs"]).filter(|file| file.path != PROGRAM);
    let names = tests.filter_map(|file| file.path.strip_prefix("tests/")?.strip_suffix(".rs"));
    names
        .filter(|name| !name.contains('/') && !modules.contains(name))
        .map(|name| format!("tests/{name}.rs: say `mod {name};` in {PROGRAM}, or it is not run"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_file_is_found() {
        let program = "//! Tests.\n\nmod support;\n\nmod a;\n";
        let files = [(PROGRAM, program), ("tests/a.rs", ""), ("tests/b.rs", ""), ("tests/support/c.rs", "")];
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("tests/b.rs: "));
    }
}
