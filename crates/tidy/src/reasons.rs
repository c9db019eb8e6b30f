//! Reasons: each dependency and each piece of unsafe code has a comment that gives one.

use crate::arrows;
use crate::tree::{Tree, has_word};

/// Lines above unsafe code in which its reason may begin: a statement may have several lines.
const REASON_LINES: usize = 8;
/// What stands after `SAFETY:` where the reason of another place is meant: it stays when that place changes.
const ELSEWHERE: [&str; 5] = ["as above", "see above", "same as above", "as before", "ditto"];

/// Complaints about dependencies in manifests without a comment.
pub fn dependencies(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.ending(&["Cargo.toml"]) {
        for (line, name, commented) in arrows::dependencies(&file.text) {
            // In the root manifest our own crates need none.
            let own = file.path == "Cargo.toml" && tree.holds(&format!("crates/{name}"));
            if !commented && !own {
                complaints.push(format!("{}:{line}: say in a comment on this line why {name} is needed", file.path));
            }
        }
    }
    complaints
}

/// Complaints about `unsafe` without a `SAFETY:` comment above it, or in the first line of its block, and about those
/// that give the reason of another place.
pub fn unsafe_code(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.ending(&[".rs"]).filter(|file| !file.path.starts_with("crates/tidy/")) {
        let lines = file.product();
        for (line, _) in (1..).zip(&lines).filter(|(_, line)| refers_elsewhere(line)) {
            complaints.push(format!("{}:{line}: give the reason of this very place: \"as above\" is none", file.path));
        }
        for (line, code) in file.code() {
            // The type of a function pointer runs nothing.
            let is_type = code.contains("unsafe extern \"C\" fn(");
            let above = &lines[line.saturating_sub(REASON_LINES + 1)..line];
            let reasoned = above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety"));
            if has_word(code, "unsafe") && !is_type && !reasoned {
                complaints.push(format!("{}:{line}: say above, after `// SAFETY:`, why this is sound", file.path));
            }
        }
    }
    complaints
}

fn refers_elsewhere(line: &str) -> bool {
    let reason = line.split_once("SAFETY:").map_or("", |(_, reason)| reason.trim_start());
    ELSEWHERE.iter().any(|words| reason.to_lowercase().starts_with(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_without_a_reason_are_found() {
        let manifest =
            "[dependencies]\na = \"1\"\nb = \"1\"   # for b\n\n[dependencies.c]\nversion = \"1\"\n[lints]\nd = true\n";
        let found = dependencies(&Tree::of(&[("crates/x/Cargo.toml", manifest)]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":2: ") && found[1].contains(":5: "));
    }

    #[test]
    fn unsafe_code_without_a_reason_is_found() {
        let found = unsafe_code(&Tree::of(&[("crates/x/src/a.rs", "fn f() {\n    unsafe { g() }\n}\n")]));
        assert!(found[0].starts_with("crates/x/src/a.rs:2: "));
        let good = "// SAFETY: it is.\nunsafe { g() }\n// unsafe in a comment\ntype F = unsafe extern \"C\" fn();\n";
        assert_eq!(unsafe_code(&Tree::of(&[("crates/x/src/a.rs", good)])), Vec::<String>::new());
    }

    #[test]
    fn a_reason_that_points_at_another_place_is_found() {
        let bad = "// SAFETY: it is.\nunsafe { g() }\n// SAFETY: As above.\nunsafe { h() }\n";
        let found = unsafe_code(&Tree::of(&[("crates/x/src/a.rs", bad)]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/a.rs:3: "));
        let good = "// SAFETY: the lock above is held.\nunsafe { g() }\n";
        assert_eq!(unsafe_code(&Tree::of(&[("crates/x/src/a.rs", good)])), Vec::<String>::new());
    }
}
