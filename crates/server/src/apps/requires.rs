//! Finds libraries that an application requires and an engine does not have. It reads Ruby without running it, so only
//! this is certain: `require "name"` at the beginning of a line, outside of blocks and without a condition, in
//! config.ru and in files that are required in the same way. Whatever may be required, or cannot be determined by
//! reading, is a doubt.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::env;
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::apps::statements::{self, Possible, Required};

/// Limits of files and their size. Files beyond them are a doubt: this must not make a start slow.
const FILES_MAX: usize = 200;
const BYTES_MAX: u64 = 1 << 20;
/// Limits of libraries to look for, and of folders of the application to look in.
const REQUIRED_MAX: usize = 5000;
const FOLDERS_MAX: usize = 50;
/// Names that only the embedded engine has, as they stand in code.
const EMBEDDED: [&str; 4] = ["FoolsGold.store", "FoolsGold.requests", "FoolsGold.allow_read", "fools_gold.context"];

/// A required library that is missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Unmet {
    /// Name of the library.
    name: String,
    /// Path of the requiring file, relative to the application's folder.
    file: String,
    line: usize,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmet { name, file, line } = self;
        write!(f, "{file} requires \"{name}\" ({file}:{line})")
    }
}

/// Result of reading the files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The first library that is certainly required and missing, in the order in which Ruby would load it.
    pub unmet: Option<Unmet>,
    /// The first thing that may need another engine, as a text.
    pub doubt: Option<String>,
}

/// Reads the application's files. `provides` says whether the engine has a library.
pub fn look(rackup: &Path, provides: &dyn Fn(&str) -> bool) -> Requirements {
    let app = rackup.parent().unwrap_or(Path::new("/")).to_owned();
    let app = fs::canonicalize(&app).unwrap_or(app);
    let found = Requirements::default();
    let mut search = Search {
        app,
        provides,
        load_path: Vec::new(),
        seen: HashSet::new(),
        looked: 0,
        is_for_embedded: false,
        is_portable: false,
        found,
    };
    search.file(rackup, true);
    if search.is_for_embedded && !search.is_portable {
        search.found.doubt = None;
    }
    search.found
}

struct Search<'a> {
    /// The application's folder.
    app: PathBuf,
    provides: &'a dyn Fn(&str) -> bool,
    /// Folders that the application adds to `$LOAD_PATH`.
    load_path: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    /// Number of libraries that were looked for.
    looked: usize,
    /// Whether it uses one of [`EMBEDDED`], so that Ruby cannot run it.
    is_for_embedded: bool,
    /// Whether it checks first that `FoolsGold` is defined, so that Ruby can run it, too.
    is_portable: bool,
    found: Requirements,
}

/// Position of a statement.
struct StatementPosition<'a> {
    path: &'a Path,
    folder: &'a Path,
    line: usize,
    is_certain: bool,
}

