# Rack's middleware around small applications, one prefix for each.

require "rack"

ECHO = lambda do |env|
  request = Rack::Request.new(env)
  [200, { "content-type" => "text/plain" }, ["#{request.request_method} #{request.path} #{request.params.inspect}"]]
end

# What tells a caller of its body that it was closed.
class Told
  def initialize(log) = @log = log
  def each = yield("told")
  def close = @log << "closed"
end

LOG = []

class Watcher
  include Rack::Events::Abstract
  def on_start(_request, _response) = LOG << "start"
  def on_commit(_request, response) = LOG << "commit #{response.status}"
  def on_send(_request, _response) = LOG << "send"
  def on_finish(_request, _response) = LOG << "finish"
  def on_error(_request, _response, error) = LOG << "error #{error.class}"
end

LINES = StringIO.new

map "/head" do
  use Rack::Head
  run ECHO
end

map "/method" do
  use Rack::MethodOverride
  run ECHO
end

map "/length" do
  use Rack::ContentLength
  run ->(env) { [env["PATH_INFO"] == "/204" ? 204 : 200, {}, env["PATH_INFO"] == "/204" ? [] : %w[one two]] }
end

map "/type" do
  use Rack::ContentType
  run ->(env) { [200, env["PATH_INFO"] == "/own" ? { "content-type" => "own/type" } : {}, ["x"]] }
end

map "/type_given" do
  use Rack::ContentType, "text/x-given"
  run ->(env) { [env["PATH_INFO"].delete("/").to_i, {}, []] }
end

map "/conditional" do
  use Rack::ConditionalGet
  run lambda { |env|
    headers = { "content-type" => "text/plain", "etag" => "\"one\"",
        "last-modified" => "Tue, 02 Jan 2024 03:04:05 GMT" }
    env["PATH_INFO"] == "/none" ? [200, { "content-type" => "text/plain" }, ["none"]] : [200, headers, ["body"]]
  }
end

map "/cascade" do
  first = ->(env) { env["PATH_INFO"] == "/first" ? [200, {}, ["first"]] : [404, { "x-cascade" => "pass" }, ["no 1"]] }
  second = ->(env) { env["PATH_INFO"] == "/second" ? [200, {}, ["second"]] : [405, {}, ["no 2"]] }
  cascade = Rack::Cascade.new([first, second])
  cascade << ->(env) { [env["PATH_INFO"] == "/third" ? 200 : 404, {}, ["third"]] }
  run cascade
end

map "/cascade_codes" do
  run Rack::Cascade.new([->(_) { [500, {}, ["500"]] }, ->(_) { [403, {}, ["403"]] }, ->(_) { [200, {}, ["ok"]] }],
      [500])
end

map "/empty_cascade" do
  run Rack::Cascade.new([])
end

map "/runtime" do
  use Rack::Runtime
  use Rack::Runtime, "Inner"
  run ECHO
end

map "/config" do
  use(Rack::Config) { |env| env["app.setting"] = "set" }
  run ->(env) { [200, {}, [env["app.setting"]]] }
end

map "/lock" do
  use Rack::Lock
  run ->(env) { [200, {}, [env["rack.multithread"].inspect]] }
end

map "/null_logger" do
  use Rack::NullLogger
  run lambda { |env|
    logger = env["rack.logger"]
    said = [logger.info("x"), logger.error("y"), logger.info?, logger.level, logger.add(1, "z")]
    [200, {}, [said.inspect]]
  }
end

map "/events" do
  use Rack::Events, [Watcher.new]
  run ->(env) { env["PATH_INFO"] == "/raise" ? raise("no") : [200, {}, ["event"]] }
end

map "/log" do
  run ->(_) { said = LOG.dup.join(","); LOG.clear; [200, {}, [said]] }
end

map "/common" do
  use Rack::CommonLogger, LINES
  run ->(env) { [env["QUERY_STRING"] == "x" ? 404 : 200, { "content-length" => "4" }, ["said"]] }
end

map "/lines" do
  run lambda { |_|
    said = LINES.string.gsub(/\[\d+\/\w+\/\d+:\d+:\d+:\d+ [-+]\d+\]/, "[date]").gsub(/0\.\d{4}/, "0.0")
    [200, {}, [said]]
  }
end

map "/body" do
  proxy = lambda do |body|
    Rack::BodyProxy.new(body) { LOG << "after" }
  end
  run lambda { |env|
    body = proxy.call(Told.new(LOG))
    said = [body.respond_to?(:each), body.respond_to?(:to_path), body.closed?].inspect
    [200, { "x-said" => said }, body]
  }
end

map "/sendfile" do
  use Rack::Sendfile, nil, [[/.*served/, "/internal/"]]
  run lambda { |env|
    body = Object.new
    body.define_singleton_method(:to_path) { File.expand_path("served/file.txt", __dir__) }
    def body.each = yield("contents")
    [200, { "content-length" => "8" }, body]
  }
end

map "/reaper" do
  use Rack::TempfileReaper
  run lambda { |env|
    env["rack.tempfiles"] << Class.new { def close! = LOG << "reaped" }.new
    [200, {}, ["reap"]]
  }
end

map "/recursive" do
  use Rack::Recursive
  run lambda { |env|
    case env["PATH_INFO"]
    when "/include" then [200, {},
        [env["rack.recursive.include"].call(env, "#{env['SCRIPT_NAME']}/inner").last.to_enum.to_a.join]]
    when "/forward" then raise Rack::ForwardRequest, "/recursive/inner"
    else [200, {}, ["inner #{env['PATH_INFO']}"]]
    end
  }
end

map "/auth" do
  use(Rack::Auth::Basic, "The Realm") { |user, password| user == "me" && password == "secret word" }
  run ->(env) { [200, {}, ["hello #{env['REMOTE_USER']}"]] }
end

map "/headers_of" do
  run ->(env) { [200, Rack::Headers["X-Upper" => "kept low", "X-Many" => ["1", "2"]], []] }
end
