//! A recorded access log as a workload: safe requests with a good answer, weighted by frequency. All other lines are
//! counted with the reason. Logs may be larger than memory and contain anything.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Read};

use super::access_line;
use super::pace::{Pace, Times};
use super::request::{DuelRequest, check_method, clean_path, is_safe, shortened};
use crate::report::grammar;

/// Most paths of a workload: learning each path's answer from each contender takes time, so the most frequent ones
/// stand for the rest.
pub const PATHS_MOST: usize = 200;
/// Longest line that is parsed; longer ones are only counted.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Bytes of a longer line that are skipped before it is an error.
const LINE_BYTES_SKIPPED: u64 = 64 << 20;
/// Lines after which a log without a single request is given up.
const LINES_VAIN: u64 = 1_000_000;
/// Most lines that are read: `yes` writes without end.
const LINES_MOST: u64 = 200_000_000;
/// Most distinct paths that are kept; later ones are left out.
const PATHS_KNOWN_MAX: usize = 300_000;
/// Most reasons that are counted separately; the rest are counted together.
const REASONS_MAX: usize = 40;

/// First bytes of a compressed file, and the program that unpacks it: gzip, Zstandard, xz.
const PACKED: [(&[u8], &str); 3] = [(b"\x1f\x8b", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"), (b"\xfd7zXZ", "xzcat")];

/// Contents of an access log.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The workload, most frequent first; weights are counts.
    pub asked: Vec<DuelRequest>,
    /// Number of lines read.
    pub lines: u64,
    /// Number of requests that can be repeated.
    pub fit: u64,
    /// Number of distinct requests among those.
    pub paths: usize,
    /// Number of requests that the workload covers.
    pub covered: u64,
    /// Reasons why the other lines were left out, with their counts, most frequent first.
    pub left_out: Vec<(String, u64)>,
    /// Request rate; or the reason why the log shows none.
    pub pace: Result<Pace, String>,
}

/// Counts of each method and path, by status.
type StatusCounts = HashMap<(String, String), BTreeMap<u16, u64>>;

#[derive(Default)]
struct LogTally {
    seen: StatusCounts,
    fit: u64,
    left_out: BTreeMap<String, u64>,
    times: Times,
}

/// Reads a whole log and keeps its `most` most frequent requests.
pub fn read(mut log: impl BufRead, most: usize) -> Result<Recorded, String> {
    let mut tally = LogTally::default();
    let mut lines = 0;
    let mut bytes = Vec::new();
    let cannot = |error: std::io::Error| format!("cannot read the access log: {error}");
    let begin = log.fill_buf().map_err(cannot)?;
    if let Some((_, program)) = PACKED.iter().find(|(mark, _)| begin.starts_with(mark)) {
        return Err(format!("the access log is compressed: {program} FILE | arena duel config.ru --log -"));
    }
    loop {
        bytes.clear();
        let count = log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes).map_err(cannot)?;
        if count == 0 || lines == LINES_MOST || (lines == LINES_VAIN && tally.seen.is_empty()) {
            break;
        }
        lines += 1;
        if count as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
            let skipped = log.by_ref().take(LINE_BYTES_SKIPPED).skip_until(b'\n').map_err(cannot)?;
            if skipped as u64 == LINE_BYTES_SKIPPED {
                return Err(format!("line {lines} does not end: this is no access log"));
            }
            tally.leave("a line too long to be a request");
        } else if !bytes.trim_ascii().is_empty() {
            tally.add(&String::from_utf8_lossy(&bytes));
        }
    }
    tally.recorded(lines, most)
}

