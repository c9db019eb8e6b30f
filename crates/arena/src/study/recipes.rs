//! Reads and checks the studies of a folder.

use std::fs;
use std::path::Path;

use super::check;
use super::recipe::Recipe;

/// All studies.
#[derive(Debug, Clone, Default)]
pub struct Recipes(pub Vec<Recipe>);

impl Recipes {
    /// Reads a folder: the valid studies, and all errors of the others.
    pub fn read(folder: &Path) -> (Recipes, Vec<String>) {
        let mut files: Vec<_> = match fs::read_dir(folder) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) => return (Recipes::default(), vec![format!("{}: {error}", folder.display())]),
        };
        files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        let mut recipes = Vec::new();
        let mut complaints = Vec::new();
        for file in files {
            match Recipe::read(&file) {
                Ok(recipe) => recipes.push(recipe),
                Err(found) => complaints.extend(found),
            }
        }
        (Recipes(recipes), complaints)
    }

    /// The study of this name. An error lists those that exist.
    pub fn get(&self, name: &str) -> Result<&Recipe, String> {
        let names = || self.0.iter().map(|recipe| recipe.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = self.0.iter().find(|recipe| recipe.name == name);
        found.ok_or_else(|| format!("there is no study {name}; there are {}", names()))
    }
}

impl Recipe {
    /// Reads one file.
    pub fn read(file: &Path) -> Result<Recipe, Vec<String>> {
        let told = |words: String| format!("{}: {words}", file.display());
        let text = fs::read_to_string(file).map_err(|error| vec![told(error.to_string())])?;
        let mut recipe: Recipe = toml::from_str(&text).map_err(|error| vec![told(error.to_string())])?;
        recipe.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        recipe.text = text;
        let complaints = check::recipe(&recipe);
        if complaints.is_empty() { Ok(recipe) } else { Err(complaints.into_iter().map(told).collect()) }
    }
}
