//! Tests of the machine on the text at its position: characters, places, and repetitions of a group's match.

use std::sync::OnceLock;

use super::charset;
use super::machine::{Machine, UNSET};
use super::steps::Set;
use super::syntax::Place;
use super::text;

impl Machine<'_> {
    /// The position behind one character of the set.
    pub(super) fn one(&self, set: usize, position: usize) -> Option<usize> {
        let byte = *self.text.get(position)?;
        let set: &Set = &self.program.sets[set];
        if byte < 0x80 || self.program.bytes {
            return set.has_low(byte).then_some(position + 1);
        }
        let (c, length) = text::decode(self.text, position);
        set.has_high(c).then_some(position + length)
    }

    pub(super) fn before(&self, position: usize) -> usize {
        if self.program.bytes { position.saturating_sub(1) } else { text::before(self.text, position) }
    }

    pub(super) fn group(&self, group: u32) -> Option<(usize, usize)> {
        let slot = group as usize * 2;
        let (start, end) = (self.slots[slot], self.slots[slot + 1]);
        (start != UNSET && end != UNSET && start <= end).then_some((start, end))
    }

    /// The position behind a repetition of the text that the last matched one of these groups has taken, None where the
    /// text does not repeat it; and the most bytes that were compared to find that.
    pub(super) fn same(&self, groups: &[u32], fold: bool) -> (Option<usize>, usize) {
        let Some((start, end)) = groups.iter().rev().find_map(|group| self.group(*group)) else { return (None, 0) };
        let said = &self.text[start..end];
        let rest = &self.text[self.position..];
        if !fold {
            let compared = if rest.len() < said.len() { 0 } else { said.len() };
            return (rest.starts_with(said).then_some(self.position + said.len()), compared);
        }
        let mut one = 0;
        let mut two = 0;
        while one < said.len() {
            if two >= rest.len() {
                return (None, one);
            }
            let ((a, a_length), (b, b_length)) = (text::decode(said, one), text::decode(rest, two));
            let small = |c| char::from_u32(c).map(|c| c.to_lowercase().collect::<String>());
            if a != b && (small(a).is_none() || small(a) != small(b)) {
                return (None, one);
            }
            (one, two) = (one + a_length, two + b_length);
        }
        (Some(self.position + two), one)
    }

    pub(super) fn is_at(&self, place: Place) -> bool {
        let at = self.position;
        let end = self.text.len();
        match place {
            Place::Start => at == 0,
            Place::End => at == end,
            Place::EndOrNewline => at == end || (at + 1 == end && self.text[at] == b'\n'),
            Place::LineStart => at == 0 || (self.text[at - 1] == b'\n' && at < end),
            Place::LineEnd => at == end || self.text[at] == b'\n',
            Place::Word { ascii } => self.is_boundary(ascii),
            Place::NotWord { ascii } => !self.is_boundary(ascii),
            Place::SearchStart => at == self.search,
        }
    }

    fn is_boundary(&self, ascii: bool) -> bool {
        let ascii = ascii || self.program.bytes;
        let word = |at: usize| match self.text.get(at) {
            None => false,
            Some(byte) if *byte < 0x80 || ascii => byte.is_ascii_alphanumeric() || *byte == b'_',
            Some(_) => is_word(text::decode(self.text, at).0),
        };
        let before = self.position > 0 && word(self.before(self.position));
        before != word(self.position)
    }
}

/// Whether a character beyond ASCII is a word character in Unicode.
fn is_word(c: u32) -> bool {
    static WORD: OnceLock<Set> = OnceLock::new();
    let word = WORD.get_or_init(|| {
        let set = charset::posix("word", false);
        let ranges: Vec<(u32, u32)> =
            set.iter().flat_map(|set| set.ranges()).map(|range| (range.start().into(), range.end().into())).collect();
        Set::new(&ranges, 128)
    });
    word.has_high(c)
}
