//! Tables of good and bad arguments, with the outcome: each message is compared exactly.

use super::*;
use crate::config::app_settings::FOREVER;
use crate::config::arguments::ask;
use crate::config::options::WORKER_TIMEOUT_MS;

const MACHINE: Machine = Machine { cores: 2, has_quota: false, memory: None };

fn resolved(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    resolve(ask(arguments, environment), MACHINE).map_err(|problems| problems.iter().map(Problem::to_string).collect())
}

fn binds(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    resolved(arguments, environment).unwrap().binds.iter().map(|one| one.bind.to_string()).collect()
}

#[test]
fn nothing_asked_gives_the_defaults() {
    let settings = resolved(&[], &[]).unwrap();
    assert_eq!(binds(&[], &[]), ["tcp://[::]:9292"]);
    let app = &settings.apps[0];
    assert_eq!((app.mruby.interpreters, settings.io_threads, app.queue_places), (4, 2, 16_384));
    assert_eq!((app.environment.as_str(), app.mruby.fresh, app.max_requests), ("development", false, 0));
    assert_eq!((app.engine, app.mruby.memory_bytes, app.tag.as_deref()), (None, 64 << 20, None));
    assert_eq!(settings.trusted, [front::Trusted::Private]);
    let ruby = &app.ruby;
    assert_eq!((ruby.threads, ruby.max_threads, ruby.worker), (5, 5, RubyWorker::Auto));
    assert_eq!((ruby.program.to_str(), ruby.hooks.as_deref()), (Some("ruby"), None));
    assert_eq!((ruby.boot_time, ruby.kill_time.as_secs()), (FOREVER, 5));
    // A debugger may stop all threads.
    let worker_timeout = |arguments: &[&str]| resolved(arguments, &[]).unwrap().apps[0].ruby.worker_timeout;
    let usual = Duration::from_millis(WORKER_TIMEOUT_MS);
    assert_eq!((worker_timeout(&[]), worker_timeout(&["-e", "production"])), (Duration::ZERO, usual));
    assert_eq!(worker_timeout(&["--worker-timeout", "9s"]).as_secs(), 9);
    assert_eq!((ruby.min_workers, ruby.max_workers), (1, 1));
    assert_eq!(settings.log_form, LogForm::Text);
    let limits = settings.limits;
    assert_eq!((limits.header_bytes, limits.header_count, limits.body_memory_bytes), (112 << 10, 100, 112 << 10));
    assert_eq!((limits.body_bytes, limits.spool_bytes, limits.connections), (1 << 30, 1 << 30, 16_384));
    let times = [limits.header_time, limits.body_time, limits.keep_alive, limits.write_time, limits.queue_wait];
    assert_eq!(times.map(|time| time.as_secs()), [30, 60, 65, 30, 10]);
    assert_eq!([limits.request_time, limits.drain_time].map(|time| time.as_secs()), [30, 30]);
    assert!(settings.chosen.is_empty() && settings.notices.is_empty());
}

#[test]
fn no_address_is_two_things() {
    let refused = |arguments: &[&str]| resolved(arguments, &[]).err().unwrap_or_default();
    let web = "is an address of the application, too";
    assert_eq!(refused(&["--admin", "9292"]), [format!("--admin 9292: {web} (tcp://[::]:9292): name another")]);
    let both = ["-o", "localhost", "-p", "9394", "--admin", "9394"];
    assert_eq!(refused(&both), [format!("--admin 9394: {web} (tcp://localhost:9394): name another")]);
    let socket = ["-b", "unix://a.sock", "--admin", "unix://b.sock", "--control"];
    assert_eq!(
        refused(&[&socket[..], &["a.sock"]].concat()),
        [format!("--control a.sock: {web} (unix://a.sock): name another")]
    );
    let admin = "--control b.sock: is the address of --admin, too: name another";
    assert_eq!(refused(&[&socket[..], &["b.sock"]].concat()), [admin]);
    for fine in [
        &["--admin", "9394"][..],
        &["-p", "0", "--admin", "0"],
        &["-o", "127.0.0.2", "-p", "9394", "--admin", "9394"],
        &["-p", "9394", "--admin", "9394", "--bind-to-activated-sockets=only"],
        &["-b", "unix://a.sock", "--admin", "unix://b.sock", "--control", "c.sock"],
    ] {
        assert_eq!(refused(fine), Vec::<String>::new(), "{fine:?}");
    }
}