impl LogTally {
    fn leave(&mut self, why: &str) {
        let is_new = !self.left_out.contains_key(why);
        let why = if is_new && self.left_out.len() >= REASONS_MAX { "other reasons" } else { why };
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    fn add(&mut self, text: &str) {
        let Some(line) = access_line::read(text) else { return self.leave("not a request's line") };
        self.times.add(line.at_s);
        if !is_safe(&line.method) {
            let known = check_method(&line.method).is_ok();
            let method = if known { line.method.as_str() } else { "another method" };
            return self.leave(&format!("{method}: only GET, HEAD and OPTIONS are asked again"));
        }
        let status = match line.status {
            None => return self.leave("no answer was sent"),
            Some(status) => match expected(status) {
                Some(status) => status,
                None => return self.leave(&format!("status {status}: not an answer worth repeating")),
            },
        };
        let Ok(path) = clean_path(&line.target) else { return self.leave("a target that is no path") };
        let key = (line.method, path);
        if self.seen.len() >= PATHS_KNOWN_MAX && !self.seen.contains_key(&key) {
            return self.leave("a rare path, after very many others");
        }
        self.fit += 1;
        *self.seen.entry(key).or_default().entry(status).or_default() += 1;
    }

    fn recorded(self, lines: u64, most: usize) -> Result<Recorded, String> {
        let mut left_out: Vec<(String, u64)> = self.left_out.into_iter().collect();
        left_out.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        if self.seen.is_empty() {
            let why: Vec<String> = left_out.iter().take(5).map(|(why, count)| format!("{count} x {why}")).collect();
            let why = if why.is_empty() { "it is empty".to_owned() } else { why.join("; ") };
            return Err(format!(
                "the access log has no request that can be asked again: {why}. Known are the common and the \
                 combined format, those of foolsgold, of Heroku's router and of Lograge, and JSON of nginx, Caddy, \
                 Traefik and pino-http"
            ));
        }
        let paths = self.seen.len();
        let mut counted: Vec<(u64, DuelRequest)> = self.seen.into_iter().map(weighted).collect();
        // The path breaks ties, so that the same log always gives the same workload.
        counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        counted.truncate(most.max(1));
        let covered = counted.iter().map(|(count, _)| count).sum();
        let asked = counted.into_iter().map(|(_, asked)| asked).collect();
        let pace = self.times.pace();
        Ok(Recorded { asked, lines, fit: self.fit, paths, covered, left_out, pace })
    }
}

/// Status that a client without cache and ranges gets where the log has this one. `None` for answers that are not
/// repeated: refusals depend on the client, and errors are not the application's normal work.
fn expected(status: u16) -> Option<u16> {
    match status {
        206 | 304 => Some(200),
        200..=399 | 404 | 410 => Some(status),
        _ => None,
    }
}

fn weighted(((method, path), statuses): ((String, String), BTreeMap<u16, u64>)) -> (u64, DuelRequest) {
    let count = statuses.values().sum();
    // Among equally frequent statuses a success comes first: then the application has done its work.
    let worth = |status: u16| ((200..300).contains(&status), std::cmp::Reverse(status));
    let usual = statuses.iter().max_by_key(|(status, count)| (**count, worth(**status))).map(|(status, _)| *status);
    (count, DuelRequest { weight: count as f64, status: usual, ..DuelRequest::new(&method, &path) })
}

impl Recorded {
    /// Share of the repeatable requests that the workload covers, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.covered as f64 / self.fit.max(1) as f64
    }

