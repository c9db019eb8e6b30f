//! The twin: one of the contenders takes part a second time, as if it were another. Any difference that a run shows
//! between the two is noise, and tells how reliable its other differences are.

use super::recipe::Entry;
use crate::record::TWIN;

/// Rounds that a run must be allowed for a twin: fewer show hardly any difference.
const ROUNDS: u32 = 3;

/// Returns the contender that takes part twice in a run of at most `rounds` rounds, drawn by the seed of the run, so
/// that it is the same one when the run is resumed.
/// None with stock limits is drawn: it fails too many requests to be ranked, so that its twin would show nothing.
pub fn original<'a>(present: &[&'a Entry], rounds: u32, seed: u64) -> Option<&'a Entry> {
    let raised: Vec<&Entry> = present.iter().copied().filter(|entry| !entry.stock).collect();
    let place = (seed % raised.len().max(1) as u64) as usize;
    raised.get(place).copied().filter(|_| rounds >= ROUNDS)
}

/// The twin of this contender.
pub fn of(entry: &Entry) -> Entry {
    Entry { name: Some(TWIN.to_owned()), ..entry.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, stock: bool) -> Entry {
        toml::from_str(&format!("recipe = \"{name}\"\nworkers = 1\nthreads = 1\nstock = {stock}")).expect("an entry")
    }

    #[test]
    fn one_with_stock_limits_has_no_twin() {
        let (thin, puma, unicorn) = (entry("thin", true), entry("puma", false), entry("unicorn", false));
        let drawn = |present: &[&Entry], seed| original(present, ROUNDS, seed).map(|entry| entry.recipe.clone());
        let names: Vec<_> = (0..4).filter_map(|seed| drawn(&[&thin, &puma, &unicorn], seed)).collect();
        assert_eq!(names, ["puma", "unicorn", "puma", "unicorn"]);
        assert_eq!(drawn(&[&thin], 7), None);
        assert_eq!((drawn(&[], 7), original(&[&puma], ROUNDS - 1, 7).is_none()), (None, true));
    }
}
