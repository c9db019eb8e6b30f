//! A small case for the tests of this folder.

use crate::record::summary::{Case, Measured};

/// A case with one metric, its figures by contender, and its ranking.
pub(super) fn case(metric: &str, numbers: &[(&str, &[f64])], ranking: &[&[&str]]) -> Case {
    let result = |(name, all): &(&str, &[f64])| Measured::of(name, &[(metric, *all)]);
    Case {
        metrics: vec![metric.into()],
        results: numbers.iter().map(result).collect(),
        ranking: ranking.iter().map(|group| group.iter().map(|name| (*name).to_owned()).collect()).collect(),
        ..Case::default()
    }
}