#[test]
fn a_remote_address_may_be_any_text() {
    let of = |value: &str| resolved(&["--remote-address", value], &[]).unwrap().remote_address;
    assert_eq!(of("value:the proxy: a"), front::RemoteAddress::Value("the proxy: a".into()));
    assert_eq!(of("::1"), front::RemoteAddress::Value("::1".into()));
    assert_eq!(of("socket"), front::RemoteAddress::Socket);
}

#[test]
fn the_queue_has_a_place_for_each_connection_unless_it_is_configured() {
    let places = |arguments: &[&str]| resolved(arguments, &[]).unwrap().apps[0].queue_places;
    assert_eq!(places(&["--connections", "50000"]), 50_000);
    assert_eq!(places(&["--connections", "300"]), 300);
    assert_eq!(places(&["--connections", "50000", "--queue", "7"]), 7);
    for wrong in ["0", "many", "1000001"] {
        let problems = resolved(&["--connections", wrong], &[]).unwrap_err();
        assert!(problems.len() == 1 && problems[0].starts_with(&format!("--connections {wrong}: ")), "{problems:?}");
    }
}

#[test]
fn defaults_follow_the_cores() {
    let threads = |cores| {
        let settings = resolve(Arguments::default(), Machine { cores, ..MACHINE }).unwrap();
        settings.apps[0].mruby.interpreters
    };
    assert_eq!([1, 2, 3, 16].map(threads), [4, 4, 6, 32]);
}

#[test]
fn good_values_are_taken() {
    let settings = resolved(
        &["-t", "16", "-e", "production", "--fresh", "--memory-limit=32MiB", "--queue-wait", "500ms"],
        &[("FOOLS_GOLD_MAX_REQUESTS", "1000"), ("FOOLS_GOLD_ACCESS_LOG", "json"), ("FOOLS_GOLD_THREADS", "3")],
    )
    .unwrap();
    let app = &settings.apps[0];
    assert_eq!((app.mruby.interpreters, app.mruby.fresh, app.max_requests), (16, true, 1000));
    assert_eq!(app.mruby.memory_bytes, 32 << 20);
    assert_eq!(settings.limits.queue_wait.as_millis(), 500);
    assert_eq!(settings.log_form, LogForm::Json);
    let chosen = [
        "-e production",
        "-t 16",
        "--fresh",
        "FOOLS_GOLD_MAX_REQUESTS=1000",
        "--memory-limit 32MiB",
        "--queue-wait 500ms",
    ];
    assert_eq!(settings.chosen[..6], chosen);
}

/// As with a thin.yml or a Passengerfile.json.
#[test]
fn a_process_of_thin_or_passenger_has_one_thread_unless_another_number_is_configured() {
    let ruby = |arguments: &[&str], environment: &[(&str, &str)]| {
        let ruby = resolved(arguments, environment).unwrap().apps[0].ruby.clone();
        (ruby.max_workers, ruby.threads)
    };
    assert_eq!(ruby(&["start", "-s", "3"], &[]), (3, 1));
    assert_eq!(ruby(&["start", "--servers", "3", "--threadpool-size", "20"], &[]), (3, 20));
    assert_eq!(ruby(&["-s", "3"], &[("FOOLS_GOLD_THREADS", "4")]), (3, 4));
    assert_eq!(ruby(&["start", "--min-instances", "2", "--max-pool-size", "3"], &[]), (3, 1));
    assert_eq!(ruby(&["--max-pool-size", "3", "--concurrency-model", "thread", "--thread-count", "4"], &[]), (3, 4));
    assert_eq!(ruby(&["-w", "3"], &[]), (3, 5));
}

/// The log names them as the settings: of two places only the one that counts.
#[test]
fn what_counts_less_is_not_among_the_configured_values() {
    let chosen = |arguments: &[&str], environment: &[(&str, &str)]| resolved(arguments, environment).unwrap().chosen;
    assert_eq!(chosen(&["-p", "3", "-p", "4"], &[("FOOLS_GOLD_BIND", "unix:///tmp/x"), ("PORT", "2")]), ["-p 4"]);
    assert_eq!(chosen(&["-b", "unix:///a", "-b", "unix:///b"], &[("PORT", "2")]), ["-b unix:///a", "-b unix:///b"]);
    assert_eq!(chosen(&["-o", "127.0.0.1"], &[("PORT", "2")]), ["PORT=2", "-o 127.0.0.1"], "both make the address");
    assert_eq!(chosen(&["-w", "3"], &[("FOOLS_GOLD_MAX_WORKERS", "8")]), ["-w 3"]);
    assert_eq!(chosen(&["--queue", "5", "--queue", "7"], &[]), ["--queue 7"]);
    let two = ["--trust-proxy 10.0.0.1", "--trust-proxy ::1"];
    assert_eq!(chosen(&["--trust-proxy", "10.0.0.1", "--trust-proxy", "::1"], &[]), two);
    let threads = [("RAILS_MAX_THREADS", "3"), ("FOOLSGOLD_DEFAULT_HOST", "localhost")];
    assert_eq!(chosen(&[], &threads), ["RAILS_MAX_THREADS=3"], "a default is not configured");
}

