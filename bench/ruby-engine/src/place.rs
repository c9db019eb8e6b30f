//! The environment of the servers, so that all have the same Ruby: this machine, or a root folder entered by chroot (a
//! ring). Files that a server needs are copied into the ring, and removed at the end.

use std::path::{Path, PathBuf};
use std::process::Command;

/// This machine, or a ring on it.
pub struct Place {
    ring: Option<PathBuf>,
    /// Folder of the copies in the ring, by its path from outside.
    copies: Option<PathBuf>,
}

/// Variables of the caller that must not reach the servers.
const NOT_PASSED_ON: [&str; 9] = [
    "PORT",
    "WEB_CONCURRENCY",
    "RAILS_MAX_THREADS",
    "MIN_THREADS",
    "MAX_THREADS",
    "RUBYOPT",
    "RUBYLIB",
    "BUNDLE_GEMFILE",
    "PUMA_PERSISTENT_TIMEOUT",
];

/// Environment of programs in a ring.
const RING_ENVIRONMENT: [(&str, &str); 3] =
    [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root"), ("LANG", "C.UTF-8")];

impl Place {
    /// Opens the ring, or this machine without one.
    pub fn open(ring: Option<&Path>) -> Result<Place, String> {
        let Some(ring) = ring else { return Ok(Place { ring: None, copies: None }) };
        let ring = ring.canonicalize().map_err(|error| format!("--ring {}: {error}", ring.display()))?;
        if !ring.join("proc/self").exists() {
            return Err(format!("--ring {}: its /proc is not mounted", ring.display()));
        }
        let copies = ring.join("srv").join(format!("bench-ruby-engine-{}", std::process::id()));
        std::fs::create_dir_all(&copies).map_err(|error| format!("{}: {error} (run as root)", copies.display()))?;
        Ok(Place { ring: Some(ring), copies: Some(copies) })
    }

    /// Description for the record.
    pub fn in_words(&self) -> String {
        self.ring.as_ref().map_or_else(|| "this machine".into(), |ring| format!("a ring, {}", ring.display()))
    }

    /// Makes a file or folder of this machine reachable, and returns its path there.
    pub fn bring(&self, from: &Path) -> Result<PathBuf, String> {
        let from = from.canonicalize().map_err(|error| format!("{}: {error}", from.display()))?;
        let (Some(ring), Some(copies)) = (&self.ring, &self.copies) else { return Ok(from) };
        let name = from.file_name().ok_or_else(|| format!("{} has no name", from.display()))?;
        let to = copies.join(name);
        if !to.exists() {
            let status = Command::new("cp").arg("-a").arg(&from).arg(&to).status();
            if !status.is_ok_and(|status| status.success()) {
                return Err(format!("cannot copy {} to {}", from.display(), to.display()));
            }
        }
        let inside = to.strip_prefix(ring).map_err(|error| error.to_string())?;
        Ok(Path::new("/").join(inside))
    }

    /// A command that runs there, in this folder. The started process becomes the program itself: its id is the
    /// program's.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = match &self.ring {
            None => {
                let mut command = Command::new(program);
                command.current_dir(folder);
                for name in NOT_PASSED_ON {
                    command.env_remove(name);
                }
                command
            }
            Some(ring) => {
                let mut command = Command::new("chroot");
                command.env_clear().envs(RING_ENVIRONMENT);
                command.arg(ring).args(["env", "-C"]).arg(folder).arg(program);
                command
            }
        };
        // Both servers get the environment; Rails wants a secret in production.
        command.envs([("RACK_ENV", "production"), ("APP_ENV", "production"), ("RAILS_ENV", "production")]);
        command.env("SECRET_KEY_BASE_DUMMY", "1");
        command
    }

    /// Whether a program there succeeds with these arguments.
    pub fn succeeds(&self, program: &str, arguments: &[&str]) -> bool {
        let output = self.command(Path::new(program), Path::new("/")).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    }

    /// The first line of a program's output there.
    pub fn said(&self, program: &str, arguments: &[&str]) -> String {
        bench_kit::machine::said(self.command(Path::new(program), Path::new("/")).args(arguments))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(copies) = &self.copies {
            let _ = std::fs::remove_dir_all(copies);
        }
    }
}
