//! The backtracking machine, which runs a program as Onigmo does. Its time can be exponential in the text, so it asks
//! every few thousand steps whether it may go on.

use super::memo::Failures;
use super::steps::{Address, Program, Step};
use super::syntax::Kind;
use super::text;

/// The value of a slot without a position.
pub const UNSET: usize = usize::MAX;
/// Steps between two calls of the tick.
const STEPS: u32 = 4096;
/// Most entries on the backtracking stack, 24 bytes each.
const STACK_MAX: usize = 1 << 20;
/// Most registers, of eight bytes each, that are kept of calls.
const SAVED_MAX: usize = 4 << 20;

/// The reason why a search ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The timeout of the Regexp has passed.
    Timeout,
    /// The request timed out.
    Late,
    /// The backtracking stack was full.
    Stack,
}

/// A function that the machine calls every few thousand steps; an error stops the search.
pub type Tick<'a> = &'a mut dyn FnMut() -> Result<(), Stop>;

/// An entry of the backtracking stack: a change to undo or a choice to try.
enum Entry {
    /// Take the other way of the choice `at` from this position.
    Other { at: u32, position: usize },
    /// Give back one character of a greedy run, as long as the position is above `low`.
    Shrink { at: u32, low: usize, position: usize },
    /// Take one more character of a lazy run, of `left` that it may take.
    Grow { at: u32, left: u32, position: usize },
    /// Remember that this choice has failed: nothing is left to try.
    Failed { cell: usize },
    /// Restore the slot to `before`.
    Slot { slot: u32, before: usize },
    /// Restore the register to `before`.
    Register { register: u32, before: usize },
    /// Remove the frame of a call that was begun, and restore the registers of its caller.
    Called,
    /// Restore the frame and the registers of a call that has returned.
    Returned(Box<(Frame, Vec<usize>)>),
}

/// A call of a group: the step where it returns to, and the registers of the caller.
#[derive(Clone)]
struct Frame {
    back: Address,
    registers: Vec<usize>,
}

enum Flow {
    On(Address),
    Fail,
    Matched,
}

/// The state of a search.
pub struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) text: &'a [u8],
    pub(super) search: usize,
    pub(super) position: usize,
    pub(super) slots: Vec<usize>,
    registers: Vec<usize>,
    stack: Vec<Entry>,
    frames: Vec<Frame>,
    /// Registers in frames and on the stack.
    saved: usize,
    taken: u32,
    /// The choices that have failed, from the first tick on: a shorter search has no need of them.
    failures: Option<Failures>,
    tick: Tick<'a>,
}

/// Finds the first match from byte `start` on. Returns begin and end of the match, then of each group.
pub fn search(
    program: &Program,
    text: &[u8],
    start: usize,
    anchored: bool,
    tick: Tick<'_>,
) -> Result<Option<Vec<usize>>, Stop> {
    let mut machine = Machine {
        program,
        text,
        search: start,
        position: start,
        slots: Vec::new(),
        registers: vec![UNSET; program.registers],
        stack: Vec::new(),
        frames: Vec::new(),
        saved: 0,
        taken: 0,
        failures: None,
        tick,
    };
    let mut at = start;
    loop {
        if machine.may_begin(at) && machine.run(at)? {
            return Ok(Some(machine.slots));
        }
        if anchored || at >= text.len() || program.at_start {
            return Ok(None);
        }
        at += if program.bytes { 1 } else { text::char_length(text, at) };
        machine.count(1)?;
    }
}

