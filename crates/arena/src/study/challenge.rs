//! A challenge: a recipe that is not the arena's takes part in a study beside ours, in the same rounds and under the
//! same rules. Its text is kept in the run folder, so that the run can go on and be checked without the file.

use serde::{Deserialize, Serialize};

use super::recipe::{Entry, Recipe};
use crate::contender::Catalogue;
use crate::record::fingerprint;

/// Ours: part of every challenge that does not say against whom.
const OURS: &str = "foolsgold";
/// Put behind its name when a recipe of ours has that name.
const SUFFIX: &str = "-challenge";

/// A challenger's recipe, and the terms on which it takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Of its file, without `.toml`.
    pub name: String,
    /// All that is written in it.
    pub text: String,
    /// Whose it is.
    pub by: Option<String>,
    /// As many as ours of the same server has, if nothing is said, or FoolsGold.
    pub workers: Option<u32>,
    /// Threads of each worker; the same.
    pub threads: Option<u32>,
    /// The study's contenders that take part; empty: ours of the same server, and FoolsGold.
    pub against: Vec<String>,
}

impl Challenge {
    /// The study with it and those it challenges, and the recipes with its own.
    pub fn join(&self, study: &Recipe, catalogue: &Catalogue) -> Result<(Recipe, Catalogue), String> {
        let name =
            if catalogue.get(&self.name).is_some() { format!("{}{SUFFIX}", self.name) } else { self.name.clone() };
        let told = |found: Vec<String>| {
            let lines: Vec<String> = found.into_iter().map(|one| format!("{}.toml: {one}", self.name)).collect();
            lines.join("\n")
        };
        let by = self.by.as_ref().map_or_else(|| "challenge".to_owned(), |by| format!("as {by} sets it"));
        let catalogue = catalogue.with(&name, &self.text, &by).map_err(told)?;
        let like = study.contenders.iter().find(|entry| entry.recipe == self.name);
        let ours = study.contenders.iter().find(|entry| entry.recipe == OURS);
        let against: Vec<&Entry> = match self.against.as_slice() {
            [] => like.into_iter().chain(ours).collect(),
            names => names.iter().map(|name| named(study, name)).collect::<Result<_, _>>()?,
        };
        if against.is_empty() {
            let names: Vec<&str> = study.contenders.iter().map(Entry::name).collect();
            return Err(format!("whom does it challenge? --against NAME: {} has {}", study.name, names.join(", ")));
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
        let joined = Recipe { contenders, ..study.clone() };
        let complaints = super::check::recipe(&joined);
        if complaints.is_empty() { Ok((joined, catalogue)) } else { Err(complaints.join("\n")) }
    }

    /// Its recipe's fingerprint, by the names that it can have in a study.
    pub(super) fn fingerprints(&self) -> [(String, String); 2] {
        [self.name.clone(), format!("{}{SUFFIX}", self.name)].map(|name| (name, fingerprint(self.text.as_bytes())))
    }

    /// The name that it has in the study that it joined.
    pub fn name_in(&self, joined: &Recipe) -> String {
        joined.contenders.first().map(|entry| entry.name().to_owned()).unwrap_or_default()
    }

    fn in_words(&self) -> String {
        let whose = self.by.as_ref().map_or_else(String::new, |by| format!(" of {by}"));
        format!("a challenge{whose}: its settings are those of {}.toml, which is not the arena's", self.name)
    }
}

fn named<'a>(study: &'a Recipe, name: &str) -> Result<&'a Entry, String> {
    study.contenders.iter().find(|entry| entry.name() == name).ok_or_else(|| {
        let names: Vec<&str> = study.contenders.iter().map(Entry::name).collect();
        format!("--against {name}: {} has {}", study.name, names.join(", "))
    })
}
