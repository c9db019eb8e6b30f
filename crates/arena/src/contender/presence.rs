//! Looks for a contender: whether it is installed, in which version and on which Ruby; if not, what is missing and how
//! to get it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use regex::Regex;

use super::plan::Words;
use super::recipe::{Get, Question, Recipe, Runtime};
use crate::environment::Environment;

/// Ruby program that requires each name and prints those that cannot be required.
const REQUIRE: &str = "ARGV.each { |name| begin; require name; rescue LoadError; puts name; end }; puts :done";

/// Whether a contender is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It can take part.
    Here {
        /// Version, as the program itself reports it, with a built-in allocator if it has one.
        version: String,
        /// Ruby implementation and version, or `mruby inside`.
        ruby: String,
    },
    /// It cannot take part.
    Missing {
        /// Sentences on what is missing.
        lacks: Vec<String>,
        /// Ways to install it.
        get: Vec<String>,
    },
}

/// Looks for a contender in this environment.
pub fn detect(recipe: &Recipe, environment: &Environment) -> Presence {
    match version(recipe, environment) {
        Ok(version) => Presence::Here { version, ruby: ruby(recipe.runtime, environment) },
        Err(lacks) => Presence::Missing { lacks, get: ways(&recipe.get) },
    }
}

/// Version of a contender that can take part. An error lists what is missing.
fn version(recipe: &Recipe, environment: &Environment) -> Result<String, Vec<String>> {
    let programs = recipe.needs.programs.iter().filter(|name| !environment.has(name));
    let lacks: Vec<String> = programs.map(|name| format!("the program {name}")).collect();
    if !lacks.is_empty() {
        return Err(lacks);
    }
    let words = Words { found: find(recipe, environment)?, ..Words::default() };
    let env = words.fill_all(&recipe.env).map_err(|error| vec![error])?;
    let lacks = [libraries(recipe, environment, &env), files(recipe, environment, &words)].concat();
    if lacks.is_empty() { ask_version(recipe, environment, &env).map_err(|error| vec![error]) } else { Err(lacks) }
}

/// Runs the recipe's questions about the environment. An error lists what is missing.
pub(super) fn find(recipe: &Recipe, environment: &Environment) -> Result<BTreeMap<String, String>, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut lacks = Vec::new();
    for (name, find) in &recipe.find {
        let words: Vec<&str> = find.command.iter().map(String::as_str).collect();
        match environment.said(&words).and_then(|text| text.lines().next().map(str::to_owned)) {
            Some(line) => drop(found.insert(name.clone(), line)),
            None => lacks.push(find.lacks.clone()),
        }
    }
    if lacks.is_empty() { Ok(found) } else { Err(lacks) }
}

/// Paths in the environment that match a pattern with `*`.
pub(super) fn matching(environment: &Environment, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let rule = part.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
        let Ok(rule) = Regex::new(&format!("^{rule}$")) else { return Vec::new() };
        let below = |path: &PathBuf| -> Vec<PathBuf> {
            if !part.contains('*') {
                let next = path.join(part);
                // A link in a ring points into the ring and is not resolved here.
                let is_there = environment.outside(&next).symlink_metadata().is_ok();
                return is_there.then_some(next).into_iter().collect();
            }
            let entries = std::fs::read_dir(environment.outside(path));
            let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.filter(|name| rule.is_match(&name.to_string_lossy())).map(|name| path.join(name)).collect()
        };
        paths = paths.iter().flat_map(below).collect();
    }
    paths
}

type Variables = BTreeMap<String, String>;

