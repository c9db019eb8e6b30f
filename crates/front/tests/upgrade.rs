//! Connections that leave HTTP: how they end when the server or its worker shuts down, and what the access log has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Body, Duplex, Fault, Reply, body};
use front::{LogFormat, Settings};
use support::{Client, SOON, Server, Shelf, eventually, repeated, settings, soon, with};

/// A close frame with status 1001, and the masked one with which a client answers it.
const GOING_AWAY: [u8; 4] = [0x88, 2, 0x03, 0xE9];
const CLOSED: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE9];
/// Time for a client to answer a close frame, and for an application to end.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// A connection that the application has: after the head of its response, or, on the path `/full`, by a full hijack,
/// upon which it writes that head itself.
struct Scene {
    server: Server,
    client: Client,
    app: Duplex,
    log: Shelf,
}

impl Scene {
    fn new(settings: Settings, path: &str, protocol: &'static str) -> Scene {
        let log = Shelf::default();
        let settings = Settings { access_log: log.log(LogFormat::Text), ..settings };
        let (server, apps) = Server::leaving(settings, move |request| {
            let (app, answer) = if request.path == "/full" {
                (request.takeover.unwrap().take(), Body::Taken)
            } else {
                let (ours, app) = body::duplex(1 << 16);
                (app, Body::Upgrade(ours))
            };
            (Reply::ready(Ok(with(101, &[("upgrade", protocol)], answer))), app)
        });
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: {protocol}\r\n\r\n"));
        eventually("the call", || !apps.lock().unwrap().is_empty());
        let app = apps.lock().unwrap().remove(0);
        if path == "/full" {
            let head = format!("HTTP/1.1 101 Switching Protocols\r\nupgrade: {protocol}\r\n\r\n");
            app.outgoing.send_blocking(head.into(), soon()).unwrap();
        }
        assert_eq!(client.head().status, 101);
        Scene { server, client, app, log }
    }

    /// Sends bytes of the application to the client, which reads them.
    fn tell(&mut self, bytes: &'static [u8]) {
        self.app.outgoing.send_blocking(Bytes::from_static(bytes), soon()).unwrap();
        assert_eq!(self.client.exactly(bytes.len()), bytes);
    }

    /// Shuts the server down, or the worker of the application.
    fn shut_down(&self, is_worker: bool) {
        if is_worker {
            self.app.outgoing.leave();
        } else {
            self.server.stop.drain();
        }
    }
}

#[test]
fn a_websocket_is_closed_between_two_frames_and_its_application_reads_the_answer() {
    for (path, is_worker) in [("/", false), ("/", true), ("/full", false)] {
        repeated(5, || {
            let mut scene = Scene::new(settings(), path, "websocket");
            scene.tell(b"\x82\x05ab");
            scene.shut_down(is_worker);
            let Scene { server: _server, mut client, app, log } = scene;
            let Duplex { mut incoming, outgoing } = app;
            // Nothing stands within the frame that it has begun; then comes the end of that.
            client.stream.set_read_timeout(Some(CLOSE_TIME / 10)).unwrap();
            let early = client.stream.read(&mut [0]).map_err(|error| error.kind());
            if early == Ok(0) {
                return None;
            }
            assert_eq!(early, Err(ErrorKind::WouldBlock), "{path} {is_worker}");
            client.stream.set_read_timeout(Some(SOON)).unwrap();
            outgoing.send_blocking("cde".into(), soon()).ok()?;
            let mut rest = [0; 7];
            client.stream.read_exact(&mut rest).ok()?;
            assert_eq!(rest, *b"cde\x88\x02\x03\xE9", "{path} {is_worker}");
            client.send(CLOSED);
            let answer = incoming.next_blocking(soon()).ok()??;
            assert_eq!(answer, CLOSED[..]);
            outgoing.finish();
            assert_eq!(client.rest(), "");
            drop(client);
            eventually("its line", || log.text().ends_with(" going_away\n"));
            Some(())
        });
    }
}

/// The end of a chunk is hardly ever that of a frame then.
#[test]
fn a_websocket_whose_application_always_has_more_to_send_is_closed_behind_the_frame_that_it_is_in() {
    repeated(5, || {
        let mut scene = Scene::new(settings(), "/", "websocket");
        scene.tell(b"\x82\x05ab");
        scene.shut_down(false);
        let Scene { server: _server, mut client, app, .. } = scene;
        // The front begins to wait for the end of the frame.
        std::thread::park_timeout(CLOSE_TIME / 10);
        app.outgoing.send_blocking(Bytes::from_static(b"cde\x82\x05fg"), soon()).ok()?;
        let mut rest = [0; 7];
        client.stream.read_exact(&mut rest).ok()?;
        if rest != *b"cde\x88\x02\x03\xE9" {
            return None;
        }
        app.outgoing.finish();
        assert_eq!(client.rest(), "");
        Some(())
    });
}

/// Nothing may be sent behind a close frame (RFC 6455 section 5.5.1).
#[test]
fn a_websocket_ends_a_second_after_its_close_frame_though_neither_side_answers_and_the_application_goes_on() {
    for is_worker in [false, true] {
        let mut scene = Scene::new(settings(), "/", "websocket");
        scene.tell(b"\x81\x01a");
        let begun = Instant::now();
        scene.shut_down(is_worker);
        assert_eq!(scene.client.exactly(4), GOING_AWAY);
        let Scene { server: _server, mut client, app, .. } = scene;
        let Duplex { mut incoming, outgoing } = app;
        let _ = outgoing.send_blocking(Bytes::from_static(b"\x81\x01b"), soon());
        assert_eq!(client.rest(), "", "{is_worker}");
        assert!(begun.elapsed() >= CLOSE_TIME, "{is_worker}: {:?}", begun.elapsed());
        assert_eq!(incoming.next_blocking(soon()), Ok(None));
    }
}

