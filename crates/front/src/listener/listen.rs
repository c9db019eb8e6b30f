//! Listening sockets: bound here, or taken over from another process, such as systemd or an older server. A Unix socket
//! without a listener is replaced; one that accepts belongs to another process and is an error.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::sockopt::{
    set_ipv6_v6only, set_socket_keepalive, set_socket_reuseaddr, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
    socket_acceptconn, socket_domain, socket_type,
};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, getpeername, socket_with};

use crate::listener::address::{Bind, BindError, Endpoint, SocketOptions};

/// Default backlog: connections that the kernel holds until they are accepted. The kernel cuts it to
/// `net.core.somaxconn`, usually 4096.
const BACKLOG: i32 = 4096;
/// TCP keepalive: silence after which the kernel probes the peer of a connection, the time between probes, and how many
/// stay unanswered before the connection is closed. A peer that is gone is noticed after two minutes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 4;
/// Attempts to find a port that is free on all addresses of a name.
const TRIES: usize = 50;

/// A bound socket that does not accept yet. Dropping it removes a Unix socket's file.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Bound,
    asked: Bind,
    local: Bind,
    backlog: i32,
}

#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener, #[allow(dead_code, reason = "held for its Drop")] FileKeeper),
}

/// A duplicate of a listening socket, to pass to another process.
#[derive(Debug)]
pub struct Share {
    /// The duplicate.
    pub socket: OwnedFd,
    /// The address as configured.
    pub asked: Bind,
    /// The address as bound.
    pub local: Bind,
    file: Option<Arc<SocketFile>>,
}

impl Share {
    /// Sets whether the file of a Unix socket is removed when the listener is dropped.
    pub fn set_removes_file(&self, removes: bool) {
        if let Some(file) = &self.file {
            file.is_ours.store(removes, Ordering::Release);
        }
    }

    /// Path of a Unix socket's file.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// Whether another file is at the path of a Unix socket by now, so that no new client finds this one. A relative
    /// path may start at another folder by now.
    pub fn is_displaced(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.path.is_absolute() && file.is_displaced())
    }
}

impl Listener {
    /// Binds an address. Until [`Listener::open`], clients that connect are refused.
    pub fn bind(bind: &Bind) -> Result<Listener, BindError> {
        Listener::bind_as(&Endpoint::from(bind.clone()))
    }

    /// Binds all addresses of a name, or the single address. Addresses that this machine does not have are left out,
    /// unless there is no other. Port 0 becomes the same port for all.
    pub fn bind_all(endpoint: &Endpoint) -> Result<Vec<Listener>, BindError> {
        let Endpoint { bind, options } = endpoint;
        let failed = |why| BindError { bind: bind.clone(), why };
        let addresses = match bind {
            Bind::Name(..) => bind.addresses().map_err(failed)?,
            _ => return Listener::bind_as(endpoint).map(|listener| vec![listener]),
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match bind_each(&addresses) {
                // The port that the system chose for the first address is taken on another.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_any(&addresses) && tries < TRIES => {}
                Err(error) => return Err(failed(error)),
                Ok(bound) => {
                    let listener = |(socket, local)| Listener::new(socket, local, bind, options);
                    return Ok(bound.into_iter().map(listener).collect());
                }
            }
        }
    }

    fn bind_as(Endpoint { bind, options }: &Endpoint) -> Result<Listener, BindError> {
        let bound = match bind {
            Bind::Tcp(address) => bind_tcp(*address),
            Bind::Name(..) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it may be several addresses")),
            Bind::Unix(path) => bind_unix(path, options),
            Bind::Inherited(_) => Err(io::Error::new(io::ErrorKind::NotFound, "this process was not started with it")),
        };
        match bound {
            Ok((socket, local)) => Ok(Listener::new(socket, local, bind, options)),
            Err(why) => Err(BindError { bind: bind.clone(), why }),
        }
    }

