//! A turn at the user's rate: the server was never under full load, so its memory is that of this rate. It is loaded at
//! the rate, then bound to fewer processors, then at twice the rate and further until something breaks, or the load
//! generator cannot keep the rate. A break is a result; only a wrong answer disqualifies, under load or between two
//! loads.

use procfs::process::Process;
use rustix::time::{ClockId, clock_gettime};

use crate::measure::{Up, open_connections, seed, warm_up_at};
use crate::record::{Outcome, Sample};
use loadgen::metric::{CPU, ELAPSED, FAILED, GENERATOR, PROCESSORS, REQUESTS};
use loadgen::process::machine_ticks;
use loadgen::{DROPPED, K6Load, Open, Workload};

use super::cases;
use super::contenders::Contender;
use super::plan::DuelPlan;
use super::settings::Setting;
use super::smaller::bound;
use super::strain::{BOUND_TO, ENDED, IDLE, Limits, SECONDS};
use super::turn::{Account, LoadStage};

/// Loads of a turn at the user's rate.
pub struct TrafficShape {
    /// Number of the round.
    pub round: u32,
    /// Multiples of the rate, rising.
    pub times: Vec<u32>,
    /// Numbers of processors to bind the server to, falling.
    pub smaller: Vec<u32>,
    /// The rate in requests per second.
    pub per_s: f64,
    /// Bounds above which a load is too much.
    pub limits: Limits,
}

/// One load of a turn.
struct TrafficStep {
    case: String,
    per_s: f64,
    seconds: f64,
    seed: u64,
}

impl LoadStage<'_> {
    /// Runs the whole turn.
    pub fn traffic(&self, one: &mut Contender, setting: Setting, plan: &DuelPlan, shape: &TrafficShape) -> Account {
        let load = |up: Up, one: &mut Contender, account: &mut Account| self.at_the_rate(up, one, plan, shape, account);
        self.turn_of(one, setting, &cases::traffic(1), shape.round, &load)
    }

    fn at_the_rate(
        &self,
        mut up: Up,
        one: &mut Contender,
        plan: &DuelPlan,
        shape: &TrafficShape,
        account: &mut Account,
    ) -> Result<(), String> {
        let step = |case: String, times: u32, seconds: f64| TrafficStep {
            case,
            per_s: shape.per_s * f64::from(times),
            seconds,
            // The same requests at the same times for all contenders.
            seed: seed(self.options.seed, shape.round, 100_u32.saturating_mul(times)),
        };
        let open = step(String::new(), 1, plan.heat_warm_s()).open(self.clients);
        let warm = |port: u16, workload: &Workload| warm_up_at(port, workload, &open, &self.watch());
        let (workload, _) = self.begin(&mut up, one, account, warm)?;
        let mut load = |up: &mut Up, step: &TrafficStep, bound: Option<u32>| {
            let run = &mut |up: &mut Up| -> Result<Outcome, String> {
                let mut outcome = self.load_at_rate(up, &workload, step)?;
                outcome.numbers.extend(bound.map(|bound| (BOUND_TO.to_owned(), f64::from(bound))));
                Ok(outcome)
            };
            let too_much = |sample: &Sample| shape.limits.is_broken(sample);
            let (mut sample, why) = self.checked(up, run, Some(&too_much), one, account);
            // A load that could not be made shows nothing.
            if !sample.numbers.is_empty() {
                let used = processors_used(&sample);
                sample.numbers.insert(PROCESSORS.to_owned(), used);
            }
            // A rate that the load generator could not keep leads no further either.
            let is_last = shape.limits.is_broken(&sample) || shape.limits.is_unknown(&sample);
            account.samples.push(Sample { case: step.case.clone(), ..sample });
            why.map_or(Ok::<bool, String>(is_last), Err)
        };
        for times in &shape.times {
            let is_last = load(&mut up, &step(cases::traffic(*times), *times, plan.at_rate_s(*times)), None)?;
            if is_last {
                break;
            }
            // Before the multiples of the rate, from which the server may not recover.
            let smaller = shape.smaller.iter().filter(|_| *times == 1);
            for size in smaller {
                let step = step(cases::smaller(*size), 1, plan.at_rate_s(1));
                if bound(&mut up, *size, |up| load(up, &step, Some(*size)))?? {
                    break;
                }
            }
        }
        account.notes.extend(up.server.stop().err());
        Ok(())
    }

    /// Runs an open loop at a rate. Adds the idle share of the machine's processors, the processor time of the load
    /// generator, and whether the server exited.
    fn load_at_rate(&self, up: &mut Up, workload: &Workload, step: &TrafficStep) -> Result<Outcome, String> {
        let connections = open_connections(self.clients);
        let load = K6Load::Rate { per_s: step.per_s, seconds: step.seconds, connections };
        let before = machine_ticks();
        let own_before = self.generator_s();
        let mut outcome = self.made(up.server.port(), workload, &step.case, load, step.seed)?;
        let share = before.zip(machine_ticks()).map(|(before, after)| {
            let all = after.1.saturating_sub(before.1).max(1);
            after.0.saturating_sub(before.0) as f64 / all as f64
        });
        let numbers = &mut outcome.numbers;
        numbers.extend(share.map(|share| (IDLE.to_owned(), share * 100.0)));
        // The time in which the server worked off its queue counts, too.
        let span_s = numbers.get(ELAPSED).copied().unwrap_or(0.0).max(step.seconds);
        numbers.insert(GENERATOR.to_owned(), (self.generator_s() - own_before) / span_s);
        numbers.insert(SECONDS.to_owned(), step.seconds);
        if up.server.has_ended() {
            // Answers cut short by the exit are not wrong ones.
            numbers.insert(ENDED.to_owned(), 1.0);
            outcome.wrong = None;
        }
        Ok(outcome)
    }

    /// Seconds of processor time of the load generator: this program, and k6 once it has been waited for.
    fn generator_s(&self) -> f64 {
        match self.options.k6 {
            None => own_s(),
            Some(_) => own_s() + children_s().unwrap_or(0.0),
        }
    }
}

impl TrafficStep {
    /// Plan for the arena's own open loop, with connections for this many clients.
    fn open(&self, clients: u32) -> Open {
        let connections = open_connections(clients);
        Open { per_s: self.per_s, seconds: self.seconds, connections, seed: self.seed }
    }
}

/// Number of processors that the server used, from the processor time of the requests that were sent to it.
fn processors_used(sample: &Sample) -> f64 {
    let span_s = sample.number(ELAPSED).max(sample.number(SECONDS)).max(1e-3);
    let dropped = sample.errors.get(DROPPED).copied().unwrap_or(0) as f64;
    sample.number(CPU) * (sample.number(REQUESTS) + sample.number(FAILED) - dropped) / 1e6 / span_s
}

/// Seconds of processor time of this program.
fn own_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Seconds of processor time of the child processes that have been waited for.
fn children_s() -> Option<f64> {
    let own = Process::myself().and_then(|own| own.stat()).ok()?;
    Some((own.cutime + own.cstime).max(0) as f64 / procfs::ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_k6_dropped_took_no_processor_of_the_server() {
        let numbers = [(CPU, 1_000.0), (REQUESTS, 4_000.0), (FAILED, 6_000.0), (ELAPSED, 10.0), (SECONDS, 8.0)];
        let answered = Sample::of("a", &numbers);
        assert_eq!(processors_used(&answered), 1.0);
        let errors = [(DROPPED.to_owned(), 5_000), ("timeout".to_owned(), 1_000)].into();
        assert_eq!(processors_used(&Sample { errors, ..answered }), 0.5);
    }
}
