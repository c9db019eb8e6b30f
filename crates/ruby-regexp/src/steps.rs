//! The instructions of the machine, and a program of them.

use super::memo::Choices;
use super::syntax::{Kind, Place};

/// Index of a step in the program.
pub type Address = usize;

/// An instruction. Registers and slots are given by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Match these bytes.
    Text(Vec<u8>),
    /// Match one character of the set with this index.
    One(usize),
    /// Match at this kind of place.
    At(Place),
    /// Go on at the first address, and on failure at the second.
    Split(Address, Address),
    /// Go on at this address.
    Jump(Address),
    /// Store the position in a slot.
    Save(usize),
    /// Store a position that was noted in a register (the second) in a slot (the first).
    SaveNoted(usize, usize),
    /// Match `min` to `max` characters of a set.
    Run { set: usize, min: u32, max: u32, kind: Kind },
    /// Store the position in a register.
    Note(usize),
    /// Go on at the address if the position is still that in the register.
    Idle(usize, Address),
    /// Set a counter to 0.
    Zero(usize),
    /// Decide about one more repetition: go to `body` below `min`, on at `max`, and choose between the two in between.
    Turn { counter: usize, min: u32, max: Option<u32>, lazy: bool, body: Address },
    /// Store the height of the backtracking stack in a register. Backtracking does not restore this register: only
    /// steps up to the `Cut` read it, and the `Cut` removes all choices that lead back to them.
    Mark(usize),
    /// Store the position where a look-around begins in a register, which is not restored either.
    Begin(usize),
    /// Remove the choices made since the `Mark` of this register.
    Cut(usize),
    /// Set the position to that in a register.
    Return(usize),
    /// Begin a negative look-around, as `Mark` does: on failure before `Never`, go on at the address.
    Guard(usize, Address),
    /// End a negative look-around whose body has matched: undo everything since the `Guard`, and fail.
    Never(usize),
    /// Go back this many characters.
    Back(u32),
    /// Match only at the position in a register.
    Here(usize),
    /// Match the text that one of these groups has matched.
    Same { groups: usize, fold: bool },
    /// Go on at `otherwise` if none of these groups has matched.
    Unless { groups: usize, otherwise: Address },
    /// Call the group at this address.
    Call(Address),
    /// Return from a called group.
    Ret,
    /// Fail: backtrack.
    Fail,
    /// The whole pattern has matched.
    Match,
}

impl Step {
    /// Whether it is a choice that can be remembered as a failure. None where no choice of a program with it can: what
    /// fails may depend on captures, on what called a group, or on choices that the step removes.
    pub fn is_choice(&self) -> Option<bool> {
        match self {
            Step::Split(..) | Step::Turn { .. } | Step::Run { .. } => Some(true),
            Step::Text(_) | Step::One(_) | Step::At(_) | Step::Jump(_) | Step::Save(_) => Some(false),
            Step::Note(_) | Step::Idle(..) | Step::Zero(_) | Step::Fail | Step::Match => Some(false),
            _ => None,
        }
    }
}

/// A set of characters or bytes.
#[derive(Debug)]
pub struct Set {
    /// One bit for each ASCII character, or for each of the 256 bytes.
    pub low: [u64; 4],
    /// Ranges of the other characters, in ascending order.
    pub high: Vec<(u32, u32)>,
}

/// A pattern compiled for the machine.
#[derive(Debug)]
pub struct Program {
    /// The instructions, beginning at address 0.
    pub steps: Vec<Step>,
    /// The sets that instructions refer to.
    pub sets: Vec<Set>,
    /// Number of registers.
    pub registers: usize,
    /// The lists of groups that `Same` and `Unless` refer to.
    pub backs: Vec<Vec<u32>>,
    /// Number of capture groups.
    pub groups: u32,
    /// Whether characters are bytes.
    pub bytes: bool,
    /// The bytes that a match can begin with; None where a match may be empty or the bytes cannot be known.
    pub first: Option<Box<[bool; 256]>>,
    /// Whether a match must begin at the start of the text.
    pub at_start: bool,
    /// The choices that a search remembers when they have failed; None where a failure may depend on more than the
    /// position and the loops around the choice.
    pub choices: Option<Choices>,
}

impl Program {
    /// Estimated bytes of memory.
    pub fn memory(&self) -> usize {
        let text = |step: &Step| if let Step::Text(bytes) = step { bytes.len() } else { 0 };
        let choices = self.choices.as_ref().map_or(0, Choices::memory);
        self.steps.len() * 64 + self.sets.len() * 512 + choices + self.steps.iter().map(text).sum::<usize>()
    }
}

impl Set {
    /// The set of these ranges of codes, in ascending order. Codes below `small` are looked up by their bit.
    pub fn new(ranges: &[(u32, u32)], small: u32) -> Set {
        let mut low = [0; 4];
        for (begin, end) in ranges {
            for c in *begin..=(*end).min(small - 1) {
                low[c as usize / 64] |= 1 << (c % 64);
            }
        }
        Set { low, high: ranges.iter().copied().filter(|(_, end)| *end >= small).collect() }
    }

    /// Whether the set includes this byte or ASCII character.
    pub fn has_low(&self, byte: u8) -> bool {
        self.low[usize::from(byte) / 64] >> (byte % 64) & 1 == 1
    }

    /// Whether the set includes this character, which is none of those with a bit.
    pub fn has_high(&self, c: u32) -> bool {
        let at = self.high.partition_point(|(_, end)| *end < c);
        self.high.get(at).is_some_and(|(begin, _)| *begin <= c)
    }
}
