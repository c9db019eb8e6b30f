//! The control socket: at a configured path, or by default in a folder of this user's sockets, under a name made of the
//! served folder. So commands find the server of the folder in which they are called.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::time::Duration;

use front::Listener;
use rustix::fs::{Access, access};

use crate::process::folder::absolute;

/// Characters of the folder's own name in the socket's name.
const NAME_LETTERS: usize = 24;
/// Age up to which a socket without a listener is left alone: a server may be just opening it.
const FRESH: Duration = Duration::from_secs(60);

/// Opens the control socket at a configured path, and returns the absolute path. A successor takes the path from the
/// previous process.
pub fn listen_at(path: &Path, is_successor: bool) -> Result<(Listener, PathBuf), String> {
    let path = absolute(path);
    let listener = front::listen_privately(&path, is_successor).map_err(|error| format!("--control: {error}"))?;
    Ok((listener, path))
}

/// Opens the control socket of a server that serves this folder at the default path, and returns that.
pub fn listen(served: &Path, is_successor: bool) -> Result<(Listener, PathBuf), String> {
    let folder = own_folder(&variable)?;
    sweep(&folder);
    let name = name(served);
    let usual = folder.join(format!("{name}.sock"));
    // A second server of the same folder has its process id in the name.
    let second = folder.join(format!("{name}.{}.sock", std::process::id()));
    // Another server of this folder may have the name: it is only taken over from the previous process of this one.
    let is_ours = is_successor && front::listener_of(&usual).ok() == Some(parent_id());
    if let Ok(listener) = front::listen_privately(&usual, is_ours) {
        return Ok((listener, usual));
    }
    let opened = front::listen_privately(&second, true);
    opened.map(|listener| (listener, second)).map_err(|error| error.to_string())
}

/// A control socket where a server may have put it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub path: PathBuf,
    /// Owner of its folder, if nothing shows that this user serves for the caller: its answers are not believed then.
    pub stranger: Option<u32>,
}

/// Sockets in all folders where a server of this folder may have put one: its own first, those of strangers last.
/// `user` is the one that the folder's settings name for the server.
pub fn candidates(served: &Path, user: Option<u32>) -> Vec<Candidate> {
    search(served, &folders(&variable, Path::new("/")), &Trust::of(served, user))
}

fn search(served: &Path, folders: &[SearchedFolder], trust: &Trust) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = folders.iter().flat_map(|folder| folder.sockets(trust)).collect();
    found.sort();
    found.dedup();
    found.sort_by_key(|one| (one.stranger.is_some(), !is_of(&one.path, served)));
    found
}

/// A folder that may contain control sockets.
struct SearchedFolder {
    path: PathBuf,
    /// Whether it may be another service's, with sockets of other kinds.
    may_be_others: bool,
}

impl SearchedFolder {
    fn sockets(&self, trust: &Trust) -> Vec<Candidate> {
        let Ok(stranger) = trust.stranger(&self.path) else { return Vec::new() };
        let is_socket = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "sock")
                && (!self.may_be_others || is_ours(path))
                && fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        };
        entries(&self.path).filter(is_socket).map(|path| Candidate { path, stranger }).collect()
    }
}

/// The users whose sockets a command takes for those of a served folder.
struct Trust {
    users: Vec<u32>,
    /// Root may use the servers of all users.
    is_root: bool,
}

impl Trust {
    fn of(served: &Path, user: Option<u32>) -> Trust {
        let own = rustix::process::geteuid();
        let mut users = vec![own.as_raw(), 0];
        if own.is_root() {
            users.extend(fs::metadata(served).ok().map(|found| found.uid()));
            users.extend(user);
        }
        Trust { users, is_root: own.is_root() }
    }

    /// The owner of a folder, if that is a stranger. An error if the folder must not be used at all.
    fn stranger(&self, folder: &Path) -> Result<Option<u32>, String> {
        let owner = is_private(folder)?;
        // Where only root can make folders, root has made this one for its owner, as systemd does for a unit.
        let is_given = || folder.parent().is_some_and(|parent| is_private(parent) == Ok(0));
        match self.users.contains(&owner) || (self.is_root && is_given()) {
            true => Ok(None),
            false if self.is_root => Ok(Some(owner)),
            false => Err(format!("belongs to user {owner}")),
        }
    }
}

