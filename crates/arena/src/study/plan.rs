//! Plan of a run, derived from a study before anything is started: its cases, their order, and the time that it may
//! take.

use crate::measure;
use crate::record::summary::Published;
use crate::stats::SeededRng;
use loadgen::Workload;
use loadgen::metric::{OFFERED, RATE};

use super::effort::Effort;
use super::known::with_knowledge;
use super::published::Figures;
use super::recipe::{CaseRecipe, Entry, Study, Tool};
use super::request::RunRequest;

/// Metrics of a step of the ladder.
const LADDER: [&str; 7] = ["p99_ms", "p50_ms", "p999_ms", "offered_per_s", "requests_per_s", "failed", "late_ms"];

/// A case with all numbers resolved.
#[derive(Debug, Clone)]
pub struct PlannedCase {
    /// Name in records; in a series with its number: `posts@32`.
    pub name: String,
    /// Name of the recipe's case to which it belongs.
    pub family: String,
    /// Title for people.
    pub title: String,
    /// How it is measured.
    pub tool: Tool,
    /// Number of concurrent clients.
    pub clients: u32,
    /// Seconds of a timed load.
    pub seconds: f64,
    /// Requests of a counted load, which has no fixed time.
    pub requests: Option<u64>,
    /// Share of the contender's own capacity, in percent; 0 for the measurement of that capacity.
    pub load_pct: u32,
    /// Share of the slowest contender's capacity, in percent; 0 for the contender's own.
    pub slowest_pct: u32,
    /// Number of clients that request what hangs, the same for all contenders.
    pub hanging: u32,
    /// Place on the x axis of a line plot.
    pub x: Option<f64>,
    /// Metrics that are shown.
    pub metrics: Vec<String>,
    /// Figures that the original study published.
    pub published: Vec<Published>,
}

/// Length of the load that divides a request's time, as a share of the case's own load, and its bounds in seconds: long
/// enough for a mean, and no longer than needed.
const DIVIDED_SHARE: f64 = 0.25;
const DIVIDED_S: (f64, f64) = (0.5, 3.0);
/// Number of hanging requests for each request that the contender with the most workers and threads serves at once:
/// none would be left for others. A share of each one's own would spare a server without a limit of its own, such as
/// one with fibres.
const HANGING: u32 = 2;
/// Estimated seconds of a server's start and stop, and of a load's checks.
const START_S: f64 = 3.0;
const AROUND_S: f64 = 0.5;

impl PlannedCase {
    /// Rate of a step of a ladder, from the measured capacity.
    pub fn share(&self, capacity: Option<f64>) -> Result<f64, String> {
        let whole = capacity.ok_or("its capacity is not known: it gave no right answer")?;
        Ok(whole * f64::from(self.load_pct) / 100.0)
    }

    /// Most connections of its open loop.
    pub fn open_connections(&self) -> u32 {
        measure::open_connections(self.clients)
    }

    /// Most requests of its load that are in progress at once: one for each client, or for each connection of an open
    /// loop.
    pub fn at_once_most(&self) -> u32 {
        if self.load_pct > 0 { self.open_connections() } else { self.clients }
    }

    /// Estimated seconds of the load with its checks. A counted load is estimated like a timed one.
    pub fn load_s(&self) -> f64 {
        self.seconds + AROUND_S
    }

    /// Seconds of the load that divides a request's time; `None` unless the case is a load at full speed, in which each
    /// client has one request at a time.
    pub fn divided_s(&self) -> Option<f64> {
        let is_full = match self.tool {
            Tool::Wrk | Tool::Ab | Tool::Siege | Tool::Closed => true,
            Tool::Ladder => self.load_pct == 0 && self.slowest_pct == 0,
            _ => false,
        };
        is_full.then(|| (self.seconds * DIVIDED_SHARE).clamp(DIVIDED_S.0, DIVIDED_S.1))
    }
}

/// A family: cases of one recipe entry, measured one after the other.
#[derive(Debug, Clone)]
pub struct Family {
    /// The case in the recipe.
    pub recipe: CaseRecipe,
    /// Request of all its cases, with the right answer.
    pub workload: Workload,
    /// Cases in the order of the study.
    pub cases: Vec<PlannedCase>,
}

/// Plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Rounds, seconds, requests and clients.
    pub effort: Effort,
    /// Families in the order of the study.
    pub families: Vec<Family>,
    /// Seed of the order of turns, which is the same when a run is resumed.
    pub seed: u64,
    /// Whether it is the quick form.
    is_quick: bool,
}

impl Plan {
    /// Derives the plan from a study, with the families that were selected by words in their names, or all.
    pub fn of(study: &Study, asked: &RunRequest, figures: &Figures) -> Result<Plan, String> {
        let only = &asked.cases;
        let effort = asked.effort.clone();
        let chosen = |case: &&CaseRecipe| match only.is_empty() {
            true => case.in_quick || !asked.is_quick,
            false => only.iter().any(|word| case.name.contains(word)),
        };
        let family = |case: &CaseRecipe| {
            let workload = with_knowledge(&study.app, case.expect.workload(&case.path, case.send_bytes)?);
            let cases = expand(&thinned(case, asked.is_quick), study, &effort, figures);
            Ok(Family { recipe: case.clone(), workload, cases })
        };
        let families = study.cases.iter().filter(chosen).map(family).collect::<Result<Vec<Family>, String>>()?;
        if families.is_empty() {
            let names: Vec<&str> = study.cases.iter().map(|case| case.name.as_str()).collect();
            return Err(format!("--case {}: {} has {}", only.join(" --case "), study.name, names.join(", ")));
        }
        Ok(Plan { effort, families, seed: asked.seed, is_quick: asked.is_quick })
    }

    /// Removes families that need a library which is missing. Returns sentences on them.
    pub fn leave_out(&mut self, is_here: &dyn Fn(&str) -> bool) -> Vec<String> {
        let lacking = |family: &Family| family.recipe.needs.iter().find(|name| !is_here(name)).cloned();
        let out = self.families.iter().filter_map(|family| Some((family.recipe.title.clone(), lacking(family)?)));
        let out = out.map(|(title, name)| format!("left out: {title}: this Ruby has no {name} (gem install {name})"));
        let out: Vec<String> = out.collect();
        self.families.retain(|family| lacking(family).is_none());
        out
    }

    /// All cases, in the order of the study.
    pub fn cases(&self) -> impl Iterator<Item = &PlannedCase> {
        self.families.iter().flat_map(|family| &family.cases)
    }

    /// Order of the families in a round, the same for all contenders.
    pub fn order_of_families(&self, round: u32) -> Vec<usize> {
        self.drawn(round, 0, self.families.len())
    }

    /// Order of the contenders' turns in a family in this round.
    pub fn order(&self, round: u32, family: usize, contenders: usize) -> Vec<usize> {
        self.drawn(round, 2 * family + 1, contenders)
    }

    /// Order of a family's cases in this round, the same for all contenders: the capacity comes first, since the steps
    /// after it are shares of it.
    pub fn order_of_cases(&self, round: u32, family: usize) -> Vec<&PlannedCase> {
        let Some(cases) = self.families.get(family).map(|family| &family.cases) else { return Vec::new() };
        let first = usize::from(cases.iter().any(|case| case.load_pct > 0)).min(cases.len());
        let (capacity, rest) = cases.split_at(first);
        let order = self.drawn(round, 2 * family + 2, rest.len());
        capacity.iter().chain(order.into_iter().map(|at| &rest[at])).collect()
    }

    /// A random order of `count` things. Each draw of a round has its own number `of`.
    fn drawn(&self, round: u32, of: usize, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        SeededRng::from_seed(self.seed ^ (u64::from(round) << 32) ^ of as u64).shuffle(&mut order);
        order
    }

    /// Most seconds of a contender's warm-up before its loads.
    pub fn warm_up_s(&self, entry: &Entry) -> f64 {
        entry.warm_up_s.filter(|_| !self.is_quick).unwrap_or(self.effort.warm_up_s)
    }

