//! The default path of the control socket: in a folder of this user's sockets, under a name made of the served folder.
//! So commands find the server of the folder in which they are called.

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

/// Characters of the folder's own name in the socket's name.
const NAME_LETTERS: usize = 24;
/// Age up to which a socket without a listener is left alone: a server may be just opening it.
const FRESH: Duration = Duration::from_secs(60);

/// Opens the control socket of a server that serves this folder, and returns its path.
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

/// Sockets in all folders where a server may have put one, those for this folder first.
pub fn candidates(served: &Path) -> Vec<PathBuf> {
    let start = format!("{}.", name(served));
    let is_socket = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "sock")
            && fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
    };
    let mut found: Vec<PathBuf> = folders(&variable)
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(is_socket)
        .collect();
    found.sort();
    found.dedup();
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    found.sort_by_key(|path| !is_ours(path));
    found
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

/// Folders that may contain sockets, the most likely first.
fn folders(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders = own_folders(variable);
    if rustix::process::geteuid().is_root() {
        // Root may control the servers of all users.
        folders.extend(below("/run/user", "foolsgold"));
        let of_others = fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
        folders.extend(of_others.filter(|path| is_of_a_user(path) && is_private(path).is_ok()));
    } else {
        folders.push(PathBuf::from("/run/foolsgold"));
    }
    folders
}

/// Whether a folder has the name of a user's folder for control sockets. There are other sockets below the temporary
/// folder: the one to which Ruby processes connect must not get HTTP.
fn is_of_a_user(folder: &Path) -> bool {
    let number = folder.file_name().and_then(|name| name.as_bytes().strip_prefix(b"foolsgold-"));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

fn below(folder: &str, name: &str) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path().join(name)).collect()
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
    use super::*;

    #[test]
    fn sockets_of_others_are_not_swept() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("{}.sock", name(Path::new("/srv/a/shop")));
        let with_pid = format!("{}.123.sock", name(Path::new("/srv/b/shop")));
        let names = [own.as_str(), with_pid.as_str(), "web.sock", "shop-web.sock", "puma.123.sock"];
        for name in names {
            // Bound, and closed without removing the file.
            drop(std::os::unix::net::UnixListener::bind(folder.path().join(name)).unwrap());
        }
        let before = std::time::SystemTime::now() - 2 * FRESH;
        for name in names {
            let path = std::ffi::CString::new(folder.path().join(name).as_os_str().as_bytes()).unwrap();
            let time = rustix::fs::Timespec {
                tv_sec: before.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().cast_signed(),
                tv_nsec: 0,
            };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
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
        use std::os::unix::fs::PermissionsExt;
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
        assert_eq!(folders(&unit)[0], PathBuf::from("/run/shop"));
    }
}