impl Search<'_> {
    /// Reads a file and those that it requires. `is_certain`: Ruby cannot fail to load it.
    fn file(&mut self, path: &Path, is_certain: bool) {
        let Ok(path) = fs::canonicalize(path) else { return };
        if self.found.unmet.is_some() || self.seen.contains(&path) {
            return;
        }
        let shown = self.shown(&path);
        // Opening a pipe would wait for a writer.
        let is_short_file = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
        if !is_short_file || self.seen.len() >= FILES_MAX {
            return self.doubt(|| format!("{shown} is more than is looked through"));
        }
        self.seen.insert(path.clone());
        let Ok(source) = fs::read(&path) else { return };
        let source = String::from_utf8_lossy(&source);
        let folder = path.parent().unwrap_or(Path::new("/"));
        for (line, text) in code(&source) {
            if text.contains("$LOAD_PATH") || text.contains("$:") {
                self.add_load_path(folder, text);
            }
            let (certain, rest) = statements::certain(text);
            for required in certain {
                self.required(&required, &StatementPosition { path: &path, folder, line, is_certain });
            }
            let is_plain =
                text.starts_with("require") && [" if ", " unless ", " rescue "].iter().all(|w| !text.contains(w));
            if !text.trim_start().starts_with('#') {
                self.is_for_embedded |= EMBEDDED.iter().any(|name| text.contains(name));
                self.is_portable |= text.contains("defined?") && text.contains("FoolsGold");
            }
            if let Some(what) = statements::only_ruby(text) {
                self.doubt(|| format!("{shown} uses {what} ({shown}:{line})"));
            }
            for possible in statements::possible(rest) {
                let place = StatementPosition { path: &path, folder, line, is_certain: is_certain && is_plain };
                self.possible(&possible, &place);
            }
            if self.found.unmet.is_some() {
                return;
            }
        }
    }

    fn possible(&mut self, possible: &Possible, place: &StatementPosition<'_>) {
        match possible {
            Possible::Named(required) => self.required(required, &StatementPosition { is_certain: false, ..*place }),
            Possible::Computed(words) => match computed(words, place, &self.app) {
                Some(found) => self.file(&found, place.is_certain),
                None => {
                    let shown = self.shown(place.path);
                    let line = place.line;
                    self.doubt(|| format!("{shown} requires what is not known before it runs ({shown}:{line})"));
                }
            },
        }
    }

    fn required(&mut self, required: &Required, place: &StatementPosition<'_>) {
        self.looked += 1;
        if self.looked > REQUIRED_MAX {
            return self.doubt(|| format!("more than {REQUIRED_MAX} libraries are required"));
        }
        let (bases, is_own) = match required {
            Required::Beside(_) => (vec![place.folder.to_owned()], true),
            Required::Library(name) if name.starts_with('.') || name.starts_with('/') => {
                (env::current_dir().into_iter().chain([self.app.clone()]).collect(), true)
            }
            Required::Library(_) => (self.load_path.clone(), false),
        };
        let (Required::Beside(name) | Required::Library(name)) = required;
        // `load` takes a file of any name, such as bin/app.
        let exact = || bases.iter().map(|base| base.join(name)).find(|path| is_own && path.is_file());
        if let Some(found) = bases.iter().find_map(|base| with_suffix(&base.join(name))).or_else(exact) {
            return self.file(&found, place.is_certain);
        }
        // A missing file of the application is missing for every engine.
        if is_own || (self.provides)(name) {
            return;
        }
        let file = self.shown(place.path);
        let line = place.line;
        if place.is_certain {
            self.found.unmet = Some(Unmet { name: name.clone(), file, line });
        } else {
            self.doubt(|| format!("{file} may require \"{name}\" ({file}:{line})"));
        }
    }

    fn doubt(&mut self, words: impl FnOnce() -> String) {
        self.found.doubt.get_or_insert_with(words);
    }

    /// A path relative to the application's folder.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.app).unwrap_or(path).display().to_string()
    }

    /// Adds the folders that a line adds to `$LOAD_PATH`: its quoted words are parts of paths, in all usual forms, as
    /// are `__dir__` and the like. A wrong folder does no harm: it counts only if it has a required file.
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

/// The file that `File.expand_path("../app", __FILE__)` and similar code names: the quoted words are parts of a path
/// that begins at the file, at its folder, or in the application's folder.
fn computed(words: &[String], place: &StatementPosition<'_>, app: &Path) -> Option<PathBuf> {
    let tail: PathBuf = words.iter().map(|word| word.replace("#{__dir__}/", "")).collect();
    let tail = tail.strip_prefix("/").unwrap_or(&tail);
    if tail.as_os_str().is_empty() {
        return None;
    }
    let bases = [place.path, place.folder, app];
    bases.iter().find_map(|base| with_suffix(&without_dots(&base.join(tail))))
}

/// Resolves dots without the disk: `/a/config.ru/../app` is `/a/app`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The file that Ruby's `require` would find for this path.
fn with_suffix(path: &Path) -> Option<PathBuf> {
    if path.extension().is_some_and(|extension| extension == "rb" || extension == "ru") && path.is_file() {
        return Some(path.to_owned());
    }
    let mut longer = path.as_os_str().to_owned();
    longer.push(".rb");
    Some(PathBuf::from(longer)).filter(|path| path.is_file())
}

/// Lines of a program with their numbers, without comment blocks, here-documents and what follows `__END__`.
pub fn code(source: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = source.strip_prefix('\u{feff}').unwrap_or(source).lines().collect();
    // Lines by their text: a search through all lines for each here-document could take minutes.
    let places = LazyCell::new(|| {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        lines.iter().enumerate().for_each(|(at, line)| places.entry(line.trim()).or_default().push(at));
        places
    });
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at).filter(|line| **line != "__END__") {
        found.push((at + 1, *line));
        let next = |end: &str, last: usize| {
            let places = places.get(end)?;
            places.get(places.partition_point(|place| *place <= last)).copied()
        };
        at = if line.starts_with("=begin") {
            next("=end", at).unwrap_or(lines.len())
        } else {
            // A word after `<<` that never stands alone in a line began no here-document; it may be a push.
            heredocs(line).fold(at, |last, end| next(end, last).unwrap_or(last))
        };
        at += 1;
    }
    found
}

/// The words that end the here-documents which begin in this line, in their order.
fn heredocs(line: &str) -> impl Iterator<Item = &str> {
    let line = if line.trim_start().starts_with('#') { "" } else { line };
    let words = line.split("<<").skip(1).map(|after| {
        let after = after.trim_start_matches(['~', '-']).trim_start_matches(['"', '\'', '`']);
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        &after[..end]
    });
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "requires_test.rs"]
mod tests;
