//! Every source file begins with a comment that says what it is.

use crate::tree::{SourceFile, Tree};

/// Complaints about files without such a comment.
pub fn check(tree: &Tree) -> Vec<String> {
    tree.files.iter().filter_map(wanted).collect()
}

fn wanted(file: &SourceFile) -> Option<String> {
    let mark: &[&str] = match file.path.rsplit('.').next() {
        Some("rs") => &["//! "],
        Some("rb" | "ru") => &["# "],
        Some("c" | "h") => &["// ", "/* "],
        _ if file.is_script() => &["# "],
        _ => return None,
    };
    // `#!` lines and Ruby's magic comments must come first.
    let magic = |line: &&str| line.starts_with("#!") || line.starts_with("# frozen_string_literal") || line.is_empty();
    let first = file.text.lines().find(|line| !magic(line)).unwrap_or("");
    if mark.iter().any(|mark| first.starts_with(mark)) {
        return None;
    }
    Some(format!("{}: open it with 1 to 6 lines that begin with `{}` and say what it is", file.path, mark[0].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_description_are_found() {
        let tree = Tree::of(&[
            ("a.rs", "use x;"),
            ("b.rb", "class A\nend"),
            ("c.h", "#pragma once"),
            ("bin/d", "#!/usr/bin/env bash\nset -e"),
            ("e.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 5);
        let tree = Tree::of(&[
            ("a.rs", "//! It is.\nuse x;"),
            ("b.rb", "# frozen_string_literal: true\n\n# It is."),
            ("c.h", "/* It is. */"),
            ("bin/d", "#!/usr/bin/env bash\n# It is."),
            ("e.md", "x"),
        ]);
        assert_eq!(check(&tree), Vec::<String>::new());
    }
}
