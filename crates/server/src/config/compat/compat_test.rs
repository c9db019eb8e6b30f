//! Detection of files, and translation of single directives. Ruby files are tested in tests/compat_configs.rs, with a
//! Ruby to read them.

use serde_json::{Value, json};

use super::translation::Rule::{Same, Seconds, SecondsOrNone, Switch};
use super::*;
use crate::config::arguments::ask;
use crate::config::options::Row;
use crate::config::signal_map::Habit;

fn call(name: &str, args: Value) -> Directive {
    let Value::Array(args) = args else { panic!("{args} must be a list") };
    Directive { name: name.to_owned(), line: Some(1), file: None, args, written: name.to_owned() }
}

fn translated(kind: ServerKind, calls: &[(&str, Value)]) -> Translation {
    let calls = calls.iter().map(|(name, args)| call(name, args.clone())).collect();
    Translation::of(kind, "the file".to_owned(), Path::new(""), calls)
}

/// Values of these options; empty without one.
fn values<const N: usize>(kind: ServerKind, calls: &[(&str, Value)], keys: [&str; N]) -> [String; N] {
    let translation = translated(kind, calls);
    keys.map(|key| translation.value(key).unwrap_or_default().to_owned())
}

/// Translation of Passenger's file, with these variables beside it.
fn of_passenger(json: &str, variables: &[(&str, &str)]) -> Translation {
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let calls = passenger::read(json, variable).unwrap();
    Translation::of(ServerKind::Passenger, "the file".to_owned(), Path::new(""), calls)
}

/// Translation of one directive: `option=value`, and the kinds of remarks.
fn of(kind: ServerKind, name: &str, args: Value) -> (Vec<String>, Vec<RemarkKind>) {
    let translation = translated(kind, &[(name, args)]);
    let said = translation.settings.iter().filter(|setting| setting.place.line.is_some());
    let settings = said.map(|setting| format!("{}={}", setting.row.long, setting.value)).collect();
    (settings, translation.remarks.iter().map(|remark| remark.kind).collect())
}

#[test]
fn files_are_known_by_name_and_by_content() {
    let of = |name: &str, text: &str| ServerKind::of(Path::new(name), text);
    for (name, kind) in [
        ("config/puma.rb", ServerKind::Puma),
        ("config/puma/production.rb", ServerKind::Puma),
        ("config/unicorn.conf.rb", ServerKind::Unicorn),
        ("config/rainbows.conf.rb", ServerKind::Unicorn),
        ("/etc/pitchfork.rb", ServerKind::Pitchfork),
        ("thin.yml", ServerKind::Thin),
        ("config/thin.production.yaml", ServerKind::Thin),
        ("Passengerfile.json", ServerKind::Passenger),
    ] {
        assert_eq!(of(name, ""), Ok(Some(kind)), "{name}");
    }
    assert_eq!(of("server.toml", "worker_processes 4"), Ok(None));
    assert_eq!(of("server", "threads = 3\nbind = \"x\""), Ok(None));
    assert_eq!(of("server", "threads 1, 3\nbind \"x\""), Ok(Some(ServerKind::Puma)));
    assert_eq!(of("server.rb", "# x\nworker_processes(4)\nlisten 3\n"), Ok(Some(ServerKind::Unicorn)));
    assert_eq!(of("server.rb", "Rainbows! do\n  use :ThreadPool\nend\n"), Ok(Some(ServerKind::Unicorn)));
    assert_eq!(of("server.rb", "refork_after [50]\nlisten 3\nspawn_timeout 3"), Ok(Some(ServerKind::Pitchfork)));
    assert!(of("server.rb", "before_fork { }").unwrap_err().contains("call it *.toml, puma.rb"));
    // The folder of an application may be called after a server that it does not run on any more.
    assert_eq!(of("/srv/puma-shop/server.rb", "worker_processes 4"), Ok(Some(ServerKind::Unicorn)));
}

#[test]
fn hooks_of_this_program_are_its_own_in_a_folder_that_is_called_after_another() {
    let folder = tempfile::tempdir().unwrap();
    for (name, kind) in [
        ("unicorn-shop/hooks.rb", ""),
        ("puma/foolsgold.rb", ""),
        ("puma/production.rb", "puma"),
        ("shop/unicorn.conf.rb", "unicorn"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "after_fork { |worker| worker }\n").unwrap();
        assert_eq!(hooks_kind(&path), Ok(kind), "{name}");
    }
}

