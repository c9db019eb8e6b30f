//! The log filter: `info`, `front=debug`, `warn,access=off`. Stricter than the library's own parser, which takes a
//! misspelt level for a target.

use std::str::FromStr;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};

use crate::config::suggest::nearest;

/// Levels by target; the longest target that matches a line decides.
#[derive(Debug, Clone, Default)]
pub struct LogFilter(Targets);

/// All targets; docs/logging.md describes them.
const TARGETS: [&str; 5] = ["server", "front", "engine", "access", "app"];

const LEVELS: &str = "off, error, warn, info, debug, trace";

impl LogFilter {
    /// Whether lines of this target are written at level info.
    pub fn shows(&self, target: &str) -> bool {
        self.0.would_enable(target, &Level::INFO)
    }

    /// The filter as the library's type.
    pub fn targets(&self) -> Targets {
        self.0.clone()
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Level of targets that are not named, so that `front=debug` adds to the usual lines.
        let mut targets = Targets::new().with_default(LevelFilter::INFO);
        if text.split(',').all(|rule| rule.trim().is_empty()) {
            return Err(format!("must be a level ({LEVELS}), TARGET=LEVEL, or several with commas between them"));
        }
        for rule in text.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
            targets = match rule.split_once('=') {
                Some((target, word)) => targets.with_target(name(target)?, level(word)?),
                None => targets.with_default(level(rule)?),
            };
        }
        Ok(LogFilter(targets))
    }
}

fn level(word: &str) -> Result<LevelFilter, String> {
    // The library would accept numbers, too, which are hard to read.
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("\"{word}\" is not a level: must be one of {LEVELS}"));
    }
    // In Thin `--log` names a file.
    let hint = if word.contains(['/', '.']) { "; a file for the log is --log-file" } else { "" };
    word.parse().map_err(|_| format!("\"{word}\" is not a level: must be one of {LEVELS}, or TARGET=LEVEL{hint}"))
}

fn name(target: &str) -> Result<&str, String> {
    if TARGETS.contains(&target) {
        return Ok(target);
    }
    let near = nearest(target, TARGETS.into_iter());
    let near = near.map(|near| format!("; {near} is the nearest")).unwrap_or_default();
    Err(format!("\"{target}\" is not a target: must be one of {}{near}", TARGETS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_that_fits_decides_and_others_have_the_default() {
        let filter: LogFilter = "front=debug, access=off".parse().unwrap();
        let shows = |target, level| filter.targets().would_enable(target, &level);
        assert!(filter.shows("front") && !filter.shows("access"));
        assert!(shows("front", Level::DEBUG));
        assert!(!shows("front", Level::TRACE));
        assert!(!shows("access", Level::ERROR));
        assert!(shows("server", Level::INFO));
        assert!(!shows("server", Level::DEBUG));
        let filter: LogFilter = "warn".parse().unwrap();
        assert!(!filter.targets().would_enable("server", &Level::INFO));
    }

    #[test]
    fn slips_are_refused() {
        let refusal = |text: &str| text.parse::<LogFilter>().unwrap_err();
        let right = "off, error, warn, info, debug, trace";
        assert_eq!(refusal("inof"), format!("\"inof\" is not a level: must be one of {right}, or TARGET=LEVEL"));
        assert!(refusal("log/thin.log").ends_with(", or TARGET=LEVEL; a file for the log is --log-file"));
        assert_eq!(refusal("front="), format!("\"\" is not a level: must be one of {right}"));
        assert_eq!(refusal("3"), format!("\"3\" is not a level: must be one of {right}"));
        let right = "must be one of server, front, engine, access, app";
        assert_eq!(refusal("a b=info"), format!("\"a b\" is not a target: {right}"));
        assert_eq!(refusal("acces=off"), format!("\"acces\" is not a target: {right}; access is the nearest"));
    }
}