#[test]
fn pumas_pair_of_threads_is_taken_with_a_word() {
    for least in ["0", "1"] {
        let pair = format!("{least}:16");
        let settings = resolved(&["-t", &pair], &[]).unwrap();
        assert_eq!((settings.apps[0].mruby.interpreters, settings.apps[0].ruby.threads), (16, 16));
        assert_eq!(settings.notices, [format!("-t {pair}: all 16 threads are started at once")]);
    }
    assert_eq!(resolved(&["-t", "0:1"], &[]).unwrap().notices, ["-t 0:1: the thread is started at once"]);
    assert!(resolved(&["-t", "5:5"], &[]).unwrap().notices.is_empty());
    for (pair, right) in [
        ("0:0", "must be from 1 to 1024"),
        ("5:2", "of MIN:MAX, MIN must not be more than MAX"),
        ("x:5", "must be a whole number, or two such as 1:5"),
        (":5", "must be a whole number, or two such as 1:5"),
        ("5:", "must be a whole number"),
        ("x:y", "must be a whole number"),
    ] {
        assert_eq!(resolved(&["-t", pair], &[]).unwrap_err(), [format!("-t {pair}: {right}")]);
    }
}

#[test]
fn rails_own_number_of_threads_counts_for_ruby_and_an_option_for_both() {
    let threads = |arguments: &[&str], environment: &[(&str, &str)]| {
        let settings = resolved(arguments, environment).unwrap();
        (settings.apps[0].mruby.interpreters, settings.apps[0].ruby.threads)
    };
    let rails = [("RAILS_MAX_THREADS", "3")];
    assert_eq!(threads(&[], &rails), (4, 3));
    assert_eq!(threads(&["-t", "7"], &rails), (7, 7));
    assert_eq!(threads(&[], &[("FOOLS_GOLD_THREADS", "6"), rails[0]]), (6, 6));
    // As Puma reads them without a file.
    assert_eq!(threads(&[], &[("MAX_THREADS", "8"), rails[0]]), (4, 8));
    assert_eq!(threads(&[], &[("PUMA_MAX_THREADS", "9"), ("MAX_THREADS", "8"), ("PUMA_MIN_THREADS", "2")]), (4, 9));
    let problems = resolved(&[], &[("PUMA_MAX_THREADS", "many")]).unwrap_err();
    assert_eq!(problems, ["PUMA_MAX_THREADS=many: must be a whole number"]);
    let persistent = resolved(&[], &[("PUMA_PERSISTENT_TIMEOUT", "20")]).unwrap().limits.keep_alive;
    assert_eq!(persistent, Duration::from_secs(20));
}

#[test]
fn the_fewest_and_the_most_workers_can_be_said_in_part() {
    let workers = |words: &[&str], environment: &[(&str, &str)]| {
        let ruby = resolved(words, environment).unwrap().apps[0].ruby.clone();
        (ruby.min_workers, ruby.max_workers)
    };
    assert_eq!(workers(&["--max-workers", "8"], &[]), (1, 8));
    assert_eq!(workers(&["-w", "3", "--max-workers", "8"], &[]), (3, 8));
    assert_eq!(workers(&["--max-workers", "2"], &[("WEB_CONCURRENCY", "4")]), (2, 2));
    assert_eq!(workers(&["--min-workers", "0", "-e", "production"], &[]), (0, 2));
    assert_eq!(workers(&["--min-workers", "0"], &[]), (0, 1));
    assert_eq!(workers(&["--min-workers", "5"], &[]), (5, 5));
    assert_eq!(workers(&["--min-workers", "0", "--max-workers", "1"], &[("WEB_CONCURRENCY", "4")]), (0, 1));
    for words in [&["-w", "3", "--max-workers", "2"][..], &["--min-workers", "3", "--max-workers", "2"]] {
        let problem = resolved(words, &[]).unwrap_err()[0].to_string();
        assert!(problem.starts_with("--max-workers 2: must be at least 3"), "{problem}");
    }
}