#[test]
fn no_directive_is_known_twice_and_every_option_that_is_named_is_one() {
    for kind in [ServerKind::Puma, ServerKind::Unicorn, ServerKind::Thin, ServerKind::Passenger] {
        let mut names: Vec<&str> = kind.rules().iter().map(|(name, _)| *name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{kind:?}");
        for (name, rule) in kind.rules() {
            let (Same(key) | Seconds(key) | SecondsOrNone(key) | Switch(key, ..)) = *rule else { continue };
            let is_option = Row::called(key).is_some_and(|row| row.long == key);
            assert!(is_option, "{kind:?}: {name} is said to be --{key}");
        }
    }
}

#[test]
fn addresses_of_puma() {
    let bind = |args: Value| of(ServerKind::Puma, "bind", args);
    assert_eq!(bind(json!(["tcp://[::1]:3"])), (vec!["bind=tcp://[::1]:3".to_owned()], vec![]));
    for (written, query) in [
        ("?umask=0111&mode=0660", "?umask=0111&mode=0660"),
        // As Ruby's Integer() reads it.
        ("?umask=73", "?umask=0111"),
        ("?umask=775", "?umask=0407"),
        ("?backlog=5&&", "?backlog=5"),
    ] {
        let expected = vec![format!("bind=unix:///x{query}")];
        assert_eq!(bind(json!([format!("unix:///x{written}")])), (expected, vec![]), "{written}");
    }
    let one_slash = bind(json!(["unix:/run/x?umask=0117&backlog=64"]));
    assert_eq!(one_slash, (vec!["bind=unix:///run/x?umask=0117&backlog=64".to_owned()], vec![]));
    let unknown = bind(json!(["tcp://a:1?reuse=yes&low_latency=true"]));
    assert_eq!(unknown, (vec!["bind=tcp://a:1?low_latency=true".to_owned()], vec![RemarkKind::Needless]));
    assert_eq!(bind(json!(["ssl://x:1?key=k"])), (vec![], vec![RemarkKind::Refused]));
    assert!(bind(json!(["unix://tmp/x"])).0[0].starts_with("bind=unix:///"));
    assert_eq!(of(ServerKind::Puma, "port", json!(["3000", "::1"])).0, ["bind=tcp://[::1]:3000"]);
    // As of a variable that is not set: "tcp://#{ENV["BIND_IP"]}:3000".
    let no_host = bind(json!(["tcp://:3000?backlog=5"]));
    assert_eq!(no_host, (vec!["bind=tcp://0.0.0.0:3000?backlog=5".to_owned()], vec![]));
    for (uri, expected) in [
        ("tcp://127.0.0.1:1?umask=0111&mode=0600&backlog=100000", "bind=tcp://127.0.0.1:1?backlog=65535"),
        ("unix:///x?low_latency=true&umask=0111", "bind=unix:///x?umask=0111"),
    ] {
        let found = of(ServerKind::Puma, "bind", json!([uri]));
        assert_eq!(found, (vec![expected.to_owned()], vec![RemarkKind::Needless]), "{uri}");
    }
    let several = translated(
        ServerKind::Puma,
        &[("port", json!([1])), ("clear_binds!", json!([])), ("port", json!([2])), ("port", json!([3]))],
    );
    let binds: Vec<&str> =
        several.settings.iter().filter(|one| one.row.long == "bind").map(|one| one.value.as_str()).collect();
    assert_eq!(binds, ["tcp://[::]:2", "tcp://[::]:3"]);
}

#[test]
fn numbers_and_times_of_puma() {
    for (name, args, expected) in [
        ("threads", json!([5, 5]), "threads=5"),
        ("threads", json!(["1", "6"]), "threads=1:6"),
        ("threads", json!([7]), "threads=7"),
        ("workers", json!(["auto"]), "workers=auto"),
        ("first_data_timeout", json!([0.5]), "header-time=500ms"),
        ("persistent_timeout", json!(["20"]), "keep-alive=20s"),
        ("force_shutdown_after", json!(["forever"]), "drain-time=24h"),
        ("force_shutdown_after", json!(["immediately"]), "drain-time=0s"),
        ("log_requests", json!([]), "access-log=text"),
        ("quiet", json!([]), "access-log=off"),
        // nil is false, and for a number 0.
        ("quiet", json!([null]), "access-log=text"),
        ("log_requests", json!([null]), "access-log=off"),
        ("preload_app!", json!([null]), "preload=no"),
        ("early_hints", json!([null]), "early-hints=no"),
        ("workers", json!([null]), "workers=0"),
        ("workers", json!([""]), "workers=0"),
        // The output of `nproc`, and half of four processors.
        ("workers", json!(["8\n"]), "workers=8"),
        ("workers", json!([2.0]), "workers=2"),
        ("threads", json!([" 5", "5\n"]), "threads=5"),
        ("threads", json!([1.0, 3.0]), "threads=1:3"),
        ("port", json!(["3000\n"]), "bind=tcp://[::]:3000"),
        ("http_content_length_limit", json!([1_048_576.0]), "body-bytes=1048576"),
        // Longer than the longest time.
        ("worker_timeout", json!([99_999_999]), "worker-timeout=0s"),
        ("persistent_timeout", json!([99_999_999]), "keep-alive=24h"),
        ("force_shutdown_after", json!([99_999_999]), "drain-time=24h"),
        ("http_content_length_limit", json!([1_572_864.5]), "body-bytes=1572864"),
        // As of a variable that is not set.
        ("bind_to_activated_sockets", json!([null]), "bind-to-activated-sockets=no"),
        ("bind_to_activated_sockets", json!([]), "bind-to-activated-sockets=yes"),
        ("debug", json!([]), "log=debug"),
    ] {
        assert_eq!(of(ServerKind::Puma, name, args).0, [expected], "{name}");
    }
    // A heartbeat here as there, so nothing is to be said.
    let heartbeat = of(ServerKind::Puma, "worker_timeout", json!([90]));
    assert_eq!(heartbeat, (vec!["worker-timeout=90s".to_owned()], vec![]));
    // In single mode there is none in Puma, and a debugger may stop the process for longer than that.
    let short = ("worker_timeout", json!([15]));
    assert_eq!(of(ServerKind::Puma, short.0, short.1.clone()), (vec![], vec![RemarkKind::Needless]));
    let of_cluster = translated(ServerKind::Puma, &[short.clone(), ("workers", json!([2]))]);
    assert_eq!(of_cluster.value("worker-timeout"), Some("15s"));
    let of_none = translated(ServerKind::Puma, &[short, ("workers", json!([0]))]);
    assert_eq!(of_none.value("worker-timeout"), None);
    let with_cleanup = translated(ServerKind::Pitchfork, &[("timeout", json!([10, { "cleanup": 3 }]))]);
    assert_eq!(["request-time", "kill-time"].map(|key| with_cleanup.value(key)), [Some("10s"), Some("3s")]);
    // A request that asks for more time is interrupted all the same.
    assert!(with_cleanup.remarks.iter().any(|remark| remark.why.contains("pitchfork.timeout")));
    // Rails takes longer to load than a worker from its fork until it is ready.
    let spawn = of(ServerKind::Pitchfork, "spawn_timeout", json!([10]));
    assert_eq!(spawn, (vec![], vec![RemarkKind::Needless]));
    let addresses = |calls: &[(&str, Value)]| {
        let all = translated(ServerKind::Puma, calls);
        [all.value("host"), all.value("bind")].map(|value| value.map(str::to_owned))
    };
    let host = ("set_default_host", json!(["127.0.0.1"]));
    assert_eq!(addresses(std::slice::from_ref(&host)), [Some("127.0.0.1".to_owned()), None]);
    let port = ("port", json!([3000]));
    let local = [None, Some("tcp://127.0.0.1:3000".to_owned())];
    assert_eq!(addresses(&[host.clone(), port.clone()]), local);
    assert_eq!(addresses(&[port, host]), [None, Some("tcp://[::]:3000".to_owned())], "it is for later ones");
    let usual = |calls: Vec<Directive>| {
        let beside = Beside { host: Some("localhost".to_owned()), ..Beside::default() };
        let (shown, home) = ("the file".to_owned(), Path::new(""));
        Translation::with(beside, ServerKind::Puma, shown, home, calls).value("bind").map(str::to_owned)
    };
    let three_thousand = || call("port", json!([3000]));
    assert_eq!(usual(vec![three_thousand()]).as_deref(), Some("tcp://localhost:3000"), "as under `rails server`");
    let own = call("set_default_host", json!(["::1"]));
    assert_eq!(usual(vec![own, three_thousand()]).as_deref(), Some("tcp://[::1]:3000"));
    let drain = |calls: &[(&str, Value)]| translated(ServerKind::Puma, calls).value("drain-time").map(str::to_owned);
    let force = |time: Value| ("force_shutdown_after", json!([time]));
    let (workers, shutdown) = (("workers", json!([2])), ("worker_shutdown_timeout", json!([20])));
    // The master of a cluster kills workers that have not ended, whatever they wait for.
    assert_eq!(drain(&[workers.clone(), force(json!("forever"))]).as_deref(), Some("30s"));
    assert_eq!(drain(&[workers.clone(), shutdown.clone(), force(json!(120))]).as_deref(), Some("20s"));
    assert_eq!(drain(&[workers.clone(), force(json!(10)), shutdown.clone()]).as_deref(), Some("10s"));
    assert_eq!(drain(&[shutdown.clone(), workers]).as_deref(), Some("20s"));
    assert_eq!(drain(std::slice::from_ref(&shutdown)), None, "a single process has no workers to end");
    let remarks = of(ServerKind::Puma, "worker_shutdown_timeout", json!([8])).1;
    assert_eq!(remarks, [RemarkKind::Needless]);
    assert_eq!(drain(&[force(json!(120)), shutdown]).as_deref(), Some("2m"), "a single process knows one of them");
    let value = |calls: &[(&str, Value)]| translated(ServerKind::Puma, calls).value("preload").map(str::to_owned);
    assert_eq!(value(&[("prune_bundler", json!([]))]).as_deref(), Some("no"));
    assert_eq!(value(&[("prune_bundler", json!([false]))]), None);
    assert_eq!(value(&[("prune_bundler", json!([])), ("preload_app!", json!([]))]).as_deref(), Some("yes"));
    let boot_time = |calls: &[(&str, Value)], time: u32| {
        let calls = [calls, &[("worker_boot_timeout", json!([time]))]].concat();
        translated(ServerKind::Puma, &calls).value("boot-time").map(str::to_owned)
    };
    // Where each worker loads the application; where it is preloaded, Puma gives that any time.
    let (one, three) = (("workers", json!([1])), ("workers", json!([3])));
    let preload = |is_on: bool| ("preload_app!", json!([is_on]));
    assert_eq!(boot_time(&[three.clone(), preload(false)], 15).as_deref(), Some("15s"));
    assert_eq!(boot_time(&[three.clone(), ("prune_bundler", json!([]))], 90).as_deref(), Some("90s"));
    assert_eq!(boot_time(std::slice::from_ref(&one), 99_999_999).as_deref(), Some("none"));
    for calls in [vec![three], vec![one, preload(true)], vec![("workers", json!([0]))], vec![]] {
        assert_eq!(boot_time(&calls, 15), None, "{calls:?}");
    }
    let twice = translated(ServerKind::Puma, &[("workers", json!([2])), ("workers", json!([3]))]);
    assert_eq!(twice.settings.iter().filter(|one| one.row.long == "workers").count(), 1, "the last counts");
}

/// The master of a cluster kills its workers after a time, and a single process does not.
#[test]
fn puma_is_a_cluster_by_a_flag_or_a_variable_too() {
    let drain = |workers: Option<&str>, usual_workers: Option<&str>, file: &[(&str, Value)]| {
        let [workers, usual_workers] = [workers, usual_workers].map(|count| count.map(str::to_owned));
        let beside = Beside { host: None, workers, usual_workers };
        let all = [file, &[("force_shutdown_after", json!([120]))]].concat();
        let calls = all.iter().map(|(name, args)| call(name, args.clone())).collect();
        let translation = Translation::with(beside, ServerKind::Puma, "the file".to_owned(), Path::new(""), calls);
        translation.value("drain-time").map(str::to_owned).unwrap_or_default()
    };
    let two = [("workers", json!([2]))];
    assert_eq!(drain(Some("3"), None, &[]), "30s", "-w 3");
    assert_eq!(drain(Some("0"), None, &two), "2m", "-w 0");
    assert_eq!(drain(None, Some("3"), &[]), "30s", "WEB_CONCURRENCY=3");
    assert_eq!(drain(None, Some("0"), &two), "30s", "the file counts more than that");
}

#[test]
fn files_of_puma_are_appended_to_whatever_says_so() {
    let redirect = |args: Value| of(ServerKind::Puma, "stdout_redirect", args);
    let files = || vec!["redirect-stdout=a".to_owned(), "redirect-stderr=b".to_owned()];
    for append in [json!(true), json!("append"), json!(0)] {
        assert_eq!(redirect(json!(["a", "b", append])), (files(), vec![]), "{append}");
    }
    for args in [json!(["a", "b"]), json!(["a", "b", false]), json!(["a", "b", null])] {
        assert_eq!(redirect(args.clone()), (files(), vec![RemarkKind::Differs]), "{args}");
    }
    for args in [json!([false]), json!([null, null, false]), json!([])] {
        assert_eq!(redirect(args.clone()), (vec![], vec![RemarkKind::Needless]), "without a file: {args}");
    }
}

#[test]
fn what_requests_and_answers_may_have_in_puma() {
    for (name, args, expected) in [
        ("early_hints", json!([]), "early-hints=yes"),
        ("early_hints", json!([false]), "early-hints=no"),
        ("allow_underscore_headers", json!([false]), "underscore-headers=drop"),
        ("allow_underscore_headers", json!([]), "underscore-headers=pass"),
        ("tag", json!(["shop"]), "tag=shop"),
        ("tag", json!([""]), "tag=none"),
        ("tag", json!([null]), "tag=none"),
    ] {
        assert_eq!(of(ServerKind::Puma, name, args), (vec![expected.to_owned()], vec![]), "{name}");
    }
    assert_eq!(of(ServerKind::Unicorn, "early_hints", json!([true])), (vec!["early-hints=yes".to_owned()], vec![]));
    for (args, settings, whats) in [
        (json!([]), vec!["remote-address=socket"], vec![]),
        (json!(["socket"]), vec!["remote-address=socket"], vec![]),
        (json!(["localhost"]), vec!["remote-address=127.0.0.1"], vec![]),
        (json!(["10.0.0.1"]), vec!["remote-address=10.0.0.1"], vec![]),
        (json!(["::1"]), vec!["remote-address=::1"], vec![]),
        (json!(["the proxy"]), vec!["remote-address=value:the proxy"], vec![]),
        (json!([{"header": "X-Real-IP"}]), vec!["remote-address=header:X-Real-IP"], vec![RemarkKind::Differs]),
        (json!([{"header": "X_REAL_IP"}]), vec!["remote-address=header:X-REAL-IP"], vec![RemarkKind::Differs]),
        (json!([{"proxy_protocol": "v1"}]), vec![], vec![RemarkKind::Refused]),
    ] {
        let settings: Vec<String> = settings.into_iter().map(str::to_owned).collect();
        assert_eq!(of(ServerKind::Puma, "set_remote_address", args.clone()), (settings, whats), "{args}");
    }
}

#[test]
fn addresses_and_users_of_unicorn() {
    for (address, expected) in [
        (json!(8080), "bind=tcp://0.0.0.0:8080"),
        (json!("3000"), "bind=tcp://0.0.0.0:3000"),
        (json!("*:3000"), "bind=tcp://0.0.0.0:3000"),
        (json!("127.0.0.1:3000"), "bind=tcp://127.0.0.1:3000"),
        (json!("[::1]:3000"), "bind=tcp://[::1]:3000"),
        (json!("[::1]"), "bind=tcp://[::1]:80"),
        (json!("127.0.0.1"), "bind=tcp://127.0.0.1:80"),
        (json!(":3000"), "bind=tcp://0.0.0.0:3000"),
        (json!("/tmp/x.sock"), "bind=unix:///tmp/x.sock"),
        (json!("unix:/tmp/x.sock"), "bind=unix:///tmp/x.sock"),
    ] {
        assert_eq!(of(ServerKind::Unicorn, "listen", json!([address])).0, [expected]);
    }
    // Of what has no port, Unicorn takes all but an IP address for a path.
    let here = std::env::current_dir().unwrap();
    for path in ["tmp/sockets/web.sock", "web.sock", "tmp/a:b"] {
        let (settings, remarks) = of(ServerKind::Unicorn, "listen", json!([path, { "umask": 7 }]));
        let expected = format!("bind=unix://{}?umask=07", here.join(path).display());
        assert_eq!((settings, remarks), (vec![expected], vec![]), "{path}");
    }
    for (options, whats) in [
        (json!({ "backlog": 64, "tcp_nopush": true, "umask": 0 }), vec![RemarkKind::Needless]),
        (json!({ "reuseport": false, "ipv6only": false }), vec![]),
        (json!({ "tcp_nodelay": true, "tries": -1, "delay": 5 }), vec![RemarkKind::Needless, RemarkKind::Differs]),
    ] {
        let (settings, remarks) = of(ServerKind::Unicorn, "listen", json!([80, options]));
        assert_eq!(remarks, whats, "{settings:?}");
    }
    if let Ok(Some(user)) = nix::unistd::User::from_uid(nix::unistd::geteuid()) {
        let (settings, _) = of(ServerKind::Unicorn, "listen", json!([format!("~{}/x.sock", user.name)]));
        assert_eq!(settings, [format!("bind=unix://{}/x.sock", user.dir.display())]);
    }
    // The kernel reduces a backlog as far as it has to; a negative one is a large one to it.
    for backlog in [100_000, -1] {
        let (settings, _) = of(ServerKind::Unicorn, "listen", json!(["/x", { "backlog": backlog }]));
        assert_eq!(settings, ["bind=unix:///x?backlog=65535"]);
    }
    let (settings, remarks) =
        of(ServerKind::Unicorn, "listen", json!(["/x", { "umask": 0o77, "backlog": 64, "tries": null }]));
    assert_eq!((settings, remarks), (vec!["bind=unix:///x?backlog=64&umask=077".to_owned()], vec![]));
    let differs = if nix::unistd::geteuid().is_root() { vec![RemarkKind::Differs] } else { vec![] };
    let settings = vec!["user=deploy".to_owned(), "group=www-data".to_owned()];
    assert_eq!(of(ServerKind::Unicorn, "user", json!(["deploy", "www-data"])), (settings, differs));
    assert_eq!(of(ServerKind::Unicorn, "user", json!([null])), (vec![], vec![RemarkKind::Needless]));
    assert_eq!(
        of(ServerKind::Unicorn, "timeout", json!([15])),
        (vec!["request-time=15s".to_owned()], vec![RemarkKind::Differs])
    );
}

#[test]
fn a_block_of_rainbows_says_how_many_requests_a_worker_has_at_once() {
    let of_block = |calls: &[(&str, Value)]| {
        let block = [("Rainbows!", json!([]))];
        values(
            ServerKind::Unicorn,
            &[&block[..], calls].concat(),
            ["threads", "request-time", "worker-timeout", "drain-time", "keep-alive", "body-bytes"],
        )
    };
    let many = ("worker_connections", json!([400]));
    // A worker that lives shows it, whatever its requests do, unless there is one at a time.
    let pool = ("use", json!(["ThreadPool"]));
    let timeout = ("timeout", json!([30]));
    assert_eq!(of_block(&[pool, many.clone(), timeout]), ["400", "none", "30s", "1m", "5s", "1MiB"]);
    assert_eq!(of_block(std::slice::from_ref(&many)), ["1", "60s", "1m", "1m", "5s", "1MiB"]);
    let threads = |model: Value, connections: u64| {
        let [threads, request_time, ..] = of_block(&[("use", model), ("worker_connections", json!([connections]))]);
        (threads, request_time)
    };
    for (model, connections, expected) in [
        (json!(["ThreadSpawn"]), 5000, ("1024", "none")),
        (json!(["CoolioThreadPool", { "pool_size": 10 }]), 100, ("10", "none")),
        (json!(["XEpollThreadPool"]), 100, ("50", "none")),
        (json!(["WriterThreadPool"]), 100, ("1", "60s")),
        (json!(["EventMachine"]), 100, ("1", "none")),
    ] {
        let found = threads(model.clone(), connections);
        assert_eq!((found.0.as_str(), found.1.as_str()), expected, "{model}");
    }
    let limits = [("keepalive_timeout", json!([7])), ("client_max_body_size", json!([null]))];
    assert_eq!(of_block(&limits)[4..], ["7s", "none"]);
    let of_head = |bytes: u64| of(ServerKind::Unicorn, "client_max_header_size", json!([bytes]));
    assert_eq!(of_head(512), (vec!["header-bytes=8192".to_owned()], vec![RemarkKind::Differs]));
    assert_eq!(of_head(65_536), (vec!["header-bytes=65536".to_owned()], vec![]));
    // A misspelt model, and a middleware in the block.
    for value in [json!(["ThreadPol"]), json!(["threadpool"]), json!(["(Class)"]), json!([null])] {
        let calls = [("Rainbows!", json!([])), ("use", value.clone())];
        let translation = translated(ServerKind::Unicorn, &calls);
        assert!(translation.remarks.iter().any(|remark| remark.kind == RemarkKind::Refused), "{value}");
    }
    // A middleware in the wrong file, and a block that was forgotten.
    for (name, value) in [("use", json!(["(Class)"])), many] {
        assert_eq!(of(ServerKind::Unicorn, name, value), (vec![], vec![RemarkKind::Refused]));
    }
}

#[test]
fn a_trap_for_term_that_sends_quit_is_seen_in_unicorns_file() {
    let seen = unicorn::ends_gracefully_at_term;
    let usual = "before_fork do |server, worker|\n  Signal.trap 'TERM' do\n    puts 'sending myself QUIT instead'\n    \
                 Process.kill 'QUIT', Process.pid\n  end\nend\n";
    assert!(seen(usual) && seen("trap(:TERM) { Process.kill(:QUIT, $$) }\n"));
    assert!(seen("UnicornWrangler.setup(map_term_to_quit: true, logger: set.fetch(:logger))\n"));
    for text in [
        "",
        "# trap('TERM') { Process.kill('QUIT', Process.pid) }\n",
        "trap('INT') { Process.kill('QUIT', Process.pid) }\n",
        "trap('TERM') { nil }\ntrap('INT') { Process.kill('QUIT', Process.pid) }\n",
        "trap('TERM') { puts 'Wait for master to send QUIT' }\nProcess.kill('QUIT', File.read(old).to_i)\n",
    ] {
        assert!(!seen(text), "{text}");
    }
}

#[test]
fn what_servers_do_without_being_told() {
    let assumed = |kind: ServerKind| values(kind, &[], ["bind", "threads", "request-time"]);
    assert_eq!(assumed(ServerKind::Puma), ["", "", "none"]);
    assert_eq!(assumed(ServerKind::Unicorn), ["tcp://0.0.0.0:8080", "1", "60s"]);
    assert_eq!(assumed(ServerKind::Pitchfork), ["tcp://0.0.0.0:8080", "1", "20s"]);
    assert_eq!(assumed(ServerKind::Thin), ["tcp://0.0.0.0:3000", "1", "none"]);
    assert_eq!(assumed(ServerKind::Passenger), ["tcp://0.0.0.0:3000", "1", "none"]);
}

/// Pitchfork finishes its requests at TERM, which Docker and Kubernetes send, and its USR2 starts no second server.
#[test]
fn signals_have_the_meanings_of_the_server_whose_file_it_is() {
    for kind in [ServerKind::Puma, ServerKind::Unicorn, ServerKind::Pitchfork, ServerKind::Thin, ServerKind::Passenger]
    {
        assert_eq!(translated(kind, &[]).value("signals"), Some(kind.word()));
        assert!(Habit::WORDS.contains(&kind.word()), "{}", kind.word());
        let of_unicorn = kind.always().iter().any(|line| line.starts_with("USR1 reopens"));
        assert_eq!(of_unicorn, kind == ServerKind::Unicorn, "{}", kind.word());
    }
}

#[test]
fn limits_that_a_server_does_not_have_are_none_unless_its_file_says_them() {
    let limits = |kind: ServerKind, calls: &[(&str, Value)]| {
        values(kind, calls, ["request-time", "queue-wait", "body-bytes", "worker-timeout"])
    };
    assert_eq!(limits(ServerKind::Puma, &[]), ["none", "none", "none", ""]);
    assert_eq!(limits(ServerKind::Unicorn, &[]), ["60s", "none", "none", "1m"]);
    assert_eq!(limits(ServerKind::Thin, &[("timeout", json!([30]))]), ["none", "none", "none", "0s"]);
    assert_eq!(limits(ServerKind::Passenger, &[]), ["none", "none", "", "0s"]);
    assert_eq!(limits(ServerKind::Puma, &[("http_content_length_limit", json!([9]))])[2], "9");
    assert_eq!(limits(ServerKind::Puma, &[("http_content_length_limit", json!([null]))])[2], "none");
    assert_eq!(limits(ServerKind::Unicorn, &[("timeout", json!([300]))]), ["5m", "none", "none", "5m"]);
    assert_eq!(limits(ServerKind::Unicorn, &[("timeout", json!([2_592_000]))])[0], "none");
    let times = [("max_request_time", json!([7])), ("max_request_queue_time", json!([3]))];
    assert_eq!(limits(ServerKind::Passenger, &times)[..2], ["7s", "3s"]);
    assert_eq!(limits(ServerKind::Passenger, &[("max_request_queue_time", json!([0]))])[1], "none");
    let most = |calls: &[(&str, Value)]| values(ServerKind::Passenger, calls, ["max-workers"]);
    assert_eq!(most(&[("max_instances", json!([0]))]), ["6"], "the default of the pool");
    let pool = ("max_pool_size", json!([4]));
    assert_eq!(most(&[("max_instances", json!([0])), pool.clone()]), ["4"]);
    assert_eq!(most(&[("max_instances", json!([3])), pool.clone()]), ["3"]);
    assert_eq!(most(&[("max_instances", json!(["10"])), pool]), ["4"], "the pool has no more");
    assert_eq!(most(&[("max_instances", json!([10]))]), ["6"], "nor has the default one");
    let null = ("max_instances", json!([null]));
    assert_eq!(most(&[null.clone(), ("max_pool_size", json!([4]))]), ["4"], "null says nothing");
    assert_eq!(most(&[null]), ["6"]);
    assert_eq!(most(&[("max_pool_size", json!([10]))]), ["10"]);
    let unknown = of(ServerKind::Passenger, "force_max_concurrent_requests_per_process", json!([9]));
    assert_eq!(unknown, (vec![], vec![RemarkKind::Missing]));
    let queue = |size: u64| of(ServerKind::Passenger, "max_request_queue_size", json!([size])).0;
    assert_eq!((queue(0), queue(5)), (vec![], vec!["queue=5".to_owned()]), "0 is no limit there");
}

/// Of Passenger 6.1.
#[test]
fn requests_at_a_stop_have_the_stop_timeout_of_passenger_and_none_of_its_keys_is_unknown() {
    let time = |calls: &[(&str, Value)]| values(ServerKind::Passenger, calls, ["drain-time"]);
    assert_eq!(time(&[]), ["60s"], "its default");
    assert_eq!(time(&[("stop_timeout", json!([90]))]), ["90s"]);
    assert_eq!(time(&[("stop_timeout", json!(["5"]))]), ["5s"], "as of PASSENGER_STOP_TIMEOUT");
    for (name, value) in [("app_connect_timeout", json!([5])), ("old_routing", json!([true]))] {
        assert_eq!(of(ServerKind::Passenger, name, value), (vec![], vec![RemarkKind::Needless]), "{name}");
    }
    let deferred = of(ServerKind::Passenger, "defer_port_binding", json!([true]));
    assert_eq!(deferred, (vec![], vec![RemarkKind::Needless]), "Passenger Enterprise");
    let hard_limit = translated(ServerKind::Passenger, &[("hard_memory_limit", json!([512]))]);
    assert!(!hard_limit.remarks[0].why.contains("no such setting"), "{}", hard_limit.remarks[0].why);
}

/// Passenger starts no more than its pool holds.
#[test]
fn no_more_processes_of_passenger_must_be_there_than_may_be() {
    let bounds = |calls: &[(&str, Value)]| values(ServerKind::Passenger, calls, ["min-workers", "max-workers"]);
    let least = |count: u32| ("min_instances", json!([count]));
    assert_eq!(bounds(&[least(4), ("max_pool_size", json!([2]))]), ["2", "2"]);
    assert_eq!(bounds(&[least(4), ("max_instances", json!(["3"])), ("max_pool_size", json!([8]))]), ["3", "3"]);
    assert_eq!(bounds(&[least(2), ("max_pool_size", json!([4]))]), ["2", "4"]);
    assert_eq!(bounds(&[least(9)]), ["9", "9"]);
}

#[test]
fn a_cluster_of_thin_listens_on_all_its_ports_and_sockets() {
    let binds = |calls: &[(&str, Value)]| {
        let translation = translated(ServerKind::Thin, calls);
        let binds = translation.settings.into_iter().filter(|one| one.row.long == "bind");
        binds.map(|one| one.value).collect::<Vec<_>>()
    };
    let ports = binds(&[("port", json!([5000])), ("servers", json!([3])), ("address", json!(["127.0.0.1"]))]);
    assert_eq!(ports, ["tcp://127.0.0.1:5000", "tcp://127.0.0.1:5001", "tcp://127.0.0.1:5002"]);
    assert_eq!(binds(&[("servers", json!([2]))]), ["tcp://0.0.0.0:3000", "tcp://0.0.0.0:3001"]);
    let sockets = binds(&[("socket", json!(["/tmp/thin.sock"])), ("servers", json!([2]))]);
    assert_eq!(sockets, ["unix:///tmp/thin.0.sock", "unix:///tmp/thin.1.sock"]);
    assert_eq!(binds(&[("socket", json!(["/tmp/thin.sock"]))]), ["unix:///tmp/thin.sock"]);
    let threads = |calls: &[(&str, Value)]| translated(ServerKind::Thin, calls).value("threads").map(str::to_owned);
    assert_eq!(threads(&[("threadpool_size", json!([7])), ("require", json!([[]]))]).as_deref(), Some("1"));
    assert_eq!(threads(&[("threaded", json!([true]))]).as_deref(), Some("20"));
    assert_eq!(threads(&[("threaded", json!([true])), ("threadpool_size", json!([7]))]).as_deref(), Some("7"));
}

#[test]
fn a_timeout_of_nothing_is_none_in_thin() {
    for (time, expected) in [(json!(0), "24h"), (json!("0"), "24h")] {
        let found = of(ServerKind::Thin, "timeout", json!([time]));
        assert_eq!(found, (vec![format!("keep-alive={expected}")], vec![RemarkKind::Differs]));
    }
}

#[test]
fn the_prefix_of_thin_is_ours() {
    assert_eq!(of(ServerKind::Thin, "prefix", json!(["/shop"])), (vec!["prefix=/shop".to_owned()], vec![]));
    for none in [json!([""]), json!([null]), json!([false])] {
        assert_eq!(of(ServerKind::Thin, "prefix", none), (vec![], vec![RemarkKind::Needless]));
    }
}

/// For commands that only look for the server.
#[test]
fn folder_and_user_of_thins_file_are_known_without_its_erb() {
    let erb = "port: <%= ENV['PORT'] %>\n";
    for (text, expected) in [
        ("", Ok(None)),
        ("chdir: /srv/shop", Ok(Some("/srv/shop"))),
        ("chdir: '/srv/my shop' # here", Ok(Some("/srv/my shop"))),
        ("chdir : \"/srv/shop\"", Ok(Some("/srv/shop"))),
        ("chdir:\n", Ok(None)),
        ("  chdir: /of/another/key", Ok(None)),
        ("chdir: /srv/shop\nuser: deploy", Ok(Some("/srv/shop"))),
        ("chdir: <%= __dir__ %>", Err("its chdir depends on ERB")),
        ("<% if a %>\nchdir: /a\n<% else %>\nchdir: /b\n<% end %>", Err("its chdir depends on ERB")),
    ] {
        let found = word_without_erb(&format!("{erb}{text}"), "chdir");
        assert_eq!(found, expected.map(|folder| folder.map(str::to_owned)).map_err(str::to_owned), "{text}");
    }
    let user = |text: &str| word_without_erb(&format!("{erb}{text}"), "user");
    assert_eq!(user("chdir: /srv/shop\nuser: deploy # of all shops\n"), Ok(Some("deploy".to_owned())));
    assert_eq!(user("user: <%= ENV['USER'] %>"), Err("its user depends on ERB".to_owned()));
}

/// `thin config` writes them where the command line has the flag.
#[test]
fn how_much_is_logged_is_taken_from_thins_file() {
    for (name, expected) in [("debug", "log=debug"), ("trace", "log=trace"), ("quiet", "access-log=off")] {
        assert_eq!(of(ServerKind::Thin, name, json!([true])), (vec![expected.to_owned()], vec![]), "{name}");
        assert_eq!(of(ServerKind::Thin, name, json!([false])), (vec![], vec![RemarkKind::Needless]), "{name}");
    }
}

/// Thin changes neither without the other.
#[test]
fn a_user_of_thin_counts_without_a_group_and_a_group_does_not_without_a_user() {
    let identity = |calls: &[(&str, Value)]| {
        let translation = translated(ServerKind::Thin, calls);
        let differs = translation.remarks.iter().filter(|remark| remark.kind == RemarkKind::Differs).count();
        (translation.value("user").map(str::to_owned), translation.value("group").map(str::to_owned), differs)
    };
    let (user, group) = (("user", json!(["deploy"])), ("group", json!(["www"])));
    let is_root = nix::unistd::geteuid().is_root();
    let root = |word: &str| is_root.then(|| word.to_owned());
    assert_eq!(identity(std::slice::from_ref(&user)), (root("deploy"), None, 1));
    assert_eq!(identity(std::slice::from_ref(&group)), (None, None, usize::from(!is_root)));
    assert_eq!(identity(&[user, group]), (root("deploy"), root("www"), if is_root { 0 } else { 2 }));
}

/// `thin stop` sends QUIT, waits for `timeout` seconds, and kills; `wait` is for the start of servers.
#[test]
fn requests_at_a_stop_have_the_timeout_of_thin() {
    let found = of(ServerKind::Thin, "timeout", json!([300]));
    assert_eq!(found, (vec!["keep-alive=5m".to_owned(), "drain-time=5m".to_owned()], vec![RemarkKind::Differs]));
    assert_eq!(of(ServerKind::Thin, "wait", json!([5])), (vec![], vec![RemarkKind::Needless]));
}

#[test]
fn a_cluster_of_thin_is_in_the_background_and_has_the_connections_of_all_its_servers() {
    let value = |calls: &[(&str, Value)], key: &str| translated(ServerKind::Thin, calls).value(key).map(str::to_owned);
    let servers = || ("servers", json!([3]));
    let no = || ("daemonize", json!([false]));
    let most = || ("max_conns", json!([1024]));
    assert_eq!(value(&[servers()], "daemonize").as_deref(), Some("yes"));
    assert!(value(&[servers()], "pidfile").is_some_and(|path| path.ends_with("tmp/pids/thin.pid")));
    assert!(value(&[servers()], "log-file").is_some_and(|path| path.ends_with("log/thin.log")));
    assert_eq!(value(&[servers(), no()], "daemonize").as_deref(), Some("no"), "who says so means it");
    assert_eq!((value(&[], "daemonize"), value(&[no()], "pidfile")), (None, None));
    assert_eq!(value(&[most()], "connections").as_deref(), Some("1024"));
    assert_eq!(value(&[most(), servers()], "connections").as_deref(), Some("3072"), "each of them has as many");
}

/// The log has the names of keys without a counterpart, which of a variable is what is written.
#[test]
fn the_password_of_passengers_panel_is_not_shown() {
    let variable = |name: &str| (name == "PASSENGER_ADMIN_PANEL_PASSWORD").then(|| "in the environment".to_owned());
    let calls = passenger::read("{ \"admin_panel_password\": \"in the file\" }", variable).unwrap();
    let written: Vec<&str> = calls.iter().map(|call| &*call.written).collect();
    assert_eq!(written, ["\"admin_panel_password\": ...", "PASSENGER_ADMIN_PANEL_PASSWORD=..."]);
}

#[test]
fn keys_of_passenger_have_their_lines() {
    let variable = |name: &str| (name == "PASSENGER_MAX_REQUESTS").then(|| "7".to_owned());
    let text = "{\n  \"port\": 4000,\n  \"envvars\": { \"max_requests\": 1 },\n  \"max_requests\": 9\n}";
    let calls = passenger::read(text, variable).unwrap();
    let lines: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.line)).collect();
    assert_eq!(lines, [("port", Some(2)), ("envvars", Some(3)), ("max_requests", Some(4)), ("max_requests", None)]);
    assert_eq!((&*calls[1].written, &*calls[3].written), ("\"envvars\": ...", "PASSENGER_MAX_REQUESTS=7"));
    let translation =
        Translation::of(ServerKind::Passenger, "shop/Passengerfile.json".to_owned(), Path::new("/srv"), calls);
    assert_eq!(translation.value("max-requests"), Some("7"));
    assert_eq!(translation.rackup.as_deref(), Some(Path::new("shop")), "the application is beside its file");
}

