//! What a recipe comes to with the numbers, ports and paths of one start: templates filled in. Starts nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use minijinja::{Environment, UndefinedBehavior, Value};
use regex::Regex;
use serde::Deserialize;

use super::recipe::{Part, Recipe};

/// Who hands out memory to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocator {
    /// That of the C library.
    Glibc,
    /// That of Google's performance tools.
    Tcmalloc,
    /// The one that many Ruby shops use.
    Jemalloc,
}

impl Allocator {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::Glibc => "glibc",
            Allocator::Tcmalloc => "tcmalloc",
            Allocator::Jemalloc => "jemalloc",
        }
    }

    /// Where Debian keeps it; nothing for the one that is always there.
    pub(crate) fn library(self) -> Option<(&'static str, &'static str)> {
        match self {
            Allocator::Glibc => None,
            Allocator::Tcmalloc => Some(("/usr/lib/*/libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")),
            Allocator::Jemalloc => Some(("/usr/lib/*/libjemalloc.so.2", "libjemalloc2")),
        }
    }
}

/// What templates can say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// Where clients go.
    pub port: u16,
    /// A second port, for a server's own back door.
    pub spare_port: u16,
    /// As settled by the recipe's shape.
    pub workers: u32,
    pub threads: u32,
    /// As asked for.
    pub asked_workers: u32,
    pub asked_threads: u32,
    /// The config.ru, its folder, and its name in it.
    pub rackup: PathBuf,
    pub folder: PathBuf,
    pub file: String,
    /// The server's own folder.
    pub tmp: PathBuf,
    /// One for each worker.
    pub sockets: Vec<String>,
    pub ports: Vec<u16>,
    /// In a part for each worker: its number from 0, its socket and its port.
    pub index: u32,
    pub socket: String,
    pub own_port: u16,
    /// Seconds after which it may shut down when nobody asks, 0 for never.
    pub idle_s: u32,
    /// Whether limits stay as they come.
    pub stock: bool,
    /// What the recipe looked for.
    pub found: BTreeMap<String, String>,
}

/// A command line to be started.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub name: String,
    pub words: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub is_gem: bool,
}

impl Words {
    /// A template filled in. A variable that does not exist is an error.
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
            ("asked_workers", Value::from(self.asked_workers)),
            ("asked_threads", Value::from(self.asked_threads)),
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

    /// A regular expression that is a template.
    pub fn pattern(&self, template: &str) -> Result<Regex, String> {
        let text = self.fill(template)?;
        Regex::new(&text).map_err(|error| format!("the pattern `{text}`: {error}"))
    }

    /// A number that is a template.
    pub fn number(&self, template: &str) -> Result<u32, String> {
        let text = self.fill(template)?;
        text.trim().parse().map_err(|_| format!("the template `{template}` gives `{text}`, which is no whole number"))
    }

    /// A yes or no that is a template.
    pub fn yes(&self, template: &str) -> Result<bool, String> {
        match self.fill(template)?.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!("the template `{template}` gives `{other}`; it must give true or false")),
        }
    }

    /// The numbers that the recipe makes of those asked for.
    pub fn settle(&mut self, recipe: &Recipe) -> Result<(), String> {
        let workers = self.number(&recipe.shape.workers)?;
        let threads = self.number(&recipe.shape.threads)?;
        if workers == 0 || threads == 0 {
            return Err(format!("shape: {workers} workers of {threads} threads serve nobody; give at least 1"));
        }
        (self.workers, self.threads) = (workers, threads);
        Ok(())
    }

    /// Settings of the environment.
    pub fn fill_all(&self, templates: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
        let filled = templates.iter().map(|(name, text)| Ok((name.clone(), self.fill(text)?)));
        filled.filter(|one| one.as_ref().map_or(true, |(_, value): &(String, String)| !value.is_empty())).collect()
    }

    /// The command lines of a part: one, or one for each worker.
    pub fn lines(&self, recipe: &Recipe, part: &Part, extra: &[String]) -> Result<Vec<Line>, String> {
        if part.each_worker.is_none() {
            return Ok(vec![self.line(recipe, part, extra, part.name.clone())?]);
        }
        let one = |index: u32| {
            let at = index as usize;
            let socket = self.sockets.get(at).cloned().unwrap_or_default();
            let words = Words { index, socket, own_port: self.ports.get(at).copied().unwrap_or(0), ..self.clone() };
            words.line(recipe, part, extra, format!("{}-{}", part.name, index + 1))
        };
        (0..self.workers).map(one).collect()
    }

    fn line(&self, recipe: &Recipe, part: &Part, extra: &[String], name: String) -> Result<Line, String> {
        let mut words = Vec::new();
        for template in &part.command {
            if is_extra(template) {
                words.extend(extra.iter().cloned());
            } else {
                let word = self.fill(template)?;
                words.extend((!word.is_empty()).then_some(word));
            }
        }
        let mut env = self.fill_all(&recipe.env)?;
        env.extend(self.fill_all(&part.env)?);
        Ok(Line { name, words, env, is_gem: part.gem })
    }
}

/// Whether a word of a command stands for those that a user adds.
pub(crate) fn is_extra(template: &str) -> bool {
    template.replace(' ', "") == "{{extra}}"
}
