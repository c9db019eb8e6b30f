//! Sizes of responses. A tool that looks at no response reports how many bytes it was sent: if these were fewer than as
//! many right responses have, it was answered otherwise than the load that checks them.

/// Size of a response in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// With its head, as it was sent.
    pub whole: u64,
    /// The body alone, without the coding in which it was sent.
    pub body: u64,
}

/// The most bytes that the right responses to a tool had on average. It counts the bytes of other responses among
/// theirs, so they may have had fewer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeanSize {
    /// With their heads, as they were sent.
    Whole(f64),
    /// Bodies alone.
    Body(f64),
}

/// How much smaller than the smallest right response those to a tool may be on average, as a share of it: a head may
/// have a field less, or a number with fewer digits, at some times; a redirect is right to wrk.
const SLACK_SHARE: f64 = 0.02;
/// The same for bodies: when a connection was closed early, tools that count bodies take a response without one, or
/// with a part of it, for a whole one.
const SLACK_SHARE_OF_BODIES: f64 = 0.05;
/// Bytes by which they may be smaller in addition.
const SLACK_BYTES: f64 = 8.0;
/// Where right bodies differ in length: the part of the smallest right response that those to a tool have at least. A
/// page that grows with each request is twice as long after a load as it was on average.
const VARIED_PART: f64 = 1.0 / 3.0;

impl Size {
    /// The smaller size of each kind.
    pub(crate) fn smaller(self, other: Size) -> Size {
        Size { whole: self.whole.min(other.whole), body: self.body.min(other.body) }
    }
}

impl MeanSize {
    /// Says so if these cannot all have been right, where `least` is the size of the smallest right response to the
    /// same request. `is_fixed`: whether the bodies of all right responses have the same length.
    pub fn too_small(self, least: Size, is_fixed: bool) -> Option<String> {
        let (mean, least, slack, what) = match self {
            MeanSize::Whole(mean) => (mean, least.whole as f64, SLACK_SHARE, "an answer, with its head,"),
            MeanSize::Body(mean) => (mean, least.body as f64, SLACK_SHARE_OF_BODIES, "a body"),
        };
        let bound = if is_fixed { least * (1.0 - slack) - SLACK_BYTES } else { least * VARIED_PART };
        let words = || {
            format!(
                "{what} had at most {mean:.0} bytes on average, and the smallest right one in the load that checks \
                 all answers has {least:.0}"
            )
        };
        (mean < bound).then(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_smaller_than_any_right_response_is_found_and_what_may_be_one_is_not() {
        let least = Size { whole: 93, body: 14 };
        let of = |mean: MeanSize, is_fixed: bool| mean.too_small(least, is_fixed).is_some();
        // A `Hello, World!` without its body is 15 bytes shorter; a connection that is kept may save a field of ten.
        assert!(of(MeanSize::Whole(78.0), true) && !of(MeanSize::Whole(86.0), true));
        assert!(!of(MeanSize::Whole(500.0), true) && !of(MeanSize::Whole(93.0), true));
        assert!(of(MeanSize::Body(0.0), true) && !of(MeanSize::Body(6.0), true));
        // Where bodies differ, only what is far smaller.
        assert!(of(MeanSize::Whole(30.0), false) && !of(MeanSize::Whole(47.0), false));
        let large = Size { whole: 10_000_200, body: 10_000_000 };
        let small = |mean: f64| MeanSize::Whole(mean).too_small(large, true);
        assert!(small(9_950_000.0).is_none() && small(9_700_000.0).is_some());
        // Two of 100 bodies that did not come.
        let body = |mean: f64| MeanSize::Body(mean).too_small(large, true);
        assert!(body(9_800_000.0).is_none() && body(9_000_000.0).is_some());
        let words = "an answer, with its head, had at most 78 bytes on average, and the smallest right one in the load \
                     that checks all answers has 93";
        assert_eq!(MeanSize::Whole(78.0).too_small(least, true).as_deref(), Some(words));
    }

    #[test]
    fn the_smallest_of_each_kind_counts() {
        let one = Size { whole: 100, body: 20 };
        let other = Size { whole: 90, body: 30 };
        assert_eq!(one.smaller(other), Size { whole: 90, body: 20 });
    }
}
