//! Dependencies between the files of a Rust crate: paths in `use` and in code, followed to the file of the item.
//!
//! Method calls are not seen, as their types are not known here; neither is code that macros generate. Tests are left
//! out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, Path, UseTree, Visibility};

use crate::tree::Tree;

/// From file and to file, with the names that are used.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// The dependencies between the files of a crate; `root` is its lib.rs or main.rs. An error if a file does not parse.
pub fn of(tree: &Tree, root: &str) -> Result<Arrows, String> {
    let mut modules = Modules::default();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    modules.read(tree, root, folder, &[])?;
    let mut arrows = Arrows::new();
    for (at, module) in &modules.0 {
        for used in &module.used {
            // A facade does not depend on what it only re-exports.
            if used.offered.as_ref().is_some_and(|name| !module.words.contains(name)) {
                continue;
            }
            if let Found::Item(to) = modules.follow(at, &used.path, true, 0)
                && to != module.file
            {
                let name = used.path.last().cloned().unwrap_or_default();
                arrows.entry((module.file.clone(), to)).or_default().insert(name);
            }
        }
    }
    Ok(arrows)
}

/// A module's path from the crate's root.
type Place = Vec<String>;

#[derive(Default)]
struct Modules(BTreeMap<Place, Module>);

#[derive(Default)]
struct Module {
    file: String,
    /// Names of the items declared here.
    items: BTreeSet<String>,
    /// Names bound by `use`, with the paths that they stand for.
    bound: BTreeMap<String, Vec<String>>,
    /// Modules of glob imports.
    globs: Vec<Vec<String>>,
    used: Vec<Used>,
    /// First segments of all paths in code.
    words: BTreeSet<String>,
}

struct Used {
    path: Vec<String>,
    /// The re-exported name, for `pub use`.
    offered: Option<String>,
}

/// Target of a path.
enum Found {
    Module,
    /// An item in this file.
    Item(String),
    Outside,
}

impl Modules {
    fn read(&mut self, tree: &Tree, path: &str, folder: &str, place: &[String]) -> Result<(), String> {
        let Some(file) = tree.files.iter().find(|file| file.path == path) else { return Ok(()) };
        let parsed = syn::parse_file(&file.text).map_err(|error| format!("{path}: is no Rust: {error}"))?;
        self.enter(tree, path, folder, place, &parsed.items)
    }

    fn enter(&mut self, tree: &Tree, path: &str, folder: &str, at: &[String], items: &[Item]) -> Result<(), String> {
        let mut reading = Reading(Module { file: path.to_owned(), ..Module::default() });
        for item in items {
            reading.0.items.extend(name_of(item));
            reading.visit_item(item);
        }
        self.0.insert(at.to_vec(), reading.0);
        for module in items.iter().filter_map(as_module) {
            let name = module.ident.to_string();
            let place = [at, std::slice::from_ref(&name)].concat();
            let inner = format!("{folder}/{name}");
            if let Some((_, items)) = &module.content {
                self.enter(tree, path, &inner, &place, items)?;
            } else {
                let files = [format!("{inner}.rs"), format!("{inner}/mod.rs")];
                for file in files.iter().filter(|file| tree.holds(file)) {
                    self.read(tree, file, &inner, &place)?;
                }
            }
        }
        Ok(())
    }

    /// What `path` means in the module at `from`.
    fn follow(&self, from: &[String], path: &[String], first: bool, depth: usize) -> Found {
        let Some((word, rest)) = path.split_first() else { return Found::Module };
        let Some(module) = self.0.get(from).filter(|_| depth < 20) else { return Found::Outside };
        match word.as_str() {
            "crate" if first => return self.follow(&[], rest, false, depth),
            "self" => return self.follow(from, rest, first, depth),
            "super" => return self.follow(&from[..from.len().saturating_sub(1)], rest, true, depth),
            _ => {}
        }
        let child = [from, std::slice::from_ref(word)].concat();
        // `mod a; pub use a::a;`: a path that ends here means the item, a longer one the module.
        if self.0.contains_key(&child) && !(rest.is_empty() && module.bound.contains_key(word)) {
            return self.follow(&child, rest, false, depth);
        }
        if module.items.contains(word) {
            return Found::Item(module.file.clone());
        }
        if let Some(meant) = module.bound.get(word).filter(|meant| meant.first() != Some(word) || first) {
            let whole = [meant.as_slice(), rest].concat();
            return match self.follow(from, &whole, true, depth + 1) {
                // An item of another crate, re-exported by this module.
                Found::Outside if !first => Found::Item(module.file.clone()),
                found => found,
            };
        }
        for glob in &module.globs {
            let whole = [glob.as_slice(), path].concat();
            if let found @ Found::Item(_) = self.follow(from, &whole, true, depth + 1) {
                return found;
            }
        }
        Found::Outside
    }
}

fn as_module(item: &Item) -> Option<&ItemMod> {
    match item {
        Item::Mod(module) if !is_test(&module.attrs) => Some(module),
        _ => None,
    }
}

/// Collects paths and bindings of one module.
struct Reading(Module);

impl Reading {
    fn bind(&mut self, tree: &UseTree, before: &[String], is_offered: bool) {
        let mut leaf = |name: String, mut path: Vec<String>| {
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            if name != "_" {
                self.0.bound.entry(name.clone()).or_insert_with(|| path.clone());
            }
            self.0.used.push(Used { path, offered: is_offered.then_some(name) });
        };
        let and = |name: &str| [before, &[name.to_owned()]].concat();
        match tree {
            UseTree::Path(path) => self.bind(&path.tree, &and(&path.ident.to_string()), is_offered),
            UseTree::Name(name) if name.ident == "self" => {
                leaf(before.last().cloned().unwrap_or_default(), before.to_vec());
            }
            UseTree::Name(name) => leaf(name.ident.to_string(), and(&name.ident.to_string())),
            UseTree::Rename(rename) => leaf(rename.rename.to_string(), and(&rename.ident.to_string())),
            UseTree::Glob(_) => self.0.globs.push(before.to_vec()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.bind(tree, before, is_offered)),
        }
    }

    fn take(&mut self, path: Vec<String>) {
        self.0.words.extend(path.first().cloned());
        self.0.used.push(Used { path, offered: None });
    }

    /// Collects paths in the tokens of a macro call.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if colons == 2 => path.push(word.to_string()),
                TokenTree::Ident(word) => {
                    let before = std::mem::replace(&mut path, vec![word.to_string()]);
                    self.take(before);
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.scan(group.stream()),
                _ => self.take(std::mem::take(&mut path)),
            }
            colons = 0;
        }
        self.take(path);
    }
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    // Inner modules are read separately.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_offered = !matches!(item.vis, Visibility::Inherited);
        self.bind(&item.tree, &[], is_offered);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.take(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => return item.ident.as_ref().map(ToString::to_string),
        _ => return None,
    };
    Some(name.to_string())
}
