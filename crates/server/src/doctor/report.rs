//! All that the doctor has found out about one application.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::answer::Answer;
use super::difference::Difference;
use super::loading::{Finding, Gem};
use super::sources::Doubt;

/// All about one application.
#[derive(Debug, Default)]
pub struct Report {
    pub rackup: PathBuf,
    pub gemfile: Option<PathBuf>,
    /// The Ruby files that were loaded, but those of gems.
    pub files: Vec<String>,
    pub gems: Vec<Gem>,
    /// How long it took to load, where it did.
    pub loaded: Option<Duration>,
    /// Why it did not load.
    pub refusal: Option<String>,
    /// What keeps it from loading.
    pub findings: Vec<Finding>,
    /// Why there may be more of them.
    pub unfinished: Option<String>,
    /// Libraries that it asked for and does not need.
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
    /// Why it does not.
    Fails(String),
    /// Why there was no Ruby to try it on.
    Absent(String),
}

/// One path.
#[derive(Debug)]
pub struct Asked {
    pub path: String,
    pub here: Result<Answer, String>,
    pub there: There,
}

/// What the user's Ruby makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    NotAsked,
    /// But for what changes with each answer.
    Same(Vec<String>),
    /// Where it differs; with the answer, as long as it was asked only once.
    Other {
        found: Difference,
        answer: Option<Answer>,
    },
    /// It has no answer either.
    Failed(String),
}

impl Report {
    pub fn folder(&self) -> &Path {
        self.rackup.parent().unwrap_or(Path::new("/"))
    }

    /// As `name-version`.
    pub fn gem_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.gems.iter().map(|gem| gem.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    pub fn own_files(&self) -> usize {
        self.files.iter().filter(|file| Path::new(file).starts_with(self.folder())).count()
    }

    /// A place as the application's folder sees it.
    pub fn short<'a>(&self, place: &'a str) -> &'a str {
        place.strip_prefix(&format!("{}/", self.folder().display())).unwrap_or(place)
    }
}