#[test]
fn only_where_nobody_says_a_number_workers_are_added_while_all_compute() {
    let bounds = |words: &[&str], environment: &[(&str, &str)]| {
        let ruby = resolved(&[&["-e", "production"], words].concat(), environment).unwrap().apps[0].ruby.clone();
        (ruby.min_workers, ruby.max_workers, ruby.computing_bounds)
    };
    assert_eq!(bounds(&[], &[]), (2, 4, Some((2, 4))));
    assert_eq!(bounds(&["-w", "2"], &[]), (2, 2, None));
    assert_eq!(bounds(&["-w", "auto"], &[]), (2, 2, None));
    assert_eq!(bounds(&[], &[("WEB_CONCURRENCY", "2")]), (2, 2, None));
    assert_eq!(bounds(&["--max-workers", "4"], &[]), (1, 4, None));
}

#[test]
fn a_worker_gets_further_threads_where_nobody_says_a_number_or_somebody_says_a_greatest_one() {
    let threads = |words: &[&str], environment: &[(&str, &str)]| {
        let ruby = resolved(&[&["-e", "production"], words].concat(), environment).unwrap().apps[0].ruby.clone();
        (ruby.threads, ruby.max_threads, ruby.spares_databases)
    };
    assert_eq!(threads(&[], &[]), (5, 64, true));
    for (words, environment) in [
        (&["-w", "2"][..], &[][..]),
        (&["-w", "auto"], &[]),
        (&["-t", "5"], &[]),
        (&["--max-workers", "4"], &[]),
        (&["-e", "development"], &[]),
        (&[], &[("RAILS_MAX_THREADS", "5")]),
        (&[], &[("WEB_CONCURRENCY", "2")]),
    ] {
        assert_eq!(threads(words, environment), (5, 5, false), "{words:?} {environment:?}");
    }
    assert_eq!(threads(&["-w", "2", "--max-threads", "64"], &[]), (5, 64, false));
    assert_eq!(threads(&["-t", "8"], &[("FOOLS_GOLD_MAX_THREADS", "8")]), (8, 8, false));
    let refused = resolved(&["--max-threads", "3"], &[]).unwrap_err();
    assert_eq!(refused, ["--max-threads 3: must be at least 5, the number with which a worker begins (--threads)"]);
    let refused = resolved(&["--max-threads", "0"], &[]).unwrap_err();
    assert_eq!(refused.len(), 1, "{refused:?}");
}

#[test]
fn workers_are_counted_as_puma_does() {
    let workers = |words: &[&str], environment: &[(&str, &str)]| {
        let ruby = resolved(words, environment).unwrap().apps[0].ruby.clone();
        assert_eq!(ruby.min_workers, ruby.max_workers);
        ruby.max_workers
    };
    assert_eq!(workers(&["-w", "3"], &[("WEB_CONCURRENCY", "4")]), 3);
    assert_eq!(workers(&[], &[("WEB_CONCURRENCY", "4")]), 4);
    assert_eq!((workers(&[], &[("WEB_CONCURRENCY", " ")]), workers(&[], &[("WEB_CONCURRENCY", " 3 ")])), (1, 3));
    assert_eq!((workers(&["-w", "auto"], &[]), workers(&["-w", "0"], &[])), (2, 1));
}

#[test]
fn options_of_ruby_processes_are_taken() {
    let words = ["--engine", "ruby", "--ruby", "/opt/jruby", "--hooks", "h.rb", "--ruby-worker", "plain"];
    let more = ["--boot-time", "5m", "--kill-time", "0", "--tag", "shop", "--preload"];
    let settings = resolved(&[&words[..], &more[..]].concat(), &[("RAILS_ENV", "test")]).unwrap();
    let ruby = &settings.apps[0].ruby;
    assert_eq!((settings.apps[0].engine, ruby.worker), (Some(EngineKind::Ruby), RubyWorker::Plain));
    assert_eq!((ruby.program.to_str(), ruby.hooks.as_deref()), (Some("/opt/jruby"), Some(Path::new("h.rb"))));
    assert_eq!([ruby.boot_time, ruby.kill_time].map(|time| time.as_secs()), [300, 0]);
    assert_eq!((settings.apps[0].tag.as_deref(), settings.apps[0].environment.as_str()), (Some("shop"), "test"));
    assert!(settings.notices.is_empty(), "{:?}", settings.notices);
    assert_eq!(resolved(&["--tag", "none"], &[]).unwrap().apps[0].tag.as_deref(), Some(""));
}

