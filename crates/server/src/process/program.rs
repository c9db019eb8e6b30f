//! How this program was started, so that an upgrade and `--daemonize` can start it again.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use engine::Surroundings;
use rustix::fs::{Access, access};

use crate::process::bundle;
use crate::process::folder;
use crate::process::inherited::is_ours as is_of_sockets;
use crate::process::open_files;
use crate::process::parent::PARENT;
use crate::process::umask;

/// Variables that a child must not inherit: they were meant for this process.
const OF_THIS_ONE: [&str; 4] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID"];

/// The program's path, its arguments, and the folder in which it was started.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    arguments: Vec<OsString>,
    folder: PathBuf,
}

impl Program {
    /// Records how the program was started. Must be called before anything changes the working directory.
    pub fn note() -> Program {
        let mut words = env::args_os();
        let name = words.next().unwrap_or_default();
        let folder = folder::current();
        let path = find(&name, &folder, env::var_os("PATH"));
        // The fallback resolves symlinks: a new version behind one would not be found.
        let path = path.or_else(|| env::current_exe().ok()).unwrap_or(name.into());
        Program { path, arguments: words.collect(), folder }
    }

    /// Command that runs the program as it is now at its path, with the same arguments and in the same folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).current_dir(folder::there(&self.folder));
        command
    }

    /// The same for a child that takes this process's place: without variables meant for this process, and with its id.
    pub fn again(&self) -> Command {
        let mut command = self.command();
        command.env(PARENT, process::id().to_string());
        if let Some(number) = open_files::before() {
            command.env(open_files::VARIABLE, number.to_string());
        }
        match umask::before() {
            Some(bits) => command.env(umask::VARIABLE, bits),
            None => command.env_remove(umask::VARIABLE),
        };
        if let Some(named) = env::var_os("BUNDLE_GEMFILE").filter(|named| Path::new(named).is_absolute()) {
            let gemfile = folder::followed_file(Path::new(&named));
            let lockfile = bundle::lockfile(&gemfile);
            engine_ruby::bundle::set_variables(&mut command, Some(&gemfile), lockfile.as_deref());
        }
        let of_sockets = env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(is_of_sockets));
        for name in OF_THIS_ONE.iter().map(OsString::from).chain(of_sockets) {
            command.env_remove(name);
        }
        command
    }

    /// The same in the folder and with the variables that hooks ask for, except those by which parent and child find
    /// each other.
    pub fn again_with(&self, wanted: &Surroundings) -> Command {
        let mut command = self.again();
        let between = [PARENT, open_files::VARIABLE, umask::VARIABLE];
        let is_ours = |name: &str| between.contains(&name) || OF_THIS_ONE.contains(&name);
        if let Some(folder) = &wanted.folder {
            command.current_dir(folder);
        }
        for (name, value) in wanted.variables.iter().filter(|(name, _)| !name.is_empty() && !is_ours(name)) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// Finds a program by path, or by name on PATH; `None` if it is missing or not executable.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    find(name.as_os_str(), Path::new(""), env::var_os("PATH"))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The file that a shell would start by this name, without resolving symlinks.
fn find(name: &OsStr, folder: &Path, path: Option<OsString>) -> Option<PathBuf> {
    let named = Path::new(name);
    if name.is_empty() {
        return None;
    }
    if named.components().count() > 1 || named.is_absolute() {
        return Some(folder.join(named)).filter(|path| is_program(path));
    }
    env::split_paths(&path?).map(|place| folder.join(place).join(named)).find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_program_is_found_as_a_shell_finds_it_and_symlinks_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("v1")).unwrap();
        fs::write(at("v1/server"), "").unwrap();
        fs::set_permissions(at("v1/server"), Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(at("v1"), at("current")).unwrap();
        let found = |name: &str| find(OsStr::new(name), root.path(), Some(at("current").into()));
        assert_eq!(found("server"), Some(at("current/server")));
        assert_eq!(found("current/server"), Some(at("current/server")));
        assert_eq!(found("./current/server"), Some(at("./current/server")));
        assert_eq!((found("nothing"), found("current/nothing"), found("")), (None, None, None));
        // Its log, say, in a folder that comes first.
        fs::create_dir(at("logs")).unwrap();
        fs::write(at("logs/server"), "").unwrap();
        let places = env::join_paths([at("logs"), at("current")]).unwrap();
        assert_eq!(find(OsStr::new("server"), root.path(), Some(places)), Some(at("current/server")));
        assert_eq!(found("logs/server"), None);
    }
}
