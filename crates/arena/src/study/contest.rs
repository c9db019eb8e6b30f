//! One contender's turn in one round: started afresh, checked, warmed up, loaded with every case, checked again, ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::case;
use super::plan::{Case, Family, Plan};
use super::recipe::{Entry, Recipe, Tool};
use super::run::Watcher;
use crate::contender::{self, Counts, Observation, Server, Wanted};
use crate::load;
use crate::metric::{FIRST_ANSWER, P50, P99, RATE};
use crate::place::Place;
use crate::record::date::now;
use crate::record::{Outcome, Sample};

/// Of a reason, as it is shown.
const REASON_LINES: usize = 3;
const REASON_MOST: usize = 400;

/// Everything that a turn needs.
pub struct Turn<'a> {
    /// The study.
    pub study: &'a Recipe,
    /// What is to be done.
    pub plan: &'a Plan,
    /// Who.
    pub entry: &'a Entry,
    /// How it is started.
    pub recipe: &'a contender::Recipe,
    /// Where it comes from.
    pub place: &'a Place,
    /// The application's folder.
    pub app: &'a Path,
    /// For every contender.
    pub env: &'a BTreeMap<String, String>,
    /// Where the servers' logs go.
    pub logs: &'a Path,
    /// From 1.
    pub round: u32,
    /// Its place among the contenders.
    pub number: usize,
}

/// What became known of a contender while it ran.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Processes and threads that serve.
    pub counts: Option<Counts>,
    /// Command lines and generated files.
    pub commands: Vec<String>,
}

/// Takes each sample as soon as there is one.
pub type Keep<'a> = dyn FnMut(Sample) -> Result<(), String> + 'a;

