//! Dependencies between the crates of the workspace: one that is not written here is an event worth a discussion.

use crate::tree::Tree;

/// Each crate with the crates that it may depend on. Programs of bench/ are not listed: they see servers over sockets
/// only.
const ARROWS: [(&str, &[&str]); 15] = [
    ("arena", &["loadgen"]),
    ("engine", &["files"]),
    ("engine-mruby", &["engine", "files", "mruby-sys", "ruby-data", "ruby-native", "ruby-regexp", "ruby-stdlib"]),
    ("engine-ruby", &["engine", "files", "machine"]),
    ("files", &[]),
    ("front", &["engine", "files"]),
    ("loadgen", &[]),
    ("machine", &[]),
    ("mruby-sys", &[]),
    ("ruby-data", &["files", "ruby-native"]),
    ("ruby-native", &[]),
    ("ruby-regexp", &[]),
    ("ruby-stdlib", &["files", "ruby-native", "ruby-regexp"]),
    ("server", &["engine", "engine-mruby", "engine-ruby", "files", "front", "machine"]),
    ("tidy", &[]),
];

/// Complaints about dependencies in the manifests of crates/.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.ending(&["/Cargo.toml"]) {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            complaints.push(format!("{}: a new crate: write its arrows down in crates/tidy/src/arrows.rs", file.path));
            continue;
        };
        for (line, dependency, _) in dependencies(&file.text) {
            let known = ARROWS.iter().any(|(crate_name, _)| *crate_name == dependency);
            if known && !allowed.contains(&dependency.as_str()) {
                let place = format!("{}:{line}", file.path);
                complaints
                    .push(format!("{place}: {name} may not depend on {dependency}: go through the engine's types"));
            }
        }
    }
    complaints
}

/// Line, name, and whether there is a comment, of each dependency in a manifest.
pub fn dependencies(manifest: &str) -> Vec<(usize, String, bool)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in manifest.lines().enumerate() {
        let (text, comment) = line.split_once('#').unwrap_or((line, ""));
        let commented = !comment.trim().is_empty();
        if let Some(section) = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = section.ends_with("dependencies");
            if let Some((_, name)) = section.split_once("dependencies.") {
                found.push((at + 1, name.to_owned(), commented));
            }
        } else if inside && let Some((key, _)) = text.split_once('=') {
            let name = key.trim().split('.').next().unwrap_or("").to_owned();
            found.push((at + 1, name, commented));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_arrow_and_an_unknown_crate_are_found() {
        let tree = Tree::of(&[
            (
                "crates/front/Cargo.toml",
                "[dependencies]\nengine.workspace = true\n[dev-dependencies]\nserver = { path = \"x\" }",
            ),
            ("crates/engine/Cargo.toml", "[dependencies.front]\npath = \"x\""),
            ("crates/other/Cargo.toml", ""),
        ]);
        let found = check(&tree);
        assert!(found[0].starts_with("crates/front/Cargo.toml:4: front may not depend on server"), "{found:?}");
        assert!(found[1].starts_with("crates/engine/Cargo.toml:1: engine may not depend on front"), "{found:?}");
        assert!(found[2].starts_with("crates/other/Cargo.toml: a new crate"), "{found:?}");
    }
}
