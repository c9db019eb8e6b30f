//! Lines of code have at most 120 columns.

use crate::tree::Tree;

/// Extensions of code; scripts, which have none, count, too.
const CODE: [&str; 5] = [".rs", ".rb", ".c", ".h", ".ru"];
const COLUMNS: usize = 120;

/// Complaints about longer lines.
pub fn check(tree: &Tree) -> Vec<String> {
    let code = |path: &str| CODE.iter().any(|ending| path.ends_with(ending));
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| code(&file.path) || file.is_script()) {
        for (line, text) in (1..).zip(file.text.lines()) {
            let columns = text.chars().count();
            if columns > COLUMNS {
                complaints.push(format!("{}:{line}: {columns} columns, at most {COLUMNS}: break the line", file.path));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_found() {
        let wide = "é".repeat(121);
        let tree = Tree::of(&[("a.rs", &wide), ("b.md", &wide), ("bin/c", &format!("#!/usr/bin/env bash\n{wide}"))]);
        let found = check(&tree);
        assert!(found[0].starts_with("a.rs:1: 121 columns") && found[1].starts_with("bin/c:2"));
        assert_eq!(found.len(), 2);
    }
}
