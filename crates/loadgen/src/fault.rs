//! Reasons why a request got no right response, in kinds that can be counted.

use std::borrow::Cow;
use std::error::Error;
use std::io;

/// The failure of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No connection could be opened; the text says why.
    Connect(String),
    /// The connection broke while the response was read.
    Read(String),
    /// The connection broke while the request was sent.
    Write(String),
    /// The response was not complete in time.
    Timeout,
    /// The server closed the connection before the response was complete.
    ClosedEarly(String),
    /// The status was another than the right one.
    Status(u16, String),
    /// The response was wrong, or not valid HTTP.
    Wrong(String),
}

impl Fault {
    /// Name of the kind, by which records count errors.
    pub fn kind(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Fault::Connect(_) => "connect",
            Fault::Read(_) => "read",
            Fault::Write(_) => "write",
            Fault::Timeout => "timeout",
            Fault::ClosedEarly(_) => "closed early",
            Fault::Status(status, _) => return Cow::Owned(format!("status {status}")),
            Fault::Wrong(_) => "wrong answer",
        })
    }

    /// Description for people.
    pub fn in_words(&self) -> String {
        match self {
            Fault::Connect(why) => format!("no connection: {why}"),
            Fault::Read(why) => format!("the answer broke off: {why}"),
            Fault::Write(why) => format!("the request could not be sent: {why}"),
            Fault::Timeout => "no answer in time".into(),
            Fault::ClosedEarly(why) => format!("the server closed the connection before the answer was whole: {why}"),
            Fault::Status(_, why) | Fault::Wrong(why) => why.clone(),
        }
    }

    /// Description that begins with the request `asked`: it is put before the words of faults that do not name it.
    pub fn in_words_with(&self, asked: &str) -> String {
        let words = self.in_words();
        if words.starts_with(asked) { words } else { format!("{asked}: {words}") }
    }

    /// The fault of a failed attempt to connect.
    pub(crate) fn of_connect(error: &io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::TimedOut => Fault::Timeout,
            kind => Fault::Connect(kind.to_string()),
        }
    }

    /// The fault of a failed exchange on a connection.
    pub(crate) fn of_exchange(error: &hyper::Error) -> Fault {
        let words = || error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        let broken = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind);
        match broken {
            _ if error.is_parse() => Fault::Wrong(format!("this is not HTTP: {}", words())),
            _ if error.is_incomplete_message() || error.is_closed() || error.is_canceled() => {
                Fault::ClosedEarly(words())
            }
            Some(io::ErrorKind::UnexpectedEof) => Fault::ClosedEarly(words()),
            Some(io::ErrorKind::BrokenPipe | io::ErrorKind::WriteZero) => Fault::Write(words()),
            // Invalid chunked encoding.
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                Fault::Wrong(format!("this is not HTTP: {}", words()))
            }
            _ if error.is_body_write_aborted() => Fault::Write(words()),
            _ => Fault::Read(words()),
        }
    }
}
