//! All recipes of a folder. All errors of all files are reported at once.

use std::fs;
use std::path::Path;

use super::check;
use super::recipe::Recipe;

/// The recipes of a folder, sorted by name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    recipes: Vec<Recipe>,
}

impl Catalogue {
    /// Reads every NAME.toml of this folder.
    pub fn read(folder: &Path) -> Result<Catalogue, Vec<String>> {
        let entries = fs::read_dir(folder).map_err(|error| vec![format!("{}: {error}", folder.display())])?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_os_string));
        let mut recipes = Vec::new();
        let mut complaints = Vec::new();
        for path in &paths {
            match read(path) {
                Ok(recipe) => recipes.push(recipe),
                Err(found) => complaints.extend(found.into_iter().map(|one| format!("{}: {one}", path.display()))),
            }
        }
        if paths.is_empty() {
            complaints.push(format!("{}: there is no recipe (NAME.toml) in it", folder.display()));
        }
        if complaints.is_empty() { Ok(Catalogue { recipes }) } else { Err(complaints) }
    }

    /// A catalogue with these recipes and a further one, under this name; `by` is appended to its title.
    pub fn with(&self, name: &str, text: &str, by: &str) -> Result<Catalogue, Vec<String>> {
        let mut recipe = parse(name.to_owned(), text.to_owned())?;
        recipe.title = format!("{}, {by}", recipe.title);
        let recipes = self.recipes.iter().cloned().chain([recipe]).collect();
        Ok(Catalogue { recipes })
    }

    /// The recipe with this name.
    pub fn get(&self, name: &str) -> Option<&Recipe> {
        self.recipes.iter().find(|recipe| recipe.name == name)
    }

    /// All recipes.
    pub fn all(&self) -> &[Recipe] {
        &self.recipes
    }
}

fn read(path: &Path) -> Result<Recipe, Vec<String>> {
    let text = fs::read_to_string(path).map_err(|error| vec![error.to_string()])?;
    parse(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text)
}

fn parse(name: String, text: String) -> Result<Recipe, Vec<String>> {
    let mut recipe: Recipe = toml::from_str(&text).map_err(|error| vec![error.to_string().trim().to_owned()])?;
    (recipe.name, recipe.text) = (name, text);
    let complaints = check::recipe(&recipe);
    if complaints.is_empty() { Ok(recipe) } else { Err(complaints) }
}
