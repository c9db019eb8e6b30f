//! One contender's turn in one family of cases in one round: start, check, warm up, load with each case, check again,
//! stop. The next contender's turn in the same family follows directly, so that two contenders run a case as close in
//! time as possible.

use std::collections::BTreeMap;
use std::path::Path;

use super::case;
use super::plan::{Family, Plan, PlannedCase};
use super::recipe::{Entry, Study, Tool};
use super::watcher::Watcher;
use crate::contender::{self, Counts, Server, Wanted};
use crate::environment::Environment;
use crate::measure::{Load, QUEUE_LEFT, Up, seed, shortened, warm_up};
use crate::record::Sample;
use crate::record::date::now;
use crate::record::summary::CHECKED_ENOUGH;
use loadgen::metric::{CHECKED, SETTLED};
use loadgen::{Closed, K6Here, Until, Warmth};

/// Seconds of the first warm-up, before workers and threads are counted.
const FIRST_WARM_UP_S: f64 = 0.3;
/// Time limit of a checked load, in seconds.
const CHECKED_S: f64 = 30.0;
/// Length of a load, in seconds, below which the checked one after it has a shorter limit, as in the quick form of a
/// study.
const FULL_LOAD_S: f64 = 2.0;
/// Shorter time limit: a multiple of the length of the load, and at least this many seconds.
const CHECKED_TIMES: f64 = 1.5;
const CHECKED_S_LEAST: f64 = 0.9;

/// Study, plan, environment and folders that all turns of a run have in common.
pub struct TurnContext<'a> {
    /// Recipe of the study.
    pub study: &'a Study,
    /// Plan of the run.
    pub plan: &'a Plan,
    /// Environment in which the servers run.
    pub environment: &'a Environment,
    /// Folder of the application.
    pub app: &'a Path,
    /// Environment variables of every contender.
    pub env: &'a BTreeMap<String, String>,
    /// Folder for the servers' logs.
    pub logs: &'a Path,
    /// k6, if it replaces the cases' own loads.
    pub k6: Option<K6Here>,
}

/// A contender's turn in a family of cases.
pub struct Turn<'a> {
    /// Study, plan, environment and folders of the run.
    pub common: &'a TurnContext<'a>,
    /// The contender in the study.
    pub entry: &'a Entry,
    /// Recipe of the contender's server.
    pub recipe: &'a contender::Recipe,
    /// Family of cases.
    pub family: &'a Family,
    /// Cases of the family that are left to run, in the order of the round.
    pub cases: Vec<&'a PlannedCase>,
    /// Capacity of the slowest contender in this family, in requests per second, if known.
    pub slowest: Option<f64>,
    /// Capacity of this contender, in requests per second, if it was measured before an interruption.
    pub capacity: Option<f64>,
    /// Number of the round, from 1.
    pub round: u32,
}

/// Facts about a contender that are known once it has run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Counted workers and threads.
    pub counts: Option<Counts>,
    /// Command lines and generated files.
    pub commands: Vec<String>,
    /// What it did in place of stopping, if it had to be killed or left a process behind.
    pub not_stopped: Option<String>,
}

/// Stores a sample as soon as it exists.
pub type Keep<'a> = dyn FnMut(Sample) -> Result<(), String> + 'a;

