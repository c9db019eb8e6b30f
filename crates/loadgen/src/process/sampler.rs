//! Samples a server's memory and processor time every half second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::lost::Lost;
use super::tree::{Tree, spent_by};

/// Short enough for a lasting peak, long enough not to disturb: a sample walks the page tables.
const EVERY: Duration = Duration::from_millis(500);

/// A thread that takes samples.
pub struct Sampler {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sampled>>,
}

/// The samples and their summary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampled {
    /// Highest proportional set size of all samples.
    pub pss_peak_kib: u64,
    /// Mean proportional set size.
    pub pss_mean_kib: f64,
    /// Highest resident set size.
    pub rss_peak_kib: u64,
    /// Most swapped memory.
    pub swap_peak_kib: u64,
    /// Processor time of ended processes that no other process of the server has taken over.
    pub lost_us: u64,
    /// The samples in which the server had memory.
    pub samples: Vec<ProcessSample>,
}

/// A sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessSample {
    /// Seconds since the first sample.
    pub at_s: f64,
    /// Processor time since the processes were started, with what was lost since the first sample.
    pub cpu_us: u64,
    /// Proportional set size: shared pages count in parts.
    pub pss_kib: u64,
}

impl Sampler {
    /// Starts the thread, which takes the first sample at once.
    pub fn start(tree: Tree) -> Sampler {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        let thread = thread::spawn(move || sample(&tree, &end));
        Sampler { is_over, thread: Some(thread) }
    }

    /// Takes a last sample and stops.
    pub fn stop(mut self) -> Sampled {
        self.end()
    }

    fn end(&mut self) -> Sampled {
        self.is_over.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return Sampled::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn sample(tree: &Tree, is_over: &AtomicBool) -> Sampled {
    let mut sampled = Sampled::default();
    let mut sum = 0;
    let mut lost = Lost::default();
    let begun = Instant::now();
    loop {
        let last = is_over.load(Ordering::Acquire);
        let (usage, each) = tree.look();
        lost.note(each, &spent_by);
        // A server that has ended meanwhile has no memory to count.
        if usage.pss_kib > 0 {
            let at_s = begun.elapsed().as_secs_f64();
            sampled.samples.push(ProcessSample { at_s, cpu_us: usage.cpu_us + lost.us(), pss_kib: usage.pss_kib });
            sum += usage.pss_kib;
            sampled.pss_peak_kib = sampled.pss_peak_kib.max(usage.pss_kib);
            sampled.rss_peak_kib = sampled.rss_peak_kib.max(usage.rss_kib);
            sampled.swap_peak_kib = sampled.swap_peak_kib.max(usage.swap_kib);
        }
        if last {
            sampled.lost_us = lost.us();
            sampled.pss_mean_kib = sum as f64 / sampled.samples.len().max(1) as f64;
            return sampled;
        }
        let next = Instant::now() + EVERY;
        while Instant::now() < next && !is_over.load(Ordering::Acquire) {
            thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_seen_at_once() {
        let sampled = Sampler::start(Tree { roots: vec![std::process::id()], ..Tree::default() }).stop();
        assert!(!sampled.samples.is_empty() && sampled.pss_peak_kib > 100 && sampled.pss_mean_kib > 100.0);
    }
}
