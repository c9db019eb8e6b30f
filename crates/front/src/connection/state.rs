//! The states of a connection by name, and every way from one to the next. It is pure: no clock, no socket, no lock.
//!
//! Only the connection's own task changes its state, in `link.rs`, so a plain store is enough; the room may look at it
//! from any thread. A transition that does not apply in a state leaves it as it is. A drain is no state of a connection
//! but of the whole front (`drain.rs`), and a connection that is closed has left the room and has no state.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Release, SeqCst};

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing has come since it was accepted.
    Opened,
    /// Kept alive: the last answer is written, and nothing has come since.
    Idle,
    /// A head is on its way; since its first byte.
    Head,
    /// A head was refused: its answer goes out, and the connection ends.
    Refused,
    /// A request is with hyper, the service, an engine or, upgraded, with the application.
    Request(Step, Output),
    /// All is answered; what the client still sends is thrown away until it closes.
    Closing,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// hyper was given its head, and the service has not heard of it: what hyper writes now is a refusal of its own.
    Parsing,
    /// Its body is on its way; since its last byte.
    Body,
    /// The service has it: an engine runs it, or its answer is on its way to hyper.
    Running,
    /// hyper has all of its answer; since then. The socket may not have it yet.
    Answered,
    /// The connection leaves HTTP for an upgrade or a hijack, as soon as all before it is written.
    Upgraded,
}

/// How far the socket is behind what hyper writes. The task yields before a write, once for each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing waits to be written, as far as hyper has said.
    Flushed,
    /// The task has yielded, and the write comes next.
    Yielded,
    /// The socket took a part, or hyper has not said yet that it was the last.
    Partial,
    /// The same, and the task has yielded before it writes the rest.
    PartialYielded,
    /// The socket takes nothing; since then.
    Stalled,
}

/// Why a connection may be closed for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spare {
    /// It asks nothing.
    Idle,
    /// Its request comes slowly.
    Slow,
    /// It takes nothing of its answer.
    Stalled,
}

impl Stage {
    /// Whether a request is being served, so that the next one must wait.
    pub(crate) fn is_busy(self) -> bool {
        matches!(self, Stage::Request(step, _) if step != Step::Answered)
    }

    /// Whether hyper has a head of which the service has not heard.
    pub(crate) fn is_parsing(self) -> bool {
        matches!(self, Stage::Request(Step::Parsing, _))
    }

    /// Whether hyper holds no byte that the socket refused.
    pub(crate) fn is_flushed(self) -> bool {
        !matches!(self, Stage::Request(_, Output::Partial | Output::PartialYielded | Output::Stalled))
    }

    /// Whether there is an answer of which hyper may still have to write something.
    pub(crate) fn is_unwritten(self) -> bool {
        matches!(self, Stage::Request(Step::Answered, output) if output != Output::Flushed)
    }

    /// Whether the connection leaves HTTP.
    pub(crate) fn is_upgraded(self) -> bool {
        matches!(self, Stage::Request(Step::Upgraded, _))
    }

    /// Why it may be closed for another connection; `None` where it may not: an answer that is owed is never cut off.
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

/// A stage and since when, in nanoseconds of the front's clock. Moments are arguments: nothing here looks at a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) stage: Stage,
    pub(crate) since: u64,
}

impl State {
    /// A connection that was just accepted.
    pub(crate) fn opened(at: u64) -> State {
        State { stage: Stage::Opened, since: at }
    }

    /// A part of a head has come, the first byte of it at this moment.
    pub(crate) fn head_began(self, at: u64) -> State {
        match self.stage {
            Stage::Opened | Stage::Idle => State { stage: Stage::Head, since: at },
            _ => self,
        }
    }

    /// What came of a head is refused, or it came too late.
    pub(crate) fn head_refused(self, at: u64) -> State {
        match self.head_began(at) {
            State { stage: Stage::Head, since } => State { stage: Stage::Refused, since },
            other => other,
        }
    }

    /// hyper is given a whole head.
    pub(crate) fn head_given(self, at: u64) -> State {
        match self.head_began(at) {
            State { stage: Stage::Head, since } => {
                State { stage: Stage::Request(Step::Parsing, Output::Flushed), since }
            }
            other => other,
        }
    }

    /// The service has the request.
    pub(crate) fn head_parsed(self) -> State {
        match self.stage {
            Stage::Request(Step::Parsing, output) => self.at_step(Step::Running, output, self.since),
            _ => self,
        }
    }

