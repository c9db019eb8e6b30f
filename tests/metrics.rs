//! The admin listener: metrics, health, who may look, and the live page in a real browser.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::clock::Clock;
use crate::support::successor::signal;
use crate::support::{Client, MAX_WAIT, Reply, Server, app, paths, ruby, server, within};
use rustix::process::Signal;

/// A server with an admin listener on a free port, and that port.
fn start(ru: &str, options: &[&str]) -> (Server, u16) {
    let server = Server::start(ru, &[&["--admin", "0"], options].concat());
    let port = server.admin_port();
    (server, port)
}

fn ask(port: u16, path: &str, headers: &str) -> Reply {
    let mut client = Client::tcp(port);
    let host = if headers.contains("Host: ") { "" } else { "Host: localhost\r\n" };
    client.send(format!("GET {path} HTTP/1.1\r\n{host}{headers}\r\n")).unwrap();
    client.reply().unwrap_or_else(|error| panic!("GET {path}: {error}"))
}

/// The samples of a text, by name with labels; each must stand under a head of its name.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut kinds = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            let (name, kind) = head.split_once(' ').unwrap();
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} has two heads");
        } else if !line.starts_with('#') {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let name = key.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let family = family.filter(|family| kinds.get(*family).is_some_and(|kind| kind == "histogram"));
            assert!(kinds.contains_key(family.unwrap_or(name)), "{line} has no head");
            assert!(samples.insert(key.to_owned(), value.parse().unwrap()).is_none(), "{key} stands there twice");
        }
    }
    samples
}

#[test]
fn metrics_count_what_happened() {
    let ru = paths(&[("/good", "text(1)"), ("/bad", "raise \"pyrite\""), ("/gone", "text(1, 410)")]);
    let (server, port) = start(&ru, &["--engine", "mruby"]);
    for (path, times) in [("/good", 5), ("/bad", 2), ("/gone", 3)] {
        for _ in 0..times {
            server.get(path);
        }
    }
    let reply = ask(port, "/metrics", "");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    let samples = samples(&reply.text());
    let value = |key: &str| *samples.get(key).unwrap_or_else(|| panic!("{key} is not in\n{}", reply.text()));
    let of = "app=\"app\",engine=\"mruby\"";
    assert_eq!(value(&format!("foolsgold_requests_total{{{of},code=\"2xx\"}}")), 5.0);
    // There before the first, so that an alert sees it come.
    assert_eq!(value(&format!("foolsgold_worker_ends_total{{{of},reason=\"crash\"}}")), 0.0);
    assert_eq!(value(&format!("foolsgold_requests_total{{{of},code=\"4xx\"}}")), 3.0);
    assert_eq!(value(&format!("foolsgold_errors_total{{{of},culprit=\"app\",fault=\"app_error\"}}")), 2.0);
    assert_eq!(value(&format!("foolsgold_errors_total{{{of},culprit=\"load\",fault=\"queue_full\"}}")), 0.0);
    assert_eq!(value("foolsgold_http_responses_total{code=\"5xx\"}"), 2.0);
    assert_eq!(value(&format!("foolsgold_service_time_seconds_count{{{of}}}")), 8.0);
    assert_eq!(value(&format!("foolsgold_service_time_seconds_bucket{{le=\"+Inf\",{of}}}")), 8.0);
    assert_eq!(value(&format!("foolsgold_queue_time_seconds_count{{{of}}}")), 10.0);
    assert_eq!(value(&format!("foolsgold_requests_ended_total{{{of}}}")), 10.0);
    assert_eq!(value(&format!("foolsgold_generation{{{of}}}")), 1.0);
    assert_eq!((value("foolsgold_ready"), value("foolsgold_draining")), (1.0, 0.0));
    assert!(value("process_resident_memory_bytes") > 1e6 && value("foolsgold_connections_accepted_total") >= 10.0);
}