fn libraries(recipe: &Recipe, environment: &Environment, env: &Variables) -> Vec<String> {
    if recipe.needs.libraries.is_empty() {
        return Vec::new();
    }
    let mut words = environment.bundler().to_vec();
    words.extend([command(recipe.runtime), "-e", REQUIRE]);
    words.extend(recipe.needs.libraries.iter().map(String::as_str));
    match environment.said_with(&words, env) {
        Some(text) if text.lines().last() == Some("done") => {
            let lines: Vec<&str> = text.lines().collect();
            let lacking =
                lines[..lines.len() - 1].iter().filter(|line| recipe.needs.libraries.iter().any(|n| n == *line));
            lacking.map(|name| format!("the library {name}")).collect()
        }
        _ => vec![format!("a {} that can require {}", command(recipe.runtime), recipe.needs.libraries.join(", "))],
    }
}

fn files(recipe: &Recipe, environment: &Environment, words: &Words) -> Vec<String> {
    let filled = recipe.needs.files.iter().map(|file| words.fill(file));
    let lacking = filled.filter_map(|file| match file {
        Ok(file) if matching(environment, &file).is_empty() => Some(format!("the file {file}")),
        Ok(_) => None,
        Err(error) => Some(error),
    });
    lacking.collect()
}

fn ask_version(recipe: &Recipe, environment: &Environment, env: &Variables) -> Result<String, String> {
    let version = answer(recipe, &recipe.version, environment, env)?;
    let version = version.ok_or_else(|| {
        let line = recipe.version.command.join(" ");
        format!("a version in the answer of `{line}` (version.pattern does not fit)")
    })?;
    // The allocator is shown with the version: with another one the same version has other figures.
    let allocator = match &recipe.allocator {
        Some(question) => answer(recipe, question, environment, env)?,
        None => None,
    };
    Ok([Some(version), allocator].into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The part of a program's output that matches the pattern of a recipe's question.
fn answer(
    recipe: &Recipe,
    question: &Question,
    environment: &Environment,
    env: &Variables,
) -> Result<Option<String>, String> {
    let is_gem = recipe.processes.first().is_some_and(|part| part.gem);
    let mut words = if is_gem { environment.bundler().to_vec() } else { Vec::new() };
    words.extend(question.command.iter().map(String::as_str));
    let line = words.join(" ");
    let said = environment.said_with(&words, env).ok_or_else(|| format!("a {} whose `{line}` works", recipe.title))?;
    let pattern = Regex::new(&question.pattern).map_err(|error| error.to_string())?;
    let found = pattern.captures(&said).and_then(|groups| Some(groups.get(1)?.as_str().to_owned()));
    Ok(found.map(|found| format!("{} {found}", question.of).trim_start().to_owned()))
}

/// Name of the command that runs this Ruby.
pub(super) fn command(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Jruby => "jruby",
        Runtime::Cruby | Runtime::Mruby => "ruby",
    }
}

/// Ruby program that describes a Ruby, and mentions a build without the just-in-time compiler, such as Debian's.
const DESCRIBE: &str = "puts RUBY_DESCRIPTION + \
                        (RUBY_ENGINE == 'ruby' && !defined?(RubyVM::YJIT) ? ', built without YJIT' : '')";

fn ruby(runtime: Runtime, environment: &Environment) -> String {
    if runtime == Runtime::Mruby {
        return "mruby inside".into();
    }
    let said = environment.said_once(&[command(runtime), "-e", DESCRIBE]);
    said.and_then(|text| text.lines().last().map(str::to_owned)).unwrap_or_else(|| "unknown".into())
}

fn ways(get: &Get) -> Vec<String> {
    let by =
        |program: &str, names: &[String]| (!names.is_empty()).then(|| format!("{program} install {}", names.join(" ")));
    let how = Some(get.how.clone()).filter(|how| !how.is_empty());
    [by("apt-get", &get.apt), by("gem", &get.gem), how].into_iter().flatten().collect()
}

/// Path of an allocator's library in the environment.
pub(super) fn allocator(environment: &Environment, pattern: &str, package: &str) -> Result<String, String> {
    let path = matching(environment, pattern).first().map(|path| path.display().to_string());
    path.ok_or_else(|| format!("there is no {pattern}: apt-get install {package}"))
}
