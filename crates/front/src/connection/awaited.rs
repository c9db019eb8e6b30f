//! What the task of a connection wants to be woken for, as hyper does not ask again by itself.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

const NOTHING: u8 = 0;
const END: u8 = 1;
const FLUSH: u8 = 2;

/// Nothing, the end of the request, or the moment when all is written.
///
/// A task that waits for the second does so for a reason that comes first: it breaks a response off, or the request is
/// answered and the next one waits.
#[derive(Debug, Default)]
pub(crate) struct Awaited(AtomicU8);

impl Awaited {
    /// Waits for nothing.
    pub(crate) fn clear(&self) {
        self.0.store(NOTHING, Relaxed);
    }

    /// Waits for the end of the request, if something is held for then.
    pub(crate) fn end_if(&self, is_something_held: bool) {
        if self.0.load(Relaxed) != FLUSH {
            self.0.store(if is_something_held { END } else { NOTHING }, Relaxed);
        }
    }

    /// Waits until all is written.
    pub(crate) fn flush(&self) {
        self.0.store(FLUSH, Relaxed);
    }

    pub(crate) fn is_end(&self) -> bool {
        self.0.load(Relaxed) == END
    }

    pub(crate) fn is_flush(&self) -> bool {
        self.0.load(Relaxed) == FLUSH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_until_all_is_written_waits_for_nothing_else() {
        let awaited = Awaited::default();
        let is = |is_end, is_flush| assert_eq!((awaited.is_end(), awaited.is_flush()), (is_end, is_flush));
        is(false, false);
        awaited.end_if(true);
        is(true, false);
        awaited.end_if(false);
        is(false, false);
        awaited.end_if(true);
        awaited.flush();
        is(false, true);
        awaited.end_if(true);
        awaited.end_if(false);
        is(false, true);
        awaited.clear();
        is(false, false);
    }
}
