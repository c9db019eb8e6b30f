//! Behind a proxy: whose word about the client is believed, what the application sees of it, and that a stranger's word
//! goes nowhere.

use crate::support::{Client, Reply, Server, app, ruby, server};

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
    ("Client-IP", "203.0.113.7"),
    ("True-Client-IP", "203.0.113.7"),
    ("X-Cluster-Client-IP", "203.0.113.7"),
    ("CF-Connecting-IP", "203.0.113.7"),
    ("Front-End-Https", "on"),
    ("X-Url-Scheme", "https"),
    ("X-Original-URL", "/admin"),
    ("X-Rewrite-URL", "/admin"),
    ("X-Script-Name", "/admin"),
    ("X-Sendfile-Type", "X-Accel-Redirect"),
    ("X-Accel-Mapping", "/srv/=/private/"),
    ("Remote-User", "admin"),
    ("X-Remote-User", "admin"),
    ("X-Auth-Request-Email", "admin@shop.example"),
    ("SSL-Client-Verify", "SUCCESS"),
    ("X-SSL-Client-CN", "admin"),
    ("Client-Cert", ":YQ==:"),
];

/// What clients say themselves, of any peer.
const OWN: &[(&str, &str)] = &[
    ("X-Requested-With", "XMLHttpRequest"),
    ("X-Http-Method-Override", "PUT"),
    ("X-CSRF-Token", "abc"),
    ("X-Auth-Token", "abc"),
    ("X-Client-Version", "7"),
    ("X-Correlation-Id", "abc"),
    ("Via", "1.1 home"),
    ("Origin", "https://shop.example"),
    ("Authorization", "Basic YTpi"),
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
        assert_nothing_arrives(&server);
    }
    assert_nothing_arrives(&ruby::serve(&echo(), &["-w", "1", "-t", "1", "--trust-proxy", "none"]));
}

#[track_caller]
fn assert_nothing_arrives(server: &Server) {
    let reply = ask(server.client(), &[SAID, OWN].concat());
    for (name, _) in SAID {
        let found = value(&reply, &key(name)).filter(|value| SAID.iter().any(|(_, said)| said == value));
        assert_eq!(found, None, "{name}");
    }
    for (name, said) in OWN {
        assert_eq!(value(&reply, &key(name)).as_deref(), Some(*said), "{name}");
    }
    assert_eq!(value(&reply, "rack.url_scheme").as_deref(), Some("http"));
    assert_eq!((value(&reply, "HTTPS"), value(&reply, "SERVER_PORT")), (None, Some("80".into())));
    assert_ne!(reply.header("x-request-id"), Some("edge-1.a_B"));
    assert_eq!(reply.header("x-request-id").unwrap().len(), 36);
}

/// Whoever sits behind a proxy that is not trusted yet finds out why, and what to say.
#[test]
fn the_log_names_a_peer_that_is_not_believed_once() {
    let server = Server::start(&echo(), &["-t", "1", "--trust-proxy", "10.0.0.0/8"]);
    ask(server.client(), &[("X-Request-Id", "abc"), ("Accept", "*/*")]);
    for _ in 0..3 {
        ask(server.client(), &[("X-Forwarded-Proto", "https"), ("X-Forwarded-For", "203.0.113.7")]);
    }
    server.must_log("--trust-proxy 10.0.0.0/8,127.0.0.1\n");
    let said = "127.0.0.1 is not a trusted proxy: left out of its requests: x-forwarded-";
    let log = server.log();
    assert_eq!((log.matches(said).count(), log.matches("is not a trusted proxy").count()), (1, 1), "{log}");
    let trusted = Server::start(&echo(), &["-t", "1"]);
    ask(trusted.client(), SAID);
    assert!(!trusted.log().contains("trusted proxy"), "{}", trusted.log());
}

/// No option would make the admin listener believe anybody.
#[test]
fn the_admin_listener_names_nobody() {
    let server = Server::start(&echo(), &["-t", "1", "--trust-proxy", "none", "--admin", "tcp://127.0.0.1:0"]);
    assert_eq!(ask(Client::tcp(server.admin_port()), &[("X-Forwarded-For", "1.2.3.4")]).status, 403, "of another host");
    ask(server.client(), &[("Client-IP", "1.2.3.4")]);
    server.must_log("left out of its requests: client-ip.");
    assert_eq!(server.log().matches("left out").count(), 1, "{}", server.log());
}

