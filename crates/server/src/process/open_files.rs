//! Raises this process's limit of open files to the hard limit, for connections. The application must not notice: its
//! processes get the previous limit.

use std::sync::OnceLock;

use crate::process::parent;

/// Variable that tells a successor, which inherits the raised limit, the previous one.
pub const VARIABLE: &str = "FOOLSGOLD_OPEN_FILES";

/// Files that are open beside connections: log, listeners, pipes of the runtime, and those of the application.
pub const BESIDE: u64 = 64;

static BEFORE: OnceLock<u64> = OnceLock::new();

/// The soft limit of open files before [`make_room`] raised it.
pub fn before() -> Option<u64> {
    BEFORE.get().copied()
}

/// Raises the limit. Returns a warning if it cannot hold these connections and the files that are open `beside` them.
pub fn make_room(connections: usize, beside: u64) -> Option<String> {
    let handed = parent::variable(VARIABLE).and_then(|number| number.parse().ok());
    if let Some(before) = handed.or_else(|| rlimit::Resource::NOFILE.get_soft().ok()) {
        let _ = BEFORE.set(before);
    }
    let allowed = match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(allowed) => allowed,
        Err(error) => return Some(format!("the limit of open files cannot be raised: {error}")),
    };
    too_few(allowed, connections as u64, beside)
}

fn too_few(allowed: u64, connections: u64, beside: u64) -> Option<String> {
    if allowed >= connections.saturating_add(beside) {
        return None;
    }
    let fit = allowed.saturating_sub(beside);
    let advice = if fit > 0 { format!(" or say --connections {fit}") } else { String::new() };
    Some(format!(
        "{allowed} open files are allowed, too few for {}: raise the hard limit (ulimit -Hn, LimitNOFILE){advice}",
        engine::count(connections, "connection")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_low_is_told_with_what_fits() {
        assert_eq!(too_few(1088, 1024, BESIDE), None);
        let words = "1024 open files are allowed, too few for 1000 connections: raise the hard limit (ulimit -Hn, \
                     LimitNOFILE) or say --connections 960";
        assert_eq!(too_few(1024, 1000, BESIDE).as_deref(), Some(words));
    }
}
