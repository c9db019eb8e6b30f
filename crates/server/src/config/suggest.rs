//! Did you mean: finds the known name nearest to a misspelt one.

use strsim::osa_distance;

/// Longest name that is compared.
const LONGEST: usize = 64;

/// The candidate that differs from `word` in the fewest characters, if few enough for a slip.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    if letters > LONGEST {
        return None;
    }
    let allowed = (letters / 3).clamp(1, 3);
    candidates
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || (word.len() > 3 && candidate.starts_with(word)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        let names = ["threads", "io-threads", "environment", "bind"];
        let near = |word| nearest(word, names.into_iter());
        assert_eq!(near("thread"), Some("threads"));
        assert_eq!(near("therads"), Some("threads"));
        assert_eq!(near("bnid"), Some("bind"));
        assert_eq!(near("env"), None);
        assert_eq!(near("envi"), Some("environment"));
        assert_eq!(near("zebra"), None);
    }
}
