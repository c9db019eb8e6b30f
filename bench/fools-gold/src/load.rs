//! The load: ab as in the original, and wrk with connections that stay. Runs one of them against one contender and
//! reads what it printed. Anything but clean 200s is written down as an error, and disqualifies the sample.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::answer::PATH;
use crate::contender::Running;
use crate::options::Options;
use crate::stats::percentile;

/// The concurrency of the original.
const CLIENTS: u32 = 16;

/// One kind of load.
#[derive(Debug, Clone)]
pub enum Mode {
    /// `ab -c 16 -n REQUESTS -l`: a new connection for each request.
    Ab { requests: u32 },
    /// wrk with this many connections that stay.
    Wrk { clients: u32, seconds: u32 },
}

/// What one run gave.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub requests: u64,
    /// Why it does not count.
    pub errors: Vec<String>,
}

impl Mode {
    /// The three of this benchmark.
    pub fn all(options: &Options) -> Vec<Mode> {
        let seconds = options.seconds;
        vec![
            Mode::Ab { requests: options.requests },
            Mode::Wrk { clients: 16, seconds },
            Mode::Wrk { clients: 64, seconds },
        ]
    }

    /// The command, with the port left open.
    pub fn in_words(&self) -> String {
        match self {
            Mode::Ab { requests } => format!("ab -c {CLIENTS} -n {requests} -l"),
            Mode::Wrk { clients, seconds } => format!("wrk -t 2 -c {clients} -d {seconds}s --latency"),
        }
    }
}

impl Sample {
    /// One line for whoever watches.
    pub fn in_words(&self, mode: &Mode) -> String {
        let errors =
            if self.errors.is_empty() { String::new() } else { format!(" ERRORS: {}", self.errors.join("; ")) };
        let (name, p99) = (mode.in_words(), self.p99_ms);
        format!("{name}: {:.0} requests/s, p50 {:.2} ms, p99 {p99:.2} ms{errors}", self.per_second, self.p50_ms)
    }
}

/// Requests that are not measured.
pub fn warm_up(contender: &Running, options: &Options, folder: &Path) -> Result<(), String> {
    ab(contender, options.warm_up, folder).map(drop)
}

/// One measured run.
pub fn run(contender: &Running, mode: &Mode, folder: &Path) -> Result<Sample, String> {
    match mode {
        Mode::Ab { requests } => ab(contender, *requests, folder),
        Mode::Wrk { clients, seconds } => wrk(contender, *clients, *seconds, folder),
    }
}

