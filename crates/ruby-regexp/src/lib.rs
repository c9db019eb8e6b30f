//! Regular expressions in Ruby's dialect.
//!
//! No other crate has that dialect, and none can be interrupted. So a pattern is parsed here (`parser.rs`) and runs in
//! one of two ways: as an automaton of regex-automata (`plain.rs`) in linear time, wherever that gives the results of
//! Ruby; else on our own backtracking machine (`machine.rs`), which can be interrupted.

mod brackets;
pub mod cache;
mod charset;
mod escapes;
mod first;
mod groups;
mod machine;
mod memo;
mod parser;
mod plain;
mod program;
mod sight;
mod steps;
mod syntax;
pub mod text;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input};

pub use machine::{Stop, Tick, UNSET};

use charset::Letters;
use parser::Flags;
use plain::Plain;
use steps::Program;
use syntax::Parsed;

/// `Regexp::IGNORECASE`
pub const IGNORECASE: u32 = 1;
/// `Regexp::EXTENDED`
pub const EXTENDED: u32 = 2;
/// `Regexp::MULTILINE`
pub const MULTILINE: u32 = 4;
/// `Regexp::NOENCODING`: a pattern of bytes.
pub const NOENCODING: u32 = 32;

/// Most bytes of a pattern's source.
const SOURCE_MAX: usize = 1 << 20;

/// The two compiled forms of a pattern.
#[derive(Debug)]
enum Way {
    Plain(Plain),
    Machine(Box<Program>),
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    /// The source of the pattern as it was written.
    pub source: Vec<u8>,
    /// The options: [`IGNORECASE`], [`EXTENDED`], [`MULTILINE`] and [`NOENCODING`], added up.
    pub options: u32,
    /// Names of groups, each with the numbers of its groups.
    pub names: Vec<(String, Vec<u32>)>,
    /// Number of capture groups.
    pub groups: u32,
    /// Estimated bytes of memory of the pattern. Never changes.
    pub bytes: usize,
    parsed: Parsed,
    for_text: OnceLock<Result<Way, String>>,
    for_bytes: OnceLock<Result<Way, String>>,
}

impl Pattern {
    /// Parses and compiles a pattern; the error is Ruby's message without the pattern's source.
    pub fn new(source: &[u8], options: u32) -> Result<Pattern, String> {
        if source.len() > SOURCE_MAX {
            return Err("too long a pattern".into());
        }
        let binary = std::str::from_utf8(source).is_err() || (options & NOENCODING != 0 && has_byte_escape(source));
        let characters: Vec<char> = match std::str::from_utf8(source) {
            Ok(text) if !binary => text.chars().collect(),
            _ => source.iter().map(|byte| char::from(*byte)).collect(),
        };
        let flags = Flags {
            fold: options & IGNORECASE != 0,
            extended: options & EXTENDED != 0,
            dotall: options & MULTILINE != 0,
            letters: if binary { Letters::Ascii } else { Letters::Default },
        };
        let parsed = parser::parse(&characters, flags, binary)?;
        let mut pattern = Pattern {
            source: source.to_vec(),
            options,
            names: parsed.names.clone(),
            groups: parsed.groups,
            bytes: 0,
            parsed,
            for_text: OnceLock::new(),
            for_bytes: OnceLock::new(),
        };
        let way = match pattern.way(binary)? {
            Way::Plain(plain) => {
                let program = plain.instead.get().and_then(Option::as_ref);
                plain.regex.memory_usage() + program.map_or(0, |program| program.memory())
            }
            Way::Machine(program) => program.memory(),
        };
        // Both forms are counted, though the second is compiled on first use: the number must not change later.
        pattern.bytes = 2 * way + pattern.source.len() * 16 + 512;
        Ok(pattern)
    }

    /// Whether a search takes linear time.
    pub fn is_linear(&self) -> bool {
        matches!(self.way(self.parsed.binary), Ok(Way::Plain(_)))
    }

