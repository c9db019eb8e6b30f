//! Tables of what may be asked, good and bad, with what comes of it: each message is checked to the letter.

use std::ffi::OsString;

use super::*;

fn settled(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let environment: Vec<_> = environment.iter().map(|(key, value)| (key.into(), value.into())).collect();
    let asked = crate::asked::read(arguments.iter().map(OsString::from).collect(), &environment);
    settle(asked, 2).map_err(|problems| problems.iter().map(Problem::to_string).collect())
}

fn binds(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    settled(arguments, environment).unwrap().binds.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_asked_gives_the_defaults() {
    let settings = settled(&[], &[]).unwrap();
    assert_eq!(binds(&[], &[]), ["tcp://0.0.0.0:9292"]);
    assert_eq!((settings.threads, settings.io_threads, settings.queue_places), (4, 2, 1024));
    assert_eq!((settings.environment.as_str(), settings.fresh, settings.max_requests), ("development", false, 0));
    assert_eq!(settings.memory_bytes, 64 << 20);
    assert_eq!(settings.log_form, LogForm::Text);
    let limits = settings.limits;
    assert_eq!((limits.header_bytes, limits.header_count, limits.body_memory_bytes), (112 << 10, 100, 112 << 10));
    assert_eq!((limits.body_bytes, limits.spool_bytes, limits.connections), (1 << 30, 1 << 30, 16_384));
    let times = [limits.header_time, limits.body_time, limits.keep_alive, limits.write_time, limits.queue_wait];
    assert_eq!(times.map(|time| time.as_secs()), [30, 300, 65, 30, 10]);
    assert_eq!([limits.request_time, limits.drain_time].map(|time| time.as_secs()), [30, 30]);
    assert!(settings.chosen.is_empty() && settings.notices.is_empty());
}

#[test]
fn defaults_follow_the_cores() {
    let threads = |cores| settle(Asked::default(), cores).unwrap().threads;
    assert_eq!([1, 2, 3, 16].map(threads), [4, 4, 6, 32]);
}

#[test]
fn good_values_are_taken() {
    let settings = settled(
        &["-t", "16", "-e", "production", "--fresh", "--memory-limit=32MiB", "--queue-wait", "500ms"],
        &[("FOOLS_GOLD_MAX_REQUESTS", "1000"), ("FOOLS_GOLD_ACCESS_LOG", "json"), ("FOOLS_GOLD_THREADS", "3")],
    )
    .unwrap();
    assert_eq!((settings.threads, settings.fresh, settings.max_requests), (16, true, 1000));
    assert_eq!(settings.memory_bytes, 32 << 20);
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

#[test]
fn pumas_pair_of_threads_is_taken_with_a_word() {
    let settings = settled(&["-t", "0:16"], &[]);
    assert_eq!(settings.unwrap_err(), ["-t 0:16: must be from 1 to 1024"]);
    let settings = settled(&["-t", "1:16"], &[]).unwrap();
    assert_eq!(settings.threads, 16);
    assert_eq!(settings.notices, ["-t 1:16: all 16 threads are started at once"]);
}

#[test]
fn addresses_of_the_command_line_add_up_and_replace_those_of_the_environment() {
    let environment = [("FOOLS_GOLD_BIND", "tcp://127.0.0.1:1,unix:///tmp/x"), ("PORT", "2")];
    assert_eq!(binds(&[], &environment), ["tcp://127.0.0.1:1", "unix:///tmp/x"]);
    assert_eq!(binds(&[], &environment[1..]), ["tcp://0.0.0.0:2"]);
    assert_eq!(binds(&["-p", "3"], &environment), ["tcp://0.0.0.0:3"]);
    assert_eq!(binds(&["-o", "127.0.0.1"], &environment), ["tcp://127.0.0.1:2"]);
    assert_eq!(binds(&["-o", "::1", "-p", "0"], &[]), ["tcp://[::1]:0"]);
    assert_eq!(binds(&["-b", "unix:///tmp/y", "-p", "3"], &environment), ["unix:///tmp/y", "tcp://0.0.0.0:3"]);
    assert_eq!(binds(&["-b", "tcp://0.0.0.0:3", "-p", "3"], &[]), ["tcp://0.0.0.0:3"]);
}

#[test]
fn each_bad_value_is_refused_with_its_origin_and_what_would_be_right() {
    let count = "must be a whole number";
    let size = "must be a whole number of bytes, or one with B, KB, KiB, MB, MiB, GB or GiB, such as 64MiB";
    let time = "must be a whole number of seconds, or one with ms, s, m or h, such as 30s or 500ms";
    let cases: [(&str, &str, &str); 13] = [
        ("--threads", "0", "must be from 1 to 1024"),
        ("-t", "many", count),
        ("-p", "65536", "must be from 0 to 65535"),
        ("--max-requests", "-1", count),
        ("--memory-limit", "1MiB", "must be from 4MiB to 64GiB"),
        ("--memory-limit", "64MiBs", size),
        ("--header-bytes", "4KiB", "must be from 8KiB to 16MiB"),
        ("--request-time", "0.5s", time),
        ("--request-time", "0", "must be from 1ms to 24h"),
        ("--engine", "ruby", "must be mruby; the engine for CRuby (--engine ruby) is not in this version"),
        ("--access-log", "xml", "must be text, json, off"),
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
        assert_eq!(settled(&words, &[]).unwrap_err(), expected);
        if let Some(row) = TABLE.iter().find(|row| flag == format!("--{}", row.long)) {
            let variable = row.variables().remove(0);
            let refused = settled(&[], &[(variable.as_str(), value)]).unwrap_err();
            assert_eq!(refused, [format!("{variable}={value}: {right}")]);
        }
    }
}

#[test]
fn bad_addresses_and_filters_are_refused() {
    for words in [["-b", "http://x"], ["-b", "tcp://"], ["-o", "no such host"], ["--log", "loud"]] {
        let refused = settled(&words, &[]).unwrap_err();
        assert_eq!(refused.len(), 1);
        assert!(refused[0].starts_with(&format!("{} {}: ", words[0], words[1])), "{refused:?}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let refused = settled(&["-t", "0", "--nope", "-w", "2"], &[("FOOLS_GOLD_QUEUE", "x"), ("PORT", "x")]).unwrap_err();
    assert_eq!(refused.len(), 5, "{refused:?}");
}
