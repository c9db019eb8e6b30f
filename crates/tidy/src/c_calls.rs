//! Dependencies between C files: their `#include`s, and names of functions that another file defines. Declarations in a
//! header are no dependencies: the file that defines the function counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Arrows;
use crate::tree::{SourceFile, Tree};

/// The dependencies between the C files of a folder.
pub fn of(tree: &Tree, folder: &str) -> Arrows {
    let is_here = |path: &str| path.rsplit_once('/').is_some_and(|(its, _)| its == folder);
    let files: Vec<&SourceFile> = tree.ending(&[".c", ".h"]).filter(|file| is_here(&file.path)).collect();
    let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".c")) {
        // Those with external linkage.
        let functions = functions(&words(&file.text)).into_iter().filter(|(_, is_static)| !is_static);
        homes.extend(functions.map(|(name, _)| (name, file.path.as_str())));
    }
    let mut arrows = Arrows::new();
    for file in &files {
        let mut arrow = |to: &str, name: &str| {
            if to != file.path {
                let names = arrows.entry((file.path.clone(), to.to_owned())).or_default();
                names.insert(name.to_owned());
            }
        };
        for name in included(&file.text) {
            let to = format!("{folder}/{name}");
            if tree.holds(&to) {
                arrow(&to, "#include");
            }
        }
        if file.path.ends_with(".c") {
            let words = words(&file.text);
            let own = functions(&words).into_iter().filter(|(_, is_static)| *is_static);
            let own: BTreeSet<&str> = own.map(|(name, _)| name).collect();
            for word in words.iter().filter(|word| !own.contains(**word)) {
                if let Some(home) = homes.get(word) {
                    arrow(home, word);
                }
            }
        }
    }
    arrows
}

fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("#include \"")?.split('"').next())
}

/// Names and punctuation, without comments, strings and preprocessor lines.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let from = at;
        at += match byte {
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'#' if text[..at].ends_with('\n') => directive(rest),
            b'"' | b'\'' => quoted(rest, byte),
            _ if is_name(byte) => {
                let length = rest.bytes().take_while(|byte| is_name(*byte)).count();
                found.push(&text[from..from + length]);
                length
            }
            b'(' | b')' | b'{' | b'}' | b';' | b'=' => {
                found.push(&text[from..=from]);
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    found
}

/// Length of a preprocessor line, with its continuation lines.
fn directive(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    length
}

fn quoted(rest: &str, quote: u8) -> usize {
    let mut bytes = rest.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if byte == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// Names of the functions that a file defines, and whether they are static.
fn functions<'a>(words: &[&'a str]) -> Vec<(&'a str, bool)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut declaration: Vec<&str> = Vec::new();
    for word in words {
        match *word {
            "{" => {
                if depth == 0 {
                    let name = declaration.iter().position(|word| *word == "(").and_then(|at| at.checked_sub(1));
                    if let Some(name) = name.filter(|_| !declaration.contains(&"=")) {
                        found.push((declaration[name], declaration.contains(&"static")));
                    }
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                declaration.clear();
            }
            ";" if depth == 0 => declaration.clear(),
            _ if depth == 0 => declaration.push(word),
            _ => {}
        }
    }
    found
}