    /// Estimated seconds of one contender's turn with these cases, for the progress bar.
    pub fn turn_s<'a>(&self, entry: &Entry, cases: impl Iterator<Item = &'a PlannedCase>) -> f64 {
        let loads_s: f64 = cases.map(PlannedCase::load_s).sum();
        // Usually the rate settles before the time for it is over, but not that of one that has a time of its own.
        let share = if entry.warm_up_s.is_some() { 1.0 } else { 0.5 };
        if loads_s > 0.0 { START_S + self.warm_up_s(entry) * share + loads_s } else { 0.0 }
    }
}

/// Estimated seconds of the loads that divide a request's time.
pub fn divided_s<'a>(cases: impl Iterator<Item = &'a PlannedCase>) -> f64 {
    let loads_s: f64 = cases.filter_map(PlannedCase::divided_s).map(|seconds| seconds + AROUND_S + 0.5).sum();
    if loads_s > 0.0 { START_S + loads_s } else { 0.0 }
}

/// The case with only the first, middle and last entry of each series, in the quick form; unchanged in the full form.
fn thinned(recipe: &CaseRecipe, is_quick: bool) -> CaseRecipe {
    let thin = |list: &[u32]| match list {
        [first, .., last] if is_quick && list.len() > 3 => vec![*first, list[list.len() / 2], *last],
        whole => whole.to_vec(),
    };
    CaseRecipe {
        users: thin(&recipe.users),
        load_pct: thin(&recipe.load_pct),
        slowest_pct: thin(&recipe.slowest_pct),
        ..recipe.clone()
    }
}

fn expand(recipe: &CaseRecipe, study: &Study, effort: &Effort, figures: &Figures) -> Vec<PlannedCase> {
    let seconds = recipe.seconds.map_or(effort.seconds, |seconds| seconds.min(effort.seconds * 4.0));
    let requests = recipe.requests.map(|requests| effort.requests.map_or(requests, |most| requests.min(most)));
    let metrics = if recipe.metrics.is_empty() { &study.metrics } else { &recipe.metrics };
    let published = |extra: Option<u32>| {
        let (Some(name), Some(mut keys)) = (study.published.as_deref(), recipe.published.clone()) else {
            return Vec::new();
        };
        if let Some(users) = extra {
            keys.insert("users".into(), i64::from(users).into());
        }
        let mut rows = figures.of(name, &keys);
        for row in &mut rows {
            let today = study.contenders.iter().find(|entry| entry.published.as_deref() == Some(&row.server));
            // A server whose name only happens to be that of a contender has no place in its row.
            row.contender = Some(today.map_or_else(String::new, |entry| entry.name().to_owned()));
        }
        rows
    };
    let one = PlannedCase {
        name: recipe.name.clone(),
        family: recipe.name.clone(),
        title: recipe.title.clone(),
        tool: recipe.tool,
        clients: recipe.clients.unwrap_or(effort.clients),
        seconds,
        requests,
        load_pct: 0,
        slowest_pct: 0,
        hanging: hanging(&study.contenders),
        x: None,
        metrics: metrics.iter().map(|name| shown_as(name, recipe.tool).to_owned()).collect(),
        published: published(None),
    };
    if !recipe.users.is_empty() {
        let with = |users: &u32| PlannedCase {
            name: format!("{}@{users}", recipe.name),
            title: format!("{}, {users} {}", recipe.title, if *users == 1 { "user" } else { "users" }),
            clients: *users,
            x: Some(f64::from(*users)),
            published: published(Some(*users)),
            ..one.clone()
        };
        return recipe.users.iter().map(with).collect();
    }
    let is_ladder = recipe.tool == Tool::Ladder;
    // The capacity is a case of its own, and no open loop.
    let mut cases = vec![one.clone()];
    if is_ladder || recipe.tool == Tool::Overload {
        cases[0].title = format!("{}: capacity, by a closed loop", recipe.title);
        // Over few connections, a server whose processes share them out may use some of its processes only.
        cases[0].clients = one.open_connections();
    }
    if recipe.tool == Tool::Overload {
        cases[0].metrics = vec![RATE.into()];
    }
    let step = |percent: u32, mark: &str, of: &str| PlannedCase {
        name: format!("{}{mark}{percent}", recipe.name),
        title: format!("{}, open loop at {percent} % of {of}", recipe.title),
        load_pct: percent,
        x: Some(f64::from(percent)),
        metrics: if is_ladder { LADDER.map(String::from).into() } else { metrics.clone() },
        published: Vec::new(),
        ..one.clone()
    };
    cases.extend(recipe.load_pct.iter().map(|percent| step(*percent, "@", "its own capacity")));
    cases.extend(recipe.slowest_pct.iter().map(|percent| PlannedCase {
        slowest_pct: *percent,
        ..step(*percent, "=", "the slowest one’s capacity, the same for all")
    }));
    cases
}

