//! k6: a load generator that many run already, on machines elsewhere too. It runs a script of ours, which checks each
//! answer and counts; what the script writes at its end is read here, and from other machines in the same form.
//!
//! k6 sends the requests of an open loop at even distances, and each needs a client that is free: one for which there
//! is none is dropped, never sent, and counts here as failed.

mod pattern;
mod report;
mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ask::Workload;
use super::outcome::Outcome;
use super::scratch::Scratch;
use super::tool::Tool;

pub use report::{DROPPED, counted as k6_counted};
pub use script::{K6Load, K6Plan};

const PROGRAM: &str = "k6";
/// How to come by it.
pub const K6_GET: &str = "a package of https://grafana.com/docs/k6/latest/set-up/install-k6/, or go install \
                          go.k6.io/k6@latest";
const K6: Tool = Tool { name: PROGRAM, get: K6_GET, without: &SETTINGS };
/// They come before what the script says.
const SETTINGS: [&str; 21] = [
    "K6_BATCH",
    "K6_CONFIG",
    "K6_DISCARD_RESPONSE_BODIES",
    "K6_DURATION",
    "K6_EXECUTION_SEGMENT",
    "K6_HTTP_DEBUG",
    "K6_ITERATIONS",
    "K6_MIN_ITERATION_DURATION",
    "K6_NO_CONNECTION_REUSE",
    "K6_NO_SUMMARY",
    "K6_NO_VU_CONNECTION_REUSE",
    "K6_OUT",
    "K6_PAUSED",
    "K6_RPS",
    "K6_STAGES",
    "K6_SUMMARY_EXPORT",
    "K6_SUMMARY_TREND_STATS",
    "K6_THROW",
    "K6_TYPE",
    "K6_USER_AGENT",
    "K6_VUS",
];
/// In the folder in which it runs.
const OUT: &str = "k6.json";
const LOG: &str = "k6.log";
const CONSOLE: &str = "console.txt";
/// How the script begins what it says of a wrong answer.
const WRONG: &str = "wrong answer: ";

/// A k6 that is here, and the folder in which the scripts are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct K6Here {
    /// As it calls itself: `k6 v1.3.0`.
    pub version: String,
    scripts: PathBuf,
}

/// The version of the k6 on PATH: `k6 v1.3.0`. An error says how to get one.
pub fn k6_version() -> Result<String, String> {
    let said = Command::new(PROGRAM).arg("version").stdin(Stdio::null()).output();
    let said = said.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("k6 is not here; to get it: {K6_GET}"),
        _ => format!("k6 cannot be started: {error}"),
    })?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some(PROGRAM), Some(version)) if version.starts_with('v') => Ok(format!("{PROGRAM} {version}")),
        _ => Err(format!("the k6 on PATH does not say its version, but {:?}; to get it: {K6_GET}", text.trim())),
    }
}

impl K6Here {
    /// With the folder in which its scripts are kept.
    pub fn with(version: String, scripts: PathBuf) -> K6Here {
        K6Here { version, scripts }
    }

    /// Loads the server on this port.
    pub fn load(&self, port: u16, workload: &Workload, plan: &K6Plan) -> Result<Outcome, String> {
        let script = self.keep(&plan.case, &plan.script(workload)?)?;
        let scratch = Scratch::new()?;
        // Its warnings, one for each failed request, would be most of what there is to do.
        let quiet = [
            "--quiet --no-usage-report --address= --log-format=raw".to_owned(),
            format!("--log-output=file={LOG},level=error --console-output={CONSOLE} -e OUT={OUT}"),
        ]
        .join(" ");
        let mut words = vec!["run".to_owned()];
        words.extend(quiet.split(' ').map(str::to_owned));
        words.extend(plan.settings(port));
        words.push(script.display().to_string());
        let mut said = K6.run(&words, &scratch, plan.limit()).map_err(|error| match text(&scratch.file(LOG)) {
            log if log.is_empty() => error,
            log => format!("k6: {log} ({error})"),
        })?;
        // Whoever repeats it wants to see what it prints.
        said.command = said.command.replace(&format!("{quiet} "), "");
        let report = fs::read_to_string(scratch.file(OUT)).map_err(|error| error.to_string());
        let report = report.and_then(|text| report::Report::parse(&text));
        let report = report.map_err(|error| format!("k6: {error}: {} ({})", text(&scratch.file(LOG)), said.command))?;
        let mut outcome = report::outcome(&[report], said.command);
        if let Some(wrong) = &mut outcome.wrong {
            let console = text(&scratch.file(CONSOLE));
            if let Some(first) = console.lines().find_map(|line| line.strip_prefix(WRONG)) {
                first.clone_into(wrong);
            }
        }
        Ok(outcome)
    }

    /// Writes the script where it stays. The same case has the same script for all servers, where nothing was learned
    /// of one of them.
    fn keep(&self, case: &str, script: &str) -> Result<PathBuf, String> {
        fs::create_dir_all(&self.scripts).map_err(|error| format!("{}: {error}", self.scripts.display()))?;
        let file = self.scripts.join(format!("{case}.js"));
        fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
        file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// The beginning of a file, in one line; nothing when it is not there.
fn text(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(4_000)]).trim().to_owned()
}