impl Turn<'_> {
    /// Has the turn. Cases that are there from an interrupted run are left out.
    pub fn run(
        &self,
        is_wanted: &dyn Fn(&Case) -> bool,
        keep: &mut Keep,
        watcher: &dyn Watcher,
    ) -> Result<Facts, String> {
        let mut facts = Facts::default();
        let order = self.plan.order_of_families(self.round, self.number);
        let families = order.iter().map(|at| &self.plan.families[*at]);
        let families: Vec<&Family> = families.filter(|family| self.can(family)).collect();
        if !families.iter().flat_map(|family| &family.cases).any(is_wanted) {
            return Ok(facts);
        }
        let mut server = match self.start(&families, &mut facts, watcher) {
            Ok(server) => server,
            Err(why) => {
                let wanted = families.iter().flat_map(|family| &family.cases).filter(|case| is_wanted(case));
                wanted.map(|case| self.refused(case, &why)).try_for_each(keep)?;
                return Ok(facts);
            }
        };
        for family in families.into_iter().filter(|family| family.cases.iter().any(is_wanted)) {
            self.family(family, &mut server, keep, watcher)?;
        }
        if let Err(why) = server.server.stop() {
            watcher.said(&format!("{}: {why}", self.entry.name()));
        }
        Ok(facts)
    }

    /// Up, answering rightly, with as many workers and threads as it was told.
    fn start(&self, families: &[&Family], facts: &mut Facts, watcher: &dyn Watcher) -> Result<Up, String> {
        watcher.doing(&format!("round {}: {} starts", self.round, self.entry.name()));
        let rackup: PathBuf = self.app.join(self.entry.rackup.as_deref().unwrap_or("config.ru"));
        let mut env = self.env.clone();
        env.extend(self.entry.env.clone());
        env.insert("RAILS_MAX_THREADS".into(), self.entry.threads.to_string());
        let wanted = Wanted {
            recipe: self.recipe,
            place: self.place,
            rackup: &rackup,
            workers: self.entry.workers,
            threads: self.entry.threads,
            env,
            logs: self.logs,
            label: format!("{}-{}", self.entry.name(), self.round),
            memory_limit: self.study.memory_mib.map(|mib| mib << 20),
            allocator: self.entry.allocator,
            idle_s: self.entry.idle_s,
            extra: Vec::new(),
        };
        let mut server = Server::start(wanted)?;
        facts.commands = server.commands();
        // The same one in every round, whatever comes first in this one: the study's first.
        let of_study = self.plan.families.iter().find(|family| self.can(family)).ok_or("a study without cases")?;
        let first_answer = server.wait_ready(&|port| load::check(port, &of_study.workload))?;
        // Every path is asked before any load is timed.
        for workload in families.iter().map(|family| &family.workload) {
            load::check(server.port(), workload)?;
            let _ = load::warm_up(server.port(), workload, self.entry.workers * self.entry.threads, 0.3);
        }
        facts.counts = Some(server.check_counts()?);
        Ok(Up { server, first_answer_ms: first_answer.as_secs_f64() * 1000.0 })
    }

    /// What it cannot do at all stands among its notes, and is not a failure.
    fn can(&self, family: &Family) -> bool {
        match family.recipe.tool {
            Tool::Killed => !self.recipe.cannot.contains_key("kill"),
            Tool::Reload => !self.recipe.cannot.contains_key("reload"),
            _ => true,
        }
    }

    fn family(&self, family: &Family, up: &mut Up, keep: &mut Keep, watcher: &dyn Watcher) -> Result<(), String> {
        let is_loaded = !matches!(family.recipe.tool, Tool::Start | Tool::Idle);
        if is_loaded && self.plan.effort.warm_up_s > 0.0 {
            let clients = family.cases.iter().map(|case| case.clients).max().unwrap_or(1).min(64);
            load::warm_up(up.server.port(), &family.workload, clients, self.plan.effort.warm_up_s);
        }
        let mut capacity = None;
        for case in &family.cases {
            watcher.doing(&format!("round {}: {}, {}", self.round, self.entry.name(), case.title));
            let sample = self.measure(case, family, up, &mut capacity);
            watcher.passed(case.seconds + 0.5);
            keep(sample)?;
        }
        Ok(())
    }

    fn measure(&self, case: &Case, family: &Family, up: &mut Up, capacity: &mut Option<f64>) -> Sample {
        let (since, started) = (Instant::now(), now());
        let mut sample = self.sample(case, started);
        if let Err(why) = load::check(up.server.port(), &family.workload) {
            sample.disqualified = Some(format!("before the load: {why}"));
            return sample;
        }
        let observation = Observation::begin(&up.server);
        let ran = case::run(case, family, up, capacity);
        let (mut outcome, failure) = match ran {
            Ok(outcome) => (outcome, None),
            Err(why) => (Outcome::default(), Some(why)),
        };
        observation.end(&up.server, &mut outcome);
        // Nothing can be said of the times of answers that never came.
        let is_silent = outcome.numbers.get(RATE) == Some(&0.0);
        let silent = is_silent.then(|| "no right answer in the whole load".to_owned());
        let wrong = outcome.wrong.map(|wrong| format!("wrong answer: {wrong}"));
        sample.disqualified = failure.or(silent).or(wrong);
        (sample.command, sample.numbers, sample.errors) = (outcome.command, outcome.numbers, outcome.errors);
        sample.numbers.insert(FIRST_ANSWER.into(), up.first_answer_ms);
        if let (Some(p50), Some(p99)) = (sample.numbers.get(P50), sample.numbers.get(P99)) {
            sample.numbers.insert("p99_over_p50".into(), p99 / p50.max(1e-3));
        }
        if up.server.has_ended() {
            let tail = up.server.log_tail();
            sample.disqualified = Some(format!("the server ended in the middle of it: {tail}"));
        } else if sample.disqualified.is_none()
            && let Err(why) = load::check(up.server.port(), &family.workload)
        {
            sample.disqualified = Some(format!("after the load: {why}"));
        }
        sample.took_s = since.elapsed().as_secs_f64();
        sample
    }

    fn sample(&self, case: &Case, started: String) -> Sample {
        let (case, contender) = (case.name.clone(), self.entry.name().to_owned());
        Sample { case, contender, round: self.round, started, ..Sample::default() }
    }

    fn refused(&self, case: &Case, why: &str) -> Sample {
        // All of it stands in the server's log.
        let first: Vec<&str> = why.lines().filter(|line| !line.trim().is_empty()).take(REASON_LINES).collect();
        let mut why: String = first.join(" ");
        if why.chars().count() > REASON_MOST {
            why = why.chars().take(REASON_MOST).chain("…".chars()).collect();
        }
        Sample { disqualified: Some(why), ..self.sample(case, now()) }
    }
}

/// A server that has answered.
pub struct Up {
    /// It.
    pub server: Server,
    /// From its start to its first right answer.
    pub first_answer_ms: f64,
}
