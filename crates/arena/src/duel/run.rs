//! A whole duel: finds the contenders, learns the right answers, probes how the application spends its time, tries
//! settings in heats, runs the rounds in random order, and gives advice.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use procfs::{Current, Meminfo};

use crate::contender::Catalogue;
use crate::environment::Environment;
use crate::measure::{Up, observed};
use crate::record::machine::{self, cores};
use crate::record::summary::{Summary, Who};
use crate::record::{Sample, date};
use crate::report::grammar;
use crate::stats::SeededRng;
use loadgen::metric::{P99, rate_in_words};
use loadgen::process::delay_us;
use loadgen::{Closed, Until, closed, warm_up};

use super::answer::KnownAnswer;
use super::capture::{self, AnswerTimeout, Capture, CaptureError};
use super::caveats;
use super::compare::first_line;
use super::contenders::{Contender, Contenders, remaining};
use super::options::{DuelOptions, Listener, TimeLeft, Today};
use super::plan::{AtRate, CAPTURE_S, Clock, DuelPlan, PROBE_S};
use super::settings::{Machine, ONE, Probe, Setting, worth_trying};
use super::strain::{self, Limits};
use super::turn::LoadStage;

/// Paths that are listed with what is checked of their answers; the rest is only counted.
const PATHS_LISTED: usize = 20;
/// Captures of the right answers at most, where the first contender's answers change under the probe.
const CAPTURES_MOST: u32 = 2;
/// Bounds of the number of clients: enough to keep any setting busy, and too few to overflow a server's listen backlog.
const CLIENTS: std::ops::RangeInclusive<u32> = 16..=256;

/// State of a running duel.
pub(super) struct Duel<'a> {
    pub(super) options: &'a DuelOptions,
    pub(super) environment: &'a Environment,
    pub(super) listener: &'a mut dyn Listener,
    pub(super) plan: DuelPlan,
    pub(super) clock: Clock,
    pub(super) begin: Instant,
    pub(super) rng: SeededRng,
    pub(super) samples: Vec<Sample>,
    /// Contenders with their settings, in the order in which they first ran; before them those that do not take part.
    pub(super) whos: Vec<Who>,
    pub(super) notes: Vec<String>,
    /// Right answers, as the reference server gave them.
    pub(super) known: Vec<KnownAnswer>,
    /// Caveats of the advice: what remains uncertain.
    pub(super) caveats: Vec<String>,
    pub(super) turns: (usize, usize),
    /// Name of the contender that has a second turn in each round.
    pub(super) twin_of: Option<String>,
    /// The server that runs the application today.
    pub(super) now: Option<Today>,
    /// Bounds above which a load at the user's rate counts as too much.
    pub(super) limits: Limits,
}

/// Reason why a contender cannot be the reference.
enum ReferenceError {
    /// This contender does not serve the application; the next one may be the reference.
    Contender(String),
    /// The application or the workload cannot be used with any contender, which ends the duel.
    Duel(String),
}

impl From<String> for ReferenceError {
    fn from(why: String) -> ReferenceError {
        ReferenceError::Duel(why)
    }
}

/// Reason why the probe of the reference has no result.
enum ProbeError {
    /// An answer was wrong; other right answers may have to be captured.
    WrongAnswer(String),
    /// The server exited or gave too few right answers, so it shows nothing; another one may.
    NoAnswers(String),
    /// The load could not be run, or is void.
    Load(String),
}

impl From<String> for ProbeError {
    fn from(why: String) -> ProbeError {
        ProbeError::Load(why)
    }
}

/// A duel whose options, environment and contenders have been checked and that can be run.
pub struct ReadyDuel {
    environment: Environment,
    contenders: Contenders,
    plan: DuelPlan,
    /// When its checks began, which are part of its time.
    begin: Instant,
}

