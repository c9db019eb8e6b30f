//! A pause, and what was ordered by hand, when the server ends or another process takes its place.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::successor::{Process, adopt_orphans};
use crate::support::{Client, MAX_WAIT, Server, app, ruby, server, within};
use rustix::process::Signal;

/// A request that waits in a pause.
fn waiting(server: &Server) -> Client {
    server.done(&["pause"]);
    let client = server.send_get("/");
    assert!(within(MAX_WAIT, || server.status()["apps"][0]["queued"] == 1), "{}", server.status());
    client
}

fn on_ruby(options: &[&str]) -> Server {
    ruby::serve("run lambda { |env| [200, {}, [\"gold\"]] }", options)
}

#[test]
fn the_end_of_a_paused_server_answers_who_waits() {
    let mruby = || Server::start(&app("", "\"gold\""), &["-t", "1"]);
    for (start, end) in
        [(&mruby as &dyn Fn() -> Server, "stop"), (&mruby, "TERM"), (&|| on_ruby(&["-w", "1"]), "drain")]
    {
        let mut server = start();
        let (mut client, begin) = (waiting(&server), Instant::now());
        match end {
            "TERM" => server.signal(Signal::TERM),
            command => drop(server.done(&[command])),
        }
        let reply = client.reply().unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (200, "gold"), "{end}\n{}", server.log());
        server.must_end();
        assert!(begin.elapsed() < Duration::from_secs(8), "{end} took {:?}\n{}", begin.elapsed(), server.log());
    }
}

#[test]
fn who_waits_in_a_pause_for_too_long_is_refused_and_the_log_says_once_what_ends_it() {
    let server = Server::start(&app("", "\"gold\""), &["-t", "1", "--request-time", "300ms"]);
    server.done(&["pause"]);
    for _ in 0..2 {
        // On a busy machine the front may answer before the engine, with 504.
        assert!(within(MAX_WAIT, || server.get("/").status == 503), "{}", server.log());
    }
    let words = "the application is paused; `foolsgold resume` ends the pause";
    assert!(server.logs(words) && server.log().matches(words).count() == 1, "{}", server.log());
}

#[test]
fn what_waits_in_a_pause_is_left_to_new_code_and_to_the_end_of_the_pause() {
    for engine in ["mruby", "ruby"] {
        let server = match engine {
            "mruby" => Server::start(&app("", "\"gold\""), &["-t", "1"]),
            _ => on_ruby(&["-w", "1"]),
        };
        let mut client = waiting(&server);
        let rackup = server.folder.join("config.ru");
        fs::write(&rackup, fs::read_to_string(&rackup).unwrap().replace("gold", "silver")).unwrap();
        server.done(&["reload"]);
        let seen = server.status();
        assert_eq!(seen["apps"][0]["queued"], 1, "{engine}: {seen}\n{}", server.log());
        server.done(&["resume"]);
        assert_eq!(client.reply().unwrap().text(), "silver", "{engine}\n{}", server.log());
    }
}

#[test]
fn a_drain_asked_for_twice_keeps_its_lag_and_no_order_for_workers_is_taken_meanwhile() {
    let mut server = Server::start(&app("", "\"gold\""), &["-t", "1", "--drain-lag", "2s"]);
    let mut client = waiting(&server);
    let begin = Instant::now();
    server.done(&["drain", "--no-wait"]);
    assert_eq!(client.reply().unwrap().status, 200, "{}", server.log());
    server.done(&["drain", "--no-wait"]);
    for order in [&["pause"][..], &["scale", "2"], &["recycle"]] {
        let refused = server::command().current_dir(&server.folder).args(order).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{order:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("the server is shutting down"), "{refused:?}");
    }
    assert_eq!(server.text("/"), "gold", "connections are accepted for the lag");
    server.must_end();
    assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}\n{}", begin.elapsed(), server.log());
}

#[test]
fn an_upgrade_takes_pause_and_scale_along_and_answers_who_waits() {
    adopt_orphans();
    let mut server = on_ruby(&["-w", "1", "--pidfile", "web.pid"]);
    server.done(&["scale", "2:3"]);
    let mut client = waiting(&server);
    server.done(&["restart"]);
    let next = Process::named_in(&server.folder.join("web.pid"), server.id());
    assert_eq!(client.reply().unwrap().status, 200, "{}", server.log());
    server.must_end();
    let all = server.status();
    let one = &all["apps"][0];
    assert_eq!(all["server"]["pid"], next.0);
    assert_eq!((&one["is_paused"], &one["pool"]["min"], &one["pool"]["max"]), (&true.into(), &2.into(), &3.into()));
    assert!(server.log().contains("app: 2 to 3 workers, paused"), "{}", server.log());
    server.done(&["resume"]);
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn what_is_ordered_while_an_upgrade_loads_holds_for_the_new_process() {
    adopt_orphans();
    let app = "File.write('loads', '') if File.exist?('gate')\nsleep 0.02 while File.exist?('gate')\n\
               run lambda { |env| [200, {}, ['gold']] }";
    let mut server = ruby::serve(app, &["-w", "1", "--pidfile", "web.pid"]);
    server.done(&["pause"]);
    let gate = server.folder.join("gate");
    fs::write(&gate, "").unwrap();
    thread::scope(|scope| {
        let upgrade = scope.spawn(|| server.done(&["restart"]));
        assert!(within(MAX_WAIT, || server.folder.join("loads").exists()), "{}", server.log());
        server.done(&["resume"]);
        server.done(&["scale", "2:3"]);
        fs::remove_file(&gate).unwrap();
        upgrade.join().unwrap();
    });
    let next = Process::named_in(&server.folder.join("web.pid"), server.id());
    server.must_end();
    let has_all = || {
        let all = server.status();
        let one = &all["apps"][0];
        let pool = [&one["pool"]["min"], &one["pool"]["max"]];
        all["server"]["pid"] == next.0 && one["is_paused"] == false && pool == [2, 3]
    };
    assert!(within(MAX_WAIT, has_all), "{}\n{}", server.status(), server.log());
    assert_eq!(server.text("/"), "gold", "{}", server.log());
}
