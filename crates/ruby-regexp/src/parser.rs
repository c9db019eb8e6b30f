//! The parser of Ruby's dialect of regular expressions. `groups.rs` parses parentheses, `escapes.rs` backslashes and
//! `brackets.rs` character classes.

use std::collections::HashMap;

use super::charset::{self, Letters};
use super::syntax::{Kind, Node, Parsed, Place};

/// Most levels of groups and brackets; each takes stack.
const DEPTH_MAX: u32 = 200;
/// Most quantifiers in a row, such as the two in `a{2}{3}`. Each nests the pattern one level deeper, which takes stack.
const STACKED_MAX: u32 = 20;
/// Largest number in a repetition such as `{1,100000}`, as in Ruby.
const TIMES_MAX: u32 = 100_000;
/// Most groups of one pattern, as in Ruby.
const GROUPS_MAX: u32 = 32_767;
/// Most groups that all references of one pattern refer to. By name, each may refer to all groups.
const REFERRED_MAX: usize = 1 << 17;

/// The options `i`, `x`, `m` and `a`, `d` or `u` at a position of the pattern.
#[derive(Debug, Clone, Copy)]
pub struct Flags {
    /// `i`
    pub fold: bool,
    /// `x`
    pub extended: bool,
    /// `m`
    pub dotall: bool,
    /// `a`, `d`, `u`
    pub letters: Letters,
}

/// A reference to a group that may be defined later.
pub enum Target {
    /// By number, counted from the start.
    Number(u32),
    /// By name.
    Name(String),
}

/// The parser and its state at a position of the pattern.
pub struct Parser {
    pub(super) source: Vec<char>,
    pub(super) at: usize,
    pub(super) flags: Flags,
    pub(super) groups: u32,
    pub(super) names: Vec<(String, Vec<u32>)>,
    /// The index in `names` of each name.
    pub(super) by_name: HashMap<String, usize>,
    pub(super) unnamed: bool,
    pub(super) named_only: bool,
    pub(super) backs: Vec<Target>,
    pub(super) calls: Vec<Target>,
    pub(super) binary: bool,
    depth: u32,
}

/// A result, or an error message in Ruby's words.
pub type Wrong<T> = Result<T, String>;

/// Parses a pattern. With `binary`, its characters stand for bytes.
pub fn parse(source: &[char], flags: Flags, binary: bool) -> Wrong<Parsed> {
    let mut parser = Parser::new(source, flags, binary);
    let mut node = parser.whole()?;
    // Where any group has a name, groups without one do not capture; the name may come last.
    if parser.unnamed && !parser.names.is_empty() {
        parser = Parser { named_only: true, ..Parser::new(source, flags, binary) };
        node = parser.whole()?;
    }
    let backs = parser.all_backs()?;
    let calls = parser.calls.iter().map(|target| parser.call(target)).collect::<Wrong<_>>()?;
    Ok(Parsed { node, groups: parser.groups, names: parser.names, backs, calls, binary })
}

impl Parser {
    fn new(source: &[char], flags: Flags, binary: bool) -> Parser {
        Parser {
            source: source.to_vec(),
            at: 0,
            flags,
            groups: 0,
            names: Vec::new(),
            by_name: HashMap::new(),
            unnamed: false,
            named_only: false,
            backs: Vec::new(),
            calls: Vec::new(),
            binary,
            depth: 0,
        }
    }

    fn whole(&mut self) -> Wrong<Node> {
        let node = self.alternatives()?;
        if self.at < self.source.len() { Err("unmatched close parenthesis".into()) } else { Ok(node) }
    }

    /// The groups that each reference refers to.
    fn all_backs(&self) -> Wrong<Vec<Vec<u32>>> {
        let mut all = Vec::new();
        let mut left = REFERRED_MAX;
        for target in &self.backs {
            let groups = self.back(target)?;
            left = left.checked_sub(groups.len()).ok_or("too many references to groups of the same name")?;
            all.push(groups);
        }
        Ok(all)
    }

    fn back(&self, target: &Target) -> Wrong<Vec<u32>> {
        match target {
            Target::Number(number) if *number <= self.groups && *number > 0 => Ok(vec![*number]),
            Target::Number(_) => Err("invalid backref number/name".into()),
            Target::Name(name) => self.named(name).map(<[u32]>::to_vec),
        }
    }

    fn call(&self, target: &Target) -> Wrong<u32> {
        match target {
            Target::Number(number) if *number <= self.groups => Ok(*number),
            Target::Number(_) => Err("undefined group reference".into()),
            Target::Name(name) => match self.named(name)? {
                [number] => Ok(*number),
                _ => Err(format!("multiplex definition name <{name}> call")),
            },
        }
    }

