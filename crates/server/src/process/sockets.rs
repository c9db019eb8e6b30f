//! The listening sockets of this process: those handed over by systemd or by the previous process, and those that it
//! binds.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use front::{Bind, Endpoint, Listener, Share};
use tracing::{info, warn};

use crate::process::folder::is_same;
use crate::process::parent::InheritedSocket;

/// How sockets from systemd are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activated {
    /// A socket is used for a `--bind` of the same address.
    Matching,
    /// All are used, beside the binds.
    All,
    /// All are used; the binds count only if there is none.
    Only,
}

/// The sockets that are configured.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub binds: &'a [Endpoint],
    /// No address is configured; `binds` has the default.
    pub is_default: bool,
    pub activated: Activated,
}

/// All sockets, bound but not yet accepting.
#[derive(Debug, Default)]
pub struct Sockets {
    pub listeners: Vec<Listener>,
    /// The admin listener, if it is on a port.
    pub admin: Option<Listener>,
    /// The control socket, if it had to be made as root.
    pub control: Option<Listener>,
    /// A share of each socket, for a successor.
    pub shares: Vec<Shared>,
    /// Addresses, as configured, of the used sockets that the previous process handed over.
    pub taken: Vec<String>,
}

/// A socket that can be handed to a successor.
#[derive(Debug)]
pub struct Shared {
    pub share: Share,
    pub is_activated: bool,
    /// The previous process had it first.
    pub is_taken: bool,
}

struct FoundSocket {
    listener: Listener,
    asked: String,
    is_activated: bool,
}

/// Matches handed-over sockets with the configured addresses and binds the rest; one failure fails all. A handed-over
/// Unix socket whose file is gone is bound again, or taken as it is if that fails.
pub fn gather(wanted: &Wanted<'_>, handed: Vec<InheritedSocket>) -> Result<Sockets, String> {
    let failed = |error: front::BindError| error.to_string();
    let mut found = Vec::new();
    for InheritedSocket { socket, asked, is_activated } in handed {
        let bind = asked.parse().map_err(|why| format!("a socket was handed over as {asked}: {why}"))?;
        found.push(FoundSocket { listener: Listener::adopt(socket, bind).map_err(failed)?, asked, is_activated });
    }
    let has_activated = found.iter().any(|one| one.is_activated);
    if wanted.activated == Activated::Only && !has_activated {
        info!(
            target: "server",
            "no socket was handed over (LISTEN_FDS, LISTEN_PID): listening where --bind says, in spite of \
             --bind-to-activated-sockets=only"
        );
    }
    let no_binds = match wanted.activated {
        Activated::Only => has_activated,
        Activated::All => wanted.is_default && has_activated,
        Activated::Matching => false,
    };
    let mut sockets = Sockets::default();
    for endpoint in if no_binds { &[] } else { wanted.binds } {
        let mut handed = of(&endpoint.bind, &mut found);
        let bound = if handed.is_empty() {
            Listener::bind_all(endpoint).map_err(failed)?
        } else if has_lost_its_file(&endpoint.bind) && !handed.iter().any(|one| one.is_activated) {
            bound_again(endpoint)
        } else {
            Vec::new()
        };
        if !bound.is_empty() {
            handed.clear();
        }
        for listener in bound {
            sockets.share(&listener, false)?;
            sockets.listeners.push(listener);
        }
        handed.into_iter().try_for_each(|one| sockets.take(one))?;
    }
    for one in found {
        if one.is_activated && wanted.activated != Activated::Matching {
            sockets.take(one)?;
        } else if one.is_activated {
            warn!(target: "server", "{} was handed over as {} and is not used: --bind-to-activated-sockets takes it",
                one.listener.local(), one.asked);
        } else {
            info!(target: "server", "{} is not served any more", one.listener.local());
        }
    }
    Ok(sockets)
}

