//! Runs an external load generator and helps to parse its output.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::run_queue::{Waits, waited_pct};
use super::scratch::Scratch;
use super::usable_by;
use crate::metric;
use crate::outcome::Outcome;
use crate::process::{LedgerEntry, note, output_within, start, ticks_of};

/// Time limit of a tool that only prints its version.
const SAID_LIMIT: Duration = Duration::from_secs(60);

/// An external load generator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadTool {
    /// Name of its program.
    pub name: &'static str,
    /// Instructions to install it.
    pub get: &'static str,
    /// Environment variables to remove: the user's own settings would change the run.
    pub without: &'static [&'static str],
}

/// The output of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolOutput {
    /// The command line.
    pub command: String,
    pub out: String,
    pub err: String,
    /// Seconds for which its process ran, by the monotonic clock; `None` if that is not known.
    pub took_s: Option<f64>,
    /// Processors that all its threads together used on average; `None` if that is not known.
    pub processors: Option<f64>,
    /// Number of its threads that waited for a processor at a time, on average; `None` if that is not known.
    pub waiting: Option<f64>,
}

/// Reason why a run of a tool has no result.
pub(crate) enum ToolError {
    /// It was killed at the limit of its time, after this output.
    Hung(ToolOutput),
    /// It could not be run, or ended with an error: the message.
    Failed(String),
}

impl From<String> for ToolError {
    fn from(why: String) -> ToolError {
        ToolError::Failed(why)
    }
}

/// Difference between the time that a tool prints and that for which its process ran, in seconds and as a share of the
/// latter. Above it the clock was set meanwhile: start and end of a tool take less even on a busy machine.
const CLOCK_OFF_S: f64 = 1.0;
const CLOCK_OFF_SHARE: f64 = 0.1;

impl ToolOutput {
    /// Reason why a run is void, if the tool prints another time than its process ran. wrk and ab use the wall clock;
    /// if that was set meanwhile, the time and all figures derived from it are wrong.
    pub fn clock_was_set(&self, elapsed_s: f64) -> Option<String> {
        let took_s = self.took_s?;
        let is_off = (elapsed_s - took_s).abs() > CLOCK_OFF_S + took_s * CLOCK_OFF_SHARE;
        let words = format!("the tool says {elapsed_s:.2} s and ran for {took_s:.2} s: was the clock set meanwhile?");
        is_off.then_some(words)
    }

    /// Adds the processors that the tool used to its outcome, the number that its `threads` could have used, and how
    /// long these waited for one.
    pub fn tell_processors(&self, outcome: &mut Outcome, threads: u32) {
        let waited = self.waiting.map(|waiting| waited_pct(waiting, threads));
        outcome.numbers.extend(waited.map(|share| (metric::GENERATOR_WAITED.to_owned(), share)));
        let Some(used) = self.processors else { return };
        outcome.numbers.insert(metric::GENERATOR.to_owned(), used);
        outcome.numbers.insert(metric::GENERATOR_THREADS.to_owned(), f64::from(usable_by(threads)));
    }
}

impl LoadTool {
    /// An error, with instructions to install it, if its program cannot be started.
    pub fn is_here(&self) -> Result<(), String> {
        // None of them knows this option together with a load: each prints its version or its usage, and ends.
        let version = output_within(Command::new(self.name).arg("-V"), SAID_LIMIT);
        version.map(|_| ()).map_err(|error| self.missing(&error))
    }

    /// Runs the tool. It must succeed within `limit`.
    pub fn run(&self, words: &[String], scratch: &Scratch, limit: Duration) -> Result<ToolOutput, String> {
        self.attempt(words, scratch, limit).map_err(|error| match error {
            ToolError::Hung(output) => self.hung(&output, limit.as_secs()),
            ToolError::Failed(why) => why,
        })
    }

    /// The message about a tool that did not end within its limit.
    pub fn hung(&self, output: &ToolOutput, limit_s: impl Display) -> String {
        self.failed(output, &format!("it did not end within {limit_s} s"))
    }

