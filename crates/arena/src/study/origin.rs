//! Whether a run that goes on has the same servers and recipes as at its beginning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::recipe::Recipe;
use crate::record::fingerprint;

/// Before the name of a study, among those of contenders.
pub(super) const STUDY: &str = "the study ";

/// Where the servers come from and how they are set, as far as it can be told from one time to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// In words, and a number that stands for its path.
    pub place: (String, String),
    /// The same of the program foolsgold.
    pub foolsgold: String,
    /// By name: the study's, and those of its contenders.
    pub recipes: BTreeMap<String, String>,
}

impl Origin {
    /// That of now.
    pub fn of(study: &Recipe, ground: &Ground) -> Origin {
        let entries = study.contenders.iter().filter_map(|entry| ground.catalogue.get(&entry.recipe));
        let contenders = entries.map(|recipe| (recipe.name.clone(), recipe.text.as_str()));
        let all = contenders.chain([(format!("{STUDY}{}", study.name), study.text.as_str())]);
        let recipes = all.map(|(name, text)| (name, fingerprint(text.as_bytes()))).collect();
        let (place, foolsgold) = ground.place.fingerprints();
        Origin { place: (ground.place.in_words(), place), foolsgold, recipes }
    }
}