#[test]
fn a_response_that_cannot_be_sent_is_counted_as_its_fault() {
    let two = "[200, { \"Content-Length\" => \"3\", \"content-length\" => \"4\" }, [\"gold\"]]";
    let (server, _) = start(&paths(&[("/", "text(1)"), ("/two", two)]), &["--engine", "mruby"]);
    assert_eq!((server.get("/").status, server.get("/two").status), (200, 500), "{}", server.log());
    let of = "app=\"app\",engine=\"mruby\"";
    assert_eq!(server.metric(&format!("foolsgold_requests_total{{{of},code=\"2xx\"}}")), 1.0);
    assert_eq!(server.metric(&format!("foolsgold_errors_total{{{of},culprit=\"app\",fault=\"bad_answer\"}}")), 1.0);
    assert_eq!(server.metric(&format!("foolsgold_queue_time_seconds_count{{{of}}}")), 2.0);
    let recorded = server.done(&["recorder", "--json"]);
    assert!(recorded.contains("\"/two\"") && recorded.contains("\"bad_answer\""), "{recorded}");
}

#[test]
fn a_body_that_breaks_off_and_a_client_that_leaves_the_queue_are_counted_as_errors() {
    let broken = "[200, {}, Enumerator.new { |out| out << \"x\" * 100_000; sleep 0.05; raise \"pyrite\" }]";
    let hold = "[200, {}, Enumerator.new { |out| out << \"held\"; sleep 0.005 until File.exist?(\"go\") }]";
    let ru = paths(&[("/broken", broken), ("/hold", hold), ("/wait", "text(1)")]);
    let ruby = ruby::program();
    for (engine, options) in [("mruby", vec!["-t", "1"]), ("ruby", vec!["--ruby", &ruby, "-w", "1", "-t", "1"])] {
        let (server, _) = start(&ru, &[&["--engine", engine], &options[..]].concat());
        let value = |key: &str| server.metric(key);
        let of = format!("app=\"app\",engine=\"{engine}\"");
        let mut client = server.send_get("/broken");
        let head = client.head().unwrap();
        assert!(client.body(&head).is_err(), "an answer that broke off looks whole");
        assert_eq!(value(&format!("foolsgold_errors_total{{{of},culprit=\"app\",fault=\"app_error\"}}")), 1.0);
        assert_eq!(value(&format!("foolsgold_requests_total{{{of},code=\"2xx\"}}")), 1.0, "it has a status, too");
        let recorded = server.done(&["recorder", "--json"]);
        assert!(recorded.contains("\"/broken\"") && recorded.contains("\"app_error\""), "{recorded}");
        let mut held = server.send_get("/hold");
        assert_eq!(held.head().unwrap().status, 200);
        let waiting: Vec<Client> = (0..3).map(|_| server.send_get("/wait")).collect();
        let depth = format!("foolsgold_queue_depth{{{of}}}");
        assert!(within(MAX_WAIT, || value(&depth) == 3.0), "{}", server.log());
        drop(waiting);
        assert!(within(MAX_WAIT, || server.log().matches("client_gone").count() == 3), "{}", server.log());
        let gone = format!("foolsgold_errors_total{{{of},culprit=\"client\",fault=\"client_gone\"}}");
        fs::write(server.folder.join("go"), "").unwrap();
        assert!(within(MAX_WAIT, || value(&gone) == 3.0), "{}\n{}", value(&gone), server.log());
        assert_eq!(value(&format!("foolsgold_queue_time_seconds_count{{{of}}}")), 5.0, "they have waited, too");
        let all = value(&format!("foolsgold_requests_ended_total{{{of}}}"));
        assert_eq!(all, 5.0, "what broke off has a status and a fault, and is one request");
    }
}

#[test]
fn workers_that_died_are_counted_over_reloads() {
    let options = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "2"];
    let (server, port) = start(&paths(&[("/", "text(1)")]), &options);
    let ends = || {
        let text = ask(port, "/metrics", "").text();
        let all = samples(&text).into_iter();
        all.filter(|(key, _)| key.starts_with("foolsgold_worker_ends_total") && key.contains("crash"))
            .map(|(_, n)| n)
            .sum::<f64>()
    };
    signal(ruby::workers(&server)[0], Signal::KILL);
    assert!(within(MAX_WAIT, || ends() == 1.0), "{}", server.log());
    for generation in 2..4 {
        server.signal(Signal::USR1);
        let serves = format!("generation {generation} serves");
        assert!(within(MAX_WAIT, || {
            assert_eq!(ends(), 1.0, "{}", server.log());
            server.log().contains(&serves)
        }));
    }
    // The old code is gone after a while.
    let is_gone = || server.log().matches("exited with status 0").count() >= 4;
    assert!(within(MAX_WAIT, || ends() == 1.0 && is_gone()), "{}", server.log());
    assert_eq!(ends(), 1.0);
}

