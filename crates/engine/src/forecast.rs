//! Predicts whether a request that joins the queue now would reach a worker before its queue deadline, and recognizes
//! an overload.
//!
//! A refusal is final and a wait is not, so a request is refused on evidence alone. A queue that stands still for a
//! moment (a slow database, a frozen worker, a busy machine) says nothing about how fast it moves afterwards. The
//! forecast therefore uses the best recent rate of all requests that began, and only if the queue has moved steadily
//! for long enough to be compared with it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length of the intervals (spans) in which the requests that begin are counted.
const SPAN: Duration = Duration::from_millis(100);
/// Number of spans that are kept: 40 s.
const SPANS_MAX: usize = 400;
/// Number of intervals that are compared to judge whether the queue moves steadily, and whether it grows steadily.
const QUARTERS: usize = 4;

/// The wait after which a response is late for most clients. Before it, even an overload is served in order.
const LATE: Duration = Duration::from_secs(1);
/// The longest stretch of time by which an overload is recognized; a longer one would notice its end too late.
const OVERLOAD_MAX: Duration = Duration::from_secs(10);
/// For how long a lost request is evidence that the overload cannot be served in time.
const LOSS: Duration = Duration::from_secs(30);

/// Numbers of requests in one span, or in several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    /// Requests that arrived, refused ones included, without those whose clients left before a wait was [`LATE`].
    arrived: u64,
    /// Requests that began to run.
    begun: u64,
}

/// Counts the requests that arrive and begin, and remembers since when the queue has not been empty.
#[derive(Debug)]
pub struct Forecast {
    /// The spans, the current one last.
    spans: VecDeque<Span>,
    /// End of the current span.
    span_ends: Instant,
    /// Time since which the queue has not been empty; `None` if it is empty.
    waiting_since: Option<Instant>,
    /// Time when a request was last refused, or timed out in the queue.
    lost: Option<Instant>,
}

impl Forecast {
    /// A forecast for an empty queue, before any request.
    pub fn new(now: Instant) -> Forecast {
        let spans = VecDeque::from([Span::default()]);
        Forecast { spans, span_ends: now + SPAN, waiting_since: None, lost: None }
    }

    /// Adds the counts of another forecast, as if both queues had been one. Spans are matched from the newest to the
    /// oldest, although those of the two forecasts end at moments that are up to one length apart.
    pub fn join(&mut self, mut other: Forecast, now: Instant) {
        self.advance(now);
        other.advance(now);
        let missing = other.spans.len().saturating_sub(self.spans.len());
        (0..missing).for_each(|_| self.spans.push_front(Span::default()));
        for (mine, theirs) in self.spans.iter_mut().rev().zip(other.spans.iter().rev()) {
            mine.arrived += theirs.arrived;
            mine.begun += theirs.begun;
        }
        self.waiting_since = [self.waiting_since, other.waiting_since].into_iter().flatten().min();
        self.lost = self.lost.max(other.lost);
    }

    /// Counts a request that arrives, whether it begins at once, waits or is refused.
    pub fn arrives(&mut self, now: Instant) {
        self.advance(now);
        if let Some(current) = self.spans.back_mut() {
            current.arrived += 1;
        }
    }

    /// Counts a request that begins to run, whether it waited or not.
    pub fn begins(&mut self, now: Instant) {
        self.advance(now);
        if let Some(current) = self.spans.back_mut() {
            current.begun += 1;
        }
    }

    /// Records that the client of a request that arrived at `arrived` has left the queue. If it did so before the wait
    /// was [`LATE`], the wait was not the reason: the request counts as if it had not come. After that it still counts,
    /// since a client that has waited in vain is what an overload looks like.
    pub fn leaves(&mut self, arrived: Instant, now: Instant) {
        if now.saturating_duration_since(arrived) >= LATE {
            return;
        }
        self.advance(now);
        // The end of a span is the beginning of the next one.
        let ago = self.span_ends.saturating_duration_since(arrived).saturating_sub(Duration::from_nanos(1));
        if let Some(span) = self.spans.iter_mut().nth_back(spans_in(ago)) {
            span.arrived = span.arrived.saturating_sub(1);
        }
    }

    /// Records that a request was refused or has timed out in the queue.
    pub fn loses(&mut self, now: Instant) {
        self.lost = Some(now);
    }

    /// Records that the queue is empty no longer.
    pub fn fills(&mut self, now: Instant) {
        self.waiting_since = Some(now);
    }

    /// Records that the queue is empty.
    pub fn empties(&mut self) {
        self.waiting_since = None;
    }

