//! Addresses to listen on: their syntax, and the message if one cannot be bound.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// Ports below this one need a privilege.
const UNPRIVILEGED: u16 = 1024;

/// An address to listen on, written `tcp://host:port`, `host:port`, `unix:///path` or `fd://3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    /// A TCP address; with port 0 the system chooses one. `[::]` includes all IPv4 addresses.
    Tcp(SocketAddr),
    /// All TCP addresses of a host name; with port 0 the system chooses one port for all.
    Name(String, u16),
    /// A Unix socket; one whose path begins with `@` is abstract, and has no file.
    Unix(PathBuf),
    /// A socket that this process inherited, by file descriptor. The caller creates its listener by
    /// [`crate::Listener::adopt`].
    Inherited(u32),
}

/// Options of a listening socket, other than its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Mode of a Unix socket's file; without it, the umask decides.
    pub mode: Option<u32>,
    /// User id of that file's owner.
    pub owner: Option<u32>,
    /// Group id of that file.
    pub group: Option<u32>,
    /// Number of connections that the kernel holds until they are accepted.
    pub backlog: Option<i32>,
}

/// An address with the options of its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub bind: Bind,
    /// The options.
    pub options: SocketOptions,
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        // The form that `File.join("unix://", "/srv/a.sock")` gives, and that other servers accept.
        let one_slash = text.strip_prefix("unix:").filter(|path| path.starts_with('/') && !path.starts_with("//"));
        if let Some(path) = text.strip_prefix("unix://").or(one_slash) {
            if path.is_empty() || path == "@" {
                return Err(format!("\"{text}\" has no path; write unix:///path/of/the.sock"));
            }
            if path.contains('?') {
                return Err(format!("\"{text}\": nothing may come behind a question mark here"));
            }
            return Ok(Bind::Unix(PathBuf::from(path)));
        }
        if let Some(number) = text.strip_prefix("fd://") {
            let wrong =
                |_| format!("\"{text}\" has no number; write fd://3 for the first socket that systemd hands over");
            return number.parse().map(Bind::Inherited).map_err(wrong);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return Err(format!(
                "\"{text}\" is not an address; write unix://{path}, or unix:///path for an absolute one"
            ));
        }
        let address = text.strip_prefix("tcp://").unwrap_or(text);
        if text.starts_with("ssl://") || text.starts_with("https://") {
            let instead = "terminate it in a proxy in front, and write tcp://host:port here";
            return Err(format!("\"{text}\": there is no TLS in this version; {instead}"));
        }
        if address.contains("://") {
            return Err(format!("\"{text}\" is of no kind known here; write tcp://host:port or unix:///path"));
        }
        if address.contains('@') {
            return Err(format!("\"{text}\" has a user's name in it, which means nothing here; write tcp://host:port"));
        }
        if let Ok(address) = address.parse() {
            return Ok(Bind::Tcp(address));
        }
        let named = address.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse::<u16>().ok()?)));
        if let Some((name, port)) = named.filter(|(name, _)| is_localhost(name)) {
            return Ok(Bind::Name(name.to_owned(), port));
        }
        let found = address.to_socket_addrs().map_err(|error| {
            format!("\"{text}\" is not an address ({error}); write tcp://host:port, such as tcp://127.0.0.1:9292")
        })?;
        match (found.count(), named) {
            (1.., Some((name, port))) => Ok(Bind::Name(name.to_owned(), port)),
            _ => Err(format!("\"{text}\" names a host without an address")),
        }
    }
}

impl Bind {
    /// Its TCP addresses, IPv4 first. `localhost` always has both loopback addresses, whatever name servers and
    /// `/etc/hosts` say.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let Bind::Name(name, port) = self else {
            return Ok(if let Bind::Tcp(address) = self { vec![*address] } else { Vec::new() });
        };
        let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let own = own.into_iter().filter(|_| is_localhost(name)).map(|ip| SocketAddr::new(ip, *port));
        joined(own.collect(), (name.as_str(), *port).to_socket_addrs().map(Iterator::collect))
    }
}

