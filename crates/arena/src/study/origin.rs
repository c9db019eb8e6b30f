//! Origin of a run's servers and recipes, to check that a resumed run uses the same.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::context::Context;
use super::meaning;
use super::recipe::Study;
use crate::record::machine;

/// Origin of the servers and their settings, and the machine, as far as they can be compared later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The environment in words, and a fingerprint of its path.
    pub place: (String, String),
    /// Fingerprints of the bytes of the builds of foolsgold that take part.
    pub foolsgold: String,
    /// Facts of the machine and of its load tools at the beginning of the run.
    pub machine: Vec<(String, String)>,
    /// Fingerprints by name of what decides what is measured (`meaning`): in the study, and in its contenders' recipes.
    pub recipes: BTreeMap<String, String>,
}

impl Origin {
    /// The present origin.
    pub fn of(study: &Study, context: &Context) -> Origin {
        let entries = || study.contenders.iter().filter_map(|entry| context.catalogue.get(&entry.recipe));
        let contenders = entries().map(|recipe| (recipe.name.clone(), meaning::of_recipe(&recipe.text)));
        let recipes = contenders.chain(meaning::of_study(&study.name, &study.text)).collect();
        let programs = entries().flat_map(|recipe| &recipe.needs.programs);
        let programs: BTreeSet<&str> = programs.map(String::as_str).collect();
        let place = (context.environment.in_words(), context.environment.fingerprint());
        Origin { place, foolsgold: context.environment.builds(&programs), machine: machine::facts(), recipes }
    }
}
