//! Behind a proxy: whose word about the client is believed, what the application sees of it, and that a stranger's word
//! goes nowhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod support;

use support::{Client, Reply, Server, app, server};

/// What a proxy says, and how the application sees it.
const SAID: &[(&str, &str)] = &[
    ("X-Forwarded-For", "203.0.113.7"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "shop.example"),
    ("X-Forwarded-Port", "443"),
    ("X-Forwarded-Scheme", "https"),
    ("X-Forwarded-Ssl", "on"),
    ("X-Forwarded-Server", "edge"),
    ("X-Forwarded-User", "admin"),
    ("Forwarded", "for=203.0.113.7;proto=https"),
    ("X-Real-IP", "203.0.113.7"),
    ("X-Request-Start", "t=1"),
    ("X-Request-Id", "edge-1.a_B"),
];

/// Answers its environment, a line for each string in it.
fn echo() -> String {
    app("", "env.map { |key, value| value.is_a?(String) ? \"#{key}=#{value}\\n\" : \"\" }.join")
}

fn ask(mut client: Client, headers: &[(&str, &str)]) -> Reply {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    client.send(format!("GET /echo HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n")).unwrap();
    client.reply().unwrap()
}

/// The value of one key in the environment that was answered.
fn value(reply: &Reply, key: &str) -> Option<String> {
    let start = format!("{key}=");
    reply.text().lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned))
}

fn key(header: &str) -> String {
    format!("HTTP_{}", header.to_uppercase().replace('-', "_"))
}

#[test]
fn a_trusted_proxy_is_believed_and_all_it_says_goes_on() {
    for who in ["private", "127.0.0.1", "10.0.0.0/8,127.0.0.0/8", "all"] {
        let server = Server::start(&echo(), &["-t", "1", "--trust-proxy", who]);
        let reply = ask(server.client(), SAID);
        for (name, said) in SAID {
            assert_eq!(value(&reply, &key(name)).as_deref(), Some(*said), "{name}, {who}");
        }
        for (key, expected) in
            [("rack.url_scheme", "https"), ("HTTPS", "on"), ("SERVER_PORT", "443"), ("REMOTE_ADDR", "127.0.0.1")]
        {
            assert_eq!(value(&reply, key).as_deref(), Some(expected), "{key}, {who}");
        }
    }
}

#[test]
fn a_stranger_is_not_believed_and_nothing_it_says_arrives() {
    for who in ["none", "10.0.0.0/8", "::1"] {
        let server = Server::start(&echo(), &["-t", "1", "--trust-proxy", who]);
        let reply = ask(server.client(), SAID);
        for (name, _) in SAID {
            assert_eq!(value(&reply, &key(name)), None, "{name}, {who}");
        }
        assert_eq!(value(&reply, "rack.url_scheme").as_deref(), Some("http"));
        assert_eq!((value(&reply, "HTTPS"), value(&reply, "SERVER_PORT")), (None, Some("80".into())));
        assert_ne!(reply.header("x-request-id"), Some("edge-1.a_B"));
        assert_eq!(reply.header("x-request-id").unwrap().len(), 36);
    }
}

#[test]
fn the_request_is_known_by_the_id_that_the_proxy_gave_it() {
    let server = Server::start(&app("", "env[\"fools_gold.context\"].id"), &["-t", "1"]);
    let reply = ask(server.client(), &[("X-Request-Id", "edge-1.a_B")]);
    assert_eq!((reply.text().as_str(), reply.header("x-request-id")), ("edge-1.a_B", Some("edge-1.a_B")));
    assert!(server.logs(" edge-1.a_B\n"), "{}", server.log());
    let longest = "x".repeat(128);
    assert_eq!(ask(server.client(), &[("X-Request-Id", &longest)]).text(), longest);
    let longer = "x".repeat(129);
    for bad in ["a b", "a\"b", "<script>", "", longer.as_str()] {
        let reply = ask(server.client(), &[("X-Request-Id", bad)]);
        assert_eq!((reply.text().len(), reply.header("x-request-id").unwrap().len()), (36, 36), "{bad}");
    }
}

#[test]
fn each_request_of_a_connection_speaks_for_itself() {
    let server = Server::start(&app("", "env[\"rack.url_scheme\"] + env[\"HTTPS\"].to_s"), &["-t", "1"]);
    let mut client = server.client();
    for (proto, expected) in [("https", "httpson"), ("http", "http"), ("https", "httpson")] {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: {proto}\r\n\r\n")).unwrap();
        assert_eq!(client.reply().unwrap().text(), expected);
    }
    assert_eq!(client.get("/").text(), "http");
}

#[test]
fn a_unix_socket_is_private() {
    for (who, expected) in [("private", "https"), ("all", "https"), ("none", "http"), ("127.0.0.1", "http")] {
        let folder = server::folder();
        std::fs::write(folder.join("config.ru"), app("", "env[\"rack.url_scheme\"]")).unwrap();
        let bind = format!("unix://{}", folder.join("web.sock").display());
        let server = Server::spawn(folder, &[], &["-b", &bind, "-t", "1", "--trust-proxy", who]);
        let reply = ask(Client::unix(&server.folder.join("web.sock")), &[("X-Forwarded-Proto", "https")]);
        assert_eq!(reply.text(), expected, "{who}");
    }
}

#[test]
fn who_cannot_be_a_peer_is_refused() {
    let folder = server::folder();
    std::fs::write(folder.join("config.ru"), app("", "1")).unwrap();
    let output =
        server::command().current_dir(&folder).args(["--trust-proxy", "localhost,10.0.0.0/40"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    for word in ["\"localhost\"", "\"10.0.0.0/40\"", "a network such as 10.0.0.0/8"] {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
