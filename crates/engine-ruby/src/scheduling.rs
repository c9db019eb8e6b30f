//! The scheduling policy of the threads that serve requests.

use engine::IoThread;
use rustix::process::getpriority_process;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    thread_schedule_policy,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Gives the calling I/O thread the policy of [`batch`], also when its event loop moves to another OS thread.
pub fn batch_io_thread() {
    if let Some(io_thread) = IoThread::current() {
        io_thread.set_up(batch);
    }
}

/// Gives the calling thread the policy SCHED_BATCH (sched(7)): it has its share of the processors as before, but when
/// it becomes ready and none is free, it waits until the thread that runs pauses or has had its turn. While all
/// processors are busy, I/O threads then take many requests and answers at once, in the place of one at each change of
/// threads. The thread keeps its niceness. Does nothing where an operator has given the process another policy than the
/// usual one, such as SCHED_RR, or where the kernel refuses it.
fn batch() {
    let usual_policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    if !thread_schedule_policy().is_ok_and(|policy| policy == usual_policy) {
        return;
    }
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch);
    if let Some(niceness) = niceness(policy)
        && let Err(error) = set_thread_priority_and_policy(thread_native_id(), niceness, policy)
    {
        tracing::debug!(target: "engine", "an I/O thread keeps its scheduling policy: {error:?}");
    }
}

/// The niceness of the calling thread, on the scale of the library, which sets it together with the policy.
fn niceness(policy: ThreadSchedulePolicy) -> Option<ThreadPriority> {
    let niceness = getpriority_process(None).ok()?;
    let scale = (0..=u8::MAX).map_while(|value| ThreadPriorityValue::try_from(value).ok());
    let mut scale = scale.map(ThreadPriority::Crossplatform);
    scale.find(|priority| priority.to_posix(policy).is_ok_and(|value| value == niceness))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::setpriority_process;

    use super::*;

    /// The niceness and the policy of the calling thread, and its static priority: fields 19, 41 and 40 of its stat
    /// (proc_pid_stat(5)).
    fn seen() -> [String; 3] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
        // The third one of the file comes first.
        [19, 41, 40].map(|number| fields[number - 3].to_owned())
    }

    #[test]
    fn a_thread_of_batches_has_its_niceness_as_before() {
        let before = seen();
        let usual: i32 = before[0].parse().unwrap();
        // A thread may give itself less, without a privilege, but not more.
        for niceness in usual..=19 {
            let after = std::thread::spawn(move || {
                setpriority_process(None, niceness).unwrap();
                batch();
                seen()
            });
            let policy = if before[1] == "0" { "3" } else { &before[1] };
            assert_eq!(after.join().unwrap(), [&niceness.to_string(), policy, "0"]);
        }
        assert_eq!(seen(), before, "no other thread has changed");
    }

    #[test]
    fn a_thread_with_another_policy_than_the_usual_one_keeps_it() {
        let [before, after] = std::thread::spawn(|| {
            // The library can set this policy only where the niceness is 0; under `nice` it is another.
            let thread = std::fs::read_link("/proc/thread-self").unwrap();
            let set = Command::new("chrt").args(["--idle", "--pid", "0"]).arg(thread.file_name().unwrap()).status();
            assert!(set.unwrap().success());
            let before = seen();
            batch();
            [before, seen()]
        })
        .join()
        .unwrap();
        assert_eq!((before[1].as_str(), &before), ("5", &after), "SCHED_IDLE");
    }
}
