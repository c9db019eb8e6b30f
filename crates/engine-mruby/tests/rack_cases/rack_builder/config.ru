# Rack::Builder: what config.ru may say, and builders made by hand.

require "rack"

class Tag
  def initialize(app, name = "tag", sep: "-", &block)
    @app = app
    @name = block ? block.call : name
    @sep = sep
  end

  def call(env)
    status, headers, body = @app.call(env)
    [status, headers, [@name, @sep, *body]]
  end
end

INNER = ->(env) { [200, { "content-type" => "text/plain" }, [env["SCRIPT_NAME"], "|", env["PATH_INFO"]]] }
WARM = []

use Tag, "outer"
use(Tag, sep: "=") { "block" }

map "/one" do
  use Tag, "one"
  map("/two") { run INNER }
  run INNER
end

map "/frozen" do
  freeze_app
  use Tag
  run INNER
end

map "/warm" do
  warmup { |app| WARM << app.call({ "SCRIPT_NAME" => "warm", "PATH_INFO" => "" }).last.join }
  use Tag, "w"
  run INNER
end

map "/warmed" do
  run ->(_) { [200, {}, [WARM.inspect]] }
end

map "/made" do
  made = Rack::Builder.new do
    use Tag, "made"
    map("/a") { run ->(_) { [200, {}, ["a"]] } }
    run ->(_) { [200, {}, ["else"]] }
  end
  run made.to_app
end

map "/app" do
  run Rack::Builder.app(INNER) { use Tag, "app" }
end

map "/string" do
  run Rack::Builder.new_from_string(<<~CODE, "inline.ru")
    use Tag, "string"
    run ->(env) { [200, {}, [__FILE__, __LINE__.to_s]] }
  CODE
end

map "/block" do
  run { |env| [200, {}, ["block ", env["PATH_INFO"]]] }
end

map "/file" do
  run Rack::Builder.parse_file(File.expand_path("inner.ru", __dir__))
end

map "http://other.example/host" do
  run ->(env) { [200, {}, ["by host ", env["SCRIPT_NAME"]]] }
end

map "/errors" do
  run lambda { |_|
    said = []
    begin
      Rack::Builder.new.to_app
    rescue RuntimeError => error
      said << error.message
    end
    begin
      Rack::Builder.new { run(INNER) { |_| } }
    rescue ArgumentError => error
      said << error.message
    end
    [200, {}, [said.inspect]]
  }
end

run INNER
