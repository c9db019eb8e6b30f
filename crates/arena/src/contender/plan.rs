//! Templates of a recipe, filled in with the numbers, ports and paths of one start. Starts nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use minijinja::{Environment, UndefinedBehavior, Value};
use regex::Regex;
use serde::Deserialize;

use super::recipe::{Part, Recipe};

/// Memory allocator of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocator {
    /// The C library's.
    Glibc,
    /// tcmalloc, of Google's performance tools.
    Tcmalloc,
    /// jemalloc, used by many Ruby applications.
    Jemalloc,
}

impl Allocator {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::Glibc => "glibc",
            Allocator::Tcmalloc => "tcmalloc",
            Allocator::Jemalloc => "jemalloc",
        }
    }

    /// Path pattern and package of its library on Debian; `None` for the one that is always there.
    pub(crate) fn library(self) -> Option<(&'static str, &'static str)> {
        match self {
            Allocator::Glibc => None,
            Allocator::Tcmalloc => Some(("/usr/lib/*/libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")),
            Allocator::Jemalloc => Some(("/usr/lib/*/libjemalloc.so.2", "libjemalloc2")),
        }
    }
}

/// Variables of the templates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// Port for clients.
    pub port: u16,
    /// A second port, for a server's own administration.
    pub spare_port: u16,
    /// Workers and threads, as the recipe's shape determines them.
    pub workers: u32,
    pub threads: u32,
    /// Workers and threads, as requested: `asked_workers` and `asked_threads` of the templates.
    pub requested_workers: u32,
    pub requested_threads: u32,
    /// Path of config.ru, its folder, and its file name.
    pub rackup: PathBuf,
    pub folder: PathBuf,
    pub file: String,
    /// Folder for the server's own files.
    pub tmp: PathBuf,
    /// A socket and a port for each worker.
    pub sockets: Vec<String>,
    pub ports: Vec<u16>,
    /// For a process that is started once for each worker: the worker's number from 0, its socket and its port.
    pub index: u32,
    pub socket: String,
    pub own_port: u16,
    /// Idle seconds after which the server may shut down processes; 0 for never.
    pub idle_s: u32,
    /// Whether the server's limits keep their defaults.
    pub stock: bool,
    /// Facts about the environment that the recipe asks for, by name of the variable.
    pub found: BTreeMap<String, String>,
}

/// A command line to start.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    pub name: String,
    pub words: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub is_gem: bool,
}

impl Words {
    /// Fills in a template. An unknown variable is an error.
    pub fn fill(&self, template: &str) -> Result<String, String> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.render_str(template, self.values()).map_err(|error| match error.detail() {
            Some(detail) => format!("the template `{template}`: {}: {detail}", error.kind()),
            None => format!("the template `{template}`: {}", error.kind()),
        })
    }

    fn values(&self) -> Value {
        let path = |path: &PathBuf| Value::from(path.display().to_string());
        let own = [
            ("port", Value::from(self.port)),
            ("spare_port", Value::from(self.spare_port)),
            ("workers", Value::from(self.workers)),
            ("threads", Value::from(self.threads)),
            ("asked_workers", Value::from(self.requested_workers)),
            ("asked_threads", Value::from(self.requested_threads)),
            ("rackup", path(&self.rackup)),
            ("folder", path(&self.folder)),
            ("file", Value::from(self.file.clone())),
            ("tmp", path(&self.tmp)),
            ("sockets", Value::from(self.sockets.clone())),
            ("ports", Value::from(self.ports.clone())),
            ("index", Value::from(self.index)),
            ("socket", Value::from(self.socket.clone())),
            ("own_port", Value::from(self.own_port)),
            ("idle_s", Value::from(self.idle_s)),
            ("stock", Value::from(self.stock)),
        ];
        let found = self.found.iter().map(|(name, text)| (name.clone(), Value::from(text.clone())));
        Value::from_pairs(own.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(found))
    }

    /// Fills in a template of a regular expression.
    pub fn pattern(&self, template: &str) -> Result<Regex, String> {
        let text = self.fill(template)?;
        Regex::new(&text).map_err(|error| format!("the pattern `{text}`: {error}"))
    }

    /// Fills in a template of a number.
    pub fn number(&self, template: &str) -> Result<u32, String> {
        let text = self.fill(template)?;
        text.trim().parse().map_err(|_| format!("the template `{template}` gives `{text}`, which is no whole number"))
    }

    /// Fills in a template of `true` or `false`.
    pub fn yes(&self, template: &str) -> Result<bool, String> {
        match self.fill(template)?.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!("the template `{template}` gives `{other}`; it must give true or false")),
        }
    }

    /// Computes workers and threads from those requested, by the recipe's shape.
    pub fn resolve(&mut self, recipe: &Recipe) -> Result<(), String> {
        let workers = self.number(&recipe.shape.workers)?;
        let threads = self.number(&recipe.shape.threads)?;
        if workers == 0 || threads == 0 {
            return Err(format!("shape: {workers} workers of {threads} threads serve nobody; give at least 1"));
        }
        (self.workers, self.threads) = (workers, threads);
        Ok(())
    }

    /// Fills in templates of environment variables; those that come out empty are left out.
    pub fn fill_all(&self, templates: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
        let filled = templates.iter().map(|(name, text)| Ok((name.clone(), self.fill(text)?)));
        filled.filter(|one| one.as_ref().map_or(true, |(_, value): &(String, String)| !value.is_empty())).collect()
    }

    /// Command lines of a part: one, or one for each worker.
    pub fn lines(&self, recipe: &Recipe, part: &Part) -> Result<Vec<CommandLine>, String> {
        if part.each_worker.is_none() {
            return Ok(vec![self.line(recipe, part, part.name.clone())?]);
        }
        let one = |index: u32| {
            let at = index as usize;
            let socket = self.sockets.get(at).cloned().unwrap_or_default();
            let words = Words { index, socket, own_port: self.ports.get(at).copied().unwrap_or(0), ..self.clone() };
            words.line(recipe, part, format!("{}-{}", part.name, index + 1))
        };
        (0..self.workers).map(one).collect()
    }

    fn line(&self, recipe: &Recipe, part: &Part, name: String) -> Result<CommandLine, String> {
        // Recipes mark with this word where further words could stand; the arena adds none.
        let templates = part.command.iter().filter(|word| word.replace(' ', "") != "{{extra}}");
        let mut words = templates.map(|word| self.fill(word)).collect::<Result<Vec<String>, String>>()?;
        words.retain(|word| !word.is_empty());
        let mut env = self.fill_all(&recipe.env)?;
        env.extend(self.fill_all(&part.env)?);
        Ok(CommandLine { name, words, env, is_gem: part.gem })
    }
}

impl Recipe {
    /// Whether its one worker is started with `-w 0`: the server then serves without worker processes.
    pub fn has_zero_for_one(&self) -> bool {
        let one = Words { workers: 1, threads: 1, requested_workers: 1, requested_threads: 1, ..Words::default() };
        let is_zero = |words: &[String]| words[0] == "-w" && one.fill(&words[1]).is_ok_and(|word| word == "0");
        self.processes.iter().any(|part| part.command.windows(2).any(is_zero))
    }
}