/// Pages without their style sheets would be the first that is seen of it.
#[test]
fn that_public_is_not_served_as_in_passenger_is_told_at_the_start_if_there_is_one() {
    let home = tempfile::tempdir().unwrap();
    let is_remarked = |json: &str| {
        let mut asked = Arguments::default();
        add(&mut asked, ServerKind::Passenger, Path::new("Passengerfile.json"), home.path(), json);
        let words = "Passengerfile.json: unlike Passenger, the server does not serve public/: ";
        asked.notices.iter().any(|notice| notice.starts_with(words))
    };
    assert!(!is_remarked("{}"));
    std::fs::create_dir_all(home.path().join("web/public")).unwrap();
    assert!(!is_remarked("{}") && is_remarked("{ \"app_root\": \"web\" }"));
    assert!(!is_remarked("{ \"app_root\": \"web\", \"envvars\": { \"RAILS_SERVE_STATIC_FILES\": \"1\" } }"));
}

/// It takes the place of its own key, and of no other.
#[test]
fn a_flag_of_passenger_and_another_key_of_its_file_count_as_two_keys() {
    let most = |flags: &str, json: &str| {
        let mut asked = ask(&flags.split(' ').collect::<Vec<_>>(), &[]);
        add(&mut asked, ServerKind::Passenger, Path::new("Passengerfile.json"), Path::new("/srv"), json);
        asked.values(Name::MaxWorkers).last().map(|given| given.value.clone()).unwrap_or_default()
    };
    let two = "{ \"max_instances\": 2 }";
    assert_eq!(most("--max-pool-size=4", two), "2");
    assert_eq!(most("--max-pool-size=1", two), "1");
    assert_eq!(most("--max-instances=4", two), "4");
    assert_eq!(most("--max-workers=4", two), "4", "which is no flag of Passenger");
    assert_eq!(most("--max-pool-size=9", "{}"), "9");
    assert_eq!(most("--max-instances=9", "{}"), "6", "that many places has the pool");
    let pool_of_two = "{ \"max_pool_size\": 2 }";
    for flags in ["--max-pool-size=4 --max-instances=3", "--max-instances=3 --max-pool-size=4"] {
        assert_eq!(most(flags, pool_of_two), "3", "{flags}: the file says neither of them any more");
    }
    assert_eq!(most("--max-instances=0", "{ \"max_instances\": 2, \"max_pool_size\": 4 }"), "4", "0 is no limit");
}

