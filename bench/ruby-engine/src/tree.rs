//! A process and all its descendants in /proc: titles, memory and processor time.

use std::fs;

/// The kernel reports processor time to programs in hundredths of a second, whatever it uses itself.
const TICK_US: u64 = 10_000;

/// A process.
#[derive(Debug, Clone)]
pub struct Member {
    pub id: u32,
    pub title: String,
}

/// A process and its descendants, parents before children.
pub fn members(root: u32) -> Vec<Member> {
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
        .map(|ids: Vec<u32>| ids.into_iter().filter_map(|id| Some((id, parent(id)?))).collect())
        .unwrap_or_default();
    let mut ids = vec![root];
    let mut at = 0;
    while let Some(current) = ids.get(at).copied() {
        ids.extend(all.iter().filter(|(_, parent)| *parent == current).map(|(id, _)| *id));
        at += 1;
    }
    ids.into_iter().map(|id| Member { id, title: title(id) }).collect()
}

/// Proportional set size of a process in KiB.
pub fn pss_kib(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok())
}

/// Processor time of a process and its living descendants in microseconds.
pub fn cpu_us(root: u32) -> u64 {
    let ticks = |id| {
        let fields = stat(id)?;
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    members(root).iter().filter_map(|member| ticks(member.id)).sum::<u64>() * TICK_US
}

fn title(id: u32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}

fn parent(id: u32) -> Option<u32> {
    stat(id)?.get(1)?.parse().ok()
}

/// The fields of /proc/ID/stat from the third on; the second is a name, which may contain anything.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let me = std::process::id();
        assert_eq!(members(me)[0].id, me);
        assert!(pss_kib(me).is_some_and(|kib| kib > 100));
        assert!(parent(me).is_some_and(|parent| parent > 0));
    }
}