    /// Whether a request that joins `waiting` others, and may wait for `patience`, would not begin in time. The first
    /// of the others has waited for `first_waited`.
    ///
    /// True if the queue
    /// - has not been empty for half of `patience`, and its first request has waited for a quarter of it,
    /// - has moved steadily meanwhile: after a standstill, and right after its end, there is no evidence,
    /// - and would take a quarter longer than allowed even at the best rate of the recent past (four times `patience`,
    ///   at most 40 s): at half of that rate if, under overload, the newest requests get the other half
    ///   ([`Self::favours_newest`]).
    pub fn is_too_late(&mut self, waiting: usize, first_waited: Duration, patience: Duration, now: Instant) -> bool {
        let Some(since) = self.waiting_since else { return false };
        let watched = now.saturating_duration_since(since);
        if watched < patience / 2 || first_waited < patience / 4 {
            return false;
        }
        self.advance(now);
        if !self.is_steady(watched, patience) {
            return false;
        }
        let share = if self.has_lost(now) && self.is_overloaded(first_waited, now) { 0.5 } else { 1.0 };
        let needed = (waiting + 1) as f64 / (share * self.best_rate(patience));
        needed > patience.as_secs_f64() * 1.25
    }

    /// Whether half of the requests that begin should be the newest, since an overload makes all late that are served
    /// in order. The first request has waited for `first_waited` of its `patience`.
    ///
    /// True under overload. But as long as no request is lost, none should be lost for the sake of newer ones: then
    /// the last quarter of a request's patience is kept for its turn.
    pub fn favours_newest(&mut self, first_waited: Duration, patience: Duration, now: Instant) -> bool {
        let has_time = first_waited < patience - patience / 4;
        (has_time || self.has_lost(now)) && self.is_overloaded(first_waited, now)
    }

    /// Whether, in each quarter of the time for which the first request has waited (at least [`LATE`]), at least five
    /// requests arrived for four that began. Clients that send their next request after an answer never cause this,
    /// however many they are; nor does a burst, nor what has piled up during a standstill.
    fn is_overloaded(&mut self, first_waited: Duration, now: Instant) -> bool {
        if first_waited < LATE {
            return false;
        }
        self.advance(now);
        let quarter = spans_in(first_waited.min(OVERLOAD_MAX)) / QUARTERS;
        if self.spans.len() <= QUARTERS * quarter {
            return false;
        }
        (0..QUARTERS).all(|number| {
            let Span { arrived, begun } = self.quarter(number, quarter);
            begun > 0 && arrived * 4 >= begun * 5
        })
    }

    fn has_lost(&self, now: Instant) -> bool {
        self.lost.is_some_and(|lost| now.saturating_duration_since(lost) < LOSS)
    }

    /// The sums of one of four intervals of `quarter` spans, the newest first. The current span does not count, since
    /// it is not over.
    fn quarter(&self, number: usize, quarter: usize) -> Span {
        let spans = self.spans.iter().rev().skip(1 + number * quarter).take(quarter);
        spans.fold(Span::default(), |sum, span| Span {
            arrived: sum.arrived + span.arrived,
            begun: sum.begun + span.begun,
        })
    }

    /// Adds spans up to `now`.
    fn advance(&mut self, now: Instant) {
        if now < self.span_ends {
            return;
        }
        let passed = now.saturating_duration_since(self.span_ends).as_nanos() / SPAN.as_nanos() + 1;
        let passed = usize::try_from(passed).unwrap_or(usize::MAX);
        let added = passed.min(SPANS_MAX);
        self.spans.extend(std::iter::repeat_n(Span::default(), added));
        self.spans.drain(..self.spans.len().saturating_sub(SPANS_MAX));
        self.span_ends += SPAN * u32::try_from(passed).unwrap_or(u32::MAX);
    }

    /// Whether requests began in each of four parts of the last half of `patience`, in none of them fewer than a
    /// quarter of those in another.
    fn is_steady(&self, watched: Duration, patience: Duration) -> bool {
        let quarter = spans_in(patience / 8).max(1);
        if spans_in(watched) < QUARTERS * quarter || self.spans.len() <= QUARTERS * quarter {
            return false;
        }
        let mut least_and_most = (u64::MAX, 0);
        for number in 0..QUARTERS {
            let begun = self.quarter(number, quarter).begun;
            least_and_most = (least_and_most.0.min(begun), least_and_most.1.max(begun));
        }
        let (least, most) = least_and_most;
        least > 0 && most <= 4 * least
    }

