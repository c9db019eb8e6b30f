//! The command line.

use std::path::{Path, PathBuf};

use bench_kit::options::number;

/// Upper bound of numbers, to catch typing errors.
const MOST: u32 = 1_000_000;

/// The text of `--help`.
pub const HELP: &str = "\
bench-fools-gold: foolsgold against Thin, Puma and bare hyper on the same page

  --quick           two rounds of one second: to see that it works, not to believe
  --rounds N        rounds (5)
  --seconds N       seconds of each wrk run (5)
  --requests N      requests of each ab run (5000)
  --warm-up N       requests to each server before the first round (10000)
  --only NAME       only this contender; may be given several times
  --foolsgold PATH  the program to measure (the one built beside this)
  --runs PATH       where records go (bench/fools-gold/runs)
  -h, --help        this
";

/// All settings of a run.
#[derive(Debug, Clone)]
pub struct Options {
    pub help: bool,
    pub rounds: u32,
    pub seconds: u32,
    pub requests: u32,
    pub warm_up: u32,
    /// Empty for all contenders.
    pub only: Vec<String>,
    pub foolsgold: PathBuf,
    pub bare: PathBuf,
    /// Folder of the application and its twin.
    pub app: PathBuf,
    pub runs: PathBuf,
}

impl Options {
    /// Parses the words of the command line.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Options, String> {
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let beside = here.parent().map(Path::to_path_buf).unwrap_or_default();
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut options = Options {
            help: false,
            rounds: 5,
            seconds: 5,
            requests: 5_000,
            warm_up: 10_000,
            only: Vec::new(),
            foolsgold: beside.join("foolsgold"),
            bare: beside.join("bare-hyper"),
            app: crate_folder.join("../../apps/fools-gold"),
            runs: crate_folder.join("runs"),
        };
        let mut words = words;
        while let Some(word) = words.next() {
            options.take(&word, &mut words)?;
        }
        Ok(options)
    }

    fn take(&mut self, word: &str, rest: &mut dyn Iterator<Item = String>) -> Result<(), String> {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word {
            "-h" | "--help" => self.help = true,
            "--quick" => (self.rounds, self.seconds, self.requests, self.warm_up) = (2, 1, 1_000, 1_000),
            "--rounds" => self.rounds = number(word, &value()?, MOST)?,
            "--seconds" => self.seconds = number(word, &value()?, MOST)?,
            "--requests" => self.requests = number(word, &value()?, MOST)?,
            "--warm-up" => self.warm_up = number(word, &value()?, MOST)?,
            "--only" => self.only.push(value()?),
            "--foolsgold" => self.foolsgold = PathBuf::from(value()?),
            "--runs" => self.runs = PathBuf::from(value()?),
            _ => return Err(format!("{word} is not an option; see --help")),
        }
        Ok(())
    }
}
