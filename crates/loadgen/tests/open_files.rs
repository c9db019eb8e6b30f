//! Loads under a low limit of open files. The limit is one of the whole process, so these tests have a program of
//! their own.

use std::net::TcpListener;
use std::time::Duration;

use loadgen::{
    AbPlan, AbUntil, Ask, Closed, Open, SiegePlan, SiegeUntil, Until, Watch, Workload, WrkPlan, ab, closed, siege,
    watch_open, wrk,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sets one limit for all tests here, which share their process.
fn lower_the_limit() {
    let limit = Rlimit { current: Some(240), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
}

#[test]
fn a_load_of_more_clients_than_may_connect_is_not_made_and_no_failure_of_the_server() {
    lower_the_limit();
    let workload = Workload::of(vec![Ask::get("/")]).expect("a request");
    let own = |clients| closed(1, &workload, &Closed { clients, until: Until::Requests(1), keep: true, seed: 1 });
    let (clients, limit_s) = (177, 60);
    let length = None;
    let until = AbUntil::Requests(1);
    let of_ab = AbPlan { clients, until, varies: false, length, timeout_s: 1, limit_s };
    let of_siege = SiegePlan { clients, until: SiegeUntil::Repeats(1), delay_s: None, limit_s };
    // None of the tools is started, and so none must be here.
    let all = [
        own(clients),
        wrk(1, "/", &WrkPlan { threads: 1, connections: clients, seconds: 1, timeout_s: 1 }).expect("a void load"),
        ab(1, "/", &of_ab).expect("a void load"),
        siege(1, "/", &of_siege).expect("a void load"),
    ];
    for seen in all {
        let why = "177 clients need 241 open files, and no more than 240 may be open here: raise the limit \
                   (ulimit -n 241) of the shell that starts this";
        assert_eq!((seen.void.as_deref(), seen.errors.len(), seen.numbers.len()), (Some(why), 0, 0), "{seen:?}");
    }
    // Nothing listens on this port.
    let seen = own(176);
    assert_eq!((seen.void.as_deref(), seen.errors.get("connect")), (None, Some(&1)), "{seen:?}");
}

#[test]
fn an_open_loop_opens_no_more_connections_than_it_may_and_fails_no_request_for_that() {
    lower_the_limit();
    // It answers nothing, so that each request needs a connection of its own.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("a port").port();
    let workload = Workload::of(vec![Ask::get("/")]).expect("a request");
    let plan = Open { per_s: 1_000.0, seconds: 0.5, connections: 512, seed: 1 }.steps();
    let watch = Watch { timeout: Duration::from_millis(300), ..Watch::default() };
    let seen = watch_open(port, &workload, &plan, &watch);
    assert!(seen.outcome.errors.keys().eq(["timeout"]), "{seen:?}");
    let words = "40 connections at most, not 512: more files may not be open here (ulimit -n)";
    assert!(seen.outcome.remarks.iter().any(|remark| remark == words), "{seen:?}");
}
