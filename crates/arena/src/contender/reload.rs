//! Reloads a server's application as its own documentation says, and waits until that is done where it can be observed.

use std::collections::BTreeSet;
use std::time::Duration;

use regex::Regex;

use super::recipe::{ReloadStep, signal};
use super::server::Server;
use loadgen::process::{self, output_within, until};

impl Server {
    /// Performs the steps of the recipe's reload.
    pub fn reload(&mut self) -> Result<(), String> {
        let name = self.recipe.name.clone();
        let Some(reload) = self.recipe.reload.clone() else {
            let why = self.recipe.cannot.get("reload").cloned().unwrap_or_else(|| "it cannot reload".into());
            return Err(format!("{name}: {why}"));
        };
        let before = self.workers();
        self.has_new_master |= !reload.keeps_master;
        for step in &reload.steps {
            self.step(step).map_err(|error| format!("{name}, {}: {error}", reload.about))?;
        }
        if !self.words.yes(&reload.new_workers)? {
            return Ok(());
        }
        let limit = Duration::from_secs(u64::from(self.recipe.ready_s));
        // Processes that have only just been forked may not handle signals yet, so all counts must be right again.
        let is_done = || {
            let has_left = reload.keeps_master || !self.has_first_process();
            has_left && self.workers().is_disjoint(&before) && self.judge(self.counts()).is_ok()
        };
        if until(limit, is_done) {
            return Ok(());
        }
        let seconds = limit.as_secs();
        Err(format!(
            "{name}, {}: its workers were not replaced within {seconds} s. {}",
            reload.about,
            self.processes_in_words()
        ))
    }

    fn workers(&self) -> BTreeSet<u32> {
        self.workers_among(&self.members()).into_iter().map(|member| member.id).collect()
    }

    fn step(&self, step: &ReloadStep) -> Result<(), String> {
        self.wait_for(step)?;
        if !step.command.is_empty() {
            return self.run(&step.command);
        }
        let signal = signal(step.signal.as_deref().unwrap_or_default())?;
        let pattern = step.to.as_deref().map(|pattern| self.words.pattern(pattern)).transpose()?;
        let find = || match &pattern {
            None => self.masters().first().cloned(),
            Some(pattern) => self.members().into_iter().find(|member| pattern.is_match(&member.title)),
        };
        // A process renames itself: on a busy machine its new title may come after the processes that it has started.
        let mut to = None;
        until(Duration::from_secs(u64::from(self.recipe.ready_s)), || {
            to = find();
            to.is_some()
        });
        let to = to.ok_or_else(|| format!("there is no process to tell. {}", self.processes_in_words()))?;
        process::signal_one(to.id, signal)
    }

    fn wait_for(&self, step: &ReloadStep) -> Result<(), String> {
        let (Some(number), Some(pattern)) = (&step.when, &step.to_see) else { return Ok(()) };
        let number = self.words.number(number)? as usize;
        let pattern: Regex = self.words.pattern(pattern)?;
        let seen = || self.members().iter().filter(|member| pattern.is_match(&member.title)).count() >= number;
        if until(Duration::from_secs(u64::from(self.recipe.ready_s)), seen) {
            return Ok(());
        }
        let never = match number {
            1 => "there never was a process".to_owned(),
            more => format!("there never were {more} processes"),
        };
        Err(format!("{never} like {pattern}. {}", self.processes_in_words()))
    }

    /// Runs a command in the server's environment, and in its PID namespace if it has one. Its time limit is that of
    /// the server's start, so that a command that hangs does not hold up the run.
    fn run(&self, words: &[String]) -> Result<(), String> {
        let filled: Result<Vec<String>, String> = words.iter().map(|word| self.words.fill(word)).collect();
        let words: Vec<String> = filled?.into_iter().filter(|word| !word.is_empty()).collect();
        let line = words.join(" ");
        let (program, rest) = words.split_first().ok_or("its command has no words")?;
        let before = match self.masters().first().filter(|_| self.recipe.namespace) {
            None => Vec::new(),
            Some(master) => vec!["nsenter".into(), "--pid".into(), "--mount".into(), format!("--target={}", master.id)],
        };
        let env = self.words.fill_all(&self.recipe.env)?;
        let mut command =
            self.environment.command_behind(&before, &self.environment.program(program)?, &self.words.folder, &env);
        let limit = Duration::from_secs(u64::from(self.recipe.ready_s));
        let output = output_within(command.args(rest), limit).map_err(|error| format!("`{line}`: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr })
            .into_owned();
        Err(format!("`{line}` ended with {}: {}", output.status, said.trim()))
    }
}
