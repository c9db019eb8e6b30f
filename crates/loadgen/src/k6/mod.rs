//! k6: a load generator that many use already, also from other machines. It runs a script of ours, which checks each
//! response and counts. The script writes a report at its end, which is read here, as are those from other machines.
//!
//! k6 sends the requests of an open loop at even intervals, and each needs a free client: a request without one is
//! dropped and never sent. It counts here as failed if the server kept all clients waiting, and otherwise as not sent.

mod pattern;
mod report;
mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ask::Workload;
use super::outcome::Outcome;
use super::scratch::Scratch;
use super::tool::{LoadTool, ToolOutput};
use super::usable_by;

pub use report::{DROPPED, counted as k6_counted};
pub use script::{K6Load, K6Plan};

const PROGRAM: &str = "k6";
/// Instructions to install k6.
pub const K6_GET: &str = "a package of https://grafana.com/docs/k6/latest/set-up/install-k6/, or go install \
                          go.k6.io/k6@latest";
const K6: LoadTool = LoadTool { name: PROGRAM, get: K6_GET, without: &SETTINGS };
/// Environment variables that would take precedence over the script.
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
/// Names of k6's files in its working folder.
const OUT: &str = "k6.json";
const LOG: &str = "k6.log";
const CONSOLE: &str = "console.txt";
/// Least share of the machine's processors that k6 used or waited for if it counts as short of them.
const SHORT_SHARE: f64 = 0.9;
/// Prefix of the script's message about a wrong response.
const WRONG: &str = "wrong answer: ";

/// An installed k6, and the folder for its scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct K6Here {
    /// Its version: `k6 v1.3.0`.
    pub version: String,
    scripts: PathBuf,
}

/// The version of the k6 on PATH: `k6 v1.3.0`. The error says how to install it.
pub fn k6_version() -> Result<String, String> {
    let output = Command::new(PROGRAM).arg("version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("k6 is not here; to get it: {K6_GET}"),
        _ => format!("k6 cannot be started: {error}"),
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some(PROGRAM), Some(version)) if version.starts_with('v') => Ok(format!("{PROGRAM} {version}")),
        _ => Err(format!("the k6 on PATH does not say its version, but {:?}; to get it: {K6_GET}", text.trim())),
    }
}

impl K6Here {
    /// An installed k6 of this version, with the folder for its scripts.
    pub fn with(version: String, scripts: PathBuf) -> K6Here {
        K6Here { version, scripts }
    }

    /// Loads the server on this port.
    pub fn load(&self, port: u16, workload: &Workload, plan: &K6Plan) -> Result<Outcome, String> {
        let script = self.keep(&plan.case, &plan.script(workload)?)?;
        let scratch = Scratch::new()?;
        // Its warnings, one for each failed request, would be most of its work.
        let quiet = [
            "--quiet --no-usage-report --address= --log-format=raw".to_owned(),
            format!("--log-output=file={LOG},level=error --console-output={CONSOLE} -e OUT={OUT}"),
        ]
        .join(" ");
        let mut words = vec!["run".to_owned()];
        words.extend(quiet.split(' ').map(str::to_owned));
        words.extend(plan.settings(port));
        words.push(script.display().to_string());
        let mut output = K6.run(&words, &scratch, plan.limit()).map_err(|error| match text(&scratch.file(LOG)) {
            log if log.is_empty() => error,
            log => format!("k6: {log} ({error})"),
        })?;
        // Options about output are of no use to a person who repeats the command.
        output.command = output.command.replace(&format!("{quiet} "), "");
        let report = fs::read_to_string(scratch.file(OUT)).map_err(|error| error.to_string());
        let report = report.and_then(|text| report::Report::parse(&text));
        let report =
            report.map_err(|error| format!("k6: {error}: {} ({})", text(&scratch.file(LOG)), output.command))?;
        // The clients of k6 share as many threads at a time as there are processors.
        let threads = usable_by(u32::MAX);
        let load_s = match plan.load {
            K6Load::Rate { seconds, .. } | K6Load::Clients { seconds, .. } => Some(seconds),
            K6Load::Requests { .. } => output.took_s,
        };
        let is_short = load_s.and_then(|seconds| is_short_of_processors(&output, seconds, threads));
        let mut outcome = report::outcome(&[report], output.command.clone(), is_short);
        output.tell_processors(&mut outcome, threads);
        if let Some(wrong) = &mut outcome.wrong {
            let console = text(&scratch.file(CONSOLE));
            if let Some(first) = console.lines().find_map(|line| line.strip_prefix(WRONG)) {
                first.clone_into(wrong);
            }
        }
        Ok(outcome)
    }

    /// Writes the script to a permanent file. The scripts of one case are equal for all servers, unless something was
    /// measured for one of them.
    fn keep(&self, case: &str, script: &str) -> Result<PathBuf, String> {
        fs::create_dir_all(&self.scripts).map_err(|error| format!("{}: {error}", self.scripts.display()))?;
        let file = self.scripts.join(format!("{case}.js"));
        fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
        file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// Whether k6 used, or waited for, nearly all processors during a load of this many seconds; `None` where that is not
/// known.
fn is_short_of_processors(output: &ToolOutput, seconds: f64, threads: u32) -> Option<bool> {
    let busy = output.processors? + output.waiting?;
    // Both are means of the whole run. In its other parts, such as the wait for the last answers, it may need none.
    let in_load = busy * output.took_s? / seconds.max(1.0);
    Some(in_load >= f64::from(threads) * SHORT_SHARE)
}

/// The beginning of a file as text; empty if it does not exist.
fn text(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(4_000)]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_is_short_of_processors_if_it_used_or_waited_for_nearly_all_while_it_sent() {
        let of = |took_s, processors, waiting| {
            let output = ToolOutput { took_s: Some(took_s), processors, waiting, ..ToolOutput::default() };
            is_short_of_processors(&output, 10.0, 4)
        };
        assert_eq!(of(10.5, Some(0.4), Some(0.2)), Some(false), "its clients waited for answers");
        assert_eq!(of(10.5, Some(3.7), Some(0.1)), Some(true), "it had all processors");
        assert_eq!(of(10.5, Some(1.5), Some(2.2)), Some(true), "the server had the others");
        assert_eq!(of(40.0, Some(0.6), Some(0.4)), Some(true), "of 40 s it waited for 30 for the last answers");
        assert_eq!((of(10.5, None, Some(4.0)), of(10.5, Some(4.0), None)), (None, None));
    }
}
