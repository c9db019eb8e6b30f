//! A turn at the user's rate: a server that was never under full load, so that its memory is that of this rate; then
//! bound to fewer processors; then at twice the rate, and further until something breaks. That it breaks there is a
//! result; only a wrong answer disqualifies.

use std::time::Instant;

use procfs::{CurrentSI, KernelStats};
use rustix::time::{ClockId, clock_gettime};

use crate::measure::{Up, observed, of_outcome, seed};
use crate::record::date::now;
use crate::record::{Outcome, Sample};
use loadgen::metric::{CPU, FAILED, PROCESSORS};
use loadgen::{Open, Watch, Workload, watch_open};

use super::cases;
use super::crew::Contender;
use super::lesson;
use super::plan::Plan;
use super::settings::Setting;
use super::smaller::bound;
use super::strain::{BOUND_TO, ENDED, GENERATOR, IDLE, Limits, SECONDS};
use super::turn::{Account, CONNECTIONS, Stage};

/// What is asked in it.
pub struct Shape {
    /// Which round.
    pub round: u32,
    /// Multiples of the rate, rising.
    pub times: Vec<u32>,
    /// Numbers of processors, falling.
    pub smaller: Vec<u32>,
    /// The rate.
    pub per_s: f64,
    /// When it is broken.
    pub limits: Limits,
}

/// One load of it.
struct Step {
    case: String,
    per_s: f64,
    seconds: f64,
    seed: u64,
}

impl Stage<'_> {
    /// The whole turn.
    pub fn traffic(&self, one: &mut Contender, setting: Setting, plan: &Plan, shape: &Shape) -> Account {
        let load = |up: Up, one: &mut Contender, account: &mut Account| {
            self.at_the_rate(up, (one, setting), (plan, shape), account)
        };
        self.turn_of(one, setting, (&cases::traffic(1), shape.round), &load)
    }

    fn at_the_rate(
        &self,
        mut up: Up,
        (one, setting): (&mut Contender, Setting),
        (plan, shape): (&Plan, &Shape),
        account: &mut Account,
    ) -> Result<(), String> {
        account.commands = up.server.commands();
        self.check(&up.server, one, account)?;
        let workload = lesson::workload(&one.learned)?;
        let step = |case: String, times: u32, seconds: f64| Step {
            case,
            per_s: shape.per_s * f64::from(times),
            seconds,
            // The same requests for all contenders at the same times.
            seed: seed(self.options.seed, shape.round, 100_u32.saturating_mul(times)),
        };
        let warm = step(String::new(), 1, plan.heat_warm_s());
        let wrong = self.asked_at(&mut up, &workload, &warm)?.wrong;
        self.right(wrong, &mut up.server, one, account)?;
        let counts = up.server.check_counts()?;
        account.counted = Some((counts.workers, counts.threads));
        let mut load = |up: &mut Up, step: &Step, bound: Option<u32>| {
            let (since, started) = (Instant::now(), now());
            let mut outcome = self.asked_at(up, &workload, step)?;
            outcome.numbers.extend(bound.map(|bound| (BOUND_TO.to_owned(), f64::from(bound))));
            let has_ended = up.server.has_ended();
            if has_ended {
                outcome.numbers.insert(ENDED.to_owned(), 1.0);
            }
            let wrong = outcome.wrong.take().filter(|_| !has_ended);
            let (case, took_s) = (step.case.clone(), since.elapsed().as_secs_f64());
            let sample = Sample { case, started, took_s, ..of_outcome(outcome) };
            let is_broken = shape.limits.broken(&sample, setting.workers).is_some();
            account.samples.push(sample);
            // What it answers otherwise is looked at; that it ended is not asked about.
            wrong.map_or(Ok(()), |wrong| self.right(Some(wrong), &mut up.server, one, account))?;
            Ok::<bool, String>(is_broken)
        };
        for times in &shape.times {
            let seconds = if *times > 2 { plan.beyond_s() } else { plan.open_s };
            let is_broken = load(&mut up, &step(cases::traffic(*times), *times, seconds), None)?;
            if is_broken {
                break;
            }
            // Before it is asked for more than the rate, which it may not get over.
            let smaller = shape.smaller.iter().filter(|_| *times == 1);
            for size in smaller {
                let step = step(cases::smaller(*size), 1, plan.open_s);
                if bound(&mut up, *size, |up| load(up, &step, Some(*size)))?? {
                    break;
                }
            }
        }
        account.notes.extend(up.server.stop().err());
        Ok(())
    }

    /// An open loop at a rate, with what it took of the server and of the machine.
    fn asked_at(&self, up: &mut Up, workload: &Workload, step: &Step) -> Result<Outcome, String> {
        let (per_s, seconds, seed) = (step.per_s, step.seconds, step.seed);
        let steps = Open { per_s, seconds, connections: CONNECTIONS, keep: true, seed }.steps();
        let watch = Watch { timeout: self.timeout, ..Watch::by_seconds() };
        let (before, own_before) = (idle(), own_s());
        let mut outcome = observed(up, |up| Ok(watch_open(up.server.port(), workload, &steps, &watch).with_course()))?;
        let share = before.zip(idle()).map(|(before, after)| {
            let all = after.1.saturating_sub(before.1).max(1);
            after.0.saturating_sub(before.0) as f64 / all as f64
        });
        let numbers = &mut outcome.numbers;
        numbers.extend(share.map(|share| (IDLE.to_owned(), share * 100.0)));
        let number = |name: &str| numbers.get(name).copied().unwrap_or(0.0);
        // The time in which it worked off what had queued is one of work, too.
        let span_s = number("elapsed_s").max(step.seconds);
        let used = number(CPU) * (number("requests") + number(FAILED)) / 1e6 / span_s;
        numbers.insert(PROCESSORS.to_owned(), used);
        numbers.insert(GENERATOR.to_owned(), (own_s() - own_before) / span_s);
        numbers.insert(SECONDS.to_owned(), step.seconds);
        Ok(outcome)
    }
}

/// Processor time of the load generator, which is this program.
fn own_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Ticks in which the machine's processors had nothing to do, and all ticks.
fn idle() -> Option<(u64, u64)> {
    let ticks = KernelStats::current().ok()?.total;
    // Who waits for a disk could have had the processor.
    let free = ticks.idle + ticks.iowait.unwrap_or(0);
    let busy = ticks.user + ticks.nice + ticks.system;
    Some((free, free + busy + [ticks.irq, ticks.softirq, ticks.steal].iter().flatten().sum::<u64>()))
}