/// As recipes for Capistrano start Unicorn: `RAILS_ENV=production unicorn -E deployment`.
#[test]
fn a_word_for_middleware_is_no_environment_of_the_application() {
    let by = |words: &[&str]| resolved(words, &[("RAILS_ENV", "production")]).unwrap().apps[0].environment_source;
    let named = |words: &[&str]| by(words) == EnvironmentSource::OwnSetting;
    assert_eq!(["deployment", "none", "production"].map(|word| named(&["-E", word])), [false, false, true]);
    assert!(named(&["-e", "deployment"]) && named(&["--env=staging"]) && !named(&["--env=none"]));
    assert_eq!(by(&[]), EnvironmentSource::OtherSetting);
    assert_eq!(resolved(&[], &[]).unwrap().apps[0].environment_source, EnvironmentSource::Default);
}

#[test]
fn the_application_is_preloaded_where_there_may_be_several_workers_or_somebody_says_so() {
    let preload = |words: &[&str]| resolved(words, &[]).unwrap().apps[0].ruby.preload;
    assert_eq!(preload(&["-w", "2"]), Preload::Yes);
    assert_eq!(preload(&["--min-workers", "1", "--max-workers", "2"]), Preload::Yes);
    assert_eq!(preload(&["-w", "1"]), Preload::No);
    assert_eq!(preload(&["--min-workers", "0", "--max-workers", "1"]), Preload::Yes);
    assert_eq!(preload(&["-w", "1", "--preload"]), Preload::Yes);
    assert_eq!(preload(&["-w", "2", "--no-preload"]), Preload::No);
    assert_eq!(preload(&["-w", "2", "--preload=FALSE"]), Preload::No);
    assert_eq!(preload(&["-w", "2", "--preload=force"]), Preload::Force);
    assert_eq!(preload(&["-w", "2", "--spawn-method", "direct"]), Preload::No);
    let refused = resolved(&["--preload=never"], &[]).unwrap_err();
    assert_eq!(refused, ["--preload never: must be yes, no, auto, force"]);
}

#[test]
fn what_does_not_fit_a_named_engine_is_told_with_all_else_and_otherwise_when_it_is_known() {
    let refused = resolved(&["--engine", "mruby", "-w", "4", "-t", "0"], &[]).unwrap_err();
    assert_eq!(refused.len(), 2, "{refused:?}");
    let mut settings = resolved(&["-w", "4", "--fresh"], &[]).unwrap();
    assert!(settings.notices.is_empty());
    settings.apps[0].fit_to(EngineKind::Mruby).unwrap();
    assert!(settings.apps[0].notices[0].starts_with("-w 4: the embedded engine"), "{:?}", settings.apps[0].notices);
    let refused = resolved(&["--fresh"], &[]).unwrap().apps[0].fit_to(EngineKind::Ruby).unwrap_err();
    assert_eq!(refused.len(), 1);
}

#[test]
fn proxies_are_a_list() {
    let trusted = |words: &[&str]| resolved(words, &[]).map(|settings| settings.trusted);
    let two = [front::Trusted::Private, "10.0.0.0/8".parse().unwrap()];
    assert_eq!(trusted(&["--trust-proxy", "private,10.0.0.0/8"]).unwrap(), two);
    assert_eq!(trusted(&["--trust-proxy", "none"]).unwrap(), [front::Trusted::None]);
    let refused = trusted(&["--trust-proxy", "none", "--trust-proxy", "localhost"]).unwrap_err();
    assert_eq!(refused[0], "--trust-proxy none: must stand alone");
    assert!(refused[1].contains("\"localhost\" must be private, none, all"), "{refused:?}");
    assert_eq!(trusted(&["--trust-proxy", ","]).unwrap_err().len(), 1);
}

