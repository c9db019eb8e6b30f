//! Start of a server's processes: each in a session of its own, so that all descendants can be found; killed when this
//! program dies; if wanted, with a memory limit and in a PID namespace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;

use super::MemoryGroup;
use super::gate::{note, start};
use super::ledger::LedgerEntry;
use super::tree::spent_by;

/// Lines of a log that are shown with an error.
const TAIL_LINES: usize = 12;
/// Lines of one backtrace among them; the cause stands before it.
const TRACE_LINES: usize = 2;

/// A line of a backtrace in the formats of Ruby and Java. Ruby's first line does not match, since it has the message.
/// The pattern is constant, and a test compiles it.
static TRACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(from \S+:\d+|\S+:\d+:in [`'][^`']*'$|at \S+\(|at .+:\d+\)?$)").ok());

/// Patterns of the line of a log that says why a program ended, the surest first: a crash of Ruby, Java or Rust, or in
/// C; what the C library finds wrong; an exception; a message of a level above warnings. They are constant, and a test
/// compiles them.
const CAUSES: [&str; 4] = [
    r"\[BUG\]|\[FATAL\]|Segmentation fault|panicked at|fatal error has been detected|\bSIG(SEGV|ABRT|BUS|ILL|FPE)\b",
    r"^(malloc|realloc|free|munmap_chunk)\(\): |^(double free|corrupted )|stack smashing detected",
    r"\b([A-Z]\w*)?(Error|Exception)\b",
    r"\b(ERROR|FATAL|emerg|alert|crit)\b|\berror(: | while )",
];

static CAUSE: LazyLock<Vec<Regex>> =
    LazyLock::new(|| CAUSES.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect());

/// Wrapper commands before a server's own command line.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// Path of a `/proc` that shows a PID namespace of its own; all processes in it end with the first.
    pub namespace: Option<&'a Path>,
    /// Group that limits its memory.
    pub group: Option<&'a MemoryGroup>,
}

impl Launch<'_> {
    /// The wrapper commands. Each executes the next one, so that the process id stays the same.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = vec!["setsid".into()];
        // unshare ignores SIGTERM, and ends its processes when it is killed.
        let farewell = if self.namespace.is_some() { "KILL" } else { "TERM" };
        words.extend(["setpriv", "--pdeathsig", farewell].map(str::to_owned));
        if let Some(group) = self.group {
            // A shell exports its working folder, which inside a ring does not exist.
            let enter = "echo $$ > \"$0\" && unset PWD OLDPWD && exec \"$@\"";
            words.extend(["sh".into(), "-c".into(), enter.into(), group.entrance().display().to_string()]);
        }
        if let Some(proc) = self.namespace {
            words.extend(["unshare", "--mount", "--pid", "--fork", "--kill-child"].map(str::to_owned));
            words.push(format!("--mount-proc={}", proc.display()));
            // The first process of a namespace must reap orphans, which servers do not.
            words.extend(["sh", "-c", "unset PWD OLDPWD; \"$@\"; exit $?", "sh"].map(str::to_owned));
        }
        words
    }
}

/// A process of this program. It gets a signal when the thread that started it ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    since: Option<u64>,
    /// Name of the process, for messages.
    pub name: String,
    /// File with its output.
    pub log: PathBuf,
}

impl Process {
    /// Starts a process with its output in `log`.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Process, String> {
        let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = start(&mut command).map_err(|error| format!("cannot start {program}: {error}"))?;
        // It may have ended, but has not been waited for.
        let since = spent_by(child.id()).map(|spent| spent.start);
        Ok(Process { child, since, name: name.to_owned(), log: log.to_path_buf() })
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Time of its start, in clock ticks since that of the machine.
    pub fn since(&self) -> Option<u64> {
        self.since
    }

    /// How the process has ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// The last lines of its output.
    pub fn tail(&self) -> String {
        let text = fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        tail(&text)
    }
}

/// The line of a log that says why its program ended: the last one of the surest kind (a crash, an exception, an
/// error). None where no line says it.
pub fn cause(log: &str) -> Option<&str> {
    let says = |pattern: &Regex| log.lines().rev().find(|line| pattern.is_match(line) && !is_trace(line));
    CAUSE.iter().find_map(says).map(str::trim)
}

/// Whether a line is one of a backtrace.
fn is_trace(line: &str) -> bool {
    TRACE.as_ref().is_some_and(|rule| rule.is_match(line))
}