    fn named(&self, name: &str) -> Wrong<&[u32]> {
        let at = self.by_name.get(name).ok_or_else(|| format!("undefined name <{name}> reference"))?;
        Ok(&self.names[*at].1)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.source.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    /// Skips `text` if it comes next, and says whether it did.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, c)| self.source.get(self.at + i) == Some(&c));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// The text up to `end`, which is skipped too; None where there is no `end`.
    pub(super) fn until(&mut self, end: char) -> Option<String> {
        let rest = self.source.get(self.at..)?;
        let length = rest.iter().position(|c| *c == end)?;
        let text = rest[..length].iter().collect();
        self.at += length + 1;
        Some(text)
    }

    pub(super) fn deeper<T>(&mut self, work: impl FnOnce(&mut Parser) -> Wrong<T>) -> Wrong<T> {
        if self.depth >= DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    pub(super) fn group_number(&mut self) -> Wrong<u32> {
        if self.groups >= GROUPS_MAX {
            return Err("too many capture groups are specified".into());
        }
        self.groups += 1;
        Ok(self.groups)
    }

    /// Parses alternatives up to a closing parenthesis, which is not skipped, or the end.
    pub(super) fn alternatives(&mut self) -> Wrong<Node> {
        self.deeper(|parser| {
            let flags = parser.flags;
            let mut all = vec![parser.concat()?];
            while parser.peek() == Some('|') {
                parser.at += 1;
                all.push(parser.concat()?);
            }
            parser.flags = flags;
            Ok(if all.len() == 1 { all.remove(0) } else { Node::Alt(all) })
        })
    }

    fn concat(&mut self) -> Wrong<Node> {
        let mut all = Vec::new();
        loop {
            self.skip_ignored()?;
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {}
            }
            let (atom, repeatable) = self.atom()?;
            all.push(self.repeated(atom, repeatable)?);
        }
        Ok(match all.len() {
            0 => Node::Empty,
            1 => all.remove(0),
            _ => Node::Concat(all),
        })
    }

    /// Skips comments, and with the option `x` white space.
    fn skip_ignored(&mut self) -> Wrong<()> {
        loop {
            match self.peek() {
                // `is_ascii_whitespace` leaves out the vertical tab.
                Some(c) if self.flags.extended && (c.is_ascii_whitespace() || c == '\x0b') => self.at += 1,
                Some('#') if self.flags.extended => {
                    while self.next().is_some_and(|c| c != '\n') {}
                    self.at = self.at.min(self.source.len());
                }
                Some('(') if self.source[self.at..].starts_with(&['(', '?', '#']) => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Wrong<()> {
        loop {
            match self.next() {
                None => return Err("end pattern in group".into()),
                Some('\\') => self.at += 1,
                Some(')') => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// Parses an atom, and says whether it can be repeated.
    fn atom(&mut self) -> Wrong<(Node, bool)> {
        let place = |place| Ok((Node::At(place), true));
        match self.next() {
            Some('(') => self.deeper(Parser::group).map(|node| (node, true)),
            Some('[') => self.deeper(Parser::bracket).map(|set| (Node::Set(Box::new(set)), true)),
            Some('.') => Ok((Node::Dot { newline: self.flags.dotall }, true)),
            Some('^') => place(Place::LineStart),
            Some('$') => place(Place::LineEnd),
            Some('\\') => self.escape().map(|node| (node, true)),
            Some('*' | '+' | '?') => Err("target of repeat operator is not specified".into()),
            Some(c) => Ok((self.literal(c), true)),
            None => Ok((Node::Empty, false)),
        }
    }

    pub(super) fn literal(&self, c: char) -> Node {
        let is_letter = if c.is_ascii() { c.is_ascii_alphabetic() } else { !self.binary };
        if self.flags.fold && is_letter {
            let set = self.bounded(charset::folded(c));
            if set.ranges().iter().any(|range| range.start() != c || range.end() != c) {
                return Node::Set(Box::new(set));
            }
        }
        Node::Char(c)
    }

    fn repeated(&mut self, mut node: Node, repeatable: bool) -> Wrong<Node> {
        let mut stacked = 0;
        loop {
            self.skip_ignored()?;
            let begin = self.at;
            let times = match self.next() {
                Some('*') => Some((0, None)),
                Some('+') => Some((1, None)),
                Some('?') => Some((0, Some(1))),
                Some('{') => self.interval()?,
                _ => None,
            };
            let Some((min, max)) = times else {
                self.at = begin;
                return Ok(node);
            };
            if !repeatable {
                return Err("target of repeat operator is invalid".into());
            }
            stacked += 1;
            if stacked > STACKED_MAX {
                return Err(format!("more than {STACKED_MAX} quantifiers in a row"));
            }
            let braces = self.source.get(begin) == Some(&'{');
            node = self.with_kind(node, min, max, braces);
        }
    }

    fn with_kind(&mut self, node: Node, min: u32, max: Option<u32>, braces: bool) -> Node {
        let repeat = |node, min, max, kind| Node::Repeat { node: Box::new(node), min, max, kind };
        if max.is_some_and(|max| max < min) {
            return repeat(node, max.unwrap_or(0), Some(min), Kind::Possessive);
        }
        match self.peek() {
            // `a{2}?` is an optional `a{2}`.
            Some('?') if braces && max == Some(min) => {
                self.at += 1;
                repeat(repeat(node, min, max, Kind::Greedy), 0, Some(1), Kind::Greedy)
            }
            Some('?') => {
                self.at += 1;
                repeat(node, min, max, Kind::Lazy)
            }
            Some('+') if !braces => {
                self.at += 1;
                repeat(node, min, max, Kind::Possessive)
            }
            _ => repeat(node, min, max, Kind::Greedy),
        }
    }

    /// Parses an interval behind `{`; None where it is none, and the brace stands for itself.
    fn interval(&mut self) -> Wrong<Option<(u32, Option<u32>)>> {
        let low = self.number()?;
        let comma = self.take(",");
        let high = if comma { self.number()? } else { low };
        if !self.take("}") || (low.is_none() && high.is_none()) {
            return Ok(None);
        }
        Ok(Some((low.unwrap_or(0), high)))
    }

    pub(super) fn number(&mut self) -> Wrong<Option<u32>> {
        let begin = self.at;
        let mut number: u32 = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit);
            if number > TIMES_MAX {
                return Err("too big number {,}".into());
            }
            self.at += 1;
        }
        Ok((self.at > begin).then_some(number))
    }
}
