//! One turn of a contender with a setting: start, check, warm up, load, measure, check again, stop. An error
//! disqualifies this setting, with its reason; the duel goes on.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::contender::{Server, Wanted};
use crate::environment::Environment;
use crate::measure::{Load, Up, made, open_connections, seed, warm_up};
use crate::record::{Outcome, Sample, date};
use loadgen::metric::{FIRST_ANSWER, P99, RATE, SETTLED};
use loadgen::{K6Load, K6Plan, Settled, Warmth, Watch, Workload};

use super::answer::KnownAnswer;
use super::capture::{self, AnswerTimeout};
use super::cases;
use super::compare::first_line;
use super::contenders::Contender;
use super::options::DuelOptions;
use super::plan::DuelPlan;
use super::settings::Setting;

/// Time limit of the checks before and after the load; under load every answer is checked as well.
const CHECK_LIMIT: Duration = Duration::from_secs(3);
/// Timeout of an answer while a turn's server starts; its first answer may take three times as long.
pub(super) const FIRST_LIMIT: Duration = Duration::from_secs(10);

/// Options, environment and load settings that all turns of a duel have in common.
pub struct LoadStage<'a> {
    /// Options of the duel.
    pub options: &'a DuelOptions,
    /// Where servers and Rubies are found.
    pub environment: &'a Environment,
    /// Clients of a closed loop, the same for all contenders.
    pub clients: u32,
    /// Timeout of a request under load.
    pub timeout: Duration,
    /// Whether a start fails as soon as a request is taken and not answered in time, even if the server may start
    /// longer.
    pub gives_up: bool,
    /// Number of turns so far; it makes the names of logs unique.
    pub turns: Cell<u32>,
}

/// Results of one turn.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Samples, one for each case.
    pub samples: Vec<Sample>,
    /// Command lines that started it.
    pub commands: Vec<String>,
    /// Counted worker processes and threads.
    pub counted: Option<(u32, u32)>,
    /// Differences in its answers, as sentences. They were learned, and may be wrong until the reference was asked.
    pub changed: Vec<String>,
    /// Right answers with which its loads were checked; empty before the first load.
    pub loaded_with: Vec<KnownAnswer>,
    /// Reason why the turn does not count.
    pub disqualified: Option<String>,
    /// Further notes for the report.
    pub notes: Vec<String>,
}

/// Reason why a server did not become ready.
#[derive(Debug)]
pub struct Unready {
    /// Message, with the tail of the server's log.
    pub why: String,
    /// Whether it took a request and did not answer it.
    pub hangs: bool,
}

impl From<String> for Unready {
    fn from(why: String) -> Unready {
        Unready { why, hangs: false }
    }
}

