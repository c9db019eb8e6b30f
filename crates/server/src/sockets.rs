//! The listening sockets of this process: those that were handed over, by systemd or by an older process, and those
//! that it binds itself.

use front::{Endpoint, Listener, Share};
use tracing::{info, warn};

use crate::cradle::Handed;

/// What is done with sockets that systemd hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activated {
    /// One is taken for a bind of the same address.
    Matching,
    /// All are taken, beside the binds.
    All,
    /// All are taken, and the binds count only where none is handed over.
    Only,
}

/// What was asked for.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub binds: &'a [Endpoint],
    /// Nobody named an address.
    pub is_default: bool,
    pub activated: Activated,
}

/// All sockets, bound and not yet open.
#[derive(Debug, Default)]
pub struct Sockets {
    pub listeners: Vec<Listener>,
    /// That of the admin page, if it is on a port.
    pub admin: Option<Listener>,
    /// A second hold on each, for a successor.
    pub shares: Vec<Shared>,
    /// Those that an older process handed over and that were wanted, as they were asked for.
    pub taken: Vec<String>,
}

/// A socket that can be handed on.
#[derive(Debug)]
pub struct Shared {
    pub share: Share,
    pub is_activated: bool,
    /// An older process had it first.
    pub is_taken: bool,
}

struct Found {
    listener: Listener,
    asked: String,
    is_activated: bool,
}

/// Binds what was not handed over. All of it, or an error.
pub fn gather(wanted: &Wanted<'_>, handed: Vec<Handed>) -> Result<Sockets, String> {
    let told = |error: front::BindError| error.to_string();
    let mut found = Vec::new();
    for Handed { socket, asked, is_activated } in handed {
        let bind = asked.parse().map_err(|why| format!("a socket was handed over as {asked}: {why}"))?;
        found.push(Found { listener: Listener::adopt(socket, bind).map_err(told)?, asked, is_activated });
    }
    let has_activated = found.iter().any(|one| one.is_activated);
    if wanted.activated == Activated::Only && !has_activated {
        warn!(
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
        let bind = &endpoint.bind;
        let at = found.iter().position(|one| one.asked == bind.to_string());
        match at.or_else(|| found.iter().position(|one| one.listener.local() == *bind)) {
            Some(at) => sockets.take(found.remove(at))?,
            None => sockets.add(Listener::bind_as(endpoint).map_err(told)?, false, false)?,
        }
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

impl Sockets {
    /// A successor is given it like the others.
    pub fn add_admin(&mut self, listener: Listener) -> Result<(), String> {
        let share = listener.share().map_err(|error| format!("{} cannot be shared: {error}", listener.local()))?;
        self.shares.push(Shared { share, is_activated: false, is_taken: false });
        self.admin = Some(listener);
        Ok(())
    }

    fn take(&mut self, one: Found) -> Result<(), String> {
        self.taken.push(one.asked);
        self.add(one.listener, one.is_activated, true)
    }

    fn add(&mut self, listener: Listener, is_activated: bool, is_taken: bool) -> Result<(), String> {
        let share = listener.share().map_err(|error| format!("{} cannot be shared: {error}", listener.local()))?;
        self.shares.push(Shared { share, is_activated, is_taken });
        self.listeners.push(listener);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use front::Bind;

    use super::*;

    fn handed(asked: &str, is_activated: bool) -> (Handed, Bind) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = Bind::Tcp(socket.local_addr().unwrap());
        (Handed { socket: socket.into(), asked: asked.to_owned(), is_activated }, local)
    }

    fn endpoint(bind: &Bind) -> Endpoint {
        Endpoint { bind: bind.clone(), options: front::SocketOptions::default() }
    }

    fn locals(wanted: &Wanted<'_>, handed: Vec<Handed>) -> Result<Vec<Bind>, String> {
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
