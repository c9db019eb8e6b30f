//! Sources of a workload: requests on the command line, a file of them, or a recorded access log.

use std::fs::File;
use std::io::{BufReader, stdin};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use super::access_log;
use super::bounded::{TimeoutReader, open_at_once};
use super::pace::{Pace, Rate};
use super::request::DuelRequest;
use super::urls;

/// Time without input after which a pipe counts as having no writer.
const INPUT_TIMEOUT: Duration = Duration::from_secs(30);

/// A workload and its description.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DuelWorkload {
    /// Requests of the workload.
    pub asked: Vec<DuelRequest>,
    /// Sentences on where the workload comes from and what was left out.
    pub words: Vec<String>,
    /// Whether it was recorded in an access log.
    pub is_recorded: bool,
    /// Requests per second, where a log shows it.
    pub rate: Option<Rate>,
}

impl DuelWorkload {
    /// Reads the requests in `words`, whose body files are in `folder`, and those of a file; or a log (`-` is standard
    /// input), of which the `most` frequent paths count. Returns all errors at once.
    pub fn gather(
        words: &[String],
        folder: &Path,
        file: Option<&Path>,
        log: Option<&Path>,
        most: usize,
    ) -> Result<DuelWorkload, Vec<String>> {
        if let Some(log) = log {
            if !words.is_empty() || file.is_some() {
                return Err(vec![
                    "paths and an access log exclude each other: their weights do not compare".to_owned(),
                ]);
            }
            return from_log(log, most, INPUT_TIMEOUT).map_err(|error| vec![format!("{}: {error}", log.display())]);
        }
        let mut asked = Vec::new();
        let mut errors = Vec::new();
        let mut take = |read: Result<Vec<DuelRequest>, Vec<String>>| match read {
            Ok(read) => asked.extend(read),
            Err(more) => errors.extend(more),
        };
        take(urls::from_words(words, folder));
        if let Some(file) = file {
            take(urls::from_file(file));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if asked.is_empty() {
            // The page that a visitor asks for first.
            asked.push(DuelRequest::new("GET", "/"));
        }
        let list: Vec<String> = asked.iter().take(5).map(DuelRequest::in_words).collect();
        let more =
            if asked.len() > list.len() { format!(" and {} more", asked.len() - list.len()) } else { String::new() };
        let words = vec![format!("asked for: {}{more}", list.join(", "))];
        Ok(DuelWorkload { asked, words, ..DuelWorkload::default() })
    }
}

fn from_log(path: &Path, most: usize, timeout: Duration) -> Result<DuelWorkload, String> {
    let read = |file: File| access_log::read(BufReader::new(TimeoutReader::new(file, timeout)), most);
    let recorded = if path.as_os_str() == "-" {
        // A duplicate of the descriptor: the buffer of the standard library would hide from `poll` that more has come.
        let input = stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
        read(File::from(input)).map_err(|error| format!("standard input: {error}"))?
    } else {
        read(open_at_once(path).map_err(|error| format!("cannot be opened: {error}"))?)?
    };
    let words = recorded.in_words();
    let rate = recorded.pace.as_ref().ok().map(Pace::rate);
    Ok(DuelWorkload { asked: recorded.asked, words, is_recorded: true, rate })
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use super::*;

    #[test]
    fn words_files_and_logs_become_workloads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("urls");
        std::fs::write(&file, "/b\n").unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] \"GET /c HTTP/1.1\" 200 1\n").unwrap();
        let gather = |words: &[&str], file: Option<&Path>, log: Option<&Path>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            DuelWorkload::gather(&words, folder.path(), file, log, 9)
        };
        let both = gather(&["/a"], Some(&file), None).unwrap();
        assert_eq!((both.asked.len(), both.is_recorded), (2, false));
        assert_eq!(both.words, ["asked for: GET /a, GET /b"]);
        let recorded = gather(&[], None, Some(&log)).unwrap();
        assert_eq!((recorded.asked[0].path.as_str(), recorded.is_recorded), ("/c", true));
        assert_eq!(gather(&[], None, None).unwrap().asked[0].path, "/");
        assert!(gather(&["/a"], None, Some(&log)).unwrap_err()[0].contains("exclude each other"));
        assert_eq!(gather(&["a", "b"], Some(&folder.path().join("none")), None).unwrap_err().len(), 3);
        assert!(gather(&[], None, Some(&folder.path().join("none"))).unwrap_err()[0].contains("cannot be opened"));
    }

    #[test]
    fn a_pipe_without_a_writer_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = from_log(&pipe, 9, Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("nothing came for 50ms: is there somebody who writes?"), "{error}");
        let text = "1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] \"GET /c HTTP/1.1\" 200 1\n".repeat(2_000);
        let to = pipe.clone();
        // It waits for a reader, and writes more than a pipe holds.
        let writer = thread::spawn(move || std::fs::write(to, text));
        let read = from_log(&pipe, 9, Duration::from_secs(20)).unwrap();
        assert_eq!((read.asked[0].path.as_str(), read.asked[0].weight), ("/c", 2_000.0));
        writer.join().unwrap().unwrap();
    }
}
