//! Where the server listens when only a port, a name or nothing is said: on the addresses of both kinds, as Puma does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

use crate::support::successor::{adopt_orphans, pid_in, upgraded};
use crate::support::{Client, MAX_WAIT, Server, app, server, within};
use rustix::process::Signal;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Serves with exactly these addresses.
fn serve(options: &[&str]) -> Server {
    let folder = server::folder_with(&[("config.ru", &app("", "env['REMOTE_ADDR']"))]);
    Server::spawn(folder, &[], &[&["-t", "1", "--pidfile", "web.pid"], options].concat())
}

fn ask(address: IpAddr, port: u16) -> String {
    Client::over(TcpStream::connect((address, port)).unwrap_or_else(|error| panic!("{address}: {error}")))
        .get("/")
        .text()
}

/// Whether this machine has an address of IPv6 to be served on.
fn has_ipv6() -> bool {
    TcpListener::bind((V6, 0)).is_ok()
}

/// What is served on both, or on IPv4 where that is all there is.
fn is_on_both(server: &Server) {
    assert_eq!(ask(V4, server.port), "127.0.0.1", "as if there were no IPv6");
    if has_ipv6() {
        assert_eq!(ask(V6, server.port), "::1");
    }
}

#[test]
fn a_port_alone_means_all_addresses_of_both_kinds() {
    is_on_both(&serve(&["-p", "0"]));
    is_on_both(&serve(&["-b", "tcp://[::]:0"]));
}

#[test]
fn a_name_means_all_its_addresses_on_one_port() {
    for options in [["-o", "localhost", "-p", "0"], ["-b", "tcp://localhost:0", "--queue", "9"]] {
        let server = serve(&options);
        is_on_both(&server);
        let (port, log) = (server.port, server.log());
        assert!(log.contains(&format!("listening on tcp://127.0.0.1:{port}, ")), "{log}");
        assert!(!has_ipv6() || log.contains(&format!("listening on tcp://[::1]:{port}, ")), "{log}");
    }
}

#[test]
fn all_addresses_of_ipv4_are_those_only() {
    let server = serve(&["-o", "0.0.0.0", "-p", "0"]);
    assert_eq!(ask(V4, server.port), "127.0.0.1");
    assert!(TcpStream::connect((V6, server.port)).is_err());
}

#[test]
fn a_port_that_is_taken_on_one_address_of_a_name_is_an_error_with_the_name() {
    let taken = TcpListener::bind((V4, 0)).unwrap();
    let name = format!("tcp://localhost:{}", taken.local_addr().unwrap().port());
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let (output, said) = server::run(&folder, &[], &["-b", &name]);
    let is_named = said.contains(&format!("cannot listen on {name}: ")) && said.to_lowercase().contains("in use");
    assert!(!output.status.success() && is_named, "{said}");
}

#[test]
fn an_upgrade_keeps_them_all() {
    for options in [["-o", "localhost", "-p", "0"], ["-p", "0", "--queue", "9"]] {
        adopt_orphans();
        let mut server = serve(&options);
        let pidfile = server.folder.join("web.pid");
        assert!(within(MAX_WAIT, || pid_in(&pidfile) == Some(server.id())), "{}", server.log());
        let next = upgraded(&mut server, "web.pid");
        is_on_both(&server);
        next.end(Signal::TERM);
    }
}
