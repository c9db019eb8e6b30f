//! Direct writes: the engine writes a part of a body to the client's socket itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Body, DirectWrite, Fault, Reply, Sink, body};
use front::LogFormat;
use support::{Client, Headers, SOON, Server, Shelf, eventually, logged, repeated, settings, soon, with};

/// Longer than the time for which a request without output goes on when its client has closed its side.
const LONG: Duration = Duration::from_millis(300);

/// A server whose answers are streams that the test writes.
struct Scene {
    server: Server,
    sinks: Arc<Mutex<Vec<Sink>>>,
    log: Shelf,
}

impl Scene {
    fn new(headers: Headers) -> Scene {
        let (settings, log) = logged(LogFormat::Text);
        let (server, sinks) = Server::streaming(settings, headers);
        Scene { server, sinks, log }
    }

    /// A scene with one request, its client and the sink of its answer.
    fn begun(headers: Headers, head: &str) -> (Scene, Client, Sink) {
        let scene = Scene::new(headers);
        let mut client = scene.server.connect();
        let sink = scene.ask(&mut client, head);
        (scene, client, sink)
    }

    /// Sends a request, and returns the sink of its answer.
    fn ask(&self, client: &mut Client, head: &str) -> Sink {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{head}\r\n"));
        eventually("the request has come", || !self.sinks.lock().unwrap().is_empty());
        self.sinks.lock().unwrap().pop().unwrap()
    }
}

/// Asks for the client's socket, which the engine does not get if the front is stopped for longer than it waits for a
/// client.
fn asked(sink: &Sink, length: u64) -> Option<DirectWrite> {
    let event_loop = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    event_loop.block_on(async { tokio::time::timeout(SOON, sink.ask_for_direct_write(length)).await.unwrap() })
}

fn descriptor(direct: &DirectWrite) -> OwnedFd {
    direct.socket().try_clone().unwrap()
}

fn write(direct: &DirectWrite, bytes: &[u8]) {
    // A socket of any kind is written alike.
    UnixStream::from(descriptor(direct)).write_all(bytes).unwrap();
}

fn send(sink: &Sink, text: &'static str) {
    sink.send_blocking(Bytes::from(text), soon()).unwrap();
}

#[test]
fn what_the_engine_writes_itself_stands_at_its_place_and_the_connection_goes_on() {
    repeated(20, || {
        let scene = Scene::new(&[("content-length", "19")]);
        let mut client = scene.server.connect();
        for _ in 0..3 {
            let sink = scene.ask(&mut client, "");
            send(&sink, "before ");
            let direct = asked(&sink, 8)?;
            write(&direct, b"gold, ");
            // It has written less than it asked for.
            direct.finish(6);
            send(&sink, "after ");
            sink.finish();
            assert_eq!(client.response().text(), "before gold, after ");
        }
        eventually("all are logged", || scene.log.text().matches(" 200 19 ").count() == 3);
        let text = scene.log.text();
        assert!(!text.contains("bad_answer"), "none is longer than announced: {text}");
        Some(())
    });
}

#[test]
fn a_body_may_consist_of_direct_writes_alone_and_one_of_nothing_is_none() {
    repeated(20, || {
        let (_scene, mut client, sink) = Scene::begun(&[("content-length", "8")], "");
        for (length, written) in [(8, "gold"), (4, ""), (4, "gold")] {
            let direct = asked(&sink, length)?;
            write(&direct, written.as_bytes());
            direct.finish(written.len() as u64);
        }
        assert_eq!(client.response().text(), "goldgold");
        sink.finish();
        Some(())
    });
}

#[test]
fn what_must_be_written_in_chunks_or_would_be_too_long_is_not_written_directly() {
    const HEADERS: [Headers; 2] = [&[], &[("content-length", "4")]];
    for headers in HEADERS {
        let (_scene, mut client, sink) = Scene::begun(headers, "");
        assert!(asked(&sink, 5).is_none(), "{headers:?}");
        send(&sink, "gold");
        sink.finish();
        assert_eq!(client.response().text(), "gold");
    }
}

