//! The addresses to listen on, from `--bind`, `--host` and `--port` together.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use front::{Bind, Endpoint};

use crate::config::arguments::{Origin, RawValue};
use crate::config::bind_query::{self, tcp};
use crate::config::options::Name;
use crate::config::reader::SettingsReader;

/// Default port of an address of which only `--host` is given.
const PORT: u16 = 9292;

/// An address to listen on, as it was configured.
pub struct ListenAddress {
    pub given: RawValue,
    pub uri: String,
    /// Only a port was given.
    is_port: bool,
}

impl SettingsReader<'_> {
    /// The addresses. `--bind` and `--port` add up, as in Puma; but those of the command line replace those of this
    /// program's own variables, which replace a `PORT` that the platform may always set, and that replaces a file's.
    pub fn binds(&mut self) -> Vec<Endpoint> {
        let (mut binds, mut port_alone): (Vec<Endpoint>, _) = (Vec::new(), None);
        let umask = bind_query::permission_bits(&self.pick(Name::Umask).value);
        for ListenAddress { given, uri, is_port } in self.addresses() {
            match bind_query::parse(&uri, umask) {
                Ok(one) if binds.iter().any(|other| other.bind == one.bind) => {}
                Ok(one) => {
                    port_alone = port_alone.or_else(|| is_port.then(|| one.bind.clone()));
                    binds.push(one);
                }
                Err(error) => self.refuse(&given, &error.to_string()),
            }
        }
        // The IPv6 wildcard includes IPv4: both wildcards cannot be bound at once. A port alone means the address that
        // was given for it.
        for Endpoint { bind: of_both, .. } in binds.clone() {
            if let Some(of_one) = only_ipv4(&of_both).filter(|of_one| binds.iter().any(|one| one.bind == *of_one)) {
                let surplus = if port_alone.as_ref() == Some(&of_both) { of_both } else { of_one };
                binds.retain(|one| one.bind != surplus);
            }
        }
        binds
    }

    /// The addresses, each with its source.
    pub fn addresses(&mut self) -> Vec<ListenAddress> {
        let [has_bind, has_port] = self.address_sources();
        let said = |given: RawValue| ListenAddress { uri: given.value.clone(), given, is_port: false };
        let mut wanted = Vec::new();
        if has_bind {
            wanted.extend(self.asked.values(Name::Bind).into_iter().cloned().map(said));
        }
        if has_port {
            wanted.extend(self.port_address());
        }
        if !has_bind && !has_port {
            wanted.push(said(self.pick(Name::Bind)));
        }
        // In Unicorn and Pitchfork, `listen` in the file adds to the addresses of their flags. They have no --bind.
        let is_theirs = |one: &ListenAddress| matches!(&one.given.origin, Origin::Flag(flag) if !is_bind(flag));
        if self.asked.reads_file_of(&["Unicorn", "Pitchfork"]) && wanted.iter().any(is_theirs) {
            wanted.extend(self.asked.of_file(Name::Bind).cloned().map(said));
        }
        wanted
    }

    /// Whether `--bind` counts, and whether `--host` and `--port` do: those with the highest precedence.
    fn address_sources(&self) -> [bool; 2] {
        let [bind, port, host] = [Name::Bind, Name::Port, Name::Host].map(|name| self.asked.rank_for(None, name));
        let most = [bind, port, host].into_iter().flatten().min();
        let counts = |rank: Option<u8>| rank.is_some() && rank == most;
        [counts(bind), counts(port) || counts(host)]
    }

    /// Whether `--host` and `--port` count.
    pub fn has_port_address(&self) -> bool {
        self.address_sources()[1]
    }

    /// The address from `--host` and `--port`. If one of them is missing, that part is taken from another server's
    /// file: a server that the file binds to 127.0.0.1 stays there when only its port is changed.
    fn port_address(&mut self) -> Option<ListenAddress> {
        let asked = self.asked;
        let (host, port) = (self.pick(Name::Host), self.pick(Name::Port));
        let shown = if host.value.is_empty() { port.clone() } else { host.clone() };
        let named = if host.value.is_empty() { asked.file_host.as_deref().unwrap_or("") } else { &host.value };
        let is_port = named.is_empty();
        let name = if is_port { "::" } else { named };
        let before = self.problems.len();
        if host.value.starts_with(['/', '.', '@']) {
            let right = format!("is no host; for a Unix socket say --bind unix://{}", host.value);
            self.refuse(&host, &right);
        }
        let usual = u64::from(asked.file_port.unwrap_or(PORT));
        let number = if port.value.is_empty() { usual } else { self.number_of(&port, &port.value) };
        let uri = tcp(name, &number.to_string());
        (self.problems.len() == before).then_some(ListenAddress { given: shown, uri, is_port })
    }
}

fn is_bind(flag: &str) -> bool {
    flag == "-b" || flag.starts_with("--bind")
}

/// The IPv4 wildcard on the port of an IPv6 wildcard.
fn only_ipv4(bind: &Bind) -> Option<Bind> {
    match bind {
        Bind::Tcp(address) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            Some(Bind::Tcp(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port())))
        }
        _ => None,
    }
}