#[test]
fn paths_in_variables_of_passenger_begin_where_the_server_was_started() {
    let variable = |name: &str| match name {
        "PASSENGER_LOG_FILE" => Some("log/a.log".to_owned()),
        "PASSENGER_SOCKET_FILE" => Some("a.sock".to_owned()),
        "PASSENGER_STARTUP_FILE" => Some("web/config.ru".to_owned()),
        _ => None,
    };
    let calls = passenger::read("{ \"pid_file\": \"a.pid\", \"log_file\": \"b.log\" }", variable).unwrap();
    let file = "shop/Passengerfile.json".to_owned();
    let translation = Translation::of(ServerKind::Passenger, file, Path::new("/srv"), calls);
    assert_eq!(translation.value("pidfile"), Some("/srv/shop/a.pid"));
    assert_eq!(translation.value("log-file"), Some("/srv/log/a.log"));
    assert_eq!(translation.value("bind"), Some("unix:///srv/a.sock"));
    assert_eq!(translation.rackup.as_deref(), Some(Path::new("/srv/web/config.ru")));
}

/// Whichever comes last: a variable comes behind the keys of the file.
#[test]
fn the_one_log_is_the_one_of_log_file_where_the_application_has_another_in_passenger() {
    let (own, app) = (("log_file", json!(["a.log"])), ("app_log_file", json!(["b.log"])));
    for calls in [[own.clone(), app.clone()], [app.clone(), own]] {
        let found = translated(ServerKind::Passenger, &calls);
        assert_eq!(found.value("log-file"), Some("a.log"), "{calls:?}");
        let [remark] = &*found.remarks else { panic!("{:?}", found.remarks) };
        assert!(remark.kind == RemarkKind::Differs && remark.why.contains("log_file (a.log)"), "{remark:?}");
    }
    for none in [json!([null]), json!([false]), json!([""])] {
        let found = translated(ServerKind::Passenger, &[("log_file", none), app.clone()]);
        assert_eq!(found.value("log-file"), Some("b.log"));
    }
}