#[test]
fn each_state_of_a_worker_has_a_number_before_there_is_one_in_it() {
    let options = ["--engine", "ruby", "--ruby", &ruby::program(), "-w", "1"];
    let (_server, port) = start(&app("", "\"gold\""), &options);
    let text = ask(port, "/metrics", "").text();
    let samples = samples(&text);
    for state in ["booting", "ready", "out_of_band", "draining", "hung", "stopped"] {
        let key = format!("foolsgold_workers{{app=\"app\",engine=\"ruby\",state=\"{state}\"}}");
        assert!(samples.contains_key(&key), "{key} is not in\n{text}");
    }
}

#[test]
fn a_failed_deploy_and_a_pause_are_shown_until_they_are_over() {
    let (server, _) = start(&app("", "\"gold\""), &["--engine", "mruby"]);
    let value = |name: &str| server.metric(&format!("{name}{{app=\"app\",engine=\"mruby\"}}"));
    let deployed = |is_ok: f64| {
        let is_over = || value("foolsgold_last_deploy_ok") == is_ok && value("foolsgold_reloading") == 0.0;
        within(MAX_WAIT, is_over)
    };
    assert!(deployed(1.0), "{}", server.log());
    let began = value("foolsgold_last_deploy_time_seconds");
    fs::write(server.folder.join("config.ru"), app("raise \"pyrite\"", "\"gold\"")).unwrap();
    let (code, said) = server::stderr_of(&server.folder, &[], &["reload"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(deployed(0.0), "{}", server.log());
    assert_eq!(value("foolsgold_generation"), 1.0);
    assert!(value("foolsgold_last_deploy_time_seconds") > began);
    fs::write(server.folder.join("config.ru"), app("", "\"gold\"")).unwrap();
    server.done(&["reload"]);
    assert!(deployed(1.0), "{}", server.log());
    assert!(value("foolsgold_generation") > 1.0);

    assert_eq!(value("foolsgold_paused"), 0.0);
    server.done(&["pause"]);
    assert_eq!(value("foolsgold_paused"), 1.0);
    let mut waiting = server.send_get("/");
    let waits = || value("foolsgold_queue_depth") == 1.0 && value("foolsgold_queue_oldest_seconds") > 0.0;
    assert!(within(MAX_WAIT, waits), "{}", server.log());
    server.done(&["resume"]);
    assert_eq!(waiting.reply().unwrap().status, 200);
    assert_eq!((value("foolsgold_paused"), value("foolsgold_queue_depth")), (0.0, 0.0));
}

#[test]
fn prometheus_gets_the_newer_form_when_it_asks_for_it() {
    let (_server, port) = start(&app("", "\"gold\""), &[]);
    let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5\r\n";
    let reply = ask(port, "/metrics", accept);
    assert!(reply.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    let text = reply.text();
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE foolsgold_requests counter\n"), "{text}");
}

#[test]
fn the_page_about_metrics_names_them_all_and_no_others() {
    let (_server, port) = start(&app("", "\"gold\""), &["--engine", "ruby"]);
    let look = || ask(port, "/metrics", "").text();
    // The memory of workers is read when they have been there for a moment.
    assert!(within(MAX_WAIT, || look().contains("process=\"workers\"")), "{}", look());
    let text = look();
    let heads = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let shown: BTreeSet<&str> = heads.map(|head| head.split(' ').next().unwrap()).collect();
    let page = fs::read_to_string(server::repository().join("docs/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `foolsgold_") || line.starts_with("| `process_"));
    let named: BTreeSet<&str> =
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').filter(|part| part.contains('_'))).collect();
    let missing: Vec<_> = shown.difference(&named).collect();
    assert!(missing.is_empty(), "docs/metrics.md does not name {missing:?}");
    // Until a worker has ended there is no reason to show.
    let gone: Vec<_> = named.difference(&shown).collect();
    assert!(gone.is_empty(), "docs/metrics.md names {gone:?}, and there is nothing of that name");
}

/// An alert on a metric, or a label, that does not exist never fires.
#[test]
fn the_alerts_on_the_page_about_metrics_are_on_metrics_and_labels_that_there_are() {
    let (_server, port) = start(&app("", "\"gold\""), &["--engine", "mruby"]);
    let samples = samples(&ask(port, "/metrics", "").text());
    let page = fs::read_to_string(server::repository().join("docs/metrics.md")).unwrap();
    let (_, alerts) = page.split_once("Useful alerts:").unwrap();
    let mut count = 0;
    for (at, _) in alerts.match_indices("foolsgold_") {
        let rest = &alerts[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let keys: Vec<&String> = samples.keys().filter(|key| key.split('{').next() == Some(name)).collect();
        assert!(!keys.is_empty(), "there is no {name}");
        let labels = after.strip_prefix('{').and_then(|after| after.split_once('}')).map_or("", |(labels, _)| labels);
        for matcher in labels.split(',').filter(|matcher| !matcher.is_empty()) {
            let (label, values) = matcher.split_once('=').unwrap();
            for value in values.trim_start_matches('~').trim_matches('"').split('|') {
                let wanted = format!("{}=\"{value}\"", label.trim_end_matches('!'));
                assert!(keys.iter().any(|key| key.contains(&wanted)), "no {name} has {wanted}: {keys:?}");
            }
        }
        count += 1;
    }
    assert!(count >= 9, "{count} in {alerts}");
}

#[test]
fn without_a_token_only_this_machine_may_look_by_its_own_name() {
    let (_server, port) = start(&app("", "\"gold\""), &[]);
    for host in ["Host: localhost\r\n", "Host: 127.0.0.1:1\r\n", "Host: [::1]\r\n"] {
        assert_eq!(ask(port, "/v1/status", host).status, 200, "{host}");
    }
    let reply = ask(port, "/v1/status", "Host: gold.example\r\n");
    assert!(reply.status == 403 && reply.text().contains("--admin-token"), "{}", reply.text());
    assert_eq!(ask(port, "/readyz", "Host: gold.example\r\n").status, 200);
    let reply = Client::tcp(port).ask("POST /v1/stop HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n");
    assert!(reply.status == 403 && reply.text().contains("only the control socket takes orders"), "{}", reply.text());
    for path in ["/metrics", "/", "/v1/status"] {
        let request = format!("POST {path} HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n");
        let reply = Client::tcp(port).ask(&request);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")), "{path}: {}", reply.text());
    }
}

#[test]
fn a_token_is_asked_for_and_never_logged() {
    let token = "a-token-of-24-letters-or";
    let (server, port) = start(&app("", "\"gold\""), &["--admin-token", token]);
    let refused = ask(port, "/metrics", "");
    assert_eq!((refused.status, refused.header("www-authenticate").is_some()), (401, true));
    assert_eq!(ask(port, "/metrics", &format!("Authorization: Bearer {token}x\r\n")).status, 401);
    assert_eq!(ask(port, "/metrics", &format!("Authorization: Bearer {token}\r\n")).status, 200);
    // "any:a-token-of-24-letters-or"
    let basic = "Authorization: Basic YW55OmEtdG9rZW4tb2YtMjQtbGV0dGVycy1vcg==\r\n";
    assert_eq!(ask(port, "/", basic).status, 200);
    assert_eq!(ask(port, "/healthz", "").status, 200);
    assert!(!server.log().contains(token), "{}", server.log());
}

#[test]
fn an_address_for_other_machines_needs_a_token() {
    let folder = server::folder_with(&[("config.ru", &app("", "\"gold\""))]);
    for (options, words) in [
        (&["--admin", "tcp://0.0.0.0:0"][..], "can be reached from other machines"),
        (&["--admin", "0", "--admin-token", "short"], "at least 16"),
        (&["--admin", "here"], "or only a port, or off"),
    ] {
        let (code, said) = server::stderr_of(&folder, &[], options);
        assert!(code == Some(2) && said.contains(words), "{options:?}: {said}");
        assert!(!said.contains("short"), "{said}");
    }
    let open = Server::start(&app("", "\"gold\""), &["--admin", "tcp://0.0.0.0:0", "--admin-token", "none"]);
    assert!(open.log().contains("are on http://0.0.0.0:"), "{}", open.log());
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_may_do_nothing() {
    let (_server, port) = start(&app("", "\"gold\""), &[]);
    for (path, media_type) in [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")] {
        let reply = ask(port, path, "");
        assert!(reply.header("content-type").unwrap().starts_with(media_type), "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("-inline") && !policy.contains("-eval"),
            "{policy}"
        );
        let outside = ["https://", "//cdn", "@import"].iter().find(|word| reply.text().contains(**word));
        assert_eq!(outside, None, "{path}");
    }
}

/// Chromium, if there is one on this machine.
fn browser() -> Option<&'static str> {
    let is_there = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
    ["chromium", "chromium-browser", "google-chrome"].iter().find(is_there).copied()
}

/// The page as the browser has it after some seconds.
fn dom(browser: &str, url: &str, profile: &std::path::Path) -> String {
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=5000"];
    let profile = format!("--user-data-dir={}", profile.display());
    let output = Command::new(browser).args(flags).args([profile.as_str(), url]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_person_sees_in_a_browser_what_the_server_does() {
    let Some(browser) = browser() else {
        eprintln!("there is no chromium on this machine: the page was not looked at");
        return;
    };
    let ru = paths(&[("/good", "text(1)"), ("/stuck", "sleep 30; text(1)"), ("/bad", "raise \"pyrite <b>\"")]);
    let token = "0123456789abcdef";
    let (server, port) = start(&ru, &["--engine", "ruby", "-w", "2", "-t", "2", "--admin-token", token]);
    let _stuck = server.send_get("/stuck?secret=1");
    for path in ["/good", "/bad", "/good"] {
        server.get(path);
    }
    // As in a bookmark: scripts of such a page cannot fetch an address with a password in it.
    let dom = whole_page(browser, &server, &format!("http://me:{token}@127.0.0.1:{port}/"));
    // What clients wait for is more than that, when there is a queue.
    assert!(dom.contains("Time in the application") && !dom.contains("Response time"), "{dom}");
    for words in ["serving", &format!("pid {}", server.id()), "/stuck", "/bad", "Generation 1", "class=\"line\""] {
        assert!(dom.contains(words), "{words:?} is not on the page:\n{dom}");
    }
    assert!(!dom.contains("secret") && !dom.contains("pyrite <b>"), "{dom}");
    assert!(dom.contains("No request was refused since the start."), "{dom}");
}

/// Who reads that they boot waits for them.
#[test]
fn the_page_says_in_which_state_the_workers_are_of_which_none_is_ready() {
    let Some(browser) = browser() else { return };
    let ruby = ruby::program();
    let (server, port) = start(&paths(&[("/", "text(1)")]), &["--engine", "ruby", "--ruby", &ruby, "-w", "2"]);
    ruby::expect_ready(&server, 2);
    let workers = ruby::workers(&server);
    let send = |number| workers.iter().for_each(|pid| signal(*pid, number));
    send(Signal::STOP);
    let dom = whole_page(browser, &server, &format!("http://127.0.0.1:{port}/"));
    send(Signal::CONT);
    assert!(dom.contains("No worker is ready.") && dom.contains("2 stopped; requests wait."), "{dom}");
}

/// The page with its curves.
fn whole_page(browser: &str, server: &Server, url: &str) -> String {
    // The first look of a page that has just opened may come before the server has taken note of everything.
    let profile = server.folder.join("browser");
    let is_whole = |page: &String| page.contains("class=\"line\"");
    let looks = (0..4).map(|_| dom(browser, url, &profile));
    looks.reduce(|last, next| if is_whole(&last) { last } else { next }).unwrap()
}

/// Runs functions of the page's script in Chromium, with a script that calls them and leaves its result in
/// `document.body.title`; returns that.
fn result(browser: &str, functions: &[&str], script: &str) -> String {
    let page = include_str!("../crates/server/src/admin/page/page.js");
    let texts = functions.iter().map(|head| {
        let (_, rest) = page.split_once(head).unwrap_or_else(|| panic!("no {head:?} in page.js"));
        format!("{head}{}\n}}\n", rest.split_once("\n}\n").unwrap().0)
    });
    let functions: String = texts.collect();
    let html = format!("<!doctype html><body><script>\n{functions}\n{script}\n</script></body>");
    let folder = server::folder_with(&[("functions.html", &html)]);
    let dom = dom(browser, &format!("file://{}/functions.html", folder.display()), &folder.join("browser"));
    let result = dom.split_once("<body title=\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
    result.unwrap_or_else(|| panic!("no result: {dom}"))
}

/// The timer and a click may look at once, and the server's second answer be read before its first.
#[test]
fn the_curves_stay_whole_when_answers_come_in_the_wrong_order() {
    let Some(browser) = browser() else { return };
    let script = r#"
        const state = { step: "second", past: new Map() };
        const answers = [];
        const ask = () => new Promise((done) => answers.push(done));
        const points = (from, next) => {
          const at_ms = Array.from({ length: next - from }, (_, i) => from + i);
          return { apps: [{ app: "app", from, next, at_ms }] };
        };
        const seen = () => {
          const { next, at_ms } = state.past.get("second").get("app");
          return `${next} ${at_ms.length} ${at_ms.every((at, i) => at === i)}`;
        };
        (async () => {
          const first = askHistory();
          answers[0](points(0, 100));
          await first;
          const [timer, click] = [askHistory(), askHistory()];
          answers[2](points(100, 102));
          await click;
          answers[1](points(100, 101));
          await timer;
          const whole = seen();
          // The server was started anew: what comes of the old one is not put back.
          const [old, anew] = [askHistory(), (state.past.clear(), askHistory())];
          answers[4](points(0, 3));
          await anew;
          answers[3](points(102, 103));
          await old;
          document.body.title = `${whole}, ${seen()}`;
        })();
    "#;
    assert_eq!(result(browser, &["async function askHistory() {"], script), "102 102 true, 3 3 true");
}

/// Beside the banner that none of them can be started.
#[test]
fn a_request_starts_a_worker_only_where_none_is_always_to_run() {
    let Some(browser) = browser() else { return };
    let script = "document.body.title = [{ min: 0, max: 4 }, { min: 1, max: 4 }].map(noWorker).join(' | ');";
    let words = result(browser, &["function noWorker(pool) {"], script);
    assert_eq!(words, "No worker runs. The next request starts one. | No worker runs.");
}

#[test]
fn a_tile_shows_all_of_a_long_time() {
    let Some(browser) = browser() else { return };
    let script = "document.body.title = ['12 ms', '1 min 59 s', '2 min'].map((it) => split(it).join('|')).join(', ');";
    let words = result(browser, &["function split(words) {"], script);
    assert_eq!(words, "12|ms, 1|min 59 s, 2|min");
}

/// The x coordinates of each line on the page.
fn lines(dom: &str) -> Vec<Vec<f64>> {
    let lines = dom.split("<path class=\"line\" d=\"M").skip(1).map(|rest| rest.split('"').next().unwrap());
    let x = |point: &str| point.split(' ').next().unwrap().parse::<f64>().unwrap();
    lines.map(|line| line.split('L').map(x).collect()).collect()
}

/// As in a container whose machine has slept, or after the server's clock was set.
#[test]
fn the_page_shows_the_servers_times_whatever_the_clocks_are() {
    let Some(browser) = browser() else { return };
    let folder = server::folder_with(&[("config.ru", &app("", "'gold'"))]);
    let Some(clock) = Clock::in_folder(&folder) else { return };
    clock.set(7_200);
    let options = ["-b", "tcp://127.0.0.1:0", "-t", "1", "--admin", "0"];
    let server = Server::spawn(folder, &clock.environment(), &options);
    let port = server.admin_port();
    let times = || {
        let text = ask(port, "/v1/history?step=second", "").text();
        let history: serde_json::Value = serde_json::from_str(&text).unwrap();
        let times = history["apps"][0]["at_ms"].as_array().unwrap().iter();
        times.map(|time| time.as_u64().unwrap()).collect::<Vec<u64>>()
    };
    let has_back = |hours: u64| {
        let times = times();
        let first = times[0] - hours * 3_600_000;
        times.iter().filter(|time| time.abs_diff(first) < 600_000).count() > 3
    };
    for hours in [0, 2, 4] {
        clock.set(7_200 - 3_600 * i64::try_from(hours).unwrap());
        assert!(within(MAX_WAIT, || times().len() > 1 && has_back(hours)), "{:?}", times());
        let dom = whole_page(browser, &server, &format!("http://127.0.0.1:{port}/"));
        let lines = lines(&dom);
        assert!(!lines.is_empty(), "{hours} h back:\n{dom}");
        assert!(lines.iter().all(|line| line.is_sorted()), "{hours} h back: {lines:?}");
    }
}

/// Somebody who looks because clients get 503 must not read that all is well.
#[test]
fn refused_requests_are_on_the_page_and_in_the_api() {
    let ru = paths(&[("/good", "text(1)"), ("/stuck", "sleep 30; text(1)")]);
    let (server, port) = start(&ru, &["--engine", "ruby", "-w", "1", "-t", "1", "--queue", "0"]);
    let _stuck = server.send_get("/stuck");
    let runs = || ask(port, "/v1/recorder", "").text().contains("/stuck");
    assert!(within(Duration::from_secs(30), runs), "{}", server.log());
    // A rate is what came between two looks.
    let noted = || ask(port, "/v1/history?step=second", "").text();
    let looks = |text: &str| Some(text.split_once("\"at_ms\":[")?.1.split(']').next()?.split(',').count());
    assert!(within(Duration::from_secs(30), || looks(&noted()) >= Some(2)), "{}", noted());
    let refused = (0..5).filter(|_| server.get("/good").status == 503).count();
    assert_eq!(refused, 5, "{}", server.log());
    let value = |name: &str| server.metric(&format!("{name}{{app=\"app\",engine=\"ruby\"}}"));
    let waits = value("foolsgold_queue_time_seconds_count");
    assert_eq!((waits, value("foolsgold_requests_ended_total")), (0.0, 5.0), "who is refused at once has not waited");
    let words = "in the queue are taken. More requests come than are answered";
    assert!(server.logs(words) && server.log().matches(words).count() < 5, "not one line for each: {}", server.log());
    let recorder = ask(port, "/v1/recorder", "").text();
    let (_, kept) = recorder.split_once("\"refused\":[").unwrap_or_else(|| panic!("{recorder}"));
    assert!(kept.contains("\"queue_full\"") && kept.contains("\"/good\""), "{recorder}");
    let said = server.done(&["recorder"]);
    assert!(said.split("refused of late:").nth(1).is_some_and(|rows| rows.contains("queue_full")), "{said}");
    let columns = ["refused_rate", "server_memory_kib", "memory_used_kib", "memory_limit_kib"];
    let has_some = |column: &str| {
        let text = noted();
        let (_, values) = text.split_once(&format!("\"{column}\":[")).unwrap_or_else(|| panic!("{column}: {text}"));
        values.split(']').next().unwrap().split(',').any(|value| value.parse().is_ok_and(|value: f64| value > 0.0))
    };
    for column in columns {
        assert!(within(Duration::from_secs(30), || has_some(column)), "{column}: {}", noted());
    }
    let Some(browser) = browser() else { return };
    let dom = whole_page(browser, &server, &format!("http://127.0.0.1:{port}/"));
    for words in
        ["5 refused since the start", "since the start: queue full 5", "queue full</span>", "No request has failed"]
    {
        assert!(dom.contains(words), "{words:?} is not on the page:\n{dom}");
    }
}

#[test]
fn the_servers_own_probe_is_no_request() {
    for engine in ["mruby", "ruby"] {
        let options = ["--engine", engine, "--probe", "/up", "--ruby", &ruby::program()];
        let (server, port) =
            start(&paths(&[("/up", "sleep 0.05; text(1)")]), &[&options[..], &["--slow-time", "10ms"]].concat());
        server.reload("generation 2 serves");
        let text = ask(port, "/metrics", "").text();
        for (key, value) in samples(&text) {
            let is_of_requests = ["foolsgold_requests_total", "foolsgold_service_time_seconds_count"];
            assert!(!is_of_requests.iter().any(|name| key.starts_with(name)) || value == 0.0, "{engine} {key} {value}");
        }
        let recorder = server.done(&["recorder", "--json"]);
        assert!(!recorder.contains("/up"), "{recorder}");
    }
}