    /// Binds a Unix socket with a file of this mode at `beside`, starts listening, and only then renames the file to
    /// `path`, in place of the socket there. `beside` is a path in the same folder that nothing else uses. The kernel
    /// still reports it as the address of the socket, which must therefore not be handed to another process.
    pub(crate) fn bind_over(path: &Path, beside: &Path, mode: u32) -> io::Result<Listener> {
        let options = SocketOptions { mode: Some(mode), ..SocketOptions::default() };
        let (bound, _) = bind_unix(beside, &options)?;
        let Bound::Unix(socket, made) = bound else { return Err(io::ErrorKind::InvalidInput.into()) };
        rustix::net::listen(&socket, BACKLOG)?;
        fs::rename(beside, path)?;
        let file = FileKeeper(made.0.as_ref().map(|file| Arc::new(file.moved_to(path))));
        let bind = Bind::Unix(path.to_owned());
        Ok(Listener { socket: Bound::Unix(socket, file), asked: bind.clone(), local: bind, backlog: BACKLOG })
    }

    fn new(socket: Bound, local: Bind, asked: &Bind, options: &SocketOptions) -> Listener {
        Listener { socket, asked: asked.clone(), local, backlog: options.backlog.unwrap_or(BACKLOG) }
    }

    /// Takes over a bound socket. Dropping it keeps the file of a Unix socket, unless [`Share::set_removes_file`]
    /// changes that.
    pub fn adopt(socket: OwnedFd, asked: Bind) -> Result<Listener, BindError> {
        match adopt(socket) {
            Ok((socket, local)) => Ok(Listener { socket, asked, local, backlog: BACKLOG }),
            Err(why) => Err(BindError { bind: asked, why }),
        }
    }

    /// Starts listening: from now on the kernel holds connections until they are accepted.
    pub fn open(&self) -> Result<(), BindError> {
        let opened = if socket_acceptconn(self.fd()).unwrap_or(false) {
            Ok(())
        } else {
            self.check_file().map_err(|why| BindError { bind: self.asked.clone(), why })?;
            rustix::net::listen(self.fd(), self.backlog)
        };
        opened.map_err(|error| BindError { bind: self.asked.clone(), why: error.into() })
    }

    /// Checks that the file of a Unix socket that this process has made is still there. Until it listens, it looks like
    /// one left behind, which another server removes.
    fn check_file(&self) -> io::Result<()> {
        match &self.socket {
            Bound::Unix(_, FileKeeper(Some(file))) if file.is_ours.load(Ordering::Acquire) && !file.is_there() => {
                Err(io::Error::other("another process has removed or replaced its file while this one was loading"))
            }
            _ => Ok(()),
        }
    }

    /// The address, with the port that the system chose in place of 0.
    pub fn local(&self) -> Bind {
        self.local.clone()
    }

