//! A small case for the tests of this folder.

use crate::record::summary::Case;

/// A case with one metric, its figures by contender, and its ranking.
pub(super) fn case(metric: &str, numbers: &[(&str, &[f64])], ranking: &[&[&str]]) -> Case {
    let ranking = ranking.iter().map(|group| group.iter().map(|name| (*name).to_owned()).collect()).collect();
    Case { ranking, ..Case::of(metric, numbers) }
}
