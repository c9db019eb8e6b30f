//! The twin: one of the contenders takes part a second time, as if it were another. Any difference that a run shows
//! between the two is noise, and tells how reliable its other differences are.

use super::recipe::Entry;
use crate::record::TWIN;

/// Rounds that a run needs for a twin: fewer show hardly any difference.
const ROUNDS: u32 = 3;

/// The contender of which there is a twin in this run; the same one when the run is resumed.
pub fn original<'a>(present: &[&'a Entry], rounds: u32, seed: u64) -> Option<&'a Entry> {
    let place = (seed % present.len().max(1) as u64) as usize;
    present.get(place).copied().filter(|_| rounds >= ROUNDS)
}

/// The twin of this contender.
pub fn of(entry: &Entry) -> Entry {
    Entry { name: Some(TWIN.to_owned()), ..entry.clone() }
}