/// Whether this socket is named after this folder.
pub fn is_of(socket: &Path, served: &Path) -> bool {
    let start = format!("{}.", name(served));
    socket.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Folders for this user's sockets, the best first.
fn own_folders(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let mut folders = Vec::new();
    if let Some(of_unit) = variable("RUNTIME_DIRECTORY") {
        folders.extend(std::env::split_paths(&of_unit).next());
    }
    if uid == 0 {
        folders.push(PathBuf::from("/run/foolsgold"));
    }
    if let Some(of_session) = variable("XDG_RUNTIME_DIR") {
        folders.push(Path::new(&of_session).join("foolsgold"));
    }
    // The second one in case the file system is read-only.
    folders.extend(["/tmp", "/dev/shm"].map(|place| PathBuf::from(format!("{place}/foolsgold-{uid}"))));
    folders
}

/// Folders that may contain sockets. `system` is the root folder.
fn folders(variable: &dyn Fn(&str) -> Option<OsString>, system: &Path) -> Vec<SearchedFolder> {
    let run = system.join("run");
    let mut folders = own_folders(variable);
    folders.push(run.join("foolsgold"));
    if rustix::process::geteuid().is_root() {
        // Root may control the servers of all users.
        folders.extend(entries(&run.join("user")).map(|folder| folder.join("foolsgold")));
        let shared = ["tmp", "dev/shm"].into_iter().flat_map(|place| entries(&system.join(place)));
        folders.extend(shared.filter(|path| is_of_a_user(path)));
    }
    let ours = folders.into_iter().map(|path| SearchedFolder { path, may_be_others: false });
    // Only the unit itself is told the path of its RuntimeDirectory.
    let of_units = entries(&run).map(|path| SearchedFolder { path, may_be_others: true });
    ours.chain(of_units).collect()
}

/// Whether a folder has the name of a user's folder for control sockets. There are other sockets below the temporary
/// folder: the one to which Ruby processes connect must not get HTTP.
fn is_of_a_user(folder: &Path) -> bool {
    let number = folder.file_name().and_then(|name| name.as_bytes().strip_prefix(b"foolsgold-"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// What is in a folder; nothing if it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The folder for this user's sockets, created if necessary.
fn own_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let mut why = Vec::new();
    for folder in own_folders(variable) {
        let made = match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(|error| error.to_string()),
        };
        match made.and_then(|()| is_our_own(&folder)) {
            Ok(()) => return Ok(folder),
            Err(error) => why.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(why.join(", "))
}

/// Whether only this user can have put files into the folder, and can.
fn is_our_own(folder: &Path) -> Result<(), String> {
    let owner = is_private(folder)?;
    access(folder, Access::WRITE_OK).map_err(|error| error.to_string())?;
    let uid = rustix::process::geteuid().as_raw();
    if owner == uid { Ok(()) } else { Err(format!("belongs to user {owner}, not to {uid}")) }
}

/// The owner of a folder that only its owner can change; an error otherwise.
fn is_private(folder: &Path) -> Result<u32, String> {
    let found = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("is not a folder".to_owned());
    }
    if found.mode() & 0o022 != 0 {
        return Err("others can write there".to_owned());
    }
    Ok(found.uid())
}

/// Removes sockets of servers that were killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(found)) = (entry.path(), entry.metadata()) else { continue };
        let is_old = found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > FRESH));
        let is_dead = || front::listener_of(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if found.file_type().is_socket() && is_ours(&path) && is_old && is_dead() {
            // Another process may have removed it.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a name is that of a control socket, as [`name`] makes it, with or without a process id behind it: in a
/// folder that services share there may be sockets of others.
fn is_ours(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let Some(stem) = name.strip_suffix(".sock") else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = stem.rsplit_once('.').filter(|(_, pid)| is_number(pid)).map_or(stem, |(before, _)| before);
    stem.rsplit_once('-').is_some_and(|(_, hash)| hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `shop-1a2b3c4d`: recognisable, and different for two folders of the same name.
fn name(served: &Path) -> String {
    let last = served.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' })
        .take(NAME_LETTERS)
        .collect();
    // FNV-1a: the same in all versions of this program.
    let hash = served
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{plain}-{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn sockets_of_others_are_not_swept() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("{}.sock", name(Path::new("/srv/a/shop")));
        let with_pid = format!("{}.123.sock", name(Path::new("/srv/b/shop")));
        let names = [own.as_str(), with_pid.as_str(), "web.sock", "shop-web.sock", "puma.123.sock"];
        let long_ago = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: long_ago, last_modification: long_ago };
        for path in names.map(|name| folder.path().join(name)) {
            // Bound, and closed without removing the file.
            drop(UnixListener::bind(&path).unwrap());
            rustix::fs::utimensat(rustix::fs::CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
        }
        sweep(folder.path());
        let left = |name: &str| folder.path().join(name).exists();
        assert_eq!(names.map(left), [false, false, true, true, true]);
    }

    #[test]
    fn names_say_what_is_served_and_differ() {
        let (one, other) = (name(Path::new("/srv/a/shop")), name(Path::new("/srv/b/shop")));
        assert!(one.starts_with("shop-") && other.starts_with("shop-") && one != other);
        assert_eq!(one, name(Path::new("/srv/a/shop")));
        assert!(name(Path::new("/srv/größe x/")).starts_with("gr--e-x-"));
        assert!(is_of(Path::new(&format!("/run/foolsgold/{one}.sock")), Path::new("/srv/a/shop")));
        assert!(!is_of(Path::new(&format!("/run/foolsgold/{one}.sock")), Path::new("/srv/b/shop")));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_our_own(folder.path()).is_ok());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(is_our_own(folder.path()).unwrap_err().contains("others can write"));
    }

    #[test]
    fn only_folders_of_users_are_searched() {
        assert!(is_of_a_user(Path::new("/tmp/foolsgold-0")) && is_of_a_user(Path::new("/tmp/foolsgold-1000")));
        assert!(
            ["foolsgold-wire-2pDTd6", "foolsgold-", "other-0"]
                .iter()
                .all(|name| !is_of_a_user(&Path::new("/tmp").join(name)))
        );
    }

    #[test]
    fn a_unit_has_its_own_folder() {
        let unit = |name: &str| (name == "RUNTIME_DIRECTORY").then(|| OsString::from("/run/shop:/run/other"));
        assert_eq!(folders(&unit, Path::new("/"))[0].path, PathBuf::from("/run/shop"));
    }

    /// A folder that only its owner may write to.
    fn private(path: &Path) -> &Path {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_socket_of_a_unit_is_found_without_its_variables() {
        let system = tempfile::tempdir().unwrap();
        let served = Path::new("/srv/a/shop");
        let own = system.path().join("run/shop").join(format!("{}.sock", name(served)));
        let others = ["run/shop/web.sock", "run/shop-1a2b3c4d.sock"].map(|name| system.path().join(name));
        private(own.parent().unwrap());
        let _listeners: Vec<_> = others.iter().chain([&own]).map(|path| UnixListener::bind(path).unwrap()).collect();
        let mut found = search(served, &folders(&|_| None, system.path()), &Trust::of(served, None));
        found.retain(|one| one.path.starts_with(system.path()));
        assert_eq!(found, [Candidate { path: own, stranger: None }]);
    }

    #[test]
    fn sockets_in_a_folder_of_a_stranger_are_taken_by_nobody() {
        let shared = tempfile::tempdir().unwrap();
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let served = Path::new("/srv/a/shop");
        let folder = private(&shared.path().join("foolsgold-1000")).to_owned();
        let path = folder.join(format!("{}.sock", name(served)));
        let _listener = UnixListener::bind(&path).unwrap();
        let owner = fs::metadata(&folder).unwrap().uid();
        let found = |users: &[u32], is_root: bool| {
            let searched = [SearchedFolder { path: folder.clone(), may_be_others: false }];
            search(served, &searched, &Trust { users: users.to_vec(), is_root })
        };
        assert_eq!(found(&[owner + 1, owner], false), [Candidate { path: path.clone(), stranger: None }]);
        assert!(found(&[owner + 1], false).is_empty());
        // Root may name it.
        assert_eq!(found(&[owner + 1], true), [Candidate { path: path.clone(), stranger: Some(owner) }]);
        // A folder that others can write to is not used.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(found(&[owner], true).is_empty());
    }

    #[test]
    fn root_takes_what_only_root_can_have_made() {
        let run = tempfile::tempdir().unwrap();
        let folder = private(&run.path().join("shop")).to_owned();
        let owner = fs::metadata(&folder).unwrap().uid();
        let trust = Trust { users: vec![owner + 1], is_root: true };
        assert_eq!(trust.stranger(&folder), Ok(Some(owner).filter(|owner| *owner != 0)));
    }
}
