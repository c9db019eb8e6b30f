//! A PostgreSQL for one run, in a temporary folder and on a free port of this machine.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use loadgen::process::{Ports, Process, free_ports, until};

use crate::environment::OwnFolder;

const MISSING: &str =
    "there is no PostgreSQL: initdb is neither on PATH nor in /usr/lib/postgresql (apt install postgresql)";
/// Number in its folder's name, above those of the environments' folders.
const NUMBER: u32 = 1_000_000;
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running PostgreSQL, which is stopped and removed when dropped.
pub struct Postgres {
    /// Stopped before its folder is removed, since it writes into it.
    _process: Process,
    _folder: OwnFolder,
    port: u16,
    /// Keeps its port from other servers.
    _ports: Ports,
}

impl Postgres {
    /// Starts a new, empty PostgreSQL. Its output goes to this file.
    pub fn start(log: &Path) -> Result<Postgres, String> {
        let programs = programs()?;
        let user = user()?;
        // The name shows a later run whose folder it was, so that it removes the folder of a killed run.
        let folder = std::env::temp_dir().join(format!("arena-{}-{NUMBER}", std::process::id()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let own = OwnFolder::create(folder.clone()).map_err(failed)?;
        let ports = free_ports(1)?;
        let port = ports.numbers[0];
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).map_err(failed)?;
        }
        let data = folder.join("data");
        let command = |name: &str| {
            // It is stopped with this program, even if that is killed: by SIGINT, which does not wait for clients.
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "INT"]).arg(programs.join(name)).current_dir(&folder).arg("-D").arg(&data);
            if let Some((uid, gid)) = user {
                command.uid(uid).gid(gid);
            }
            command
        };
        let options = ["-U", "arena", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        let made = command("initdb").args(options).stdin(Stdio::null()).output();
        let made = made.map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr).trim()));
        }
        let mut server = command("postgres");
        // The data is temporary and need not reach the disk; connections of all workers and threads must fit.
        server.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=400"]);
        server.args(["-p", &port.to_string(), "-k"]).arg(&folder);
        let mut process = Process::start("postgres", server, log)?;
        let is_ready = || fs::read_to_string(log).is_ok_and(|text| text.contains("ready to accept connections"));
        let came = until(START_TIMEOUT, || process.ended().is_some() || is_ready());
        if !came || !is_ready() {
            return Err(format!("PostgreSQL does not start; see {}", log.display()));
        }
        Ok(Postgres { _process: process, _folder: own, port, _ports: ports })
    }

    /// The `DATABASE_URL` of a database in it.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://arena@127.0.0.1:{}/{database}", self.port)
    }
}

/// Folder of its programs: on PATH, or where Debian has them, the newest version first.
fn programs() -> Result<PathBuf, String> {
    let on_path = Command::new("sh").args(["-c", "command -v initdb"]).output();
    let on_path = on_path.map_err(|error| format!("sh: {error}"))?;
    let on_path = PathBuf::from(String::from_utf8_lossy(&on_path.stdout).trim());
    let mut places: Vec<PathBuf> = on_path.parent().map(Path::to_path_buf).into_iter().collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort();
    places.extend(versions.into_iter().rev());
    // A wrapper on PATH may be in another folder than the programs.
    let has_both = |place: &PathBuf| ["initdb", "postgres"].iter().all(|name| place.join(name).is_file());
    places.into_iter().find(has_both).ok_or_else(|| MISSING.into())
}

/// User and group id of the user `postgres` if this program runs as root, as which PostgreSQL refuses to run.
fn user() -> Result<Option<(u32, u32)>, String> {
    if fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid() != 0 {
        return Ok(None);
    }
    let id = |flag| {
        let output = Command::new("id").args([flag, "postgres"]).output().map_err(|error| format!("id: {error}"))?;
        let number = String::from_utf8_lossy(&output.stdout).trim().parse();
        number.map_err(|_| format!("there is no user postgres: {MISSING}"))
    };
    Ok(Some((id("-u")?, id("-g")?)))
}
