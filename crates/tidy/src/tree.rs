//! The files that rules check: paths from the root of the repository, with forward slashes, and texts.

/// A text file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path from the root of the repository.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// All files of the repository.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The files in git's order.
    pub files: Vec<SourceFile>,
}

impl Tree {
    /// A tree of paths and texts, for tests.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| SourceFile { path: (*path).into(), text: (*text).into() };
        Tree { files: files.iter().map(file).collect() }
    }

    /// Files whose names end with one of these.
    pub fn ending<'a>(&'a self, endings: &'a [&str]) -> impl Iterator<Item = &'a SourceFile> {
        self.files.iter().filter(|file| endings.iter().any(|ending| file.path.ends_with(ending)))
    }

    /// Whether there is such a file, or a folder with files in it.
    pub fn holds(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }
}

impl SourceFile {
    /// Whether it is a shell script.
    pub fn is_script(&self) -> bool {
        self.path.ends_with(".sh") || self.text.starts_with("#!/usr/bin/env bash") || self.text.starts_with("#!/bin/sh")
    }

    /// Lines of the file by number, less one. In a Rust file the lines of test modules are empty, wherever they stand:
    /// from `#[cfg(test)]` to the `;` of its `mod`, or to the first `}` in the first column.
    pub fn product(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.text.lines().collect();
        if !self.path.ends_with(".rs") {
            return lines;
        }
        let mut at = 0;
        while at < lines.len() {
            let length = test_module(&lines[at..]);
            lines[at..at + length].fill("");
            at += length.max(1);
        }
        lines
    }

    /// Lines outside the test module with their numbers, from 1, without comments; roughly, since a `//` in a string
    /// cuts the line, too.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.product().into_iter().enumerate();
        lines.map(|(at, line)| (at + 1, line.find("//").map_or(line, |cut| &line[..cut])))
    }
}

/// Whether `word` occurs in `line` with no letter, digit or underscore beside it.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let goes_on = word.ends_with(part) && after.starts_with(part);
        !(before.ends_with(part) || goes_on)
    })
}

/// The number of lines of the test module that begins with the first of these lines; 0 if none begins there.
fn test_module(lines: &[&str]) -> usize {
    if lines.first() != Some(&"#[cfg(test)]") {
        return 0;
    }
    let attributes = lines.iter().take_while(|line| line.starts_with("#[")).count();
    let Some(item) = lines.get(attributes) else { return 0 };
    let words: Vec<&str> = item.split_whitespace().collect();
    match words[..] {
        ["mod", ..] | ["pub" | "pub(crate)" | "pub(super)", "mod", ..] if item.ends_with([';', '}']) => attributes + 1,
        ["mod", ..] | ["pub" | "pub(crate)" | "pub(super)", "mod", ..] => {
            lines.iter().position(|line| *line == "}").map_or(lines.len(), |end| end + 1)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_are_left_out_wherever_they_stand_and_nothing_else_is() {
        let text = [
            "mod a;",
            "#[cfg(test)]",
            "mod b;",
            "fn one() {}",
            "#[cfg(test)]",
            "#[path = \"c.rs\"]",
            "pub(crate) mod c;",
            "fn two() {}",
            "#[cfg(test)]",
            "mod d {",
            "    fn test() {",
            "    }",
            "}",
            "#[cfg(test)]",
            "fn three() {} // not a module",
        ];
        let text = text.join("\n");
        let kept = |path: &str| {
            let tree = Tree::of(&[(path, &text)]);
            let lines = tree.files[0].code().filter(|(_, line)| !line.is_empty());
            lines.map(|(number, line)| format!("{number} {}", line.trim())).collect::<Vec<_>>()
        };
        let product = ["1 mod a;", "4 fn one() {}", "8 fn two() {}", "14 #[cfg(test)]", "15 fn three() {}"];
        assert_eq!(kept("a.rs"), product);
        assert_eq!(kept("a.rb").len(), 15);
    }

    #[test]
    fn words_are_whole_and_folders_are_held() {
        assert!(has_word("x unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(!has_word("an_unsafe", "unsafe"));
        let tree = Tree::of(&[("a/b.rs", "")]);
        assert!(tree.holds("a/b.rs") && tree.holds("a") && tree.holds("a/") && !tree.holds("a/b"));
    }
}