    /// A duplicate of the socket.
    pub fn share(&self) -> io::Result<Share> {
        let file = match &self.socket {
            Bound::Tcp(_) => None,
            Bound::Unix(_, FileKeeper(file)) => file.clone(),
        };
        let socket = self.fd().try_clone_to_owned()?;
        Ok(Share { socket, asked: self.asked.clone(), local: self.local.clone(), file })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Bound::Tcp(listener) => listener.as_fd(),
            Bound::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// Binds all addresses and starts listening on them, or fails without any.
pub fn listen(binds: &[Bind]) -> Result<Vec<Listener>, BindError> {
    let listeners: Vec<Vec<Listener>> =
        binds.iter().map(|bind| Listener::bind_all(&Endpoint::from(bind.clone()))).collect::<Result<_, _>>()?;
    let listeners: Vec<Listener> = listeners.into_iter().flatten().collect();
    listeners.iter().try_for_each(Listener::open)?;
    Ok(listeners)
}

fn new_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

fn bind_tcp(address: SocketAddr) -> io::Result<(Bound, Bind)> {
    match bind_address(address) {
        Err(error) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && is_absent(&error) => {
            bind_address(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()))
        }
        bound => bound,
    }
}

/// Binds all of the addresses that this machine has, on one port.
fn bind_each(addresses: &[SocketAddr]) -> io::Result<Vec<(Bound, Bind)>> {
    let mut all = Vec::new();
    let mut port = 0;
    let mut absent = None;
    for address in addresses {
        let port_here = if address.port() == 0 { port } else { address.port() };
        match bind_address(SocketAddr::new(address.ip(), port_here)) {
            Ok((socket, local)) => {
                if let Bind::Tcp(address) = &local {
                    port = address.port();
                }
                all.push((socket, local));
            }
            Err(error) if is_absent(&error) => absent = Some(error),
            Err(error) => return Err(error),
        }
    }
    match absent {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// Whether the system chooses the port.
fn is_any(addresses: &[SocketAddr]) -> bool {
    addresses.iter().all(|address| address.port() == 0)
}

/// Whether this machine has no such address, as with IPv6 switched off.
fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

fn bind_address(address: SocketAddr) -> io::Result<(Bound, Bind)> {
    let socket = new_socket(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
    // Connections of a server that has just exited must not keep its successor from the port.
    set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // `[::]` includes IPv4, whatever the system's default is.
        set_ipv6_v6only(&socket, !address.ip().is_unspecified())?;
    }
    notice_gone_peers(&socket)?;
    rustix::net::bind(&socket, &address)?;
    let listener = TcpListener::from(socket);
    let local = Bind::Tcp(listener.local_addr()?);
    Ok((Bound::Tcp(listener), local))
}

/// Switches TCP keepalive on (RFC 9293 section 3.8.4); accepted sockets inherit it. Without it, a WebSocket or a stream
/// whose client has lost its network keeps its place for ever.
fn notice_gone_peers(listener: impl AsFd) -> io::Result<()> {
    set_socket_keepalive(&listener, true)?;
    set_tcp_keepidle(&listener, KEEPALIVE_IDLE)?;
    set_tcp_keepintvl(&listener, KEEPALIVE_INTERVAL)?;
    Ok(set_tcp_keepcnt(&listener, KEEPALIVE_PROBES)?)
}

fn bind_unix(path: &Path, options: &SocketOptions) -> io::Result<(Bound, Bind)> {
    let local = Bind::Unix(path.to_owned());
    if let Some(name) = abstract_name(path) {
        let socket = new_socket(AddressFamily::UNIX)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
        return Ok((Bound::Unix(UnixListener::from(socket), FileKeeper(None)), local));
    }
    clear_stale(path)?;
    if let Some(missing) = files::missing_folder(path) {
        let why = format!("there is no folder {}: make it, or name another path", missing.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    let socket = new_socket(AddressFamily::UNIX)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let file = FileKeeper(Some(Arc::new(SocketFile::find(path, true)?)));
    // No client can connect before the socket listens, whatever its mode is until then.
    if options.owner.is_some() || options.group.is_some() {
        set_owner(path, options).map_err(|error| worded(&error, "its owner or group cannot be set"))?;
    }
    if let Some(mode) = options.mode {
        set_mode(path, mode).map_err(|error| worded(&error, "its mode cannot be set"))?;
    }
    Ok((Bound::Unix(UnixListener::from(socket), file), local))
}

/// Gives the file of a socket the owner and the group of these options.
fn set_owner(path: &Path, options: &SocketOptions) -> io::Result<()> {
    let file = opened_socket(path)?;
    chown(through(&file, path), options.owner, options.group)
}

/// Gives the file of a socket this mode. A file system that a virtual machine shares with its host (virtiofs, as in
/// Docker Desktop) may refuse that for any socket: the file then keeps the mode with which it was made, unless that
/// allows connections that the wanted mode does not.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let file = opened_socket(path)?;
    let set = fs::set_permissions(through(&file, path), Permissions::from_mode(mode));
    let Err(error) = set else { return Ok(()) };
    let made = fstat(&file)?.st_mode & 0o7777;
    if !may_stay(&error, made, mode) {
        return Err(error);
    }
    let path = path.display();
    tracing::warn!(
        target: "front",
        "the mode of {path} stays {made:04o} instead of {mode:04o}, since its file system sets none for sockets: \
         {error}"
    );
    Ok(())
}

/// The file of the socket at this path, opened neither for reading nor for writing. Its owner and its mode are changed
/// through this descriptor: a user who can write to its folder could otherwise put a link in its place, and so have
/// root change any other file.
fn opened_socket(path: &Path) -> io::Result<OwnedFd> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_socket() {
        return Err(io::Error::other("another file has taken its place"));
    }
    Ok(file)
}

/// The path that leads to an open file, or the one at which it was opened where there is no /proc.
fn through(file: &OwnedFd, path: &Path) -> PathBuf {
    files::opened_path(file).unwrap_or_else(|| path.to_owned())
}

/// Whether a socket may keep the mode with which it was made: the error says that none can be set, and the wanted mode
/// has all write permissions of that mode, which are those to connect (unix(7)).
fn may_stay(error: &io::Error, made: u32, wanted: u32) -> bool {
    let is_impossible = matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS));
    is_impossible && made & 0o222 & !wanted == 0
}

/// Name of an abstract socket, whose path begins with `@`.
fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}

