//! The folder of a run: `run.json` (the request), `raw.jsonl` (every sample), `logs/`, `summary.json`, and the page. An
//! interrupted run is resumed in its folder; a folder is never used for another run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

use super::summary::{FORMAT, Summary, Who};
use super::{Sample, TWIN, date};
use loadgen::process::gate;

const PLAN: &str = "run.json";
const RAW: &str = "raw.jsonl";
const SUMMARY: &str = "summary.json";
/// Depth of the summary below which each value is on one line: that of a contender's result in a case.
const LINES_DEEP: usize = 4;
const PAGE: &str = "report.html";
const WHO: &str = "who.json";
const LOGS: &str = "logs";
/// Most runs of a study on one day; more are a mistake.
const MOST_A_DAY: u32 = 1000;
/// Regular expression for a folder of this machine with the servers' own folders, or with a copy of an application.
pub(crate) const TEMPORARY: &str = r#"/[^\s"'\\:=]*/arena-[0-9]+-[0-9]+(/[0-9a-f]{16})?"#;

/// An existing folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates `DATE-STUDY` under this folder, or `DATE-STUDY-2` and so on if that exists, and records the plan, so
    /// that the run can be resumed.
    pub fn create(under: &Path, study: &str, plan: &Value) -> Result<Folder, String> {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let study: String = study.chars().map(safe).collect();
        let today = date::now();
        let name = format!("{}-{study}", today.get(..10).unwrap_or(&today));
        fs::create_dir_all(under).map_err(|error| format!("cannot make {}: {error}", under.display()))?;
        for count in 1..=MOST_A_DAY {
            let path = under.join(if count == 1 { name.clone() } else { format!("{name}-{count}") });
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
                Ok(()) => return Folder { path }.begin(plan),
            }
        }
        Err(format!("{} holds {MOST_A_DAY} runs of {study} of today: give another folder", under.display()))
    }

    /// Locks the folder for this program, until the value is dropped or the program exits: two programs would mix their
    /// samples.
    pub fn lock(&self) -> Result<Lock, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let file = File::open(&self.path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(format!("{}: another arena is writing there", self.path.display())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn begin(self, plan: &Value) -> Result<Folder, String> {
        let logs = self.logs();
        fs::create_dir(&logs).map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
        self.put(PLAN, &pretty(plan)?)?;
        Ok(self)
    }

    /// Opens the folder of an existing run.
    pub fn open(path: &Path) -> Result<Folder, String> {
        let holds = |name: &str| path.join(name).is_file();
        if holds(PLAN) || holds(SUMMARY) {
            return Ok(Folder { path: path.to_owned() });
        }
        if let Some(folder) = path.parent().filter(|_| path.is_file()) {
            let path = path.display();
            let folder = folder.display();
            return Err(format!("{path} is a file: give the run's folder, {folder}"));
        }
        Err(format!("{} is no run's folder: it has neither {PLAN} nor {SUMMARY}", path.display()))
    }

    /// Drops an incomplete last line of the samples, left by an interrupted write. Returns a note of that.
    pub fn mend(&self) -> Result<Option<String>, String> {
        let (_, good_bytes, note) = self.parse_raw()?;
        if note.is_some() {
            let raw = self.path.join(RAW);
            let cut = OpenOptions::new().write(true).open(&raw).and_then(|file| file.set_len(good_bytes as u64));
            cut.map_err(|error| format!("cannot mend {}: {error}", raw.display()))?;
        }
        Ok(note)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Last part of its path: `2026-11-21-prime-sums`.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Folder for the servers' logs.
    pub fn logs(&self) -> PathBuf {
        self.path.join(LOGS)
    }

    /// Whether the run has finished.
    pub fn is_whole(&self) -> bool {
        self.path.join(SUMMARY).is_file()
    }

    /// The recorded plan.
    pub fn plan(&self) -> Result<Value, String> {
        let text = fs::read_to_string(self.path.join(PLAN)).map_err(|error| self.failed(PLAN, &error))?;
        serde_json::from_str(&text).map_err(|error| self.complaint(PLAN, &error.to_string()))
    }

    /// Appends a sample, which is on the disk when this returns. Numbers that are not finite are left out: JSON has
    /// none.
    pub fn append(&self, sample: &Sample) -> Result<(), String> {
        let mut sample = sample.clone();
        sample.numbers.retain(|_, number| number.is_finite());
        let line = serde_json::to_string(&sample).map_err(|error| self.complaint(RAW, &error.to_string()))?;
        let mut line = self.portable(&line);
        line.push('\n');
        let _gate = gate();
        let path = self.path.join(RAW);
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(|e| self.failed(RAW, &e))?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| self.failed(RAW, &error))
    }

    /// All samples so far, and the note of [`Folder::mend`]; changes nothing.
    pub fn samples(&self) -> Result<(Vec<Sample>, Option<String>), String> {
        self.parse_raw().map(|(samples, _, note)| (samples, note))
    }

    fn parse_raw(&self) -> Result<(Vec<Sample>, usize, Option<String>), String> {
        let bytes = match fs::read(self.path.join(RAW)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0, None)),
            Err(error) => return Err(self.failed(RAW, &error)),
        };
        let mut samples = Vec::new();
        let mut good_bytes = 0;
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let is_torn = !line.ends_with(b"\n");
            match read_line(line) {
                Ok(sample) if !is_torn => samples.push(sample),
                Err(error) if !is_torn => return Err(self.complaint(RAW, &format!("line {}{error}", at + 1))),
                _ => {
                    let note = format!("the run was broken off while line {} of {RAW} was written: dropped", at + 1);
                    return Ok((samples, good_bytes, Some(note)));
                }
            }
            good_bytes += line.len();
        }
        Ok((samples, good_bytes, None))
    }

    /// Writes the summary, atomically.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), String> {
        let value = serde_json::to_value(summary).map_err(|error| self.complaint(SUMMARY, &error.to_string()))?;
        self.put(SUMMARY, &self.portable(&(lines(&value, LINES_DEEP) + "\n")))
    }

    /// Reads the summary, if the run has finished and it has the format of this program.
    pub fn read_summary(&self) -> Result<Summary, String> {
        if !self.is_whole() {
            let path = self.path.display();
            return Err(format!(
                "{path}: it has no {SUMMARY}: the run is not at its end yet, or was interrupted (of a study, arena run \
                 --resume measures the rest; a duel begins anew)"
            ));
        }
        read_summary(&self.path.join(SUMMARY))
    }

    /// Writes what is known of the contenders, during a run.
    pub fn write_who(&self, who: &[Who]) -> Result<(), String> {
        let value = serde_json::to_value(who).map_err(|error| self.complaint(WHO, &error.to_string()))?;
        self.put(WHO, &self.portable(&pretty(&value)?))
    }

    /// Reads what an interrupted run knew of its contenders; empty before the first turn. An error if it lacks a
    /// contender that has samples, whose version is then unknown.
    pub fn read_who(&self) -> Result<Vec<Who>, String> {
        let who: Vec<Who> = match fs::read_to_string(self.path.join(WHO)) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| self.complaint(WHO, &error.to_string()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(self.failed(WHO, &error)),
        };
        let is_known = |name: &str| name == TWIN || who.iter().any(|one| one.name == name);
        match self.samples()?.0.iter().find(|sample| !is_known(&sample.contender)) {
            None => Ok(who),
            Some(Sample { contender, .. }) => {
                let what = format!(
                    "it lacks {contender}, of which {RAW} has samples, and with it the version that was measured: put \
                     the whole file back, or begin anew"
                );
                Err(self.complaint(WHO, &what))
            }
        }
    }

    /// Writes the page and returns its path.
    pub fn write_page(&self, html: &str) -> Result<PathBuf, String> {
        self.put(PAGE, html)?;
        Ok(self.path.join(PAGE))
    }

    /// Replaces folders of this machine, which mean nothing elsewhere: RUN stands for the run's own, TMP for those of
    /// its servers and of copies into a ring.
    fn portable(&self, text: &str) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        masked(without_folder(&without_folder(text, &path), &self.path), &[(TEMPORARY, "TMP")])
    }

    /// Writes a file beside and renames it, so that neither a reader nor an interrupted run sees half a file.
    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        let _gate = gate();
        let beside = self.path.join(format!(".{name}.new"));
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_data()
        });
        written.and_then(|()| fs::rename(&beside, self.path.join(name))).map_err(|error| self.failed(name, &error))
    }

    fn failed(&self, name: &str, error: &std::io::Error) -> String {
        self.complaint(name, &error.to_string())
    }

    fn complaint(&self, name: &str, what: &str) -> String {
        format!("{}: {what}", self.path.join(name).display())
    }
}

