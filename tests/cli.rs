//! The command line: what it refuses and how, what it tells, and what the log says at start.

use crate::support::{Client, Folder, Server, app, server};

fn folder_with_app() -> Folder {
    server::folder_with(&[("config.ru", &app("", "\"gold\""))])
}

#[test]
fn help_and_version_are_answered_without_an_application() {
    let folder = server::folder();
    let said = server::exits_with(0, &folder, &[], &["--help"]);
    for option in ["--bind", "--port", "--threads", "--fresh", "--max-requests", "--request-time", "--access-log"] {
        assert!(said.contains(option), "{option} is not in: {said}");
    }
    for flag in ["--version", "-V"] {
        let said = server::exits_with(0, &folder, &[], &[flag]);
        assert!(said.contains(env!("CARGO_PKG_VERSION")) && said.contains("mruby"), "{said}");
        // The arena writes it beside every figure: no other server brings an allocator.
        assert_eq!(said.contains("jemalloc"), cfg!(feature = "jemalloc"), "{said}");
    }
}

#[test]
fn every_command_has_help_on_standard_output() {
    let folder = server::folder();
    for command in ["doctor", "config", "explain", "native", "options", "start", "status", "scale", "stop"] {
        for flag in ["--help", "-h"] {
            let output = server::command().current_dir(&folder).args([command, flag]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{command} {flag}");
            assert!(text.starts_with("Usage: foolsgold ") && output.stderr.is_empty(), "{command} {flag}: {text}");
            let is_of_server = command == "start";
            assert_eq!(text.contains("--bind"), is_of_server, "{command} {flag}: {text}");
        }
    }
}

/// Their options and exit codes are there, and not in the help of the server.
#[test]
fn an_error_of_a_command_names_the_help_of_that_command() {
    let folder = folder_with_app();
    for command in ["config", "explain", "native", "doctor", "options", "status"] {
        let said = server::exits_with(2, &folder, &[], &[command, "--zebra"]);
        assert!(said.contains(&format!("See foolsgold {command} --help.")), "{said}");
    }
    let (_, said) = server::run(&folder, &[], &["--zebra"]);
    assert!(said.contains("See foolsgold --help."), "{said}");
}

#[test]
fn a_missing_application_is_named() {
    let folder = server::folder();
    // Wrong usage has the exit code 2, with or without flags; a missing application is a failed start.
    let cases: [(&[&str], &str, i32); 11] = [
        (&[], "config.ru", 1),
        (&["config.ru"], "config.ru: there is no such file; name the application's config.ru", 1),
        (&["explian", "config/puma.rb"], "`foolsgold explain` is the nearest", 2),
        (&["-e", "production", "explian", "config/puma.rb"], "`foolsgold explain` is the nearest", 2),
        (&["other.ru"], "other.ru", 1),
        (&["no/where"], "no/where", 1),
        (&["natve"], "`foolsgold native` is the nearest", 2),
        (&["stauts"], "`foolsgold status` is the nearest", 2),
        (&["-e", "production", "explain", "x.rb"], "comes first: `foolsgold explain -e production x.rb`", 2),
        (&["start"], "config.ru", 1),
        (&["-d"], "needs --log-file FILE", 2),
    ];
    for (arguments, word, code) in cases {
        let said = server::exits_with(code, &folder, &[], arguments);
        assert!(said.contains(word), "{said}");
    }
    std::fs::create_dir(folder.join("config")).unwrap();
    let said = server::exits_with(2, &folder, &[], &["-e", "production", "config"]);
    assert!(said.contains("comes first: `foolsgold config -e production`"), "{said}");
}

#[test]
fn what_other_programs_call_a_command_is_called_here() {
    let folder = folder_with_app();
    for (word, ours) in [("upgrade", "restart"), ("phased-restart", "reload"), ("help", "--help")] {
        let said = server::exits_with(2, &folder, &[], &[word]);
        assert!(said.contains(&format!("that is `foolsgold {ours}` here")), "{said}");
    }
}

#[test]
fn the_missing_folder_of_a_socket_is_named() {
    let folder = folder_with_app();
    let socket = folder.join("run/app/web.sock");
    let said = server::exits_with(1, &folder, &[], &["-b", &format!("unix://{}", socket.display())]);
    assert!(said.contains(&format!("there is no folder {}: make it", folder.join("run").display())), "{said}");
}

#[test]
fn the_start_says_what_is_served_where_and_how() {
    let server = Server::start(&app("", "\"gold\""), &["-t", "3", "-e", "production"]);
    assert_eq!(server.text("/"), "gold");
    let log = server.log();
    let port = server.port.to_string();
    for word in ["config.ru", "127.0.0.1:", &port, "mruby 3", "3", "production"] {
        assert!(log.contains(word), "{word:?} is not in: {log}");
    }
}

#[test]
fn one_line_per_request_as_text_or_json_or_none() {
    for (form, words) in [("text", vec!["GET", "/found", "200"]), ("json", vec!["\"GET\"", "/found", "200"])] {
        let server = Server::start(&app("", "\"gold\""), &["-t", "1", "--access-log", form]);
        server.text("/found?x=1");
        server.must_log("/found");
        let log = server.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("/found")).collect();
        assert_eq!(lines.len(), 1, "{log}");
        for word in words {
            assert!(lines[0].contains(word), "{word:?} is not in: {}", lines[0]);
        }
    }
    let server = Server::start(&app("", "\"gold\""), &["-t", "1", "--access-log", "off"]);
    server.text("/found");
    assert!(!server.log().contains("/found"));
}

