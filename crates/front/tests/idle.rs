//! The memory of connections that are kept and not used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::alloc::System;
use std::thread;
use std::time::Duration;

use engine::reply;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use support::{Client, SOON, Server, eventually, full, settings};

/// Counts what is allocated, so that the measure depends on no allocator and no page.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CONNECTIONS: usize = 90;
/// What a connection may take between two requests. hyper's two buffers alone take 16 KiB.
const BYTES_EACH: usize = 6 << 10;

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Without a timer of its own, such a connection gives its memory back only when the timer of its last request ends:
/// here long after the test has failed.
#[test]
fn a_connection_gives_its_buffers_back_soon_after_an_answer() {
    let mut settings = settings();
    for time in [&mut settings.limits.keep_alive, &mut settings.limits.request_time, &mut settings.limits.body_time] {
        *time = 6 * SOON;
    }
    let server = Server::with(settings, |_| {
        let (responder, reply) = reply::pair();
        thread::spawn(|| responder.send(Ok(full("gold")), Duration::ZERO));
        // As the engine does that runs on the I/O thread itself.
        reply.deferred()
    });
    let serve = || {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.response().status, 200);
        client
    };
    // What is made once.
    drop(serve());
    let before = allocated();
    let used: Vec<Client> = (0..CONNECTIONS).map(|_| serve()).collect();
    eventually("the buffers would be given back", || allocated() < before + CONNECTIONS * BYTES_EACH);
    drop(used);
}
