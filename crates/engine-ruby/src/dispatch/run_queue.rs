//! The time for which the threads of a process have stood in the run queue, as the kernel counts it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::process::stat_after_name;

/// The time after which the threads of the process are listed again.
const LISTED: Duration = Duration::from_millis(100);
/// The most files that are kept open for a process. Those of its further threads are opened at each sample.
const KEPT: usize = 64;
/// The length of a line of a `schedstat` file is at most this: three numbers of 64 bits.
const LINE: usize = 64;

/// The threads of a process, with their files: to open these at each sample would take several times as long as to read
/// them.
#[derive(Debug)]
pub struct RunQueue {
    pid: i32,
    threads: BTreeMap<u32, Option<File>>,
    listed: Option<Instant>,
    /// The thread that was last found to be runnable: most often it still is.
    runnable: Option<u32>,
}

impl RunQueue {
    /// Nothing is opened before it is needed.
    pub fn of(pid: i32) -> RunQueue {
        RunQueue { pid, threads: BTreeMap::new(), listed: None, runnable: None }
    }

    /// Returns the time for which the threads of the process were ready to run and had no processor: the second number
    /// of each `/proc/PID/task/TID/schedstat`, in nanoseconds (proc_schedstat in the kernel's documentation). None
    /// where the kernel does not count it.
    pub fn time(&mut self, now: Instant) -> Option<Duration> {
        if self.listed.is_none_or(|listed| now.saturating_duration_since(listed) >= LISTED) {
            self.list()?;
            self.listed = Some(now);
        }
        let times = self.threads.iter().filter_map(|(thread, file)| match file {
            Some(file) => queued(file),
            None => queued(&self.open(*thread)?),
        });
        times.reduce(|sum, time| sum + time)
    }

    /// Returns whether a thread of the process runs or stands in the run queue: the state `R` in
    /// `/proc/PID/task/TID/stat`.
    pub fn is_runnable(&mut self) -> bool {
        if self.threads.is_empty() && self.list().is_none() {
            return false;
        }
        let mut threads = self.runnable.into_iter().chain(self.threads.keys().copied());
        self.runnable = threads
            .find(|thread| stat_after_name(&self.path(*thread, "stat")).is_some_and(|rest| rest.starts_with('R')));
        self.runnable.is_some()
    }

    /// Lists the threads of the process, and keeps the files of those that were listed before.
    fn list(&mut self) -> Option<()> {
        let names = fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?;
        let numbers = names.flatten().filter_map(|name| name.file_name().to_str()?.parse().ok());
        let mut kept = std::mem::take(&mut self.threads);
        for number in numbers {
            let file = match self.threads.len() < KEPT {
                true => kept.remove(&number).flatten().or_else(|| self.open(number)),
                false => None,
            };
            self.threads.insert(number, file);
        }
        Some(())
    }

    fn open(&self, thread: u32) -> Option<File> {
        File::open(self.path(thread, "schedstat")).ok()
    }

    fn path(&self, thread: u32, name: &str) -> String {
        format!("/proc/{}/task/{thread}/{name}", self.pid)
    }
}

fn queued(file: &File) -> Option<Duration> {
    let mut line = [0; LINE];
    let length = file.read_at(&mut line, 0).ok()?;
    let text = std::str::from_utf8(line.get(..length)?).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;

    use super::*;

    fn own() -> RunQueue {
        RunQueue::of(std::process::id().cast_signed())
    }

    #[test]
    fn a_process_that_runs_is_runnable() {
        assert!(own().is_runnable(), "this thread runs");
        assert!(!RunQueue::of(0).is_runnable(), "there is no such process");
    }

    #[test]
    fn time_is_summed_over_the_threads_of_a_process() {
        let one = fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts it");
        let one: u64 = one.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("nanoseconds");
        let mut own = own();
        let now = Instant::now();
        let first = own.time(now).expect("the kernel counts it");
        assert!(first >= Duration::from_nanos(one), "{first:?}, {one} ns of it in this thread");
        assert_eq!(RunQueue::of(0).time(now), None, "there is no such process");
    }

    /// A file is opened once; a thread that begins later is found when the threads are listed again, and one that has
    /// ended does not count. With many threads few files are kept open.
    #[test]
    fn threads_come_and_go() {
        let mut own = own();
        let now = Instant::now();
        own.time(now).expect("the kernel counts it");
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            sender.send(nix::unistd::gettid().as_raw().cast_unsigned()).expect("the test listens");
            let _ = ended.recv();
        });
        let id = receiver.recv().expect("the thread tells its number");
        own.time(now + LISTED / 2).expect("the kernel counts it");
        assert!(!own.threads.contains_key(&id), "it is not yet time to list them");
        own.time(now + LISTED).expect("the kernel counts it");
        assert!(own.threads.get(&id).is_some_and(Option::is_some), "its file is open");
        drop(end);
        other.join().expect("the thread ends");
        own.time(now + LISTED + LISTED / 2).expect("the rest is still counted");
        // The kernel may list it for a moment longer.
        let is_gone = |list: u32| {
            own.time(now + list * LISTED).expect("the kernel counts it");
            thread::yield_now();
            !own.threads.contains_key(&id)
        };
        assert!((3..100_000).any(is_gone), "it has ended");
        // Here, since the threads of this test would be among those of another one.
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let wait = || {
            let ended = ended.clone();
            thread::spawn(move || drop(ended.lock().map(|ended| ended.recv())))
        };
        let threads: Vec<_> = (0..KEPT + 3).map(|_| wait()).collect();
        own.listed = None;
        own.time(Instant::now()).expect("the kernel counts it");
        assert!(own.threads.len() > KEPT);
        let open = own.threads.values().flatten().count();
        assert!((1..=KEPT).contains(&open), "{open} files");
        drop(end);
        threads.into_iter().for_each(|thread| thread.join().expect("the thread ends"));
    }
}
