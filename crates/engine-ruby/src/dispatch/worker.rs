//! A worker that is ready, as dispatch sees it: its threads and how many requests each has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::Pid;

use super::relay::Leaving;
use super::slot::Slot;
use crate::reason::Reason;
use crate::wire::control::Control;

/// The processor time of a process is looked at over at least this long.
const SAMPLE: Duration = Duration::from_millis(1);
/// A process that had or wanted a processor for more of the time than this computes; another request would only wait in
/// it.
const COMPUTING_SHARE: f64 = 0.85;

/// What the threads of a process have done since its start.
struct Sample {
    at: Instant,
    /// Time on a processor.
    used: Duration,
    /// Time in which a thread was ready to run while others had the processors, summed over threads. Unknown where
    /// nobody needed it: it takes the reading of a file for each thread.
    queued: Option<Duration>,
}

/// Whether a request that comes to a busy worker finds Ruby's lock free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Not known yet: it has been busy for less than two looks.
    Unknown,
    /// It waits for something else than a processor for a part of the time.
    Waiting,
    /// It has a processor all the time, or would if there were one for it.
    Computing,
}

/// Whether a worker is kept for one request alone: one on its last try, which may be what has ended its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// It takes what comes.
    None,
    /// It takes nothing new, and is for such a request when it has answered what it has.
    Emptying,
    /// It runs such a request.
    Running,
}

/// A worker.
pub struct Worker {
    /// Its number, new for each process.
    pub id: u32,
    /// Its process.
    pub pid: i32,
    /// The lane on which its answers arrive.
    pub lane: usize,
    /// The way to give it orders.
    pub control: Arc<Control>,
    /// How many of its threads have a request.
    pub busy: usize,
    /// Connections that the application has taken over in it.
    pub taken: usize,
    /// It takes nothing new and ends when it has nothing to do.
    pub is_leaving: bool,
    /// Says so to connections that the application has taken over in it.
    pub leaving: Arc<Leaving>,
    /// Since when it has nothing to do but for connections that were taken over, and is to leave.
    pub lingers: Option<Instant>,
    /// Whether it is kept for one request.
    pub isolation: Isolation,
    /// What it did between the last two looks.
    pub activity: Activity,
    /// Requests it has answered.
    pub served: u64,
    /// After so many it should be replaced.
    pub quota: Option<u64>,
    /// It has something to do between requests (a hook).
    pub has_errands: bool,
    /// Since when it does that, and gets nothing.
    pub out: Option<Instant>,
    /// Why it ends, if there is a reason.
    pub reason: Option<Reason>,
    /// When its title was last changed, if it says what runs.
    pub titled: Option<Instant>,
    /// It has served something since it was last out.
    is_due: bool,
    threads: Vec<Thread>,
    sample: Option<Sample>,
}

struct Thread {
    slot: Arc<Slot>,
    load: usize,
}

impl Worker {
    /// With all its threads free.
    pub fn new(id: u32, pid: i32, lane: usize, control: Arc<Control>, slots: Vec<Arc<Slot>>) -> Worker {
        let threads = slots.into_iter().map(|slot| Thread { slot, load: 0 }).collect();
        Worker {
            id,
            pid,
            lane,
            control,
            busy: 0,
            taken: 0,
            is_leaving: false,
            leaving: Arc::default(),
            isolation: Isolation::None,
            lingers: None,
            activity: Activity::Unknown,
            served: 0,
            quota: None,
            has_errands: false,
            out: None,
            reason: None,
            titled: None,
            is_due: false,
            threads,
            sample: None,
        }
    }

    /// It has answered one more; whether that was the last of its number.
    pub fn count(&mut self) -> bool {
        self.served += 1;
        self.is_due = true;
        self.quota == Some(self.served)
    }

    /// Whether it may go out now, for what it does between requests.
    pub fn may_go_out(&self) -> bool {
        self.has_errands && self.is_due && self.busy == 0 && self.is_taking()
    }

    /// It goes out.
    pub fn go_out(&mut self, now: Instant) {
        (self.out, self.is_due) = (Some(now), false);
    }

    /// Whether it may get requests.
    pub fn is_taking(&self) -> bool {
        !self.is_leaving && self.out.is_none() && self.isolation == Isolation::None
    }

    /// Whether it has nothing to do any more, not even for a connection that was taken over, or is just about to be.
    pub fn is_done(&self) -> bool {
        self.busy == 0 && self.taken == 0 && !self.slots().any(|slot| slot.awaits_takeover())
    }

    /// Whether a thread has nothing to do.
    pub fn has_free_thread(&self) -> bool {
        self.busy < self.threads.len()
    }