    /// Some of a body has come, and it is not whole. hyper asks for it when it has taken the head for good.
    pub(crate) fn body_came(self, at: u64) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => self.at_step(Step::Body, output, at),
            _ => self,
        }
    }

    /// The body is whole.
    pub(crate) fn body_read(self, now: impl FnOnce() -> u64) -> State {
        match self.stage {
            Stage::Request(Step::Body, output) => self.at_step(Step::Running, output, now()),
            _ => self,
        }
    }

    /// hyper has taken all of the answer, or has dropped it.
    pub(crate) fn answered(self, at: u64) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => {
                self.at_step(Step::Answered, output, at)
            }
            _ => self,
        }
    }

    /// The application has taken the connection over.
    pub(crate) fn upgraded(self) -> State {
        match self.stage {
            Stage::Request(Step::Parsing | Step::Body | Step::Running, output) => {
                self.at_step(Step::Upgraded, output, self.since)
            }
            _ => self,
        }
    }

    /// The task has let the others of its I/O thread go first. It is the same state where it had done so already.
    pub(crate) fn yielded(self) -> State {
        match self.stage {
            Stage::Request(step, Output::Flushed) => self.with_output(step, Output::Yielded),
            Stage::Request(step, Output::Partial) => self.with_output(step, Output::PartialYielded),
            _ => self,
        }
    }

    /// The socket took all it was given. Whether hyper has more, only hyper knows.
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

    /// The socket took a part of what it was given.
    pub(crate) fn wrote_part(self, now: impl FnOnce() -> u64) -> State {
        match self.wrote(now) {
            State { stage: Stage::Request(step, Output::Flushed), since } => {
                State { stage: Stage::Request(step, Output::Partial), since }
            }
            other => other,
        }
    }

    /// The socket takes nothing.
    pub(crate) fn stalled(self, now: impl FnOnce() -> u64) -> State {
        match self.stage {
            Stage::Request(_, Output::Stalled) => self,
            Stage::Request(step, _) => State { stage: Stage::Request(step, Output::Stalled), since: now() },
            _ => self,
        }
    }

    /// All that came before the next bytes of hyper is written.
    pub(crate) fn caught_up(self) -> State {
        match self.stage {
            Stage::Request(step, Output::Partial | Output::Stalled) => self.with_output(step, Output::Flushed),
            Stage::Request(step, Output::PartialYielded) => self.with_output(step, Output::Yielded),
            _ => self,
        }
    }

    /// hyper has nothing left to write: a connection whose request is answered is kept alive from then on.
    pub(crate) fn flushed(self) -> State {
        match self.stage {
            Stage::Request(Step::Answered, _) => State { stage: Stage::Idle, since: self.since },
            _ => self.caught_up(),
        }
    }

    /// The last answer is out, and the connection is about to be closed.
    pub(crate) fn closing(self, at: u64) -> State {
        State { stage: Stage::Closing, since: at }
    }

    /// Whether a connection that was found in the other state still waits for the same.
    pub(crate) fn is_same_wait(self, other: State) -> bool {
        self.since == other.since && self.stage.spare() == other.stage.spare()
    }

    /// A client that takes nothing does so since it began, whatever becomes of its request.
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
/// The number of the first stage with a request; those without one have the numbers before it, and 0 is no state.
const FIRST_REQUEST: u64 = 6;
/// Bits for a stage. Nanoseconds are above them: enough for 18 years.
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

/// A place for a state, or for none, that any thread may look at.
#[derive(Debug, Default)]
pub(crate) struct StateCell(AtomicU64);

impl StateCell {
    pub(crate) fn new(state: State) -> StateCell {
        StateCell(AtomicU64::new(packed(state)))
    }

    pub(crate) fn get(&self) -> Option<State> {
        unpacked(self.0.load(SeqCst))
    }

    /// Puts it there before whatever this thread looks at next.
    pub(crate) fn set(&self, state: Option<State>) {
        self.0.store(state.map_or(0, packed), SeqCst);
    }

    /// Puts it there at some time soon, which costs much less.
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

    /// When states began, and when they change, in these tests.
    const BEGAN: u64 = 1;
    const NOW: u64 = 2;

    fn all() -> Vec<Stage> {
        let mut stages = vec![Opened, Idle, Head, Refused, Closing];
        stages.extend(STEPS.into_iter().flat_map(|step| OUTPUTS.map(|output| Request(step, output))));
        stages
    }

    /// Checks a transition from every state: the stages that it leads to, with their moments, and no change elsewhere.
    fn check(transition: impl Fn(State) -> State, wanted: impl Fn(Stage) -> Option<(Stage, u64)>) {
        for stage in all() {
            let before = State { stage, since: BEGAN };
            let (stage, since) = wanted(before.stage).unwrap_or((before.stage, BEGAN));
            assert_eq!(transition(before), State { stage, since }, "from {before:?}");
        }
    }

    /// When a step begins at this moment: a client that takes nothing has done so since before.
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
        go(|it| it.body_read(|| 24), Request(Running, Flushed), 24);
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
            |state| state.body_read(|| NOW),
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
