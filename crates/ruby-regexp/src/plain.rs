//! Patterns that are regular in the strict sense, as automata of regex-automata, which search in linear time. Patterns
//! that are not regular, or that regex-automata takes differently, run on the machine of `machine.rs`.

use std::sync::OnceLock;

use regex_automata::meta;
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, Look, Repetition};

use super::charset;
use super::steps::Program;
use super::syntax::{Kind, Node, Parsed, Place};

/// Most bytes of an automaton's states. A pattern that needs more runs on the machine, which counts repetitions.
const NFA_BYTES: usize = 2 << 20;
/// Most bytes of the states that one search caches.
const CACHE_BYTES: usize = 1 << 20;
/// Copies of a part up to which an automaton is fast in any text. With more it may be in most of their states at once,
/// and each byte of text then takes time for each of them.
const COPIES: usize = 100;
/// Copies times bytes of text above which a search is taken for a long one: seconds at tens of nanoseconds for each.
const LONG: usize = 1 << 27;
/// Copies times bytes of text between two looks at the time.
const PIECE: usize = 1 << 25;
/// Fewest bytes of text between two looks at the time.
const PIECE_BYTES: usize = 1024;

/// A pattern compiled to an automaton.
#[derive(Debug)]
pub struct Plain {
    /// The automaton.
    pub regex: meta::Regex,
    /// Whether every match begins with `^`. Then a match behind a line feed that ends the text is none in Ruby.
    pub line_first: bool,
    /// Most bytes of a match; None where there is no maximum, or where it is so large that pieces are of no use.
    pub width: Option<usize>,
    /// Whether the automaton finds begin and end of the match only, and the machine finds the groups in it: their
    /// captures differ from Ruby's after a repetition that took nothing, and where there is no repetition at all.
    pub spans_only: bool,
    /// Bytes of text between two looks at the time, in a long search.
    pub piece: usize,
    /// The program for the machine, for groups that the automaton does not find, and for long searches that cannot be
    /// done in pieces; None where it is too large.
    pub instead: OnceLock<Option<Box<Program>>>,
    copies: usize,
}

impl Plain {
    /// Whether a search in so many bytes may take long. The automaton cannot be stopped.
    pub fn is_long(&self, length: usize) -> bool {
        self.copies > COPIES && self.copies.saturating_mul(length) > LONG
    }
}

/// The automaton of a pattern; None where the machine must run it. `bytes` is for text that is not UTF-8.
pub fn compile(parsed: &Parsed, bytes: bool) -> Option<Plain> {
    let spans_only = parsed.node.any(&has_odd_captures);
    let lowering = Lowering { bytes, latin: parsed.binary, spans_only };
    let line_first = parsed.node.begins_at(Place::LineStart);
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
    let copies = parsed.node.copies();
    // A character has up to four bytes.
    let width = parsed.node.width().1.map(|characters| (characters as usize).saturating_mul(4));
    let width = width.filter(|width| copies.saturating_mul(*width) <= LONG);
    let piece = (PIECE / copies).max(width.unwrap_or(0)).max(PIECE_BYTES);
    Some(Plain { regex, line_first, width, spans_only, piece, instead: OnceLock::new(), copies })
}

/// Whether the node is a repetition with groups in it, whose captures in an automaton are not those of Ruby.
fn has_odd_captures(node: &Node) -> bool {
    let Node::Repeat { node, max, .. } = node else { return false };
    (node.width().0 == 0 || *max == Some(0)) && node.any(&|node| matches!(node, Node::Group(..)))
}

/// The node without the `^` that it begins with.
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

/// Whether a character is taken behind each `^`, so that none can match at the very end, where the automaton's `^`
/// matches and Ruby's does not. `after` says whether a character is taken behind `node`.
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
    spans_only: bool,
}

impl Lowering {
    fn hir(&self, node: &Node) -> Option<Hir> {
        Some(match node {
            Node::Empty => Hir::empty(),
            Node::Char(c) if self.latin => Hir::literal([*c as u32 as u8]),
            Node::Char(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
            Node::Set(set) => self.set(set),
            Node::Dot { newline } => self.set(&charset::dot(*newline)),
            Node::At(place) => Hir::look(self.look(*place)?),
            Node::Concat(nodes) => Hir::concat(self.all(nodes)?),
            Node::Alt(nodes) => Hir::alternation(self.all(nodes)?),
            Node::Group(_, node) if self.spans_only => self.hir(node)?,
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
        if kind == Kind::Possessive {
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

    fn set(&self, set: &ClassUnicode) -> Hir {
        if self.bytes {
            Hir::class(Class::Bytes(byte_class(set, self.latin)))
        } else {
            Hir::class(Class::Unicode(set.clone()))
        }
    }
}

/// The bytes of a set. In a binary pattern (`latin`) characters are bytes. Else bytes above 127 are in the set where it
/// includes the last character of Unicode, as `.` and `[^"]` do.
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