    /// How many places it has.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Takes the first free thread: the same one as long as one is enough, so that its stack and caches stay warm.
    pub fn take_thread(&mut self) -> Option<Arc<Slot>> {
        let thread = self.threads.iter_mut().find(|thread| thread.load == 0)?;
        thread.load = 1;
        self.busy += 1;
        Some(thread.slot.clone())
    }

    /// The smallest number of requests that a busy thread has.
    pub fn least_ahead(&self) -> usize {
        let busy = self.threads.iter().filter(|thread| thread.load > 0);
        busy.map(|thread| thread.load).min().unwrap_or(usize::MAX)
    }

    /// Takes a place behind a running request, if that thread has fewer than `depth`.
    pub fn take_ahead(&mut self, depth: usize) -> Option<Arc<Slot>> {
        let busy = self.threads.iter_mut().filter(|thread| (1..depth).contains(&thread.load));
        let thread = busy.min_by_key(|thread| thread.load)?;
        thread.load += 1;
        Some(thread.slot.clone())
    }

    /// How many requests a thread has.
    pub fn load(&self, thread: u32) -> usize {
        self.threads.get(thread as usize).map_or(usize::MAX, |thread| thread.load)
    }

    /// Counts one more on a thread.
    pub fn take(&mut self, thread: u32) {
        if let Some(thread) = self.threads.get_mut(thread as usize) {
            self.busy += usize::from(thread.load == 0);
            thread.load += 1;
        }
    }

    /// Counts so many fewer on a thread.
    pub fn release(&mut self, thread: u32, count: usize) {
        if let Some(thread) = self.threads.get_mut(thread as usize) {
            let was = thread.load;
            thread.load = was.saturating_sub(count);
            self.busy -= usize::from(was > 0 && thread.load == 0);
        }
        if self.busy == 0 {
            // What comes next is another request, of which nothing is known.
            (self.activity, self.sample) = (Activity::Unknown, None);
        }
    }

    /// Whether a further request is better off in it than in the queue.
    pub fn waits(&self) -> bool {
        self.activity == Activity::Waiting
    }

    /// Its slots.
    pub fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.threads.iter().map(|thread| &thread.slot)
    }

    /// Looks whether it computes all the time. Only the kernel can tell: a request that waits for a database and one
    /// that computes look the same from outside. Time in which it was ready to run counts as computing: with more
    /// processes that compute than processors, each has one for a part of the time only. That part is read when
    /// `is_wanted`: while requests wait that could enter it.
    pub fn look(&mut self, now: Instant, is_wanted: bool) {
        if self.busy == 0 || self.threads.len() == 1 {
            return;
        }
        if self.sample.as_ref().is_some_and(|last| now.saturating_duration_since(last.at) < SAMPLE) {
            return;
        }
        let Some(used) = processor_time(self.pid) else {
            // Where nothing is known of it for good, its threads are there to be used.
            self.activity = Activity::Waiting;
            return;
        };
        let queued = if is_wanted { queued_time(self.pid) } else { None };
        let sample = Sample { at: now, used, queued };
        if let Some(last) = self.sample.replace(sample) {
            let queued = queued.zip(last.queued).map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
            let wanted = used.saturating_sub(last.used) + queued;
            let share = wanted.as_secs_f64() / (now - last.at).as_secs_f64();
            self.activity = if share > COMPUTING_SHARE { Activity::Computing } else { Activity::Waiting };
        }
    }
}

fn processor_time(pid: i32) -> Option<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).ok()?;
    clock.now().ok().map(Duration::from)
}

/// Time for which the threads of a process were ready to run and had no processor: the second number of each
/// `/proc/PID/task/TID/schedstat`, in nanoseconds (proc_schedstat in the kernel's documentation). None where the kernel
/// does not count it.
fn queued_time(pid: i32) -> Option<Duration> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut sum = None;
    for thread in threads.flatten() {
        let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else { continue };
        let queued = text.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok());
        sum = sum.or(Some(Duration::ZERO)).zip(queued).map(|(sum, queued)| sum + Duration::from_nanos(queued));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_a_run_queue_is_summed_over_the_threads_of_a_process() {
        let own = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts it");
        let own: u64 = own.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("nanoseconds");
        let all = queued_time(std::process::id().cast_signed()).expect("the kernel counts it");
        assert!(all >= Duration::from_nanos(own), "{all:?}, {own} ns of it in this thread");
        assert_eq!(queued_time(0), None, "there is no such process");
    }

    #[test]
    fn a_worker_that_becomes_idle_is_unknown_again() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        drop(ours);
        let mut worker = Worker::new(1, std::process::id().cast_signed(), 0, Arc::new(Control::new().0), Vec::new());
        worker.activity = Activity::Computing;
        worker.release(0, 1);
        assert!(!worker.waits() && worker.activity == Activity::Unknown);
    }
}
