//! Net::HTTP: its API, and its limits on time and size with hostile servers.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support;
use crate::support::peer::{Peer, Started, answer, asked, await_port};
use crate::support::table::{ANSWER, agrees, assert_begins, value};
use crate::support::{App, assert_holds_nobody_up};

fn web() -> Peer {
    Peer::start(|stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        while let Some(request) = asked(&mut reader) {
            let path = request.line.split(' ').nth(1).unwrap().to_owned();
            if serve(&mut stream, &path, &request).is_err() {
                return;
            }
        }
    })
}

fn serve(stream: &mut TcpStream, path: &str, request: &support::peer::Asked) -> std::io::Result<()> {
    match path {
        _ if request.line.starts_with("CONNECT ") => answer(stream, "403 Not here", "X-Why: no: b\r\n", "no"),
        "/echo" | "http://shop.invalid/echo" | "http://shop.invalid:81/echo?a=b" | "*" | "?a=b" | "echo" => {
            let text = format!("{}\n{}\n{}", request.line, request.headers, request.body);
            answer(stream, "200 OK", "content-type: text/plain; charset=utf-8\r\n", &text)
        }
        "/text" => answer(stream, "200 OK", "content-type: text/plain; charset=\"utf-8\"\r\n", "é"),
        "/two" => answer(stream, "200 OK", "set-cookie: a=1\r\nset-cookie: b=2\r\n", ""),
        // `hello` by Zlib.gzip.
        "/packed" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 25\r\n\r\n")?;
            stream.write_all(&[
                31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
            ])
        }
        // The same, cut off after 13 bytes or after one.
        "/cut_packed" | "/cut_head" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 25\r\n\r\n")?;
            let bytes: &[u8] = &[31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 72, 205];
            stream.write_all(if path == "/cut_head" { &bytes[..1] } else { bytes })?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        // Its first bytes, as a part.
        "/part" => {
            stream.write_all(b"HTTP/1.1 206 Partial Content\r\ncontent-encoding: gzip\r\n")?;
            stream.write_all(b"content-range: bytes 0-9/25\r\ncontent-length: 10\r\n\r\n")?;
            stream.write_all(&[31, 139, 8, 0, 0, 0, 0, 0, 0, 3])
        }
        "/gone" => answer(stream, "410 Gone", "", "no more"),
        "/broken" => answer(stream, "500 Internal Server Error", "", "oops"),
        "/moved" => answer(stream, "302 Found", "location: /hello\r\n", ""),
        "/none" => stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"),
        "/chunked" => stream
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"),
        "/odd" => stream.write_all(b"HTTP/1.1 299 Whatever\r\ncontent-length: 1\r\n\r\nx"),
        "/hinted" => {
            let hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
            stream.write_all(&[&hints[..], b"HTTP/1.1 299 Whatever\r\ncontent-length: 1\r\n\r\nx"].concat())
        }
        "/silent" => stream.read(&mut [0]).map(|_| ()),
        "/nonsense" => {
            stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n").and_then(|()| stream.shutdown(std::net::Shutdown::Both))
        }
        "/cut" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        "/cut_chunks" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")?;
            stream.shutdown(std::net::Shutdown::Both)
        }
        "/stuck" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")?;
            stream.read(&mut [0]).map(|_| ())
        }
        "/endless" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 65536])?;
            }
        }
        "/trickle" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                stream.write_all(b"x")?;
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
        "/headers" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"x-more: and more\r\n")?;
            }
        }
        _ => answer(stream, "200 OK", "", "hello"),
    }
}

fn app(peer: &Peer) -> App {
    let port = peer.port;
    support::app(&format!("require 'net/http'\nHOST = 'http://127.0.0.1:{port}'\nPORT = {port}\n{ANSWER}"))
}

