//! The addresses to listen on: what `--bind`, `--host` and `--port` come to together.

use front::Endpoint;

use crate::asked::{Given, Origin};
use crate::bind_query;
use crate::options::Name;
use crate::picker::Picker;

impl Picker<'_> {
    /// `--bind` and `--port` add up, as in Puma; but addresses of the command line replace those of the environment,
    /// where `FOOLS_GOLD_BIND` replaces a `PORT` that the platform may always set, and those a file's.
    pub fn binds(&mut self) -> Vec<Endpoint> {
        let mut binds: Vec<Endpoint> = Vec::new();
        let umask = u32::from_str_radix(&self.pick(Name::Umask).value, 8).ok();
        for (given, uri) in self.addresses() {
            match bind_query::parse(&uri, umask) {
                Ok(one) if binds.iter().any(|other| other.bind.to_string() == one.bind.to_string()) => {}
                Ok(one) => binds.push(one),
                Err(error) => self.refuse(&given, &error.to_string()),
            }
        }
        binds
    }

    /// The addresses, each with who said so.
    pub fn addresses(&mut self) -> Vec<(Given, String)> {
        let [bind, port, host] = [Name::Bind, Name::Port, Name::Host].map(|name| self.asked.rank_for(None, name));
        let most = [bind, port, host].into_iter().flatten().min();
        let counts = |rank: Option<u8>| rank.is_some() && rank == most;
        let (mut wanted, mut in_environment) = (Vec::new(), false);
        if counts(bind) {
            let given = self.asked.values(Name::Bind).into_iter().cloned();
            wanted.extend(given.map(|given| (given.clone(), given.value)));
            in_environment = matches!(wanted.first(), Some((Given { origin: Origin::Variable(_), .. }, _)));
        }
        if (counts(port) || counts(host)) && !in_environment {
            wanted.extend(self.port_address());
        }
        if most.is_none() {
            let given = self.pick(Name::Bind);
            wanted.push((given.clone(), given.value));
        }
        wanted
    }

    /// The address that `--host` and `--port` make together.
    fn port_address(&mut self) -> Option<(Given, String)> {
        let (host, port) = (self.pick(Name::Host), self.pick(Name::Port));
        let shown = if host.value.is_empty() { port.clone() } else { host.clone() };
        let name = match host.value.as_str() {
            "" => "0.0.0.0".to_owned(),
            // An IPv6 address has brackets in a URI.
            address if address.contains(':') && !address.starts_with('[') => format!("[{address}]"),
            name => name.to_owned(),
        };
        let before = self.problems.len();
        let number = if port.value.is_empty() { 9292 } else { self.number_of(&port, &port.value) };
        (self.problems.len() == before).then(|| (shown, format!("tcp://{name}:{number}")))
    }
}
