//! The code map in ARCHITECTURE.md names every source file of every crate, and none that is gone.
//! Its form: a heading `### crates/NAME`, then lines with file names in backquotes, as they stand in that crate's src/
//! (or, with a folder, in the crate itself).

use crate::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
const SOURCES: [&str; 4] = [".rs", ".rb", ".c", ".h"];

/// Files without a line, lines without a file.
pub fn check(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.files.iter().find(|file| file.path == PAGE) else {
        return vec![format!("{PAGE}: is missing; it draws the picture and maps the code")];
    };
    let mut complaints = Vec::new();
    let mut mapped = Vec::new();
    for (line, folder, name) in entries(&page.text) {
        let places = [format!("{folder}/src/{name}"), format!("{folder}/{name}")];
        match places.into_iter().find(|path| tree.files.iter().any(|file| file.path == *path)) {
            Some(path) => mapped.push(path),
            None => complaints.push(format!("{PAGE}:{line}: {folder} has no {name} any more: take it off the map")),
        }
    }
    for file in tree.ending(&SOURCES) {
        let in_src = file.path.strip_prefix("crates/").is_some_and(|path| path.contains("/src/"));
        if in_src && !file.path.ends_with("_test.rs") && !mapped.contains(&file.path) {
            complaints.push(format!("{}: put it on the code map in {PAGE}, with what it is", file.path));
        }
    }
    complaints
}

/// Line, crate folder and file name of each entry.
fn entries(page: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let mut folder: Option<String> = None;
    for (at, line) in page.lines().enumerate() {
        if line.starts_with('#') {
            folder = line
                .strip_prefix("### ")
                .filter(|rest| rest.starts_with("crates/"))
                .map(|rest| rest.split_whitespace().next().unwrap_or(rest).to_owned());
        }
        let Some(folder) = &folder else { continue };
        let quoted = line.split('`').skip(1).step_by(2);
        let names = quoted.filter(|word| SOURCES.iter().any(|ending| word.ends_with(ending)));
        found.extend(names.map(|name| (at + 1, folder.clone(), name.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_dead_entries_are_found() {
        let page =
            "# X\n`not.rs`\n### crates/a (is a)\n- `lib.rs`, `dead.rs`: x\n- `c/shim.c`: y\n## End\n`other.rs`\n";
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", page),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/new.rs", ""),
            ("crates/a/src/new_test.rs", ""),
            ("crates/a/c/shim.c", ""),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("ARCHITECTURE.md:4: crates/a has no dead.rs"));
        assert!(found[1].starts_with("crates/a/src/new.rs: put it on the code map"));
        assert_eq!(check(&Tree::default()).len(), 1);
    }
}
