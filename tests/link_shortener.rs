//! apps/link-shortener from outside: links are made, followed and counted, by people and by programs, and outlive the
//! server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use crate::support::{Reply, Server, server};

/// The server, and the folder with its database, which the next one may get.
fn serve(data: &Path, more: &[&str]) -> Server {
    serve_by(&[], data, more)
}

fn serve_by(by: &[&str], data: &Path, more: &[&str]) -> Server {
    let app = server::repository().join("apps/link-shortener");
    let database = data.join("links.db").display().to_string();
    let own = ["--access-log", "off", "-b", "tcp://127.0.0.1:0", app.to_str().unwrap()];
    Server::spawn_by(by, server::folder(), &[("LINKS_DB", &database)], &[&own[..], more].concat())
}

/// The same for whom the permissions of files count, which they do not for root.
fn serve_without_rights(data: &Path) -> Server {
    let by: &[&str] = if nix::unistd::geteuid().is_root() {
        &["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
    } else {
        &[]
    };
    serve_by(by, data, &[])
}

/// Somebody with a browser: keeps the cookie.
struct Person<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Person<'a> {
    fn at(server: &'a Server) -> Person<'a> {
        Person { server, cookie: String::new() }
    }

    fn ask(&mut self, verb: &str, path: &str, body: &str) -> Reply {
        let mut client = self.server.client();
        let (cookie, length) = (&self.cookie, body.len());
        let head = format!(
            "{verb} {path} HTTP/1.1\r\nHost: short.test\r\nCookie: {cookie}\r\nContent-Length: {length}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}"
        );
        client.send(head).unwrap();
        let reply = if verb == "HEAD" { client.head().unwrap() } else { client.reply().unwrap() };
        if let Some(cookie) = reply.header("set-cookie") {
            assert!(cookie.contains("httponly") && cookie.contains("samesite=lax"), "{cookie}");
            self.cookie = cookie.split(';').next().unwrap().to_owned();
        }
        reply
    }

    fn page(&mut self, path: &str) -> String {
        let reply = self.ask("GET", path, "");
        assert_eq!(reply.status, 200, "{path}: {}\n{}", reply.text(), self.server.log());
        reply.text()
    }

    fn token(&mut self) -> String {
        let page = self.page("/");
        let (_, rest) = page.split_once("name=\"token\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Sends the form of the first page, as that page has it.
    fn make(&mut self, fields: &str) -> Reply {
        let token = self.token();
        self.ask("POST", "/links", &format!("token={token}&{fields}"))
    }
}

fn api(server: &Server, verb: &str, path: &str, headers: &str, body: &str) -> (u16, serde_json::Value) {
    let mut client = server.client();
    let length = body.len();
    let head = format!("{verb} {path} HTTP/1.1\r\nHost: short.test\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
    client.send(head).unwrap();
    let reply = client.reply().unwrap();
    assert_eq!(reply.header("content-type"), Some("application/json"), "{}\n{}", reply.text(), server.log());
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn a_link_is_made_followed_counted_and_retired() {
    let data = server::folder();
    let server = serve(&data, &[]);
    let mut person = Person::at(&server);
    let made = person.make("url=https%3A%2F%2Fexample.com%2Fa%2Flong%3Fway%3D1&code=spring-sale&days=7");
    assert_eq!((made.status, made.header("location")), (303, Some("/")), "{}", server.log());
    let page = person.page("/");
    assert!(page.contains("http://short.test/spring-sale is ready.") && page.contains("0 visits"), "{page}");
    assert!(!person.page("/").contains("is ready."), "the notice is shown once");

    let followed = person.ask("GET", "/spring-sale", "");
    assert_eq!((followed.status, followed.header("location")), (302, Some("https://example.com/a/long?way=1")));
    assert_eq!(followed.header("set-cookie"), None);
    assert_eq!(person.ask("HEAD", "/spring-sale", "").status, 302);
    assert!(person.page("/").contains("1 visit<"), "HEAD is no visit");
    let statistics = Person::at(&server).page("/spring-sale+");
    assert!(statistics.contains("<dt>visits</dt><dd>1</dd>"), "{statistics}");

    // Nobody else can retire it, with whatever token.
    let mut stranger = Person::at(&server);
    let token = stranger.token();
    assert_eq!(stranger.ask("POST", "/links/spring-sale/retire", &format!("token={token}")).status, 404);
    assert_eq!(person.ask("POST", "/links/spring-sale/retire", "").status, 403);
    assert_eq!(stranger.ask("GET", "/spring-sale", "").status, 302);
    let token = person.token();
    assert_eq!(person.ask("POST", "/links/spring-sale/retire", &format!("token={token}")).status, 303);
    assert_eq!(stranger.ask("GET", "/spring-sale", "").status, 410);
    assert!(!person.page("/").contains("spring-sale</a>"));
    assert_eq!(person.make("url=https%3A%2F%2Fexample.com&code=spring-sale").status, 409);
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_lost() {
    let data = server::folder();
    let server = serve(&data, &[]);
    let mut person = Person::at(&server);
    for (fields, words) in [
        ("url=", "Say which address"),
        ("url=nowhere", "names no host"),
        ("url=javascript%3A%2F%2Fx.com%2Falert(1)", "Only addresses with http"),
        ("url=https%3A%2F%2Fshort.test%2Fabc", "address of this service"),
        ("url=https%3A%2F%2Fgood.com%40evil.com%2F", "name before the @"),
        ("url=javascript%3Aalert(1)", "Only addresses with http"),
        ("url=mailto%3Ame%40example.com", "Only addresses with http"),
        ("url=tel%3A123", "Only addresses with http"),
        ("url=https%3A%2F%2Fm%C3%BCnchen.de%2F", "host outside of ASCII"),
        ("url=https%3A%2F%2Fexample.com%2F%FF", "This is no address"),
        ("url=https%3A%2F%2Fexample.com%2F%25zz", "This is no address"),
        ("url=https%3A%2F%2Fexample.com%2F%0Aa", "This is no address"),
        ("url=https%3A%2F%2Fexample.com&code=a", "3 to 40"),
        ("url=https%3A%2F%2Fexample.com&code=..%2Fetc", "3 to 40"),
        ("url=https%3A%2F%2Fexample.com&code=API", "own"),
        ("url=https%3A%2F%2Fexample.com&days=0", "1 to 3650"),
        ("url=https%3A%2F%2Fexample.com&days=never", "1 to 3650"),
    ] {
        let reply = person.make(fields);
        assert_eq!(reply.status, 422, "{fields}: {}", reply.text());
        assert!(reply.text().contains(words), "{fields}: {}", reply.text());
    }
    let reply = person.make("url=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    assert!(reply.status == 422 && !reply.text().contains("<script>"), "{}", reply.text());
    assert!(reply.text().contains("&gt;&lt;script&gt;"), "what was typed is still there: {}", reply.text());
    assert_eq!(person.ask("POST", "/links", "token=wrong&url=https%3A%2F%2Fexample.com").status, 403);
    assert_eq!(person.ask("POST", "/links", "%ZZ=%FF&&=").status, 403);
    for (verb, path, status) in [
        ("GET", "/nothing-here", 404),
        ("GET", "/nothing-here+", 404),
        ("GET", "/a/b/c", 404),
        ("GET", "/%00%FF", 404),
        ("GET", "/public/../config.ru", 404),
        ("GET", "/public/style.css", 200),
        ("PUT", "/", 405),
        ("POST", "/", 404),
    ] {
        assert_eq!(person.ask(verb, path, "").status, status, "{verb} {path}\n{}", server.log());
    }
    // A cookie that somebody has changed is no session.
    person.make("url=https%3A%2F%2Fexample.com&code=mine");
    assert!(person.page("/").contains("short.test/mine"));
    person.cookie = person.cookie.replace("links=e", "links=f");
    assert!(!person.page("/").contains("short.test/mine"));
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

#[test]
fn programs_have_an_interface_of_their_own() {
    let data = server::folder();
    let server = serve(&data, &[]);
    let (status, made) = api(&server, "POST", "/api/links", JSON, r#"{"url": "example.com/x", "days": 30}"#);
    assert_eq!((status, made["url"].as_str()), (201, Some("https://example.com/x")), "{made}");
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["short_url"], format!("http://short.test/{code}"));
    assert_eq!(server.get(&format!("/{code}")).status, 302);
    let path = format!("/api/links/{code}");
    let (status, seen) = api(&server, "GET", &path, "", "");
    assert_eq!((status, &seen["visits"], &seen["live"]), (200, &1.into(), &true.into()));
    assert_eq!(seen.get("token"), None);
    assert_eq!(api(&server, "DELETE", &path, "Authorization: Bearer guess\r\n", "").0, 403);
    let token = format!("Authorization: Bearer {}\r\n", made["token"].as_str().unwrap());
    assert_eq!(api(&server, "DELETE", &path, &token, "").1["live"], false);
    assert_eq!(server.get(&format!("/{code}")).status, 410);
    for (verb, path, headers, body, status) in [
        ("POST", "/api/links", "", "{}", 415),
        ("POST", "/api/links", JSON, "{", 400),
        ("POST", "/api/links", JSON, "[]", 422),
        ("POST", "/api/links", JSON, r#"{"url": 5}"#, 422),
        ("POST", "/api/links", JSON, r#"{"url": {"a": []}, "code": [1]}"#, 422),
        ("POST", "/api/links", JSON, r#"{"url": "https://example.com", "code": "x"}"#, 422),
        ("GET", "/api/links/nothing", "", "", 404),
        ("GET", "/api/links", "", "", 405),
        ("PATCH", "/api/links/nothing", "", "", 405),
    ] {
        let (got, answer) = api(&server, verb, path, headers, body);
        assert_eq!(got, status, "{verb} {path} {body}: {answer}");
        assert!(answer["error"].is_string(), "{answer}");
    }
}

#[test]
fn addresses_are_taken_as_people_paste_them() {
    let data = server::folder();
    let server = serve(&data, &[]);
    for (given, kept) in [
        ("https://example.com/ünï", "https://example.com/%C3%BCn%C3%AF"),
        ("https://example.com/a b?q=[é]#ü", "https://example.com/a%20b?q=%5B%C3%A9%5D#%C3%BC"),
        ("https://example.com/100%25/%C3%BC", "https://example.com/100%25/%C3%BC"),
        ("example.com:8080/x", "https://example.com:8080/x"),
        ("localhost:3000", "https://localhost:3000"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ] {
        let body = serde_json::json!({ "url": given }).to_string();
        let (status, made) = api(&server, "POST", "/api/links", JSON, &body);
        assert_eq!((status, made["url"].as_str()), (201, Some(kept)), "{given}: {made}");
        let path = format!("/{}", made["code"].as_str().unwrap());
        assert_eq!(server.get(&path).header("location"), Some(kept));
    }
}

#[test]
fn a_database_that_cannot_be_written_is_read() {
    let data = server::folder();
    let first = serve(&data, &[]);
    let mut person = Person::at(&first);
    assert_eq!(person.make("url=https%3A%2F%2Fexample.com&code=kept").status, 303);
    let cookie = person.cookie.clone();
    drop(first);
    fs::set_permissions(data.join("links.db"), fs::Permissions::from_mode(0o444)).unwrap();
    let server = serve_without_rights(&data);
    server.must_log("links.db can only be read");
    assert_eq!(server.get("/kept").header("location"), Some("https://example.com"), "{}", server.log());
    let mut person = Person { server: &server, cookie };
    assert!(person.page("/").contains("short.test/kept"));
    let refused = person.make("url=https%3A%2F%2Fexample.com");
    assert!(refused.status == 503 && refused.text().contains("No links can be made now"), "{}", refused.text());
    let token = person.token();
    assert_eq!(person.ask("POST", "/links/kept/retire", &format!("token={token}")).status, 503);
    let (status, answer) = api(&server, "POST", "/api/links", JSON, r#"{"url": "https://example.com"}"#);
    assert!(status == 503 && answer["error"].is_string(), "{answer}");
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

#[test]
fn links_and_sessions_outlive_the_server() {
    let data = server::folder();
    let first = serve(&data, &[]);
    let mut person = Person::at(&first);
    assert_eq!(person.make("url=https%3A%2F%2Fexample.com&code=kept").status, 303);
    assert_eq!(first.get("/kept").status, 302);
    let cookie = person.cookie.clone();
    drop(first);
    for more in [&[][..], &["--fresh"]] {
        let again = serve(&data, more);
        let mut person = Person { server: &again, cookie: cookie.clone() };
        let page = person.page("/");
        assert!(page.contains("short.test/kept"), "{more:?}: {page}");
        assert_eq!(again.get("/kept").header("location"), Some("https://example.com"));
    }
}

#[test]
fn eight_at_once_lose_no_visit() {
    let data = server::folder();
    let server = serve(&data, &["-t", "4"]);
    assert_eq!(Person::at(&server).make("url=https%3A%2F%2Fexample.com&code=busy").status, 303);
    thread::scope(|scope| {
        for number in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for _ in 0..25 {
                    assert_eq!(client.get("/busy").status, 302, "{}", server.log());
                }
                let mut person = Person::at(server);
                let made = person.make(&format!("url=https%3A%2F%2Fexample.com%2F{number}&code=of-{number}"));
                assert_eq!(made.status, 303, "{}", server.log());
                assert!(person.page("/").contains(&format!("short.test/of-{number}")));
            });
        }
    });
    let (_, seen) = api(&server, "GET", "/api/links/busy", "", "");
    assert_eq!(seen["visits"], 200);
}
