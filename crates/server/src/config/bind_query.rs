//! The options after the question mark of an address to listen on: `unix:///run/shop.sock?mode=0660&group=www-data`.

use front::{Bind, Endpoint, SocketOptions};

use crate::process::identity::{group_number, user_number};

/// Options of a Unix socket, and of a TCP socket.
const OF_UNIX: &str = "mode, umask, user (or owner), group, backlog";
const OF_TCP: &str = "backlog, low_latency";
/// Every user who can reach the socket's folder may connect, as with Puma and Unicorn: a proxy is mostly another user.
const MODE: u32 = 0o777;
/// The largest backlog of an address.
pub const BACKLOG_MAX: i32 = 65_535;

/// The URI of a host and a port. An IPv6 address gets brackets.
pub fn tcp(host: &str, port: &str) -> String {
    match host.contains(':') && !host.starts_with('[') {
        true => format!("tcp://[{host}]:{port}"),
        false => format!("tcp://{host}:{port}"),
    }
}

/// Parses an address with its options. By default the file of a Unix socket is open to all users; but a `umask` that is
/// configured for the process counts.
pub fn parse(text: &str, umask: Option<u32>) -> Result<Endpoint, String> {
    let (address, query) = text.split_once('?').unwrap_or((text, ""));
    // Puma decodes nothing but spaces.
    let bind = match address.strip_prefix("unix://") {
        Some(path) => format!("unix://{}", path.replace("%20", " ")).parse::<Bind>()?,
        None => address.parse::<Bind>()?,
    };
    let mut options = SocketOptions::default();
    let mut own_umask = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let refused = |why: String| format!("{pair}: {why}");
        match (key, &bind) {
            ("backlog", Bind::Tcp(_) | Bind::Name(..) | Bind::Unix(_)) => {
                options.backlog = Some(backlog(value).map_err(refused)?)
            }
            // Writes are never delayed to be merged.
            ("low_latency", Bind::Tcp(_) | Bind::Name(..)) => {}
            ("mode", Bind::Unix(_)) => options.mode = Some(octal(value, "0660").map_err(refused)?),
            ("umask", Bind::Unix(_)) => own_umask = Some(umask_of(value).map_err(refused)?),
            ("user" | "owner", Bind::Unix(_)) => options.owner = Some(user_number(value).map_err(refused)?),
            ("group", Bind::Unix(_)) => options.group = Some(group_number(value).map_err(refused)?),
            (_, Bind::Unix(_)) => {
                return Err(refused(format!("is not known; behind a Unix socket there may be {OF_UNIX}")));
            }
            (_, Bind::Tcp(_) | Bind::Name(..)) => {
                return Err(refused(format!("is not known; behind a TCP address there may be {OF_TCP}")));
            }
            (_, Bind::Inherited(_)) => return Err(refused("a socket that is handed over stays as it is".to_owned())),
        }
    }
    if matches!(bind, Bind::Unix(_)) && options.mode.is_none() && (own_umask.is_some() || umask.is_none()) {
        options.mode = Some(MODE & !own_umask.unwrap_or(0));
    }
    Ok(Endpoint { bind, options })
}

/// Permission bits in octal, also with 0 or 0o in front.
pub fn permission_bits(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0o").unwrap_or(text), 8).ok().filter(|bits| *bits <= 0o777)
}

fn octal(text: &str, example: &str) -> Result<u32, String> {
    permission_bits(text).ok_or_else(|| format!("must be an octal number up to 0777, such as {example}"))
}

/// Puma reads `umask=27` as a decimal number, which no user means.
fn umask_of(text: &str) -> Result<u32, String> {
    if text.len() > 1 && !text.starts_with('0') {
        return Err(format!("must begin with a 0, since it is octal: umask=0{text}"));
    }
    octal(text, "0027")
}

fn backlog(text: &str) -> Result<i32, String> {
    let number = text.parse().ok().filter(|number| (0..=BACKLOG_MAX).contains(number));
    number.ok_or_else(|| format!("must be a whole number up to {BACKLOG_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_what_is_not_known_is_named() {
        let unix = |query: &str| parse(&format!("unix:///run/x%20y.sock{query}"), None);
        let mode = |query: &str| unix(query).unwrap().options.mode;
        assert_eq!(unix("").unwrap().bind, Bind::Unix("/run/x y.sock".into()));
        assert_eq!(mode(""), Some(0o777));
        assert_eq!(
            (mode("?mode=0660"), mode("?mode=660"), mode("?umask=0117")),
            (Some(0o660), Some(0o660), Some(0o660))
        );
        assert_eq!(mode("?umask=0077&mode=0770"), Some(0o770));
        assert_eq!(parse("unix:///x", Some(0o27)).unwrap().options.mode, None, "the umask of the process was set");
        assert_eq!(parse("unix:///x?umask=0", Some(0o27)).unwrap().options.mode, Some(0o777));
        assert_eq!(unix("?umask=0117&backlog=5").unwrap().to_string(), "unix:///run/x y.sock?mode=0660&backlog=5");
        let all = unix("?user=root&group=0&backlog=64&&").unwrap().options;
        assert_eq!((all.owner, all.group, all.backlog), (Some(0), Some(0), Some(64)));
        assert_eq!(parse("tcp://127.0.0.1:1?low_latency=true&backlog=9", None).unwrap().options.backlog, Some(9));
        for (text, words) in [
            ("unix:///x?mod=0660", "mod=0660: is not known; behind a Unix socket there may be mode, umask, user"),
            ("unix:///x?mode=rw", "mode=rw: must be an octal number up to 0777, such as 0660"),
            ("unix:///x?mode=01777", "must be an octal number"),
            ("unix:///x?umask=27", "umask=27: must begin with a 0, since it is octal: umask=027"),
            ("unix:///x?group=no-such-group", "group=no-such-group: there is no such group"),
            ("unix:///x?user=", "user=: there is no such user"),
            ("unix:///x?backlog=many", "backlog=many: must be a whole number up to 65535"),
            ("unix:///x?low_latency=true", "is not known"),
            (
                "127.0.0.1:1?mode=0600",
                "mode=0600: is not known; behind a TCP address there may be backlog, low_latency",
            ),
            ("fd://3?mode=0600", "a socket that is handed over stays as it is"),
        ] {
            let error = parse(text, None).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
