//! Runs every rule on the files that git tracks or would add, and prints all complaints at once.

use std::fs;
use std::path::Path;
use std::process::Command;

use tidy::{RULES, SourceFile, Tree};

#[test]
fn the_house_keeps_its_rules() {
    let Some(tree) = read_tree() else { return };
    assert!(tree.files.len() > 20, "git told of too few files");
    let mut complaints = Vec::new();
    for (rule, check) in RULES {
        complaints.extend(check(&tree).into_iter().map(|complaint| format!("  [{rule}] {complaint}")));
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

/// The files of the repository; `None` in an archive of its files, where nothing says which are part of it.
fn read_tree() -> Option<Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("git runs: this test looks at the files it knows of");
    assert!(
        output.status.success(),
        "git ls-files: {} (of another user's folder: git config --global --add safe.directory FOLDER)",
        String::from_utf8_lossy(&output.stderr)
    );
    let paths = String::from_utf8(output.stdout).expect("paths in this repository are plain text");
    let mut tree = Tree::default();
    for path in paths.split('\0').filter(|path| !path.is_empty() && *path != "Cargo.lock") {
        let file = root.join(path);
        // A deleted file that is still in the index, or a folder behind a link, is none; a picture has no text.
        if file.is_file() {
            tree.files.push(SourceFile { path: path.to_owned(), text: fs::read_to_string(file).unwrap_or_default() });
        }
    }
    Some(tree)
}
