//! The states of a connection and all transitions between them. Pure functions: no clock, no socket, no lock.
//!
//! Only the connection's own task changes its state, in `link.rs`, so a plain store is enough; the connection table
//! reads it from any thread. A transition that does not apply in a state leaves it unchanged. Draining is no state of a
//! connection but of the whole front (`drain.rs`); a closed connection has left the table and has no state.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Release, SeqCst};

/// Stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Accepted; no byte has arrived.
    Opened,
    /// Kept alive: the last response is written, and no byte has arrived since.
    Idle,
    /// A head is arriving, since its first byte.
    Head,
    /// A head was refused: the response is sent, and the connection ends.
    Refused,
    /// A request is in hyper, the service or an engine, or the connection is upgraded.
    Request(Step, Output),
    /// Everything is answered; further input is discarded until the client closes.
    Closing,
}

/// Progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// hyper was given the head, and the service does not have the request yet: what hyper writes now is a refusal of
    /// its own.
    Parsing,
    /// The body is arriving; since its last byte.
    Body,
    /// The service has the request: an engine runs it, or its response is on its way to hyper.
    Running,
    /// hyper has the whole response; since then. The socket may not have it yet.
    Answered,
    /// The connection leaves HTTP for an upgrade or a hijack, as soon as all earlier output is written.
    Upgraded,
}

/// How far the socket is behind hyper's output. The task yields before each write, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing waits to be written, as far as hyper has reported.
    Flushed,
    /// The task has yielded; the write comes next.
    Yielded,
    /// The socket took a part, or hyper has not reported yet that it was the last.
    Partial,
    /// As `Partial`, and the task has yielded before it writes the rest.
    PartialYielded,
    /// The socket takes nothing; since then.
    Stalled,
}

/// Reason why a connection may be evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spare {
    /// The connection has no request.
    Idle,
    /// Its request arrives slowly.
    Slow,
    /// The client does not read its response.
    Stalled,
}

impl Stage {
    /// Whether a request is being served, so that the next one must wait.
    pub(crate) fn is_busy(self) -> bool {
        matches!(self, Stage::Request(step, _) if step != Step::Answered)
    }

    /// Whether hyper has a head that has not reached the service.
    pub(crate) fn is_parsing(self) -> bool {
        matches!(self, Stage::Request(Step::Parsing, _))
    }

    /// Whether hyper holds no byte that the socket refused.
    pub(crate) fn is_flushed(self) -> bool {
        !matches!(self, Stage::Request(_, Output::Partial | Output::PartialYielded | Output::Stalled))
    }

    /// Whether hyper may still have part of a response to write.
    pub(crate) fn is_unwritten(self) -> bool {
        matches!(self, Stage::Request(Step::Answered, output) if output != Output::Flushed)
    }

    /// Whether the connection leaves HTTP.
    pub(crate) fn is_upgraded(self) -> bool {
        matches!(self, Stage::Request(Step::Upgraded, _))
    }

    /// Reason why it may be evicted; `None` if it must not: a client that waits for a response, or reads one,
    /// gets all of it.
    pub(crate) fn spare(self) -> Option<Spare> {
        match self {
            Stage::Opened | Stage::Idle | Stage::Closing => Some(Spare::Idle),
            Stage::Head => Some(Spare::Slow),
            Stage::Request(_, Output::Stalled) => Some(Spare::Stalled),
            Stage::Request(Step::Body, _) => Some(Spare::Slow),
            Stage::Refused | Stage::Request(..) => None,
        }
    }
}

/// A stage and the time when it began, in nanoseconds of the front's clock. Times are arguments: nothing here reads a
/// clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) stage: Stage,
    pub(crate) since: u64,
}

impl State {
    /// State of a connection that was just accepted.
    pub(crate) fn opened(at: u64) -> State {
        State { stage: Stage::Opened, since: at }
    }

    /// The state after part of a head has arrived; its first byte at this time.
    pub(crate) fn head_began(self, at: u64) -> State {
        match self.stage {
            Stage::Opened | Stage::Idle => State { stage: Stage::Head, since: at },
            _ => self,
        }
    }