    /// Searches with the backtracking machine even where the pattern has an automaton, so that tests can compare the
    /// two. Returns the positions of the match and its groups.
    pub fn search_on_machine(
        &self,
        text: &[u8],
        start: usize,
        how: How,
        tick: Tick<'_>,
    ) -> Result<Option<Vec<usize>>, Stop> {
        let program = program::compile(&self.parsed, how.bytes || self.parsed.binary).map_err(|_| Stop::Stack)?;
        machine::search(&program, text, start, how.anchored, tick)
    }

    fn way(&self, bytes: bool) -> Result<&Way, &str> {
        let place = if bytes { &self.for_bytes } else { &self.for_text };
        let program = || program::compile(&self.parsed, bytes).map(Box::new);
        let made = place.get_or_init(|| match plain::compile(&self.parsed, bytes) {
            Some(mut plain) => {
                if plain.spans_only {
                    plain.instead = OnceLock::from(Some(program()?));
                }
                Ok(Way::Plain(plain))
            }
            None => program().map(Way::Machine),
        });
        made.as_ref().map_err(String::as_str)
    }

    /// Searches from byte `start` on. On a match, `slots` gets the byte positions of begin and end of the match and of
    /// each group, as many as there is room for; [`UNSET`] for a group that has not matched.
    pub fn search(
        &self,
        text: &[u8],
        start: usize,
        how: How,
        slots: &mut [usize],
        tick: Tick<'_>,
    ) -> Result<bool, Stop> {
        if start > text.len() {
            return Ok(false);
        }
        match self.way(how.bytes || self.parsed.binary) {
            Ok(Way::Plain(plain)) if plain.spans_only && slots.len() > 2 => {
                self.search_for_groups(plain, text, start, how, slots, tick)
            }
            Ok(Way::Plain(plain)) if plain.is_long(text.len() - start) => {
                self.long_search(plain, text, start, how, slots, tick)
            }
            Ok(Way::Plain(plain)) => Ok(plain_search(plain, text, start..text.len(), how.anchored, slots)),
            Ok(Way::Machine(program)) => machine_search(program, text, start, how.anchored, slots, tick),
            // The pattern compiled for text or for bytes, and is too large for the other.
            Err(_) => Err(Stop::Stack),
        }
    }

    /// Finds a match with the automaton, and its groups with the machine, which begins where the match begins.
    fn search_for_groups(
        &self,
        plain: &Plain,
        text: &[u8],
        start: usize,
        how: How,
        slots: &mut [usize],
        tick: Tick<'_>,
    ) -> Result<bool, Stop> {
        let mut span = [UNSET; 2];
        if !self.search(text, start, how, &mut span, tick)? {
            return Ok(false);
        }
        let Some(Some(program)) = plain.instead.get() else { return Err(Stop::Stack) };
        if !machine_search(program, text, span[0], true, slots, tick)? {
            // In rare nests of repetitions that can match nothing, the machine finds no match: all groups are unset.
            slots.fill(UNSET);
            slots[..2].copy_from_slice(&span);
        }
        Ok(true)
    }

    /// A search for which an automaton may need long, although it cannot be stopped. It is done in pieces where matches
    /// are short enough, else by the machine, which can.
    fn long_search(
        &self,
        plain: &Plain,
        text: &[u8],
        start: usize,
        how: How,
        slots: &mut [usize],
        tick: Tick<'_>,
    ) -> Result<bool, Stop> {
        if let Some(width) = plain.width {
            return search_in_pieces(plain, width, text, start, how.anchored, slots, tick);
        }
        let bytes = how.bytes || self.parsed.binary;
        let program = plain.instead.get_or_init(|| program::compile(&self.parsed, bytes).ok().map(Box::new));
        let found = match program {
            Some(program) => machine_search(program, text, start, how.anchored, slots, tick),
            None => Err(Stop::Stack),
        };
        match found {
            // An automaton needs no stack.
            Err(Stop::Stack) => Ok(plain_search(plain, text, start..text.len(), how.anchored, slots)),
            found => found,
        }
    }
}

