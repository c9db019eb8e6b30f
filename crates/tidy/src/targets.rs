//! Every file of tests from outside is a target of the server's manifest: one that is not would never be run.

use crate::tree::Tree;

const MANIFEST: &str = "crates/server/Cargo.toml";

/// Files of tests/ without a target.
pub fn check(tree: &Tree) -> Vec<String> {
    let manifest = tree.files.iter().find(|file| file.path == MANIFEST).map_or("", |file| &file.text);
    let tests = tree.ending(&[".rs"]).filter_map(|file| file.path.strip_prefix("tests/"));
    tests
        .filter(|name| !name.contains('/') && !manifest.contains(&format!("\"../../tests/{name}\"")))
        .map(|name| format!("tests/{name}: give it a [[test]] with its name and path in {MANIFEST}, or it is not run"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_file_is_found() {
        let manifest = "[[test]]\nname = \"a\"\npath = \"../../tests/a.rs\"\n";
        let files = [(MANIFEST, manifest), ("tests/a.rs", ""), ("tests/b.rs", ""), ("tests/support/c.rs", "")];
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("tests/b.rs: "));
    }
}