/// In Kubernetes, in every container.
#[test]
fn variables_of_a_service_named_passenger_are_no_keys_of_passenger() {
    let calls = |port: &'static str| {
        let variable = |name: &str| ["PASSENGER_PORT", "PASSENGER_SSL_PORT"].contains(&name).then(|| port.to_owned());
        passenger::read("{ \"port\": 4000 }", variable).unwrap()
    };
    assert_eq!(calls("tcp://10.96.0.7:80").len(), 1, "the file's port counts");
    assert_eq!(calls("4001").last().map(|call| call.written.clone()).as_deref(), Some("PASSENGER_SSL_PORT=4001"));
}

/// What is off is no reason to refuse a start, or to write into files of the background.
#[test]
fn words_for_no_are_no_in_passenger() {
    let of = |json: &str, variables: &[(&str, &str)]| {
        let found = of_passenger(json, variables);
        let refused = found.refused().count();
        (refused, ["daemonize", "log-file"].map(|key| found.value(key).is_some_and(|value| value != "no")))
    };
    for no in ["false", "no", "OFF", "0"] {
        let variables = [("PASSENGER_SSL", no), ("PASSENGER_DAEMONIZE", no), ("PASSENGER_RUNTIME_CHECK_ONLY", no)];
        assert_eq!(of("{}", &variables), (0, [false, false]), "{no}");
        assert_eq!(of(&format!("{{ \"ssl\": \"{no}\", \"daemonize\": \"{no}\" }}"), &[]), (0, [false, false]));
    }
    assert_eq!(of("{ \"ssl\": false, \"daemonize\": 0, \"runtime_check_only\": false }", &[]), (0, [false, false]));
    assert_eq!(of("{ \"daemonize\": 1 }", &[]), (0, [true, true]));
    assert_eq!(of("{}", &[("PASSENGER_SSL", "yes")]).0, 1);
    assert_eq!(of("{ \"runtime_check_only\": true }", &[]).0, 1);
}