    /// Describes the log in sentences.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.lines == LINES_MOST {
            words.push(format!("only the first {LINES_MOST} lines of the access log were read"));
        }
        words.push(format!(
            "the access log has {}, with {} of {} that can be asked again",
            grammar::count(self.lines as usize, "line", "lines"),
            grammar::count(self.fit as usize, "request", "requests"),
            grammar::count(self.paths, "path", "paths")
        ));
        if self.asked.len() < self.paths {
            let kept = self.asked.len();
            let share = self.share() * 100.0;
            words.push(format!("the {kept} most frequent paths are asked: {share:.0} % of those requests"));
        }
        if self.share() < 0.5 {
            let example = self.asked.first().map(|one| shortened(&one.path)).unwrap_or_default();
            words.push(format!(
                "that is less than half: the log has very many different paths, such as {example}, and those left \
                 out may cost more"
            ));
        }
        words.extend(self.left_out.iter().map(|(why, count)| format!("left out {count}: {why}")));
        match &self.pace {
            Ok(pace) => words.extend(pace.in_words()),
            Err(why) => {
                words.push(format!("nothing is measured at the rate of the log, because {why} (--rate PER_S says one)"))
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn log(lines: &[(&str, &str, u16)]) -> String {
        let line = |(method, path, status): &(&str, &str, u16)| {
            format!("1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] \"{method} {path} HTTP/1.1\" {status} 1 \"-\" \"x\"\n")
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn safe_requests_are_weighted_and_the_rest_is_counted() {
        let text = log(&[
            ("GET", "/a", 200),
            ("GET", "/b", 302),
            ("GET", "/a", 304),
            ("POST", "/a", 200),
            ("GET", "/c", 500),
            ("GET", "/d", 404),
            ("GET", "/e", 403),
            ("HEAD", "/a", 200),
            ("GET", "x", 200),
            ("BREW", "/pot", 200),
        ]) + "no request\n\n";
        let found = read(text.as_bytes(), 10).unwrap();
        assert_eq!((found.lines, found.fit, found.paths, found.covered), (12, 5, 4, 5));
        assert_eq!(found.asked[0], DuelRequest { weight: 2.0, status: Some(200), ..DuelRequest::new("GET", "/a") });
        let left: u64 = found.left_out.iter().map(|(_, count)| count).sum();
        assert_eq!(left, 6, "{:?}", found.left_out);
        let words = found.in_words().join("\n");
        for part in ["POST: only GET", "status 500", "status 403", "no path", "another method", "not a request"] {
            assert!(words.contains(part), "{part} in {words}");
        }
    }

    #[test]
    fn the_most_frequent_stand_for_the_rest_and_the_share_is_told() {
        let mut lines = vec![("GET", "/often", 200); 8];
        lines.extend([("GET", "/x", 200), ("GET", "/y", 200)]);
        let found = read(log(&lines).as_bytes(), 1).unwrap();
        assert_eq!((found.asked.len(), found.paths, found.share()), (1, 3, 0.8));
        assert!(found.in_words()[1].contains("80 %"), "{:?}", found.in_words());
    }

    #[test]
    fn the_usual_status_of_a_path_is_the_expected_one() {
        let found = read(log(&[("GET", "/a", 302), ("GET", "/a", 200), ("GET", "/a", 302)]).as_bytes(), 9).unwrap();
        assert_eq!(found.asked[0].status, Some(302));
        let of = |statuses: &[u16]| {
            let lines: Vec<(&str, &str, u16)> = statuses.iter().map(|status| ("GET", "/a", *status)).collect();
            read(log(&lines).as_bytes(), 9).unwrap().asked[0].status
        };
        // As often as others.
        assert_eq!([of(&[404, 200]), of(&[201, 302, 410]), of(&[302, 404])], [Some(200), Some(201), Some(302)]);
        assert_eq!(of(&[404, 200, 404]), Some(404));
    }

    #[test]
    fn the_rate_is_that_of_all_requests() {
        let lines: String = (0..30)
            .map(|at| {
                let method = if at % 2 == 0 { "GET" } else { "POST" };
                format!("1.2.3.4 - - [10/Oct/2000:13:55:{:02} +0000] \"{method} / HTTP/1.1\" 200 1\n", at / 2 * 3)
            })
            .collect();
        let found = read(lines.as_bytes(), 9).unwrap();
        let pace = found.pace.as_ref().unwrap();
        assert_eq!((found.fit, pace.requests, pace.covered_s), (15, 30, 43));
        assert!(found.in_words().iter().any(|words| words.contains("0.7 requests/s in the mean of 43 s")));
        let short = read(log(&[("GET", "/a", 200)]).as_bytes(), 9).unwrap();
        assert!(short.in_words().iter().any(|words| words.contains("--rate PER_S says one")), "{short:?}");
    }

    #[test]
    fn an_empty_or_foreign_log_says_what_is_wanted() {
        assert!(read("".as_bytes(), 9).unwrap_err().contains("it is empty"));
        let error = read("hello\nyou\n".as_bytes(), 9).unwrap_err();
        assert!(error.contains("2 x not a request's line") && error.contains("combined"), "{error}");
    }

    #[test]
    fn a_compressed_log_says_how_it_is_read() {
        let packed = [&b"\x1f\x8b\x08\x00\n\n"[..], b"\x28\xb5\x2f\xfd\x04", b"\xfd7zXZ\x00"];
        let programs = packed.map(|bytes| read(bytes, 9).unwrap_err().split(' ').nth(5).map(str::to_owned));
        assert_eq!(programs, ["zcat", "zstdcat", "xzcat"].map(|name| Some(name.to_owned())));
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_memory() {
        let long = "x".repeat(200_000) + "\n";
        let text = long.clone() + &log(&[("GET", "/a", 200)]) + &long + "\u{0}\u{ff}";
        let found = read(BufReader::with_capacity(1000, text.as_bytes()), 9).unwrap();
        assert_eq!((found.lines, found.fit), (4, 1));
        assert!(found.left_out.iter().any(|(why, count)| why.contains("too long") && *count == 2));
    }

    #[test]
    fn what_never_ends_is_no_log() {
        let error = read(std::io::BufReader::new(std::io::repeat(0)), 9).unwrap_err();
        assert!(error.contains("line 1 does not end"), "{error}");
        struct Yes;
        impl Read for Yes {
            fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
                bytes.fill(b'\n');
                Ok(bytes.len())
            }
        }
        let error = read(std::io::BufReader::new(Yes), 9).unwrap_err();
        assert!(error.contains("no request that can be asked again"), "{error}");
    }
}