/// Whether a name means the loopback addresses.
fn is_localhost(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
}

/// The addresses that a name always has, together with those that were looked up, each once, IPv4 first. The lookup may
/// fail if there are any of the former.
fn joined(mut own: Vec<SocketAddr>, looked_up: io::Result<Vec<SocketAddr>>) -> io::Result<Vec<SocketAddr>> {
    match looked_up {
        Ok(found) => own.extend(found),
        Err(error) if own.is_empty() => return Err(error),
        Err(_) => {}
    }
    own.sort_unstable();
    own.dedup();
    Ok(own)
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Tcp(address) => write!(f, "tcp://{address}"),
            Bind::Name(name, port) => write!(f, "tcp://{name}:{port}"),
            Bind::Unix(path) => write!(f, "unix://{}", path.display()),
            Bind::Inherited(number) => write!(f, "fd://{number}"),
        }
    }
}

impl From<Bind> for Endpoint {
    /// An endpoint with the default options.
    fn from(bind: Bind) -> Endpoint {
        Endpoint { bind, options: SocketOptions::default() }
    }
}

impl fmt::Display for Endpoint {
    /// Writes the address, and its options as a query. Mode 0777 is the default and left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SocketOptions { mode, owner, group, backlog } = &self.options;
        let pairs = [
            mode.filter(|mode| *mode != 0o777).map(|mode| format!("mode={mode:04o}")),
            owner.map(|owner| format!("user={owner}")),
            group.map(|group| format!("group={group}")),
            backlog.map(|backlog| format!("backlog={backlog}")),
        ];
        let query = pairs.into_iter().flatten().collect::<Vec<_>>().join("&");
        write!(f, "{}{}{query}", self.bind, if query.is_empty() { "" } else { "?" })
    }
}

