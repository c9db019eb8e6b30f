//! Facts on a whole run for its heading: the day and the machine.

use crate::record::date;
use crate::record::summary::Summary;

/// The day of a run; of imported loads that of their import, since theirs is not known: `imported 21 November 2026`.
pub fn day(summary: &Summary) -> String {
    let day = date::day_in_words(&summary.started);
    if summary.is_imported { format!("imported {day}") } else { day }
}

/// The machine in one line: processor, memory, virtualization and system.
pub fn machine(summary: &Summary) -> String {
    let wanted = ["processor", "memory", "virtualisation", "system"];
    let fact = |name: &&str| summary.machine.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let facts: Vec<String> = wanted.iter().filter_map(fact).collect();
    if facts.is_empty() { "machine not recorded".to_owned() } else { facts.join(" · ") }
}
