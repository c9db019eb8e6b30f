//! The syntax tree of a Ruby pattern. `parser.rs` builds it; `plain.rs` and `program.rs` compile it.

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

/// The order in which a repetition tries its numbers of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `*`: as many times as possible first.
    Greedy,
    /// `*?`: as few times as possible first.
    Lazy,
    /// `*+`: as many times as possible, without backtracking to fewer.
    Possessive,
}

/// Where a lookaround looks from its place, and whether it wants a match there or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookaround {
    /// `(?=…)`
    Ahead,
    /// `(?!…)`
    NotAhead,
    /// `(?<=…)`
    Behind,
    /// `(?<!…)`
    NotBehind,
}

impl Lookaround {
    /// Whether it looks at what comes before its place.
    pub fn is_behind(self) -> bool {
        matches!(self, Lookaround::Behind | Lookaround::NotBehind)
    }

    /// Whether it wants that nothing matches there.
    pub fn is_negative(self) -> bool {
        matches!(self, Lookaround::NotAhead | Lookaround::NotBehind)
    }
}

/// A node of the syntax tree.
#[derive(Debug, Clone)]
pub enum Node {
    /// The empty pattern, which matches everywhere.
    Empty,
    /// One character; in a binary pattern, one byte.
    Char(char),
    /// One of several characters.
    Set(Box<ClassUnicode>),
    /// `.`
    Dot { newline: bool },
    /// A place between two characters.
    At(Place),
    /// `\K`: the match begins here.
    Keep,
    /// A sequence.
    Concat(Vec<Node>),
    /// Alternatives, tried in order.
    Alt(Vec<Node>),
    /// A capture group with its number.
    Group(u32, Box<Node>),
    /// A repetition, from `min` to `max` times; None for no maximum.
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, kind: Kind },
    /// `(?=` `(?!` `(?<=` `(?<!`
    Look { node: Box<Node>, lookaround: Lookaround },
    /// `(?>`: an atomic group, without backtracking into it.
    Atomic(Box<Node>),
    /// `\1`, `\k<name>`: an index into [`Parsed::backs`].
    Back { index: usize, fold: bool },
    /// `\g<name>`: an index into [`Parsed::calls`].
    Call(usize),
    /// `(?(1)yes|no)`: the condition is an index into [`Parsed::backs`].
    Cond { index: usize, yes: Box<Node>, no: Box<Node> },
}

/// A parsed pattern.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// Root of the syntax tree.
    pub node: Node,
    /// Number of capture groups.
    pub groups: u32,
    /// Names of groups in the order of their first definition, each with the numbers of its groups.
    pub names: Vec<(String, Vec<u32>)>,
    /// For each `Back` and `Cond`, the numbers of the groups it refers to.
    pub backs: Vec<Vec<u32>>,
    /// For each `Call`, the number of the group it calls; 0 is the whole pattern.
    pub calls: Vec<u32>,
    /// Whether the characters of the pattern and of all texts are bytes.
    pub binary: bool,
}

impl Node {
    /// The least and the largest number of characters that the node takes; None for no maximum.
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

    /// How many copies of one part the repetitions with a maximum may need: 1000 for `.{0,1000}`, and the product where
    /// one is inside of another.
    pub fn copies(&self) -> usize {
        let inner = self.parts().into_iter().map(Node::copies).max().unwrap_or(1);
        match self {
            Node::Repeat { min, max, .. } => inner.saturating_mul(max.unwrap_or(*min).max(1) as usize),
            _ => inner,
        }
    }

    /// The direct children of the node.
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

    /// Whether every match of the node begins at a place of this kind.
    pub fn begins_at(&self, place: Place) -> bool {
        match self {
            Node::At(first) => *first == place,
            Node::Concat(nodes) => nodes.first().is_some_and(|node| node.begins_at(place)),
            Node::Alt(nodes) => nodes.iter().all(|node| node.begins_at(place)),
            Node::Group(_, node) | Node::Atomic(node) => node.begins_at(place),
            _ => false,
        }
    }

    /// Whether `test` holds for the node or any node below it.
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