    /// The state after a head was refused, or came too late.
    pub(crate) fn head_refused(self, at: u64) -> State {
        match self.head_began(at) {
            State { stage: Stage::Head, since } => State { stage: Stage::Refused, since },
            other => other,
        }
    }

    /// The state after hyper was given a whole head.
    pub(crate) fn head_given(self, at: u64) -> State {
        match self.head_began(at) {
            State { stage: Stage::Head, since } => {
                State { stage: Stage::Request(Step::Parsing, Output::Flushed), since }
            }
            other => other,
        }
    }

    /// The state after the service has the request.
    pub(crate) fn head_parsed(self) -> State {
        match self.stage {
            Stage::Request(Step::Parsing, output) => self.at_step(Step::Running, output, self.since),
            _ => self,
        }
    }

    /// The state after part of a body has arrived, and more is expected. hyper reads a body only after it has
    /// accepted the head.
    pub(crate) fn body_came(self, at: u64) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => self.at_step(Step::Body, output, at),
            _ => self,
        }
    }

    /// The state after the body is complete.
    pub(crate) fn body_read(self, at: u64) -> State {
        match self.stage {
            Stage::Request(Step::Body, output) => self.at_step(Step::Running, output, at),
            _ => self,
        }
    }

    /// The state after hyper has taken the whole response, or has dropped it.
    pub(crate) fn answered(self, at: u64) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => {
                self.at_step(Step::Answered, output, at)
            }
            _ => self,
        }
    }

    /// The state after the application has taken over the connection.
    pub(crate) fn upgraded(self) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => {
                self.at_step(Step::Upgraded, output, self.since)
            }
            _ => self,
        }
    }

    /// The state after the task has yielded to the others of its I/O thread; unchanged if it had done so already.
    pub(crate) fn yielded(self) -> State {
        match self.stage {
            Stage::Request(step, Output::Flushed) => self.with_output(step, Output::Yielded),
            Stage::Request(step, Output::Partial) => self.with_output(step, Output::PartialYielded),
            _ => self,
        }
    }

    /// The state after the socket took everything. Only hyper knows whether there is more.
    pub(crate) fn wrote(self, now: impl FnOnce() -> u64) -> State {
        match self.stage {
            Stage::Request(step, Output::Yielded) => self.with_output(step, Output::Flushed),
            Stage::Request(step, Output::PartialYielded) => self.with_output(step, Output::Partial),
            Stage::Request(step, Output::Stalled) => {
                State { stage: Stage::Request(step, Output::Partial), since: now() }
            }
            _ => self,
        }
    }

    /// The state after the socket took a part.
    pub(crate) fn wrote_part(self, now: impl FnOnce() -> u64) -> State {
        match self.wrote(now) {
            State { stage: Stage::Request(step, Output::Flushed), since } => {
                State { stage: Stage::Request(step, Output::Partial), since }
            }
            other => other,
        }
    }

    /// The state after the socket took nothing.
    pub(crate) fn stalled(self, now: impl FnOnce() -> u64) -> State {
        match self.stage {
            Stage::Request(_, Output::Stalled) => self,
            Stage::Request(step, _) => State { stage: Stage::Request(step, Output::Stalled), since: now() },
            _ => self,
        }
    }

    /// The state after everything before hyper's next bytes is written.
    pub(crate) fn caught_up(self) -> State {
        match self.stage {
            Stage::Request(step, Output::Partial | Output::Stalled) => self.with_output(step, Output::Flushed),
            Stage::Request(step, Output::PartialYielded) => self.with_output(step, Output::Yielded),
            _ => self,
        }
    }

    /// The state after hyper has nothing left to write: a connection whose request is answered is kept alive.
    pub(crate) fn flushed(self) -> State {
        match self.stage {
            Stage::Request(Step::Answered, _) => State { stage: Stage::Idle, since: self.since },
            _ => self.caught_up(),
        }
    }

    /// The state after the last response is written, when the connection is about to close.
    pub(crate) fn closing(self, at: u64) -> State {
        State { stage: Stage::Closing, since: at }
    }

    /// Whether a connection that was seen in state `other` is still in the same wait.
    pub(crate) fn is_same_wait(self, other: State) -> bool {
        self.since == other.since && self.stage.spare() == other.stage.spare()
    }

    /// A request at this step. A stalled client has stalled since it began to, whatever becomes of its request.
    fn at_step(self, step: Step, output: Output, at: u64) -> State {
        let since = if output == Output::Stalled { self.since } else { at };
        State { stage: Stage::Request(step, output), since }
    }

    fn with_output(self, step: Step, output: Output) -> State {
        State { stage: Stage::Request(step, output), since: self.since }
    }
}

