//! Looks at a server's memory every half second until it is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::tree::{Tree, Usage};

/// Often enough for a peak that lasts, seldom enough not to disturb: a look walks the page tables.
const EVERY: Duration = Duration::from_millis(500);

/// A thread that looks.
pub struct Sampler {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sampled>>,
}

/// What it saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampled {
    /// The most of it at one time.
    pub pss_peak_kib: u64,
    /// The mean of all looks.
    pub pss_mean_kib: f64,
    /// The most at one time.
    pub rss_peak_kib: u64,
    /// The most at one time.
    pub swap_peak_kib: u64,
    /// Each look at a server that ran.
    pub looks: Vec<Look>,
}

/// One look.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Look {
    /// Since the first, in seconds.
    pub at_s: f64,
    /// Processor time since its processes began.
    pub cpu_us: u64,
    /// Pages that are shared counted in parts.
    pub pss_kib: u64,
}

impl Sampler {
    /// Begins with a first look at once.
    pub fn start(tree: Tree) -> Sampler {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = thread::spawn(move || look(&tree, &told));
        Sampler { is_over, thread: Some(thread) }
    }

    /// Ends with a last look.
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

fn look(tree: &Tree, is_over: &AtomicBool) -> Sampled {
    let mut sampled = Sampled::default();
    let mut sum = 0;
    let begun = Instant::now();
    loop {
        let last = is_over.load(Ordering::Acquire);
        let usage: Usage = tree.usage();
        // A server that has ended in between has no memory to speak of.
        if usage.pss_kib > 0 {
            let at_s = begun.elapsed().as_secs_f64();
            sampled.looks.push(Look { at_s, cpu_us: usage.cpu_us, pss_kib: usage.pss_kib });
            sum += usage.pss_kib;
            sampled.pss_peak_kib = sampled.pss_peak_kib.max(usage.pss_kib);
            sampled.rss_peak_kib = sampled.rss_peak_kib.max(usage.rss_kib);
            sampled.swap_peak_kib = sampled.swap_peak_kib.max(usage.swap_kib);
        }
        if last {
            sampled.pss_mean_kib = sum as f64 / sampled.looks.len().max(1) as f64;
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
        let sampled = Sampler::start(Tree { roots: vec![std::process::id()] }).stop();
        assert!(!sampled.looks.is_empty() && sampled.pss_peak_kib > 100 && sampled.pss_mean_kib > 100.0);
    }
}
