//! What a duel is asked to do, and whom it tells how it goes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::place::PlaceOptions;
use crate::record::Sample;
use loadgen::K6Here;

use super::asked::Asked;
use super::pace::Rate;
use super::plan::Plan;
use super::settings::Setting;

/// All that a user decides.
#[derive(Debug, Clone)]
pub struct DuelOptions {
    /// The application.
    pub rackup: PathBuf,
    /// Where the servers are.
    pub place: PlaceOptions,
    /// The folder of the contenders' recipes.
    pub recipes: PathBuf,
    /// Their names; none for all that are there.
    pub contenders: Vec<String>,
    /// The workload.
    pub asked: Vec<Asked>,
    /// Where it comes from, in sentences.
    pub workload: Vec<String>,
    /// Whether it was recorded: then what is answered otherwise here is left out and told, and does not end the duel.
    pub is_recorded: bool,
    /// How many requests come per second. None: nothing is measured at a rate of the user's.
    pub rate: Option<Rate>,
    /// What serves the application today.
    pub now: Option<Now>,
    /// The p99 at 80 % load that is still good enough.
    pub p99_max_ms: Option<f64>,
    /// The lengths of everything: `Plan::FULL` or `Plan::QUICK`.
    pub plan: Plan,
    /// Whether this is the form of a minute or two.
    pub is_quick: bool,
    /// The most that all of it may take.
    pub budget_minutes: Option<f64>,
    /// Settings of the environment for the application.
    pub env: BTreeMap<String, String>,
    /// In the place of the arena's own loops.
    pub k6: Option<K6Here>,
    /// The folder for the output of the servers.
    pub logs: PathBuf,
    /// Of the order of turns and of the draws.
    pub seed: u64,
    /// The command line, for the record.
    pub command: String,
}

/// A server, and its settings if they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The name of its recipe.
    pub server: String,
    /// How it is set today.
    pub setting: Option<Setting>,
}

/// Who hears how it goes.
pub trait Listener {
    /// A sentence, or several lines.
    fn says(&mut self, words: &str);
    /// Something begins.
    fn left(&mut self, left: &Left);
    /// A turn has ended. An error (a full disk) ends the duel.
    fn sample(&mut self, sample: &Sample) -> Result<(), String>;
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// What begins: `round 2 of 5: puma -w 2 -t 5`.
    pub what: String,
    /// Turns that were made.
    pub done: usize,
    /// Turns in all, as far as is known.
    pub of: usize,
    /// Seconds until the end.
    pub seconds: f64,
}

impl Now {
    /// `puma`, or `puma -w 2 -t 5`.
    pub fn parse(text: &str) -> Result<Now, String> {
        let wrong = || format!("`{text}` is no server with its settings: write puma, or \"puma -w 2 -t 5\"");
        let words: Vec<&str> = text.split_whitespace().collect();
        let number =
            |word: &str| word.parse::<u32>().ok().filter(|number| (1..=1024).contains(number)).ok_or_else(wrong);
        match words[..] {
            [server] if !server.starts_with('-') => Ok(Now { server: server.to_owned(), setting: None }),
            [server, "-w", workers, "-t", threads] | [server, "-t", threads, "-w", workers] => {
                let setting = Setting { workers: number(workers)?, threads: number(threads)? };
                Ok(Now { server: server.to_owned(), setting: Some(setting) })
            }
            _ => Err(wrong()),
        }
    }

    /// As contenders are named.
    pub fn name(&self) -> String {
        match self.setting {
            Some(setting) => format!("{} {}", self.server, setting.in_words()),
            None => self.server.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_today_are_read_with_and_without_settings() {
        let setting = Some(Setting { workers: 2, threads: 5 });
        assert_eq!(Now::parse("puma").unwrap(), Now { server: "puma".into(), setting: None });
        assert_eq!(Now::parse("puma -w 2 -t 5").unwrap(), Now { server: "puma".into(), setting });
        assert_eq!(Now::parse(" puma -t 5  -w 2").unwrap().name(), "puma -w 2 -t 5");
        for wrong in ["", "-w 2", "puma -w", "puma -w 0 -t 1", "puma -w 2 -t x", "puma -w 2 -t 5 more"] {
            assert!(Now::parse(wrong).unwrap_err().contains("puma -w 2 -t 5"), "{wrong}");
        }
    }
}
