//! What a Ruby pattern says, as a tree. The parser makes it; `plain.rs` and `program.rs` make of it what can run.

use regex_syntax::hir::ClassUnicode;

/// A place between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `\A`
    Start,
    /// `\z`
    End,
    /// `\Z`: the end, or before the line feed that ends the text.
    EndOrNewline,
    /// `^`: the start, or behind a line feed that does not end the text.
    LineStart,
    /// `$`: the end, or before a line feed.
    LineEnd,
    /// `\b`; in letters of ASCII only, or of Unicode.
    Word { ascii: bool },
    /// `\B`
    NotWord { ascii: bool },
    /// `\G`: where the search began.
    SearchStart,
}

/// How a repetition chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `*`: as much as possible.
    Greedy,
    /// `*?`: as little as possible.
    Lazy,
    /// `*+`: as much as possible, and never less.
    Possessive,
}

/// A part of a pattern.
#[derive(Debug, Clone)]
pub enum Node {
    /// Nothing: matches everywhere.
    Empty,
    /// One character; of a binary pattern, one byte.
    Char(char),
    /// One of several characters.
    Set(Box<ClassUnicode>),
    /// `.`
    Dot { newline: bool },
    /// A place.
    At(Place),
    /// `\K`: the match begins here.
    Keep,
    /// One after the other.
    Concat(Vec<Node>),
    /// The first that matches.
    Alt(Vec<Node>),
    /// A capture of this number.
    Group(u32, Box<Node>),
    /// As often.
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, kind: Kind },
    /// `(?=` `(?!` `(?<=` `(?<!`
    Look { node: Box<Node>, behind: bool, negative: bool },
    /// `(?>`: never gone back into.
    Atomic(Box<Node>),
    /// `\1`, `\k<name>`: an index into [`Parsed::backs`].
    Back { index: usize, fold: bool },
    /// `\g<name>`: an index into [`Parsed::calls`].
    Call(usize),
    /// `(?(1)yes|no)`: the condition is an index into [`Parsed::backs`].
    Cond { index: usize, yes: Box<Node>, no: Box<Node> },
}

/// A pattern, read.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// All of it.
    pub node: Node,
    /// How many groups capture.
    pub groups: u32,
    /// Named groups in the order of their first mention, each with its numbers.
    pub names: Vec<(String, Vec<u32>)>,
    /// What each `Back` and `Cond` refers to.
    pub backs: Vec<Vec<u32>>,
    /// What each `Call` calls; 0 is the whole pattern.
    pub calls: Vec<u32>,
    /// Its characters are bytes, and so are those of all it is matched with.
    pub binary: bool,
}

impl Node {
    /// How many characters it takes: at least, and at most where there is a bound.
    pub fn width(&self) -> (u32, Option<u32>) {
        match self {
            Node::Empty | Node::At(_) | Node::Keep | Node::Look { .. } => (0, Some(0)),
            Node::Char(_) | Node::Set(_) | Node::Dot { .. } => (1, Some(1)),
            Node::Concat(nodes) => nodes.iter().fold((0, Some(0)), |sum, node| {
                let (min, max) = node.width();
                (min.saturating_add(sum.0), add(max, sum.1))
            }),
            Node::Alt(nodes) => widest(nodes.iter()),
            Node::Group(_, node) | Node::Atomic(node) => node.width(),
            Node::Repeat { node, min, max, .. } => {
                let (low, high) = node.width();
                let high = if high == Some(0) { Some(0) } else { high.zip(*max).and_then(|(a, b)| a.checked_mul(b)) };
                (low.saturating_mul(*min), high)
            }
            Node::Back { .. } | Node::Call(_) => (0, None),
            Node::Cond { yes, no, .. } => widest([&**yes, &**no].into_iter()),
        }
    }

    /// Its parts.
    pub fn parts(&self) -> Vec<&Node> {
        match self {
            Node::Concat(nodes) | Node::Alt(nodes) => nodes.iter().collect(),
            Node::Group(_, node) | Node::Atomic(node) | Node::Repeat { node, .. } | Node::Look { node, .. } => {
                vec![node]
            }
            Node::Cond { yes, no, .. } => vec![yes, no],
            _ => Vec::new(),
        }
    }

    /// Whether it or a part of it is so.
    pub fn any(&self, test: &impl Fn(&Node) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }
}

fn add(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.zip(other).and_then(|(one, other)| one.checked_add(other))
}

fn widest<'a>(mut nodes: impl Iterator<Item = &'a Node>) -> (u32, Option<u32>) {
    let first = nodes.next().map_or((0, Some(0)), Node::width);
    nodes.fold(first, |(low, high), node| {
        let (min, max) = node.width();
        (low.min(min), high.zip(max).map(|(one, other)| one.max(other)))
    })
}