impl Machine<'_> {
    fn may_begin(&self, at: usize) -> bool {
        match &self.program.first {
            Some(first) => self.text.get(at).is_some_and(|byte| first[usize::from(*byte)]),
            None => true,
        }
    }

    fn count(&mut self, steps: u32) -> Result<(), Stop> {
        self.taken = self.taken.saturating_add(steps);
        if self.taken < STEPS {
            return Ok(());
        }
        self.taken = 0;
        if let (None, Some(choices)) = (&self.failures, &self.program.choices) {
            self.failures = Some(choices.failures(self.text.len()));
        }
        (self.tick)()
    }

    /// Counts a step for each eight bytes that were looked at.
    fn count_bytes(&mut self, bytes: usize) -> Result<(), Stop> {
        self.count(u32::try_from(bytes / 8).unwrap_or(STEPS))
    }

    fn run(&mut self, at: usize) -> Result<bool, Stop> {
        self.count(self.program.groups / 8)?;
        self.slots.clear();
        self.slots.resize((self.program.groups as usize + 1) * 2, UNSET);
        self.slots[0] = at;
        self.position = at;
        self.stack.clear();
        self.frames.clear();
        self.saved = 0;
        let mut step = 0;
        loop {
            self.count(1)?;
            if self.stack.len() > STACK_MAX || self.frames.len() > STACK_MAX / 16 || self.saved > SAVED_MAX {
                return Err(Stop::Stack);
            }
            match self.step(step)? {
                Flow::On(next) => step = next,
                Flow::Matched => {
                    self.slots[1] = self.position;
                    return Ok(true);
                }
                Flow::Fail => match self.go_back(0) {
                    Some(next) => step = next,
                    None => return Ok(false),
                },
            }
        }
    }

    /// Pops entries down to the last open choice above `floor`, and takes it; None where there is none.
    fn go_back(&mut self, floor: usize) -> Option<Address> {
        while self.stack.len() > floor {
            match self.stack.pop()? {
                Entry::Other { at, position } => {
                    self.position = position;
                    self.note_failure(at as usize);
                    return self.other_way(at as usize);
                }
                Entry::Shrink { at, low, position } => {
                    self.position = self.before(position);
                    if self.position > low {
                        self.stack.push(Entry::Shrink { at, low, position: self.position });
                    }
                    if !self.has_failed(at as usize) {
                        self.note_failure(at as usize);
                        return Some(at as usize + 1);
                    }
                }
                Entry::Grow { at, left, position } => {
                    let Step::Run { set, .. } = self.program.steps[at as usize] else { continue };
                    let Some(position) = self.one(set, position) else { continue };
                    self.position = position;
                    if left > 1 {
                        self.stack.push(Entry::Grow { at, left: left - 1, position });
                    }
                    if !self.has_failed(at as usize) {
                        self.note_failure(at as usize);
                        return Some(at as usize + 1);
                    }
                }
                Entry::Failed { cell } => self.failures.iter_mut().for_each(|failures| failures.add(cell)),
                undo => self.undo(undo),
            }
        }
        None
    }

    /// The step to try when the first alternative of a choice has failed.
    fn other_way(&mut self, at: Address) -> Option<Address> {
        match self.program.steps[at] {
            Step::Split(_, other) | Step::Guard(_, other) => Some(other),
            Step::Turn { counter, lazy: true, body, .. } => {
                self.set_register(counter, self.registers[counter] + 1);
                Some(body)
            }
            _ => Some(at + 1),
        }
    }

    /// The cell of a choice at this position.
    fn cell(&self, at: Address) -> Option<usize> {
        let failures = self.failures.as_ref()?;
        self.program.choices.as_ref()?.cell(failures, at, self.position, &self.registers)
    }

    /// Whether it is known that the search fails from this choice on.
    fn has_failed(&self, at: Address) -> bool {
        self.failures.as_ref().is_some_and(|failures| self.cell(at).is_some_and(|cell| failures.has(cell)))
    }

    /// Has this choice remembered as a failure if its last alternative, which is tried now, fails too.
    fn note_failure(&mut self, at: Address) {
        if let Some(cell) = self.cell(at) {
            self.stack.push(Entry::Failed { cell });
        }
    }

    fn undo(&mut self, entry: Entry) {
        match entry {
            Entry::Slot { slot, before } => self.slots[slot as usize] = before,
            Entry::Register { register, before } => self.registers[register as usize] = before,
            Entry::Called => {
                if let Some(frame) = self.frames.pop() {
                    self.saved -= frame.registers.len();
                    self.registers = frame.registers;
                }
            }
            Entry::Returned(state) => {
                let (frame, registers) = *state;
                self.saved -= registers.len();
                self.frames.push(frame);
                self.registers = registers;
            }
            Entry::Other { .. } | Entry::Shrink { .. } | Entry::Grow { .. } | Entry::Failed { .. } => {}
        }
    }

    fn other(&mut self, at: Address) {
        self.stack.push(Entry::Other { at: at as u32, position: self.position });
    }

    fn set_register(&mut self, register: usize, value: usize) {
        self.stack.push(Entry::Register { register: register as u32, before: self.registers[register] });
        self.registers[register] = value;
    }

    fn step(&mut self, at: Address) -> Result<Flow, Stop> {
        let program = self.program;
        let next = Flow::On(at + 1);
        Ok(match &program.steps[at] {
            Step::Text(bytes) => {
                self.count_bytes(bytes.len())?;
                if !self.text[self.position..].starts_with(bytes) {
                    return Ok(Flow::Fail);
                }
                self.position += bytes.len();
                next
            }
            Step::One(set) => match self.one(*set, self.position) {
                Some(position) => {
                    self.position = position;
                    next
                }
                None => Flow::Fail,
            },
            Step::At(place) if self.is_at(*place) => next,
            Step::At(_) | Step::Fail => Flow::Fail,
            Step::Split(..) if self.has_failed(at) => Flow::Fail,
            Step::Split(one, _) => {
                self.other(at);
                Flow::On(*one)
            }
            Step::Jump(to) => Flow::On(*to),
            Step::Save(slot) => {
                self.stack.push(Entry::Slot { slot: *slot as u32, before: self.slots[*slot] });
                self.slots[*slot] = self.position;
                next
            }
            Step::Run { set, min, max, kind } => return self.run_of(at, *set, (*min, *max), *kind),
            Step::Turn { counter, min, max, lazy, body } => self.turn(at, *counter, (*min, *max), *lazy, *body),
            Step::Same { groups, fold } => {
                let groups = &program.backs[*groups];
                let (behind, compared) = self.same(groups, *fold);
                self.count_bytes(groups.len() + compared)?;
                match behind {
                    Some(position) => {
                        self.position = position;
                        next
                    }
                    None => Flow::Fail,
                }
            }
            Step::Unless { groups, otherwise } => {
                let groups = &program.backs[*groups];
                self.count_bytes(groups.len())?;
                let matched = groups.iter().any(|group| self.group(*group).is_some());
                if matched { next } else { Flow::On(*otherwise) }
            }
            Step::Back(count) => {
                self.count(*count / 8)?;
                if self.go_left(*count) { next } else { Flow::Fail }
            }
            Step::Match => Flow::Matched,
            other => self.bookkeeping(other, at),
        })
    }

    fn bookkeeping(&mut self, step: &Step, at: Address) -> Flow {
        match step {
            Step::Note(register) => self.set_register(*register, self.position),
            Step::Begin(register) => self.registers[*register] = self.position,
            Step::Idle(register, end) if self.registers[*register] == self.position => return Flow::On(*end),
            Step::SaveNoted(slot, register) => {
                self.stack.push(Entry::Slot { slot: *slot as u32, before: self.slots[*slot] });
                self.slots[*slot] = self.registers[*register];
            }
            Step::Zero(register) => self.set_register(*register, 0),
            Step::Mark(register) => self.registers[*register] = self.stack.len(),
            Step::Cut(register) => self.cut(self.registers[*register]),
            Step::Return(register) => self.position = self.registers[*register],
            Step::Guard(register, _) => {
                self.registers[*register] = self.stack.len();
                self.other(at);
            }
            Step::Never(register) => {
                // The guard's own choice, which would succeed, is dropped as well.
                let floor = self.registers[*register];
                while self.stack.len() > floor {
                    let Some(entry) = self.stack.pop() else { break };
                    self.undo(entry);
                }
                return Flow::Fail;
            }
            Step::Here(register) if self.registers[*register] != self.position => return Flow::Fail,
            Step::Call(to) => {
                self.saved += self.registers.len();
                self.frames.push(Frame { back: at + 1, registers: self.registers.clone() });
                self.stack.push(Entry::Called);
                return Flow::On(*to);
            }
            Step::Ret => {
                let Some(frame) = self.frames.pop() else { return Flow::Fail };
                let back = frame.back;
                let registers = std::mem::replace(&mut self.registers, frame.registers.clone());
                self.saved += registers.len();
                self.stack.push(Entry::Returned(Box::new((frame, registers))));
                return Flow::On(back);
            }
            _ => {}
        }
        Flow::On(at + 1)
    }

    /// Moves the position by `count` characters to the left; false where there are fewer.
    fn go_left(&mut self, count: u32) -> bool {
        for _ in 0..count {
            if self.position == 0 {
                return false;
            }
            self.position = self.before(self.position);
        }
        true
    }

    /// Removes the choices above `floor`; the changes to undo stay.
    fn cut(&mut self, floor: usize) {
        let mut kept = floor;
        for index in floor..self.stack.len() {
            if !matches!(self.stack[index], Entry::Other { .. } | Entry::Shrink { .. } | Entry::Grow { .. }) {
                self.stack.swap(kept, index);
                kept += 1;
            }
        }
        self.stack.truncate(kept);
    }

    fn turn(&mut self, at: Address, counter: usize, times: (u32, Option<u32>), lazy: bool, body: Address) -> Flow {
        let turns = self.registers[counter];
        let (min, max) = times;
        let next = |machine: &mut Self| {
            machine.set_register(counter, turns + 1);
            Flow::On(body)
        };
        if turns < min as usize {
            return next(self);
        }
        if max.is_some_and(|max| turns >= max as usize) {
            return Flow::On(at + 1);
        }
        if self.has_failed(at) {
            return Flow::Fail;
        }
        self.other(at);
        if lazy { Flow::On(at + 1) } else { next(self) }
    }

    fn run_of(&mut self, at: Address, set: usize, times: (u32, u32), kind: Kind) -> Result<Flow, Stop> {
        let (min, max) = times;
        let wanted = if kind == Kind::Lazy { min } else { max };
        let mut count = 0;
        let mut low = self.position;
        while count < wanted {
            let Some(position) = self.one(set, self.position) else { break };
            self.position = position;
            count += 1;
            if count == min {
                low = position;
            }
        }
        self.count(count / 8)?;
        if count < min {
            return Ok(Flow::Fail);
        }
        match kind {
            Kind::Greedy if count > min => {
                self.stack.push(Entry::Shrink { at: at as u32, low, position: self.position });
            }
            Kind::Lazy if max > min => {
                self.stack.push(Entry::Grow { at: at as u32, left: max - min, position: self.position });
            }
            _ => {}
        }
        Ok(Flow::On(at + 1))
    }
}