/// Number of hanging requests in a study with these contenders, whichever of them are in the run.
fn hanging(entries: &[Entry]) -> u32 {
    let at_once = |entry: &Entry| entry.workers.max(1).saturating_mul(entry.threads.max(1));
    entries.iter().map(at_once).max().unwrap_or(1).saturating_mul(HANGING)
}

/// Name of a metric in a case by this tool. Under slow clients, hanging or uneven requests the rate is one that the
/// arena chose, so that the served rate is shown as the offered one, which is no merit of the server.
fn shown_as(metric: &str, tool: Tool) -> &str {
    let is_chosen = matches!(tool, Tool::SlowClients | Tool::Stuck | Tool::Uneven);
    if is_chosen && metric == RATE { OFFERED } else { metric }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const STUDY: &str = r#"
        title = "T"
        question = "Q?"
        about = []
        app = "a"
        published = "old"
        contenders = [{ recipe = "x", workers = 1, threads = 1, published = "x2" }]
        full = { rounds = 3, seconds = 10, requests = 500, warm_up_s = 1, clients = 7 }
        quick = { rounds = 1, seconds = 1, warm_up_s = 0, clients = 2 }
        metrics = ["requests_per_s"]
        [[case]]
        name = "users"
        title = "Users"
        tool = "ab"
        path = "/"
        expect = {}
        requests = 2000
        users = [1, 2, 4, 8]
        published = {}
        [[case]]
        name = "steps"
        title = "Steps"
        tool = "ladder"
        path = "/"
        expect = {}
        load_pct = [50, 100]
        slowest_pct = [50]
        in_quick = false
    "#;

    fn plan(study: &str, is_quick: bool, cases: &[&str]) -> Result<Plan, String> {
        let study: Study = toml::from_str(study).unwrap();
        let effort = if is_quick { study.quick.clone() } else { study.full.clone() };
        let cases = cases.iter().map(|word| (*word).to_owned()).collect();
        let asked = RunRequest { study: "t".into(), is_quick, effort, cases, seed: 5, ..RunRequest::default() };
        Plan::of(&study, &asked, &Figures::default())
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.cases().map(|case| case.name.as_str()).collect()
    }

    #[test]
    fn series_become_cases_and_the_quick_form_has_fewer() {
        let full = plan(STUDY, false, &[]).unwrap();
        assert_eq!(
            names(&full),
            ["users@1", "users@2", "users@4", "users@8", "steps", "steps@50", "steps@100", "steps=50"]
        );
        let cases: Vec<&PlannedCase> = full.cases().collect();
        assert_eq!((cases[3].clients, cases[3].x, cases[3].requests), (8, Some(8.0), Some(500)));
        // The capacity is measured over as many connections as its shares may have.
        assert_eq!((cases[4].clients, cases[4].x, cases[4].load_pct), (512, None, 0));
        assert!(cases[4..].iter().all(|case| case.at_once_most() == 512) && cases[5].clients == 7);
        assert_eq!((cases[6].load_pct, cases[6].metrics[0].as_str()), (100, "p99_ms"));
        // A closed loop must not be titled an open one.
        assert_eq!(cases[4].title, "Steps: capacity, by a closed loop");
        assert_eq!(cases[6].title, "Steps, open loop at 100 % of its own capacity");
        assert_eq!((cases[7].slowest_pct, cases[5].slowest_pct), (50, 0));
        let quick = plan(STUDY, true, &[]).unwrap();
        assert_eq!(names(&quick), ["users@1", "users@4", "users@8"]);
        let chosen = plan(STUDY, true, &["step"]).unwrap();
        assert_eq!(names(&chosen), ["steps", "steps@50", "steps@100", "steps=50"]);
        assert!(plan(STUDY, true, &["none"]).is_err_and(|error| error.contains("users")));
    }

    #[test]
    fn as_many_requests_hang_for_all_contenders_as_are_too_many_for_the_largest() {
        let entry = |workers: u32, threads: u32| -> Entry {
            toml::from_str(&format!("recipe = \"x\"\nworkers = {workers}\nthreads = {threads}")).unwrap()
        };
        // Threads, fibres in processes of one thread, and processes of one request.
        assert_eq!(hanging(&[entry(2, 5), entry(2, 1), entry(4, 1)]), 20);
        assert_eq!((hanging(&[entry(1, 1)]), hanging(&[entry(0, 0)]), hanging(&[])), (2, 2, 2));
        let text = STUDY.replace("workers = 1, threads = 1", "workers = 2, threads = 5");
        let plan = plan(&text, false, &[]).unwrap();
        assert!(plan.cases().all(|case| case.hanging == 20));
    }

    #[test]
    fn a_rate_that_the_arena_offers_is_not_shown_as_one_that_a_server_reached() {
        assert_eq!(shown_as(RATE, Tool::Stuck), OFFERED);
        assert_eq!(shown_as(RATE, Tool::SlowClients), OFFERED);
        assert_eq!((shown_as("p99_ms", Tool::Stuck), shown_as(RATE, Tool::Killed)), ("p99_ms", RATE));
    }

    #[test]
    fn the_order_is_another_in_each_round_and_the_same_when_resumed() {
        let plan = plan(STUDY, false, &[]).unwrap();
        let orders: Vec<Vec<usize>> = (1..=8).map(|round| plan.order(round, 0, 6)).collect();
        assert!(orders.windows(2).any(|two| two[0] != two[1]));
        assert!((1..=8).any(|round| plan.order(round, 0, 6) != plan.order(round, 1, 6)), "by family, too");
        assert_eq!(plan.order(3, 0, 6), orders[2]);
        let mut sorted = orders[0].clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        let families: BTreeSet<Vec<usize>> = (1..=8).map(|round| plan.order_of_families(round)).collect();
        assert_eq!(families, BTreeSet::from([vec![0, 1], vec![1, 0]]));
    }

    #[test]
    fn cases_of_a_family_are_drawn_and_a_capacity_stays_before_its_shares() {
        let plan = plan(STUDY, false, &[]).unwrap();
        let names = |family: usize| -> Vec<Vec<&str>> {
            (1..=12).map(|round| plan.order_of_cases(round, family).iter().map(|case| &*case.name).collect()).collect()
        };
        let users = names(0);
        let steps = names(1);
        assert!(users.iter().any(|order| order[0] != "users@1") && users.iter().any(|order| order[3] != "users@8"));
        assert!(users.iter().all(|order| order.iter().collect::<BTreeSet<_>>().len() == 4));
        assert!(steps.iter().all(|order| order[0] == "steps" && order.len() == 4), "{steps:?}");
        let lasts: BTreeSet<&str> = steps.iter().map(|order| order[3]).collect();
        assert_eq!(lasts, BTreeSet::from(["steps@50", "steps@100", "steps=50"]));
        assert_eq!(steps, names(1), "and the same when resumed");
    }

    #[test]
    fn the_time_of_a_turn_is_that_of_the_cases_that_are_left() {
        let (full, quick) = (plan(STUDY, false, &[]).unwrap(), plan(STUDY, true, &[]).unwrap());
        let cases = &full.families[1].cases;
        let mut entry: Entry = toml::from_str("recipe = \"x\"\nworkers = 1\nthreads = 1").unwrap();
        assert_eq!((full.turn_s(&entry, cases[..0].iter()), divided_s(cases[1..].iter())), (0.0, 0.0));
        assert_eq!((full.turn_s(&entry, cases[..2].iter()), divided_s(cases.iter())), (24.5, 6.5));
        entry.warm_up_s = Some(240.0);
        assert_eq!((full.warm_up_s(&entry), full.turn_s(&entry, cases[..2].iter())), (240.0, 264.0));
        assert_eq!(quick.warm_up_s(&entry), 0.0);
    }
}
