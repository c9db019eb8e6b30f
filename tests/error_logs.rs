//! What the log says of requests that went wrong: which request it was, where in the application, and what led to it;
//! the same of both engines where both can know it.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support;
use crate::support::{MAX_WAIT, Server, paths, within};

const APP: &str = r#"
class Mine
  def turn
    n = 0
    loop { n += 1 }
  end

  def hoard
    all = []
    loop { all << ("gold" * 1000) }
  end

  def wrap
    Integer("gold")
  rescue ArgumentError
    raise TypeError, "wrapped"
  end

  def ring
    one = RuntimeError.new("one")
    two = RuntimeError.new("two")
    begin
      raise one, cause: two
    rescue => error
      begin
        raise two, cause: error
      rescue => error
        raise error
      end
    end
  end
end

APP = lambda do |env|
  case env["PATH_INFO"]
  when "/turn" then Mine.new.turn
  when "/hoard" then Mine.new.hoard
  when "/wrap" then Mine.new.wrap
  when "/ring" then Mine.new.ring
  when "/nil" then nil
  when "/nil-status" then [nil, {}, []]
  when "/half" then [200, {}, Enumerator.new { |out| 20_000.times { out << "gold" * 10 }; raise "half way" }]
  else [200, {}, ["gold"]]
  end
end
run APP
"#;

fn serve(engine: &str, options: &[&str]) -> Server {
    let own = ["--engine", engine, "--request-time", "1s", "-e", "development", "-t", "1"];
    Server::start(APP, &[&own[..], options].concat())
}

/// Of the one line with these words, and those that belong to it.
fn entry(server: &Server, words: &str) -> String {
    server.must_log(words);
    // Its lines are written together.
    thread::park_timeout(Duration::from_millis(100));
    let log = server.log();
    let from = log.find(words).unwrap();
    log[from..]
        .lines()
        .enumerate()
        .take_while(|(n, line)| *n == 0 || line.starts_with("  "))
        .fold(String::new(), |all, (_, line)| all + line + "\n")
}

#[test]
fn a_script_that_is_stopped_tells_where_it_was() {
    let server = serve("mruby", &["--memory-limit", "16MiB"]);
    assert_eq!(server.get("/turn?secret=1").status, 504);
    let entry_turn = entry(&server, ", GET /turn: timed out: the application took longer than 1s");
    assert!(entry_turn.contains("config.ru:5:in turn") && entry_turn.contains("config.ru:36"), "{entry_turn}");
    assert_eq!(server.get("/hoard").status, 500);
    let entry_hoard = entry(&server, ", GET /hoard: the application used more than its ");
    assert!(entry_hoard.contains("config.ru:10:in hoard"), "{entry_hoard}");
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_ruby_that_is_stopped_tells_where_it_was() {
    let server = serve("ruby", &[]);
    assert_eq!(server.get("/turn").status, 504);
    server.must_log(", GET /turn: timed out: the application took longer than 1s");
    // The quote of Ruby before 3.4, or of those after it, which name the class, too.
    let is_told = || ["config.ru:5:in `", "config.ru:5:in '"].iter().any(|words| server.log().contains(words));
    assert!(within(MAX_WAIT, is_told), "{}", server.log());
}

#[test]
fn an_application_that_never_loads_tells_where_it_hangs() {
    let folder = support::ruby::folder(&[("config.ru", "def hang\n  loop { }\nend\nhang\n")]);
    let options = ["--engine", "mruby", "--boot-time", "1", "-b", "tcp://127.0.0.1:0"];
    let (_, said) = support::server::stderr_of(&folder, &[], &options);
    assert!(said.contains("not loaded within 1s") && said.contains("config.ru:2:in hang"), "{said}");
}

#[test]
fn what_led_to_an_exception_is_told() {
    for engine in ["mruby", "ruby"] {
        let server = serve(engine, &[]);
        let page = server.get("/wrap").text();
        let found = entry(&server, ", GET /wrap: TypeError: wrapped");
        for text in [&page, &found] {
            assert!(text.contains("caused by ArgumentError: ") && text.contains("config.ru:14"), "{engine}: {text}");
        }
        assert_eq!(server.get("/ring").status, 500);
        // CRuby does not let a ring of causes be made.
        let (class, causes) = if engine == "ruby" { ("ArgumentError", 2) } else { ("RuntimeError", 1) };
        let found = entry(&server, &format!(", GET /ring: {class}: "));
        assert_eq!(found.matches("caused by RuntimeError: ").count(), causes, "{engine}: {found}");
        // The answer has begun, so it breaks off.
        let mut client = server.client();
        client.send("GET /half HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        drop(client.rest());
        server.must_log(", GET /half: RuntimeError: half way");
    }
}

/// The front answers nobody, so that it has only a line in the access log.
#[test]
fn what_goes_wrong_when_its_client_has_gone_is_told_as_well() {
    let wait = "$stderr.puts \"runs #{env[\"PATH_INFO\"]}\"; sleep 0.005 until File.exist?(\"go\")";
    let (raises, spoils) = (format!("{wait}; raise \"for nobody\""), format!("{wait}; nil"));
    for engine in ["mruby", "ruby"] {
        let ru = paths(&[("/raises", &raises), ("/spoils", &spoils)]);
        let server = Server::start(&ru, &["--engine", engine, "-t", "2"]);
        for path in ["/raises", "/spoils"] {
            let client = server.send_get(path);
            server.must_log(&format!("runs {path}"));
            drop(client);
            let is_gone = |line: &str| line.contains(&format!(" GET {path} ")) && line.contains(" client_gone");
            let log = || server.log();
            assert!(within(MAX_WAIT, || log().lines().any(is_gone)), "{engine} {path}: {}", log());
        }
        fs::write(server.folder.join("go"), "").unwrap();
        let found = entry(&server, ", GET /raises: its client has disconnected: RuntimeError: for nobody");
        assert!(found.contains("config.ru:"), "{engine}: {found}");
        server.must_log(", GET /spoils: its client has disconnected: the application's answer is not valid Rack: ");
    }
}

#[test]
fn nil_is_called_nil() {
    for engine in ["mruby", "ruby"] {
        let server = serve(engine, &[]);
        assert_eq!((server.get("/nil").status, server.get("/nil-status").status), (500, 500));
        let found = entry(&server, ", GET /nil: the application's answer is not valid Rack: ");
        assert!(found.contains("nil") && !found.contains("[]"), "{engine}: {found}");
        let found = entry(&server, ", GET /nil-status: the application's answer is not valid Rack: ");
        assert!(found.contains("nil") && !found.contains("is 0"), "{engine}: {found}");
    }
}
