//! Reads and checks the studies of a folder.

use std::fs;
use std::path::Path;

use super::check;
use super::recipe::Study;

/// All studies.
#[derive(Debug, Clone, Default)]
pub struct Studies(pub Vec<Study>);

impl Studies {
    /// Reads a folder: the valid studies, and all errors of the others.
    pub fn read(folder: &Path) -> (Studies, Vec<String>) {
        let mut files: Vec<_> = match fs::read_dir(folder) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) => return (Studies::default(), vec![format!("{}: {error}", folder.display())]),
        };
        files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        let mut studies = Vec::new();
        let mut complaints = Vec::new();
        for file in files {
            match Study::read(&file) {
                Ok(study) => studies.push(study),
                Err(found) => complaints.extend(found),
            }
        }
        (Studies(studies), complaints)
    }

    /// The study of this name. An error lists those that exist.
    pub fn get(&self, name: &str) -> Result<&Study, String> {
        let names = || self.0.iter().map(|study| study.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = self.0.iter().find(|study| study.name == name);
        found.ok_or_else(|| format!("there is no study {name}; there are {}", names()))
    }
}

impl Study {
    /// Reads one file.
    pub fn read(file: &Path) -> Result<Study, Vec<String>> {
        let named = |words: String| format!("{}: {words}", file.display());
        let text = fs::read_to_string(file).map_err(|error| vec![named(error.to_string())])?;
        let mut study: Study = toml::from_str(&text).map_err(|error| vec![named(error.to_string())])?;
        study.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        study.text = text;
        let complaints = check::study(&study);
        if complaints.is_empty() { Ok(study) } else { Err(complaints.into_iter().map(named).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::contender::{Allocator, Catalogue, Runtime};
    use crate::study::recipe::Entry;

    /// The rule of METHOD.md. A JVM has its own heap, and the embedded interpreter has jemalloc built in.
    #[test]
    fn each_server_of_a_study_has_an_entry_with_jemalloc_or_none_has() {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../arena");
        let catalogue = Catalogue::read(&home.join("contenders")).unwrap();
        let (studies, complaints) = Studies::read(&home.join("studies"));
        assert!(complaints.is_empty() && studies.0.len() > 5, "{complaints:?}");
        let server = |entry: &Entry| catalogue.get(&entry.recipe).unwrap().home.as_str();
        let takes_it = |entry: &&Entry| catalogue.get(&entry.recipe).unwrap().runtime == Runtime::Cruby;
        let has_it = |entry: &&Entry| matches!(entry.allocator, Some(Allocator::Jemalloc));
        for Study { name, contenders, .. } in &studies.0 {
            let all: BTreeSet<&str> = contenders.iter().filter(takes_it).map(server).collect();
            let with: BTreeSet<&str> = contenders.iter().filter(has_it).map(server).collect();
            assert!(with.is_empty() || with == all, "{name}: jemalloc for {with:?}, and not for all of {all:?}");
            for entry in contenders.iter().filter(has_it) {
                let settings = |one: &Entry| (one.recipe.clone(), one.workers, one.threads, one.rackup.clone());
                let is_like = |one: &Entry| one.allocator.is_none() && !one.stock && settings(one) == settings(entry);
                assert!(contenders.iter().any(is_like), "{name}: {} differs in more than that", entry.name());
            }
        }
    }
}
