//! The instructions of the machine, and what a program of them consists of.

use super::syntax::{Kind, Place};

/// Where to go on.
pub type Address = usize;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// These bytes.
    Text(Box<[u8]>),
    /// One character of this set.
    One(usize),
    /// A place.
    At(Place),
    /// Go on at the first, and should that fail at the second.
    Split(Address, Address),
    /// Go on there.
    Jump(Address),
    /// Note the position in this slot.
    Save(usize),
    /// Note the position in a register in this slot.
    SaveNoted(usize, usize),
    /// One character of a set, again and again.
    Run { set: usize, min: u32, max: u32, kind: Kind },
    /// Note the position in a register.
    Note(usize),
    /// Go on there if the position is still the noted one.
    Idle(usize, Address),
    /// Set a counter to 0.
    Zero(usize),
    /// One turn more; on to `body` while there are too few, out when there are enough, else a choice.
    Turn { counter: usize, min: u32, max: Option<u32>, lazy: bool, body: Address },
    /// Note how many choices are open.
    Mark(usize),
    /// Forget the choices that have opened since.
    Cut(usize),
    /// Go back to a noted position.
    Return(usize),
    /// Go on there should all fail until `Never`.
    Guard(usize, Address),
    /// Undo all since the guard, and fail.
    Never(usize),
    /// So many characters back.
    Back(u32),
    /// Only at the noted position.
    Here(usize),
    /// What one of these groups has matched.
    Same { groups: usize, fold: bool },
    /// Go on there if none of these groups has matched.
    Unless { groups: usize, otherwise: Address },
    /// Go there and come back.
    Call(Address),
    /// Come back.
    Ret,
    /// No.
    Fail,
    /// Yes.
    Match,
}

/// Which characters are in a set.
#[derive(Debug)]
pub struct Set {
    /// Those of ASCII, a bit each; of bytes all 256.
    pub low: [u64; 4],
    /// The others, in order.
    pub high: Vec<(u32, u32)>,
}

/// A pattern for the machine.
#[derive(Debug)]
pub struct Program {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its sets.
    pub sets: Vec<Set>,
    /// How many registers it needs.
    pub registers: usize,
    /// What each `Same` and `Unless` refers to.
    pub backs: Vec<Vec<u32>>,
    /// How many groups there are.
    pub groups: u32,
    /// Characters are bytes.
    pub bytes: bool,
    /// The bytes that a match can begin with; none where it may be empty.
    pub first: Option<Box<[bool; 256]>>,
    /// It can only match at the start of the text.
    pub at_start: bool,
}

impl Set {
    /// Of these ranges; those below `small` are looked up by their bit.
    pub fn new(ranges: &[(u32, u32)], small: u32) -> Set {
        let mut low = [0; 4];
        for (begin, end) in ranges {
            for c in *begin..=(*end).min(small - 1) {
                low[c as usize / 64] |= 1 << (c % 64);
            }
        }
        Set { low, high: ranges.iter().copied().filter(|(_, end)| *end >= small).collect() }
    }

    /// Whether this byte, or character of ASCII, is in it.
    pub fn has_low(&self, byte: u8) -> bool {
        self.low[usize::from(byte) / 64] >> (byte % 64) & 1 == 1
    }

    /// Whether this other character is in it.
    pub fn has_high(&self, c: u32) -> bool {
        let at = self.high.partition_point(|(_, end)| *end < c);
        self.high.get(at).is_some_and(|(begin, _)| *begin <= c)
    }
}