    /// The best rate, in requests per second, of any stretch of a quarter of `patience`. The current span counts as a
    /// whole one, which never makes the rate higher than it was.
    fn best_rate(&self, patience: Duration) -> f64 {
        let stretch = spans_in(patience / 4).clamp(1, self.spans.len());
        let from = self.spans.len().saturating_sub(spans_in(4 * patience).max(stretch));
        let mut sum: u64 = self.spans.iter().skip(from).take(stretch).map(|span| span.begun).sum();
        let mut best = sum;
        for at in from + stretch..self.spans.len() {
            sum = sum + self.spans[at].begun - self.spans[at - stretch].begun;
            best = best.max(sum);
        }
        best as f64 / (SPAN.as_secs_f64() * stretch as f64)
    }
}

fn spans_in(time: Duration) -> usize {
    usize::try_from(time.as_millis() / SPAN.as_millis()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const PATIENCE: Duration = Duration::from_secs(10);

    /// A queue that has not been empty for `watched`, while `begun` requests began at equal distances.
    fn watched(watched: Duration, begun: u32) -> (Forecast, Instant) {
        let start = Instant::now();
        let mut forecast = Forecast::new(start);
        forecast.fills(start);
        (0..begun).for_each(|at| forecast.begins(start + watched * at / begun));
        (forecast, start + watched)
    }

    fn is_too_late(of: (Forecast, Instant), waiting: usize) -> bool {
        let (mut forecast, now) = of;
        forecast.is_too_late(waiting, 5000 * MS, PATIENCE, now)
    }

    #[test]
    fn two_forecasts_become_one_that_has_seen_what_both_have() {
        let start = Instant::now();
        let seen = |from_ms: u32, arrivals_ms: &[u32]| {
            let mut forecast = Forecast::new(start + MS * from_ms);
            arrivals_ms.iter().for_each(|ms| forecast.arrives(start + MS * *ms));
            forecast.fills(start + MS * from_ms);
            forecast
        };
        let mut new = seen(240, &[250]);
        let mut old = seen(0, &[10, 110, 120]);
        old.loses(start);
        new.join(old, start + MS * 250);
        assert_eq!(new.spans.iter().map(|span| span.arrived).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!((new.waiting_since, new.lost), (Some(start), Some(start)));
        new.empties();
        new.join(Forecast::new(start + MS * 250), start + MS * 250);
        assert_eq!((new.waiting_since, new.lost), (None, Some(start)));
    }

    #[test]
    fn a_request_whose_client_leaves_soon_is_taken_out_of_the_span_in_which_it_arrived() {
        let start = Instant::now();
        let mut forecast = Forecast::new(start);
        [0, 99, 100, 250].iter().for_each(|ms| forecast.arrives(start + MS * *ms));
        let arrived = |forecast: &Forecast| forecast.spans.iter().map(|span| span.arrived).collect::<Vec<_>>();
        assert_eq!(arrived(&forecast), [2, 1, 1]);
        forecast.leaves(start + 100 * MS, start + 250 * MS);
        assert_eq!(arrived(&forecast), [2, 0, 1]);
        forecast.leaves(start + 99 * MS, start + 310 * MS);
        assert_eq!(arrived(&forecast), [1, 0, 1, 0]);
        forecast.leaves(start, start + LATE);
        assert_eq!(arrived(&forecast), [1, 0, 1, 0], "it had waited for a second, so it still counts");
    }

    /// The limits found by bin/mutants.
    #[test]
    fn the_newest_are_favoured_from_a_second_on_at_five_arrivals_for_four_and_within_three_quarters_of_the_patience() {
        let start = Instant::now();
        let loaded = |arrivals: u32| {
            let mut forecast = Forecast::new(start);
            for span in 0..120 {
                (0..arrivals).for_each(|_| forecast.arrives(start + SPAN * span));
                (0..8).for_each(|_| forecast.begins(start + SPAN * span));
            }
            forecast
        };
        let now = start + SPAN * 120;
        let favours = |arrivals, waited| loaded(arrivals).favours_newest(waited, PATIENCE, now);
        assert_eq!([9, 10].map(|arrivals| favours(arrivals, LATE)), [false, true]);
        assert_eq!([LATE - MS, 7499 * MS, 7500 * MS].map(|waited| favours(10, waited)), [false, true, false]);
        let mut lossy = loaded(10);
        lossy.loses(now);
        assert!(lossy.favours_newest(7500 * MS, PATIENCE, now), "a request is lost anyway");
        assert_eq!([LOSS - MS, LOSS].map(|later| lossy.has_lost(now + later)), [true, false]);
    }

    #[test]
    fn a_standstill_says_nothing_while_it_lasts_and_right_after_it() {
        let (mut forecast, stopped) = watched(6000 * MS, 120);
        let goes_on = stopped + 3000 * MS;
        assert!(!forecast.is_too_late(300, 5000 * MS, PATIENCE, goes_on));
        (0..20).for_each(|at| forecast.begins(goes_on + 50 * MS * at));
        assert!(!forecast.is_too_late(300, 5000 * MS, PATIENCE, goes_on + 1000 * MS));
        (20..160).for_each(|at| forecast.begins(goes_on + 50 * MS * at));
        assert!(forecast.is_too_late(300, 5000 * MS, PATIENCE, goes_on + 8000 * MS));
    }

    /// Found by bin/mutants: nothing else notices when the end of the wait is not recorded.
    #[test]
    fn a_queue_that_has_become_empty_says_nothing() {
        let (mut forecast, now) = watched(6000 * MS, 120);
        assert!(forecast.is_too_late(300, 5000 * MS, PATIENCE, now));
        forecast.empties();
        assert!(!forecast.is_too_late(300, 5000 * MS, PATIENCE, now));
    }

    #[test]
    fn a_long_silence_costs_nothing() {
        let mut forecast = Forecast::new(Instant::now());
        forecast.begins(Instant::now() + Duration::from_secs(1_000_000));
        assert_eq!(forecast.spans.len(), SPANS_MAX);
    }

    /// 1300 ms is just over a compared quarter (1200 ms), 5000 ms more than all four.
    #[test]
    fn a_standstill_says_nothing_however_short_or_long_it_is() {
        for stands in [1300, 3000, 5000, 9000] {
            let (mut forecast, stopped) = watched(6000 * MS, 120);
            assert!(!forecast.is_too_late(300, 5000 * MS, PATIENCE, stopped + stands * MS), "{stands} ms");
        }
    }

    /// 20 a second for 4.8 s, then 10 or 2 a second in the last quarter.
    #[test]
    fn a_rate_that_halves_is_steady_and_one_that_falls_to_a_tenth_is_not() {
        for (every_ms, is_steady) in [(100, true), (500, false)] {
            let (mut forecast, from) = watched(4800 * MS, 96);
            (0..1200 / every_ms).for_each(|at| forecast.begins(from + at * every_ms * MS));
            assert_eq!(forecast.is_too_late(300, 5000 * MS, PATIENCE, from + 1200 * MS), is_steady, "{every_ms} ms");
        }
    }

    /// 1000 a second for 2 s, then 20 a second for 40 s.
    #[test]
    fn the_best_rate_is_that_of_a_short_stretch_and_not_the_mean_and_is_forgotten() {
        let start = Instant::now();
        let mut forecast = Forecast::new(start);
        (0..2000).for_each(|at| forecast.begins(start + MS * at));
        let slow = start + 2000 * MS;
        forecast.fills(slow);
        (0..600).for_each(|at| forecast.begins(slow + 50 * MS * at));
        assert!(!forecast.is_too_late(5000, 5000 * MS, PATIENCE, slow + 30_000 * MS));
        assert!(forecast.is_too_late(11_000, 5000 * MS, PATIENCE, slow + 30_000 * MS));
        (600..800).for_each(|at| forecast.begins(slow + 50 * MS * at));
        assert!(forecast.is_too_late(300, 5000 * MS, PATIENCE, slow + 40_000 * MS));
    }

    /// 100 a second, and a span has just begun.
    #[test]
    fn the_current_span_is_not_compared_since_it_is_not_over() {
        let start = Instant::now();
        let mut forecast = Forecast::new(start);
        forecast.fills(start);
        (0..100).for_each(|at| forecast.begins(start + 10 * MS * at));
        assert!(forecast.is_too_late(300, 500 * MS, 1000 * MS, start + 1000 * MS));
    }

    /// 20 a second: in 12.5 s, 250, the request itself among them.
    #[test]
    fn evidence_begins_at_half_of_the_patience_and_refusal_beyond_a_quarter_more_than_it() {
        assert!(!is_too_late(watched(6000 * MS, 120), 249) && is_too_late(watched(6000 * MS, 120), 250));
        assert!(!is_too_late(watched(4900 * MS, 98), 300) && is_too_late(watched(5000 * MS, 100), 300));
        let (mut forecast, now) = watched(6000 * MS, 120);
        assert!(!forecast.is_too_late(300, 2499 * MS, PATIENCE, now));
        assert!(forecast.is_too_late(300, 2500 * MS, PATIENCE, now));
        // With a patience of half a second, four spans must have passed since the queue filled.
        for (filled, is_late) in [(700, false), (600, true)] {
            let start = Instant::now();
            let mut forecast = Forecast::new(start);
            (0..100).for_each(|at| forecast.begins(start + 10 * MS * at));
            forecast.fills(start + filled * MS);
            assert_eq!(forecast.is_too_late(300, 300 * MS, 500 * MS, start + 1000 * MS), is_late, "{filled} ms");
        }
    }
}
