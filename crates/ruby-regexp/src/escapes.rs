//! Parsing of escapes: everything that begins with a backslash.

use regex_syntax::hir::ClassUnicode;

use super::charset::{self, Letters};
use super::parser::{Parser, Target, Wrong};
use super::syntax::{Kind, Node, Place};

/// The characters that an escape stands for.
pub enum Meaning {
    /// One character.
    Char(char),
    /// A sequence of characters: `\u{61 62}`.
    Chars(Vec<char>),
    /// A set of characters.
    Set(ClassUnicode),
}

impl Parser {
    /// Parses an escape outside brackets, behind the backslash.
    pub(super) fn escape(&mut self) -> Wrong<Node> {
        let Some(c) = self.peek() else { return Err("too short escape sequence".into()) };
        let ascii = self.flags.letters == Letters::Ascii;
        let is_named = matches!(self.source.get(self.at + 1), Some('<' | '\''));
        let node = match c {
            'A' => Node::At(Place::Start),
            'z' => Node::At(Place::End),
            'Z' => Node::At(Place::EndOrNewline),
            'b' => Node::At(Place::Word { ascii }),
            'B' => Node::At(Place::NotWord { ascii }),
            'G' => Node::At(Place::SearchStart),
            'K' => Node::Keep,
            'R' => line_break(),
            'X' => grapheme(),
            'k' if is_named => return self.back_reference(),
            'g' if is_named => return self.group_call(),
            '1'..='9' => return self.digits(),
            _ => return self.characters(),
        };
        self.at += 1;
        Ok(node)
    }

    fn characters(&mut self) -> Wrong<Node> {
        Ok(match self.meaning()? {
            Meaning::Char(c) => self.literal(c),
            Meaning::Chars(all) => Node::Concat(all.into_iter().map(|c| self.literal(c)).collect()),
            Meaning::Set(set) => Node::Set(Box::new(set)),
        })
    }

    /// `\1`: a reference to a group; from `\10` on, where there are fewer groups so far, a character in octal.
    fn digits(&mut self) -> Wrong<Node> {
        let begin = self.at;
        let number = self.number().ok().flatten();
        if let Some(number) = number.filter(|number| *number < 10 || *number <= self.groups) {
            if self.named_only || !self.names.is_empty() {
                return Err("numbered backref/call is not allowed. (use name)".into());
            }
            return Ok(self.reference(Target::Number(number)));
        }
        self.at = begin;
        self.characters()
    }

    fn reference(&mut self, target: Target) -> Node {
        self.backs.push(target);
        Node::Back { index: self.backs.len() - 1, fold: self.flags.fold }
    }

    fn delimited(&mut self) -> Wrong<String> {
        self.at += 1;
        let end = if self.next() == Some('<') { '>' } else { '\'' };
        self.until(end).ok_or_else(|| "invalid group name <>".to_owned())
    }

    fn back_reference(&mut self) -> Wrong<Node> {
        let text = self.delimited()?;
        if text.chars().skip(1).any(|c| matches!(c, '+' | '-')) {
            return Err(format!("the recursion level of \\k<{text}> is not supported here"));
        }
        let target = self.target(&text)?;
        Ok(self.reference(target))
    }

    fn group_call(&mut self) -> Wrong<Node> {
        let text = self.delimited()?;
        let target = self.target(&text)?;
        self.calls.push(target);
        Ok(Node::Call(self.calls.len() - 1))
    }

    /// Parses an escape that stands for characters, in brackets or outside, behind the backslash.
    pub(super) fn meaning(&mut self) -> Wrong<Meaning> {
        let Some(c) = self.next() else { return Err("too short escape sequence".into()) };
        let set = match c {
            'w' | 'd' | 's' | 'h' => charset::shorthand(c, self.flags.letters),
            'W' | 'D' | 'S' | 'H' => charset::negated(charset::shorthand(c.to_ascii_lowercase(), self.flags.letters)),
            'p' | 'P' if self.peek() == Some('{') => self.property(c == 'P')?,
            'u' => return self.unicode(),
            _ => return self.one(c).map(Meaning::Char),
        };
        Ok(Meaning::Set(self.bounded(set)))
    }

    /// The set itself; in a binary pattern only its members up to 255.
    pub(super) fn bounded(&self, mut set: ClassUnicode) -> ClassUnicode {
        if self.binary {
            set.intersect(&charset::ranges(&[('\0', '\u{ff}')]));
        }
        set
    }

    fn property(&mut self, negative: bool) -> Wrong<ClassUnicode> {
        self.at += 1;
        let name = self.until('}').ok_or("invalid character property name {}")?;
        let plain = name.strip_prefix('^').unwrap_or(&name);
        let set = charset::property(plain, self.flags.letters == Letters::Ascii)
            .ok_or_else(|| format!("invalid character property name {{{name}}}"))?;
        Ok(if name.starts_with('^') == negative { set } else { charset::negated(set) })
    }

