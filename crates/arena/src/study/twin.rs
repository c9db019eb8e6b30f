//! The twin: one of the contenders takes part a second time, as if it were another. Any difference that a run shows
//! between the two is noise, and tells how reliable its other differences are.

use super::recipe::Entry;
use crate::record::TWIN;

/// Rounds that a run needs for a twin: fewer show hardly any difference.
const ROUNDS: u32 = 3;

/// The contender of which there is a twin in this run; the same one when the run is resumed. One with stock limits is
/// drawn only where there is no other: it fails too many requests to be ranked, so that its twin would show nothing.
pub fn original<'a>(present: &[&'a Entry], rounds: u32, seed: u64) -> Option<&'a Entry> {
    let raised: Vec<&Entry> = present.iter().copied().filter(|entry| !entry.stock).collect();
    let drawn = if raised.is_empty() { present } else { &raised };
    let place = (seed % drawn.len().max(1) as u64) as usize;
    drawn.get(place).copied().filter(|_| rounds >= ROUNDS)
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
    fn one_with_stock_limits_has_a_twin_only_where_there_is_no_other() {
        let (thin, puma, unicorn) = (entry("thin", true), entry("puma", false), entry("unicorn", false));
        let drawn = |present: &[&Entry], seed| original(present, ROUNDS, seed).map(|entry| entry.recipe.clone());
        let names: Vec<_> = (0..4).filter_map(|seed| drawn(&[&thin, &puma, &unicorn], seed)).collect();
        assert_eq!(names, ["puma", "unicorn", "puma", "unicorn"]);
        assert_eq!(drawn(&[&thin], 7), Some("thin".to_owned()));
        assert_eq!((drawn(&[], 7), original(&[&puma], ROUNDS - 1, 7).is_none()), (None, true));
    }
}
