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

/// The server that runs the application today, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The name of its recipe.
    pub server: String,
    /// Its worker processes, if they are given: 0 for a server that serves without any.
    pub workers: Option<u32>,
    /// Its threads per worker, if they are given.
    pub threads: Option<u32>,
}

/// The server of today as a duel runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// The name of its recipe.
    pub server: String,
    /// Its workers and threads; `None` where its best setting stands for it.
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

/// Most workers, and most threads of a worker, of a server of today.
const NUMBER_MOST: u32 = 1024;

impl Now {
    /// Parses `puma`, `puma -w 2 -t 5`, or one of the two numbers alone. Threads may be written as Puma's least and
    /// most, `5:5`, if they are the same.
    pub fn parse(text: &str) -> Result<Now, String> {
        let wrong = || format!("`{text}` is no server with its settings: write puma, or \"puma -w 2 -t 5\"");
        let words: Vec<&str> = text.split_whitespace().collect();
        let (server, flags) = words.split_first().filter(|(server, _)| !server.starts_with('-')).ok_or_else(wrong)?;
        let mut now = Now { server: (*server).to_owned(), workers: None, threads: None };
        for flag in flags.chunks(2) {
            let (place, number) = match *flag {
                ["-w", word] => (&mut now.workers, count("-w", word, 0)?),
                ["-t", word] => (&mut now.threads, threads(word)?),
                _ => return Err(wrong()),
            };
            if place.replace(number).is_some() {
                return Err(wrong());
            }
        }
        Ok(now)
    }

    /// Name in the form in which contenders are named: `puma -w 2 -t 5`.
    pub fn name(&self) -> String {
        let workers = self.workers.map(|workers| format!(" -w {workers}")).unwrap_or_default();
        let threads = self.threads.map(|threads| format!(" -t {threads}")).unwrap_or_default();
        format!("{}{workers}{threads}", self.server)
    }
}

impl Today {
    /// Name of the contender, or of its recipe where no setting is known.
    pub fn name(&self) -> String {
        match self.setting {
            Some(setting) => format!("{} {}", self.server, setting.in_words()),
            None => self.server.clone(),
        }
    }
}

fn count(flag: &str, word: &str, least: u32) -> Result<u32, String> {
    let number = word.parse::<u32>().ok().filter(|number| (least..=NUMBER_MOST).contains(number));
    number.ok_or_else(|| format!("{flag} {word}: give a whole number from {least} to {NUMBER_MOST}"))
}

fn threads(word: &str) -> Result<u32, String> {
    let Some((least, most)) = word.split_once(':') else { return count("-t", word, 1) };
    let most = count("-t", most, 1)?;
    if count("-t", least, 0)? != most {
        return Err(format!(
            "-t {word}: a duel runs a server with one number of threads; under load it has {most}: -t {most}"
        ));
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_today_are_read_with_and_without_settings() {
        let now = |workers: Option<u32>, threads: Option<u32>| Now { server: "puma".into(), workers, threads };
        assert_eq!(Now::parse("puma").unwrap(), now(None, None));
        assert_eq!(Now::parse("puma -w 2 -t 5").unwrap(), now(Some(2), Some(5)));
        assert_eq!(Now::parse(" puma -t 5  -w 2").unwrap().name(), "puma -w 2 -t 5");
        // As Puma's own command line may have it.
        assert_eq!(Now::parse("puma -w 0 -t 5:5").unwrap(), now(Some(0), Some(5)));
        assert_eq!(Now::parse("puma -w 2").unwrap(), now(Some(2), None));
        assert_eq!(Now::parse("puma -t 5:5").unwrap(), now(None, Some(5)));
        for wrong in ["", "-w 2", "puma -w", "puma -w 2 -t 5 more", "puma -w 2 -w 2", "puma --workers 2", "puma 2 5"] {
            assert!(Now::parse(wrong).unwrap_err().contains("\"puma -w 2 -t 5\""), "{wrong}");
        }
        for (wrong, says) in [
            ("puma -w 2 -t 0", "-t 0: give a whole number from 1 to 1024"),
            ("puma -w 2 -t x", "-t x: give a whole number"),
            ("puma -w 1025", "-w 1025: give a whole number from 0 to 1024"),
            ("puma -w -1", "-w -1: give"),
            ("puma -t 5:", "-t : give"),
            ("puma -t 0:5", "under load it has 5: -t 5"),
        ] {
            let error = Now::parse(wrong).unwrap_err();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