/// Whether the file of a Unix socket, by which clients find it, is gone. An abstract socket has none, and a relative
/// path may start at another folder by now.
fn has_lost_its_file(bind: &Bind) -> bool {
    let Bind::Unix(path) = bind else { return false };
    path.is_absolute() && fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

impl Shared {
    /// Binds and opens the Unix socket again if its file is gone, with the options of its endpoint, and becomes a share
    /// of the new one. Returns its listener; `None` if the file is there, or if binding fails.
    pub fn bind_again(&mut self, endpoints: &[Endpoint]) -> Option<Listener> {
        let endpoint = endpoints.iter().find(|endpoint| endpoint.bind == self.share.asked)?;
        if self.is_activated || !has_lost_its_file(&endpoint.bind) {
            return None;
        }
        let listener = bound_again(endpoint).pop()?;
        let share = listener.open().map_err(|error| error.to_string()).and_then(|()| share_of(&listener));
        let share = share.inspect_err(|why| warn!(target: "server", "{why}")).ok()?;
        *self = Shared { share, is_activated: false, is_taken: false };
        info!(target: "server", "listening on {} again: its file was gone", listener.local());
        Some(listener)
    }
}

/// Binds a Unix socket again whose file is gone. If that fails, clients do not find the socket, as before, and the
/// others are served.
fn bound_again(endpoint: &Endpoint) -> Vec<Listener> {
    Listener::bind_all(endpoint).unwrap_or_else(|error| {
        warn!(target: "server", "the file of a Unix socket is gone, so that no client finds it: {error}");
        Vec::new()
    })
}

/// Takes out the sockets for this bind: those configured with the same text, or of one of its addresses.
fn of(bind: &Bind, found: &mut Vec<FoundSocket>) -> Vec<FoundSocket> {
    let words = bind.to_string();
    let same: Vec<FoundSocket> = found.extract_if(.., |one| one.asked == words).collect();
    if !same.is_empty() {
        return same;
    }
    let addresses = bind.addresses().unwrap_or_default();
    let is_of_it = |local: &Bind| match (bind, local) {
        (_, Bind::Tcp(local)) => addresses.iter().any(|address| address == local || is_wider(*address, *local)),
        // systemd makes `/run/web.sock` of `/var/run/web.sock`, and a folder such as `current` may be a symlink.
        (Bind::Unix(path), Bind::Unix(local)) => path == local || is_same(path, local),
        _ => false,
    };
    found.extract_if(.., |one| is_of_it(&one.listener.local())).collect()
}

/// Whether `address` is the IPv6 wildcard and `other` the IPv4 wildcard on the same port: both cannot be bound at once.
/// Older versions of this program, and systemd, use the latter for all addresses.
fn is_wider(address: SocketAddr, other: SocketAddr) -> bool {
    address.port() == other.port() && address.ip() == Ipv6Addr::UNSPECIFIED && other.ip() == Ipv4Addr::UNSPECIFIED
}

impl Sockets {
    /// Shares the socket of a listener with a successor; `is_taken` if the previous process had it.
    pub fn share(&mut self, listener: &Listener, is_taken: bool) -> Result<(), String> {
        let share = share_of(listener)?;
        if is_taken {
            self.taken.push(share.asked.to_string());
        }
        self.shares.push(Shared { share, is_activated: false, is_taken });
        Ok(())
    }

    /// Adds a socket that was handed over.
    fn take(&mut self, one: FoundSocket) -> Result<(), String> {
        self.taken.push(one.asked);
        let share = share_of(&one.listener)?;
        self.shares.push(Shared { share, is_activated: one.is_activated, is_taken: true });
        self.listeners.push(one.listener);
        Ok(())
    }
}

fn share_of(listener: &Listener) -> Result<Share, String> {
    listener.share().map_err(|error| format!("{} cannot be shared: {error}", listener.local()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use front::Bind;

    use super::*;

    fn handed(asked: &str, is_activated: bool) -> (InheritedSocket, Bind) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = Bind::Tcp(socket.local_addr().unwrap());
        (InheritedSocket { socket: socket.into(), asked: asked.to_owned(), is_activated }, local)
    }

    fn endpoint(bind: &Bind) -> Endpoint {
        Endpoint::from(bind.clone())
    }

    fn locals(wanted: &Wanted<'_>, handed: Vec<InheritedSocket>) -> Result<Vec<Bind>, String> {
        gather(wanted, handed).map(|sockets| sockets.listeners.iter().map(Listener::local).collect())
    }

    #[test]
    fn what_an_older_process_had_is_taken_by_the_address_that_was_asked_for() {
        let bind: Bind = "tcp://127.0.0.1:0".parse().unwrap();
        let (first, local) = handed("tcp://127.0.0.1:0", false);
        let (unused, _) = handed("tcp://127.0.0.2:0", false);
        let wanted = Wanted { binds: &[endpoint(&bind)], is_default: false, activated: Activated::Matching };
        let sockets = gather(&wanted, vec![unused, first]).unwrap();
        assert_eq!(sockets.listeners[0].local(), local);
        assert_eq!((sockets.listeners.len(), sockets.taken), (1, vec!["tcp://127.0.0.1:0".to_owned()]));
    }

    #[test]
    fn sockets_of_a_name_and_of_all_addresses_are_taken_by_their_words_or_their_addresses() {
        let wanted = |bind: &Bind, handed| {
            let binds = &[endpoint(bind)];
            gather(&Wanted { binds, is_default: false, activated: Activated::Matching }, handed).unwrap()
        };
        let name: Bind = "tcp://localhost:0".parse().unwrap();
        let (first, second) = (handed("tcp://localhost:0", false), handed("tcp://localhost:0", false));
        let sockets = wanted(&name, vec![first.0, second.0]);
        assert_eq!(sockets.listeners.iter().map(Listener::local).collect::<Vec<_>>(), [first.1, second.1]);
        assert_eq!(sockets.taken, ["tcp://localhost:0", "tcp://localhost:0"]);
        // An older version of this program asked for the address that the name means.
        let (old, local) = handed("tcp://127.0.0.1:0", false);
        let Bind::Tcp(address) = &local else { panic!("not TCP") };
        let sockets = wanted(&Bind::Name("localhost".to_owned(), address.port()), vec![old]);
        assert_eq!(sockets.listeners[0].local(), local);
        // And for the IPv4 wildcard, which cannot be bound beside that of both.
        let all = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = all.local_addr().unwrap().port();
        let old = InheritedSocket { socket: all.into(), asked: format!("tcp://0.0.0.0:{port}"), is_activated: false };
        let sockets = wanted(&format!("tcp://[::]:{port}").parse().unwrap(), vec![old]);
        assert_eq!(sockets.taken, [format!("tcp://0.0.0.0:{port}")]);
    }

    #[test]
    fn a_unix_socket_is_taken_by_another_name_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run")).unwrap();
        std::os::unix::fs::symlink("run", at("var")).unwrap();
        let handed = || {
            let _ = fs::remove_file(at("run/web.sock"));
            let socket = UnixListener::bind(at("run/web.sock")).unwrap();
            InheritedSocket { socket: socket.into(), asked: "fd://3".to_owned(), is_activated: true }
        };
        let wanted = |name: &str| {
            let binds = &[endpoint(&Bind::Unix(at(name)))];
            locals(&Wanted { binds, is_default: false, activated: Activated::Matching }, vec![handed()]).unwrap()
        };
        assert_eq!(wanted("var/web.sock"), [Bind::Unix(at("run/web.sock"))]);
        assert_eq!(wanted("run/other.sock"), [Bind::Unix(at("run/other.sock"))]);
    }

    /// Programs that clean /tmp remove it. Unicorn binds such a socket again at a reload.
    #[test]
    fn a_unix_socket_that_has_lost_its_file_is_bound_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.sock");
        let socket = UnixListener::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let bind = Bind::Unix(path.clone());
        let handed = InheritedSocket { socket: socket.into(), asked: bind.to_string(), is_activated: false };
        let wanted = Wanted { binds: &[endpoint(&bind)], is_default: false, activated: Activated::Matching };
        let sockets = gather(&wanted, vec![handed]).unwrap();
        assert!(path.exists() && sockets.taken.is_empty());
    }

    /// The folder is gone as well: the user that `--user` names could not write in it either.
    #[test]
    fn a_unix_socket_that_cannot_be_bound_again_keeps_nothing_else_from_being_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/web.sock");
        fs::create_dir(folder.path().join("run")).unwrap();
        let socket = UnixListener::bind(&path).unwrap();
        fs::remove_dir_all(folder.path().join("run")).unwrap();
        let unix = Bind::Unix(path);
        let lost = InheritedSocket { socket: socket.into(), asked: unix.to_string(), is_activated: false };
        let (other, local) = handed("tcp://127.0.0.1:0", false);
        let binds = [endpoint(&unix), endpoint(&"tcp://127.0.0.1:0".parse().unwrap())];
        let wanted = Wanted { binds: &binds, is_default: false, activated: Activated::Matching };
        assert_eq!(locals(&wanted, vec![lost, other]).unwrap(), [unix, local]);
    }

    #[test]
    fn activated_sockets_are_taken_by_address_all_of_them_or_alone() {
        let bind: Bind = "tcp://127.0.0.1:0".parse().unwrap();
        for (activated, is_default, expected) in [
            (Activated::Matching, false, 1),
            (Activated::All, false, 2),
            (Activated::All, true, 1),
            (Activated::Only, false, 1),
        ] {
            let (socket, local) = handed("fd://3", true);
            let wanted = Wanted { binds: &[endpoint(&bind)], is_default, activated };
            let found = locals(&wanted, vec![socket]).unwrap();
            assert_eq!(found.len(), expected, "{activated:?}");
            assert_eq!(found.contains(&local), activated != Activated::Matching);
        }
        let (socket, local) = handed("fd://3", true);
        let same = Wanted { binds: &[endpoint(&local)], is_default: false, activated: Activated::Matching };
        assert_eq!(locals(&same, vec![socket]).unwrap(), [local]);
        let (socket, local) = handed("fd://3", true);
        let named =
            Wanted { binds: &[endpoint(&Bind::Inherited(3))], is_default: false, activated: Activated::Matching };
        assert_eq!(locals(&named, vec![socket]).unwrap(), [local]);
        let only = Wanted { binds: &[endpoint(&bind)], is_default: false, activated: Activated::Only };
        assert_eq!(locals(&only, vec![]).unwrap().len(), 1, "as in Puma, the binds count where there is none");
        let absent =
            Wanted { binds: &[endpoint(&Bind::Inherited(3))], is_default: false, activated: Activated::Matching };
        assert!(locals(&absent, vec![]).unwrap_err().contains("fd://3: this process was not started with it"));
    }
}
