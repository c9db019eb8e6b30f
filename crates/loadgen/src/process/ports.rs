//! Free TCP ports for servers that are started by others, and so cannot be given an open listener.

use std::fs;
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::rng::SeededRng;

/// Ports that neither need root nor belong to the usual services of a machine.
const USUAL: RangeInclusive<u16> = 10_000..=60_999;
/// Range of ports that the kernel gives to outgoing connections: its default, and the file that says the present one.
const OUTGOING: RangeInclusive<u16> = 32_768..=60_999;
const OUTGOING_FILE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Ports that are tried for each that is needed.
const TRIES: usize = 50;

/// Free TCP ports on 127.0.0.1, all different, reserved until this value is dropped: no other arena on the machine
/// gets one of them, even before the server listens.
#[derive(Debug)]
pub struct Ports {
    /// The numbers.
    pub numbers: Vec<u16>,
    /// An abstract Unix socket for each, which only one process can have; the kernel removes it with the process.
    reserved: Vec<UnixDatagram>,
}

/// Finds free ports. Not in the range of outgoing connections: between this call and the start of the server, a load
/// generator on this machine opens thousands of those, and any could take the port.
pub fn free_ports(count: usize) -> Result<Ports, String> {
    let places = outside(&fs::read_to_string(OUTGOING_FILE).map_or(OUTGOING, |text| range(&text).unwrap_or(OUTGOING)));
    // A machine whose outgoing connections may have any port.
    let places = if places.is_empty() { USUAL.collect() } else { places };
    let mut rng = SeededRng::from_clock();
    let mut found = Ports { numbers: Vec::new(), reserved: Vec::new() };
    for _ in 0..count.saturating_mul(TRIES) {
        if found.numbers.len() == count {
            break;
        }
        let number = places[rng.below(places.len())];
        let Some(reserved) = reserve(number) else { continue };
        if TcpListener::bind(("127.0.0.1", number)).is_ok() {
            found.numbers.push(number);
            found.reserved.push(reserved);
        }
    }
    if found.numbers.len() < count { Err(format!("no {count} free ports were found")) } else { Ok(found) }
}

/// Reserves a port; `None` if another arena has it.
fn reserve(number: u16) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("foolsgold-arena-port-{number}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

fn outside(outgoing: &RangeInclusive<u16>) -> Vec<u16> {
    USUAL.filter(|port| !outgoing.contains(port)).collect()
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_whitespace().map(str::parse);
    Some(ends.next()?.ok()?..=ends.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_one_that_an_outgoing_connection_may_take() {
        let ports = free_ports(40).unwrap().numbers;
        let outgoing = range(&fs::read_to_string(OUTGOING_FILE).unwrap()).unwrap();
        let has_room = !outside(&outgoing).is_empty();
        assert!(!has_room || ports.iter().all(|port| !outgoing.contains(port)), "{ports:?} of {outgoing:?}");
        let different: std::collections::HashSet<&u16> = ports.iter().collect();
        assert_eq!(different.len(), 40);
    }

    #[test]
    fn a_port_is_nobody_elses_until_its_value_is_dropped() {
        let ports = free_ports(1).unwrap();
        let number = ports.numbers[0];
        assert!(reserve(number).is_none(), "though nothing listens there");
        drop(ports);
        assert!(reserve(number).is_some());
    }

    #[test]
    fn a_machine_that_gives_all_ports_to_outgoing_connections_has_none_outside() {
        assert_eq!(outside(&(1024..=65_535)), Vec::<u16>::new());
        assert_eq!(outside(&OUTGOING).first(), Some(&10_000));
        assert_eq!(range("1024\t65535\n"), Some(1024..=65_535));
        assert_eq!(range("many"), None);
    }
}