/// Runs a whole duel. An error explains why there was none.
pub fn run(options: &DuelOptions, listener: &mut dyn Listener) -> Result<Summary, String> {
    ReadyDuel::make(options)?.run(options, listener)
}

impl ReadyDuel {
    /// Checks everything that can be checked before the application is started.
    pub fn make(options: &DuelOptions) -> Result<ReadyDuel, String> {
        if options.asked.is_empty() {
            return Err("nothing is asked: give paths, a file of them, or an access log".to_owned());
        }
        let begin = Instant::now();
        let catalogue = Catalogue::read(&options.recipes).map_err(|errors| errors.join("\n"))?;
        let environment = Environment::open(&options.environment)?;
        let contenders = Contenders::gather(options, &catalogue, &environment)?;
        let smaller = strain::smaller(cores()).len();
        let traffic = options.rate.as_ref().map(|rate| AtRate { per_s: rate.per_s, smaller });
        let wished = DuelPlan { traffic, ..options.plan };
        let plan = match options.budget_minutes {
            Some(minutes) => wished.within(&contenders.remaining(), minutes * 60.0).map_err(|enough_s| {
                let count = contenders.here.len();
                let enough = (enough_s / 60.0).ceil();
                let fewer = if count > 1 { ", or name fewer" } else { "" };
                let count = grammar::count(count, "contender", "contenders");
                format!("a budget of {minutes:.1} minutes is too short for {count}: give {enough:.0}{fewer}")
            })?,
            None => wished,
        };
        Ok(ReadyDuel { environment, contenders, plan, begin })
    }

    /// Runs all phases of the duel and returns its summary.
    pub fn run(self, options: &DuelOptions, listener: &mut dyn Listener) -> Result<Summary, String> {
        let started = date::now();
        let mut duel = Duel::new(options, &self, listener);
        let (mut here, probe) = duel.capture_answers(self.contenders.here.clone())?;
        let stage = duel.choose_settings(&mut here, &probe);
        let finalists = duel.heats(&stage, &mut here)?;
        duel.rounds(&stage, &mut here, &finalists)?;
        Ok(duel.summary(started, &stage))
    }
}

