//! The applications of apps/, each on the Ruby of this machine, with the checks that come with them. Nobody names the
//! engine: the applications choose it by what they require.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::support::postgres::Postgres;
use crate::support::server::KillOnDrop;
use crate::support::{Server, ruby, server};

/// What is written where an application's library is missing.
fn require(library: &str) {
    let found = Command::new(ruby::program()).args(["-e", "require ARGV[0]", library]).output().unwrap();
    let why = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "the Ruby of the tests has no {library}: bin/setup brings it\n{why}");
}

/// Serves an application of apps/, in production, with two workers.
fn serve(app: &str, env: &[(&str, &str)]) -> Server {
    let config = server::repository().join("apps").join(app).join("config.ru");
    let (program, config) = (ruby::program(), config.to_str().unwrap().to_owned());
    let mut options = vec!["-b", "tcp://127.0.0.1:0", "-w", "2", "-t", "5", "-e", "production"];
    if program != "ruby" {
        options.extend(["--ruby", &program]);
    }
    options.push(&config);
    Server::spawn(server::folder(), env, &options)
}

/// Lets apps/check.rb ask all it knows, and returns its report.
fn asked(app: &str, server: &Server, options: &[&str]) -> String {
    let script = server::repository().join("apps/check.rb");
    let url = format!("http://127.0.0.1:{}", server.port);
    let output = Command::new(ruby::program()).arg(script).args([app, &url]).args(options).output().unwrap();
    let report = server::said(&output);
    let log = server.log();
    assert!(output.status.success(), "{report}\n{log}");
    assert!(!log.contains("ERROR"), "{log}");
    report
}

/// The same where the server has chosen CRuby.
fn check(app: &str, server: &Server, options: &[&str]) -> String {
    let report = asked(app, server, options);
    let log = server.log();
    assert!(log.contains("engine: ruby, because"), "{log}");
    report
}

/// What the arena's /feed reads, and its address.
fn upstream() -> (KillOnDrop, String) {
    let script = server::repository().join("apps/arena/upstream.rb");
    let mut command = Command::new(ruby::program());
    let mut upstream = KillOnDrop(command.arg(script).arg("0").stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(upstream.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("upstream: ").unwrap_or_else(|| panic!("{line:?} names no address"));
    (upstream, url.to_owned())
}

/// Its half on Roda answers 501 where there is no Roda, which is not wrong.
#[test]
fn prime_sums() {
    require("sinatra/base");
    check("prime-sums", &serve("prime-sums", &[]), &["--clients", "8"]);
}

/// The same on the embedded interpreter, with the gems of the tests.
#[test]
fn prime_sums_embedded() {
    let gems = server::gems();
    let config = server::repository().join("apps/prime-sums/config.ru");
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "mruby", "-t", "4", config.to_str().unwrap()];
    let server = Server::spawn(server::folder(), &[("GEM_PATH", gems.to_str().unwrap())], &options);
    let report = asked("prime-sums", &server, &["--clients", "4", "--strict"]);
    assert!(report.contains("right"), "{report}");
}

#[test]
fn arena() {
    require("sinatra/base");
    let (_upstream, url) = upstream();
    check("arena", &serve("arena", &[("FEED_URL", &url)]), &["--clients", "8", "--strict"]);
}

#[test]
fn rails_small() {
    require("rails");
    let env = [("RAILS_LOG_TO_STDOUT", "1"), ("RAILS_LOG_LEVEL", "warn")];
    check("rails-small", &serve("rails-small", &env), &["--clients", "32"]);
}

const TAGGED: &str = r#"
require "logger"
require "rails"
require "action_controller/railtie"

class Tagged < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.hosts.clear
  config.secret_key_base = "for-a-test-only-" * 4
  config.log_tags = [:request_id]
  config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new($stdout))
end

class PagesController < ActionController::Base
  def show
    logger.info("a nugget")
    render plain: request.request_id
  end
end

Tagged.initialize!
Tagged.routes.draw { root to: "pages#show" }
run Tagged
"#;

#[test]
fn a_line_in_the_log_of_rails_has_the_id_of_the_access_log() {
    require("rails");
    let server = ruby::serve(TAGGED, &["-w", "1", "-t", "1", "-e", "production"]);
    for said in ["", "X-Request-Id: edge-7\n"] {
        let reply = server.client().ask(&format!("GET / HTTP/1.1\nHost: a\n{said}\n"));
        let (id, text) = (reply.header("x-request-id").unwrap(), reply.text());
        assert!(text == id && said.is_empty() != (id == "edge-7"), "{text:?} is not {id}\n{}", server.log());
        server.must_log(&format!("[{id}] a nugget\n"));
        server.must_log(&format!(" {id}\n"));
    }
}

#[test]
fn rails_with_posts_in_a_real_database_under_32_clients() {
    require("rails");
    require("pg");
    let postgres = Postgres::start();
    let url = postgres.url("rails_posts");
    let env = [("DATABASE_URL", &*url), ("RAILS_LOG_TO_STDOUT", "1"), ("RAILS_LOG_LEVEL", "warn")];
    let script = server::repository().join("apps/rails-posts/bin/prepare");
    let prepare = Command::new(ruby::program()).arg(script).envs(env).env("RAILS_ENV", "production").output().unwrap();
    assert!(prepare.status.success(), "{}", String::from_utf8_lossy(&prepare.stderr));
    let server = serve("rails-posts", &env);
    let report = check("rails-posts", &server, &["--clients", "32"]);
    assert!(report.contains("by 32 client(s)"), "{report}");
}

#[test]
fn a_rails_pool_is_as_large_as_there_are_threads_unless_somebody_said_so() {
    let app = "run lambda { |_| [200, { \"content-type\" => \"text/plain\" }, [ENV[\"RAILS_MAX_THREADS\"]]] }\n";
    assert_eq!(ruby::serve(app, &["-w", "1", "-t", "3"]).text("/"), "3");
    assert_eq!(ruby::serve(app, &["-w", "1", "-t", "3", "--max-threads", "9"]).text("/"), "9");
    assert_eq!(ruby::serve(app, &["-e", "production"]).text("/"), "5");
    for (said, size) in [("7", "7"), ("", "3")] {
        let env = [("RAILS_MAX_THREADS", said)];
        let server = ruby::serve_files(&[("config.ru", app)], &env, &["-w", "1", "-t", "3"]);
        assert_eq!(server.text("/"), size);
    }
}

/// `rackup -s foolsgold`, `rails server -u foolsgold` and their like have tests of their own, in Ruby.
#[test]
fn the_gem_starts_the_program_from_where_ruby_people_start_servers() {
    for library in ["rack", "sinatra/base", "rails", "minitest"] {
        require(library);
    }
    let mut command = Command::new(ruby::program());
    command.arg(server::repository().join("gem/test/all.rb"));
    let output = command.env("FOOLS_GOLD_BINARY", env!("CARGO_BIN_EXE_foolsgold")).output().unwrap();
    let report = server::said(&output);
    assert!(output.status.success(), "{report}");
}