impl Turn<'_> {
    /// Runs the turn.
    pub fn run(&self, keep: &mut Keep, watcher: &dyn Watcher) -> Result<Facts, String> {
        let mut facts = Facts::default();
        watcher.doing(&format!("round {}: {} starts", self.round, self.entry.name()));
        let loads_s: f64 = self.cases.iter().map(|case| case.load_s()).sum();
        let all_s = self.common.plan.turn_s(self.entry, self.cases.iter().copied());
        match self.start(&mut facts) {
            Ok((mut up, warmth)) => {
                self.measure_all(&mut up, warmth, keep, watcher)?;
                if let Err(why) = up.server.stop() {
                    watcher.said(&format!("{}: {why}", self.entry.name()));
                    facts.not_stopped = Some(format!("round {}: {}", self.round, shortened(&why)));
                }
                watcher.passed(all_s - loads_s);
            }
            Err(why) => {
                self.cases.iter().map(|case| self.refused(case, &why)).try_for_each(keep)?;
                watcher.passed(all_s);
            }
        }
        Ok(facts)
    }

    /// Starts the server and waits until it answers rightly, with as many workers and threads as it was started with.
    fn start(&self, facts: &mut Facts) -> Result<(Up, Warmth), String> {
        let rackup = self.common.app.join(self.start_of_app());
        let server = Server::start(self.wanted(&rackup, ""))?;
        facts.commands = server.commands();
        let up = self.ready(server)?;
        // All workers and threads must have had work before they are counted, even if this family has few clients.
        let clients = self.common.plan.cases().map(|case| case.clients).max().unwrap_or(1);
        let warmth = self.warmed_up(&up.server, clients, FIRST_WARM_UP_S);
        facts.counts = Some(up.server.check_counts()?);
        Ok((up, warmth))
    }

    /// Waits until the server answers rightly.
    pub(super) fn ready(&self, server: Server) -> Result<Up, String> {
        Up::when_ready(server, &|port| loadgen::check(port, &self.family.workload), &|| false)
    }

    fn warmed_up(&self, server: &Server, clients: u32, max_s: f64) -> Warmth {
        let (workers, threads) = server.shape();
        warm_up(server.port(), &self.family.workload, clients, workers.saturating_mul(threads), max_s)
    }

    /// Warms up with the clients of the family's largest load.
    pub(super) fn warmed_up_for_loads(&self, server: &Server, max_s: f64) -> Warmth {
        let clients = self.family.cases.iter().map(|case| case.clients).max().unwrap_or(1);
        self.warmed_up(server, clients, max_s)
    }

    /// Path of the rackup file in the application's folder.
    pub(super) fn start_of_app(&self) -> &'_ Path {
        Path::new(self.entry.rackup.as_deref().unwrap_or("config.ru"))
    }

    /// The server to start, for this rackup file; `label` ends the names of its logs.
    pub(super) fn wanted<'a>(&'a self, rackup: &'a Path, label: &str) -> Wanted<'a> {
        let mut env = self.common.env.clone();
        env.extend(self.entry.env.clone());
        Wanted {
            recipe: self.recipe,
            environment: self.common.environment,
            rackup,
            workers: self.entry.workers,
            threads: self.entry.threads,
            env,
            logs: self.common.logs,
            label: format!("{}-{}-{}{label}", self.entry.name(), self.round, self.family.recipe.name),
            memory_limit: self.common.study.memory_mib.map(|mib| mib << 20),
            allocator: self.entry.allocator,
            idle_s: self.entry.idle_s,
            stock: self.entry.stock,
        }
    }

    fn measure_all(
        &self,
        up: &mut Up,
        mut warmth: Warmth,
        keep: &mut Keep,
        watcher: &dyn Watcher,
    ) -> Result<(), String> {
        let is_loaded = !matches!(self.family.recipe.tool, Tool::Start | Tool::Idle);
        let mut settled = None;
        // Answers of the warm-up are checked like all others.
        let warm_up_s = self.common.plan.warm_up_s(self.entry);
        if is_loaded && warm_up_s > 0.0 {
            let longer = self.warmed_up_for_loads(&up.server, warm_up_s);
            warmth.requests += longer.requests;
            warmth.wrong = warmth.wrong.or(longer.wrong);
            settled = Some(longer.settled.number());
        }
        let mut capacity = self.capacity;
        for case in &self.cases {
            watcher.doing(&format!("round {}: {}, {}", self.round, self.entry.name(), case.title));
            let mut sample = self.measure(case, up, &mut capacity);
            if let Some(wrong) = &warmth.wrong {
                sample.disqualified.get_or_insert_with(|| format!("wrong answer while warming up: {wrong}"));
            }
            if let Some(checked) = sample.numbers.get_mut(CHECKED) {
                *checked += warmth.requests as f64;
            }
            if !sample.numbers.is_empty() {
                sample.numbers.extend(settled.map(|settled| (SETTLED.to_owned(), settled)));
            }
            watcher.passed(case.load_s());
            keep(sample)?;
        }
        Ok(())
    }

    fn measure(&self, case: &PlannedCase, up: &mut Up, capacity: &mut Option<f64>) -> Sample {
        // Each step is a share of the slowest capacity or of its own; cases come in any order.
        let mut whole = if case.slowest_pct > 0 { self.slowest.or(*capacity) } else { *capacity };
        let workload = &self.family.workload;
        let seed = seed(self.common.plan.seed, self.round, case.load_pct);
        // k6 checks every answer.
        let form = case.tool.blind_form().filter(|_| self.common.k6.is_none());
        let until = checked_until(case.seconds);
        let checked = Closed { clients: case.clients, until, keep: case.tool == Tool::Wrk, seed };
        let load = Load {
            check: &mut |server| loadgen::check_patiently(server.port(), workload, QUEUE_LEFT),
            run: &mut |up| case::run(case, self.family, up, &mut whole, seed, self.common.k6.as_ref()),
            checked: form.map(|form| (workload, checked, form)),
            too_much: None,
        };
        let mut sample = load.on(up);
        if case.load_pct == 0 {
            *capacity = whole;
        }
        sample.disqualified = sample.disqualified.map(|why| shortened(&why));
        self.sample(case, sample)
    }

    /// Adds the names of case and contender and the round to a sample.
    pub(super) fn sample(&self, case: &PlannedCase, sample: Sample) -> Sample {
        let case = case.name.clone();
        let contender = self.entry.name().to_owned();
        Sample { case, contender, round: self.round, ..sample }
    }

    fn refused(&self, case: &PlannedCase, why: &str) -> Sample {
        self.sample(case, Sample { started: now(), disqualified: Some(shortened(why)), ..Sample::default() })
    }
}

/// End of the load that checks all answers after a load of `load_s` seconds: enough answers, or its time limit.
fn checked_until(load_s: f64) -> Until {
    let seconds = if load_s < FULL_LOAD_S { (load_s * CHECKED_TIMES).max(CHECKED_S_LEAST) } else { CHECKED_S };
    Until::First { requests: CHECKED_ENOUGH, seconds }
}

/// Whether this tool can measure a contender. A server that lacks a feature, such as reloads, has a note on that, and
/// has not failed.
pub fn can(tool: Tool, recipe: &contender::Recipe) -> bool {
    match tool {
        Tool::Killed => !recipe.cannot.contains_key("kill"),
        Tool::Reload => !recipe.cannot.contains_key("reload"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checked_load_goes_on_until_enough_answers_were_checked_or_for_half_a_minute() {
        let of = |load_s: f64| match checked_until(load_s) {
            Until::First { requests, seconds } => (requests, (seconds * 10.0).round() / 10.0),
            other => panic!("{other:?}"),
        };
        assert_eq!([2.0, 10.0, 600.0].map(of), [(4603, 30.0); 3]);
        assert_eq!([0.1, 1.0].map(of), [(4603, 0.9), (4603, 1.5)]);
    }
}