/// Lock on a folder, which no other program writes meanwhile.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Reads a summary file. Checks its format first, so that a file of another version is named as such.
pub fn read_summary(path: &Path) -> Result<Summary, String> {
    let place = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{place}: {error}"))?;
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => return Err(format!("{place}: it has format {format}, this program reads format {FORMAT}")),
        None => return Err(format!("{place}: it is no summary: it has no number `format`")),
    }
    serde_json::from_value(value).map_err(|error| format!("{place}: {error}"))
}

/// Parses a sample. An error has the column of its line.
fn read_line(line: &[u8]) -> Result<Sample, String> {
    serde_json::from_slice(line).map_err(|error| {
        let words = error.to_string();
        let what = words.split(" at line ").next().unwrap_or_default();
        format!(", column {}: {what}", error.column())
    })
}

/// The text with RUN in the place of this folder. A relative path is replaced only before a slash and not within a
/// longer word: numbers contain `.`, and a folder may have the name of a study.
fn without_folder(text: &str, folder: &Path) -> String {
    let path = folder.display().to_string();
    if folder.is_absolute() {
        return text.replace(&path, "RUN");
    }
    let place = format!(r"(^|[^\w./-]){}/", regex::escape(&path));
    masked(text.to_owned(), &[(place.as_str(), "${1}RUN/")])
}