/// A close frame within another frame would be part of that. Nothing else would end the connection of a worker.
#[test]
fn a_websocket_whose_application_does_not_end_its_frame_is_closed_without_a_close_frame() {
    for is_worker in [false, true] {
        let mut scene = Scene::new(settings(), "/", "websocket");
        scene.tell(b"\x82\x05ab");
        let begun = Instant::now();
        scene.shut_down(is_worker);
        assert_eq!(scene.client.rest(), "", "{is_worker}");
        assert!((CLOSE_TIME..SOON / 2).contains(&begun.elapsed()), "{is_worker}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_connection_with_another_protocol_ends_with_its_input_and_takes_what_the_application_says_then() {
    for path in ["/", "/full"] {
        repeated(5, || {
            let mut scene = Scene::new(settings(), path, "shout");
            scene.tell(b"begun");
            scene.shut_down(false);
            let Scene { server: _server, mut client, app, log } = scene;
            let Duplex { mut incoming, outgoing } = app;
            assert_eq!(incoming.next_blocking(soon()), Ok(None));
            let _ = outgoing.send_blocking("en".into(), soon());
            let _ = outgoing.send_blocking("ded".into(), soon());
            outgoing.finish();
            let rest = client.rest();
            drop(client);
            eventually("its line", || log.text().ends_with(" going_away\n"));
            if rest.is_empty() {
                return None;
            }
            assert_eq!(rest, "ended");
            Some(())
        });
    }
}

#[test]
fn a_connection_stays_until_its_own_moment_of_the_time_in_which_all_are_closed() {
    let mut settings = settings();
    // Eleven days: the moment is hardly ever among the first milliseconds.
    settings.limits.websocket_drain = Duration::from_secs(1_000_000);
    let mut scene = Scene::new(settings, "/", "websocket");
    scene.shut_down(false);
    assert_eq!(scene.app.incoming.next_blocking(Instant::now() + CLOSE_TIME / 2), Err(None));
    scene.client.send("late");
    assert_eq!(scene.app.incoming.next_blocking(soon()), Ok(Some(Bytes::from("late"))));
    scene.tell(b"\x81\x01a");
}

/// Nothing wakes the relay then: neither the application, whose bytes wait, nor its client.
#[test]
fn a_client_that_takes_nothing_does_not_hold_the_end_of_the_server_or_of_a_worker() {
    for is_worker in [false, true] {
        let mut settings = settings();
        settings.limits.write_time = 6 * SOON;
        settings.limits.drain_time = 6 * SOON;
        let counts = settings.counts.clone();
        let scene = Scene::new(settings, "/", "shout");
        let piece = Bytes::from(vec![b'x'; 1 << 16]);
        // Until all buffers on the way are full.
        while scene.app.outgoing.send_blocking(piece.clone(), Instant::now() + CLOSE_TIME / 4).is_ok() {}
        assert!(!scene.app.outgoing.is_gone(), "{is_worker}: the buffers are full");
        let begun = Instant::now();
        scene.shut_down(is_worker);
        eventually("its end", || scene.app.outgoing.is_gone());
        let took = begun.elapsed();
        assert!(took < SOON / 2, "{is_worker}: it is cut off before the time for a write is over: {took:?}");
        eventually("its end is counted", || counts.open() == 0);
        assert!(begun.elapsed() >= CLOSE_TIME, "{is_worker}: {:?}", begun.elapsed());
        eventually("its line", || scene.log.text().ends_with(" going_away\n"));
    }
}

/// Neither does an application for which the bytes of its client wait.
#[test]
fn an_application_that_takes_nothing_does_not_hold_the_end_of_the_server_or_of_a_worker() {
    for is_worker in [false, true] {
        let mut settings = settings();
        settings.limits.drain_time = 6 * SOON;
        let counts = settings.counts.clone();
        let mut scene = Scene::new(settings, "/", "websocket");
        scene.client.stream.set_write_timeout(Some(CLOSE_TIME / 4)).unwrap();
        // Until all buffers on the way are full.
        while scene.client.stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
        scene.shut_down(is_worker);
        eventually("its end is counted", || counts.open() == 0);
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy)]
enum End {
    InOrder,
    Fails,
    Stops,
}

#[test]
fn the_line_of_a_connection_has_its_bytes_and_what_has_ended_it() {
    for (path, status) in [("/", "101 3"), ("/full", "- 55")] {
        for (end, fault) in [(End::InOrder, ""), (End::Fails, " worker_died"), (End::Stops, " stopping")] {
            let mut scene = Scene::new(settings(), path, "shout");
            scene.tell(b"abc");
            let Scene { server, mut client, app, log } = scene;
            let Duplex { incoming: _incoming, outgoing } = app;
            match end {
                End::InOrder => outgoing.finish(),
                End::Fails => outgoing.fail(Fault::WorkerDied("x".into())),
                End::Stops => {
                    server.stop.now();
                    // The application has not ended.
                    client.rest();
                    drop(outgoing);
                }
            }
            client.rest();
            drop(client);
            eventually("its line", || !log.text().is_empty());
            let line = log.text();
            assert!(line.contains(&format!(" GET {path} {status} ")), "{end:?}: {line}");
            // Before a fault, the last word is the id.
            let id = line.trim_end().strip_suffix(fault).and_then(|line| line.split(' ').next_back());
            assert_eq!(id.map(str::len), Some(36), "{end:?}: {line}");
        }
    }
}
