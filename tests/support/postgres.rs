//! A PostgreSQL of a test's own: in its folder, on a Unix socket there, gone when the value goes.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::server::{self, KillOnDrop};
use super::{Folder, MAX_WAIT, within};

/// What a machine without one is told.
const MISSING: &str = "there is no PostgreSQL (initdb) on PATH or in /usr/lib/postgresql: bin/setup brings it";

/// Running until it is dropped.
pub struct Postgres {
    child: KillOnDrop,
    folder: Folder,
}

impl Postgres {
    /// A new one, empty.
    pub fn start() -> Postgres {
        let programs = programs();
        // Clients must reach the socket, and the server refuses a folder that others may read.
        let folder = server::folder();
        let data = folder.join("data");
        fs::create_dir(&data).unwrap();
        let user = user();
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).unwrap();
            chown(&data, Some(uid), Some(gid)).unwrap();
        }
        let log = fs::File::create(folder.join("log")).unwrap();
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(&folder).arg("-D").arg(&data).stdin(Stdio::null());
            command.stdout(log.try_clone().unwrap()).stderr(log.try_clone().unwrap());
            if let Some((uid, gid)) = user {
                command.uid(uid).gid(gid);
            }
            command
        };
        let options = ["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        let made = command("initdb").args(options).status().unwrap();
        assert!(made.success(), "initdb: {made}\n{}", said(&folder));
        let settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=50", "-k"];
        let child = command("postgres").args(settings).arg(&*folder).spawn().unwrap();
        let mut postgres = Postgres { child: KillOnDrop(child), folder };
        let is_ready = within(MAX_WAIT, || {
            assert!(postgres.child.0.try_wait().unwrap().is_none(), "postgres ended:\n{}", said(&postgres.folder));
            said(&postgres.folder).contains("ready to accept connections")
        });
        assert!(is_ready, "postgres does not become ready:\n{}", said(&postgres.folder));
        postgres
    }

    /// The `DATABASE_URL` of a database in it, which need not be there yet.
    pub fn url(&self, database: &str) -> String {
        // A folder in the host's place, which every version of Rails takes.
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgresql://test@{folder}/{database}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // "Fast shutdown": it does not wait for clients, and ends its processes.
        let _ = kill_process(Pid::from_child(&self.child.0), Signal::INT);
        let _ = within(MAX_WAIT, || matches!(self.child.0.try_wait(), Ok(Some(_))));
    }
}

fn said(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}

/// Where its programs are: on PATH, or where Debian has them, the newest first.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort();
    places.extend(versions.into_iter().rev());
    // A wrapper on PATH may know another folder than that of all programs.
    let has_both = |place: &&PathBuf| ["initdb", "postgres"].iter().all(|name| place.join(name).is_file());
    places.iter().find(has_both).unwrap_or_else(|| panic!("{MISSING}")).clone()
}

/// It does not run as root; the package makes a user for it.
fn user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let id = |flag| {
        let output = Command::new("id").args([flag, "postgres"]).output().unwrap();
        let number = String::from_utf8_lossy(&output.stdout).trim().parse();
        number.unwrap_or_else(|_| panic!("there is no user postgres: {MISSING}"))
    };
    Some((id("-u"), id("-g")))
}
