//! Good and bad files, with the outcome: each message is compared exactly.

use machine::Machine;

use super::*;
use crate::config::arguments::{self, Problem};
use crate::config::settings::{Settings, resolve};

fn asked(text: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Arguments {
    let mut asked = arguments::ask(arguments, environment);
    read(&mut asked, Path::new("srv/foolsgold.toml"), Path::new(""), text);
    asked
}

fn resolved(text: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let resolved = resolve(asked(text, arguments, environment), Machine { cores: 2, has_quota: false, memory: None });
    resolved.map_err(|problems| problems.iter().map(Problem::to_string).collect())
}

fn problems(text: &str) -> Vec<String> {
    let found = resolved(text, &[], &[]).unwrap_err();
    found.iter().map(|line| line.trim_start_matches("srv/foolsgold.toml").to_owned()).collect()
}

#[test]
fn values_are_natural_or_text() {
    let text = "threads = 16\nfresh = true\nmemory-limit = \"32MiB\"\nheader-bytes = 0x10000\nrequest-time = 5\n\
                queue = \"7\"\naccess-log = false\ntrust-proxy = [\"private\", \"10.0.0.0/8\"]\n\
                bind = [\"tcp://127.0.0.1:1\", \"unix:///tmp/x\"]\nengine = \"mruby\"\nboot-time = \"5m\"\n";
    let settings = resolved(text, &[], &[]).unwrap();
    let app = &settings.apps[0];
    assert_eq!((app.mruby.interpreters, app.mruby.fresh, app.mruby.memory_bytes), (16, true, 32 << 20));
    assert_eq!((app.request_time.as_secs(), app.queue_places, app.ruby.boot_time.as_secs()), (5, 7, 300));
    assert_eq!((settings.limits.header_bytes, settings.trusted.len()), (65_536, 2));
    assert_eq!(settings.log_form, crate::config::settings::LogForm::NoAccess);
    let binds: Vec<String> = settings.binds.iter().map(|one| one.bind.to_string()).collect();
    assert_eq!(binds, ["tcp://127.0.0.1:1", "unix:///tmp/x"]);
    assert!(settings.chosen.contains(&"srv/foolsgold.toml:1: threads = 16".to_owned()), "{:?}", settings.chosen);
}

#[test]
fn flags_count_before_variables_and_these_before_the_file() {
    let threads = |arguments: &[&str], environment: &[(&str, &str)]| {
        resolved("threads = 3\nqueue = 5", arguments, environment).unwrap().apps[0].mruby.interpreters
    };
    let variable = [("FOOLS_GOLD_THREADS", "6")];
    assert_eq!([threads(&[], &[]), threads(&[], &variable), threads(&["-t", "9"], &variable)], [3, 6, 9]);
    let settings = resolved("environment = \"production\"", &[], &[("RACK_ENV", "test")]).unwrap();
    assert_eq!(settings.apps[0].environment, "test");
    let binds = |environment: &[(&str, &str)]| {
        let settings = resolved("bind = \"unix:///x\"\nport = 7", &[], environment).unwrap();
        settings.binds.iter().map(|one| one.bind.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(binds(&[]), ["unix:///x", "tcp://[::]:7"]);
    assert_eq!(binds(&[("PORT", "8")]), ["tcp://[::]:8"]);
}

#[test]
fn variables_for_the_threads_of_ruby_do_not_hide_the_number_of_interpreters() {
    for name in crate::config::options::RUBY_THREADS {
        let text = "threads = 3\n[[app]]\nname = \"a\"\nthreads = 7\n[[app]]\nname = \"b\"\nprefix = \"/b\"\n";
        let settings = resolved(text, &[], &[(name, "5")]).unwrap();
        let counts = settings.apps.iter().map(|app| (app.mruby.interpreters, app.ruby.threads));
        assert_eq!(counts.collect::<Vec<_>>(), [(7, 5), (3, 5)], "{name}");
        assert!(settings.chosen.contains(&"srv/foolsgold.toml:1: threads = 3".to_owned()), "{:?}", settings.chosen);
        let wrong = resolved("threads = 0", &[], &[(name, "5")]).unwrap_err();
        assert_eq!(wrong, ["srv/foolsgold.toml:1: threads = 0: must be from 1 to 1024"]);
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_line() {
    let text = "thread = 3\n\nthreads = 0\nqueue = [1, 2]\nfresh = { a = 1 }\nconfig = \"x\"\nrequest-time = 0.5\n\
                memory-limit = true\ntag = \"\"\nname = \"x\"\nmax-requests = -1\nreload = true\nzebra = 1\n\
                [server]\nbind = \"x\"\n";
    let expected = [
        ":1: thread = 3: there is no such setting; threads is the nearest",
        ":4: queue = [1, 2]: takes one value, and no list",
        ":6: config = \"x\": a settings file cannot name another",
        ":9: tag = \"\": needs a value, or must be left out",
        ":10: name = \"x\": is for one application: put it below [[app]]",
        ":13: zebra = 1: there is no such setting; see foolsgold --help",
        ":14: [server]: there is no such section: settings stand above the first [[app]], without one",
        ":7: request-time = 0.5: must be none, or a whole number of seconds, or one with ms, s, m or h, such as 30s or \
         500ms",
        ":3: threads = 0: must be from 1 to 1024",
        ":11: max-requests = -1: must be a whole number",
    ];
    let found = problems(text);
    for line in expected {
        assert!(found.iter().any(|found| found == line), "{line:?} is not in {found:#?}");
    }
    assert!(found.iter().any(|line| line.starts_with(":8: memory-limit = true: must be a whole number of bytes")));
    assert!(found.iter().any(|line| line.starts_with(":12: reload = true: ")), "{found:#?}");
}

#[test]
fn what_is_not_toml_is_told_with_its_line_and_nothing_else() {
    let found = problems("threads = 3\nqueue = \nbind = \"x\n");
    assert!(found.iter().all(|line| line.contains("is not TOML: ")), "{found:?}");
    assert!(found[0].starts_with(":2: "), "{found:?}");
    assert!(problems("threads = 3\nthreads = 4\n")[0].starts_with(":2: is not TOML: duplicate key"));
}

#[test]
fn underscores_are_taken_with_a_word() {
    let settings = resolved("request_time = \"5s\"", &[], &[]).unwrap();
    assert_eq!(settings.apps[0].request_time.as_secs(), 5);
    assert_eq!(settings.notices, ["srv/foolsgold.toml:1: request_time: is written request-time"]);
    assert_eq!(
        problems("request_time = 5\nrequest-time = 6"),
        [":2: request-time = 6: request-time is said twice here"]
    );
}

/// Errors are in a log, such as the journal, which others may read.
#[test]
fn no_error_about_the_token_shows_it() {
    let one = "= \"0123456789abcdef\"";
    for (text, error) in [
        (
            format!("[[app]]\nadmin-token {one}"),
            ":2: admin-token = ...: is one for the whole server: put it above the first [[app]]",
        ),
        (format!("admin-token = [{}]", &one[2..]), ":1: admin-token = ...: takes one value, and no list"),
        (format!("admin-tokn {one}"), ":1: admin-tokn = ...: there is no such setting; admin-token is the nearest"),
        (format!("admin-token {one}\nadmin_token {one}"), ":2: admin_token = ...: admin-token is said twice here"),
    ] {
        assert_eq!(problems(&text), [error]);
    }
}

#[test]
fn paths_begin_at_the_file() {
    let ruby = |text: &str| resolved(text, &[], &[]).unwrap().apps[0].ruby.clone();
    assert_eq!(ruby("hooks = \"h.rb\"").hooks, Some(PathBuf::from("srv/h.rb")));
    assert_eq!(ruby("hooks = \"/h.rb\"").hooks, Some(PathBuf::from("/h.rb")));
    assert_eq!(ruby("ruby = \"jruby\"").program, PathBuf::from("jruby"));
    assert_eq!(ruby("ruby = \"bin/ruby\"").program, PathBuf::from("srv/bin/ruby"));
    let rackup = |text: &str, arguments: &[&str]| asked(text, arguments, &[]).rackup;
    assert_eq!(rackup("path = \"shop/config.ru\"", &[]), Some(PathBuf::from("srv/shop/config.ru")));
    assert_eq!(rackup("path = \"shop/config.ru\"", &["other.ru"]), Some(PathBuf::from("other.ru")));
}

const SHOPS: &str = "workers = 4\nenvironment = \"production\"\n\n[[app]]\nname = \"shop\"\npath = \"shop\"\n\
                     prefix = \"/shop/\"\nworkers = 2\nrequest-time = \"90s\"\n\n[[app]]\nname = \"blog\"\n\
                     host = \"Blog.example.org\"\nengine = \"mruby\"\nfresh = true\nenvironment = \"staging\"\n";

#[test]
fn each_application_has_what_it_says_and_else_what_is_said_for_all() {
    let settings = resolved(SHOPS, &[], &[]).unwrap();
    let [shop, blog] = settings.apps.as_slice() else { panic!("{settings:?}") };
    assert_eq!((shop.name.as_str(), shop.prefix.as_str(), shop.host.as_deref()), ("shop", "/shop", None));
    assert_eq!(
        (blog.name.as_str(), blog.prefix.as_str(), blog.host.as_deref()),
        ("blog", "", Some("blog.example.org"))
    );
    assert_eq!(shop.rackup.as_deref(), Some(Path::new("srv/shop")));
    assert_eq!(blog.rackup.as_deref(), Some(Path::new("srv")));
    assert_eq!((shop.ruby.max_workers, blog.ruby.max_workers), (2, 4));
    assert_eq!((shop.environment.as_str(), blog.environment.as_str()), ("production", "staging"));
    assert!(blog.mruby.fresh && !shop.mruby.fresh);
    assert_eq!((shop.request_time.as_secs(), blog.request_time.as_secs()), (90, 30));
    assert_eq!(settings.limits.request_time.as_secs(), 90, "the longest of all");
    let settings = resolved(SHOPS, &["-w", "7"], &[]).unwrap();
    assert_eq!((settings.apps[0].ruby.max_workers, settings.apps[1].ruby.max_workers), (7, 7));
}

#[test]
fn applications_are_checked() {
    let cases = [
        ("[app]\nname = \"x\"", ":1: [app]: write [[app]], with two brackets on each side"),
        ("[[app]]\n[[app]]\nname = \"b\"\nprefix = \"/b\"", ":1: [[app]]: needs a name, such as name = \"shop\""),
        (
            "[[app]]\nname = \"a\"\n[[app]]\nname = \"a\"\nprefix = \"/b\"",
            ":4: name = \"a\": the application at srv/foolsgold.toml:1 has this name",
        ),
        (
            "[[app]]\nname = \"a\"\n[[app]]\nname = \"b\"",
            ":3: [[app]]: the application at srv/foolsgold.toml:1 has the same host and prefix, and would get its \
             requests: give one of them another",
        ),
        ("[[app]]\nio-threads = 3", ":2: io-threads = 3: is one for the whole server: put it above the first [[app]]"),
        ("[[app]]\nname = \"a b\"", ":2: name = \"a b\": must be at most 64 letters, digits and _ - ."),
        (
            "[[app]]\nhost = \"http://x\"",
            ":2: host = \"http://x\": must be a name such as shop.example.org, without a scheme or a port",
        ),
        ("[[app]]\nprefix = \"shop\"", ":2: prefix = \"shop\": must be a path such as /shop"),
        ("[[app]]\nprefx = \"/shop\"", ":2: prefx = \"/shop\": there is no such setting; prefix is the nearest"),
        ("[[app]]\npath = 3", ":2: path = 3: must be a text between quotes"),
        ("[[app]]\nworkers = \"many\"", ":2: workers = \"many\": must be a whole number or auto"),
    ];
    for (text, line) in cases {
        assert_eq!(problems(text), [line], "{text}");
    }
    let app = "[[app]]\nname = \"a\"\n";
    let found = resolved(app, &["other.ru"], &[]).unwrap_err();
    assert_eq!(found, ["other.ru: srv/foolsgold.toml names the applications: leave it out, or say --no-config"]);
    let found = resolved(app, &["/tmp/made/config.ru"], &[("FOOLSGOLD_APP_FOLDER", "/srv/shop")]).unwrap_err();
    assert!(found.len() == 1 && found[0].ends_with("FOOLS_GOLD_CONFIG=- in the environment reads no settings file"));
    assert_eq!(resolved("[[app]]\npath = \"x\"", &[], &[]).unwrap().apps[0].name, "app");
}

#[test]
fn a_single_application_has_its_prefix_without_a_section() {
    let prefix = |text: &str, flags: &[&str]| resolved(text, flags, &[]).unwrap().apps[0].prefix.clone();
    assert_eq!((prefix("prefix = \"/shop/\"", &[]).as_str(), prefix("", &[]).as_str()), ("/shop", ""));
    assert_eq!(prefix("prefix = \"/shop\"", &["--prefix", "/a/b"]), "/a/b");
    let expected = ":1: prefix = \"/shop\": is for one application: put it below [[app]]";
    assert_eq!(problems("prefix = \"/shop\"\n[[app]]"), [expected]);
    let expected = "--prefix /x: is for a single application: the settings file has prefix below each [[app]]";
    assert_eq!(resolved(SHOPS, &["--prefix", "/x"], &[]).unwrap_err(), [expected]);
}

#[test]
fn what_is_wrong_for_all_applications_is_told_once() {
    assert_eq!(problems(&format!("threads = 0\n{SHOPS}")), [":1: threads = 0: must be from 1 to 1024"]);
}

#[test]
fn what_is_said_for_all_is_not_held_against_one_with_another_engine() {
    let settings = resolved(SHOPS, &[], &[]).unwrap();
    assert!(settings.notices.is_empty(), "{:?}", settings.notices);
    let found = problems("[[app]]\nengine = \"mruby\"\nworkers = 4");
    assert!(found[0].starts_with(":3: workers = 4: the embedded engine has threads"), "{found:?}");
}

#[test]
fn a_number_of_workers_on_the_command_line_replaces_the_fewest_and_the_most_of_the_file() {
    let workers = |arguments: &[&str], environment: &[(&str, &str)]| {
        let settings = resolved("min-workers = 1\nmax-workers = 6", arguments, environment).unwrap();
        (settings.apps[0].ruby.min_workers, settings.apps[0].ruby.max_workers)
    };
    assert_eq!(workers(&[], &[]), (1, 6));
    assert_eq!(workers(&["-w", "3"], &[]), (3, 3));
    assert_eq!(workers(&["-w", "3", "--max-workers", "4"], &[]), (3, 4));
    assert_eq!(workers(&[], &[("FOOLS_GOLD_WORKERS", "3")]), (3, 3));
    assert_eq!(workers(&[], &[("WEB_CONCURRENCY", "3")]), (1, 6), "a platform says it to everybody");
}

#[test]
fn a_user_that_does_not_exist_is_refused_where_the_file_names_it() {
    let expected =
        [":1: user = \"no-such-user\": there is no such user", ":2: group = \"no-such-group\": there is no such group"];
    assert_eq!(problems("user = \"no-such-user\"\ngroup = \"no-such-group\""), expected);
}

#[test]
fn bits_are_octal_however_they_are_written() {
    for text in ["umask = 0o27", "umask = 0o027", "umask = 27", "umask = \"027\"", "umask = \"27\""] {
        assert_eq!(resolved(text, &[], &[]).unwrap().operating.umask, Some(0o27), "{text}");
    }
    for text in ["0o640", "640", "\"0640\""] {
        let text = format!("state-permission = {text}");
        assert_eq!(resolved(&text, &[], &[]).unwrap().operating.state_bits, Some(0o640), "{text}");
    }
    assert_eq!(problems("umask = 0x17"), [":1: umask = 0x17: must be octal, such as 0o027 or \"027\""]);
    assert_eq!(problems("umask = 28"), [":1: umask = 28: must be an octal number up to 777, such as 027"]);
}