/// One ab for one port with all clients; for several ports one ab each, together with as many clients and requests.
fn ab(contender: &Running, requests: u32, folder: &Path) -> Result<Sample, String> {
    let servers = contender.ports.len() as u32;
    let mut started: Vec<(Child, std::path::PathBuf)> = Vec::new();
    for (at, port) in contender.ports.iter().enumerate() {
        let share = requests / servers + u32::from((at as u32) < requests % servers);
        let times = folder.join(format!("ab-{port}.tsv"));
        let mut command = Command::new("ab");
        command.args(["-q", "-l", "-c", &(CLIENTS / servers).max(1).to_string(), "-n", &share.to_string()]);
        command.arg("-g").arg(&times).arg(format!("http://127.0.0.1:{port}{PATH}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("ab: {error} (apt install apache2-utils)"))?;
        started.push((child, times));
    }
    let mut sample = Sample::default();
    let (mut longest, mut times) = (0.0_f64, Vec::new());
    for (child, file) in started {
        let output = child.wait_with_output().map_err(|error| format!("ab: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            sample.errors.push(format!("ab: {}", String::from_utf8_lossy(&output.stderr).trim()));
            continue;
        }
        longest = longest.max(number_after(&text, "Time taken for tests:").unwrap_or(0.0));
        sample.requests += number_after(&text, "Complete requests:").unwrap_or(0.0) as u64;
        for what in ["Failed requests:", "Non-2xx responses:"] {
            match number_after(&text, what) {
                Some(many) if many > 0.0 => sample.errors.push(format!("{what} {many}")),
                _ => {}
            }
        }
        times.extend(request_times(&file));
        let _ = fs::remove_file(&file);
    }
    if sample.requests != u64::from(requests) {
        sample.errors.push(format!("{} of {requests} requests were completed", sample.requests));
    }
    times.sort_by(f64::total_cmp);
    sample.p50_ms = percentile(&times, 50.0).unwrap_or(f64::NAN);
    sample.p99_ms = percentile(&times, 99.0).unwrap_or(f64::NAN);
    sample.per_second = if longest > 0.0 { sample.requests as f64 / longest } else { 0.0 };
    Ok(sample)
}

/// The column `ttime` of what `ab -g` wrote: whole milliseconds per request.
fn request_times(file: &Path) -> Vec<f64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split('\t').nth(4)?.trim().parse().ok()).collect()
}

/// One wrk. For several ports it gets a thread for each, and a script that gives every thread its own port.
fn wrk(contender: &Running, clients: u32, seconds: u32, folder: &Path) -> Result<Sample, String> {
    let mut command = Command::new("wrk");
    let servers = contender.ports.len();
    let threads = if servers == 1 { 2 } else { servers };
    command.args(["-t", &threads.to_string(), "-c", &clients.to_string(), "-d", &format!("{seconds}s"), "--latency"]);
    if servers > 1 {
        let script = folder.join("spread.lua");
        fs::write(&script, spread(&contender.ports)).map_err(|error| error.to_string())?;
        command.arg("-s").arg(script);
    }
    command.arg(format!("http://127.0.0.1:{}{PATH}", contender.ports[0])).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("wrk: {error} (apt install wrk)"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut sample = read_wrk(&text);
    if !output.status.success() {
        sample.errors.push(format!("wrk: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(sample)
}

fn spread(ports: &[u16]) -> String {
    let list: Vec<String> = ports.iter().map(u16::to_string).collect();
    format!(
        "local ports = {{ {} }}\nlocal n = 0\nfunction setup(thread)\n  n = n + 1\n  \
         thread.addr = wrk.lookup(\"127.0.0.1\", tostring(ports[n]))[1]\nend\n",
        list.join(", ")
    )
}

fn read_wrk(text: &str) -> Sample {
    let mut sample = Sample {
        per_second: number_after(text, "Requests/sec:").unwrap_or(0.0),
        p50_ms: duration_after(text, "50%").unwrap_or(f64::NAN),
        p99_ms: duration_after(text, "99%").unwrap_or(f64::NAN),
        ..Sample::default()
    };
    sample.requests = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ").and_then(|(many, _)| many.parse().ok()))
        .unwrap_or(0);
    for what in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        if let Some(line) = text.lines().find(|line| line.contains(what)) {
            sample.errors.push(line.trim().to_owned());
        }
    }
    if sample.requests == 0 {
        sample.errors.push("no request was completed".to_owned());
    }
    sample
}

fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(mark))?;
    line.split_whitespace().next()
}

fn number_after(text: &str, mark: &str) -> Option<f64> {
    word_after(text, mark)?.parse().ok()
}

/// wrk writes `812.00us`, `1.23ms`, `1.20s` or `1.02m`; the answer is in milliseconds.
fn duration_after(text: &str, mark: &str) -> Option<f64> {
    let word = word_after(text, mark)?;
    let (number, factor) = [("us", 0.001), ("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0)]
        .into_iter()
        .find_map(|(unit, factor)| word.strip_suffix(unit).map(|number| (number, factor)))?;
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 1s test @ http://127.0.0.1:1/
  2 threads and 16 connections
  Latency Distribution
     50%  150.00us
     99%    1.25ms
  78501 requests in 1.00s, 9MB read
Requests/sec:  78422.71
Transfer/sec:      9.60MB
";

    #[test]
    fn what_wrk_prints_is_read() {
        let sample = read_wrk(WRK);
        assert_eq!((sample.per_second, sample.p50_ms, sample.p99_ms, sample.requests), (78_422.71, 0.15, 1.25, 78_501));
        assert!(sample.errors.is_empty());
    }

    #[test]
    fn errors_disqualify() {
        let text =
            format!("{WRK}  Socket errors: connect 0, read 1, write 0, timeout 0\n  Non-2xx or 3xx responses: 3\n");
        assert_eq!(read_wrk(&text).errors.len(), 2);
        assert_eq!(read_wrk("").errors.len(), 1);
    }
}
