//! Patterns that are regular in the strict sense, as automata of regex-automata, whose time grows with the text and
//! never with what was tried. What is not regular, or not quite the same there, is left to `machine.rs`.

use regex_automata::meta;
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, Look, Repetition};

use super::charset;
use super::syntax::{Kind, Node, Parsed, Place};

/// The most memory for the states of one pattern. What needs more runs on the machine, which counts instead.
const NFA_BYTES: usize = 2 << 20;
/// The most memory that one search at a time uses to remember states.
const CACHE_BYTES: usize = 1 << 20;

/// An automaton.
#[derive(Debug)]
pub struct Plain {
    /// The automaton.
    pub regex: meta::Regex,
    /// Every match begins with `^`: none is behind a line feed that ends the text.
    pub line_first: bool,
}

/// The automaton of a pattern, where it has one. `bytes`: for text that is no UTF-8.
pub fn compile(parsed: &Parsed, bytes: bool) -> Option<Plain> {
    let lowering = Lowering { bytes, latin: parsed.binary };
    let line_first = begins_line(&parsed.node);
    let body = if line_first { without_first(&parsed.node) } else { parsed.node.clone() };
    if !line_starts_consume(&body, false) {
        return None;
    }
    let hir = lowering.hir(&parsed.node)?;
    let config = meta::Config::new()
        .utf8_empty(!bytes)
        .nfa_size_limit(Some(NFA_BYTES))
        .onepass_size_limit(Some(NFA_BYTES))
        .hybrid_cache_capacity(CACHE_BYTES);
    let regex = meta::Builder::new().configure(config).build_from_hir(&hir).ok()?;
    Some(Plain { regex, line_first })
}

/// Whether whatever it matches begins with `^`.
fn begins_line(node: &Node) -> bool {
    match node {
        Node::At(Place::LineStart) => true,
        Node::Concat(nodes) => nodes.first().is_some_and(begins_line),
        Node::Alt(nodes) => nodes.iter().all(begins_line),
        Node::Group(_, node) => begins_line(node),
        _ => false,
    }
}

/// Without the `^` that it begins with.
fn without_first(node: &Node) -> Node {
    match node {
        Node::At(Place::LineStart) => Node::Empty,
        Node::Concat(nodes) => {
            let mut nodes = nodes.clone();
            if let Some(first) = nodes.first_mut() {
                *first = without_first(first);
            }
            Node::Concat(nodes)
        }
        Node::Alt(nodes) => Node::Alt(nodes.iter().map(without_first).collect()),
        Node::Group(number, node) => Node::Group(*number, Box::new(without_first(node))),
        other => other.clone(),
    }
}

/// Whether something is taken behind each `^`, so that none can match at the very end, where Ruby's does not and the
/// automaton's does. `after`: whether something is taken behind `node`.
fn line_starts_consume(node: &Node, after: bool) -> bool {
    match node {
        Node::At(Place::LineStart) => after,
        Node::Concat(nodes) => {
            let mut after = after;
            nodes.iter().rev().all(|node| {
                let fine = line_starts_consume(node, after);
                after = after || node.width().0 > 0;
                fine
            })
        }
        other => other.parts().into_iter().all(|part| line_starts_consume(part, after)),
    }
}

struct Lowering {
    bytes: bool,
    latin: bool,
}

impl Lowering {
    fn hir(&self, node: &Node) -> Option<Hir> {
        Some(match node {
            Node::Empty => Hir::empty(),
            Node::Char(c) if self.latin => Hir::literal([*c as u32 as u8]),
            Node::Char(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
            Node::Set(set) => self.set(set),
            Node::Dot { newline } => self.dot(*newline),
            Node::At(place) => Hir::look(self.look(*place)?),
            Node::Concat(nodes) => Hir::concat(self.all(nodes)?),
            Node::Alt(nodes) => Hir::alternation(self.all(nodes)?),
            Node::Group(index, node) => {
                Hir::capture(Capture { index: *index, name: None, sub: Box::new(self.hir(node)?) })
            }
            Node::Repeat { node, min, max, kind } => self.repeat(node, *min, *max, *kind)?,
            _ => return None,
        })
    }

    fn all(&self, nodes: &[Node]) -> Option<Vec<Hir>> {
        nodes.iter().map(|node| self.hir(node)).collect()
    }

    fn repeat(&self, node: &Node, min: u32, max: Option<u32>, kind: Kind) -> Option<Hir> {
        let captures = node.any(&|node| matches!(node, Node::Group(..)));
        // What a capture holds after a turn that took nothing differs, and so does one that has no turn at all.
        let odd = captures && (node.width().0 == 0 || max == Some(0));
        if odd || kind == Kind::Possessive {
            return None;
        }
        let sub = Box::new(self.hir(node)?);
        Some(Hir::repetition(Repetition { min, max, greedy: kind == Kind::Greedy, sub }))
    }

    fn look(&self, place: Place) -> Option<Look> {
        let unicode = !self.bytes;
        Some(match place {
            Place::Start => Look::Start,
            Place::End => Look::End,
            Place::LineStart => Look::StartLF,
            Place::LineEnd => Look::EndLF,
            Place::Word { ascii: false } if unicode => Look::WordUnicode,
            Place::NotWord { ascii: false } if unicode => Look::WordUnicodeNegate,
            Place::Word { .. } => Look::WordAscii,
            Place::NotWord { .. } => Look::WordAsciiNegate,
            Place::EndOrNewline | Place::SearchStart => return None,
        })
    }

    fn dot(&self, newline: bool) -> Hir {
        let excluded = if newline { ClassUnicode::empty() } else { charset::ranges(&[('\n', '\n')]) };
        self.set(&charset::negated(excluded))
    }

    fn set(&self, set: &ClassUnicode) -> Hir {
        if self.bytes {
            Hir::class(Class::Bytes(byte_class(set, self.latin)))
        } else {
            Hir::class(Class::Unicode(set.clone()))
        }
    }
}

/// The bytes of a set. Of a binary pattern its characters are bytes; of a text's, bytes above 127 are in it where
/// nearly all is, such as in `.` or `[^"]`.
pub fn byte_class(set: &ClassUnicode, latin: bool) -> ClassBytes {
    let most = if latin { 0xff } else { 0x7f };
    let mut bytes = ClassBytes::empty();
    for range in set.ranges() {
        let (low, high) = (range.start() as u32, (range.end() as u32).min(most));
        if low <= high {
            bytes.push(ClassBytesRange::new(low as u8, high as u8));
        }
    }
    if !latin && set.ranges().last().is_some_and(|range| range.end() == char::MAX) {
        bytes.push(ClassBytesRange::new(0x80, 0xff));
    }
    bytes
}
