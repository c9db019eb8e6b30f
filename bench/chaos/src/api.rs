//! Status of a server, from its control socket (`GET /v1/status`, which `foolsgold status --json` prints): all of one
//! moment, unlike /proc, which shows one process after the other while they come and go.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Time for a busy or stopped server to respond.
const ANSWER: Duration = Duration::from_secs(5);

/// The status.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Workers, ready or not.
    pub workers: Vec<Worker>,
    /// Processes that have loaded an application and fork workers.
    pub molds: Vec<u32>,
    /// Number of old generations that still finish requests.
    pub leaving: usize,
    /// The whole response.
    pub all: Value,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its process id, once it has a process.
    pub id: Option<u32>,
    /// `ready`, `booting`, `draining`, ...
    pub state: String,
}

impl Worker {
    /// Whether it is being stopped.
    pub fn is_leaving(&self) -> bool {
        self.state == "draining"
    }

    /// Whether it serves.
    pub fn is_ready(&self) -> bool {
        matches!(self.state.as_str(), "ready" | "out_of_band")
    }
}

impl Status {
    /// Number of the generation that serves the first application; 0 without a status.
    pub fn generation(&self) -> u64 {
        self.all["apps"][0]["generation"].as_u64().unwrap_or(0)
    }

    /// Number of workers, or interpreters, of all applications that have ended for this reason.
    pub fn ends_by(&self, reason: &str) -> u64 {
        let apps = self.all["apps"].as_array().into_iter().flatten();
        apps.filter_map(|app| app["restarts_by"][reason].as_u64()).sum()
    }
}

/// Requests the status of the server with this control socket.
pub fn status(socket: &Path) -> Result<Status, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", socket.display());
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(ANSWER)).map_err(failed)?;
    stream.set_write_timeout(Some(ANSWER)).map_err(failed)?;
    stream.write_all(b"GET /v1/status HTTP/1.0\r\nHost: foolsgold\r\n\r\n").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("half an answer on the control socket")?;
    let all: Value = serde_json::from_str(body).map_err(|error| format!("{error} in {body}"))?;
    Ok(read(all))
}

fn read(all: Value) -> Status {
    let id = |of: &Value| of["pid"].as_u64().and_then(|id| u32::try_from(id).ok());
    let apps = all["apps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let list = |name: &str| -> Vec<&Value> { apps.iter().filter_map(|app| app[name].as_array()).flatten().collect() };
    let worker = |of: &&Value| Worker { id: id(of), state: of["state"].as_str().unwrap_or_default().to_owned() };
    let workers = list("workers").iter().map(worker).collect();
    let molds = list("molds").into_iter().filter_map(id).collect();
    let leaving = list("leaving").len();
    Status { workers, molds, leaving, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_all_applications_are_seen() {
        let worker = |id: u32, state: &str| serde_json::json!({ "id": 1, "pid": id, "state": state });
        let booting = serde_json::json!({ "id": 3, "pid": null, "state": "booting" });
        let one = serde_json::json!({ "workers": [worker(7, "ready"), booting], "molds": [{ "pid": 5 }] });
        let other = serde_json::json!({ "workers": [worker(9, "draining")], "molds": [] });
        let seen = read(serde_json::json!({ "apps": [one, other] }));
        let ids: Vec<Option<u32>> = seen.workers.iter().map(|worker| worker.id).collect();
        assert_eq!((ids, seen.molds), (vec![Some(7), None, Some(9)], vec![5]));
        assert!(seen.workers[0].is_ready() && seen.workers[2].is_leaving() && !seen.workers[1].is_ready());
    }

    #[test]
    fn the_ends_of_all_applications_are_counted() {
        let app = |count: u32| serde_json::json!({ "generation": 3, "restarts_by": { "crash": count } });
        let seen = read(serde_json::json!({ "apps": [app(2), app(5)] }));
        assert_eq!((seen.generation(), seen.ends_by("crash"), seen.ends_by("memory")), (3, 7, 0));
        assert_eq!((Status::default().generation(), Status::default().ends_by("crash")), (0, 0));
    }
}
