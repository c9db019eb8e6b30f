//! Which choices of a search have failed. A search that comes to the same choice again, at the same position and in the
//! same turn of the loops around it, fails at once. So its time is not exponential in the text.

/// Most bits of the table of failures of one search: 16 MiB. A search that needs more goes without.
const BITS_MAX: usize = 1 << 27;
/// What stands for a step that is no choice.
const NONE: u32 = u32::MAX;

/// A register that decides whether a loop continues.
#[derive(Debug)]
pub enum Live {
    /// Where the turn began: a turn that took nothing is the last one.
    Place(usize),
    /// The number of turns, and the number from which on all behave alike.
    Counter(usize, u32),
}

/// A register of a loop, and the first and last step at which it is used.
#[derive(Debug)]
pub struct Loop {
    /// The first step.
    pub begin: usize,
    /// The last step.
    pub end: usize,
    /// The register.
    pub live: Live,
}

/// The choices of a program.
#[derive(Debug)]
pub struct Choices {
    /// For each step the index of its choice, or `NONE`.
    at: Vec<u32>,
    choices: Vec<Choice>,
    /// Cells of all choices at one position.
    cells: usize,
}

#[derive(Debug)]
struct Choice {
    /// The first of its cells.
    first: usize,
    /// The registers of places of the loops around it. A loop inside of another begins no earlier, so all that matters
    /// is how many of them are the position.
    places: Box<[usize]>,
    /// The counters of the loops around it, and the value from which on all are alike.
    counters: Box<[(usize, usize)]>,
}

/// A bit for each cell at each position of a text.
#[derive(Debug)]
pub struct Failures {
    positions: usize,
    bits: Vec<u64>,
}

impl Choices {
    /// The choices of a program with these loops and steps, of which each says whether it is one. None where one says
    /// nothing: there a failure may depend on more than the position and the loops.
    pub fn new(steps: impl ExactSizeIterator<Item = Option<bool>>, mut loops: Vec<Loop>) -> Option<Choices> {
        loops.sort_by_key(|one| one.begin);
        let mut loops = loops.into_iter().peekable();
        let mut around: Vec<Loop> = Vec::new();
        let mut made = Choices { at: vec![NONE; steps.len()], choices: Vec::new(), cells: 0 };
        for (at, is_choice) in steps.enumerate() {
            if !is_choice? {
                continue;
            }
            while let Some(one) = loops.next_if(|one| one.begin <= at) {
                around.push(one);
            }
            around.retain(|one| at <= one.end);
            let choice = Choice::new(made.cells, &around);
            made.at[at] = made.choices.len() as u32;
            made.cells = choice.cells()?.checked_add(made.cells).filter(|cells| *cells <= BITS_MAX)?;
            made.choices.push(choice);
        }
        Some(made)
    }

    /// Estimated bytes of memory.
    pub fn memory(&self) -> usize {
        let registers = |choice: &Choice| choice.places.len() + choice.counters.len() * 2;
        let registers: usize = self.choices.iter().map(registers).sum();
        self.at.len() * size_of::<u32>() + self.choices.len() * size_of::<Choice>() + registers * size_of::<usize>()
    }

    /// An empty table for a text of `length` bytes. If it would be larger than [`BITS_MAX`], it has no bits, and
    /// remembers nothing.
    pub fn failures(&self, length: usize) -> Failures {
        let bits = (length + 1).checked_mul(self.cells).filter(|bits| *bits <= BITS_MAX).unwrap_or(0);
        Failures { positions: length + 1, bits: vec![0; bits.div_ceil(64)] }
    }

    /// The cell of the choice at this step, for this position and these registers; None where there is none.
    pub fn cell(&self, failures: &Failures, at: usize, position: usize, registers: &[usize]) -> Option<usize> {
        if failures.bits.is_empty() {
            return None;
        }
        let choice = self.choices.get(*self.at.get(at)? as usize)?;
        Some((choice.first + choice.turn(position, registers)) * failures.positions + position)
    }
}

impl Choice {
    fn new(first: usize, around: &[Loop]) -> Choice {
        let place = |one: &Loop| if let Live::Place(register) = one.live { Some(register) } else { None };
        let counter = |one: &Loop| match one.live {
            Live::Counter(register, most) => Some((register, most as usize)),
            Live::Place(_) => None,
        };
        let (places, counters) = (around.iter().filter_map(place), around.iter().filter_map(counter));
        Choice { first, places: places.collect(), counters: counters.collect() }
    }

    /// The number of its cells; None where it is too large.
    fn cells(&self) -> Option<usize> {
        self.counters.iter().try_fold(self.places.len() + 1, |cells, (_, most)| cells.checked_mul(most + 1))
    }

    /// Which of its cells is that of these registers.
    fn turn(&self, position: usize, registers: &[usize]) -> usize {
        let begun = self.places.iter().filter(|register| registers[**register] == position).count();
        self.counters.iter().fold(begun, |turn, (register, most)| turn * (most + 1) + registers[*register].min(*most))
    }
}

impl Failures {
    /// Whether the cell is one that has failed.
    pub fn has(&self, cell: usize) -> bool {
        self.bits.get(cell / 64).is_some_and(|bits| bits >> (cell % 64) & 1 == 1)
    }

    /// Remembers that the cell has failed.
    pub fn add(&mut self, cell: usize) {
        if let Some(bits) = self.bits.get_mut(cell / 64) {
            *bits |= 1 << (cell % 64);
        }
    }
}