#[test]
fn addresses_of_the_command_line_add_up_and_replace_those_of_the_environment() {
    let environment = [("FOOLS_GOLD_BIND", "tcp://127.0.0.1:1,unix:///tmp/x"), ("PORT", "2")];
    assert_eq!(binds(&[], &environment), ["tcp://127.0.0.1:1", "unix:///tmp/x"]);
    assert_eq!(binds(&[], &environment[1..]), ["tcp://[::]:2"]);
    assert_eq!(binds(&["-p", "3"], &environment), ["tcp://[::]:3"]);
    assert_eq!(binds(&["-o", "127.0.0.1"], &environment), ["tcp://127.0.0.1:2"]);
    assert_eq!(binds(&["-o", "::1", "-p", "0"], &[]), ["tcp://[::1]:0"]);
    assert_eq!(binds(&["-b", "unix:///tmp/y", "-p", "3"], &environment), ["unix:///tmp/y", "tcp://[::]:3"]);
    assert_eq!(binds(&["-o", "localhost", "-p", "3"], &[]), ["tcp://localhost:3"]);
}

#[test]
fn addresses_of_the_own_variables_add_up_and_replace_the_port_of_a_platform() {
    let own = [("FOOLS_GOLD_BIND", "unix:///tmp/x"), ("FOOLS_GOLD_PORT", "4"), ("PORT", "2")];
    assert_eq!(binds(&[], &own), ["unix:///tmp/x", "tcp://[::]:4"]);
    assert_eq!(binds(&["-p", "3"], &own), ["tcp://[::]:3"]);
    let host = [("FOOLS_GOLD_BIND", "unix:///tmp/x"), ("FOOLS_GOLD_HOST", "127.0.0.1"), ("FOOLS_GOLD_PORT", "4")];
    assert_eq!(binds(&[], &host), ["unix:///tmp/x", "tcp://127.0.0.1:4"]);
    assert_eq!(binds(&[], &host[..2]), ["unix:///tmp/x", "tcp://127.0.0.1:9292"]);
}

/// `rails server` names an address that its user has not asked for.
#[test]
fn the_default_of_the_command_that_starts_the_server_counts_least() {
    let usual = [("FOOLSGOLD_DEFAULT_HOST", "localhost"), ("FOOLSGOLD_DEFAULT_PORT", "3000")];
    assert_eq!(binds(&[], &usual), ["tcp://localhost:3000"]);
    assert_eq!(binds(&["-b", "unix:///tmp/y"], &usual), ["unix:///tmp/y"]);
    assert_eq!(binds(&["-o", "::1", "-p", "4"], &usual), ["tcp://[::1]:4"]);
    let with = |name: &'static str, value: &'static str| [usual[0], usual[1], (name, value)];
    assert_eq!(binds(&[], &with("FOOLS_GOLD_BIND", "tcp://127.0.0.1:1")), ["tcp://127.0.0.1:1"]);
    assert_eq!(binds(&[], &with("PORT", "2")), ["tcp://localhost:2"]);
    assert!(resolved(&[], &usual).unwrap().operating.is_default_bind, "sockets of systemd take its place");
}

#[test]
fn all_addresses_of_a_port_are_taken_once() {
    assert_eq!(binds(&["-b", "tcp://0.0.0.0:3", "-p", "3"], &[]), ["tcp://0.0.0.0:3"]);
    assert_eq!(binds(&["-b", "tcp://0.0.0.0:3", "-p", "4"], &[]), ["tcp://0.0.0.0:3", "tcp://[::]:4"]);
    assert_eq!(binds(&["-b", "tcp://[::]:3", "-p", "3"], &[]), ["tcp://[::]:3"]);
    assert_eq!(binds(&["-b", "tcp://0.0.0.0:3", "-b", "tcp://[::]:3"], &[]), ["tcp://[::]:3"]);
    assert_eq!(binds(&["-b", "tcp://0.0.0.0:3", "-o", "::", "-p", "3"], &[]), ["tcp://[::]:3"]);
}

