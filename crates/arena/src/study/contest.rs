//! One contender's turn in one round: started afresh, checked, warmed up, loaded with every case, checked again, ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::case;
use super::plan::{Case, Family, Plan};
use super::recipe::{Entry, Recipe, Tool};
use super::run::Watcher;
use super::summarize::CHECKED_ENOUGH;
use crate::contender::{self, Counts, Observation, Server, Wanted};
use crate::place::Place;
use crate::record::date::now;
use crate::record::{Course, Outcome, Sample};
use loadgen::metric::{CHECKED, FIRST_ANSWER, P50, P99, RATE};
use loadgen::{self, Closed, K6Here, Until, Warmth};

/// Of a reason, as it is shown.
const REASON_LINES: usize = 3;
const REASON_MOST: usize = 400;

/// A tool that goes leaves requests behind; a server with a long queue of slow ones may take so long for them.
pub(super) const QUEUE_LEFT: Duration = Duration::from_secs(120);
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
        let mut server = match self.start(&families, &mut facts, watcher) {
            Ok(server) => server,
            Err(why) => {
                let wanted = families.iter().flat_map(|family| &family.cases).filter(|case| is_wanted(case));
                wanted.map(|case| self.refused(case, &why)).try_for_each(keep)?;
                return Ok(facts);
            }
        };
        for family in families.iter().filter(|family| family.cases.iter().any(is_wanted)) {
            self.family(family, &mut server, is_wanted, keep, watcher)?;
        }
        if let Err(why) = server.server.stop() {
            watcher.said(&format!("{}: {why}", self.entry.name()));
        }
        self.divide(&families, is_wanted, keep, watcher)?;
        Ok(facts)
    }

    /// Up, answering rightly, with as many workers and threads as it was told.
    fn start(&self, families: &[&Family], facts: &mut Facts, watcher: &dyn Watcher) -> Result<Up, String> {
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
            let clients = self.entry.workers * self.entry.threads;
            let warmth = loadgen::warm_up(server.port(), &family.workload, clients, 0.3);
            warm.insert(family.recipe.name.clone(), warmth);
        }
        facts.counts = Some(server.check_counts()?);
        Ok(Up { server, first_answer_ms: first_answer.as_secs_f64() * 1000.0, warm })
    }

    /// Where the application begins, in its folder.
    pub(super) fn start_of_app(&self) -> &'_ Path {
        Path::new(self.entry.rackup.as_deref().unwrap_or("config.ru"))
    }

    /// How it is started; its logs have this at the end of their names.
    pub(super) fn wanted<'a>(&'a self, rackup: &'a Path, label: &str) -> Wanted<'a> {
        let mut env = self.env.clone();
        env.extend(self.entry.env.clone());
        env.insert("RAILS_MAX_THREADS".into(), self.entry.threads.to_string());
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
        is_wanted: &dyn Fn(&Case) -> bool,
        keep: &mut Keep,
        watcher: &dyn Watcher,
    ) -> Result<(), String> {
        let is_loaded = !matches!(family.recipe.tool, Tool::Start | Tool::Idle);
        // What it answered while it warmed up counts as much as what it answers later.
        let mut warmth = up.warm.remove(&family.recipe.name).unwrap_or_default();
        if is_loaded && self.plan.effort.warm_up_s > 0.0 {
            let clients = family.cases.iter().map(|case| case.clients).max().unwrap_or(1).min(64);
            let longer = loadgen::warm_up(up.server.port(), &family.workload, clients, self.plan.effort.warm_up_s);
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
        let (since, started) = (Instant::now(), now());
        let mut sample = self.sample(case, started);
        if let Err(why) = loadgen::check_patiently(up.server.port(), &family.workload, QUEUE_LEFT) {
            sample.disqualified = Some(format!("before the load: {why}"));
            return sample;
        }
        if let Some(whole) = self.slowest.get(&family.recipe.name).filter(|_| case.slowest_pct > 0) {
            *capacity = Some(*whole);
        }
        let observation = Observation::begin(&up.server);
        let ran = case::run(case, family, up, capacity, self.k6);
        let (mut outcome, failure) = match ran {
            Ok(outcome) => (outcome, None),
            Err(why) => (Outcome::default(), Some(why)),
        };
        observation.end(&up.server, &mut outcome);
        // Nothing can be said of the times of answers that never came.
        let is_silent = outcome.numbers.get(RATE) == Some(&0.0);
        let silent = is_silent.then(|| "no right answer in the whole load".to_owned());
        let wrong = outcome.wrong.take().map(|wrong| format!("wrong answer: {wrong}"));
        let failed = failure.or(silent).or(wrong);
        let checked = if failed.is_none() { self.checked_load(case, family, up, &mut outcome) } else { Ok(()) };
        sample.disqualified = failed.or(checked.err());
        (sample.command, sample.numbers, sample.errors) = (outcome.command, outcome.numbers, outcome.errors);
        sample.course = rounded(outcome.course);
        sample.numbers.insert(FIRST_ANSWER.into(), up.first_answer_ms);
        if let (Some(p50), Some(p99)) = (sample.numbers.get(P50), sample.numbers.get(P99)) {
            sample.numbers.insert("p99_over_p50".into(), p99 / p50.max(1e-3));
        }
        if up.server.has_ended() {
            let tail = up.server.log_tail();
            sample.disqualified = Some(format!("the server ended in the middle of it: {tail}"));
        } else if sample.disqualified.is_none()
            && let Err(why) = loadgen::check_patiently(up.server.port(), &family.workload, QUEUE_LEFT)
        {
            sample.disqualified = Some(format!("after the load: {why}"));
        }
        sample.took_s = since.elapsed().as_secs_f64();
        sample
    }

    /// After a load of a tool that does not look at answers, one of our own that does: as many clients, until a wrong
    /// answer in a thousand would have been found. It has at most half the time of the load; the rounds add up.
    fn checked_load(&self, case: &Case, family: &Family, up: &Up, outcome: &mut Outcome) -> Result<(), String> {
        // Each answer to k6 was checked.
        if !case.tool.is_blind() || self.k6.is_some() {
            return Ok(());
        }
        let port = up.server.port();
        // What the tool left in the server's queue is not held against it.
        loadgen::check_patiently(port, &family.workload, QUEUE_LEFT).map_err(|why| format!("after the load: {why}"))?;
        let seconds = (case.seconds / 2.0).clamp(CHECKED_S.0, CHECKED_S.1);
        let until = Until::First { requests: CHECKED_ENOUGH, seconds };
        let plan = Closed { clients: case.clients, until, keep: case.tool == Tool::Wrk, seed: u64::from(self.round) };
        let seen = loadgen::closed(port, &family.workload, &plan);
        let right = seen.numbers.get("requests").copied().unwrap_or(0.0);
        outcome.numbers.insert(CHECKED.into(), right);
        seen.wrong.map_or(Ok(()), |wrong| Err(format!("wrong answer in the checked load: {wrong}")))
    }

    pub(super) fn sample(&self, case: &Case, started: String) -> Sample {
        let (case, contender) = (case.name.clone(), self.entry.name().to_owned());
        Sample { case, contender, round: self.round, started, ..Sample::default() }
    }

    fn refused(&self, case: &Case, why: &str) -> Sample {
        Sample { disqualified: Some(in_short(why)), ..self.sample(case, now()) }
    }
}

/// A reason as it is shown; all of it stands in the server's log.
pub(super) fn in_short(why: &str) -> String {
    let first: Vec<&str> = why.lines().filter(|line| !line.trim().is_empty()).take(REASON_LINES).collect();
    let why: String = first.join(" ");
    match why.chars().count() > REASON_MOST {
        true => why.chars().take(REASON_MOST).chain("…".chars()).collect(),
        false => why,
    }
}

/// Four digits: more would only make the run folder larger.
fn rounded(course: Course) -> Course {
    let digits = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    let point = |(at, value): (f64, f64)| (digits(at), digits(value));
    let kept = course.into_iter().filter(|(_, points)| points.len() > 1);
    kept.map(|(name, points)| (name, points.into_iter().map(point).collect())).collect()
}

/// A server that has answered.
pub struct Up {
    /// It.
    pub server: Server,
    /// From its start to its first right answer.
    pub first_answer_ms: f64,
    /// By family, what it answered first.
    warm: BTreeMap<String, Warmth>,
}