/// Reason why an address could not be bound.
#[derive(Debug)]
pub struct BindError {
    /// The address.
    pub bind: Bind,
    /// The reason.
    pub why: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: {}", self.bind, self.why)?;
        let port = match &self.bind {
            Bind::Tcp(address) => Some(address.port()),
            Bind::Name(_, port) => Some(*port),
            Bind::Unix(_) | Bind::Inherited(_) => None,
        };
        match (self.why.kind(), port) {
            (io::ErrorKind::PermissionDenied, Some(port @ 1..UNPRIVILEGED)) => write!(
                f,
                ": ports below 1024 take root; let a proxy or systemd listen there (--bind-to-activated-sockets), \
                 start as root with --user, or let every user of this machine or container listen there: sysctl \
                 net.ipv4.ip_unprivileged_port_start={port}"
            ),
            (io::ErrorKind::PermissionDenied, None) => f.write_str(
                ": the user of this process must be able to write in its folder, and to a socket that is there already",
            ),
            (io::ErrorKind::AddrInUse, Some(port)) => {
                write!(f, ": end who listens there (`ss -ltnp sport = :{port}` names it), or name another address")
            }
            (io::ErrorKind::AddrNotAvailable, Some(_)) => f.write_str(": this machine has no such address now"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "tcp://127.0.0.1:80",
            "tcp://[::1]:8080",
            "tcp://localhost:80",
            "unix:///tmp/a.sock",
            "unix://@a",
            "fd://3",
        ] {
            assert_eq!(text.parse::<Bind>().unwrap().to_string(), text);
        }
        let own = "LocalHost:80".parse::<Bind>().unwrap().addresses().unwrap();
        assert_eq!(own.iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:80", "[::1]:80"]);
        assert_eq!("127.0.0.1:1".parse::<Bind>().unwrap().to_string(), "tcp://127.0.0.1:1");
        assert_eq!("unix:/tmp/a.sock".parse::<Bind>().unwrap().to_string(), "unix:///tmp/a.sock");
        for text in [
            "",
            "tcp://",
            "tcp://127.0.0.1",
            "udp://127.0.0.1:1",
            "unix://",
            "unix:a.sock",
            "unix://@",
            "unix:///a?mode=0660",
            "127.0.0.1:99999",
            "tcp://a:b@127.0.0.1:1",
            "fd://",
            "fd://x",
        ] {
            assert!(text.parse::<Bind>().is_err(), "{text}");
        }
        for text in ["ssl://127.0.0.1:1", "https://127.0.0.1:1"] {
            assert!(text.parse::<Bind>().unwrap_err().contains("no TLS"), "{text}");
        }
    }

    #[test]
    fn an_address_that_a_name_has_twice_is_one_address() {
        let texts = ["[::1]:80", "127.0.0.1:80", "127.0.1.1:80", "127.0.0.1:80", "[::1]:80"];
        let found: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let shown: Vec<String> = joined(Vec::new(), Ok(found)).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:80", "127.0.1.1:80", "[::1]:80"]);
    }

    #[test]
    fn localhost_needs_no_line_in_a_file_of_hosts_and_other_names_do() {
        let unknown = || Err(io::ErrorKind::NotFound.into());
        let [own, other] = ["127.0.0.1:80", "127.0.1.1:80"].map(|text| text.parse::<SocketAddr>().unwrap());
        assert_eq!(joined(vec![own], unknown()).unwrap(), [own]);
        assert_eq!(joined(vec![own], Ok(vec![other, own])).unwrap(), [own, other]);
        assert_eq!(joined(Vec::new(), unknown()).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A name that needs no name server.
        let found = Bind::Name("127.0.0.2".to_owned(), 80).addresses().unwrap();
        assert_eq!(found, ["127.0.0.2:80".parse::<SocketAddr>().unwrap()]);
        assert!("localhost:port".parse::<Bind>().is_err());
    }

    #[test]
    fn an_endpoint_is_written_with_the_options_that_are_not_the_default() {
        let bind: Bind = "unix:///a.sock".parse().unwrap();
        for (mode, owner, group, backlog, query) in [
            (None, None, None, None, ""),
            (Some(0o777), None, None, None, ""),
            (Some(0o60), None, None, None, "?mode=0060"),
            (Some(0o777), Some(0), None, Some(7), "?user=0&backlog=7"),
            (Some(0o640), None, Some(33), None, "?mode=0640&group=33"),
        ] {
            let options = SocketOptions { mode, owner, group, backlog };
            assert_eq!(Endpoint { bind: bind.clone(), options }.to_string(), format!("unix:///a.sock{query}"));
        }
    }

    #[test]
    fn what_would_help_is_told() {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
        for (address, kind, remedy) in [
            ("127.0.0.1:1", PermissionDenied, "sysctl net.ipv4.ip_unprivileged_port_start=1"),
            ("127.0.0.1:1023", PermissionDenied, "sysctl net.ipv4.ip_unprivileged_port_start=1023"),
            ("localhost:80", PermissionDenied, "sysctl net.ipv4.ip_unprivileged_port_start=80"),
            ("127.0.0.1:1024", PermissionDenied, ""),
            ("127.0.0.1:0", PermissionDenied, ""),
            ("127.0.0.1:80", AddrInUse, "`ss -ltnp sport = :80`"),
            ("192.0.2.1:80", AddrNotAvailable, "no such address"),
            ("unix:///a.sock", PermissionDenied, "write in its folder"),
        ] {
            let error = BindError { bind: address.parse().unwrap(), why: kind.into() }.to_string();
            assert!(error.starts_with("cannot listen on ") && error.contains(address), "{error}");
            assert!(error.contains(remedy), "{error}");
            assert_eq!(error.contains("sysctl"), remedy.contains("sysctl"), "{error}");
        }
    }
}
