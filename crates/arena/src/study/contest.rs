//! One contender's turn in one round: started afresh, checked, warmed up, loaded with every case, checked again, ended.

use std::collections::BTreeMap;
use std::path::Path;

use super::case;
use super::plan::{Case, Family, Plan};
use super::recipe::{Entry, Recipe, Tool};
use super::watcher::Watcher;
use crate::contender::{self, Counts, Server, Wanted};
use crate::measure::{CHECKED_ENOUGH, Load, QUEUE_LEFT, Up, seed, shortened, warm_up};
use crate::place::Place;
use crate::record::Sample;
use crate::record::date::now;
use loadgen::metric::CHECKED;
use loadgen::{Closed, K6Here, Until, Warmth};

/// The first warm-up of each family, before workers and threads are counted.
const FIRST_WARM_UP_S: f64 = 0.3;
/// A checked load is no shorter and no longer, in seconds.
const CHECKED_S: (f64, f64) = (0.3, 10.0);

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
    /// By family, what the slowest contender can do, as far as it is known.
    pub slowest: &'a BTreeMap<String, f64>,
    /// In the place of the cases' own loads.
    pub k6: Option<&'a K6Here>,
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
        let (mut up, mut warm) = match self.start(&families, &mut facts, watcher) {
            Ok(started) => started,
            Err(why) => {
                let wanted = families.iter().flat_map(|family| &family.cases).filter(|case| is_wanted(case));
                wanted.map(|case| self.refused(case, &why)).try_for_each(keep)?;
                return Ok(facts);
            }
        };
        for family in families.iter().filter(|family| family.cases.iter().any(is_wanted)) {
            let warmth = warm.remove(&family.recipe.name).unwrap_or_default();
            self.family(family, &mut up, warmth, is_wanted, keep, watcher)?;
        }
        if let Err(why) = up.server.stop() {
            watcher.said(&format!("{}: {why}", self.entry.name()));
        }
        self.divide(&families, is_wanted, keep, watcher)?;
        Ok(facts)
    }

    /// Up, answering rightly, with as many workers and threads as it was told.
    fn start(&self, families: &[&Family], facts: &mut Facts, watcher: &dyn Watcher) -> Result<Started, String> {
        watcher.doing(&format!("round {}: {} starts", self.round, self.entry.name()));
        let rackup = self.app.join(self.start_of_app());
        let mut server = Server::start(self.wanted(&rackup, ""))?;
        facts.commands = server.commands();
        // The same one in every round, whatever comes first in this one: the study's first.
        let of_study = self.plan.families.iter().find(|family| self.can(family)).ok_or("a study without cases")?;
        let first_answer = server.wait_ready(&|port| loadgen::check(port, &of_study.workload))?;
        // Every path is asked before any load is timed.
        let mut warm = BTreeMap::new();
        for family in families {
            loadgen::check(server.port(), &family.workload)?;
            warm.insert(family.recipe.name.clone(), self.warmed_up(&server, family, FIRST_WARM_UP_S));
        }
        facts.counts = Some(server.check_counts()?);
        Ok((Up { server, first_answer_ms: first_answer.as_secs_f64() * 1000.0 }, warm))
    }

    pub(super) fn warmed_up(&self, server: &Server, family: &Family, max_s: f64) -> Warmth {
        let clients = family.cases.iter().map(|case| case.clients).max().unwrap_or(1);
        let (workers, threads) = server.shape();
        warm_up(server.port(), &family.workload, (clients, workers.saturating_mul(threads)), max_s)
    }

    /// Where the application begins, in its folder.
    pub(super) fn start_of_app(&self) -> &'_ Path {
        Path::new(self.entry.rackup.as_deref().unwrap_or("config.ru"))
    }

    /// How it is started; its logs have this at the end of their names.
    pub(super) fn wanted<'a>(&'a self, rackup: &'a Path, label: &str) -> Wanted<'a> {
        let mut env = self.env.clone();
        env.extend(self.entry.env.clone());
        Wanted {
            recipe: self.recipe,
            place: self.place,
            rackup,
            workers: self.entry.workers,
            threads: self.entry.threads,
            env,
            logs: self.logs,
            label: format!("{}-{}{label}", self.entry.name(), self.round),
            memory_limit: self.study.memory_mib.map(|mib| mib << 20),
            allocator: self.entry.allocator,
            idle_s: self.entry.idle_s,
            stock: self.entry.stock,
            extra: Vec::new(),
        }
    }

    /// What it cannot do at all stands among its notes, and is not a failure.
    fn can(&self, family: &Family) -> bool {
        match family.recipe.tool {
            Tool::Killed => !self.recipe.cannot.contains_key("kill"),
            Tool::Reload => !self.recipe.cannot.contains_key("reload"),
            _ => true,
        }
    }

    fn family(
        &self,
        family: &Family,
        up: &mut Up,
        mut warmth: Warmth,
        is_wanted: &dyn Fn(&Case) -> bool,
        keep: &mut Keep,
        watcher: &dyn Watcher,
    ) -> Result<(), String> {
        let is_loaded = !matches!(family.recipe.tool, Tool::Start | Tool::Idle);
        // What it answered while it warmed up counts as much as what it answers later.
        if is_loaded && self.plan.effort.warm_up_s > 0.0 {
            let longer = self.warmed_up(&up.server, family, self.plan.effort.warm_up_s);
            warmth.requests += longer.requests;
            warmth.wrong = warmth.wrong.or(longer.wrong);
        }
        let mut capacity = None;
        for case in family.cases.iter().filter(|case| case.slowest_pct == 0 || is_wanted(case)) {
            watcher.doing(&format!("round {}: {}, {}", self.round, self.entry.name(), case.title));
            let mut sample = self.measure(case, family, up, &mut capacity);
            if let Some(wrong) = &warmth.wrong {
                sample.disqualified.get_or_insert_with(|| format!("wrong answer while warming up: {wrong}"));
            }
            if let Some(checked) = sample.numbers.get_mut(CHECKED) {
                *checked += warmth.requests as f64;
            }
            watcher.passed(case.seconds + 0.5);
            keep(sample)?;
        }
        Ok(())
    }

    fn measure(&self, case: &Case, family: &Family, up: &mut Up, capacity: &mut Option<f64>) -> Sample {
        if let Some(whole) = self.slowest.get(&family.recipe.name).filter(|_| case.slowest_pct > 0) {
            *capacity = Some(*whole);
        }
        let workload = &family.workload;
        let seed = seed(self.plan.seed, self.round, case.load_pct);
        // Each answer to k6 was checked.
        let is_blind = case.tool.is_blind() && self.k6.is_none();
        // It has at most half the time of the load; the rounds add up.
        let seconds = (case.seconds / 2.0).clamp(CHECKED_S.0, CHECKED_S.1);
        let until = Until::First { requests: CHECKED_ENOUGH, seconds };
        let checked = Closed { clients: case.clients, until, keep: case.tool == Tool::Wrk, seed };
        let load = Load {
            check: &mut |server| loadgen::check_patiently(server.port(), workload, QUEUE_LEFT),
            run: &mut |up| case::run(case, family, up, capacity, seed, self.k6),
            checked: is_blind.then_some((workload, checked)),
        };
        let mut sample = load.on(up);
        sample.disqualified = sample.disqualified.map(|why| shortened(&why));
        self.sample(case, sample)
    }

    /// With the names of its case and contender.
    pub(super) fn sample(&self, case: &Case, sample: Sample) -> Sample {
        let (case, contender) = (case.name.clone(), self.entry.name().to_owned());
        Sample { case, contender, round: self.round, ..sample }
    }

    fn refused(&self, case: &Case, why: &str) -> Sample {
        self.sample(case, Sample { started: now(), disqualified: Some(shortened(why)), ..Sample::default() })
    }
}

/// A server that has answered, and by family what it answered first.
type Started = (Up, BTreeMap<String, Warmth>);
