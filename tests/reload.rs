//! New code while it serves, on both engines: no request fails, nobody gets old code after the new one is said to
//! serve, and code that does not load, hangs or fails its probe changes nothing.

use std::fs;
use std::iter;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::reload::{ENGINES, code, deploy, put, serve, under_light_load, under_load};
use crate::support::{Client, MAX_WAIT, Server, app, ruby, server, successor, within};
use rustix::process::Signal;
use serde_json::Value;

const CLIENTS: usize = 8;

/// Each engine with options for one request at a time, and without time limits.
const ONE_AT_A_TIME: [(&str, &[&str]); 2] = [
    ("mruby", &["-t", "1", "--request-time", "none", "--queue-wait", "none"]),
    ("ruby", &["-w", "1", "-t", "1", "--request-time", "none", "--queue-wait", "none"]),
];

#[test]
fn under_load_every_reload_brings_new_code_and_no_request_fails() {
    for (engine, options) in [("mruby", &["-t", "4"][..]), ("ruby", &["-w", "2", "-t", "2"])] {
        let server = serve(engine, options);
        let rounds = 8;
        let seen = under_load(&server, CLIENTS, |known| {
            for version in 2..2 + rounds {
                deploy(&server, version, version);
                known.store(version, Ordering::SeqCst);
                thread::park_timeout(Duration::from_millis(100));
            }
        });
        assert!(seen.answers > 50, "{engine}: {} answers", seen.answers);
        assert!(seen.wrong.is_empty(), "{engine}: {:?} of {}\n{}", seen.wrong, seen.answers, server.log());
        assert_eq!(server.text("/"), format!("v{}", 1 + rounds));
    }
}

/// Requests so short run on the I/O threads, which may have read some that they have not offered to the old code yet
/// when that is closed.
#[test]
fn of_short_requests_on_many_connections_none_fails() {
    let server = Server::start(&app("", "'ok'"), &["-t", "4"]);
    let is_over = AtomicBool::new(false);
    let wrong = thread::scope(|scope| {
        let clients: Vec<_> = (0..2 * CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.client();
                    let mut replies = iter::from_fn(|| (!is_over.load(Ordering::SeqCst)).then(|| client.get("/")));
                    replies.find(|reply| reply.status != 200).map(|reply| reply.text())
                })
            })
            .collect();
        for generation in 2..22 {
            server.done(&["reload"]);
            server.must_log(&format!("generation {generation} serves"));
        }
        is_over.store(true, Ordering::SeqCst);
        clients.into_iter().find_map(|client| client.join().unwrap())
    });
    assert_eq!(wrong, None, "{}", server.log());
}

#[test]
fn what_does_not_load_or_fails_its_probe_changes_nothing() {
    for engine in ENGINES {
        let server = serve(engine, &["--probe", "/up"]);
        let seen = under_light_load(&server, CLIENTS, |_| {
            fails(&server, 2, "raise \"no such luck\"", "no such luck");
            fails(&server, 3, "def (", "yntax");
            fails(&server, 4, "exit", "xit");
            put(&server.folder, "ill", "");
            fails(&server, 5, "", "the probe failed: GET /up was answered with 500");
        });
        assert!(seen.answers > 50, "{engine}: {} answers", seen.answers);
        assert!(seen.wrong.is_empty(), "{engine}: {:?} of {}\n{}", seen.wrong, seen.answers, server.log());
        assert_eq!(server.text("/"), "v1");
        std::fs::remove_file(server.folder.join("ill")).unwrap();
        deploy(&server, 6, 6);
        assert_eq!(server.text("/"), "v6");
    }
}

