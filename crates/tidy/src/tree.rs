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
    /// Whether the file contains only tests, or support for tests.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.contains("/tests/") || self.path.ends_with("_test.rs")
    }

    /// Whether it is a shell script.
    pub fn is_script(&self) -> bool {
        self.path.ends_with(".sh") || self.text.starts_with("#!/usr/bin/env bash") || self.text.starts_with("#!/bin/sh")
    }

    /// The text without the test module at the end of a Rust file.
    pub fn product(&self) -> &str {
        if !self.path.ends_with(".rs") {
            return &self.text;
        }
        let at = self.text.find("#[cfg(test)]\nmod ").or_else(|| self.text.find("#[cfg(test)]\n#[path"));
        &self.text[..at.unwrap_or(self.text.len())]
    }

    /// Lines outside the test module with their numbers, from 1, without comments; roughly, since a `//` in a string
    /// cuts the line, too.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.product().lines().enumerate().map(|(at, line)| (at + 1, line.find("//").map_or(line, |cut| &line[..cut])))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_folders_are_held() {
        assert!(has_word("x unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(!has_word("an_unsafe", "unsafe"));
        let tree = Tree::of(&[("a/b.rs", "")]);
        assert!(tree.holds("a/b.rs") && tree.holds("a") && tree.holds("a/") && !tree.holds("a/b"));
    }
}