impl<'a> Duel<'a> {
    fn new(options: &'a DuelOptions, ready: &'a ReadyDuel, listener: &'a mut dyn Listener) -> Duel<'a> {
        let ReadyDuel { environment, contenders, plan, begin } = ready;
        let remaining = contenders.remaining();
        for words in &options.workload {
            listener.says(words);
        }
        for who in &contenders.missing {
            listener.says(&format!("{} takes no part: {}", who.name, who.missing.join("; ")));
        }
        let budget_s = options.budget_minutes.map(|minutes| minutes * 60.0);
        let clock = Clock::new(plan.seconds(&remaining), budget_s);
        let in_rounds = plan.turns_in_round(remaining.finalists) * plan.rounds as usize;
        let turns = (0, remaining.contenders * (2 + plan.settings) + in_rounds);
        Duel {
            options,
            environment,
            listener,
            plan: *plan,
            clock,
            begin: *begin,
            rng: SeededRng::from_seed(options.seed),
            samples: Vec::new(),
            whos: contenders.missing.clone(),
            notes: options.workload.clone(),
            known: Vec::new(),
            caveats: machine::company().into_iter().collect(),
            turns,
            twin_of: None,
            now: contenders.now.clone(),
            limits: Limits::new(options.p99_max_ms, cores()),
        }
    }

    pub(super) fn says(&mut self, words: String) {
        self.listener.says(&words);
        self.notes.push(words);
    }

    /// Shows a warning to the user, and adds its first line, without the tail of a log, to the notes.
    pub(super) fn warns(&mut self, words: &str) {
        self.listener.says(words);
        self.notes.push(first_line(words).to_owned());
    }

    pub(super) fn begins(&mut self, what: String) -> Instant {
        let (done, of) = self.turns;
        self.listener.left(&TimeLeft { what, done, of: of.max(done), seconds: self.clock.left_s() });
        Instant::now()
    }

    pub(super) fn ends(&mut self, since: Instant, planned_s: f64) {
        self.clock.done(planned_s, since.elapsed().as_secs_f64());
        self.turns.0 += 1;
    }

    /// Whether this many planned seconds still fit into the user's budget of time.
    pub(super) fn has_time_for(&self, seconds: f64) -> bool {
        self.budget_left_s().is_none_or(|left_s| seconds <= left_s)
    }

    /// Seconds that are left of the user's budget of time, if there is one; negative when it is exceeded.
    pub(super) fn budget_left_s(&self) -> Option<f64> {
        Some(self.options.budget_minutes? * 60.0 - self.begin.elapsed().as_secs_f64())
    }

    /// Shortens the plan as far as the budget of time requires, now that it is known how long servers take to start. An
    /// error says that even the shortest plan has too little time.
    fn keep_budget(&mut self, here: &[Contender], unlearned: &[Contender]) -> Result<(), String> {
        let remaining = remaining(here, unlearned, self.now.is_some());
        if let Some((left_s, minutes)) = self.budget_left_s().zip(self.options.budget_minutes) {
            let start_s = remaining.start_s;
            let plan = self.plan.within(&remaining, left_s).map_err(|enough_s| {
                let used_s = minutes * 60.0 - left_s;
                let enough = ((used_s + enough_s) / 60.0).ceil();
                let fewer = if here.len() + unlearned.len() > 1 { ", or name fewer contenders" } else { "" };
                format!(
                    "a budget of {minutes:.1} minutes is too short: {used_s:.0} s of it are used up, and a server with \
                     this app takes {start_s:.1} s to start for each measurement: give {enough:.0}{fewer}"
                )
            })?;
            if plan != self.plan {
                self.says(format!(
                    "to keep the budget of time, less is measured than was planned: a server with this app takes \
                     {start_s:.1} s to start"
                ));
            }
            self.plan = plan;
        }
        self.clock.replan(self.plan.seconds(&remaining));
        Ok(())
    }

    /// Learns the right answers from the first contender that answers, and compares those of all others with them.
    /// Returns the contenders that serve the application, and the probe of the first one.
    fn capture_answers(&mut self, contenders: Vec<Contender>) -> Result<(Vec<Contender>, Probe), String> {
        let mut here: Vec<Contender> = Vec::new();
        let mut probe = None;
        let mut contenders = VecDeque::from(contenders);
        while let Some(mut one) = contenders.pop_front() {
            let since = self.begins(format!("learning the answers of {}", one.name()));
            let planned_s =
                if probe.is_none() { CAPTURE_S + PROBE_S + 2.0 * one.start_s } else { CAPTURE_S + one.start_s };
            let outcome = if probe.is_none() {
                match self.capture_reference(&mut one, CAPTURES_MOST, &[]) {
                    Ok(found) => {
                        probe = Some(found);
                        Ok(())
                    }
                    Err(ReferenceError::Contender(why)) => Err(why),
                    Err(ReferenceError::Duel(why)) => return Err(why),
                }
            } else {
                one.learned.clone_from(&self.known);
                self.compare(&mut one)
            };
            match outcome {
                Ok(()) => here.push(one),
                Err(why) => self.drop_out(&one, &why),
            }
            self.ends(since, planned_s);
            self.keep_budget(&here, contenders.make_contiguous())?;
        }
        let probe = probe.ok_or("no contender answered: what each of them said stands above")?;
        Ok((here, probe))
    }

    fn drop_out(&mut self, one: &Contender, why: &str) {
        self.warns(&format!("{} takes no part: {why}", one.name()));
        let why = first_line(why);
        let who = one.who(ONE);
        let missing = vec![format!("it cannot serve this app: {why}")];
        self.whos.push(Who { name: one.name().to_owned(), title: one.recipe.title.clone(), missing, ..who });
    }

    /// Captures the right answers from this contender and probes it. If an answer changes under the probe, both are
    /// repeated, up to `captures` times in all. `earlier` is what the previous capture learned: parts of it that differ
    /// now are known to vary, such as a time of day that stood still during each of the captures.
    fn capture_reference(
        &mut self,
        one: &mut Contender,
        captures: u32,
        earlier: &[KnownAnswer],
    ) -> Result<Probe, ReferenceError> {
        let stage = LoadStage { gives_up: true, ..self.stage(1, Duration::from_secs(30)) };
        let name = one.name().to_owned();
        let tell = &mut |words: &str| self.listener.says(&format!("{name}: {words}"));
        let timeout = &mut AnswerTimeout::of(&self.plan, tell);
        let mut running = match stage.start(one, ONE, &format!("{name}-learn"), timeout) {
            Ok(running) => running,
            Err(unready) if unready.hangs => return Err(hangs(one, &unready.why).into()),
            Err(unready) => return Err(ReferenceError::Contender(unready.why)),
        };
        one.start_s = running.first_answer_ms / 1000.0;
        let port = running.server.port();
        let capture = capture::from_reference(port, &self.options.asked, self.options.is_recorded, timeout);
        let mut capture = match capture {
            Ok(capture) => capture,
            Err(CaptureError::Hangs(why)) => {
                running.server.hurry();
                return Err(hangs(one, &format!("{why}\n{}", running.server.log_tail())).into());
            }
            Err(CaptureError::Silent(why)) => {
                return Err(ReferenceError::Contender(format!("{why}\n{}", running.server.log_tail())));
            }
            Err(CaptureError::Unfit(why)) => {
                let tail = running.server.log_tail();
                return Err(format!("the app does not answer as it should on {}:\n{why}\n{tail}", one.name()).into());
            }
        };
        drop(running);
        // After a restart, process ids and secrets differ: what changes in the answers with them is marked as varying,
        // too.
        let again = stage.start(one, ONE, &format!("{name}-probe"), timeout);
        let mut running = again.map_err(|unready| format!("{name} started once and not again: {}", unready.why))?;
        capture::from_other(running.server.port(), &mut capture.learned, timeout)
            .map_err(|why| format!("started again, {} answers otherwise: {why}", one.name()))?;
        let mut both = earlier.to_vec();
        let is_of_same = both.iter().map(|known| &known.asked).eq(capture.learned.iter().map(|known| &known.asked));
        if is_of_same && capture::from_other(running.server.port(), &mut both, timeout).is_ok() {
            capture.learned = both;
        }
        self.tell(one, &capture);
        one.learned.clone_from(&capture.learned);
        self.known.clone_from(&capture.learned);
        let probe = match self.probe(&mut running, one) {
            Ok(probe) => probe,
            Err(ProbeError::WrongAnswer(wrong)) if captures > 1 => {
                self.says(format!(
                    "{} answers otherwise than before, and is asked anew what is right: {wrong}",
                    one.name()
                ));
                drop(running);
                return self.capture_reference(one, captures - 1, &capture.learned);
            }
            Err(ProbeError::WrongAnswer(wrong)) => {
                let tail = running.server.log_tail();
                return Err(ReferenceError::Contender(format!("it answers otherwise than before: {wrong}\n{tail}")));
            }
            Err(ProbeError::NoAnswers(why)) => return Err(ReferenceError::Contender(why)),
            Err(ProbeError::Load(why)) => return Err(ReferenceError::Duel(why)),
        };
        self.caveats.extend(caveats::of_workload(&capture));
        one.worker_kib = probe.worker_kib;
        self.says(probe.in_words());
        Ok(probe)
    }

    /// Reports what is checked of the answers, and which requests were left out.
    fn tell(&mut self, one: &Contender, capture: &Capture) {
        self.says(format!("the right answers are those of {}:", one.name()));
        let (named, rest) = capture.learned.split_at(capture.learned.len().min(PATHS_LISTED));
        for known in named {
            self.says(format!("  {}", known.in_words()));
        }
        if !rest.is_empty() {
            let exact = rest.iter().filter(|known| known.body.is_exact()).count();
            let varying = rest.len() - exact;
            self.says(format!("  and {} more: {exact} byte for byte, {varying} with places that vary", rest.len()));
        }
        if let Some(words) = caveats::of_pages_that_are_none(&capture.learned) {
            self.says(words);
        }
        let left: Vec<String> = capture.left_out.iter().map(|(_, why)| why.clone()).collect();
        if !left.is_empty() {
            self.says(format!("left out ({}): {}", left.len(), capture::shortened(left).join("; ")));
        }
    }

    /// Measures the processor time, latency and memory of a request on one worker with one thread.
    fn probe(&mut self, running: &mut Up, one: &Contender) -> Result<Probe, ProbeError> {
        let workload = capture::workload(&one.learned)?;
        let seconds = self.plan.capacity_s.min(4.0);
        let warmth = warm_up(running.server.port(), &workload, 1, seconds);
        // A new connection each: some servers put a kept one aside for a while, which is no waiting of the
        // application's.
        let plan = Closed { clients: 1, until: Until::Seconds(seconds), keep: false, seed: self.options.seed };
        let own = std::process::id();
        let delayed = |up: &Up| up.server.usage().delay_us + delay_us(own);
        let before = delayed(running);
        let mut outcome = observed(running, |up| Ok(closed(up.server.port(), &workload, &plan)))?;
        let delay = delayed(running).saturating_sub(before) as f64;
        if let Some(why) = warmth.void.or(outcome.void.take()) {
            return Err(ProbeError::Load(why));
        }
        if let Some(wrong) = warmth.wrong.or(outcome.wrong.take()) {
            return Err(ProbeError::WrongAnswer(wrong));
        }
        if running.server.has_ended() {
            return Err(ProbeError::NoAnswers(running.server.why_it_ended()));
        }
        let probe = Probe::of(&outcome, delay, memory_of(running))
            .map_err(|why| ProbeError::NoAnswers(format!("{why}\n{}", running.server.log_tail())))?;
        if let Some(rate) = &self.options.rate {
            self.limits.raise_for(outcome.numbers.get(P99).copied().unwrap_or(0.0), self.options.p99_max_ms);
            let bound = self.limits.in_words(self.options.p99_max_ms.is_some());
            self.says(format!("at your {} requests/s, something is broken when {bound}", rate_in_words(rate.per_s)));
        }
        Ok(probe)
    }

    /// Learns how this server's answers differ from the reference's; a wrong answer is an error.
    fn compare(&mut self, one: &mut Contender) -> Result<(), String> {
        let stage = self.stage(1, Duration::from_secs(30));
        let name = one.name().to_owned();
        let tell = &mut |words: &str| self.listener.says(&format!("{name}: {words}"));
        let timeout = &mut AnswerTimeout::of(&self.plan, tell);
        let started = stage.start(one, ONE, &format!("{name}-learn"), timeout);
        let mut running = started.map_err(|unready| unready.why)?;
        one.start_s = running.first_answer_ms / 1000.0;
        let differences = capture::from_other(running.server.port(), &mut one.learned, timeout).map_err(|why| {
            running.server.hurry();
            format!("{why}\n{}", running.server.log_tail())
        })?;
        one.worker_kib = memory_of(&running);
        if !differences.is_empty() {
            let words = format!(
                "{} answers otherwise, which does not count against it: {}",
                one.name(),
                differences.join("; ")
            );
            one.notes.push(words.clone());
            self.says(words);
        }
        Ok(())
    }

    fn stage(&self, clients: u32, timeout: Duration) -> LoadStage<'a> {
        LoadStage {
            options: self.options,
            environment: self.environment,
            clients,
            timeout,
            gives_up: false,
            turns: Cell::new(0),
        }
    }

