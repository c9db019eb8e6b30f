//! The load: ab as in the original measurement, and wrk with keep-alive connections. Runs one of them against one
//! contender and parses its output. Anything but 200s is recorded as an error, and disqualifies the sample.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench_kit::stats::percentile;
use bench_kit::wrk::{self, Sample, number_after};

use crate::answer::PATH;
use crate::contender::Running;
use crate::options::Options;

/// Concurrency of the original measurement.
const CLIENTS: u32 = 16;

/// A kind of load.
#[derive(Debug, Clone)]
pub enum Mode {
    /// `ab -c 16 -n REQUESTS -l`: a new connection for each request.
    Ab { requests: u32 },
    /// wrk with this number of keep-alive connections.
    Wrk { clients: u32, seconds: u32 },
}

impl Mode {
    /// The three kinds of this benchmark.
    pub fn all(options: &Options) -> Vec<Mode> {
        let seconds = options.seconds;
        vec![
            Mode::Ab { requests: options.requests },
            Mode::Wrk { clients: 16, seconds },
            Mode::Wrk { clients: 64, seconds },
        ]
    }

    /// The command without the port.
    pub fn in_words(&self) -> String {
        match self {
            Mode::Ab { requests } => format!("ab -c {CLIENTS} -n {requests} -l"),
            Mode::Wrk { clients, seconds } => format!("wrk -t 2 -c {clients} -d {seconds}s --latency"),
        }
    }
}

/// A line of progress.
pub fn in_words(sample: &Sample, mode: &Mode) -> String {
    let errors =
        if sample.errors.is_empty() { String::new() } else { format!(" ERRORS: {}", sample.errors.join("; ")) };
    let name = mode.in_words();
    let p99 = sample.p99_ms;
    format!("{name}: {:.0} requests/s, p50 {:.2} ms, p99 {p99:.2} ms{errors}", sample.per_second, sample.p50_ms)
}

/// Sends requests that are not measured.
pub fn warm_up(contender: &Running, options: &Options, folder: &Path) -> Result<(), String> {
    ab(contender, options.warm_up, folder).map(drop)
}

/// A measured run.
pub fn run(contender: &Running, mode: &Mode, folder: &Path) -> Result<Sample, String> {
    match mode {
        Mode::Ab { requests } => ab(contender, *requests, folder),
        Mode::Wrk { clients, seconds } => wrk(contender, *clients, *seconds, folder),
    }
}

/// Runs ab with all clients against one port; against several ports one ab each, which together have as many clients
/// and requests.
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
    let mut longest = 0.0_f64;
    let mut times = Vec::new();
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

/// The column `ttime` of the output of `ab -g`: milliseconds per request.
fn request_times(file: &Path) -> Vec<f64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split('\t').nth(4)?.trim().parse().ok()).collect()
}

/// Runs wrk. For several ports it gets a thread for each, and a script that gives every thread its own port.
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
    let mut sample = wrk::read(&text, clients);
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
