//! Settings of control and monitoring: the control socket, the admin listener, and its token.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::config::arguments::RawValue;
use crate::config::options::Name;
use crate::config::reader::SettingsReader;

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
    pub bind: Option<front::Bind>,
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

    fn admin_bind(&mut self, has_said_token: bool) -> Option<front::Bind> {
        let given = self.pick(Name::Admin);
        if matches!(given.value.as_str(), "" | "off") {
            return None;
        }
        let bind = parse_bind(&given);
        match &bind {
            Err(why) => self.refuse(&given, why),
            Ok(front::Bind::Tcp(address)) if !address.ip().is_loopback() && !has_said_token => self.refuse(
                &given,
                "can be reached from other machines: add --admin-token TOKEN, or none if everybody may look; or take \
                 127.0.0.1",
            ),
            Ok(front::Bind::Inherited(_)) => {
                self.refuse(&given, "must be a port, tcp://HOST:PORT, unix:///PATH or off");
            }
            Ok(_) => {}
        }
        bind.ok()
    }
}

/// The address of the admin listener; a port alone is one of 127.0.0.1.
fn parse_bind(given: &RawValue) -> Result<front::Bind, String> {
    match given.value.parse::<u16>() {
        Ok(port) => Ok(front::Bind::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))),
        Err(_) => {
            let bind: Result<front::Bind, String> = given.value.parse();
            let bind = bind.map_err(|error| format!("{error}; or only a port, or off"))?;
            // One address of a name is enough here.
            let first = bind.addresses().ok().and_then(|addresses| addresses.into_iter().next());
            Ok(first.map_or(bind, front::Bind::Tcp))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
