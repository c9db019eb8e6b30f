//! The memory of connections that are kept and not used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::alloc::System;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Duplex, Reply, reply};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use support::{Client, SOON, Server, eventually, full, settings};

/// Counts what is allocated, so that the measure depends on no allocator and no page.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CONNECTIONS: usize = 90;
/// What a connection may take between two requests. hyper's two buffers alone take 16 KiB.
const BYTES_EACH: usize = 6 << 10;
/// What one may take that the application has taken over, while neither side sends. A read buffer alone takes 16 KiB.
const UPGRADED_BYTES_EACH: usize = 12 << 10;

/// One test at a time: what is allocated is counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Without a timer of its own, such a connection gives its memory back only when the timer of its last request ends:
/// here long after the test has failed.
#[test]
fn a_connection_gives_its_buffers_back_soon_after_an_answer() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
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

#[test]
fn a_connection_that_the_application_has_taken_over_keeps_no_buffers_while_it_waits() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (server, apps) = Server::upgrading(101, &[]);
    let serve = || {
        let mut client = server.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.head().status, 101);
        let mut app = apps.lock().unwrap().pop().unwrap();
        client.send("gold");
        assert_eq!(app.incoming.next_blocking(Instant::now() + SOON), Ok(Some(Bytes::from("gold"))));
        (client, app)
    };
    // What is made once.
    drop(serve());
    let before = allocated();
    let used: Vec<(Client, Duplex)> = (0..CONNECTIONS).map(|_| serve()).collect();
    eventually("the buffers would be given back", || allocated() < before + CONNECTIONS * UPGRADED_BYTES_EACH);
    drop(used);
}

/// The table of connections would keep each, with its addresses and states.
#[test]
fn a_connection_that_has_ended_leaves_nothing_behind() {
    const ENDED: usize = 2_000;
    /// Of an ended connection: that the engine of the test keeps its target.
    const TARGET_BYTES: usize = 250;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(|_| Reply::ready(Ok(full("gold"))));
    let serve = |count: usize| {
        for _ in 0..count {
            assert_eq!(server.send("GET / HTTP/1.0\r\n\r\n").response().status, 200);
        }
    };
    // What is made once.
    serve(100);
    let before = allocated();
    serve(ENDED);
    eventually("all is given back", || allocated() < before + ENDED * TARGET_BYTES);
}

/// What a client sends ahead while its requests are answered is dropped when it has been used.
#[test]
fn a_client_that_always_sends_ahead_takes_no_more_memory_than_is_held_for_it() {
    const REQUESTS: usize = 4_000;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(|_| Reply::ready(Ok(full("gold"))));
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "g".repeat(7 << 10));
    let mut client = server.connect();
    let mut sender = client.stream.try_clone().unwrap();
    let before = allocated();
    let sending = thread::spawn(move || (0..REQUESTS).for_each(|_| sender.write_all(request.as_bytes()).unwrap()));
    let mut most = 0;
    for _ in 0..REQUESTS {
        assert_eq!(client.response().status, 200);
        most = most.max(allocated().saturating_sub(before));
    }
    sending.join().unwrap();
    assert!(most < 4 << 20, "{most} bytes for {} that were sent", REQUESTS * (7 << 10));
}
