//! The compiler from a syntax tree to instructions of the machine.

use std::collections::HashMap;

use super::charset;
use super::memo::{Choices, Live, Loop};
use super::plain::byte_class;
use super::steps::{Address, Program, Set, Step};
use super::syntax::{Kind, Lookaround, Node, Parsed, Place};

/// Repetitions up to which the repeated part is copied; beyond, a counter is used.
const COPIES_MAX: u32 = 3;
/// Most instructions of one pattern.
const LENGTH_MAX: usize = 100_000;
/// Most nodes that are compiled, those of copies included: twice as many as a pattern of a mebibyte has.
const NODES_MAX: usize = 2 << 20;

/// The message for a pattern that cannot be compiled.
pub type Refused = String;

struct Compiler<'a> {
    parsed: &'a Parsed,
    bytes: bool,
    steps: Vec<Step>,
    sets: Vec<Set>,
    known_sets: HashMap<Vec<(u32, u32)>, usize>,
    registers: usize,
    /// Registers of loops, and the steps between which they are used.
    loops: Vec<Loop>,
    /// Nodes compiled so far.
    nodes: usize,
    /// The last address that `here` has returned: an instruction may lead there.
    target: Address,
    /// Groups that are called, and their addresses once they are compiled.
    called: HashMap<u32, Option<Address>>,
    pending: Vec<(Address, u32)>,
}

/// Compiles a pattern. `bytes` is for text that is not UTF-8.
pub fn compile(parsed: &Parsed, bytes: bool) -> Result<Program, Refused> {
    let mut compiler = Compiler {
        parsed,
        bytes,
        steps: Vec::new(),
        sets: Vec::new(),
        known_sets: HashMap::new(),
        registers: 0,
        loops: Vec::new(),
        nodes: 0,
        target: 0,
        called: parsed.calls.iter().map(|group| (*group, None)).collect(),
        pending: Vec::new(),
    };
    compiler.whole()?;
    let first = super::first::bytes(parsed, bytes);
    let Compiler { steps, sets, registers, loops, .. } = compiler;
    let choices = Choices::new(steps.iter().map(Step::is_choice), loops);
    let at_start = parsed.node.begins_at(Place::Start);
    let (backs, groups) = (parsed.backs.clone(), parsed.groups);
    Ok(Program { steps, sets, registers, backs, groups, bytes, first, at_start, choices })
}