const STEPS: [Step; 5] = [Step::Parsing, Step::Body, Step::Running, Step::Answered, Step::Upgraded];
const OUTPUTS: [Output; 5] =
    [Output::Flushed, Output::Yielded, Output::Partial, Output::PartialYielded, Output::Stalled];
/// Number of the first stage with a request. Those without one have the numbers below; 0 means no state.
const FIRST_REQUEST: u64 = 6;
/// Bits for the stage. The nanoseconds above them suffice for 18 years.
const BITS: u32 = 5;

/// All stages by their numbers.
const STAGES: [Option<Stage>; 1 << BITS] = {
    let mut stages = [None; 1 << BITS];
    let without_request = [Stage::Opened, Stage::Idle, Stage::Head, Stage::Refused, Stage::Closing];
    let mut at = 0;
    while at < without_request.len() {
        stages[number(without_request[at]) as usize] = Some(without_request[at]);
        at += 1;
    }
    let mut at = 0;
    while at < STEPS.len() * OUTPUTS.len() {
        let stage = Stage::Request(STEPS[at / OUTPUTS.len()], OUTPUTS[at % OUTPUTS.len()]);
        stages[number(stage) as usize] = Some(stage);
        at += 1;
    }
    stages
};

const fn number(stage: Stage) -> u64 {
    match stage {
        Stage::Opened => 1,
        Stage::Idle => 2,
        Stage::Head => 3,
        Stage::Refused => 4,
        Stage::Closing => 5,
        Stage::Request(step, output) => FIRST_REQUEST + step as u64 * OUTPUTS.len() as u64 + output as u64,
    }
}

/// A state as one number.
fn packed(state: State) -> u64 {
    state.since.min(u64::MAX >> BITS) << BITS | number(state.stage)
}

fn unpacked(number: u64) -> Option<State> {
    let stage = STAGES[(number & ((1 << BITS) - 1)) as usize]?;
    Some(State { stage, since: number >> BITS })
}

/// A cell for a state, or for none, that any thread may read.
#[derive(Debug, Default)]
pub(crate) struct StateCell(AtomicU64);

impl StateCell {
    pub(crate) fn new(state: State) -> StateCell {
        StateCell(AtomicU64::new(packed(state)))
    }

    pub(crate) fn get(&self) -> Option<State> {
        unpacked(self.0.load(SeqCst))
    }

    /// Stores the state, ordered before whatever this thread reads next.
    pub(crate) fn set(&self, state: Option<State>) {
        self.0.store(state.map_or(0, packed), SeqCst);
    }