/// The last lines of a text, with long backtraces shortened. Where none of them says why the program ended, an earlier
/// line that does stands before them: a crash of Ruby is followed by hundreds of lines, such as its map of memory.
fn tail(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left_out = 0;
    let mut of_trace = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()).map(Some).chain([None]) {
        if line.is_some_and(is_trace) {
            of_trace += 1;
            if of_trace > TRACE_LINES {
                left_out += 1;
                continue;
            }
        } else {
            lines.extend((left_out > 0).then(|| format!("\t… {left_out} more lines of the backtrace")));
            (of_trace, left_out) = (0, 0);
        }
        lines.extend(line.map(str::to_owned));
    }
    let shown = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    match cause(text).filter(|line| !shown.contains(line)) {
        Some(line) => format!("{line}\n…\n{shown}"),
        None => shown,
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its owner has normally ended it before; it must not outlive this program.
        if self.ended().is_none() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        note(&LedgerEntry::Ended(self.child.id()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_each_other() {
        assert_eq!(Launch::default().words().join(" "), "setsid setpriv --pdeathsig TERM");
        let words = Launch { namespace: Some(Path::new("/r/proc")), group: None }.words().join(" ");
        assert!(words.contains("--pdeathsig KILL unshare") && words.contains("--mount-proc=/r/proc sh -c"), "{words}");
    }

    #[test]
    fn what_went_wrong_is_shown_and_not_its_whole_backtrace() {
        let from = "\tfrom /usr/lib/rack/builder.rb:116:in `eval'\n".repeat(30);
        let puma = format!("* Starting\n! Unable to load application: E: no\nconfig.ru:2:in `deep': no (E)\n{from}");
        let shown = tail(&puma);
        assert!(shown.contains("config.ru:2:in `deep': no (E)") && shown.contains("! Unable to load"), "{shown}");
        assert!(shown.ends_with("… 28 more lines of the backtrace") && shown.lines().count() == 6, "{shown}");
        let unicorn = format!("ERROR -- : no (E)\n{}reaped\n", "config.ru:3:in 'Object#deep'\n".repeat(20));
        assert_eq!(tail(&unicorn).lines().count(), 5);
        let java = format!("Error: no\n{}", "\tat org.jruby.Main.run(Main.java:7)\n".repeat(20));
        assert!(tail(&java).starts_with("Error: no\n\tat org"), "{java}");
        let plain: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
        assert_eq!(tail(&plain.join("\n")), plain[28..].join("\n"));
    }

    #[test]
    fn the_line_that_says_why_a_program_ended_is_shown_however_much_follows_it() {
        assert_eq!(CAUSE.len(), CAUSES.len(), "a pattern is wrong");
        let map = "7f0d861d4000-7f0d861d6000 rw-p 00000000 00:00 0\n".repeat(40);
        let crash = "/app/config.ru:3: [BUG] Segmentation fault at 0x0000000000000018";
        let ruby = format!("started\nwrong (ArgumentError)\n{crash}\nruby 3.3.8\n\n-- C level backtrace --\n{map}");
        assert_eq!(cause(&ruby), Some(crash));
        let shown = tail(&ruby);
        assert!(shown.starts_with(&format!("{crash}\n…\n7f0d861d4000-")), "{shown}");
        assert_eq!(shown.lines().count(), TAIL_LINES + 2);
        for (line, noise) in [
            ("double free or corruption (!prev)", "E, [2026] ERROR -- : retried"),
            ("config.ru:1:in 'call': no such row (ActiveRecord::RecordInvalidError)", "[error] late"),
            ("Caused by: java.lang.NullPointerException", "\tat org.jruby.RaiseException.call(RaiseException.java:7)"),
            ("thread 'main' panicked at src/main.rs:7:5:", "SomeError: hidden"),
            ("2026/11/27 [emerg] 7#7: bind() to 127.0.0.1:80 failed", "worker process exited"),
        ] {
            assert_eq!(cause(&format!("{line}\n{noise}\n")), Some(line));
        }
        assert_eq!(cause("listening\nGET /errors 200\nready\n"), None);
        // Where it is among the last lines, it is not said twice.
        assert_eq!(tail("ready\nSIGSEGV (core dumped)"), "ready\nSIGSEGV (core dumped)");
    }

    #[test]
    fn an_end_is_seen_and_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", "echo so; exit 3"]);
        let mut process = Process::start("sh", command, &folder.path().join("log")).expect("started");
        assert!(super::super::until(std::time::Duration::from_secs(10), || process.ended().is_some()));
        assert!(process.ended().is_some_and(|how| how.contains('3')));
        assert_eq!(process.tail(), "so");
    }
}
