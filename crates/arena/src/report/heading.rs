//! Facts on a whole run for its heading: the machine, and the shortcomings.

use crate::record::summary::Summary;

/// The machine in one line: processor, memory, virtualization and system.
pub fn machine(summary: &Summary) -> String {
    let wanted = ["processor", "memory", "virtualisation", "system"];
    let fact = |name: &&str| summary.machine.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let facts: Vec<String> = wanted.iter().filter_map(fact).collect();
    if facts.is_empty() { "machine not recorded".to_owned() } else { facts.join(" · ") }
}

/// Requirements of METHOD.md that a run does not meet, in words; empty if it meets all.
pub fn shortcomings(summary: &Summary) -> String {
    summary.shortcomings.join("; ")
}