    /// Chooses the settings that each contender is tried with, the number of clients and the timeout of a request.
    fn choose_settings(&mut self, here: &mut [Contender], probe: &Probe) -> LoadStage<'a> {
        let machine = Machine { cores: cores(), free_kib: free_kib() };
        for one in here.iter_mut() {
            let own = Probe { worker_kib: one.worker_kib, ..*probe };
            let now = self.setting_now(one);
            let grid = worth_trying(machine, &own, one.ability(), now, self.plan.settings);
            one.settings = grid.settings;
            let tried: Vec<String> = one.settings.iter().map(|setting| setting.in_words()).collect();
            self.says(format!("{} is tried with {}", one.name(), tried.join(", ")));
            grid.notes.into_iter().for_each(|note| self.says(format!("{}: {note}", one.name())));
            if let Some(now) = now.filter(|now| !one.settings.contains(now)) {
                self.gives_up_setting_of_now(one, now);
            }
        }
        self.lengthen_for(probe.latency_us / 1e6, here);
        let at_once = here.iter().flat_map(|one| &one.settings).map(|setting| setting.at_once()).max().unwrap_or(1);
        let clients = at_once.saturating_mul(2).clamp(*CLIENTS.start(), *CLIENTS.end());
        // Twice the time that it takes when all clients arrive together and one processor serves them.
        let limit = Duration::from_secs_f64((probe.latency_us / 1e6 * f64::from(clients) * 2.0).clamp(5.0, 60.0));
        self.stage(clients, limit)
    }

    /// The setting of today's server, if it is this contender and its setting is known.
    pub(super) fn setting_now(&self, one: &Contender) -> Option<Setting> {
        self.now.as_ref().filter(|now| now.server == one.name()).and_then(|now| now.setting)
    }

    /// Continues without today's setting of the server, which needs more memory than there is: the best of the settings
    /// that are tried replaces it.
    fn gives_up_setting_of_now(&mut self, one: &Contender, setting: Setting) {
        let words = format!(
            "{} was not measured, because there is too little memory for its workers: the best settings of {} that \
             were tried stand for it",
            one.name_with(setting),
            one.name()
        );
        self.now = Some(Today { server: one.name().to_owned(), setting: None });
        self.caveats.push(words.clone());
        self.says(words);
    }

    /// Makes the loads at full speed longer where an answer takes seconds, as far as the budget of time has room.
    fn lengthen_for(&mut self, answer_s: f64, here: &[Contender]) {
        let longer = self.plan.for_answers_of(answer_s);
        if longer == self.plan {
            return;
        }
        let all_s = longer.seconds(&remaining(here, &[], self.now.is_some()));
        if !self.has_time_for(all_s) {
            let words = "the budget of time leaves no room for loads in which such pages are answered several times";
            self.caveats.push(format!("an answer takes {answer_s:.1} s, and {words}"));
            return;
        }
        let load_s = longer.capacity_s;
        self.says(format!("an answer takes {answer_s:.1} s, so a load at full speed takes {load_s} s"));
        self.plan = longer;
        self.clock.replan(all_s);
    }
}

/// Memory of a server's processes in KiB; `None` where it could not be read, such as that of another user's processes.
fn memory_of(running: &Up) -> Option<u64> {
    Some(running.server.usage().pss_kib).filter(|kib| *kib > 0)
}

fn hangs(one: &Contender, why: &str) -> String {
    format!("the app hangs: started on {}, it takes a request and does not answer it: {why}", one.name())
}

/// Memory in KiB that is available without swapping. `u64::MAX`, hence no bound, where it is unknown.
fn free_kib() -> u64 {
    Meminfo::current().ok().and_then(|memory| memory.mem_available).map_or(u64::MAX, |bytes| bytes / 1024)
}
