//! One of the contenders takes part a second time, as if it were another: what a run tells apart between the two is no
//! difference of theirs, and shows what its other differences are worth.

use super::recipe::Entry;
use crate::record::TWIN;

/// Fewer rounds tell hardly anybody apart, and have no twin.
const ROUNDS: u32 = 3;

/// Of which contender there is a twin in this run: the same one when the run goes on.
pub fn original<'a>(present: &[&'a Entry], rounds: u32, seed: u64) -> Option<&'a Entry> {
    let place = (seed % present.len().max(1) as u64) as usize;
    present.get(place).copied().filter(|_| rounds >= ROUNDS)
}

/// The twin of this one.
pub fn of(entry: &Entry) -> Entry {
    Entry { name: Some(TWIN.to_owned()), ..entry.clone() }
}
