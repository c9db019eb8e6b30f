//! Settings of control and monitoring: the control socket, the admin listener, and its token.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use front::{Bind, Endpoint};

use crate::config::arguments::RawValue;
use crate::config::options::Name;
use crate::config::reader::SettingsReader;
use crate::process::folder::absolute;

/// Least length of a token; a shorter one could be guessed.
const TOKEN_LETTERS: usize = 16;

/// Where the control socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    Off,
    /// In the folder where the commands look for it.
    Usual,
    Path(PathBuf),
}

/// The token that requests to the admin listener must carry. Its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// All settings of control and monitoring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminSettings {
    pub control: Control,
    pub bind: Option<Bind>,
    pub token: Option<Token>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A token with this text.
    pub fn new(text: &str) -> Token {
        Token(text.to_owned())
    }

    /// Whether a text is the token, compared in constant time.
    pub fn is(&self, said: &[u8]) -> bool {
        let ours = self.0.as_bytes();
        let differing = ours.iter().zip(said).fold(0, |sum, (one, other)| sum | (one ^ other));
        ours.len() == said.len() && differing == 0
    }
}

impl SettingsReader<'_> {
    /// Reads the settings of control and monitoring.
    pub fn admin(&mut self) -> AdminSettings {
        let control = self.control();
        let token = self.admin_token();
        let bind = self.admin_bind(token.is_some());
        AdminSettings { control, bind, token: token.flatten() }
    }

    /// Refuses an admin address and a control socket at which the application is served, too: the error of the second
    /// listener would not say that the first one is of this server.
    pub fn listeners_apart(&mut self, binds: &[Endpoint], admin: &AdminSettings) {
        let shared = |ours: &Bind| binds.iter().map(|one| &one.bind).find(|bind| overlap(bind, ours));
        if let Some(bind) = admin.bind.as_ref().and_then(shared) {
            self.refuse_value(Name::Admin, &format!("is an address of the application, too ({bind}): name another"));
        }
        let Control::Path(path) = &admin.control else { return };
        let control = Bind::Unix(path.clone());
        if let Some(bind) = shared(&control) {
            self.refuse_value(Name::Control, &format!("is an address of the application, too ({bind}): name another"));
        }
        if admin.bind.as_ref().is_some_and(|bind| overlap(bind, &control)) {
            self.refuse_value(Name::Control, "is the address of --admin, too: name another");
        }
    }

    fn control(&mut self) -> Control {
        let given = self.pick(Name::Control);
        match given.value.as_str() {
            "off" => Control::Off,
            "auto" => Control::Usual,
            // As the commands and other servers write it.
            value => {
                let path = value.strip_prefix("unix://").unwrap_or(value);
                if path.is_empty() || path.contains("://") {
                    self.refuse(&given, "must be the path of a Unix socket, auto or off");
                }
                Control::Path(PathBuf::from(path))
            }
        }
    }

    /// The token: `None` if it is not set, `Some(None)` if it is set to none.
    fn admin_token(&mut self) -> Option<Option<Token>> {
        let given = self.pick(Name::AdminToken);
        match given.value.as_str() {
            "" => None,
            "none" => Some(None),
            value => {
                let is_plain = value.bytes().all(|byte| byte.is_ascii_graphic());
                if value.len() < TOKEN_LETTERS || !is_plain {
                    let right = format!("must have at least {TOKEN_LETTERS} letters, digits and signs, or be none");
                    self.refuse(&given, &right);
                }
                Some(Some(Token::new(value)))
            }
        }
    }

    fn admin_bind(&mut self, has_said_token: bool) -> Option<Bind> {
        let given = self.pick(Name::Admin);
        if matches!(given.value.as_str(), "" | "off") {
            return None;
        }
        let bind = parse_bind(&given);
        match &bind {
            Err(why) => self.refuse(&given, why),
            Ok(Bind::Tcp(address)) if !address.ip().is_loopback() && !has_said_token => self.refuse(
                &given,
                "can be reached from other machines: add --admin-token TOKEN, or none if everybody may look; or take \
                 127.0.0.1",
            ),
            Ok(Bind::Inherited(_)) => {
                self.refuse(&given, "must be a port, tcp://HOST:PORT, unix:///PATH or off");
            }
            Ok(_) => {}
        }
        bind.ok()
    }
}

/// The address of the admin listener; a port alone is one of 127.0.0.1.
fn parse_bind(given: &RawValue) -> Result<Bind, String> {
    match given.value.parse::<u16>() {
        Ok(port) => Ok(Bind::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))),
        Err(_) => {
            let bind: Result<Bind, String> = given.value.parse();
            let bind = bind.map_err(|error| format!("{error}; or only a port, or off"))?;
            // One address of a name is enough here.
            let first = bind.addresses().ok().and_then(|addresses| addresses.into_iter().next());
            Ok(first.map_or(bind, Bind::Tcp))
        }
    }
}

/// Whether two addresses cannot be listened on at the same time.
fn overlap(one: &Bind, other: &Bind) -> bool {
    if let (Bind::Unix(one), Bind::Unix(other)) = (one, other) {
        return absolute(one) == absolute(other);
    }
    // With port 0 each gets a port of its own. A name is looked up only if its port is the other's.
    if port(one) == 0 || port(one) != port(other) {
        return false;
    }
    let [one, other] = [one, other].map(|bind| bind.addresses().unwrap_or_default());
    one.iter().any(|one| other.iter().any(|other| covers(one.ip(), other.ip()) || covers(other.ip(), one.ip())))
}

/// The TCP port of an address; 0 if it has none.
fn port(bind: &Bind) -> u16 {
    match bind {
        Bind::Tcp(address) => address.port(),
        Bind::Name(_, port) => *port,
        Bind::Unix(_) | Bind::Inherited(_) => 0,
    }
}

/// Whether an address is the other one, or a wildcard that includes it. That of IPv6 includes IPv4.
fn covers(wide: IpAddr, other: IpAddr) -> bool {
    wide == other || (wide.is_unspecified() && (wide.is_ipv6() || other.is_ipv4()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_overlap_on_one_port_if_they_are_equal_or_one_is_a_wildcard() {
        let overlap = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|bind| bind.parse::<Bind>().unwrap());
            assert_eq!(overlap(&one, &other), overlap(&other, &one));
            overlap(&one, &other)
        };
        for (one, other) in [
            ("tcp://127.0.0.1:9292", "tcp://127.0.0.1:9292"),
            ("tcp://127.0.0.1:9292", "tcp://[::]:9292"),
            ("tcp://127.0.0.1:9292", "tcp://0.0.0.0:9292"),
            ("tcp://127.0.0.1:9292", "tcp://localhost:9292"),
            ("unix://a.sock", "unix://./a.sock"),
        ] {
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("tcp://127.0.0.1:9292", "tcp://127.0.0.1:9293"),
            ("tcp://127.0.0.1:9292", "tcp://127.0.0.2:9292"),
            ("tcp://[::1]:9292", "tcp://0.0.0.0:9292"),
            ("tcp://127.0.0.1:0", "tcp://[::]:0"),
            ("tcp://127.0.0.1:9292", "unix://a.sock"),
            ("unix://a.sock", "unix://b.sock"),
        ] {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_token_is_itself_only() {
        let token = Token::new("0123456789abcdef");
        assert!(token.is(b"0123456789abcdef"));
        for other in [&b""[..], b"0123456789abcdeF", b"0123456789abcde", b"0123456789abcdef0"] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