impl LoadStage<'_> {
    /// Starts a contender and waits until it answers. Reports a long wait through `timeout`.
    pub fn start(
        &self,
        one: &Contender,
        setting: Setting,
        label: &str,
        timeout: &mut AnswerTimeout<'_>,
    ) -> Result<Up, Unready> {
        let first = one.learned.first().map(|known| &known.asked).or(self.options.asked.first());
        let asked = first.ok_or_else(|| "nothing is asked: give a path or an access log".to_owned())?;
        let wanted = Wanted {
            recipe: &one.recipe,
            environment: self.environment,
            rackup: &self.options.rackup,
            workers: setting.workers,
            threads: setting.threads,
            env: self.options.env.clone(),
            logs: &self.options.logs,
            label: label.to_owned(),
            memory_limit: None,
            allocator: None,
            idle_s: None,
            stock: false,
        };
        let timeout = RefCell::new(timeout);
        let is_late = Cell::new(false);
        let answers = |port: u16| {
            let answers = capture::answers(port, asked, &mut timeout.borrow_mut());
            answers.map_err(|error| {
                is_late.set(error.is_late);
                error.words
            })
        };
        Up::when_ready(Server::start(wanted)?, &answers, &|| self.gives_up && is_late.get())
            .map_err(|why| Unready { why, hangs: is_late.get() })
    }

    /// Runs a turn of the heat with this number: `load_s` seconds of full load.
    pub fn heat(&self, one: &mut Contender, setting: Setting, plan: &DuelPlan, round: u32, load_s: f64) -> Account {
        let shape = TurnShape {
            case: cases::SETTINGS,
            round,
            warm_s: plan.heat_warm_s(),
            capacity_s: load_s,
            open_s: 0.0,
            loads: &[],
        };
        self.once(one, setting, &shape)
    }

    /// Runs a turn of a round: full load, then shares of it.
    pub fn turn(&self, one: &mut Contender, setting: Setting, plan: &DuelPlan, round: u32) -> Account {
        let warm_s = plan.warm_s;
        let capacity_s = plan.capacity_s;
        let open_s = plan.open_s;
        let loads = &cases::LOADS[..plan.loads.min(cases::LOADS.len())];
        let shape = TurnShape { case: cases::CAPACITY, round, warm_s, capacity_s, open_s, loads };
        self.once(one, setting, &shape)
    }

    fn once(&self, one: &mut Contender, setting: Setting, shape: &TurnShape) -> Account {
        let load = |up: Up, one: &mut Contender, account: &mut Account| self.loaded(up, one, setting, shape, account);
        self.turn_of(one, setting, shape.case, shape.round, &load)
    }

    /// Starts the server, runs `load` with it, and labels the samples. An error disqualifies.
    pub(super) fn turn_of(
        &self,
        one: &mut Contender,
        setting: Setting,
        case: &str,
        round: u32,
        load: &dyn Fn(Up, &mut Contender, &mut Account) -> Result<(), String>,
    ) -> Account {
        let begin = Instant::now();
        let started = date::now();
        let mut account = Account::default();
        self.turns.set(self.turns.get() + 1);
        let label = format!("{}-w{}-t{}-{}", one.name(), setting.workers, setting.threads, self.turns.get());
        let name = one.name_with(setting);
        let result = match self.start(
            one,
            setting,
            &label,
            &mut AnswerTimeout { limit: FIRST_LIMIT, apart: Duration::ZERO, tell: &mut |_| {} },
        ) {
            Ok(up) => load(up, one, &mut account),
            Err(unready) => Err(unready.why),
        };
        if let Err(why) = result {
            account.disqualified = Some(why);
        }
        if account.samples.is_empty() {
            let took_s = begin.elapsed().as_secs_f64();
            account.samples.push(Sample { case: case.to_owned(), started, took_s, ..Sample::default() });
        }
        for sample in &mut account.samples {
            (sample.contender, sample.round) = (name.clone(), round);
            sample.disqualified = account.disqualified.as_deref().map(|why| first_line(why).to_owned());
        }
        account
    }

    fn loaded(
        &self,
        mut up: Up,
        one: &mut Contender,
        setting: Setting,
        shape: &TurnShape,
        account: &mut Account,
    ) -> Result<(), String> {
        let (clients, at_once) = (self.clients, setting.at_once());
        let warm = |port: u16, workload: &Workload| warm_up(port, workload, clients, at_once, shape.warm_s);
        let (workload, settled) = self.begin(&mut up, one, account, warm)?;
        // Warm-up of a heat is too short to settle; heats only choose the finalists.
        let settled = (!shape.loads.is_empty()).then(|| settled.number());
        let full = K6Load::Clients { clients: self.clients, seconds: shape.capacity_s };
        let rate = self.load(&mut up, &workload, TurnStep { shape, percent: 0, load: full }, one, account)?;
        // Of no rate there are no shares.
        let loads: &[u32] = if rate > 0.0 { shape.loads } else { &[] };
        for percent in loads {
            let per_s = rate * f64::from(*percent) / 100.0;
            let load = K6Load::Rate { per_s, seconds: shape.open_s, connections: open_connections(self.clients) };
            self.load(&mut up, &workload, TurnStep { shape, percent: *percent, load }, one, account)?;
        }
        for sample in account.samples.iter_mut().filter(|sample| !sample.numbers.is_empty()) {
            sample.numbers.extend(settled.map(|settled| (SETTLED.to_owned(), settled)));
        }
        self.check(&up.server, one, account)?;
        // It has answered well; a failure to stop is only noted.
        account.notes.extend(up.server.stop().err());
        Ok(())
    }

    /// Checks all answers, warms the server up by `warm`, and counts its workers. Returns the workload of the loads
    /// that follow, and whether the rate has settled.
    pub(super) fn begin(
        &self,
        up: &mut Up,
        one: &mut Contender,
        account: &mut Account,
        warm: impl FnOnce(u16, &Workload) -> Warmth,
    ) -> Result<(Workload, Settled), String> {
        account.commands = up.server.commands();
        self.check(&up.server, one, account)?;
        let workload = capture::workload(&one.learned)?;
        account.loaded_with.clone_from(&one.learned);
        let warmth = warm(up.server.port(), &workload);
        account.notes.extend(warmth.void);
        self.right(warmth.wrong, &mut up.server, one, account)?;
        let counts = up.server.check_counts()?;
        account.counted = Some((counts.workers, counts.threads));
        Ok((workload, warmth.settled))
    }

    /// Runs one load and adds its sample to the account. Returns the rate.
    fn load(
        &self,
        up: &mut Up,
        workload: &Workload,
        step: TurnStep,
        one: &mut Contender,
        account: &mut Account,
    ) -> Result<f64, String> {
        let TurnStep { shape, percent, load } = step;
        let case = if percent == 0 { shape.case.to_owned() } else { cases::load(percent) };
        let seed = seed(self.options.seed, shape.round, percent);
        let run = &mut |up: &mut Up| self.made(up.server.port(), workload, &case, load.clone(), seed);
        let (mut sample, why) = self.checked(up, run, None, one, account);
        // A load that could not be made has no numbers.
        if percent > 0 && !sample.numbers.is_empty() {
            sample.numbers.insert("load_pct".to_owned(), f64::from(percent));
        }
        let rate = sample.number(RATE);
        if percent == 0 && rate <= 0.0 && why.is_none() {
            account.notes.extend(sample.remarks.last().map(|why| format!("its capacity was not measured: {why}")));
        }
        account.samples.push(Sample { case, ..sample });
        why.map_or(Ok(rate), Err)
    }

    /// Runs a load with the checks before and after it. Returns the sample, and the reason if it disqualifies.
    pub(super) fn checked(
        &self,
        up: &mut Up,
        run: &mut dyn FnMut(&mut Up) -> Result<Outcome, String>,
        too_much: Option<&dyn Fn(&Sample) -> bool>,
        one: &mut Contender,
        account: &mut Account,
    ) -> (Sample, Option<String>) {
        // All answers are checked at the beginning and at the end of the turn, so a short check suffices here.
        let check = &mut |server: &Server| self.check_for(Duration::ZERO, server, one, account);
        let mut sample = Load { check, run, checked: None, too_much }.on(up);
        let why = sample.disqualified.take().map(|why| match up.server.has_ended() {
            true => why,
            // An answer that the application itself has changed by now is learned.
            false => self.check(&up.server, one, account).err().unwrap_or(why),
        });
        (sample, why)
    }

    /// Generates the load, by the arena's own loops or by k6.
    pub(super) fn made(
        &self,
        port: u16,
        workload: &Workload,
        case: &str,
        load: K6Load,
        seed: u64,
    ) -> Result<Outcome, String> {
        let case = format!("{case}-{}", self.turns.get());
        let plan = K6Plan { case, load, keep: true, timeout: self.timeout, seed };
        made(self.options.k6.as_ref(), port, workload, &plan, &self.watch())
    }

    /// How answers under load are checked.
    pub(super) fn watch(&self) -> Watch {
        Watch { timeout: self.timeout, ..Watch::by_seconds() }
    }

    /// Repeats all requests and checks the answers; differences are learned and noted.
    pub(super) fn check(&self, server: &Server, one: &mut Contender, account: &mut Account) -> Result<(), String> {
        self.check_for(CHECK_LIMIT, server, one, account)
    }

    /// Checks the answers until `limit` is over, at least the most frequent one.
    fn check_for(
        &self,
        limit: Duration,
        server: &Server,
        one: &mut Contender,
        account: &mut Account,
    ) -> Result<(), String> {
        let checked = capture::check(server.port(), &mut one.learned, limit);
        account.changed.extend(checked.changed);
        checked.wrong.map_or(Ok(()), |why| Err(format!("{why}\n{}", server.log_tail())))
    }

    /// Returns an error if an answer was wrong under load or the server has exited. An answer that the application
    /// itself has changed by now is learned first, so that the turn can be repeated.
    fn right(
        &self,
        wrong: Option<String>,
        server: &mut Server,
        one: &mut Contender,
        account: &mut Account,
    ) -> Result<(), String> {
        if server.has_ended() {
            return Err(server.why_it_ended());
        }
        let Some(wrong) = wrong else { return Ok(()) };
        self.check(server, one, account)?;
        Err(wrong)
    }
}

/// Case, round and loads of a turn.
struct TurnShape<'a> {
    case: &'a str,
    round: u32,
    warm_s: f64,
    capacity_s: f64,
    open_s: f64,
    /// Shares of the capacity, in percent.
    loads: &'a [u32],
}

/// One load of a turn: full load, or a share of the capacity.
struct TurnStep<'a> {
    shape: &'a TurnShape<'a>,
    /// Share of the capacity, in percent; 0 for full load.
    percent: u32,
    load: K6Load,
}

impl Account {
    /// Rate and p99 at full load, unless the turn is disqualified.
    pub fn full(&self) -> Option<(f64, f64)> {
        let numbers = &self.samples.first().filter(|_| self.disqualified.is_none())?.numbers;
        Some((*numbers.get(RATE)?, numbers.get(P99).copied().unwrap_or(f64::INFINITY)))
    }

    /// Seconds from the server's start to its first answer; 0 where it gave none.
    pub fn start_s(&self) -> f64 {
        self.samples.iter().map(|sample| sample.number(FIRST_ANSWER) / 1000.0).fold(0.0, f64::max)
    }
}