    /// Stores the state without that order, which is much cheaper.
    pub(crate) fn set_soon(&self, state: State) {
        self.0.store(packed(state), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Output::{Flushed, Partial, PartialYielded, Stalled, Yielded};
    use Stage::{Closing, Head, Idle, Opened, Refused, Request};
    use Step::{Answered, Body, Parsing, Running, Upgraded};

    /// Time when states began, and time when they change, in these tests.
    const BEGAN: u64 = 1;
    const NOW: u64 = 2;

    fn all() -> Vec<Stage> {
        let mut stages = vec![Opened, Idle, Head, Refused, Closing];
        stages.extend(STEPS.into_iter().flat_map(|step| OUTPUTS.map(|output| Request(step, output))));
        stages
    }

    /// Checks a transition from every state: the resulting stages with their times, and no change elsewhere.
    fn check(transition: impl Fn(State) -> State, wanted: impl Fn(Stage) -> Option<(Stage, u64)>) {
        for stage in all() {
            let before = State { stage, since: BEGAN };
            let (stage, since) = wanted(before.stage).unwrap_or((before.stage, BEGAN));
            assert_eq!(transition(before), State { stage, since }, "from {before:?}");
        }
    }

    /// When a step begins that is entered at this time: a stalled client has stalled since before.
    fn unless_stalled(output: Output, at: u64) -> u64 {
        if output == Stalled { BEGAN } else { at }
    }

    #[test]
    fn a_state_keeps_its_stage_and_its_moment_as_one_number() {
        let cell = StateCell::default();
        assert_eq!(cell.get(), None);
        for stage in all() {
            for since in [0, 1, u64::MAX >> BITS] {
                let state = State { stage, since };
                cell.set(Some(state));
                assert_eq!(cell.get(), Some(state));
                cell.set(None);
                assert_eq!(cell.get(), None);
                cell.set_soon(state);
                assert_eq!(cell.get(), Some(state));
                assert_eq!(StateCell::new(state).get(), Some(state));
            }
        }
        let late = State { stage: Opened, since: u64::MAX };
        assert_eq!(unpacked(packed(late)), Some(State { since: u64::MAX >> BITS, ..late }));
        assert_eq!(unpacked(31), None);
    }

    #[test]
    fn a_request_goes_through_its_states_and_back_to_idle() {
        let mut state = State::opened(10);
        let mut go = |next: fn(State) -> State, wanted: Stage, since: u64| {
            state = next(state);
            assert_eq!((state.stage, state.since), (wanted, since));
        };
        go(|it| it.head_began(20), Head, 20);
        go(|it| it.head_given(21), Request(Parsing, Flushed), 20);
        go(|it| it.body_came(22), Request(Body, Flushed), 22);
        go(|it| it.head_parsed(), Request(Body, Flushed), 22);
        go(|it| it.body_came(23), Request(Body, Flushed), 23);
        go(|it| it.body_read(24), Request(Running, Flushed), 24);
        go(|it| it.answered(25), Request(Answered, Flushed), 25);
        go(|it| it.yielded(), Request(Answered, Yielded), 25);
        go(|it| it.wrote_part(|| 26), Request(Answered, Partial), 25);
        go(|it| it.yielded(), Request(Answered, PartialYielded), 25);
        go(|it| it.stalled(|| 27), Request(Answered, Stalled), 27);
        go(|it| it.wrote(|| 28), Request(Answered, Partial), 28);
        go(|it| it.flushed(), Idle, 28);
        // The next one comes whole and needs no more than one write.
        go(|it| it.head_given(30), Request(Parsing, Flushed), 30);
        go(|it| it.head_parsed(), Request(Running, Flushed), 30);
        go(|it| it.yielded(), Request(Running, Yielded), 30);
        go(|it| it.answered(31), Request(Answered, Yielded), 31);
        go(|it| it.wrote(|| 32), Request(Answered, Flushed), 31);
        go(|it| it.flushed(), Idle, 31);
        go(|it| it.closing(40), Closing, 40);
    }

    #[test]
    fn a_head_begins_between_requests_only() {
        let head = |stage, after: Stage| match stage {
            Opened | Idle => Some((after, NOW)),
            Head => Some((after, BEGAN)),
            _ => None,
        };
        check(|state| state.head_began(NOW), |stage| head(stage, Head));
        check(|state| state.head_refused(NOW), |stage| head(stage, Refused));
        check(|state| state.head_given(NOW), |stage| head(stage, Request(Parsing, Flushed)));
    }

    #[test]
    fn a_request_is_parsed_and_its_body_read_before_it_is_answered() {
        check(State::head_parsed, |stage| match stage {
            Request(Parsing, output) => Some((Request(Running, output), BEGAN)),
            _ => None,
        });
        check(
            |state| state.body_came(NOW),
            |stage| match stage {
                Request(Parsing | Body | Running, output) => Some((Request(Body, output), unless_stalled(output, NOW))),
                _ => None,
            },
        );
        check(
            |state| state.body_read(NOW),
            |stage| match stage {
                Request(Body, output) => Some((Request(Running, output), unless_stalled(output, NOW))),
                _ => None,
            },
        );
    }

    #[test]
    fn a_request_is_answered_or_upgraded_once_and_never_both() {
        check(
            |state| state.answered(NOW),
            |stage| match stage {
                Request(Parsing | Body | Running, output) => {
                    Some((Request(Answered, output), unless_stalled(output, NOW)))
                }
                _ => None,
            },
        );
        check(State::upgraded, |stage| match stage {
            Request(Parsing | Body | Running, output) => Some((Request(Upgraded, output), BEGAN)),
            _ => None,
        });
    }

    #[test]
    fn a_task_yields_once_for_each_write() {
        check(State::yielded, |stage| match stage {
            Request(step, Flushed) => Some((Request(step, Yielded), BEGAN)),
            Request(step, Partial) => Some((Request(step, PartialYielded), BEGAN)),
            _ => None,
        });
        let mut state = State { stage: Request(Running, Flushed), since: BEGAN };
        for _ in 0..3 {
            let yielded = state.yielded();
            assert_ne!(yielded, state);
            // However often it is tried to write meanwhile, and while the client takes nothing.
            let stalled = yielded.stalled(|| NOW);
            assert_eq!((yielded.yielded(), stalled.yielded()), (yielded, stalled));
            state = yielded.wrote(|| NOW);
        }
    }

    #[test]
    fn what_the_socket_takes_changes_the_output_alone() {
        check(
            |state| state.wrote(|| NOW),
            |stage| match stage {
                Request(step, Yielded) => Some((Request(step, Flushed), BEGAN)),
                Request(step, PartialYielded) => Some((Request(step, Partial), BEGAN)),
                Request(step, Stalled) => Some((Request(step, Partial), NOW)),
                _ => None,
            },
        );
        check(
            |state| state.wrote_part(|| NOW),
            |stage| match stage {
                Request(step, Stalled) => Some((Request(step, Partial), NOW)),
                Request(step, _) => Some((Request(step, Partial), BEGAN)),
                _ => None,
            },
        );
        check(
            |state| state.stalled(|| NOW),
            |stage| match stage {
                Request(_, Stalled) => None,
                Request(step, _) => Some((Request(step, Stalled), NOW)),
                _ => None,
            },
        );
    }

    #[test]
    fn a_flush_ends_an_answered_request_and_no_other() {
        let caught_up = |stage| match stage {
            Request(step, Partial | Stalled) => Some((Request(step, Flushed), BEGAN)),
            Request(step, PartialYielded) => Some((Request(step, Yielded), BEGAN)),
            _ => None,
        };
        check(State::caught_up, caught_up);
        check(State::flushed, |stage| match stage {
            Request(Answered, _) => Some((Idle, BEGAN)),
            stage => caught_up(stage),
        });
        check(|state| state.closing(NOW), |_| Some((Closing, NOW)));
    }

    #[test]
    fn the_next_request_waits_until_an_answer_is_written() {
        for stage in all() {
            let next_may_come = !stage.is_busy() && !stage.is_unwritten();
            assert_eq!(
                next_may_come,
                !matches!(stage, Request(..)) || stage == Request(Answered, Flushed),
                "{stage:?}"
            );
            assert_eq!(stage.is_parsing(), matches!(stage, Request(Parsing, _)), "{stage:?}");
            assert_eq!(stage.is_upgraded(), matches!(stage, Request(Upgraded, _)), "{stage:?}");
            let is_flushed = !matches!(stage, Request(_, Partial | PartialYielded | Stalled));
            assert_eq!(stage.is_flushed(), is_flushed, "{stage:?}");
        }
    }

    #[test]
    fn an_answer_that_is_owed_is_never_cut_off_for_another_connection() {
        for stage in all() {
            let spare = match stage {
                Opened | Idle | Closing => Some(Spare::Idle),
                Request(_, Stalled) => Some(Spare::Stalled),
                Head | Request(Body, _) => Some(Spare::Slow),
                Refused | Request(Parsing | Running | Answered | Upgraded, _) => None,
            };
            assert_eq!(stage.spare(), spare, "{stage:?}");
        }
    }

    #[test]
    fn a_client_that_takes_nothing_is_the_same_wait_when_its_answer_ends() {
        let stalled = State { stage: Request(Running, Stalled), since: BEGAN };
        assert!(stalled.is_same_wait(stalled.answered(NOW)));
        assert!(!stalled.is_same_wait(stalled.wrote(|| NOW)));
        let idle = State { stage: Idle, since: BEGAN };
        assert!(idle.is_same_wait(idle) && !idle.is_same_wait(State { since: NOW, ..idle }));
        assert!(!idle.is_same_wait(idle.head_began(BEGAN)));
    }
}
