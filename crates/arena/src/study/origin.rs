//! Origin of a run's servers and recipes, to check that a resumed run uses the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::context::Context;
use super::meaning;
use super::recipe::Recipe;

/// Origin of the servers and their settings, as far as it can be compared later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The environment in words, and a fingerprint of its path.
    pub place: (String, String),
    /// Fingerprint of the path of foolsgold.
    pub foolsgold: String,
    /// Fingerprints by name of what decides what is measured (`meaning`): in the study, and in its contenders' recipes.
    /// In runs of before 25 November 2026 they are of the whole files.
    pub recipes: BTreeMap<String, String>,
}

impl Origin {
    /// The present origin.
    pub fn of(study: &Recipe, context: &Context) -> Origin {
        let entries = study.contenders.iter().filter_map(|entry| context.catalogue.get(&entry.recipe));
        let contenders = entries.map(|recipe| (recipe.name.clone(), meaning::of_recipe(&recipe.text)));
        let recipes = contenders.chain(meaning::of_study(&study.name, &study.text)).collect();
        let (place, foolsgold) = context.environment.fingerprints();
        Origin { place: (context.environment.in_words(), place), foolsgold, recipes }
    }
}