    /// Runs the tool, and kills it at the limit.
    pub fn attempt(&self, words: &[String], scratch: &Scratch, limit: Duration) -> Result<ToolOutput, ToolError> {
        let (out, err) = (scratch.file("out.txt"), scratch.file("err.txt"));
        let mut command = Command::new(self.name);
        // Numbers in the C locale, and no files outside the scratch folder.
        command.args(words).env("LC_ALL", "C").env("HOME", scratch.folder()).current_dir(scratch.folder());
        command.stdin(Stdio::null()).stdout(created(&out)?).stderr(created(&err)?);
        for name in self.without {
            command.env_remove(name);
        }
        // Ctrl-C is for this program, which ends the tool: otherwise the tool would print partial results as if
        // complete.
        command.process_group(0);
        let mut child = start(&mut command).map_err(|error| self.missing(&error))?;
        let began = Instant::now();
        let mut waits = Waits::default();
        let ended = wait(&mut child, limit, &mut waits);
        let took_s = began.elapsed().as_secs_f64().max(1e-3);
        note(&LedgerEntry::Ended(child.id()));
        let (ended, used_s) = ended.map_err(|error| format!("{}: {error}", self.name))?;
        let processors = used_s.map(|used_s| used_s / took_s);
        let command = format!("{} {}", self.name, words.join(" "));
        let (out, err) = (text(&out)?, text(&err)?);
        let waiting = waits.waiting();
        let output = ToolOutput { command, out, err, took_s: Some(took_s), processors, waiting };
        match ended {
            Some(status) if status.success() => Ok(output),
            Some(status) => Err(ToolError::Failed(self.failed(&output, &status.to_string()))),
            None => Err(ToolError::Hung(output)),
        }
    }

    /// The message about output that cannot be parsed; `lacks` names what is missing.
    pub fn not_understood(&self, lacks: &str, output: &ToolOutput) -> String {
        self.failed(output, &format!("its output has no {lacks}; is it another version?"))
    }

    fn failed(&self, output: &ToolOutput, why: &str) -> String {
        let all = format!("{}\n{}", output.out, output.err);
        let words: Vec<&str> = all.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = words[words.len().saturating_sub(3)..].join(" | ");
        let last: String = last.chars().take(300).collect();
        format!("{}: {why}: {last} ({})", self.name, output.command)
    }

    fn missing(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::NotFound => format!("{} is not here; {}", self.name, self.get),
            _ => format!("{} cannot be started: {error}", self.name),
        }
    }
}

fn created(file: &Path) -> Result<File, String> {
    File::create(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn text(file: &Path) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for the end of the process, and kills it after `limit`. Returns its status, unless it was killed, and the
/// seconds of processor time that its threads used, if they are known. Reads meanwhile how long these wait for a
/// processor: the kernel forgets that of each thread at its end.
fn wait(child: &mut Child, limit: Duration, waits: &mut Waits) -> io::Result<(Option<ExitStatus>, Option<f64>)> {
    let begun = Instant::now();
    let end = begun + limit;
    loop {
        if has_ended(child.id()) {
            // The kernel forgets the processor time of a process that has been waited for.
            let used_s = processor_s(child.id());
            return Ok((Some(child.wait()?), used_s));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok((None, None));
        }
        waits.sample(child.id(), begun.elapsed());
        thread::park_timeout(Duration::from_millis(20));
    }
}

/// Whether this child has exited. Does not wait for it, so its processor time can still be read.
fn has_ended(id: u32) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| matches!(waitid(WaitId::Pid(id), look), Ok(Some(_))))
}

/// Seconds of processor time that a process has used, its ended threads included.
fn processor_s(id: u32) -> Option<f64> {
    Some(ticks_of(id)? as f64 / procfs::ticks_per_second() as f64)
}

/// Parses a number that is finite and not negative.
pub(crate) fn number(word: &str) -> Option<f64> {
    word.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// The first word after `mark` in the line that begins with it.
pub(crate) fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(mark))?.split_whitespace().next()
}

