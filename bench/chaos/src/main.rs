//! The program behind bin/chaos: bad days for foolsgold, one after the other, each under load with every response
//! checked. Prints a table; the exit code is 1 if one of them failed.

mod api;
mod app;
mod count;
mod findings;
mod load;
mod pace;
mod processes;
mod progress;
mod rundown;
mod scenarios;
mod server;
mod slow;
mod stage;
mod table;

use std::env;
use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use scenarios::{ALL, Scenario};

/// Bad days for foolsgold: deaths, deploys, full disks and overload, under load from 32 clients with every response
/// checked.
#[derive(Debug, Parser)]
#[command(name = "chaos", max_term_width = 100)]
struct Arguments {
    /// A few seconds per scenario: to see that all is well, not to find what is rare.
    #[arg(long)]
    quick: bool,
    /// Only scenarios with this in their names; may be given several times.
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// List the scenarios.
    #[arg(long)]
    list: bool,
    /// The foolsgold under test.
    #[arg(long, value_name = "PATH")]
    foolsgold: Option<PathBuf>,
    /// The folder that contains apps/ and bench/.
    #[arg(long, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// Keep the folder of each scenario, with the server's log, and print its path.
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            let _ = writeln!(stderr(), "chaos: {why}");
            ExitCode::from(2)
        }
    }
}

/// Whether all scenarios went well.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let chosen = chosen(&arguments.only)?;
    if arguments.list {
        return table::list(&chosen, &mut stdout()).map(|()| true).map_err(|error| error.to_string());
    }
    let home = home(arguments.home.as_deref())?;
    let foolsgold = foolsgold(arguments.foolsgold.as_deref())?;
    processes::adopt_orphans()?;
    pace::watch();
    let plan = rundown::Plan { foolsgold, home, is_quick: arguments.quick, keeps: arguments.keep };
    let results = rundown::run(&chosen, &plan);
    table::print(&results, &mut stdout()).map_err(|error| error.to_string())?;
    Ok(results.iter().all(table::Row::is_well))
}

fn chosen(only: &[String]) -> Result<Vec<&'static Scenario>, String> {
    let fits = |scenario: &&Scenario| only.is_empty() || only.iter().any(|word| scenario.name.contains(word.as_str()));
    let chosen: Vec<&Scenario> = ALL.iter().filter(fits).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario has {} in its name; there are: {}", only.join(" or "), names.join(", ")));
    }
    Ok(chosen)
}

/// The repository: as given, or above this program, or above the current folder.
fn home(given: Option<&Path>) -> Result<PathBuf, String> {
    let is_home = |folder: &Path| folder.join("apps/arena/config.ru").is_file() && folder.join("bench/chaos").is_dir();
    if let Some(folder) = given {
        let folder = folder.canonicalize().map_err(|error| format!("--home {}: {error}", folder.display()))?;
        return if is_home(&folder) { Ok(folder) } else { Err("--home: there is no apps/arena in it".into()) };
    }
    let starts = [env::current_exe().ok(), env::current_dir().ok()];
    let found = starts.iter().flatten().flat_map(|start| start.ancestors()).find(|folder| is_home(folder));
    found.map(Path::to_path_buf).ok_or_else(|| "where is the repository? Say it with --home FOLDER".into())
}

/// The program under test: as given, or beside this one.
fn foolsgold(given: Option<&Path>) -> Result<PathBuf, String> {
    let beside = env::current_exe().ok().map(|program| program.with_file_name("foolsgold"));
    let program = given.map(Path::to_path_buf).or(beside).unwrap_or_default();
    let found = program.canonicalize().ok().filter(|program| program.is_file());
    found.ok_or_else(|| format!("there is no {}: build it, or say --foolsgold PATH", program.display()))
}
