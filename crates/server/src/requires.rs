//! Looks for libraries that an application requires and an engine does not have. It reads Ruby without running it, so
//! it believes only what is certain: `require "name"` at the beginning of a line, outside of any block and without a
//! condition, in config.ru and in files of the application that are required in the same way.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// So many files are read, of such a size. What comes later does not count: this must not make a start slow.
const FILES_MAX: usize = 200;
const BYTES_MAX: u64 = 1 << 20;
/// So many libraries are looked for, in so many folders of the application.
const REQUIRED_MAX: usize = 5000;
const FOLDERS_MAX: usize = 50;

/// A library that is required and not there.
#[derive(Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Of the library.
    name: String,
    /// As the application's folder sees it.
    file: String,
    line: usize,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmet { name, file, line } = self;
        write!(f, "{file} requires \"{name}\" ({file}:{line})")
    }
}

/// The first such library, in the order in which Ruby would come to it.
pub fn unmet(rackup: &Path, provides: &dyn Fn(&str) -> bool) -> Option<Unmet> {
    let app = rackup.parent().unwrap_or(Path::new("/")).to_owned();
    Search { app, provides, load_path: Vec::new(), seen: HashSet::new(), looked: 0 }.file(rackup)
}

struct Search<'a> {
    /// The application's folder.
    app: PathBuf,
    provides: &'a dyn Fn(&str) -> bool,
    /// Folders that the application adds to `$LOAD_PATH`.
    load_path: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    /// So many libraries were looked for.
    looked: usize,
}

impl Search<'_> {
    fn file(&mut self, path: &Path) -> Option<Unmet> {
        let path = fs::canonicalize(path).ok()?;
        // A pipe would wait for whoever writes into it.
        let is_short_file = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
        if !is_short_file || self.seen.len() >= FILES_MAX || !self.seen.insert(path.clone()) {
            return None;
        }
        let source = fs::read(&path).ok()?;
        let source = String::from_utf8_lossy(&source);
        let folder = path.parent().unwrap_or(Path::new("/"));
        for (number, line) in code(&source) {
            if line.contains("$LOAD_PATH") || line.contains("$:") {
                self.add_load_path(folder, line);
            }
            for required in required(line) {
                if let Some(unmet) = self.required(&required, folder, &path, number) {
                    return Some(unmet);
                }
            }
        }
        None
    }

    fn required(&mut self, required: &Required, folder: &Path, path: &Path, line: usize) -> Option<Unmet> {
        self.looked += 1;
        if self.looked > REQUIRED_MAX {
            return None;
        }
        let (bases, is_own) = match required {
            Required::Beside(_) => (vec![folder.to_owned()], true),
            Required::Library(name) if name.starts_with('.') || name.starts_with('/') => {
                (env::current_dir().into_iter().chain([self.app.clone()]).collect(), true)
            }
            Required::Library(_) => (self.load_path.clone(), false),
        };
        let (Required::Beside(name) | Required::Library(name)) = required;
        if let Some(found) = bases.iter().find_map(|base| with_suffix(&base.join(name))) {
            return self.file(&found);
        }
        // A file of the application that is missing is missing for every engine.
        if is_own || (self.provides)(name) {
            return None;
        }
        let file = path.strip_prefix(fs::canonicalize(&self.app).ok()?).unwrap_or(path).display().to_string();
        Some(Unmet { name: name.clone(), file, line })
    }

    /// The words in quotes are parts of paths in all usual ways to write this, as are `__dir__` and its kin. One folder
    /// too many does no harm: it counts only when the file that is looked for is in it.
    fn add_load_path(&mut self, folder: &Path, line: &str) {
        let mut folders = vec![folder.to_owned()];
        for word in line.split(['"', '\'']).skip(1).step_by(2) {
            let word = word.replace("#{__dir__}", "");
            folders.push(PathBuf::from(&word));
            folders.push(folder.join(word.trim_start_matches('/')));
        }
        for folder in folders {
            if self.load_path.len() < FOLDERS_MAX && !self.load_path.contains(&folder) {
                self.load_path.push(folder);
            }
        }
    }
}

/// As Ruby's `require` finds it.
fn with_suffix(path: &Path) -> Option<PathBuf> {
    if path.extension().is_some_and(|extension| extension == "rb") && path.is_file() {
        return Some(path.to_owned());
    }
    let mut longer = path.as_os_str().to_owned();
    longer.push(".rb");
    Some(PathBuf::from(longer)).filter(|path| path.is_file())
}

#[derive(Debug, PartialEq, Eq)]
enum Required {
    Library(String),
    /// With `require_relative`.
    Beside(String),
}

/// What a line requires for certain; several statements may stand in it.
fn required(line: &str) -> Vec<Required> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((required, after)) = first_required(rest) {
        found.push(required);
        rest = after;
    }
    found
}

/// The statement that a text begins with, and what follows it.
fn first_required(text: &str) -> Option<(Required, &str)> {
    let (is_beside, rest) = match text.strip_prefix("require_relative") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("require")?),
    };
    if !rest.starts_with([' ', '\t', '(', '"', '\'']) {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches('(').trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, rest) = rest[1..].split_once(quote)?;
    let rest = rest.trim_start().trim_start_matches(')').trim_start();
    // With a condition or a rescue behind it, it may be left out; a name with code in it is not known here.
    if !(rest.is_empty() || rest.starts_with(['#', ';'])) || name.is_empty() || name.contains(['#', '\\']) {
        return None;
    }
    let required = if is_beside { Required::Beside } else { Required::Library };
    Some((required(name.to_owned()), rest.trim_start_matches([';', ' '])))
}

/// The lines of a program with their numbers, without comment blocks, here-documents and what follows `__END__`.
pub fn code(source: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = source.strip_prefix('\u{feff}').unwrap_or(source).lines().collect();
    // Where each text stands alone in a line: looking through all lines for each here-document could take minutes.
    let places = LazyCell::new(|| {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        lines.iter().enumerate().for_each(|(at, line)| places.entry(line.trim()).or_default().push(at));
        places
    });
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at).filter(|line| **line != "__END__") {
        found.push((at + 1, *line));
        let ends = |end: &str| {
            let places = places.get(end)?;
            places.get(places.partition_point(|place| *place <= at)).copied()
        };
        let last = match heredoc(line) {
            _ if line.starts_with("=begin") => Some(ends("=end").unwrap_or(lines.len())),
            // A name after `<<` that never comes alone was no here-document but, say, a push.
            Some(end) => ends(end),
            None => None,
        };
        at = last.unwrap_or(at) + 1;
    }
    found
}

/// The word that ends the here-document which begins in this line.
fn heredoc(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("<<").filter(|(before, _)| !before.trim_start().starts_with('#'))?;
    let after = after.trim_start_matches(['~', '-']).trim_start_matches(['"', '\'', '`']);
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    Some(&after[..end]).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "requires_test.rs"]
mod tests;
