//! Real-time priority for a thread that has to act at exact times. On a machine that the servers share with the load
//! generator, it is otherwise woken up late whenever they use all processors, and measures its own delay.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getpriority_process, setpriority_process};
use thread_priority::unix::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityOsValue, ThreadPriorityValue};

/// The lowest of the real-time priorities (sched(7)): it comes before every thread that has none.
const LOWEST: u8 = 1;

static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// The calling thread has real-time priority (SCHED_RR) until this is dropped on the same thread.
pub(crate) struct RealTime {
    /// Nice value of the thread before, which real-time priority leaves as it is.
    nice: i32,
}

impl RealTime {
    /// `None` where this process forbids it, or the kernel: it needs CAP_SYS_NICE, or a limit on real-time priorities
    /// (RLIMIT_RTPRIO).
    pub(crate) fn begin() -> Option<RealTime> {
        if IS_FORBIDDEN.load(Ordering::Relaxed) {
            return None;
        }
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
        let priority = ThreadPriority::Crossplatform(ThreadPriorityValue::try_from(LOWEST).ok()?);
        // Of the calling thread, although it is named after the process (sched(7)).
        let nice = getpriority_process(None).ok()?;
        set_thread_priority_and_policy(thread_native_id(), priority, policy).ok().map(|()| RealTime { nice })
    }
}

/// Forbids real-time priority to all loads of this process from now on. Several loads at once, as tests have them,
/// would leave no processor to the servers.
pub fn forbid_real_time() {
    IS_FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether the kernel and this process permit real-time priority.
pub fn may_be_real_time() -> bool {
    std::thread::spawn(|| RealTime::begin().is_some()).join().unwrap_or(false)
}

impl Drop for RealTime {
    fn drop(&mut self) {
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
        // The crate sets a nice value with this policy: `ThreadPriority::Min` would be 19, for the rest of the thread's
        // life and for all that it starts, the servers among it. This value is 0. It cannot be refused: a thread may
        // always give up a priority; and if it may not have this nice value, it keeps its own.
        let usual = ThreadPriority::Os(ThreadPriorityOsValue::default());
        let _ = set_thread_priority_and_policy(thread_native_id(), usual, policy);
        let _ = setpriority_process(None, self.nice);
    }
}

#[cfg(test)]
mod tests {
    use procfs::process::Process;

    use super::*;

    /// The scheduling policy and real-time priority of this thread, 0 and 0 for one like all others, and its nice
    /// value.
    fn policy() -> ((u32, u32), i64) {
        let id = rustix::thread::gettid().as_raw_nonzero().get();
        let stat = Process::myself().unwrap().task_from_tid(id).unwrap().stat().unwrap();
        ((stat.policy.unwrap(), stat.rt_priority.unwrap()), stat.nice)
    }

    #[test]
    fn a_thread_and_those_that_it_starts_have_it_for_a_time() {
        let (usual, nice) = policy();
        assert_eq!(usual, (0, 0));
        let Some(real_time) = RealTime::begin() else { return };
        assert_eq!(policy(), ((2, 1), nice), "SCHED_RR");
        assert_eq!(std::thread::spawn(policy).join().unwrap().0.0, 2, "a thread inherits it, as sched(7) says");
        drop(real_time);
        assert_eq!(policy(), (usual, nice), "with its own nice value, which what it starts inherits");
        // Of a thread that was started with another.
        let of_other = std::thread::spawn(|| {
            setpriority_process(None, 19).unwrap();
            drop(RealTime::begin());
            policy()
        });
        assert_eq!(of_other.join().unwrap(), (usual, 19));
    }
}