/// Headers, a key, and the value that the application finds under it.
type Row = (&'static [(&'static str, &'static str)], &'static str, Option<&'static str>);

const UNDERSCORES: &[Row] = &[
    (&[("api_key", "1")], "HTTP_API_KEY", Some("1")),
    (&[("API_Key", "1"), ("api_key", "2")], "HTTP_API_KEY", Some("1, 2")),
    (&[("X_Real_Thing", "1"), ("X-Real-Thing", "2")], "HTTP_X_REAL_THING", Some("2")),
    (&[("X-Real-Thing", "2"), ("X_Real_Thing", "1")], "HTTP_X_REAL_THING", Some("2")),
    (&[("a-b_c", "1"), ("a_b-c", "2")], "HTTP_A_B_C", Some("1")),
    (&[("X_Forwarded_For", "1.2.3.4")], "HTTP_X_FORWARDED_FOR", None),
    (&[("X-Forwarded_Proto", "https")], "HTTP_X_FORWARDED_PROTO", None),
    (&[("X_Forwarded_For", "1.2.3.4"), ("X-Forwarded-For", "5.6.7.8")], "HTTP_X_FORWARDED_FOR", Some("5.6.7.8")),
    (&[("Client_IP", "1.2.3.4")], "HTTP_CLIENT_IP", None),
    (&[("Remote_User", "admin")], "HTTP_REMOTE_USER", None),
    (&[("X_Sendfile_Type", "X-Accel-Redirect")], "HTTP_X_SENDFILE_TYPE", None),
    (&[("Content_Type", "a/b")], "CONTENT_TYPE", None),
    (&[("Content_Type", "a/b")], "HTTP_CONTENT_TYPE", None),
    (&[("Content_Length", "9")], "CONTENT_LENGTH", None),
    (&[("Transfer_Encoding", "chunked")], "HTTP_TRANSFER_ENCODING", None),
    (&[("HTTP_HOST", "evil.example")], "HTTP_HOST", Some("shop.example")),
    (&[("Sec_Fetch_Site", "same-origin")], "HTTP_SEC_FETCH_SITE", None),
];

#[test]
fn underscores_pass_and_cannot_pass_for_anything_else() {
    for server in
        [Server::start(&echo(), &["-t", "1"]), ruby::serve(&echo(), &["-w", "1", "-t", "1", "--trust-proxy", "all"])]
    {
        for (headers, key, expected) in UNDERSCORES {
            let reply = ask(server.client(), headers);
            assert_eq!(value(&reply, key).as_deref(), *expected, "{key} of {headers:?}\n{}", server.log());
        }
        assert!(!server.log().contains("--underscore-headers"), "{}", server.log());
    }
}

#[test]
fn underscores_are_dropped_where_that_is_wanted_and_the_log_says_so_once() {
    let server = Server::start(&echo(), &["-t", "1", "--underscore-headers", "drop"]);
    for _ in 0..3 {
        let reply = ask(server.client(), &[("api_key", "1"), ("api-token", "2")]);
        assert_eq!((value(&reply, "HTTP_API_KEY"), value(&reply, "HTTP_API_TOKEN")), (None, Some("2".into())));
    }
    server.must_log("in its name: api_key. --underscore-headers pass lets");
    assert_eq!(server.log().matches("api_key").count(), 1, "{}", server.log());
}

/// Apache's `RequestHeader set SSL_CLIENT_CERT`, which only a look into the log explains.
#[test]
fn a_proxy_is_told_why_its_underscores_are_lost() {
    let server = Server::start(&echo(), &["-t", "1"]);
    for _ in 0..3 {
        let reply = ask(server.client(), &[("X-Forwarded-For", "1.2.3.4"), ("SSL_CLIENT_CERT", "x")]);
        assert_eq!(value(&reply, "HTTP_SSL_CLIENT_CERT"), None);
    }
    server.must_log("in its name: ssl_client_cert. Anybody could send it");
    assert_eq!(server.log().matches("ssl_client_cert").count(), 1, "{}", server.log());
}

/// CVE-2016-5385: HTTP_PROXY is the proxy that programs send their own requests to.
#[test]
fn nobody_chooses_the_application_s_proxy() {
    let server = Server::start(&echo(), &["-t", "1", "--trust-proxy", "all"]);
    let reply = ask(server.client(), &[("Proxy", "http://evil.example/"), ("Proxy-Authorization", "Basic YTpi")]);
    assert_eq!(value(&reply, "HTTP_PROXY"), None);
    assert_eq!(value(&reply, "HTTP_PROXY_AUTHORIZATION").as_deref(), Some("Basic YTpi"));
}

/// Nor may an error reporter, which sends all of ENV, have the server's secrets.
#[test]
fn applications_do_not_see_the_server_s_secrets() {
    let app = app("", "ENV.keys.grep(/TOKEN|WIRE/).sort.join(\",\")");
    let secret = "a-secret-of-sixteen";
    let env = [("FOOLS_GOLD_ADMIN_TOKEN", secret), ("MY_TOKEN", "mine")];
    let options = ["-t", "1", "--admin", "tcp://127.0.0.1:0"];
    for server in [Server::with(&app, &env, &options), ruby::serve_files(&[("config.ru", &app)], &env, &options)] {
        assert_eq!(server.text("/"), "MY_TOKEN");
    }
}

#[test]
fn the_request_is_known_by_the_id_that_the_proxy_gave_it() {
    let server = Server::start(&app("", "env[\"fools_gold.context\"].id"), &["-t", "1"]);
    let reply = ask(server.client(), &[("X-Request-Id", "edge-1.a_B")]);
    assert_eq!((reply.text().as_str(), reply.header("x-request-id")), ("edge-1.a_B", Some("edge-1.a_B")));
    server.must_log(" edge-1.a_B\n");
    let longest = "x".repeat(128);
    assert_eq!(ask(server.client(), &[("X-Request-Id", &longest)]).text(), longest);
    let longer = "x".repeat(129);
    for bad in ["a b", "a\"b", "<script>", "", longer.as_str()] {
        let reply = ask(server.client(), &[("X-Request-Id", bad)]);
        assert_eq!((reply.text().len(), reply.header("x-request-id").unwrap().len()), (36, 36), "{bad}");
    }
}

/// So that a line of the application's log leads to that of the access log, and back. Rails' `request_id` is this id.
#[test]
fn the_application_has_the_id_of_the_access_log() {
    let ru = app("", "env[\"HTTP_X_REQUEST_ID\"].inspect");
    let server = |trust: &'static str, engine: &str| match engine {
        "mruby" => Server::start(&ru, &["--engine", "mruby", "-t", "1", "--trust-proxy", trust]),
        _ => ruby::serve(&ru, &["-w", "1", "-t", "1", "--trust-proxy", trust]),
    };
    let longer = "x".repeat(129);
    for engine in ["mruby", "ruby"] {
        let trusting = server("private", engine);
        let wary = server("none", engine);
        for (server, said, is_believed) in [
            (&trusting, &[("X-Request-Id", "edge-1.a_B")][..], true),
            (&trusting, &[], false),
            (&trusting, &[("X-Request-Id", "a b")], false),
            (&trusting, &[("X-Request-Id", longer.as_str())], false),
            (&trusting, &[("X-Request-Id", "")], false),
            (&trusting, &[("X-Request-Id", "one"), ("X-Request-Id", "two")], false),
            (&wary, &[("X-Request-Id", "edge-1.a_B")], false),
            (&wary, &[], false),
        ] {
            let reply = ask(server.client(), said);
            let id = reply.header("x-request-id").unwrap();
            assert_eq!(reply.text(), format!("{id:?}"), "{engine}: {said:?}");
            assert_eq!(id == "edge-1.a_B", is_believed, "{engine}: {said:?}");
            server.must_log(&format!(" {id}\n"));
        }
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
        let folder = server::folder_with(&[("config.ru", &app("", "env[\"rack.url_scheme\"]"))]);
        let bind = format!("unix://{}", folder.join("web.sock").display());
        let server = Server::spawn(folder, &[], &["-b", &bind, "-t", "1", "--trust-proxy", who]);
        let reply = ask(Client::unix(&server.folder.join("web.sock")), &[("X-Forwarded-Proto", "https")]);
        assert_eq!(reply.text(), expected, "{who}");
    }
}

#[test]
fn who_cannot_be_a_peer_is_refused() {
    let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
    let (code, said) = server::stderr_of(&folder, &[], &["--trust-proxy", "localhost,10.0.0.0/40"]);
    assert_eq!(code, Some(2));
    for word in ["\"localhost\"", "\"10.0.0.0/40\"", "a network such as 10.0.0.0/8"] {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
}
