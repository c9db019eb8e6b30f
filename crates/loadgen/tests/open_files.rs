//! A low limit of open files, which is that of a whole process: so this test has one of its own.

use std::net::TcpListener;
use std::time::Duration;

use loadgen::{Ask, Open, Watch, Workload, watch_open};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn an_open_loop_opens_no_more_connections_than_it_may_and_fails_no_request_for_that() {
    let limit = Rlimit { current: Some(240), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    // It answers nothing, so that each request needs a connection of its own.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("a port").port();
    let workload = Workload::of(vec![Ask::get("/")]).expect("a request");
    let plan = Open { per_s: 1_000.0, seconds: 0.5, connections: 512, keep: true, seed: 1 }.steps();
    let watch = Watch { timeout: Duration::from_millis(300), ..Watch::default() };
    let seen = watch_open(port, &workload, &plan, &watch);
    assert!(seen.outcome.errors.keys().eq(["timeout"]), "{seen:?}");
    let words = "40 connections at most, not 512: more files may not be open here (ulimit -n)";
    assert!(seen.outcome.told.iter().any(|told| told == words), "{seen:?}");
}