#[test]
fn what_waits_at_a_reload_is_run_by_the_new_code_and_not_held_up_by_what_runs_in_the_old() {
    for (engine, more) in ONE_AT_A_TIME {
        let own = ["--engine", engine, "--ruby", &ruby::program(), "--drain-time", "300ms"];
        let server = Server::start(&app("", "sleep(60) && 'old'"), &[&own[..], more].concat());
        let mut clients: Vec<_> = (0..4).map(|_| server.send_get("/")).collect();
        let status = || server.done(&["status"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(within(MAX_WAIT, || status().contains("1 of 1 3 ")), "{engine}: {}", status());
        fs::write(server.folder.join("config.ru"), app("", "'new'")).unwrap();
        server.done(&["reload"]);
        let replies: Vec<_> = clients.iter_mut().map(|client| client.reply().unwrap()).collect();
        let news = replies.iter().filter(|reply| reply.status == 200 && reply.text() == "new").count();
        assert_eq!(news, 3, "{engine}: {replies:?}\n{}", server.log());
        assert!(server.logs("generation 2 takes over 3 waiting requests"), "{engine}: {}", server.log());
        assert!(!server.log().contains("without an answer"), "{engine}: {}", server.log());
    }
}

/// Clients of the old code wait like all others, so who looks must not read that nothing runs or waits.
#[test]
fn what_runs_in_old_code_and_what_the_new_code_took_over_is_shown_until_it_is_answered() {
    for (engine, options) in ONE_AT_A_TIME {
        let server = serve(engine, options);
        let load = || {
            let status = server.status();
            ["busy", "queued"].map(|name| status["apps"][0][name].as_u64())
        };
        let mut held: Vec<Client> = (0..4).map(|_| server.send_get("/hold")).collect();
        assert!(within(MAX_WAIT, || load() == [Some(1), Some(3)]), "{engine}: {:?}\n{}", load(), server.log());
        deploy(&server, 2, 2);
        assert!(within(MAX_WAIT, || load() == [Some(2), Some(2)]), "{engine}: {:?}\n{}", load(), server.log());
        let recorder: Value = serde_json::from_str(&server.done(&["recorder", "--json"])).unwrap();
        let running = recorder["apps"][0]["running"].as_array().unwrap();
        let old: Vec<&Value> = running.iter().filter(|run| run["generation"] == 1).collect();
        assert_eq!((running.len(), old.len()), (2, 1), "{engine}: {recorder}");
        assert!(old[0]["path"] == "/hold" && old[0]["worker"].is_null(), "{engine}: {recorder}");
        put(&server.folder, "go", "");
        assert!(held.iter_mut().all(|client| client.reply().unwrap().status == 200), "{engine}: {}", server.log());
        assert!(within(MAX_WAIT, || load() == [Some(0), Some(0)]), "{engine}: {:?}\n{}", load(), server.log());
    }
}

/// Two releases, with a symlink `current` to the first, served by way of it.
fn serve_current(engine: &str, options: &[&str]) -> Server {
    let folder = server::folder();
    for version in [1, 2] {
        let release = folder.join(format!("v{version}"));
        fs::create_dir_all(release.join("tmp")).unwrap();
        let app = format!("NAME = Dir.pwd\n{}", app("", &format!("\"v{version} in #{{NAME}}\"")));
        fs::write(release.join("config.ru"), app).unwrap();
    }
    symlink("v1", folder.join("current")).unwrap();
    let own = ["-b", "tcp://127.0.0.1:0", "--engine", engine, "--ruby", &ruby::program()];
    Server::spawn(folder, &[], &[&own[..], options].concat())
}

fn switch_to_second(server: &Server) {
    symlink("v2", server.folder.join("next")).unwrap();
    fs::rename(server.folder.join("next"), server.folder.join("current")).unwrap();
}

#[test]
fn a_reload_follows_the_symlink_to_the_current_release() {
    for engine in ENGINES {
        let server = serve_current(engine, &["--dir", "current"]);
        let said = server.text("/");
        assert!(said.starts_with("v1 in ") && said.ends_with("/v1"), "{engine}: {said}");
        switch_to_second(&server);
        server.reload("generation 2 serves");
        let said = server.text("/");
        assert!(said.starts_with("v2 in ") && said.ends_with("/v2"), "{engine}: {said}");
    }
}

#[test]
fn touching_tmp_restart_txt_reloads() {
    for engine in ENGINES {
        let server = serve_current(engine, &["--dir", "current"]);
        switch_to_second(&server);
        // As a deploy does it: in the new release.
        fs::write(server.folder.join("current/tmp/restart.txt"), "").unwrap();
        assert!(within(MAX_WAIT, || server.text("/").starts_with("v2")), "{engine}: {}", server.log());
        assert!(server.log().contains("current/tmp/restart.txt was touched: reloading app"), "{}", server.log());
        fs::remove_file(server.folder.join("current/tmp/restart.txt")).unwrap();
        let server = serve_current(engine, &["--dir", "current", "--restart-file", "again"]);
        fs::write(server.folder.join("current/again"), "").unwrap();
        assert!(server.logs("generation 2 serves"), "{engine}: {}", server.log());
    }
}

#[test]
fn the_restart_file_is_the_one_that_the_current_settings_name() {
    let toml = |file: &str| format!("threads = 1\nrestart-file = \"{file}\"\n");
    let server = Server::files(&[("config.ru", &code(1, "")), ("foolsgold.toml", &toml("none"))], &[]);
    for (file, generation) in [("first", 2), ("second", 4)] {
        put(&server.folder, "foolsgold.toml", &toml(file));
        let said = server.done(&["reload"]);
        assert!(said.contains(&format!("generation {generation} serves")), "{said}");
        fs::write(server.folder.join(file), "").unwrap();
        server.must_log(&format!("{file} was touched: reloading app"));
        server.must_log(&format!("generation {} serves", generation + 1));
    }
}

/// An application whose pages answer what files say: the status of `/up` and of `/`, or `raise`. The log has what was
/// asked of which version.
fn pages(version: u32) -> String {
    format!(
        "HERE = __dir__\nrun lambda {{ |env|\n  \
         file = \"#{{HERE}}/#{{env['PATH_INFO'] == '/up' ? 'up' : 'root'}}{version}\"\n  \
         env['rack.errors'].puts \"asked {version}#{{env['PATH_INFO']}} of #{{env['rack.url_scheme']}}\"\n  \
         said = File.exist?(file) ? File.read(file) : '404'\n  raise 'on purpose' if said == 'raise'\n  \
         said = env['rack.url_scheme'] == 'https' ? '500' : '301' if said == 'https'\n  \
         [said.to_i, {{ 'content-type' => 'text/plain', 'location' => 'https://a/' }}, ['{version}']]\n}}\n"
    )
}

/// What the versions 1 and 2 answer to /up and to /, whether 2 comes to serve, and what is asked of whom.
type Probed = (&'static str, &'static str, &'static str, &'static str, bool, &'static [&'static str]);

const PROBED: [Probed; 8] = [
    ("404", "200", "404", "500", false, &["2/up", "2/", "1/"]),
    ("404", "200", "404", "raise", false, &["2/up", "2/", "1/"]),
    ("200", "200", "503", "200", false, &["2/up", "1/up"]),
    ("200", "500", "204", "500", true, &["2/up"]),
    ("404", "200", "404", "401", true, &["2/up", "2/"]),
    ("404", "raise", "404", "500", true, &["2/up", "2/", "1/"]),
    ("500", "200", "500", "200", true, &["2/up", "1/up"]),
    ("404", "200", "404", "https", false, &["2/up", "2/", "2/ over TLS", "1/"]),
];

/// The requests that the log tells of.
fn asked_in(server: &Server) -> Vec<String> {
    let log = server.log();
    let asked = log.lines().filter_map(|line| line.split_once("asked ")?.1.split_once(" of "));
    asked
        .map(|(path, scheme)| format!("{path}{}", if scheme.starts_with("https") { " over TLS" } else { "" }))
        .collect()
}

#[test]
fn code_that_breaks_down_where_the_old_code_answers_is_refused_without_being_told() {
    for engine in ENGINES {
        let server = serve(engine, &["-e", "production", "-t", "1"]);
        let (mut generation, mut expected) = (1, Vec::new());
        for (old_up, old_root, new_up, new_root, is_taken, asked) in PROBED {
            for (name, said) in [("up1", "404"), ("root1", "200"), ("up2", new_up), ("root2", new_root)] {
                put(&server.folder, name, said);
            }
            put(&server.folder, "config.ru", &pages(1));
            generation += 1;
            server.reload(&format!("generation {generation} serves"));
            put(&server.folder, "up1", old_up);
            put(&server.folder, "root1", old_root);
            put(&server.folder, "config.ru", &pages(2));
            let (old, before) = (generation, server.log().len());
            generation += 1;
            let end = if is_taken { "serves".to_owned() } else { format!("failed, generation {old} goes on") };
            server.reload(&format!("generation {generation} {end}"));
            let case = format!("{engine}, {old_up} {old_root}, {new_up} {new_root}\n{}", server.log());
            // The code of version 1 was asked when it was deployed.
            expected.extend(["1/up", "1/"].iter().chain(asked).map(|one| (*one).to_owned()));
            assert!(within(MAX_WAIT, || asked_in(&server) == expected), "{:?}\n{case}", asked_in(&server));
            let advice = "; with probe = \"none\" in foolsgold.toml (with --probe none at the start, where the server \
                          reads another file) it asks for nothing";
            assert_eq!(server.log()[before..].contains(advice), !is_taken, "{case}");
        }
    }
}

#[test]
fn a_named_path_that_redirects_to_tls_is_probed_over_tls() {
    for engine in ENGINES {
        let server = serve(engine, &["--probe", "/up"]);
        // Without TLS it answers 301, over TLS 500.
        put(&server.folder, "up2", "https");
        put(&server.folder, "config.ru", &pages(2));
        server.reload("generation 2 failed, generation 1 goes on");
        assert!(server.log().contains("the probe failed: GET /up was answered with 500"), "{}", server.log());
        assert_eq!(server.text("/"), "v1");
    }
}

#[test]
fn probes_are_not_among_the_requests_that_were_served() {
    for engine in ENGINES {
        let mut server = serve(engine, &["--probe", "/up", "-e", "production", "--slow-time", "1ms"]);
        assert_eq!(server.text("/"), "v1");
        put(&server.folder, "up2", "500");
        put(&server.folder, "config.ru", &pages(2));
        server.reload("generation 2 failed, generation 1 goes on");
        put(&server.folder, "up2", "200");
        server.reload("generation 3 serves");
        let is_gone = || server.status()["apps"][0]["leaving"].as_array().is_some_and(Vec::is_empty);
        assert!(within(MAX_WAIT, is_gone), "{}", server.log());
        let status = server.status();
        let app = &status["apps"][0];
        assert_eq!((app["served"].as_u64(), app["requests"].as_u64()), (Some(1), Some(1)), "{engine}: {app}");
        let of_workers: u64 = app["workers"].as_array().unwrap().iter().filter_map(|one| one["served"].as_u64()).sum();
        assert_eq!(of_workers, 0, "{engine}: {app}");
        let recorded = server.done(&["recorder", "--json"]);
        assert!(!recorded.contains("\"probe\""), "{recorded}");
        server.end(Signal::TERM);
        assert!(server.log().contains("shut down: 1 request served;"), "{engine}: {}", server.log());
    }
}

#[test]
fn in_development_and_where_it_is_not_wanted_nothing_is_asked() {
    for (environment, options) in [("development", &[][..]), ("production", &["--probe", "none"][..])] {
        let server = serve("mruby", &[&["-e", environment], options].concat());
        put(&server.folder, "root2", "500");
        put(&server.folder, "config.ru", &pages(2));
        server.reload("generation 2 serves");
        assert_eq!(server.get("/").status, 500);
        // Otherwise a user who knows that reloads are probed would think that this one was, too.
        let words = "reload of app: generation 2 is not probed, since this is development; with --probe PATH it would";
        assert_eq!(server.log().contains(words), options.is_empty(), "{}", server.log());
    }
}

#[test]
fn code_that_never_answers_is_refused_where_the_old_code_does() {
    for engine in ENGINES {
        let server = serve(engine, &["-e", "production", "--request-time", "1s"]);
        let hang =
            "class Hang\n  def initialize(app) = @app = app\n  def call(_) = loop { sleep 0.01 }\nend\nuse Hang\n";
        put(&server.folder, "config.ru", &code(2, hang));
        server.reload("generation 2 failed, generation 1 goes on");
        assert!(server.log().contains("GET /up of the new code had no answer"), "{}", server.log());
        assert_eq!(server.text("/"), "v1");
    }
}

#[test]
fn what_hangs_changes_nothing() {
    for engine in ENGINES {
        let server = serve(engine, &["--probe", "/hold", "--boot-time", "5s"]);
        let seen = under_light_load(&server, CLIENTS, |_| {
            let mut generation = 1;
            let mut next_fails = |before: &str, words: &str| {
                generation += 1;
                fails(&server, generation, before, words);
            };
            if engine == "mruby" {
                next_fails("loop {}", "--boot-time");
                // It refuses to sleep while it loads.
                next_fails("sleep", "sleep");
            } else {
                // Ruby is killed from outside: until then it need not compute.
                next_fails("sleep", "--boot-time");
            }
            next_fails("", "the probe failed: GET /hold had no answer");
        });
        assert!(seen.answers > 50, "{engine}: {} answers", seen.answers);
        assert!(seen.wrong.is_empty(), "{engine}: {:?} of {}\n{}", seen.wrong, seen.answers, server.log());
        assert_eq!(server.text("/"), "v1");
    }
}

/// Deploys code that begins like this, which must fail with these words, and leave the first.
#[track_caller]
fn fails(server: &Server, generation: u32, before: &str, words: &str) {
    put(&server.folder, "config.ru", &code(generation, before));
    let failed = format!("generation {generation} failed, generation 1 goes on");
    server.reload(&failed);
    let log = server.log();
    let line = log.lines().position(|line| line.contains(&failed));
    let said: Vec<&str> = log.lines().skip(line.unwrap()).collect();
    assert!(said.join("\n").contains(words), "{words:?} is not in {said:#?}");
}

#[test]
fn what_has_begun_ends_with_the_code_it_began_with() {
    for engine in ENGINES {
        let server = serve(engine, &["-t", "2"]);
        let mut stream = server.send_get("/stream");
        assert_eq!(stream.head().unwrap().status, 200);
        let mut held = server.send_get("/hold");
        assert!(stream.chunk().unwrap().unwrap().starts_with(b"v1;"));
        for version in 2..4 {
            deploy(&server, version, version);
            assert_eq!(server.text("/"), format!("v{version}"));
        }
        assert!(stream.chunk().unwrap().unwrap().starts_with(b"v1;"));
        put(&server.folder, "end", "");
        put(&server.folder, "go", "");
        while let Some(chunk) = stream.chunk().unwrap() {
            assert!(String::from_utf8_lossy(&chunk).starts_with("v1;"));
        }
        // It may have begun after one of the reloads.
        assert!(held.reply().unwrap().text().starts_with("held by v"));
    }
}

#[test]
fn a_reload_of_what_waits_in_the_line_loses_none_of_it() {
    for (engine, options) in [("mruby", &["-t", "2"][..]), ("ruby", &["-w", "1", "-t", "2"])] {
        let server = serve(engine, options);
        let mut held: Vec<Client> = (0..20).map(|_| server.send_get("/hold")).collect();
        deploy(&server, 2, 2);
        put(&server.folder, "go", "");
        for client in &mut held {
            let reply = client.reply().unwrap();
            assert_eq!(reply.status, 200, "{engine}: {}\n{}", reply.text(), server.log());
        }
        assert_eq!(server.text("/"), "v2");
    }
}

#[test]
fn asked_many_times_at_once_it_reloads_and_the_last_word_counts() {
    for engine in ENGINES {
        let server = serve(engine, &["-t", "2"]);
        for version in 2..12 {
            put(&server.folder, "config.ru", &code(version, ""));
            server.signal(Signal::USR1);
            thread::park_timeout(Duration::from_millis(10));
        }
        assert!(within(MAX_WAIT, || server.text("/") == "v11"), "{engine}: {}", server.log());
    }
}

#[test]
fn the_end_does_not_wait_for_code_that_hangs_while_it_is_loaded() {
    for engine in ENGINES {
        let mut server = serve(engine, &["-t", "2"]);
        put(&server.folder, "config.ru", &code(2, "loop {}"));
        server.reload("loading generation 2");
        thread::park_timeout(Duration::from_millis(300));
        server.end_within(Signal::TERM, Duration::from_secs(5));
        assert!(!server.log().contains("cannot be loaded"), "nothing is wrong with it\n{}", server.log());
    }
}

#[test]
fn a_drain_with_a_lag_accepts_connections_until_it_is_over() {
    let mut server = serve("mruby", &["-t", "2", "--drain-lag", "700ms"]);
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let mut accepted = 0;
    while begun.elapsed() < Duration::from_millis(500) {
        assert_eq!(server.text("/"), "v1", "balancers have not heard of it yet");
        accepted += 1;
    }
    assert!(accepted > 0);
    server.must_end();
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert!(server.log().contains("no longer ready"), "{}", server.log());
}

#[test]
fn settings_that_cannot_be_probed_are_refused() {
    let folder = support::server::folder();
    put(&folder, "config.ru", &code(1, ""));
    let (code, text) = support::ruby::run(&folder, &["--probe", "up"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--probe up: must be a path of the application, such as /up, or auto, or none"), "{text}");
}

#[test]
fn interpreters_that_are_made_anew_keep_the_code_of_their_generation() {
    let server = serve("mruby", &["-t", "1", "--max-requests", "1"]);
    put(&server.folder, "part.rb", "PART = 1\n");
    put(&server.folder, "config.ru", &code(2, "require_relative \"part\""));
    server.reload("generation 2 serves");
    put(&server.folder, "config.ru", "raise \"not yet\"\n");
    std::fs::remove_file(server.folder.join("part.rb")).unwrap();
    for _ in 0..5 {
        assert_eq!(server.text("/"), "v2", "{}", server.log());
    }
    deploy(&server, 3, 3);
    assert_eq!(server.text("/"), "v3");
}

#[test]
fn many_reloads_leave_nothing_behind_and_the_store_stays() {
    let server = serve("mruby", &["-t", "4"]);
    let before = "FoolsGold.store.increment(\"loads\")\nLOADS = FoolsGold.store.get(\"loads\")\n";
    let threads = || std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap().count();
    let files = || ruby::open_files(server.id());
    let mut first = (0, 0, 0);
    for generation in 2..32 {
        put(&server.folder, "config.ru", &code(generation, before).replace("text(\"up\"", "text(LOADS"));
        server.reload(&format!("generation {generation} serves"));
        if generation == 10 {
            assert!(within(MAX_WAIT, || !server.log().contains("panic")));
            first = (threads(), files(), server.rss_kib());
        }
    }
    assert_eq!(server.text("/up"), "120", "30 times 4 interpreters have counted");
    assert!(within(MAX_WAIT, || threads() <= first.0), "{} threads, and {} before", threads(), first.0);
    assert!(within(MAX_WAIT, || files() <= first.1), "{} files, and {} before", files(), first.1);
    assert!(server.rss_kib() < first.2 * 3 / 2, "{} KiB, and {} before", server.rss_kib(), first.2);
}

#[test]
fn a_request_is_not_cut_short_by_a_reload_with_a_short_drain_time() {
    for engine in ENGINES {
        let server = serve(engine, &["-t", "2", "--drain-time", "100ms"]);
        let mut held = server.send_get("/hold");
        thread::park_timeout(Duration::from_millis(200));
        deploy(&server, 2, 2);
        thread::park_timeout(Duration::from_millis(700));
        put(&server.folder, "go", "");
        let reply = held.reply().unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (200, "held by v1"), "{engine}\n{}", server.log());
    }
}

#[test]
fn streams_of_the_old_code_are_closed_after_the_drain_time() {
    for engine in ENGINES {
        let server = serve(engine, &["-t", "2", "--drain-time", "500ms", "--kill-time", "200ms"]);
        let mut stream = server.send_get("/stream");
        assert_eq!(stream.head().unwrap().status, 200);
        let old = ruby::workers(&server);
        deploy(&server, 2, 2);
        let begun = Instant::now();
        loop {
            let chunk = stream.chunk();
            // A silent stream ends the read too, with the client's timeout.
            assert!(begun.elapsed() < Duration::from_secs(10), "{engine}: the stream is open\n{}", server.log());
            let Ok(Some(chunk)) = chunk else { break };
            assert!(String::from_utf8_lossy(&chunk).starts_with("v1;"));
        }
        let leaving = || {
            let status = server.status();
            status["apps"][0]["leaving"].as_array().map_or(0, Vec::len)
        };
        assert!(within(MAX_WAIT, || leaving() == 0), "{engine}: {}", server.log());
        assert!(within(MAX_WAIT, || old.iter().all(|pid| !ruby::is_alive(*pid))), "{engine}: {}", server.log());
        assert_eq!(server.text("/"), "v2");
    }
}

/// The process that tries new code for this server, which must begin to.
fn trying(server: &Server) -> u32 {
    let is_it = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--try-to-load")
    };
    let mut found = None;
    let begun = within(MAX_WAIT, || {
        found = ruby::processes(server.id()).into_iter().find(is_it);
        found.is_some()
    });
    assert!(begun, "no process tries the new code:\n{}", server.log());
    found.unwrap()
}

#[test]
fn new_code_that_ends_its_process_while_it_is_loaded_is_refused() {
    let server = serve("mruby", &[]);
    put(&server.folder, "config.ru", &code(2, "nil until File.exist?(\"#{HERE}/go\")"));
    server.signal(Signal::USR1);
    // Rust leaves a SIGSEGV that is only sent without effect, once.
    successor::signal(trying(&server), Signal::ABORT);
    server.must_log("generation 2 failed, generation 1 goes on");
    assert!(server.log().contains("ends the embedded interpreter (SIGABRT) while it is loaded"), "{}", server.log());
    assert_eq!(server.text("/"), "v1");
    deploy(&server, 3, 3);
    assert_eq!(server.text("/"), "v3");
}