/// Replaces all that these patterns match in a text, one pattern after the other. Each is a regular expression with its
/// replacement.
pub(crate) fn masked(text: String, masks: &[(&str, &str)]) -> String {
    masks.iter().fold(text, |text, (pattern, mask)| match Regex::new(pattern) {
        Ok(found) => found.replace_all(&text, *mask).into_owned(),
        Err(_) => text,
    })
}

/// JSON with a line for each entry down to this depth, and all that lies deeper on one line.
fn lines(value: &Value, depth: usize) -> String {
    let within = |parts: Vec<String>, open: &str, close: &str| format!("{open}\n{}\n{close}", parts.join(",\n"));
    match value {
        Value::Object(map) if depth > 0 && !map.is_empty() => {
            let entry =
                |(name, value): (&String, &Value)| format!("{}:{}", Value::from(&**name), lines(value, depth - 1));
            within(map.iter().map(entry).collect(), "{", "}")
        }
        Value::Array(list) if depth > 0 && !list.is_empty() => {
            within(list.iter().map(|value| lines(value, depth - 1)).collect(), "[", "]")
        }
        deep => deep.to_string(),
    }
}

fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample(round: u32) -> Sample {
        let numbers = [("requests_per_s", 12.5), ("p99_ms", f64::NAN)];
        Sample { case: "a".into(), round, ..Sample::of("b", &numbers) }
    }

    #[test]
    fn a_folder_is_never_used_twice() {
        let root = tempfile::tempdir().expect("a folder");
        let first = Folder::create(root.path(), "some/study", &json!({"rounds": 3})).expect("the first");
        let second = Folder::create(root.path(), "some/study", &json!({})).expect("the second");
        assert!(first.name().ends_with("-some-study") && second.name().ends_with("-some-study-2"));
        assert_eq!(Folder::open(first.path()).and_then(|folder| folder.plan()), Ok(json!({"rounds": 3})));
        assert!(first.logs().is_dir());
        assert!(Folder::open(root.path()).is_err_and(|text| text.contains("no run's folder")));
    }

    #[test]
    fn samples_come_back_and_a_torn_line_is_dropped() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(root.path(), "x", &json!({})).expect("a run");
        assert_eq!(folder.samples(), Ok((vec![], None)));
        let error = folder.read_summary().expect_err("a run without its end");
        assert!(error.contains("was interrupted (of a study, arena run --resume measures the rest"), "{error}");
        folder.append(&sample(1)).expect("a line");
        folder.append(&sample(2)).expect("a line");
        let raw = folder.path().join(RAW);
        let whole = fs::read(&raw).expect("lines");
        for cut in [1, 20, 40] {
            fs::write(&raw, &whole[..whole.len() - cut]).expect("a torn file");
            let note = folder.mend().expect("a run to go on with");
            assert_eq!(folder.samples().map(|(samples, _)| samples.len()), Ok(1));
            assert!(note.is_some_and(|note| note.contains("line 2")), "{cut}");
            folder.append(&sample(3)).expect("a line after the mended ones");
            let (samples, note) = folder.samples().expect("samples");
            assert_eq!((samples.len(), samples[1].round, note), (2, 3, None));
            assert!(!samples[1].numbers.contains_key("p99_ms"), "what is not finite is left out");
        }
        fs::write(&raw, b"nonsense\n{}\n").expect("a bad file");
        assert!(folder.samples().is_err_and(|text| text.contains("raw.jsonl: line 1, column 2: expected")));
    }

    #[test]
    fn folders_of_this_machine_are_not_written_down() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(root.path(), "x", &json!({})).expect("a run");
        let logs = folder.logs().display().to_string();
        let words =
            format!("nginx -c /srv/arena-12-0/thin-3/nginx.conf /a/b/arena-12-0/0123456789abcdef/app {logs}/x.log");
        let summary = Summary { format: FORMAT, command: words, ..Summary::default() };
        folder.write_summary(&summary).expect("a summary");
        let command = folder.read_summary().expect("the same").command;
        assert_eq!(command, "nginx -c TMP/thin-3/nginx.conf TMP/app RUN/logs/x.log");
    }

    #[test]
    fn a_folder_that_is_named_by_a_relative_path_is_no_word_of_its_record() {
        let of = |path: &str, text: &str| Folder { path: PathBuf::from(path) }.portable(text);
        // As of `arena run --resume .` in the run's own folder.
        let sample = r#"{"case":"a","took_s":12.5,"told":["[./logs/x.log] ended. data/a"]}"#;
        let written = r#"{"case":"a","took_s":12.5,"told":["[RUN/logs/x.log] ended. data/a"]}"#;
        assert_eq!(of(".", sample), written);
        assert_eq!(of("a", &sample.replace("./", "a/")), written);
        let study = r#"{"study":"same","log":"runs/same/logs"}"#;
        assert_eq!(of("runs/same", study), r#"{"study":"same","log":"RUN/logs"}"#);
    }

    #[test]
    fn a_summary_of_another_format_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(root.path(), "x", &json!({})).expect("a run");
        let summary = Summary { format: FORMAT, title: "T".into(), ..Summary::default() };
        folder.write_summary(&summary).expect("a summary");
        assert_eq!(folder.read_summary(), Ok(summary));
        let refused = |text: &str, says: &str| {
            fs::write(folder.path().join(SUMMARY), text).expect("a file");
            let error = folder.read_summary().expect_err("a refusal");
            assert!(error.contains(says), "{error}");
        };
        refused("{\"format\": 99}", "it has format 99, this program reads format 1");
        refused("{}", "no number `format`");
        refused("{\"format\": 1}", "missing field");
        refused("{", "summary.json: ");
    }
}