/// Modes of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct How {
    /// Whether a match must begin at the start position.
    pub anchored: bool,
    /// Whether the text is not UTF-8, so that its characters are bytes.
    pub bytes: bool,
}

fn machine_search(
    program: &Program,
    text: &[u8],
    start: usize,
    anchored: bool,
    slots: &mut [usize],
    tick: Tick<'_>,
) -> Result<bool, Stop> {
    let mut found = machine::search(program, text, start, anchored, tick)?;
    if let Some([begin, end, ..]) = found.as_deref_mut() {
        // `\K` in a look-around may put the begin before the start, or behind the end.
        *begin = (*begin).clamp(start.min(*end), *end);
    }
    for (slot, position) in slots.iter_mut().zip(found.iter().flatten()) {
        *slot = *position;
    }
    Ok(found.is_some())
}

/// Looks for a match of at most `width` bytes, in one piece of the text after the other. Each search also gets the
/// `width` bytes behind its piece, where every match that begins in the piece ends, and `$` and `\b` see the whole
/// text. So the match is the one of a single search.
fn search_in_pieces(
    plain: &Plain,
    width: usize,
    text: &[u8],
    start: usize,
    anchored: bool,
    slots: &mut [usize],
    tick: Tick<'_>,
) -> Result<bool, Stop> {
    let mut at = start;
    loop {
        let next = at + plain.piece;
        if next.saturating_add(width) >= text.len() {
            return Ok(plain_search(plain, text, at..text.len(), anchored, slots));
        }
        // Not within a character.
        let next = next - (0..3_usize).take_while(|back| text[next - back] & 0xc0 == 0x80).count();
        let mut place = [UNSET; 2];
        if plain_search(plain, text, at..next + width, anchored, &mut place) && place[0] < next {
            return Ok(slots.is_empty() || plain_search(plain, text, at..next + width, anchored, slots));
        }
        if anchored {
            return Ok(false);
        }
        at = next;
        tick()?;
    }
}

fn plain_search(plain: &Plain, text: &[u8], range: Range<usize>, anchored: bool, slots: &mut [usize]) -> bool {
    const INLINE: usize = 16;
    let anchored = if anchored { Anchored::Yes } else { Anchored::No };
    let input = Input::new(text).range(range).anchored(anchored);
    let behind_all = |at: usize| plain.line_first && at == text.len() && text.last() == Some(&b'\n');
    if slots.is_empty() && !plain.line_first {
        return plain.regex.is_match(input);
    }
    if slots.len() <= 2 {
        let Some(found) = plain.regex.find(input).filter(|found| !behind_all(found.start())) else { return false };
        for (slot, position) in slots.iter_mut().zip([found.start(), found.end()]) {
            *slot = position;
        }
        return true;
    }
    let mut small = [None::<NonMaxUsize>; INLINE];
    let mut large = Vec::new();
    let found: &mut [Option<NonMaxUsize>] = if slots.len() <= INLINE {
        &mut small[..slots.len()]
    } else {
        large.resize(slots.len(), None);
        &mut large
    };
    if plain.regex.search_slots(&input, found).is_none() {
        return false;
    }
    for (slot, position) in slots.iter_mut().zip(found.iter()) {
        *slot = position.map_or(UNSET, NonMaxUsize::get);
    }
    !behind_all(slots[0])
}

/// Whether the source has an escape for a byte above 127, such as `\xff` or `\377`.
fn has_byte_escape(source: &[u8]) -> bool {
    let high = |digit: u8| matches!(digit, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F');
    source.windows(4).any(|four| match four {
        [b'\\', b'x', digit, low] => high(*digit) && low.is_ascii_hexdigit(),
        [b'\\', b'2' | b'3', one, two] => one.is_ascii_digit() && two.is_ascii_digit(),
        _ => false,
    })
}