impl Compiler<'_> {
    fn whole(&mut self) -> Result<(), Refused> {
        let node = &self.parsed.node;
        if self.called.contains_key(&0) {
            let call = self.push(Step::Fail);
            self.push(Step::Match);
            let whole = self.here();
            self.called.insert(0, Some(whole));
            self.steps[call] = Step::Call(whole);
            self.node(node)?;
            self.push(Step::Ret);
        } else {
            self.node(node)?;
            self.push(Step::Match);
        }
        for (at, group) in std::mem::take(&mut self.pending) {
            let address = self.called.get(&group).copied().flatten().ok_or("undefined group reference")?;
            self.steps[at] = Step::Call(address);
        }
        Ok(())
    }

    /// The address of the next instruction, for one that leads there.
    fn here(&mut self) -> Address {
        self.target = self.steps.len();
        self.target
    }

    fn push(&mut self, step: Step) -> Address {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    fn node(&mut self, node: &Node) -> Result<(), Refused> {
        self.nodes += 1;
        if self.steps.len() > LENGTH_MAX || self.nodes > NODES_MAX {
            return Err("the pattern is too large".into());
        }
        match node {
            Node::Empty => {}
            Node::Char(c) => self.text(*c),
            Node::Set(_) | Node::Dot { .. } => {
                let set = self.set_of(node);
                self.push(Step::One(set));
            }
            Node::At(place) => {
                self.push(Step::At(*place));
            }
            Node::Keep => {
                self.push(Step::Save(0));
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.node(node))?,
            Node::Alt(nodes) => self.alternatives(nodes.len(), |compiler, index| compiler.node(&nodes[index]))?,
            Node::Group(number, node) => self.group(*number, node)?,
            Node::Repeat { node, min, max, kind } => self.repeat(node, *min, *max, *kind)?,
            Node::Look { node, lookaround } => self.look(node, *lookaround)?,
            Node::Atomic(node) => self.atomic(|compiler| compiler.node(node))?,
            Node::Back { index, fold } => {
                self.push(Step::Same { groups: *index, fold: *fold });
            }
            Node::Call(index) => {
                let at = self.push(Step::Fail);
                self.pending.push((at, self.parsed.calls[*index]));
            }
            Node::Cond { index, yes, no } => {
                let unless = self.push(Step::Fail);
                self.node(yes)?;
                let jump = self.push(Step::Fail);
                self.steps[unless] = Step::Unless { groups: *index, otherwise: self.here() };
                self.node(no)?;
                self.steps[jump] = Step::Jump(self.here());
            }
        }
        Ok(())
    }

    fn text(&mut self, c: char) {
        let mut room = [0; 4];
        let bytes = if self.parsed.binary {
            room[0] = c as u32 as u8;
            &room[..1]
        } else {
            c.encode_utf8(&mut room).as_bytes()
        };
        // Adjacent texts are joined, unless an instruction leads between them.
        let is_open = self.target < self.steps.len();
        match self.steps.last_mut() {
            Some(Step::Text(before)) if is_open => before.extend_from_slice(bytes),
            _ => self.steps.push(Step::Text(bytes.to_vec())),
        }
    }

    /// Compiles `count` alternatives; `each` compiles the one with the given index.
    fn alternatives(
        &mut self,
        count: usize,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let mut jumps = Vec::new();
        for index in 0..count {
            if index + 1 == count {
                each(self, index)?;
                break;
            }
            let split = self.push(Step::Fail);
            each(self, index)?;
            jumps.push(self.push(Step::Fail));
            self.steps[split] = Step::Split(split + 1, self.here());
        }
        let end = self.here();
        jumps.into_iter().for_each(|jump| self.steps[jump] = Step::Jump(end));
        Ok(())
    }

    fn group(&mut self, number: u32, node: &Node) -> Result<(), Refused> {
        let slot = number as usize * 2;
        let called = self.called.contains_key(&number);
        let around = self.steps.len();
        if called {
            // A called group is called here too: Call, Jump over the group, the group.
            self.push(Step::Call(around + 2));
            self.push(Step::Fail);
            self.called.insert(number, Some(around + 2));
            // A recursive call inside the group must not overwrite where this one began.
            let began = self.register();
            self.push(Step::Note(began));
            self.node(node)?;
            self.push(Step::SaveNoted(slot, began));
        } else {
            self.push(Step::Save(slot));
            self.node(node)?;
        }
        self.push(Step::Save(slot + 1));
        if called {
            self.push(Step::Ret);
            self.steps[around + 1] = Step::Jump(self.here());
        }
        Ok(())
    }

    fn atomic(&mut self, body: impl FnOnce(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
        let mark = self.register();
        self.push(Step::Mark(mark));
        body(self)?;
        self.push(Step::Cut(mark));
        Ok(())
    }

    fn look(&mut self, node: &Node, lookaround: Lookaround) -> Result<(), Refused> {
        let mark = self.register();
        let place = self.register();
        let guard =
            if lookaround.is_negative() { self.push(Step::Guard(mark, 0)) } else { self.push(Step::Mark(mark)) };
        self.push(Step::Begin(place));
        if lookaround.is_behind() {
            self.behind(node, place)?
        } else {
            self.node(node)?
        }
        if lookaround.is_negative() {
            self.push(Step::Never(mark));
            self.steps[guard] = Step::Guard(mark, self.here());
        } else {
            self.push(Step::Cut(mark));
            self.push(Step::Return(place));
        }
        Ok(())
    }

    /// Compiles a look-behind: goes back by the width of an alternative and matches it there. An alternative of several
    /// widths is tried with each.
    fn behind(&mut self, node: &Node, place: usize) -> Result<(), Refused> {
        let one = [node.clone()];
        let nodes = if let Node::Alt(nodes) = node { nodes.as_slice() } else { &one };
        let mut ways = Vec::new();
        for node in nodes {
            let (min, max) = node.width();
            let max = max.filter(|max| max - min <= 255).ok_or("invalid pattern in look-behind")?;
            ways.extend((min..=max).map(|width| (node, width)));
            if ways.len() > LENGTH_MAX {
                return Err("the pattern is too large".into());
            }
        }
        self.alternatives(ways.len(), |compiler, index| {
            let (node, width) = ways[index];
            compiler.push(Step::Back(width));
            compiler.node(node)?;
            compiler.push(Step::Here(place));
            Ok(())
        })
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, kind: Kind) -> Result<(), Refused> {
        if max == Some(0) {
            // The groups in it may be called from elsewhere.
            let jump = self.push(Step::Fail);
            self.node(node)?;
            self.steps[jump] = Step::Jump(self.here());
            return Ok(());
        }
        if matches!(node, Node::Set(_) | Node::Dot { .. })
            || matches!(node, Node::Char(c) if self.parsed.binary || c.is_ascii())
        {
            let set = self.set_of(node);
            self.push(Step::Run { set, min, max: max.unwrap_or(u32::MAX), kind });
            return Ok(());
        }
        if kind == Kind::Possessive {
            return self.atomic(|compiler| compiler.repeat(node, min, max, Kind::Greedy));
        }
        let lazy = kind == Kind::Lazy;
        let defines = node.any(&|node| matches!(node, Node::Group(number, _) if self.called.contains_key(number)));
        if defines || max.unwrap_or(min) > COPIES_MAX {
            return self.counted(node, min, max, lazy);
        }
        (0..min).try_for_each(|_| self.node(node))?;
        match max {
            None => self.star(node, lazy),
            Some(max) => self.optional(node, max - min, lazy),
        }
    }

    fn star(&mut self, node: &Node, lazy: bool) -> Result<(), Refused> {
        let split = self.push(Step::Fail);
        let idle = (node.width().0 == 0).then(|| self.register());
        if let Some(place) = idle {
            self.push(Step::Note(place));
        }
        self.node(node)?;
        let check = idle.map(|place| (self.push(Step::Fail), place));
        self.push(Step::Jump(split));
        let end = self.here();
        if let Some((check, place)) = check {
            self.loops.push(Loop { begin: split + 1, end: check, live: Live::Place(place) });
            self.steps[check] = Step::Idle(place, end);
        }
        self.steps[split] = if lazy { Step::Split(end, split + 1) } else { Step::Split(split + 1, end) };
        Ok(())
    }

    fn optional(&mut self, node: &Node, times: u32, lazy: bool) -> Result<(), Refused> {
        if times == 0 {
            return Ok(());
        }
        let split = self.push(Step::Fail);
        self.node(node)?;
        self.optional(node, times - 1, lazy)?;
        let end = self.here();
        self.steps[split] = if lazy { Step::Split(end, split + 1) } else { Step::Split(split + 1, end) };
        Ok(())
    }

    fn counted(&mut self, node: &Node, min: u32, max: Option<u32>, lazy: bool) -> Result<(), Refused> {
        let counter = self.register();
        let place = self.register();
        self.push(Step::Zero(counter));
        let jump = self.push(Step::Fail);
        let body = self.here();
        self.push(Step::Note(place));
        self.node(node)?;
        // A repetition that took nothing is the last one: more would change nothing.
        let idle = self.push(Step::Fail);
        let turn = self.here();
        self.steps[jump] = Step::Jump(turn);
        self.push(Step::Turn { counter, min, max, lazy, body });
        self.loops.push(Loop { begin: body, end: turn, live: Live::Counter(counter, max.unwrap_or(min)) });
        self.loops.push(Loop { begin: body, end: idle, live: Live::Place(place) });
        self.steps[idle] = Step::Idle(place, self.here());
        Ok(())
    }

    fn set_of(&mut self, node: &Node) -> usize {
        let set = match node {
            Node::Set(set) => (**set).clone(),
            Node::Char(c) => charset::ranges(&[(*c, *c)]),
            Node::Dot { newline: false } => charset::dot(false),
            _ => charset::dot(true),
        };
        let ranges: Vec<(u32, u32)> = if self.bytes {
            let bytes = byte_class(&set, self.parsed.binary);
            bytes.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        } else {
            set.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)).collect()
        };
        if let Some(known) = self.known_sets.get(&ranges) {
            return *known;
        }
        self.known_sets.insert(ranges.clone(), self.sets.len());
        self.sets.push(Set::new(&ranges, if self.bytes { 256 } else { 128 }));
        self.sets.len() - 1
    }
}
