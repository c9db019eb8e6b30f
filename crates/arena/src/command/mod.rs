//! The commands of the program, one per file.

mod challenge;
mod compare;
mod duel;
mod home;
mod import;
mod interrupt;
mod list;
mod progress;
mod report;
mod ring;
mod run;
mod words;

use std::io::Write;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use home::Home;

/// Variable that forbids real-time priority to all loads, if it is `no`.
const REAL_TIME: &str = "ARENA_REAL_TIME";

/// Compares Ruby application servers on real work.
#[derive(Debug, Parser)]
#[command(name = "arena", version, arg_required_else_help = true, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub struct Arena {
    #[command(subcommand)]
    command: Command,
    /// The folder with apps/ and arena/ [default: found from the location of the program].
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says which contenders and studies there are, and what is missing.
    List(list::ListCommand),
    /// Runs a study, several, or all of them.
    Run(run::RunCommand),
    /// Runs a study with your own settings of a server, beside ours.
    Challenge(challenge::ChallengeCommand),
    /// Finds the best server and settings for your own application.
    Duel(duel::DuelCommand),
    /// Makes a run of what k6 counted on other machines.
    Import(import::ImportCommand),
    /// Sets two runs of the same study side by side.
    Compare(compare::CompareCommand),
    /// Makes the page of a run again, an index of several, or the tables of a README.
    Report(report::ReportCommand),
    /// Builds a root folder with today's Ruby servers, entered by chroot (Debian, as root).
    Ring(ring::RingCommand),
    /// Prints this text, or that of a command.
    #[command(disable_help_flag = true)]
    Help {
        /// The command.
        #[arg(value_name = "COMMAND")]
        words: Vec<String>,
        /// Asked twice for help.
        #[arg(short, long, hide = true)]
        help: bool,
    },
    /// Ends what another arena has started, when that is gone.
    #[command(name = interrupt::GUARD, hide = true)]
    Guard {
        /// Its process id.
        owner: u32,
    },
}

impl Arena {
    /// Runs the command. An error becomes the message and the exit code of the program.
    pub fn obey(self, out: &mut dyn Write) -> Result<(), String> {
        match std::env::var_os(REAL_TIME).filter(|value| !value.is_empty()) {
            None => {}
            Some(value) if value == "no" => loadgen::forbid_real_time(),
            Some(value) => {
                let value = value.display();
                return Err(format!("{REAL_TIME}={value}: only `no` is a value: then no load has real-time priority"));
            }
        }
        if let Command::Help { words, .. } = &self.command {
            return help(words);
        }
        if let Command::Guard { owner } = self.command {
            loadgen::process::stand(owner, std::io::stdin().lock());
            return Ok(());
        }
        // Needs nothing that comes with the program.
        if let Command::Ring(ring) = &self.command {
            return ring.obey(out);
        }
        let home = Home::find(self.home)?;
        let is_to_measure = matches!(self.command, Command::Run(_) | Command::Challenge(_) | Command::Duel(_));
        if is_to_measure || matches!(self.command, Command::List(_)) {
            interrupt::prepare(is_to_measure)?;
        }
        match self.command {
            Command::List(list) => list.obey(&home, out),
            Command::Run(run) => run.obey(&home, out),
            Command::Challenge(challenge) => challenge.obey(&home, out),
            Command::Duel(duel) => duel.obey(&home, out),
            Command::Import(import) => import.obey(&home, out),
            Command::Compare(compare) => compare.obey(&home, out),
            Command::Report(report) => report.obey(&home, out),
            Command::Ring(_) | Command::Help { .. } | Command::Guard { .. } => Ok(()),
        }
    }
}

/// Prints what these words print with `--help`, and ends the program; or refuses them as a command, likewise.
fn help(words: &[String]) -> Result<(), String> {
    let asked = words.iter().map(String::as_str).filter(|word| *word != "help");
    match Arena::try_parse_from(["arena"].into_iter().chain(asked).chain(["--help"])) {
        Ok(_) => Ok(()),
        Err(help) => help.exit(),
    }
}
