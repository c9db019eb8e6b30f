//! Checks a parsed recipe for errors that would otherwise appear only later: templates, patterns, signals and names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use regex::Regex;

use super::plan::Words;
use super::recipe::{Recipe, signal};
use crate::record::plain;

/// Keys of a recipe's `cannot`.
const CANNOT: [&str; 7] = ["allocator", "duel", "idle", "kill", "reload", "threads", "workers"];

/// All errors of a recipe, each with what would be right.
pub(crate) fn recipe(recipe: &Recipe) -> Vec<String> {
    let mut found = Found(Vec::new());
    for (key, text) in [("title", &recipe.title), ("about", &recipe.about), ("home", &recipe.home)] {
        found.unless(!text.trim().is_empty(), || format!("{key} is empty: say it"));
    }
    found.unless(!recipe.needs.programs.is_empty(), || "needs.programs is empty: name the commands it takes".into());
    let ways = &recipe.get;
    let has_way = !(ways.apt.is_empty() && ways.gem.is_empty() && ways.how.is_empty());
    found.unless(has_way, || "get says nothing: name packages (apt), gems (gem) or a sentence (how)".into());
    for what in recipe.cannot.keys().filter(|what| !CANNOT.contains(&what.as_str())) {
        found.0.push(format!("cannot.{what} is unknown: it may say {}", CANNOT.join(", ")));
    }
    let has_reload = recipe.reload.is_some() || recipe.cannot.contains_key("reload");
    found.unless(has_reload, || "there is neither [reload] nor cannot.reload: say which".into());
    names(recipe, &mut found);
    question(recipe, &mut found);
    signals(recipe, &mut found);
    templates(recipe, &mut found);
    found.0
}

struct Found(Vec<String>);

impl Found {
    fn unless(&mut self, is_right: bool, complaint: impl FnOnce() -> String) {
        if !is_right {
            self.0.push(complaint());
        }
    }

    fn take<T>(&mut self, what: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.0.push(format!("{what}: {error}"))).ok()
    }
}

/// Checks names, which become parts of log files, and time limits.
fn names(recipe: &Recipe, found: &mut Found) {
    found.take("the file's name", plain(&recipe.name));
    let parts: Vec<&str> = recipe.processes.iter().map(|part| part.name.as_str()).collect();
    for (at, name) in parts.iter().enumerate() {
        found.take("process.name", plain(name));
        found.unless(!parts[..at].contains(name), || format!("two processes are named {name}"));
    }
    let times = [("ready_s", recipe.ready_s), ("stop.patience_s", recipe.stop.patience_s)];
    for (what, seconds) in times.into_iter().filter(|(_, seconds)| !(1..=3600).contains(seconds)) {
        found.0.push(format!("{what} is {seconds}: a whole number of seconds from 1 to 3600"));
    }
}

fn question(recipe: &Recipe, found: &mut Found) {
    let questions = [("version", Some(&recipe.version)), ("allocator", recipe.allocator.as_ref())];
    for (what, question) in questions.into_iter().filter_map(|(what, question)| Some((what, question?))) {
        found.unless(!question.command.is_empty(), || format!("{what}.command is empty: who says the {what}?"));
        match Regex::new(&question.pattern) {
            Err(error) => found.0.push(format!("{what}.pattern: {error}")),
            Ok(regex) => found.unless(regex.captures_len() == 2, || {
                format!("{what}.pattern has {} groups: give it one, around the {what}", regex.captures_len() - 1)
            }),
        }
    }
}

fn signals(recipe: &Recipe, found: &mut Found) {
    found.take("stop.signal", signal(&recipe.stop.signal));
    if let Some(dump) = &recipe.count.dump {
        found.take("count.dump", signal(dump));
        found.unless(recipe.count.thread.is_some(), || "count.dump needs count.thread, which lines are threads".into());
    }
    let Some(reload) = &recipe.reload else { return };
    found.unless(!reload.steps.is_empty(), || "reload has no [[reload.step]]: what is done?".into());
    for step in &reload.steps {
        if let Some(name) = &step.signal {
            found.take("reload.step.signal", signal(name));
        }
        let is_one = step.signal.is_some() == step.command.is_empty();
        found.unless(is_one, || "reload.step takes either a signal or a command".into());
        let is_whole = step.when.is_some() == step.to_see.is_some();
        found.unless(is_whole, || "reload.step: when (how many) and to_see (which titles) go together".into());
    }
}

/// Fills in all templates with made-up values; what fails now would fail at a start.
fn templates(recipe: &Recipe, found: &mut Found) {
    for (workers, threads, idle_s) in [(2, 3, 0), (1, 1, 60)] {
        let before = found.0.len();
        let mut words = sample(recipe, workers, threads, idle_s);
        let resolved = words.resolve(recipe);
        found.take("shape", resolved);
        found.unless(!recipe.processes.is_empty(), || "there is no [[process]]: what is started?".into());
        for part in &recipe.processes {
            let what = format!("process {}", part.name);
            if let Some(lines) = found.take(&what, words.lines(recipe, part)) {
                let is_empty = lines.iter().any(|line| line.words.is_empty());
                found.unless(!is_empty, || format!("{what}: its command has no words"));
            }
        }
        for file in &recipe.files {
            found.take(&format!("file {}", file.name), words.fill(&file.text));
            let is_plain = !file.name.is_empty() && !file.name.contains("..") && !file.name.starts_with('/');
            found.unless(is_plain, || format!("file {}: its name is one in the server's own folder", file.name));
        }
        if let Some(also) = &recipe.stop.also {
            found.take("stop.also", words.pattern(also));
        }
        for file in &recipe.needs.files {
            found.take("needs.files", words.fill(file));
        }
        found.take("count.worker", words.pattern(&recipe.count.worker));
        if let Some(thread) = &recipe.count.thread {
            found.take("count.thread", words.pattern(thread));
        }
        if let Some(reload) = &recipe.reload {
            found.take("reload.new_workers", words.yes(&reload.new_workers));
        }
        for step in recipe.reload.iter().flat_map(|reload| &reload.steps) {
            for pattern in [&step.to, &step.to_see].into_iter().flatten() {
                found.take("reload.step", words.pattern(pattern));
            }
            if let Some(number) = &step.when {
                found.take("reload.step.when", words.number(number));
            }
            for word in &step.command {
                found.take("reload.step.command", words.fill(word));
            }
        }
        if found.0.len() > before {
            // Other numbers would only repeat the same errors.
            return;
        }
    }
}

fn sample(recipe: &Recipe, workers: u32, threads: u32, idle_s: u32) -> Words {
    // A number, which a path may be, too.
    let found: BTreeMap<String, String> = recipe.find.keys().map(|name| (name.clone(), "1".into())).collect();
    Words {
        port: 1,
        spare_port: 2,
        workers,
        threads,
        requested_workers: workers,
        requested_threads: threads,
        rackup: PathBuf::from("/app/config.ru"),
        folder: PathBuf::from("/app"),
        file: "config.ru".into(),
        tmp: PathBuf::from("/tmp/x"),
        sockets: (0..workers * threads).map(|index| format!("/tmp/x/{index}.sock")).collect(),
        ports: (0..workers * threads).map(|index| 3 + index as u16).collect(),
        idle_s,
        found,
        ..Words::default()
    }
}
