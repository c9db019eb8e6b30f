//! Finds calls in the application's own files of methods that CRuby's core has and the embedded interpreter does not
//! have on any object. It reads without running, so these are only doubts: any object may have a method of that name.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use crate::apps::requires;

/// Methods, one per line: the name, and the classes of CRuby 3.3 that have it.
const METHODS: &str = include_str!("methods.txt");
/// Largest file in bytes that is read; larger ones are data.
const BYTES_MAX: u64 = 1 << 20;

/// A method that may be missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Doubt {
    pub method: String,
    /// The classes that have it in CRuby.
    pub classes: String,
    /// `file:line`.
    pub places: Vec<String>,
}

/// Doubts in config.ru and in all loaded files below its folder, except those of gems.
pub fn doubts(rackup: &Path, files: &[String], present: &[String]) -> Vec<Doubt> {
    if present.is_empty() {
        // Loading failed before the interpreter could report its methods.
        return Vec::new();
    }
    let folder = rackup.parent().unwrap_or(Path::new("/"));
    let own = files.iter().map(Path::new).filter(|file| is_own(folder, file));
    let texts: Vec<(String, String)> =
        std::iter::once(rackup).chain(own).filter_map(|file| text(folder, file)).collect();
    let present: HashSet<&str> = present.iter().map(String::as_str).collect();
    let own: HashSet<String> = texts.iter().flat_map(|(_, text)| defined(text)).collect();
    let absent: BTreeMap<&str, &str> = METHODS
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| !present.contains(name) && !own.contains(*name))
        .collect();
    let mut doubts: Vec<Doubt> = Vec::new();
    for (file, text) in &texts {
        for (number, line) in requires::code(text) {
            for (receiver, name) in called(line) {
                let Some((method, classes)) = absent.get_key_value(name) else { continue };
                if !may_be_meant(classes, receiver) {
                    continue;
                }
                let place = format!("{file}:{number}");
                match doubts.iter_mut().find(|doubt| doubt.method == *method) {
                    Some(doubt) => doubt.places.push(place),
                    None => doubts.push(Doubt {
                        method: (*method).to_owned(),
                        classes: classes.replace(',', ", "),
                        places: vec![place],
                    }),
                }
            }
        }
    }
    doubts.iter_mut().for_each(|doubt| doubt.places.dedup());
    doubts
}

fn is_own(folder: &Path, file: &Path) -> bool {
    let below = file.strip_prefix(folder);
    below.is_ok_and(|below| !below.starts_with("vendor") && !below.components().any(|part| part.as_os_str() == "gems"))
}

fn text(folder: &Path, file: &Path) -> Option<(String, String)> {
    let is_short_file = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
    let bytes = is_short_file.then(|| fs::read(file).ok()).flatten()?;
    let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
    Some((name, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Names of the application's own methods, defined in the usual ways.
fn defined(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = line.split_once("def ").map(|(_, rest)| rest) {
            let rest = rest.strip_prefix("self.").unwrap_or(rest);
            names.extend(word(rest).map(str::to_owned));
        }
        let makes = ["attr_", "define_method", "alias", "Struct.new", "Data.define", "delegate", "def_delegator"];
        if makes.iter().any(|one| line.contains(one)) {
            names.extend(line.split(':').skip(1).filter_map(word).map(str::to_owned));
        }
    }
    names
}

/// Whether a call may mean a method of these classes. If only modules themselves have it, such as `Process.groups`, the
/// module must precede the dot: on other objects it is another method.
fn may_be_meant(classes: &str, receiver: &str) -> bool {
    let is_of = |module: &str| {
        let before = receiver.strip_suffix(module).map(|before| before.chars().next_back());
        before.is_some_and(|last| last.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
    };
    classes.split(',').any(|class| class.strip_suffix('.').is_none_or(is_of))
}

/// Receiver and name of each method call in a line, and names in `&:name`.
fn called(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let line = uncommented(line);
    let starts = line.match_indices(['.', ':']).filter(move |(at, _)| {
        let before = line[..*at].chars().next_back();
        match line.as_bytes()[*at] {
            // A range or a decimal point is no call.
            b'.' => before.is_some_and(|c| c != '.' && !c.is_whitespace()) || line[..*at].trim().is_empty(),
            _ => before == Some('&'),
        }
    });
    starts.filter_map(move |(at, _)| {
        let receiver = line[..at].strip_suffix('&').unwrap_or(&line[..at]);
        word(&line[at + 1..]).map(|name| (receiver, name))
    })
}

/// A line without its comment; a `#` in a string may cut off too much, which only loses a doubt.
fn uncommented(line: &str) -> &str {
    let comment = line.match_indices('#').find(|(at, _)| {
        let (before, after) = (&line[..*at], &line[*at + 1..]);
        !after.starts_with('{') && (before.is_empty() || before.ends_with([' ', '\t']))
    });
    comment.map_or(line, |(at, _)| &line[..at])
}

/// The method name at the beginning of a text.
fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let end = if text[end..].starts_with(['?', '!']) && !text[end + 1..].starts_with('=') { end + 1 } else { end };
    let name = &text[..end];
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_and_nothing_else() {
        let found = |line| called(line).map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(found("a.b(c&.d?).e!.map(&:f) # x.g"), ["b", "d?", "e!", "map", "f"]);
        assert_eq!(found("  .then { 1..two }"), ["then"]);
        assert_eq!(found("Foo::Bar.new(a ? b : c, d: 1.5)"), ["new"]);
        assert_eq!(found("\"#{one.two}\""), ["two"]);
        assert_eq!(found("a.b != c.d == 1"), ["b", "d"]);
    }

    #[test]
    fn a_method_of_a_module_is_meant_only_after_its_name() {
        for (line, is_meant) in [
            ("Process.groups", true),
            ("x = ::Process&.groups", true),
            ("user.groups", false),
            ("users.map(&:groups)", false),
            ("MyProcess.groups", false),
            ("DB[:groups].groups", false),
        ] {
            assert_eq!(called(line).any(|(before, _)| may_be_meant("Process.", before)), is_meant, "{line}");
        }
        assert!(may_be_meant("File.,File::Stat", "x"), "an instance method may be anybody's");
    }

    #[test]
    fn what_only_cruby_has_is_doubted_where_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("config.ru"), "require_relative 'app'\nx.undump\nx.each_grapheme_cluster\n").unwrap();
        fs::write(at("app.rb"), "def each_grapheme_cluster = 1\n# x.undump\ny&.undump\n").unwrap();
        let files = [at("app.rb").display().to_string(), "/elsewhere/z.rb".to_owned()];
        let doubts = doubts(&at("config.ru"), &files, &["each".to_owned()]);
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        assert_eq!((doubts[0].method.as_str(), doubts[0].classes.as_str()), ("undump", "String"));
        assert_eq!(doubts[0].places, ["config.ru:2", "app.rb:3"]);
    }
}