#[test]
fn a_client_that_has_closed_its_side_is_written_to_for_as_long_as_the_engine_writes() {
    repeated(20, || {
        let (_scene, mut client, sink) = Scene::begun(&[("content-length", "13")], "");
        let direct = asked(&sink, 12)?;
        client.stream.shutdown(Shutdown::Write).unwrap();
        write(&direct, b"before");
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            std::thread::park_timeout(LONG);
        }
        assert!(!sink.is_gone());
        write(&direct, b", gold");
        direct.finish(12);
        assert!(client.until(", gold").ends_with("\r\n\r\nbefore, gold"));
        // The last byte does not come.
        eventually("it counts as gone", || sink.is_gone());
        Some(())
    });
}

#[test]
fn a_body_breaks_off_where_it_is_not_known_how_much_was_written() {
    repeated(20, || {
        let (scene, mut client, sink) = Scene::begun(&[("content-length", "8")], "");
        let direct = asked(&sink, 8)?;
        write(&direct, b"gold");
        drop(direct);
        // What comes next has no place.
        let _ = sink.send_blocking(Bytes::from("gold"), soon());
        sink.finish();
        let text = client.rest();
        assert!(text.ends_with("\r\n\r\ngold"), "{text}");
        eventually("it is logged as broken", || scene.log.text().contains("broken"));
        Some(())
    });
}

#[test]
fn a_body_that_breaks_off_because_a_worker_dies_while_it_writes_is_logged_with_that() {
    repeated(20, || {
        let (scene, mut client, sink) = Scene::begun(&[("content-length", "8")], "");
        drop(asked(&sink, 8)?);
        sink.fail(Fault::WorkerDied("x".into()));
        let text = client.rest();
        assert!(text.ends_with("\r\n\r\n"), "{text}");
        eventually("it is logged", || scene.log.text().contains(" worker_died"));
        Some(())
    });
}

#[test]
fn a_client_that_goes_during_a_direct_write_is_logged_with_what_it_was_sent() {
    repeated(20, || {
        let (scene, client, sink) = Scene::begun(&[("content-length", "8")], "");
        let direct = asked(&sink, 8)?;
        write(&direct, b"gold");
        // It has not read what it was sent, so its end is a reset.
        drop(client);
        eventually("the front knows it", || sink.is_gone());
        direct.finish(4);
        eventually("it is logged", || scene.log.text().contains(" 200 4 "));
        assert!(scene.log.text().contains("client_gone"), "{}", scene.log.text());
        Some(())
    });
}

/// As a process has it that the application forks while the engine writes.
#[test]
fn a_connection_ends_for_the_client_although_another_process_has_it() {
    repeated(20, || {
        let (_scene, mut client, sink) = Scene::begun(&[("content-length", "4")], "Connection: close\r\n");
        let direct = asked(&sink, 4)?;
        let _kept = descriptor(&direct);
        write(&direct, b"gold");
        direct.finish(4);
        sink.finish();
        let text = client.rest();
        assert!(text.ends_with("\r\n\r\ngold"), "{text}");
        Some(())
    });
}

/// The second answer of the connection ends with it, since HTTP/1.0 has no chunks.
#[test]
fn a_body_that_ends_with_the_connection_is_complete_or_not_although_another_process_has_that() {
    for is_whole in [true, false] {
        repeated(20, || {
            let (server, sinks) = Server::leaving(settings(), |request| {
                let headers: Headers = if request.path == "/long" { &[("content-length", "4")] } else { &[] };
                let (sink, source) = body::stream(1 << 16);
                (Reply::ready(Ok(with(200, headers, Body::Stream(source)))), sink)
            });
            let ask = |client: &mut Client, path: &str| {
                client.send(format!("GET {path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
                eventually("the request has come", || !sinks.lock().unwrap().is_empty());
                sinks.lock().unwrap().pop().unwrap()
            };
            let mut client = server.connect();
            let sink = ask(&mut client, "/long");
            let direct = asked(&sink, 4)?;
            let _kept = descriptor(&direct);
            write(&direct, b"gold");
            direct.finish(4);
            sink.finish();
            assert_eq!(client.response().text(), "gold");
            let sink = ask(&mut client, "/");
            send(&sink, "more");
            client.until("\r\n\r\nmore");
            if is_whole {
                sink.finish();
            } else {
                sink.fail(Fault::Broken("x".into()));
            }
            let end = client.stream.read(&mut [0]).map_err(|error| error.kind());
            assert_eq!(end, if is_whole { Ok(0) } else { Err(ErrorKind::ConnectionReset) });
            Some(())
        });
    }
}
