//! Links in Markdown pages lead to existing files.

use crate::tree::Tree;

/// Complaints about links to missing files.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.ending(&[".md"]) {
        for (at, line) in file.text.lines().enumerate() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = target.split('#').next().unwrap_or("");
                let outside = target.contains("://") || target.starts_with("mailto:") || path.is_empty();
                if !outside && !tree.holds(&resolve(&file.path, path)) {
                    complaints.push(format!("{}:{}: there is no {path}: mend the link", file.path, at + 1));
                }
            }
        }
    }
    complaints
}

/// The path from the root of a link in a page.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_nowhere_are_found() {
        let page = "[a](b.md) [b](../README.md#x) [c](https://x.example/y) [d](#here) [e](gone.md)\n";
        let tree = Tree::of(&[("docs/a.md", page), ("docs/b.md", ""), ("README.md", "")]);
        assert_eq!(check(&tree), ["docs/a.md:1: there is no gone.md: mend the link"]);
    }
}
