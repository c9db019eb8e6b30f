//! A challenge: a user's recipe takes part in a study beside ours, in the same rounds and under the same rules. Its
//! text is stored in the run folder, so that the run can be resumed and checked without the file.

use serde::{Deserialize, Serialize};

use super::meaning;
use super::recipe::{Entry, Study};
use crate::contender::Catalogue;

/// Our server, which takes part in every challenge that names no opponents.
const OURS: &str = "foolsgold";
/// Suffix of the recipe's name if one of ours has the same name.
const SUFFIX: &str = "-challenge";

/// A user's recipe, and the options with which it takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Name of its file, without `.toml`.
    pub name: String,
    /// Text of its file.
    pub text: String,
    /// Author of the recipe, for the report.
    pub by: Option<String>,
    /// Number of workers; by default that of ours of the same server, or else of FoolsGold.
    pub workers: Option<u32>,
    /// Threads per worker; with the same default.
    pub threads: Option<u32>,
    /// Contenders of the study that take part; empty for ours of the same server, and FoolsGold.
    pub against: Vec<String>,
}

impl Challenge {
    /// The study with this contender and its opponents only, and the catalogue with its recipe.
    pub fn join(&self, study: &Study, catalogue: &Catalogue) -> Result<(Study, Catalogue), String> {
        let name =
            if catalogue.get(&self.name).is_some() { format!("{}{SUFFIX}", self.name) } else { self.name.clone() };
        let refused = |found: Vec<String>| {
            let lines: Vec<String> = found.into_iter().map(|one| format!("{}.toml: {one}", self.name)).collect();
            lines.join("\n")
        };
        let by = self.by.as_ref().map_or_else(|| "challenge".to_owned(), |by| format!("as {by} sets it"));
        let catalogue = catalogue.with(&name, &self.text, &by).map_err(refused)?;
        let like = study.contenders.iter().find(|entry| entry.recipe == self.name);
        let ours = study.contenders.iter().find(|entry| entry.recipe == OURS);
        let against: Vec<&Entry> = match self.against.as_slice() {
            [] => like.into_iter().chain(ours).collect(),
            names => names.iter().map(|name| study.named("--against", name)).collect::<Result<_, _>>()?,
        };
        if against.is_empty() {
            let names = study.names().join(", ");
            return Err(format!("whom does it challenge? --against NAME: {} has {names}", study.name));
        }
        let example = like.or(ours).or_else(|| study.contenders.first());
        let example = example.ok_or_else(|| format!("{} has no contenders", study.name))?;
        let mut entry = Entry {
            recipe: name,
            name: None,
            workers: self.workers.unwrap_or(example.workers),
            threads: self.threads.unwrap_or(example.threads),
            published: None,
            note: Some(self.in_words()),
            in_quick: true,
            ..example.clone()
        };
        if like.is_none() {
            (entry.rackup, entry.stock, entry.allocator) = (None, false, None);
        }
        let others = against.into_iter().map(|entry| Entry { in_quick: true, ..entry.clone() });
        let contenders = std::iter::once(entry).chain(others).collect();
        let joined = Study { contenders, ..study.clone() };
        let complaints = super::check::study(&joined);
        if complaints.is_empty() { Ok((joined, catalogue)) } else { Err(complaints.join("\n")) }
    }

    /// Its recipe's fingerprint, by the names that it can have in a study.
    pub(super) fn fingerprints(&self) -> [(String, String); 2] {
        [self.name.clone(), format!("{}{SUFFIX}", self.name)].map(|name| (name, meaning::of_recipe(&self.text)))
    }

    /// The name that it has in the study that it joined.
    pub fn name_in(&self, joined: &Study) -> String {
        joined.contenders.first().map(|entry| entry.name().to_owned()).unwrap_or_default()
    }

    fn in_words(&self) -> String {
        let whose = self.by.as_ref().map_or_else(String::new, |by| format!(" of {by}"));
        format!("a challenge{whose}: its settings are those of {}.toml, which is not the arena's", self.name)
    }
}
