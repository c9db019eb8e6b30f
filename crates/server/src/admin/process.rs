//! Memory, processor time, threads and files of this process, as the kernel reports them; `None` if it does not.

use std::fs;
use std::time::Duration;

use machine::proc_lines::number;
use serde::Serialize;

/// The server's process, without its workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Process {
    /// Proportional set size, and resident set size.
    pub pss_kib: Option<u64>,
    pub rss_kib: Option<u64>,
    /// Processor time in seconds.
    pub cpu_s: f64,
    pub threads: Option<u64>,
    pub open_files: Option<u64>,
}

impl Process {
    /// Reads the current numbers. Takes about a millisecond: the kernel walks all pages.
    pub fn look() -> Process {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
        // One of them is that of the folder being read.
        let files = fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1) as u64);
        Process {
            pss_kib: number(&rollup, "Pss"),
            rss_kib: number(&status, "VmRSS"),
            cpu_s: cpu_time().as_secs_f64(),
            threads: number(&status, "Threads"),
            open_files: files,
        }
    }
}

/// Proportional set size of this process, or its resident set size if the kernel does not report that.
pub fn share_kib() -> Option<u64> {
    let of = |file: &str, name: &str| number(&fs::read_to_string(file).ok()?, name);
    of("/proc/self/smaps_rollup", "Pss").or_else(|| of("/proc/self/status", "VmRSS"))
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_threads_and_files() {
        let process = Process::look();
        assert!(process.rss_kib > Some(100) && process.threads >= Some(1) && process.open_files >= Some(3));
    }
}
