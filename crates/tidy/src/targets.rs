//! Every file beside a program of tests that has others as its modules is one of these.

use std::collections::HashSet;

use crate::tree::Tree;

/// The programs whose modules are the files beside them.
const PROGRAMS: [&str; 3] =
    ["tests/outside.rs", "crates/engine-mruby/tests/inside.rs", "crates/arena/tests/all/main.rs"];

/// Complaints about files that are no module of the program beside them.
pub fn check(tree: &Tree) -> Vec<String> {
    PROGRAMS.iter().flat_map(|program| forgotten(tree, program)).collect()
}

fn forgotten(tree: &Tree, program: &str) -> Vec<String> {
    let text = tree.files.iter().find(|file| file.path == program).map_or("", |file| &file.text);
    let modules: HashSet<&str> = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    let folder = program.rsplit_once('/').map_or("", |(folder, _)| folder);
    let tests = tree.ending(&[".rs"]).filter(|file| file.path != program);
    let names = tests.filter_map(|file| file.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs"));
    names
        .filter(|name| !name.contains('/') && !modules.contains(name))
        .map(|name| format!("{folder}/{name}.rs: say `mod {name};` in {program}, or it is not run"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_file_is_found() {
        for program in PROGRAMS {
            let (folder, _) = program.rsplit_once('/').unwrap();
            let [a, b, c] = ["a.rs", "b.rs", "support/c.rs"].map(|name| format!("{folder}/{name}"));
            let text = "//! Tests.\n\nmod support;\n\nmod a;\n";
            let found = check(&Tree::of(&[(program, text), (a.as_str(), ""), (b.as_str(), ""), (c.as_str(), "")]));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("{b}: ")), "{found:?}");
        }
    }
}
