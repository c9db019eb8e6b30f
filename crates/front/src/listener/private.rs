//! A Unix socket to which only its owner can connect, at no time anyone else.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::listener::address::{Bind, BindError};
use crate::listener::listen::{Listener, set_mode};

/// Only the owner can connect.
const MODE: u32 = 0o600;
/// Longest path of a Unix socket: the size of the kernel's field without the final zero.
pub const PATH_BYTES: usize = 107;

/// Binds a socket of mode 0600 and starts listening. With `replace`, it takes the path from a process that listens
/// there: the successor of a server does so, while its predecessor keeps the clients that are connected. At each moment
/// a client finds one of the two, unless the path is too long.
pub fn listen_privately(path: &Path, replace: bool) -> Result<Listener, BindError> {
    let bind = Bind::Unix(path.to_owned());
    let failed = |why: io::Error| BindError { bind: bind.clone(), why };
    if path.as_os_str().len() > PATH_BYTES {
        let why = format!("the path of a Unix socket has at most {PATH_BYTES} bytes; name a shorter one");
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    if replace && fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if let Some(beside) = beside(path) {
            return Listener::bind_over(path, &beside, MODE).map_err(failed);
        }
        fs::remove_file(path).map_err(failed)?;
    }
    // No client can connect before the socket listens.
    let listener = Listener::bind(&bind)?;
    set_mode(path, MODE).map_err(failed)?;
    listener.open()?;
    Ok(listener)
}

/// A temporary path in the same folder, with the id of this process, at which commands do not look for a server. None
/// if it would be too long.
fn beside(path: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name()?);
    name.push(format!(".{}", std::process::id()));
    Some(path.with_file_name(name)).filter(|beside| beside.as_os_str().len() <= PATH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::listen::listener_of;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn only_its_owner_may_connect_and_while_successors_take_the_name_there_is_always_a_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let first = listen_privately(&path, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let is_over = AtomicBool::new(false);
        let (missing, successors) = std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut missing = 0;
                while !is_over.load(Ordering::SeqCst) {
                    missing += usize::from(!path.exists());
                }
                missing
            });
            let successors: Vec<_> = (0..100).map(|_| listen_privately(&path, true)).collect();
            is_over.store(true, Ordering::SeqCst);
            (watching.join().unwrap(), successors)
        });
        assert_eq!(missing, 0);
        assert!(successors.iter().all(Result::is_ok));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        drop(first);
        UnixStream::connect(&path).unwrap();
        drop(successors);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        let long = folder.path().join("x".repeat(PATH_BYTES - folder.path().as_os_str().len() - 1));
        let first = listen_privately(&long, false).unwrap();
        let second = listen_privately(&long, true).unwrap();
        drop(first);
        UnixStream::connect(&long).unwrap();
        drop(second);
        assert!(!long.exists());
    }

    #[test]
    fn a_successor_binds_beside_the_path_where_that_is_not_too_long() {
        let pid = std::process::id();
        let longest = PATH_BYTES - format!("/..{pid}").len();
        for (length, wanted) in [(1, true), (longest, true), (longest + 1, false)] {
            let name = "x".repeat(length);
            let found = beside(Path::new(&format!("/{name}")));
            assert_eq!(found, wanted.then(|| PathBuf::from(format!("/.{name}.{pid}"))), "{length}");
        }
    }

    #[test]
    fn whoever_listens_is_known_even_while_nothing_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        assert_eq!(listener_of(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        assert_eq!(listener_of(&path).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        rustix::net::listen(&socket, 0).unwrap();
        assert_eq!(listener_of(&path).unwrap(), std::process::id());
        // The connection of that call waits to be accepted, and the backlog is full.
        assert_eq!(listener_of(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let busy = listen_privately(&path, false).unwrap_err().to_string();
        assert!(busy.contains("another process listens on it"), "{busy}");
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        fs::write(&path, "mine").unwrap();
        assert!(listen_privately(&path, true).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        let long = folder.path().join("x".repeat(PATH_BYTES - folder.path().as_os_str().len()));
        assert!(listen_privately(&long, false).unwrap_err().to_string().contains("at most 107"));
    }
}
