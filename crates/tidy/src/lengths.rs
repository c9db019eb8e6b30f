//! Files have at most so many lines, tests not counted, and lines at most so many columns.

use crate::tree::Tree;

const LINES: [(&str, usize); 4] = [(".rs", 400), (".rb", 150), (".c", 500), (".h", 500)];
const COLUMNS: usize = 120;

/// The length of files.
pub fn files(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (ending, most) in LINES {
        for file in tree.ending(&[ending]).filter(|file| !file.is_test()) {
            let lines = file.product().lines().count();
            if lines > most {
                let path = &file.path;
                complaints
                    .push(format!("{path}: {lines} lines, at most {most}: find the second noun and give it a file"));
            }
        }
    }
    complaints
}

/// The width of lines.
pub fn lines(tree: &Tree) -> Vec<String> {
    let code = |path: &str| LINES.iter().any(|(ending, _)| path.ends_with(ending)) || path.ends_with(".ru");
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| code(&file.path) || file.is_script()) {
        for (at, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS {
                complaints.push(format!(
                    "{}:{}: {columns} columns, at most {COLUMNS}: break the line",
                    file.path,
                    at + 1
                ));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found_and_tests_are_not_counted() {
        let (long, short) = ("x\n".repeat(401), "x\n".repeat(400) + "#[cfg(test)]\nmod tests {\n}\n");
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &short), ("c.rb", &"x\n".repeat(151)), ("tests/d.rs", &long)]);
        let found = files(&tree);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.rs: 401 lines, at most 400"));
    }

    #[test]
    fn wide_lines_are_found() {
        let wide = "é".repeat(121);
        let tree = Tree::of(&[("a.rs", &wide), ("b.md", &wide), ("bin/c", &format!("#!/usr/bin/env bash\n{wide}"))]);
        let found = lines(&tree);
        assert!(found[0].starts_with("a.rs:1: 121 columns") && found[1].starts_with("bin/c:2"));
        assert_eq!(found.len(), 2);
    }
}