#[test]
fn what_is_off_in_a_file_and_always_here_is_not_said_to_lack_a_counterpart() {
    for (server, name) in [
        (ServerKind::Passenger, "turbocaching"),
        (ServerKind::Passenger, "load_shell_envvars"),
        (ServerKind::Passenger, "debugger"),
        (ServerKind::Passenger, "debug_nginx_config"),
        (ServerKind::Passenger, "disable_log_prefix"),
        (ServerKind::Puma, "fiber_per_request"),
        (ServerKind::Puma, "clean_thread_locals"),
        (ServerKind::Puma, "shutdown_debug"),
        (ServerKind::Unicorn, "worker_exec"),
        (ServerKind::Pitchfork, "setpgid"),
        (ServerKind::Thin, "ssl_disable_verify"),
    ] {
        for (value, kind) in [(false, RemarkKind::Needless), (true, RemarkKind::Missing)] {
            assert_eq!(of(server, name, json!([value])), (vec![], vec![kind]), "{name}: {value}");
        }
    }
    let calls = passenger::read("{ \"turbocaching\": \"off\" }", |_| None).unwrap();
    assert_eq!(calls[0].args, [json!(false)]);
}

/// A wrong default would show exceptions to all clients: error pages do that in development.
#[test]
fn the_environment_of_passenger_is_that_of_its_variables_where_nothing_else_names_it() {
    let environment =
        |json: &str, variables: &[(&str, &str)]| of_passenger(json, variables).value("environment").map(str::to_owned);
    let app = ("PASSENGER_APP_ENV", "staging");
    assert_eq!(environment("{}", &[app]).as_deref(), Some("staging"));
    assert_eq!(environment("{ \"environment\": null }", &[app]).as_deref(), Some("staging"));
    assert_eq!(environment("{}", &[app, ("NODE_ENV", "production")]).as_deref(), Some("production"));
    assert_eq!(environment("{ \"environment\": \"test\" }", &[app]).as_deref(), Some("test"));
    assert_eq!(environment("{}", &[app, ("PASSENGER_ENVIRONMENT", "test")]).as_deref(), Some("test"));
    assert_eq!(environment("{ \"envvars\": { \"RAILS_ENV\": \"test\" } }", &[app]).as_deref(), Some("test"));
    for name in ["RAILS_ENV", "RACK_ENV", "APP_ENV"] {
        assert_eq!(environment("{}", &[app, (name, "production")]), None, "{name} counts by itself");
    }
    assert_eq!(environment("{}", &[app, ("RAILS_ENV", "")]).as_deref(), Some("staging"));
    assert_eq!(environment("{}", &[]), None);
}

