//! Options of a duel, and the receiver of its progress.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::environment::EnvironmentOptions;
use crate::record::Sample;
use loadgen::K6Here;

use super::pace::Rate;
use super::plan::DuelPlan;
use super::request::DuelRequest;
use super::settings::Setting;

/// Options of a duel.
#[derive(Debug, Clone)]
pub struct DuelOptions {
    /// The application's rackup file.
    pub rackup: PathBuf,
    /// Where servers and Rubies are found.
    pub environment: EnvironmentOptions,
    /// The folder of the contenders' recipes.
    pub recipes: PathBuf,
    /// Names of the contenders; empty for all recipes of the folder.
    pub contenders: Vec<String>,
    /// The requests of the workload.
    pub asked: Vec<DuelRequest>,
    /// Sentences on where the workload comes from.
    pub workload: Vec<String>,
    /// Whether the workload was recorded in a log. Then requests that are answered differently here are left out and
    /// reported, and do not end the duel.
    pub is_recorded: bool,
    /// Requests per second of the user's site. Without it nothing is measured at a fixed rate.
    pub rate: Option<Rate>,
    /// The server that runs the application today.
    pub now: Option<Now>,
    /// The highest p99 at 80 % load, in milliseconds, that is good enough.
    pub p99_max_ms: Option<f64>,
    /// Durations: `DuelPlan::FULL` or `DuelPlan::QUICK`.
    pub plan: DuelPlan,
    /// Whether this is the quick form of a minute or two.
    pub is_quick: bool,
    /// Most minutes that the whole duel may take.
    pub budget_minutes: Option<f64>,
    /// Environment variables for the application.
    pub env: BTreeMap<String, String>,
    /// k6 as the load generator, in place of the arena's own loops.
    pub k6: Option<K6Here>,
    /// The folder for the output of the servers.
    pub logs: PathBuf,
    /// Seed for the order of turns and for the random choice of requests.
    pub seed: u64,
    /// The command line, recorded in the summary.
    pub command: String,
}

/// The server of today, with its settings if they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The name of its recipe.
    pub server: String,
    /// Its workers and threads.
    pub setting: Option<Setting>,
}

/// Receiver of a duel's progress and samples.
pub trait Listener {
    /// Receives a sentence, or several lines, for the user.
    fn says(&mut self, words: &str);
    /// Receives what begins now, and the time left.
    fn left(&mut self, left: &TimeLeft);
    /// Receives the sample of a finished turn. An error (a full disk) ends the duel.
    fn sample(&mut self, sample: &Sample) -> Result<(), String>;
}

/// Progress of a duel.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeLeft {
    /// What begins: `round 2 of 5: puma -w 2 -t 5`.
    pub what: String,
    /// Turns done.
    pub done: usize,
    /// Turns in all, as far as known.
    pub of: usize,
    /// Estimated seconds until the end.
    pub seconds: f64,
}

impl Now {
    /// Parses `puma` or `puma -w 2 -t 5`.
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

    /// Name in the form in which contenders are named: `puma -w 2 -t 5`.
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
