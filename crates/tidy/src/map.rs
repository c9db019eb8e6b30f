//! ARCHITECTURE.md exists, and so do the files and folders that it names. A name is a text in backquotes with a slash
//! or a source file's extension. It may start at the root, in crates/, at a crate or at its src/, so that the page can
//! be short.

use crate::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
const SOURCES: [&str; 5] = [".rs", ".rb", ".c", ".h", ".sha256"];

/// Complaints about names without a file or folder.
pub fn check(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.files.iter().find(|file| file.path == PAGE) else {
        return vec![format!("{PAGE}: is missing; it draws the picture and says where things are")];
    };
    let mut complaints = Vec::new();
    for (at, line) in page.text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            if !tree.files.iter().any(|file| leads_to(name, &file.path)) {
                complaints.push(format!("{PAGE}:{}: there is no {name} any more", at + 1));
            }
        }
    }
    complaints
}

/// Whether a text is a path of the repository, and not one of the system or a command.
fn is_path(name: &str) -> bool {
    let named = name.contains('/') || SOURCES.iter().any(|ending| name.ends_with(ending));
    named && !name.starts_with('/') && !name.contains(' ')
}

/// Whether a name means this file, or a folder above it.
fn leads_to(name: &str, path: &str) -> bool {
    let is_whole = |rest: &str| rest.is_empty() || name.ends_with('/') || rest.starts_with('/');
    let starts = path.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).any(|from| path[from..].strip_prefix(name).is_some_and(is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_file_are_found() {
        let page = "`front` reads `/proc`, `a/src/`, `shim.c`, `c/shim.c` and `bin/test x`.\n\n\
                    `gone.rs`, `src/old/` and `li.rs`\n";
        let files = [("ARCHITECTURE.md", page), ("crates/a/src/lib.rs", ""), ("crates/a/c/shim.c", "")];
        assert_eq!(
            check(&Tree::of(&files)),
            ["gone.rs", "src/old/", "li.rs"].map(|name| format!("ARCHITECTURE.md:3: there is no {name} any more"))
        );
        assert_eq!(check(&Tree::default()).len(), 1);
    }
}