fn worded(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn adopt(socket: OwnedFd) -> io::Result<(Bound, Bind)> {
    if socket_type(&socket)? != SocketType::STREAM {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a stream socket"));
    }
    if getpeername(&socket).is_ok() {
        let why = "it is a connection and not a listening socket: a socket unit of systemd needs Accept=no";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    match socket_domain(&socket)? {
        AddressFamily::INET | AddressFamily::INET6 => {
            if let Err(error) = notice_gone_peers(&socket) {
                tracing::debug!(target: "front", "an inherited socket has no keepalive: {error}");
            }
            let listener = TcpListener::from(socket);
            let local = Bind::Tcp(listener.local_addr()?);
            Ok((Bound::Tcp(listener), local))
        }
        AddressFamily::UNIX => {
            let listener = UnixListener::from(socket);
            let address = listener.local_addr()?;
            // An abstract socket, or one whose file is gone, has nothing to remove.
            let (path, file) = match address.as_pathname() {
                Some(path) => (path.to_owned(), SocketFile::find(path, false).ok().map(Arc::new)),
                None => {
                    let name = String::from_utf8_lossy(address.as_abstract_name().unwrap_or_default());
                    (PathBuf::from(format!("@{name}")), None)
                }
            };
            Ok((Bound::Unix(listener, FileKeeper(file)), Bind::Unix(path)))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a TCP nor a Unix socket")),
    }
}

fn clear_stale(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file of that name that is not a socket: remove it, or name another path",
        ));
    }
    match listener_of(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another process listens on it: end that, or name another path",
        )),
    }
}

/// The file of a Unix socket.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    is_ours: AtomicBool,
}

impl SocketFile {
    fn find(path: &Path, is_ours: bool) -> io::Result<SocketFile> {
        let found = fs::symlink_metadata(path)?;
        let (device, inode) = (found.dev(), found.ino());
        Ok(SocketFile { path: path.to_owned(), device, inode, is_ours: AtomicBool::new(is_ours) })
    }

    /// The same file after it was moved.
    fn moved_to(&self, path: &Path) -> SocketFile {
        let is_ours = AtomicBool::new(self.is_ours.load(Ordering::Acquire));
        SocketFile { path: path.to_owned(), device: self.device, inode: self.inode, is_ours }
    }

