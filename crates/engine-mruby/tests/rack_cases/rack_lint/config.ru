# Rack::Lint: what it lets through and what it refuses, with its own words.

require "rack"

class Guard
  def initialize(app) = @app = app

  def call(env)
    @app.call(env)
  rescue Rack::Lint::LintError => error
    [500, { "content-type" => "text/plain" }, [error.message]]
  end
end

class Twice
  def each
    yield "a"
    yield 1
  end
end

class Once
  def initialize(text) = @text = text
  def each = yield(@text)
  def close = nil
end

ANSWERS = {
  "/good" => ->(_) { [200, { "content-type" => "text/plain" }, ["good"]] },
  "/read" => lambda do |env|
    input = env["rack.input"]
    lines = [input.gets, input.read(2), input.read]
    [200, { "content-type" => "text/plain" }, [lines.inspect]]
  end,
  "/each" => lambda do |env|
    lines = []
    env["rack.input"].each { |line| lines << line }
    [200, { "content-type" => "text/plain" }, [lines.inspect]]
  end,
  "/read_bad" => ->(env) { env["rack.input"].read(1, 2, 3) },
  "/read_negative" => ->(env) { env["rack.input"].read(-1) },
  "/errors" => ->(env) { env["rack.errors"].write(1) },
  "/close_errors" => ->(env) { env["rack.errors"].close },
  "/status" => ->(_) { [99, {}, []] },
  "/status_text" => ->(_) { ["200", {}, []] },
  "/headers_class" => ->(_) { [200, [], []] },
  "/upper" => ->(_) { [200, { "Content-Type" => "text/plain" }, []] },
  "/symbol" => ->(_) { [200, { content: "x" }, []] },
  "/number" => ->(_) { [200, { "x-number" => 1 }, []] },
  "/newline" => ->(_) { [200, { "x-line" => "a\nb" }, []] },
  "/status_header" => ->(_) { [200, { "status" => "x" }, []] },
  "/type_204" => ->(_) { [204, { "content-type" => "text/plain" }, []] },
  "/length_204" => ->(_) { [204, { "content-length" => "0" }, []] },
  "/length_wrong" => ->(_) { [200, { "content-type" => "a/b", "content-length" => "1" }, ["long"]] },
  "/body_each" => ->(_) { [200, { "content-type" => "a/b" }, Twice.new] },
  "/body_once" => ->(_) { [200, { "content-type" => "a/b" }, Once.new("once")] },
  "/body_call" => ->(_) { [200, { "content-type" => "a/b" }, ->(stream) { stream.write("called"); stream.close }] },
  "/two" => ->(_) { [200, {}] },
  "/nil" => ->(_) {},
  "/values" => ->(_) { [200, { "x-many" => %w[a b] }, []] },
  "/value_bad" => ->(_) { [200, { "x-many" => ["a", 1] }, []] },
  "/frozen" => ->(_) { [200, { "content-type" => "a/b" }.freeze, ["frozen"]] },
  "/protocol" => ->(_) { [101, { "rack.protocol" => 1 }, []] }
}.freeze

# Each of these makes the environment one that Lint refuses.
BROKEN = {
  "method" => ->(env) { env["REQUEST_METHOD"] = "no good" },
  "server" => ->(env) { env.delete("SERVER_NAME") },
  "port" => ->(env) { env["SERVER_PORT"] = "eighty" },
  "path" => ->(env) { env["PATH_INFO"] = "relative" },
  "script" => ->(env) { env["SCRIPT_NAME"] = "/" },
  "http" => ->(env) { env["HTTP_CONTENT_TYPE"] = "x" },
  "length" => ->(env) { env["CONTENT_LENGTH"] = "-1" },
  "scheme" => ->(env) { env["rack.url_scheme"] = "gopher" },
  "input" => ->(env) { env["rack.input"] = Object.new },
  "errors" => ->(env) { env["rack.errors"] = Object.new },
  "value" => ->(env) { env["HTTP_X"] = 1 },
  "protocol" => ->(env) { env["SERVER_PROTOCOL"] = "SPDY" },
  "host" => ->(env) { env["HTTP_HOST"] = "not a host" },
  "session" => ->(env) { env["rack.session"] = 1 },
  "logger" => ->(env) { env["rack.logger"] = 1 },
  "frozen" => ->(env) { env.freeze }
}.freeze

class Breaker
  def initialize(app) = @app = app

  def call(env)
    broken = BROKEN[env["QUERY_STRING"]]
    broken&.call(env)
    @app.call(env)
  end
end

use Guard
use Breaker
use Rack::Lint
run ->(env) { ANSWERS.fetch(env["PATH_INFO"]).call(env) }