/// The number after `mark` in the line that begins with it.
pub(crate) fn number_after(text: &str, mark: &str) -> Option<f64> {
    number(word_after(text, mark)?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Damaged copies of a text: cut short at many places, without each line, with each line doubled, and with each
    /// number replaced.
    pub fn damaged(text: &str) -> Vec<String> {
        let mut all: Vec<String> =
            (0..text.len()).step_by(5).filter_map(|end| text.get(..end)).map(str::to_owned).collect();
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let changed = |new: &[&str]| [&lines[..at], new, &lines[at + 1..]].concat().join("\n");
            all.push(changed(&[]));
            all.push(changed(&[lines[at], lines[at]]));
            for other in ["-1", "nan", "99999999999999999999999", "é", "", "1.2.3", ":", ","] {
                let digits = |c: char| c.is_ascii_digit() || c == '.';
                let spoilt: Vec<&str> = lines[at].split(digits).collect();
                all.push(changed(&[&spoilt.join(other)]));
            }
        }
        all
    }

    /// Checks that damaged copies of these texts are refused, or give numbers that are finite and not negative.
    pub fn check_damaged(texts: &[&str], read: impl Fn(&str) -> Option<Outcome>) {
        for text in texts.iter().flat_map(|text| damaged(text)) {
            if let Some(seen) = read(&text) {
                assert!(seen.numbers.values().all(|number| number.is_finite() && *number >= 0.0), "{text}: {seen:?}");
            }
        }
    }

    fn run(name: &'static str, words: &[&str], limit: Duration) -> Result<ToolOutput, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        LoadTool { name, get: "on Debian: apt install some-package", without: &[] }.run(
            &words,
            &Scratch::new().unwrap(),
            limit,
        )
    }

    #[test]
    fn a_tool_says_something_or_why_not() {
        let patience = Duration::from_secs(20);
        let output = run("sh", &["-c", "echo out; echo err >&2"], patience).unwrap();
        assert_eq!((output.out.as_str(), output.err.as_str()), ("out\n", "err\n"));
        let error = run("sh", &["-c", "echo no luck >&2; exit 3"], patience).unwrap_err();
        assert!(error.contains("no luck") && error.contains("exit status: 3"), "{error}");
        let error = run("no-such-tool-here", &[], patience).unwrap_err();
        assert!(error.contains("apt install some-package"), "{error}");
        let error = run("sleep", &["60"], Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("did not end within"), "{error}");
    }

    #[test]
    fn a_clock_that_was_set_is_seen() {
        let output = run("sleep", &["0.1"], Duration::from_secs(20)).unwrap();
        assert!(output.took_s.is_some_and(|took_s| (0.1..20.0).contains(&took_s)), "{output:?}");
        let of = |took_s, elapsed_s| ToolOutput { took_s, ..ToolOutput::default() }.clock_was_set(elapsed_s).is_some();
        assert!(!of(Some(10.2), 10.0) && !of(Some(61.0), 60.0) && !of(Some(0.05), 0.0) && !of(None, 1e12));
        assert!(of(Some(10.2), 1.8e13) && of(Some(10.2), 3_610.0) && of(Some(10.2), 5.0));
    }

    #[test]
    fn the_processor_time_of_a_tool_is_told() {
        let output = run("sh", &["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], Duration::from_secs(60));
        let used = output.unwrap().processors.unwrap();
        assert!(used > 0.0 && used <= 1.2, "{used}");
        let output = run("sleep", &["0.3"], Duration::from_secs(20)).unwrap();
        let mut outcome = Outcome::default();
        output.tell_processors(&mut outcome, 1);
        let of = |name: &str| outcome.numbers[name];
        assert!(of(metric::GENERATOR) < 0.5 && of(metric::GENERATOR_THREADS) == 1.0, "{outcome:?}");
    }

    #[test]
    fn numbers_are_finite() {
        assert_eq!(number(" 12.5 "), Some(12.5));
        for word in ["nan", "inf", "-1", "", "x", "1e999"] {
            assert_eq!(number(word), None, "{word}");
        }
        assert_eq!(number_after("a\n  Rate:  3 x\n", "Rate:"), Some(3.0));
    }
}
