//! The event for which the connection's task must be woken explicitly, since hyper does not poll again by itself.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

const NOTHING: u8 = 0;
const END: u8 = 1;
const FLUSH: u8 = 2;

/// The awaited event: none, the end of the request, or the flush of all output.
///
/// A flush takes precedence: the task is about to break a response off, or the request is answered and the next one
/// waits.
#[derive(Debug, Default)]
pub(crate) struct Awaited(AtomicU8);

impl Awaited {
    /// Awaits nothing.
    pub(crate) fn clear(&self) {
        self.0.store(NOTHING, Relaxed);
    }

    /// Awaits the end of the request if input is held back until then, unless a flush is awaited.
    pub(crate) fn end_if(&self, is_something_held: bool) {
        if self.0.load(Relaxed) != FLUSH {
            self.0.store(if is_something_held { END } else { NOTHING }, Relaxed);
        }
    }

    /// Awaits the flush of all output.
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
