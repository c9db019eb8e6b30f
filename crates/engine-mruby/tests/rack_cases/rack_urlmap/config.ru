# Rack::URLMap: paths, hosts, and what the environment says inside.

require "rack"

def told(name)
  ->(env) { [200, { "x-app" => name }, [env["SCRIPT_NAME"].inspect, " ", env["PATH_INFO"].inspect]] }
end

MAPPED = Rack::URLMap.new(
  "/" => told("root"),
  "/foo" => told("foo"),
  "/foo/bar" => told("foobar"),
  "/foo bar" => told("space"),
  "http://foo.example/" => told("host"),
  "http://foo.example/deep" => told("host deep"),
  "https://bar.example/x" => told("secure"),
  "/raise" => ->(_) { raise ArgumentError, "inside" }
)
PLAIN = Rack::URLMap.new("/only" => told("only"))

run lambda { |env|
  said = []
  before = [env["SCRIPT_NAME"], env["PATH_INFO"]]
  answer = begin
    (env["QUERY_STRING"] == "plain" ? PLAIN : MAPPED).call(env)
  rescue ArgumentError => error
    said << error.message
    [500, {}, []]
  end
  answer[1]["x-restored"] = (before == [env["SCRIPT_NAME"], env["PATH_INFO"]]).inspect
  answer[2] = said unless said.empty?
  answer
}
