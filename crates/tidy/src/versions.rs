//! The gem has the program's version: gem/ must load alone, so it contains the version, too.

use crate::tree::Tree;

const GEM: &str = "gem/lib/foolsgold/version.rb";
const MANIFEST: &str = "Cargo.toml";

/// A complaint if the two versions differ.
pub fn check(tree: &Tree) -> Vec<String> {
    let text = |path: &str| tree.files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let after = |text: &str, mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let package = text(MANIFEST).and_then(|text| text.split_once("[workspace.package]"));
    let program = package.and_then(|(_, text)| after(text, "\nversion = \""));
    let gem = text(GEM).and_then(|text| after(text, "VERSION = \""));
    if program == gem {
        return Vec::new();
    }
    let [program, gem] = [program, gem].map(|version| version.unwrap_or_else(|| "none".to_owned()));
    vec![format!("{GEM}: {gem}, but the program is {program} ({MANIFEST}): write the same")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gem_follows_the_program() {
        let manifest = "[workspace]\nversion = \"9\"\n[workspace.package]\nversion = \"1.2.3\"\n";
        let found = |gem: &str| check(&Tree::of(&[(MANIFEST, manifest), (GEM, gem)]));
        assert_eq!(found("  VERSION = \"1.2.3\"\n"), [""; 0]);
        assert!(found("  VERSION = \"1.2.2\"\n")[0].contains("1.2.2, but the program is 1.2.3"));
        assert!(found("")[0].contains("none, but"));
    }
}
