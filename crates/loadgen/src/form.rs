//! Forms of the head of a request. A load that checks responses has the form of the tool whose load it follows, so that
//! a server cannot tell the two apart by it.

use http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Version};

/// The form of a request's head: its version of HTTP, its fields and their order. Names are in title case, such as
/// `User-Agent`, in all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// That of wrk, which sends `Host` alone; our own loads have it as well.
    #[default]
    Wrk,
    /// That of ab 2.3 without kept connections.
    Ab,
    /// That of siege 4.
    Siege,
}

/// As siege calls itself; platform and version are those of a build.
pub(crate) const SIEGE_AGENT: &str = "Mozilla/5.0 (pc-x86_64-linux-gnu) Siege/4.0.7";

impl Form {
    /// Version of HTTP in the first line.
    pub(crate) fn version(self) -> Version {
        match self {
            Form::Ab => Version::HTTP_10,
            Form::Wrk | Form::Siege => Version::HTTP_11,
        }
    }

    /// Header fields of a request without a body, in their order. `keep`: whether the connection is kept.
    pub(crate) fn fields(self, host: HeaderValue, keep: bool) -> HeaderMap {
        let fixed = HeaderValue::from_static;
        let fields = match self {
            Form::Wrk if keep => vec![(HOST, host)],
            Form::Wrk => vec![(HOST, host), (CONNECTION, fixed("close"))],
            Form::Ab => vec![(HOST, host), (USER_AGENT, fixed("ApacheBench/2.3")), (ACCEPT, fixed("*/*"))],
            Form::Siege => vec![
                (HOST, host),
                (ACCEPT, fixed("*/*")),
                (ACCEPT_ENCODING, fixed("identity")),
                (USER_AGENT, fixed(SIEGE_AGENT)),
                (CONNECTION, fixed(if keep { "keep-alive" } else { "close" })),
            ],
        };
        fields.into_iter().collect()
    }
}
