//! The doctor's findings about one application.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::answer::Answer;
use super::difference::Difference;
use super::loading::{Finding, Gem};
use super::scan::Doubt;

/// The doctor's findings about one application.
#[derive(Debug, Default)]
pub struct Report {
    pub rackup: PathBuf,
    pub gemfile: Option<PathBuf>,
    /// The Ruby files that were loaded, without those of gems.
    pub files: Vec<String>,
    pub gems: Vec<Gem>,
    /// Time that it took to load, if it did.
    pub loaded: Option<Duration>,
    /// Why it did not load.
    pub refusal: Option<String>,
    /// Missing things and errors that prevent loading.
    pub findings: Vec<Finding>,
    /// Why `findings` may be incomplete.
    pub unfinished: Option<String>,
    /// Libraries that it tried to load and does not need.
    pub did_without: Vec<String>,
    pub doubts: Vec<Doubt>,
    pub asked: Vec<Asked>,
    /// The Ruby that it was compared with.
    pub ruby: Option<String>,
    pub on_ruby: OnRuby,
}

/// Whether it loads on the user's Ruby.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum OnRuby {
    #[default]
    NotTried,
    Loads,
    /// The application does not load, for this reason.
    Fails(String),
    /// There was no Ruby to try it on, for this reason.
    Absent(String),
}

/// A requested path and both responses.
#[derive(Debug)]
pub struct Asked {
    pub path: String,
    pub here: Result<Answer, String>,
    pub there: There,
}

/// The response of the user's Ruby.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    NotAsked,
    /// The same, except for these parts, which change each time.
    Same(Vec<String>),
    /// A different one; with the response, if there was only one request so far.
    Other {
        found: Difference,
        answer: Option<Answer>,
    },
    /// No response, for this reason.
    Failed(String),
}

impl Report {
    pub fn folder(&self) -> &Path {
        self.rackup.parent().unwrap_or(Path::new("/"))
    }

    /// Names of the gems, as `name-version`.
    pub fn gem_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.gems.iter().map(|gem| gem.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    pub fn own_files(&self) -> usize {
        self.files.iter().filter(|file| Path::new(file).starts_with(self.folder())).count()
    }

    /// A position relative to the application's folder.
    pub fn short<'a>(&self, place: &'a str) -> &'a str {
        place.strip_prefix(&format!("{}/", self.folder().display())).unwrap_or(place)
    }
}