#[test]
fn secrets_in_queries_are_in_no_log_and_on_no_page() {
    let ru = "run lambda { |env| env[\"PATH_INFO\"] == \"/raise\" ? raise(\"no\") : [200, {}, [\"gold\"]] }\n";
    for form in ["text", "json"] {
        let server = Server::start(ru, &["-t", "1", "--access-log", form, "--admin", "0"]);
        assert_eq!(server.get("/found?page=2&reset_token=s3cret&user%5BPassword%5D=s3cret").status, 200);
        assert_eq!(server.get("/raise?token=s3cret").status, 500);
        assert_eq!(server.client().ask("GET /refused?token=s3cret HTTP/1.1\n\n").status, 400);
        for shown in [
            "/found?page=2&reset_token=[FILTERED]&user%5BPassword%5D=[FILTERED]",
            "/raise?token=[FILTERED]",
            "/refused?token=[FILTERED]",
        ] {
            server.must_log(shown);
        }
        for page in ["/v1/status", "/v1/recorder", "/v1/workers", "/metrics"] {
            let reply = Client::tcp(server.admin_port()).get_as(page, "localhost");
            assert!(reply.status == 200 && !reply.text().contains("s3cret"), "{page}: {}", reply.text());
        }
        assert!(!server.log().contains("s3cret"), "{}", server.log());
    }
    for (mode, shown) in [
        ("full", "/found?token=a&card=b "),
        ("none", "/found "),
        ("filtered:card", "/found?token=[FILTERED]&card=[FILTERED] "),
    ] {
        let server = Server::start(ru, &["-t", "1", "--log-query", mode]);
        server.text("/found?token=a&card=b");
        assert!(server.logs(shown), "{mode}: {}", server.log());
    }
}

#[test]
fn the_log_filter_is_obeyed() {
    let server = Server::with(&app("", "\"gold\""), &[("FOOLS_GOLD_LOG", "info,access=off")], &["-t", "1"]);
    server.text("/found");
    assert!(!server.log().contains("/found"), "{}", server.log());
    let folder = folder_with_app();
    let (output, said) = server::run(&folder, &[("FOOLS_GOLD_LOG", "gold=loud")], &[]);
    assert!(!output.status.success() && said.contains("loud"), "{said}");
}

#[test]
fn an_attacker_cannot_write_lines_of_the_log() {
    let server = Server::start(&app("", "\"gold\""), &["-t", "1"]);
    let mut client = server.client();
    client.send("GET /x HTTP/1.1\r\nHost: a\r\nUser-Agent: \u{80}\u{9b}31m\r\n\r\n").unwrap();
    let _ = client.reply();
    server.text("/y");
    server.must_log("/y");
    assert!(!server.log().contains('\u{1b}') && !server.log().contains('\u{9b}'), "{:?}", server.log());
}