#[test]
fn variables_of_passengers_file_are_for_the_application() {
    let variables = |value: Value| {
        let translation = translated(ServerKind::Passenger, &[("envvars", json!([value]))]);
        (translation.variables, translation.remarks.iter().map(|remark| remark.kind).collect::<Vec<_>>())
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let (found, whats) = variables(json!({ "A": "x y", "B": 7, "C": true, "D": null }));
    assert_eq!(found, [pair("A", "x y"), pair("B", "7"), pair("C", "true"), pair("D", "")]);
    assert_eq!(whats, [RemarkKind::Differs]);
    assert_eq!(variables(json!({})), (vec![], vec![RemarkKind::Needless]));
    // Such variables are the server's own.
    let (found, whats) = variables(json!({ "FOOLS_GOLD_THREADS": "5", "A": "1" }));
    assert_eq!((found, whats), (vec![pair("A", "1")], vec![RemarkKind::Differs, RemarkKind::Differs]));
    assert_eq!(variables(json!({ "FOOLS_GOLD_THREADS": "5" })), (vec![], vec![RemarkKind::Differs]));
    let environment =
        |calls: &[(&str, Value)]| translated(ServerKind::Passenger, calls).value("environment").map(str::to_owned);
    let set = || ("envvars", json!([{ "A": "1", "RAILS_ENV": "staging", "RACK_ENV": "" }]));
    let named = || ("environment", json!(["production"]));
    assert_eq!(environment(&[set()]).as_deref(), Some("staging"), "error pages show nothing");
    assert_eq!(environment(&[("environment", json!([null])), set()]).as_deref(), Some("staging"), "null says nothing");
    for calls in [[set(), named()], [named(), set()]] {
        assert_eq!(environment(&calls).as_deref(), Some("production"), "{calls:?}");
    }
    for value in [json!("A=1"), json!({ "A": [] }), json!({ "A=B": "1" }), json!({ "": "1" }), json!({ "A": "\0" })] {
        assert_eq!(variables(value.clone()).1, [RemarkKind::Refused], "{value}");
    }
}

#[test]
fn relative_paths_begin_at_the_folder_that_is_named() {
    let translation = translated(
        ServerKind::Puma,
        &[("directory", json!(["/srv/shop"])), ("rackup", json!(["app.ru"])), ("bind", json!(["unix://tmp/s"]))],
    );
    assert_eq!(translation.rackup.as_deref(), Some(Path::new("/srv/shop/app.ru")));
    assert!(translation.settings.iter().any(|one| one.value == "unix:///srv/shop/tmp/s"), "{translation:?}");
    let translation = translated(ServerKind::Puma, &[("worker_directory", json!(["/srv/shop"]))]);
    assert_eq!(translation.rackup.as_deref(), Some(Path::new("/srv/shop")));
    let translation = translated(ServerKind::Unicorn, &[("working_directory", json!(["/srv/shop"]))]);
    assert_eq!(translation.rackup.as_deref(), Some(Path::new("/srv/shop")));
}

/// As of a file that the first one reads, although its name ends in the same way.
#[test]
fn the_place_of_a_directive_in_another_file_names_that_file() {
    let translation = Translation::of(ServerKind::Puma, "puma.rb".to_owned(), Path::new(""), Vec::new());
    let file = |path: &str| {
        let workers = Directive { file: Some(path.to_owned()), ..call("workers", json!([2])) };
        translation.place(&workers).file
    };
    assert_eq!(file("/srv/config/puma.rb"), "puma.rb");
    assert_eq!(file("/srv/config/base_puma.rb"), "/srv/config/base_puma.rb");
}

#[test]
fn what_has_no_counterpart_is_told_with_what_happens_here() {
    for (kind, name, words) in [
        (ServerKind::Passenger, "abort_websockets_on_process_shutdown", "--websocket-drain"),
        (ServerKind::Passenger, "core_file_descriptor_ulimit", "hard limit"),
        (ServerKind::Unicorn, "logger", "stderr_path"),
        (ServerKind::Pitchfork, "logger", "stderr_path"),
    ] {
        let remarks = translated(kind, &[(name, json!([true]))]).remarks;
        assert!(remarks[0].why.contains(words), "{name}: {remarks:?}");
    }
}

/// As Discourse's file, which starts Sidekiq there.
#[test]
fn that_no_service_worker_runs_is_told_in_full() {
    let ready = of(ServerKind::Pitchfork, "before_service_worker_ready", json!([]));
    assert_eq!(ready, (vec![], vec![RemarkKind::Differs]));
}

#[test]
fn words_of_older_versions_and_numbers_with_a_fraction_are_known() {
    assert_eq!(of(ServerKind::Thin, "no-epoll", json!([true])), (vec![], vec![RemarkKind::Needless]));
    assert_eq!(of(ServerKind::Puma, "after_worker_boot", json!([])), (vec![], vec![RemarkKind::Hook]));
    assert_eq!(of(ServerKind::Puma, "workers", json!([3.75])).0, ["workers=3"]);
    assert_eq!(of(ServerKind::Puma, "threads", json!([1.5, 2.5])).0, ["threads=1:2"]);
    assert_eq!(of(ServerKind::Puma, "enable_keep_alives", json!([false])).0, ["keep-alive=0s"]);
    let both = [("enable_keep_alives", json!([false])), ("persistent_timeout", json!([9]))];
    assert!(translated(ServerKind::Puma, &both).value("keep-alive") == Some("0s"));
    // `@options[:pidfile] = false`.
    let none = [("pidfile", json!(["x.pid"])), ("pidfile", json!([false]))];
    assert_eq!(translated(ServerKind::Puma, &none).value("pidfile"), None);
    assert_eq!(of(ServerKind::Puma, "pidfile", json!([false])), (vec![], vec![RemarkKind::Needless]));
    assert_eq!(directives("puma, single"), directives("puma"));
    assert!(directives("unicorn").contains(&"worker_processes") && directives("").is_empty());
}
