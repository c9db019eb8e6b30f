//! A small case for the tests of this folder.

use crate::record::summary::{Case, Measured, Spread};

/// A case with one metric, its figures by contender, and its ranking.
pub(super) fn case(metric: &str, numbers: &[(&str, &[f64])], ranking: &[&[&str]]) -> Case {
    let result = |(name, all): &(&str, &[f64])| {
        let numbers = Spread::of(all).map(|spread| (metric.to_owned(), spread)).into_iter().collect();
        Measured { contender: (*name).into(), numbers, ..Measured::default() }
    };
    Case {
        metrics: vec![metric.into()],
        results: numbers.iter().map(result).collect(),
        ranking: ranking.iter().map(|group| group.iter().map(|name| (*name).to_owned()).collect()).collect(),
        ..Case::default()
    }
}