    /// Whether it is still at its path.
    fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| self.is(&found))
    }

    /// Whether another file is at its path.
    fn is_displaced(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| !self.is(&found))
    }

    /// The open socket keeps the number of its file from being given to another one.
    fn is(&self, found: &Metadata) -> bool {
        found.dev() == self.device && found.ino() == self.inode
    }

    /// Removes the file, unless another one has taken its place.
    fn remove(&self) {
        if self.is_there()
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(target: "front", "cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Removes the file of a Unix socket when its listener is dropped, if this process owns the file by then.
#[derive(Debug)]
pub(crate) struct FileKeeper(Option<Arc<SocketFile>>);

impl FileKeeper {
    /// Removes the file, if this process owns it, so that no new client finds the socket.
    pub(crate) fn remove(&mut self) {
        if let Some(file) = self.0.take_if(|file| file.is_ours.load(Ordering::Acquire)) {
            file.remove();
        }
    }
}

impl Drop for FileKeeper {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Process id of the listener of a Unix socket. Never blocks: the error is `WouldBlock` if its backlog is full, and
/// `ConnectionRefused` if no process listens.
pub fn listener_of(path: &Path) -> io::Result<u32> {
    let socket = new_socket(AddressFamily::UNIX)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let peer = rustix::net::sockopt::socket_peercred(&socket)?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    use rustix::fs::fcntl_getfl;
    use rustix::io::fcntl_getfd;
    use rustix::net::sockopt::{socket_keepalive, socket_reuseaddr, tcp_keepcnt, tcp_keepidle, tcp_keepintvl};

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
    fn a_unix_socket_is_displaced_by_another_file_at_its_path_and_not_by_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let listener = Listener::bind(&Bind::Unix(path.clone())).unwrap();
        let share = listener.share().unwrap();
        assert!(!share.is_displaced());
        fs::remove_file(&path).unwrap();
        assert!(!share.is_displaced());
        let other = UnixListener::bind(&path).unwrap();
        assert!(share.is_displaced());
        drop((listener, other));
        assert!(path.exists(), "the other one keeps its file");
    }

    #[test]
    fn a_unix_socket_gets_the_mode_the_backlog_and_the_owner_that_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let own = fs::metadata(folder.path()).unwrap();
        let bound = |mode, owner, group| {
            let options = SocketOptions { mode: Some(mode), owner, group, backlog: Some(7) };
            Listener::bind_as(&Endpoint { bind: Bind::Unix(path.clone()), options })
        };
        for mode in [0o777, 0o640] {
            let listener = bound(mode, Some(own.uid()), Some(own.gid())).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
            listener.open().unwrap();
            // The kernel holds one more than the backlog.
            let _waiting: Vec<UnixStream> = (0..8).map(|_| UnixStream::connect(&path).unwrap()).collect();
            assert_eq!(listener_of(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        let other = 54_321;
        for (owner, group) in [(Some(other), Some(own.gid())), (Some(other), None), (None, Some(other))] {
            match bound(0o600, owner, group) {
                Ok(_bound) => {
                    let made = fs::metadata(&path).unwrap();
                    let asked = (owner.unwrap_or(own.uid()), group.unwrap_or(own.gid()));
                    assert_eq!((made.uid(), made.gid()), asked);
                }
                // Only root may give it to others.
                Err(error) => assert!(error.to_string().contains("its owner or group cannot be set"), "{error}"),
            }
        }
        assert!(!path.exists(), "nothing is left of what could not be bound");
    }

    /// As on virtiofs.
    #[test]
    fn a_socket_keeps_its_mode_where_none_can_be_set_and_the_wanted_mode_allows_all_its_connections() {
        for (number, made, wanted, may) in [
            (Errno::INVAL, 0o755, 0o777, true),
            (Errno::OPNOTSUPP, 0o755, 0o600, true),
            (Errno::INVAL, 0o755, 0o660, true),
            (Errno::INVAL, 0o775, 0o600, false),
            (Errno::INVAL, 0o777, 0o660, false),
            (Errno::PERM, 0o755, 0o777, false),
        ] {
            assert_eq!(may_stay(&number.into(), made, wanted), may, "{number:?} {made:o} {wanted:o}");
        }
    }

    /// The owner of the folder can put a link there at any time.
    #[test]
    fn of_a_link_in_the_place_of_a_socket_no_owner_and_no_mode_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("s.sock"), folder.path().join("precious"));
        fs::write(&precious, "").unwrap();
        fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        let before = fs::metadata(&precious).unwrap();
        let options = SocketOptions { owner: Some(before.uid()), ..SocketOptions::default() };
        assert!(set_mode(&path, 0o777).is_err() && set_owner(&path, &options).is_err());
        assert_eq!(fs::metadata(&precious).unwrap().mode(), before.mode());
    }

    #[test]
    fn an_abstract_socket_has_no_file() {
        let name = format!("@foolsgold-test-{}", std::process::id());
        let bind: Bind = format!("unix://{name}").parse().unwrap();
        let listeners = listen(std::slice::from_ref(&bind)).unwrap();
        assert_eq!(listeners[0].local(), bind);
        assert!(!Path::new(&name).exists());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name[1..]).unwrap();
        UnixStream::connect_addr(&address).unwrap();
        assert!(listen(&[bind]).is_err(), "it is taken");
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        fs::write(&path, "data").unwrap();
        assert!(listen(&[Bind::Unix(path.clone())]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }

    #[test]
    fn a_name_is_all_its_addresses_on_one_port() {
        let listeners = listen(&["tcp://localhost:0".parse().unwrap()]).unwrap();
        let locals: Vec<Bind> = listeners.iter().map(Listener::local).collect();
        let Bind::Tcp(first) = &locals[0] else { panic!("not TCP") };
        assert!(first.ip().is_loopback() && listeners.len() <= 2);
        for local in &locals {
            let Bind::Tcp(address) = local else { panic!("not TCP") };
            assert_eq!(address.port(), first.port());
            std::net::TcpStream::connect(address).unwrap();
        }
    }

    #[test]
    fn a_name_whose_port_is_taken_is_refused() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = listen(&[Bind::Name("localhost".to_owned(), port)]).unwrap_err();
        assert_eq!(error.why.kind(), io::ErrorKind::AddrInUse, "{error}");
    }

    /// The absent one is of a network for documentation.
    #[test]
    fn an_address_that_this_machine_does_not_have_is_left_out_and_none_is_bound_in_its_place() {
        let [own, absent, fixed] =
            ["127.0.0.1:0", "192.0.2.1:0", "192.0.2.1:80"].map(|text| text.parse::<SocketAddr>().unwrap());
        let bound = |addresses: &[SocketAddr]| bind_each(addresses).map(|all| all.len()).map_err(|error| error.kind());
        assert_eq!(bound(&[absent, own]), Ok(1));
        assert_eq!(bound(&[absent]), Err(io::ErrorKind::AddrNotAvailable));
        let error = Listener::bind(&Bind::Tcp(absent)).unwrap_err();
        assert_eq!(error.why.kind(), io::ErrorKind::AddrNotAvailable, "{error}");
        assert!(is_any(&[own, absent]) && !is_any(&[own, fixed]));
    }

    #[test]
    fn all_addresses_are_those_of_both_kinds() {
        let listeners = listen(&["tcp://[::]:0".parse().unwrap()]).unwrap();
        let Bind::Tcp(address) = listeners[0].local() else { panic!("not TCP") };
        std::net::TcpStream::connect(("127.0.0.1", address.port())).unwrap();
        assert!(address.is_ipv4() || std::net::TcpStream::connect(("::1", address.port())).is_ok());
    }

    #[test]
    fn a_bound_address_lets_nobody_in_before_it_is_opened() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let Bind::Tcp(address) = listener.local() else { panic!("not TCP") };
        assert!(std::net::TcpStream::connect(address).is_err());
        listener.open().unwrap();
        std::net::TcpStream::connect(address).unwrap();
    }

    #[test]
    fn what_was_handed_over_keeps_its_file_until_it_is_told_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let first = listen(&[Bind::Unix(path.clone())]).unwrap().remove(0);
        let share = first.share().unwrap();
        assert_eq!(share.path(), Some(path.as_path()));
        share.set_removes_file(false);
        drop(first);
        assert!(path.exists(), "the successor has it");
        let second = Listener::adopt(share.socket, share.asked).unwrap();
        assert_eq!(second.local(), Bind::Unix(path.clone()));
        UnixStream::connect(&path).unwrap();
        second.share().unwrap().set_removes_file(true);
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn tcp_sockets_of_either_origin_notice_peers_that_are_gone_and_have_no_file() {
        let bound = listen(&["127.0.0.1:0".parse().unwrap()]).unwrap().remove(0);
        let inherited = TcpListener::bind("127.0.0.1:0").unwrap();
        fcntl_setfd(&inherited, FdFlags::empty()).unwrap();
        let local = Bind::Tcp(inherited.local_addr().unwrap());
        let adopted = Listener::adopt(inherited.into(), Bind::Inherited(3)).unwrap();
        assert_eq!(adopted.local(), local);
        assert!(socket_reuseaddr(bound.fd()).unwrap(), "a successor may bind it at once");
        for listener in [&bound, &adopted] {
            let socket = listener.fd();
            assert!(fcntl_getfd(socket).unwrap().contains(FdFlags::CLOEXEC), "a worker would keep it");
            assert!(fcntl_getfl(socket).unwrap().contains(OFlags::NONBLOCK), "an I/O thread would wait in it");
            assert!(socket_keepalive(socket).unwrap());
            let times = (tcp_keepidle(socket).unwrap(), tcp_keepintvl(socket).unwrap(), tcp_keepcnt(socket).unwrap());
            assert_eq!(times, (KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES));
            assert_eq!(listener.share().unwrap().path(), None);
        }
    }

    /// Not even a file in the working directory that happens to be called so.
    #[test]
    fn an_abstract_socket_that_is_taken_over_has_its_name_and_no_file() {
        let other = tempfile::Builder::new().prefix("@foolsgold-adopted-").tempfile_in(".").unwrap();
        let bind = Bind::Unix(other.path().file_name().unwrap().into());
        let share = listen(std::slice::from_ref(&bind)).unwrap().remove(0).share().unwrap();
        let adopted = Listener::adopt(share.socket, Bind::Inherited(3)).unwrap();
        assert_eq!((adopted.local(), adopted.share().unwrap().path()), (bind, None));
    }

    /// Another server takes the file of a socket that does not listen yet for one that was left behind.
    #[test]
    fn a_socket_whose_file_was_removed_or_replaced_before_it_is_opened_is_an_error_if_it_was_made_here() {
        let folder = tempfile::tempdir().unwrap();
        for (number, (is_replaced, is_ours)) in
            [(false, true), (true, true), (false, false), (true, false)].into_iter().enumerate()
        {
            let path = folder.path().join(number.to_string());
            let listener = Listener::bind(&Bind::Unix(path.clone())).unwrap();
            listener.share().unwrap().set_removes_file(is_ours);
            fs::remove_file(&path).unwrap();
            if is_replaced {
                fs::write(&path, "another").unwrap();
            }
            let opened = listener.open().map_err(|error| error.to_string());
            let is_refused = opened.as_ref().is_err_and(|error| error.contains("has removed or replaced its file"));
            assert_eq!((is_refused, opened.is_ok()), (is_ours, !is_ours), "{opened:?}");
            drop(listener);
            assert_eq!(path.exists(), is_replaced, "what is there is not its own");
        }
    }

    #[test]
    fn the_first_folder_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("run");
        let error = Listener::bind(&Bind::Unix(missing.join("app/s.sock"))).unwrap_err().to_string();
        assert!(error.contains(&format!("there is no folder {}: ", missing.display())), "{error}");
    }

    #[test]
    fn only_stream_sockets_are_taken_over() {
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = Listener::adopt(datagrams.into(), Bind::Inherited(3)).unwrap_err();
        assert_eq!(error.to_string(), "cannot listen on fd://3: it is not a stream socket");
        assert!(Listener::bind(&Bind::Inherited(3)).unwrap_err().to_string().contains("was not started with it"));
    }

    #[test]
    fn a_connection_is_not_taken_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (unix, peer) = UnixStream::pair().unwrap();
        for socket in [OwnedFd::from(listener.accept().unwrap().0), OwnedFd::from(unix)] {
            let error = Listener::adopt(socket, Bind::Inherited(3)).unwrap_err().to_string();
            assert!(error.contains("fd://3: it is a connection") && error.contains("needs Accept=no"), "{error}");
        }
        drop((client, peer));
    }
}