    fn unicode(&mut self) -> Wrong<Meaning> {
        if !self.take("{") {
            let number = self.hex(4);
            return number
                .filter(|(_, count)| *count == 4)
                .and_then(|(number, _)| char::from_u32(number))
                .map_or_else(|| Err("invalid Unicode escape".into()), |c| Ok(Meaning::Char(c)));
        }
        let text = self.until('}').ok_or("unterminated Unicode escape")?;
        let all: Option<Vec<char>> = text
            .split_ascii_whitespace()
            .map(|word| u32::from_str_radix(word, 16).ok().and_then(char::from_u32))
            .collect();
        match all {
            Some(all) if all.len() == 1 => Ok(Meaning::Char(all[0])),
            Some(all) if !all.is_empty() => Ok(Meaning::Chars(all)),
            _ => Err("invalid Unicode range".into()),
        }
    }

    /// Parses up to `most` hexadecimal digits: their value and their number.
    fn hex(&mut self, most: u32) -> Option<(u32, u32)> {
        let mut number = 0;
        let mut count = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)).filter(|_| count < most) {
            number = number * 16 + digit;
            count += 1;
            self.at += 1;
        }
        (count > 0).then_some((number, count))
    }

    /// The single character that the escape `\c…` with the given first character stands for.
    fn one(&mut self, c: char) -> Wrong<char> {
        Ok(match c {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\x0c',
            'v' => '\x0b',
            'a' => '\x07',
            'e' => '\x1b',
            'x' => {
                let (byte, _) = self.hex(2).ok_or("invalid hex escape")?;
                return self.byte(byte);
            }
            '0'..='7' => {
                let mut number = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    number = number * 8 + digit;
                    self.at += 1;
                }
                return self.byte(number & 0xff);
            }
            'c' => return self.control(),
            'C' if self.take("-") => return self.control(),
            'M' if self.take("-") => return self.meta(),
            other => other,
        })
    }

    fn control(&mut self) -> Wrong<char> {
        let c = self.modified("too short control sequence")?;
        let code = if c == '?' { 0x7f } else { u32::from(c) & 0x9f };
        char::from_u32(code).ok_or_else(|| "too short control sequence".into())
    }

    fn meta(&mut self) -> Wrong<char> {
        let c = self.modified("too short meta sequence")?;
        self.byte((u32::from(c) & 0xff) | 0x80)
    }

    /// The character that Control or Meta applies to, which may be an escape itself.
    fn modified(&mut self, missing: &str) -> Wrong<char> {
        match self.next().ok_or(missing)? {
            '\\' => {
                let c = self.next().ok_or(missing)?;
                self.one(c)
            }
            c => Ok(c),
        }
    }

    /// The character of a byte escape such as `\x41`. In text, bytes above 127 must together be a UTF-8 character.
    fn byte(&mut self, byte: u32) -> Wrong<char> {
        if byte < 0x80 || self.binary {
            return char::from_u32(byte).ok_or_else(|| "invalid hex escape".into());
        }
        let mut bytes = vec![byte as u8];
        let length = match byte {
            0xf0.. => 4,
            0xe0.. => 3,
            _ => 2,
        };
        while bytes.len() < length && self.take("\\x") {
            let (byte, _) = self.hex(2).ok_or("invalid hex escape")?;
            bytes.push(byte as u8);
        }
        let text = std::str::from_utf8(&bytes).ok();
        text.and_then(|text| text.chars().next()).ok_or_else(|| "invalid multibyte escape".into())
    }
}

/// `\R`: a line break, atomic so that it never stops between CR and LF.
fn line_break() -> Node {
    let pair = Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]);
    let single = charset::ranges(&[('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')]);
    Node::Atomic(Box::new(Node::Alt(vec![pair, Node::Set(Box::new(single))])))
}

/// `\X`: a grapheme cluster by the rules of Unicode's annex 29, with a run of Hangul as one.
fn grapheme() -> Node {
    let set = |name: &str| {
        let found = charset::property(name, false).unwrap_or_else(ClassUnicode::empty);
        Node::Set(Box::new(found))
    };
    let repeat = |node, min, max| Node::Repeat { node: Box::new(node), min, max, kind: Kind::Greedy };
    let mut extend = charset::property("graphemeextend", false).unwrap_or_else(ClassUnicode::empty);
    extend.union(&charset::ranges(&[('\u{200d}', '\u{200d}'), ('\u{1f3fb}', '\u{1f3ff}')]));
    if let Some(marks) = charset::property("mc", false) {
        extend.union(&marks);
    }
    let extends = || repeat(Node::Set(Box::new(extend.clone())), 0, None);
    let flag = repeat(Node::Set(Box::new(charset::ranges(&[('\u{1f1e6}', '\u{1f1ff}')]))), 2, Some(2));
    let pictures = Node::Concat(vec![
        set("extendedpictographic"),
        repeat(Node::Concat(vec![extends(), Node::Char('\u{200d}'), set("extendedpictographic")]), 0, None),
    ]);
    let hangul = repeat(set("hangul"), 1, None);
    let any = Node::Dot { newline: true };
    let letter = Node::Concat(vec![Node::Alt(vec![flag, pictures, hangul, any]), extends()]);
    let pair = Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]);
    let control = set("cntrl");
    Node::Atomic(Box::new(Node::Alt(vec![pair, control, letter])))
}
