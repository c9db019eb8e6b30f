//! Origin of a run's servers and recipes, to check that a resumed run uses the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::context::Context;
use super::recipe::Recipe;
use crate::record::fingerprint;

/// Prefix of a study's name among those of contenders.
pub(super) const STUDY: &str = "the study ";

/// Origin of the servers and their settings, as far as it can be compared later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The environment in words, and a fingerprint of its path.
    pub place: (String, String),
    /// Fingerprint of the path of foolsgold.
    pub foolsgold: String,
    /// Fingerprints of recipes by name: the study's, and those of its contenders.
    pub recipes: BTreeMap<String, String>,
}

impl Origin {
    /// The present origin.
    pub fn of(study: &Recipe, context: &Context) -> Origin {
        let entries = study.contenders.iter().filter_map(|entry| context.catalogue.get(&entry.recipe));
        let contenders = entries.map(|recipe| (recipe.name.clone(), recipe.text.as_str()));
        let all = contenders.chain([(format!("{STUDY}{}", study.name), study.text.as_str())]);
        let recipes = all.map(|(name, text)| (name, fingerprint(text.as_bytes()))).collect();
        let (place, foolsgold) = context.environment.fingerprints();
        Origin { place: (context.environment.in_words(), place), foolsgold, recipes }
    }
}