#[test]
fn each_bad_value_is_refused_with_its_origin_and_what_would_be_right() {
    let count = "must be a whole number";
    let size = "must be a whole number of bytes, or one with B, KB, KiB, MB, MiB, GB or GiB, such as 64MiB";
    let time = "must be a whole number of seconds, or one with ms, s, m or h, such as 30s or 500ms";
    let cases: [(&str, &str, &str); 23] = [
        ("--threads", "0", "must be from 1 to 1024"),
        ("-t", "many", count),
        ("-p", "65536", "must be from 0 to 65535"),
        ("--max-requests", "-1", count),
        ("--memory-limit", "1MiB", "must be from 4MiB to 64GiB"),
        ("--memory-limit", "64MiBs", size),
        ("--header-bytes", "4KiB", "must be from 8KiB to 16MiB"),
        ("--keep-alive", "0.5s", time),
        ("--request-time", "25h", "must be from 1ms to 24h, or none"),
        ("--workers", "2000", "must be from 0 to 1024, or auto"),
        ("--workers", "99999999999999999999", "must be from 0 to 1024, or auto"),
        ("--engine", "cruby", "must be auto, mruby, ruby"),
        ("--workers", "many", "must be a whole number or auto"),
        ("--threads", "99999999999999999999", "must be from 1 to 1024"),
        ("--body-bytes", "99999999999GiB", "is too large"),
        ("--tag", "a\u{7}b", "must be at most 64 letters, without line feeds and the like"),
        ("--prefix", "shop", "must be a path such as /shop"),
        ("--remote-address", "sockett", "must be socket, header:NAME, an IP address, or value:TEXT for any other text"),
        ("--remote-address", "value:", "needs a text behind value:, without line feeds and the like"),
        ("--access-log", "xml", "must be text, json, off"),
        ("--log-query", "filtered:", "must be filtered, filtered:NAME,NAME, full or none"),
        ("--environment", "a b", "must be one word, such as development or production"),
        ("--fresh", "perhaps", "must be yes or no"),
    ];
    for (flag, value, right) in cases {
        let expected = [format!("{flag} {value}: {right}")];
        let words: Vec<String> = match flag {
            "--fresh" => vec![format!("{flag}={value}")],
            _ => vec![flag.into(), value.into()],
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(resolved(&words, &[]).unwrap_err(), expected);
        if let Some(row) = TABLE.iter().find(|row| flag == format!("--{}", row.long)) {
            let variable = row.variables().remove(0);
            let refused = resolved(&[], &[(variable.as_str(), value)]).unwrap_err();
            assert_eq!(refused, [format!("{variable}={value}: {right}")]);
        }
    }
}

#[test]
fn bad_addresses_and_filters_are_refused() {
    for words in [["-b", "http://x"], ["-b", "tcp://"], ["-o", "no such host"], ["--log", "loud"], ["--log", ",,"]] {
        let refused = resolved(&words, &[]).unwrap_err();
        assert_eq!(refused.len(), 1);
        assert!(refused[0].starts_with(&format!("{} {}: ", words[0], words[1])), "{refused:?}");
    }
}

#[test]
fn a_socket_in_the_place_of_a_host_is_refused_with_what_to_say() {
    for path in ["@shop", "/run/shop.sock", "./shop.sock"] {
        let expected = [format!("-o {path}: is no host; for a Unix socket say --bind unix://{path}")];
        assert_eq!(resolved(&["-o", path, "-p", "3000"], &[]).unwrap_err(), expected);
    }
}

#[test]
fn a_folder_in_the_place_of_a_log_file_is_refused_with_the_option_that_names_it() {
    let refused = |words: &[&str]| resolved(words, &[]).unwrap_err();
    let log = ["--log-file", "/no/such/web.log"];
    for option in ["--redirect-stdout", "--redirect-stderr"] {
        let expected = [format!("{option} /: is a folder; name a file in it")];
        assert_eq!(refused(&[option, "/"]), expected);
        assert_eq!(refused(&[&log[..], &[option, "/"]].concat()), expected);
    }
    for path in ["/", "no-such-folder/"] {
        assert_eq!(refused(&["--log-file", path]), [format!("--log-file {path}: is a folder; name a file in it")]);
    }
}

#[test]
fn permission_bits_are_octal_with_and_without_a_prefix() {
    for text in ["27", "027", "0027", "0o27", "0o027"] {
        let settings = resolved(&["--umask", text, "-b", "unix:///tmp/x"], &[]).unwrap();
        assert_eq!(settings.operating.umask, Some(0o27), "{text}");
        assert_eq!(settings.binds[0].options.mode, None, "{text}: the umask decides, and not all users may connect");
    }
    assert_eq!(resolved(&["--state-permission", "0o640"], &[]).unwrap().operating.state_bits, Some(0o640));
    for text in ["0o", "0x27", "28", "1000", "u=rw"] {
        let expected = format!("--umask {text}: must be an octal number up to 777, such as 027");
        assert_eq!(resolved(&["--umask", text], &[]).unwrap_err(), [expected]);
    }
}
