//! Parsing of bracketed character classes: ranges, named sets, nested brackets, and `&&`.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::charset::{self, Letters};
use super::escapes::Meaning;
use super::parser::{Parser, Wrong};

const PREMATURE: &str = "premature end of char-class";

impl Parser {
    /// Parses a character class behind `[`, including the closing `]`.
    pub(super) fn bracket(&mut self) -> Wrong<ClassUnicode> {
        let negative = self.take("^");
        let mut left: Option<ClassUnicode> = None;
        let mut set = ClassUnicode::empty();
        let begin = self.at;
        loop {
            let Some(c) = self.next() else { return Err(PREMATURE.into()) };
            match c {
                ']' if self.at - 1 > begin => break,
                ']' if !self.source.get(self.at..).is_some_and(|rest| rest.contains(&']')) => {
                    return Err("empty char-class".into());
                }
                '[' if self.peek() == Some(':') => self.named_or_bracket(&mut set)?,
                '[' => set.union(&self.deeper(Parser::bracket)?),
                '&' if self.take("&") => {
                    let right = self.folded_set(std::mem::replace(&mut set, ClassUnicode::empty()));
                    left = Some(meet(left, right));
                }
                c => self.item(c, &mut set)?,
            }
        }
        let mut set = meet(left, self.folded_set(set));
        if negative {
            set.negate();
        }
        Ok(self.bounded(set))
    }

    fn folded_set(&self, mut set: ClassUnicode) -> ClassUnicode {
        if !self.flags.fold || set.ranges().is_empty() {
            return set;
        }
        let mut folded = set.clone();
        if self.binary {
            // Only ASCII bytes are letters.
            folded.intersect(&charset::ranges(&[('\0', '\x7f')]));
        }
        // Fails only where Unicode's tables are left out of the build.
        let _ = folded.try_case_fold_simple();
        set.union(&folded);
        set
    }

    /// Parses `[:name:]`, or nested brackets that begin with a colon.
    fn named_or_bracket(&mut self, set: &mut ClassUnicode) -> Wrong<()> {
        let rest: String = self.source[self.at + 1..].iter().take(20).collect();
        let name = rest.split_once(":]").map(|(name, _)| name).filter(|name| !name.contains(']'));
        let ascii = self.flags.letters == Letters::Ascii || self.binary;
        let found = name.and_then(|name| Some((name, charset::posix(name.strip_prefix('^').unwrap_or(name), ascii)?)));
        let Some((name, found)) = found else {
            set.union(&self.deeper(Parser::bracket)?);
            return Ok(());
        };
        self.at += 1 + name.chars().count() + 2;
        set.union(&if name.starts_with('^') { charset::negated(found) } else { found });
        Ok(())
    }

    /// Parses a character, a range or an escape, and adds it to `set`.
    fn item(&mut self, c: char, set: &mut ClassUnicode) -> Wrong<()> {
        let low = match self.single(c)? {
            Meaning::Char(low) => low,
            Meaning::Chars(all) => {
                all.iter().for_each(|c| set.push(ClassUnicodeRange::new(*c, *c)));
                return Ok(());
            }
            Meaning::Set(found) => {
                set.union(&found);
                return Ok(());
            }
        };
        let high = if self.begins_range() { self.range_end()? } else { None };
        let high = high.unwrap_or(low);
        if high < low {
            return Err("empty range in char class".into());
        }
        set.push(ClassUnicodeRange::new(low, high));
        Ok(())
    }

    fn single(&mut self, c: char) -> Wrong<Meaning> {
        if c != '\\' {
            return Ok(Meaning::Char(c));
        }
        if self.take("b") { Ok(Meaning::Char('\x08')) } else { self.meaning() }
    }

    /// Whether a hyphen comes next that makes a range with the character behind it.
    fn begins_range(&self) -> bool {
        let next = self.source.get(self.at + 1).copied();
        let after = self.source.get(self.at + 2).copied();
        self.peek() == Some('-')
            && match next {
                None | Some(']' | '[') => false,
                Some('&') => after != Some('&'),
                Some(_) => true,
            }
    }

    /// Parses the end of a range; None where the hyphen stands for itself after all: `[a-\d]`.
    fn range_end(&mut self) -> Wrong<Option<char>> {
        let begin = self.at;
        self.at += 1;
        let Some(c) = self.next() else { return Err(PREMATURE.into()) };
        if let Meaning::Char(high) = self.single(c)? {
            return Ok(Some(high));
        }
        self.at = begin;
        Ok(None)
    }
}

fn meet(left: Option<ClassUnicode>, right: ClassUnicode) -> ClassUnicode {
    match left {
        Some(mut left) => {
            left.intersect(&right);
            left
        }
        None => right,
    }
}