#[test]
fn requests_and_responses_have_the_usual_names() {
    let peer = web();
    let app = app(&peer);
    agrees(&app, "net_http.txt");
    // CRuby would connect at once, and nobody serves on port 80.
    let by_default = "Net::HTTP.start('127.0.0.1', { read_timeout: 5 }) { |http| [http.port, http.read_timeout] }";
    assert_eq!(value(&app, by_default), "[80, 5]");
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let peer = web();
    let app = app(&peer);
    let twenty = "20.times.map { Net::HTTP.get(URI(HOST + '/hello')) }.uniq";
    assert_eq!(value(&app, twenty), r#"["hello"]"#);
    assert_eq!(peer.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn what_fails_raises_the_usual_errors() {
    let peer = web();
    let app = app(&peer);
    // A limit that begins behind the head of the response.
    let within = |path: &str, code: &str| {
        format!("Net::HTTP.new('127.0.0.1', PORT).request_get('{path}') {{ |r| Timeout.timeout(0.1) {{ {code} }} }}")
    };
    for (code, expected) in [
        ("Net::HTTP.get(URI('http://127.0.0.1:1/'))", "Errno::ECONNREFUSED: "),
        ("Net::HTTP.get(URI('http://no.such.host.invalid/'))", "SocketError: "),
        ("Net::HTTP.get(URI(HOST + '/nonsense'))", "Net::HTTPBadResponse: "),
        ("Net::HTTP.start('127.0.0.1', PORT, ignore_eof: false) { |http| http.get('/cut') }", "EOFError: "),
        ("Net::HTTP.get(URI(HOST + '/cut_chunks'))", "EOFError: "),
        ("Net::HTTP.get(URI(HOST + '/cut_packed'))", "Zlib::BufError: "),
        ("Net::HTTP.get(URI(HOST + '/cut_head'))", "Zlib::BufError: "),
        ("Net::HTTP.get(URI(HOST + '/headers'))", "Net::HTTPBadResponse: "),
        ("Net::HTTP.get(URI(HOST + '/endless'))", "IOError: the response has more than 16777216 bytes"),
        ("Net::HTTP.start('127.0.0.1', PORT, read_timeout: 0.1) { |http| http.get('/silent') }", "Net::ReadTimeout: "),
        ("Timeout.timeout(0.1) { Net::HTTP.get(URI(HOST + '/silent')) }", "Timeout::Error: execution expired"),
        ("Timeout.timeout(0.1) { Net::HTTP.get(URI(HOST + '/trickle')) }", "Timeout::Error: execution expired"),
        (within("/stuck", "r.read_body").as_str(), "Timeout::Error: execution expired"),
        (within("/stuck", "r.read_body { |piece| piece }").as_str(), "Timeout::Error: execution expired"),
        (within("/trickle", "r.read_body { |piece| piece }").as_str(), "Timeout::Error: execution expired"),
    ] {
        assert_begins(&app, code, expected);
    }
    assert_eq!(value(&app, "Net::HTTP.get(URI(HOST + '/hello'))"), r#""hello""#);
}

#[test]
fn a_connection_that_breaks_within_a_body_is_an_error() {
    // A connection that is closed with bytes that were not read is reset.
    let peer = Peer::start(|mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort").unwrap();
    });
    assert_begins(&app(&peer), "Net::HTTP.get(URI(HOST + '/'))", "Errno::ECONNRESET: ");
}

#[test]
fn an_idempotent_request_whose_answer_does_not_come_is_sent_once_more() {
    let begun = AtomicUsize::new(0);
    let peer = Peer::start(move |mut stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while asked(&mut reader).is_some() {
            let sent = match begun.fetch_add(1, Ordering::SeqCst) {
                0 | 2 | 3 => stream.read(&mut [0]).map(|_| ()),
                4 => stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort")
                    .and_then(|()| stream.read(&mut [0]).map(|_| ())),
                _ => answer(&mut stream, "200 OK", "", "late"),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    let code = "h = Net::HTTP.new('127.0.0.1', PORT); h.read_timeout = 0.3
        a = [h.get('/').body, (h.post('/', '') rescue $!.class)]
        h.max_retries = 0; b = h.get('/') rescue $!.class
        h.max_retries = 1; [*a, b, h.request_get('/').body]";
    let expected = r#"["late", Net::ReadTimeout, Net::ReadTimeout, "late"]"#;
    assert_eq!(value(&app(&peer), code), expected);
}

#[test]
fn a_proxy_is_that_of_the_variables_unless_the_application_names_another() {
    let proxy = web();
    let app = app(&proxy);
    let clear = "%w[http_proxy https_proxy no_proxy].each { |name| ENV.delete(name); ENV.delete(name.upcase) }
        here = \"http://127.0.0.1:#{PORT}\"
        shop = -> { Net::HTTP.get(URI('http://shop.invalid/hello')) }";
    let (hello, unknown) = ("\"hello\"", "SocketError: ");
    for (code, expected) in [
        ("shop.call", unknown),
        ("ENV['http_proxy'] = here; shop.call", hello),
        ("ENV['HTTP_PROXY'] = here.delete_prefix('http://'); shop.call", hello),
        ("ENV['https_proxy'] = here; shop.call", unknown),
        ("ENV['http_proxy'] = here; ENV['no_proxy'] = 'other.invalid, invalid'; shop.call", unknown),
        ("ENV['http_proxy'] = 'http://127.0.0.1:1'; Net::HTTP.get(URI(HOST + '/hello'))", hello),
        ("ENV['http_proxy'] = 'socks5://127.0.0.1:1'; shop.call", "ArgumentError: a proxy's address"),
        ("Net::HTTP.new('shop.invalid', 80, '127.0.0.1', PORT, 'u', 'p:@').get('/hello').body", hello),
        ("Net::HTTP.start('shop.invalid', 80, '127.0.0.1', PORT) { |http| http.get('/hello').body }", hello),
        ("ENV['http_proxy'] = here; Net::HTTP.new('shop.invalid', 80, nil).get('/hello').body", unknown),
    ] {
        assert_begins(&app, &format!("{clear}\n{code}"), expected);
    }
    for (uri, no_proxy, expected) in [
        ("https://a.example/", "", "http://p:1"),
        ("http://a.example/", "", ""),
        ("https://a.example/", "b.example,EXAMPLE", ""),
        ("https://a.example/", ".example:443", ""),
        ("https://a.example/", "a.example:80", "http://p:1"),
        ("https://b.a.example/", "*.a.example", ""),
        ("https://aa.example/", "a.example", "http://p:1"),
        ("https://a.example/", "*", ""),
        ("https://10.1.2.3/", "a.example 10.0.0.0/8", ""),
        ("https://11.1.2.3/", "10.0.0.0/8", "http://p:1"),
        ("https://[fd00::1]/", "fc00::/7", ""),
        ("https://localhost/", "", ""),
        ("https://127.0.0.9/", "", ""),
    ] {
        let code = format!("URI('{uri}').find_proxy({{ 'https_proxy' => 'p:1', 'no_proxy' => '{no_proxy}' }}).to_s");
        assert_eq!(value(&app, &code), format!("{expected:?}"), "{uri}, {no_proxy}");
    }
}

#[test]
fn a_proxy_gets_the_whole_address_of_http_and_a_tunnel_for_https() {
    let proxy = web();
    let app = app(&proxy);
    let at = "%w[http_proxy https_proxy no_proxy].each { |name| ENV.delete(name); ENV.delete(name.upcase) }
        at = \"http://u:p%3A%40@127.0.0.1:#{PORT}\"; ";
    let plain = "ENV['http_proxy'] = at; r = Net::HTTP.get(URI('http://shop.invalid/echo'))
        [r.lines.first, r[/^host: .*/].strip, r[/^proxy-authorization: basic (.*)/, 1].strip]";
    let sent = r#"["GET http://shop.invalid/echo HTTP/1.1\n", "host: shop.invalid", "dtpwoka="]"#;
    assert_eq!(value(&app, &format!("{at}{plain}")), sent);
    let with_body =
        "r = Net::HTTP.start('shop.invalid', 81, '127.0.0.1', PORT) { |http| http.post('/echo?a=b', 'x=1') }
        [r.body.lines.first, r.body[/^host: .*/].strip, r.body.lines.last]";
    let sent = r#"["POST http://shop.invalid:81/echo?a=b HTTP/1.1\n", "host: shop.invalid:81", "x=1"]"#;
    assert_eq!(value(&app, with_body), sent);
    let secure = "ENV['https_proxy'] = at; Net::HTTP.get(URI('https://shop.invalid/'))";
    assert_begins(&app, &format!("{at}{secure}"), "Net::HTTPClientException: 403 \"Not here\"");
    let refused = format!("{at}({secure} rescue $!.response.then {{ |r| [r.class, r.code, r.message, r.body] }})");
    assert_eq!(value(&app, &refused), r#"[Net::HTTPForbidden, "403", "Not here", nil]"#);
    let fields = format!("{at}({secure} rescue $!.response.then {{ |r| [r['X-WHY'], r.content_length, r['none']] }})");
    assert_eq!(value(&app, &fields), r#"["no: b", 2, nil]"#);
    assert_eq!(value(&app, "Net::HTTP.get(URI(HOST + '/echo')).lines.first"), r#""GET /echo HTTP/1.1\n""#);
}

#[test]
fn settings_that_the_client_does_not_have_are_refused() {
    let peer = web();
    let app = app(&peer);
    let set = |name: &str, value: &str| {
        format!("Net::HTTP.start('127.0.0.1', PORT, {name}: {value}) {{ |http| http.get('/hello').body }}")
    };
    let refused = [
        ("local_host", "'127.0.0.2'"),
        ("ipaddr", "'127.0.0.1'"),
        ("cert", "'certificate'"),
        ("key", "'key'"),
        ("min_version", ":TLS1_3"),
        ("min_version", "OpenSSL::SSL::TLS1_3_VERSION"),
        ("ssl_version", ":TLSv1_3"),
        ("max_version", ":TLS1_2"),
        ("max_version", "OpenSSL::SSL::TLS1_1_VERSION"),
    ];
    for (name, value) in refused {
        assert_begins(&app, &set(name, value), &format!("NotImplementedError: Net::HTTP#{name}="));
    }
    let accepted = [
        ("local_host", "nil"),
        ("key", "nil"),
        ("min_version", ":TLS1_2"),
        ("min_version", "OpenSSL::SSL::TLS1_VERSION"),
        ("max_version", ":TLS1_3"),
        ("max_version", "nil"),
    ];
    for (name, value) in accepted {
        assert_begins(&app, &set(name, value), r#""hello""#);
    }
}

#[test]
fn servers_that_never_end_hold_nobody_up() {
    let peer = web();
    let port = peer.port;
    let app = support::app(&format!(
        "require 'net/http'
         run ->(env) {{
           path = env['PATH_INFO']
           return [200, {{}}, ['fine']] if path == '/ok'
           http = Net::HTTP.new('127.0.0.1', {port})
           http.request_get(path) {{ |response| response.read_body {{ |piece| piece }} }}
           [200, {{}}, ['an end']] }}"
    ));
    for path in ["/silent", "/endless", "/trickle"] {
        assert_holds_nobody_up(&app, path);
    }
    assert_eq!(app.body("/ok"), "fine");
}

/// An `openssl s_server -www` with a self-signed certificate.
struct Secure {
    _server: Started,
    folder: tempfile::TempDir,
    port: u16,
}

impl Secure {
    fn start() -> Secure {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE"])
            .args(["-keyout", &path("key.pem"), "-out", &path("certificate.pem")])
            .stderr(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Command::new("openssl")
            .args(["s_server", "-www", "-accept", &port.to_string()])
            .args(["-key", &path("key.pem"), "-cert", &path("certificate.pem")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        await_port(port);
        Secure { _server: Started(server), folder, port }
    }
}

#[test]
fn a_certificate_is_believed_where_the_application_says_so() {
    let secure = Secure::start();
    let file = secure.folder.path().join("certificate.pem").display().to_string();
    let app = support::app(&format!("require 'net/http'\nPORT = {}\nFILE = {file:?}\n{ANSWER}", secure.port));
    let start = |options: &str| {
        format!("Net::HTTP.start('localhost', PORT, use_ssl: true{options}) {{ |http| http.get('/').code }}")
    };
    assert_begins(&app, &start(""), "OpenSSL::SSL::SSLError: ");
    assert_eq!(value(&app, &start(", ca_file: FILE")), r#""200""#);
    assert_eq!(value(&app, &start(", verify_mode: OpenSSL::SSL::VERIFY_NONE")), r#""200""#);
    let elsewhere = start(", ca_file: FILE").replace("localhost", "127.0.0.1");
    assert_begins(&app, &elsewhere, "OpenSSL::SSL::SSLError: ");
    assert_begins(&app, &start(", ca_file: '/etc/hostname'"), "OpenSSL::SSL::SSLError: there are no certificates");
    // As HTTParty says it.
    let by_store = "http = Net::HTTP.new('localhost', PORT)\nhttp.use_ssl = true\nhttp.ssl_version = :TLSv1_2\n\
                    http.cert_store = OpenSSL::X509::Store.new\nhttp.cert_store.add_file(FILE)\nhttp.get('/').code";
    assert_eq!(value(&app, by_store), r#""200""#);
    for store in ["OpenSSL::X509::Store.new.tap(&:set_default_paths)", "OpenSSL::X509::Store.new"] {
        assert_begins(&app, &start(&format!(", cert_store: {store}")), "OpenSSL::SSL::SSLError: ");
    }
}
