//! Addresses to listen on: what they look like, and how each is bound.
//! A Unix socket that nobody listens on any more is replaced; one that answers belongs to somebody and is an error.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How many connections the kernel may hold for us until they are accepted. It is cut to the system's own limit
/// (`net.core.somaxconn`, usually 4096).
const BACKLOG: i32 = 4096;

/// An address to listen on, written `tcp://host:port`, `host:port` or `unix:///path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    /// TCP; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        if let Some(path) = text.strip_prefix("unix://") {
            if path.is_empty() {
                return Err(format!("\"{text}\" has no path; write unix:///path/of/the.sock"));
            }
            return Ok(Bind::Unix(PathBuf::from(path)));
        }
        let address = text.strip_prefix("tcp://").unwrap_or(text);
        if address.contains("://") {
            return Err(format!("\"{text}\" is of no kind known here; write tcp://host:port or unix:///path"));
        }
        if address.contains('@') {
            return Err(format!("\"{text}\" has a user's name in it, which means nothing here; write tcp://host:port"));
        }
        let mut found = address.to_socket_addrs().map_err(|error| {
            format!("\"{text}\" is not an address ({error}); write tcp://host:port, such as tcp://127.0.0.1:9292")
        })?;
        found.next().map(Bind::Tcp).ok_or_else(|| format!("\"{text}\" names a host without an address"))
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Tcp(address) => write!(f, "tcp://{address}"),
            Bind::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// Why an address could not be bound.
#[derive(Debug)]
pub struct BindError {
    /// Which one.
    pub bind: Bind,
    /// Why.
    pub why: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: {}", self.bind, self.why)
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// A bound address that accepts nothing yet. A Unix socket's file is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Bound,
    local: Bind,
}

#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener, #[allow(dead_code, reason = "held for its Drop")] SocketFile),
}

impl Listener {
    pub(crate) fn new(socket: Bound, local: Bind) -> Listener {
        Listener { socket, local }
    }

    /// The address, with the port that the system chose where 0 was asked for.
    pub fn local(&self) -> Bind {
        self.local.clone()
    }
}

/// Binds them all, or none.
pub fn listen(binds: &[Bind]) -> Result<Vec<Listener>, BindError> {
    binds.iter().map(|bind| listen_on(bind).map_err(|why| BindError { bind: bind.clone(), why })).collect()
}

fn listen_on(bind: &Bind) -> io::Result<Listener> {
    match bind {
        Bind::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            rustix::net::listen(&listener, BACKLOG)?;
            listener.set_nonblocking(true)?;
            let local = Bind::Tcp(listener.local_addr()?);
            Ok(Listener { socket: Bound::Tcp(listener), local })
        }
        Bind::Unix(path) => {
            clear_stale(path)?;
            let listener = UnixListener::bind(path)?;
            rustix::net::listen(&listener, BACKLOG)?;
            listener.set_nonblocking(true)?;
            let file = SocketFile::new(path)?;
            Ok(Listener { socket: Bound::Unix(listener, file), local: bind.clone() })
        }
    }
}

pub(crate) fn clear_stale(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of that name that is not a socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody is listening on it")),
    }
}

/// The name of a Unix socket, removed at the end unless somebody else has put another file in its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    pub(crate) fn new(path: &Path) -> io::Result<SocketFile> {
        let found = fs::symlink_metadata(path)?;
        Ok(SocketFile { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours =
            fs::symlink_metadata(&self.path).is_ok_and(|found| found.dev() == self.device && found.ino() == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(target: "front", "cannot remove {}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["tcp://127.0.0.1:80", "tcp://[::1]:8080", "unix:///tmp/a.sock"] {
            assert_eq!(text.parse::<Bind>().unwrap().to_string(), text);
        }
        assert_eq!("127.0.0.1:1".parse::<Bind>().unwrap().to_string(), "tcp://127.0.0.1:1");
        for text in [
            "",
            "tcp://",
            "tcp://127.0.0.1",
            "udp://127.0.0.1:1",
            "unix://",
            "127.0.0.1:99999",
            "tcp://a:b@127.0.0.1:1",
        ] {
            assert!(text.parse::<Bind>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_a_live_one_is_not_and_the_end_removes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        drop(UnixListener::bind(&path).unwrap());
        let bind = Bind::Unix(path.clone());
        let listeners = listen(std::slice::from_ref(&bind)).unwrap();
        let error = listen(std::slice::from_ref(&bind)).unwrap_err();
        assert!(error.to_string().contains("s.sock"), "{error}");
        assert!(path.exists());
        drop(listeners);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        fs::write(&path, "data").unwrap();
        assert!(listen(&[Bind::Unix(path.clone())]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }
}
