//! Sockets that the program was started with: by systemd, by Server::Starter (`start_server -- foolsgold`), or by a
//! Unicorn or Puma that starts this program as its next version.

use std::ffi::OsString;
use std::os::fd::RawFd;

use crate::process::numbered::{FIRST, is_open, take};
use crate::process::parent::InheritedSocket;
use crate::process::systemd;

/// Variables that name sockets by their file descriptors; `PUMA` is a prefix of several.
const STARTER: &str = "SERVER_STARTER_PORT";
const UNICORN: &str = "UNICORN_FD";
const PUMA: &str = "PUMA_INHERIT_";

/// All inherited sockets, according to the environment.
pub fn sockets(environment: &[(OsString, OsString)]) -> Result<Vec<InheritedSocket>, String> {
    let mut handed = systemd::activated(environment)?;
    for (name, value, number) in named(environment)? {
        let asked = format!("fd://{number}");
        if handed.iter().any(|one| one.asked == asked) {
            continue;
        }
        let socket = take(number).map_err(|error| {
            format!("{name}={value} in the environment: file descriptor {number} cannot be taken: {error}")
        })?;
        handed.push(InheritedSocket { socket, asked, is_activated: true });
    }
    Ok(handed)
}

/// Whether all sockets that the environment names are there. To be asked before this process opens files of its own,
/// which get the numbers of those that are missing.
pub fn are_open(environment: &[(OsString, OsString)]) -> bool {
    systemd::numbers(environment).is_ok()
        && named(environment).is_ok_and(|all| all.iter().all(|(.., number)| is_open(*number)))
}

/// Whether a variable of this name describes inherited sockets.
pub fn is_ours(name: &str) -> bool {
    name == STARTER || name == UNICORN || name.starts_with(PUMA)
}

/// The file descriptors, each with name and value of its variable.
fn named(environment: &[(OsString, OsString)]) -> Result<Vec<(&str, &str, RawFd)>, String> {
    let pairs = environment.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let mut all = Vec::new();
    for (name, value) in pairs {
        let numbers: Vec<&str> = match name {
            // The address of a service of this name (Kubernetes), which says nothing about sockets.
            STARTER if value.contains("://") => continue,
            // `0.0.0.0:80=3;/run/web.sock=4`
            STARTER => value.split(';').map(|one| one.rsplit_once('=').map_or("", |(_, number)| number)).collect(),
            // `3,4`
            UNICORN => value.split(',').collect(),
            // `3:tcp://0.0.0.0:80`
            _ if name.starts_with(PUMA) => vec![value.split(':').next().unwrap_or_default()],
            _ => continue,
        };
        for number in numbers.iter().map(|number| number.trim()).filter(|_| !value.is_empty()) {
            let number = number.parse().ok().filter(|number| *number >= FIRST);
            let number = number.ok_or_else(|| format!("{name}={value} in the environment names no file descriptor"))?;
            all.push((name, value, number));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use super::*;

    fn with(name: &str, value: &str) -> Result<Vec<InheritedSocket>, String> {
        sockets(&[(name.into(), value.into())])
    }

    #[test]
    fn it_is_known_before_they_are_taken_whether_all_are_there() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = listener.as_raw_fd();
        let are_open = |value: String| are_open(&[(UNICORN.into(), value.into())]);
        assert!(are_open(number.to_string()) && are_open(String::new()));
        assert!(!are_open(format!("{number},4000")) && !are_open("x".to_owned()));
        assert!(listener.local_addr().is_ok());
    }

    #[test]
    fn nonsense_is_told() {
        for (name, value) in [(STARTER, "0.0.0.0:80"), (STARTER, "80=x"), (UNICORN, "1"), ("PUMA_INHERIT_0", "tcp")] {
            assert!(with(name, value).unwrap_err().contains("names no file descriptor"), "{name}={value}");
        }
        assert!(with(UNICORN, "4000").unwrap_err().contains("file descriptor 4000 cannot be taken"));
        assert!(with(UNICORN, "").unwrap().is_empty());
        assert!(with(STARTER, "tcp://10.96.0.7:80").unwrap().is_empty(), "a service in Kubernetes");
        assert!(with("UNICORN_WORKERS", "7").unwrap().is_empty());
    }
}
