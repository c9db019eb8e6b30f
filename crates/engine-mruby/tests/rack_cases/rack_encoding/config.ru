# Rack::Deflater, Rack::ETag with Rack::ConditionalGet.

require "rack"
require "zlib"

TEXT = "All work and no play makes Jack a dull boy.\n" * 50

# Shows a packed body unpacked: packers differ in their bytes, and may.
class Unpack
  def initialize(app) = @app = app

  def call(env)
    status, headers, body = @app.call(env)
    text = body.to_enum(:each).to_a.join
    if headers["content-encoding"] == "gzip"
      reader = Zlib::GzipReader.new(StringIO.new(text))
      headers["x-smaller"] = (text.bytesize < 200).inspect
      headers["x-mtime"] = reader.mtime.to_i.to_s if env["QUERY_STRING"] == "mtime"
      text = reader.read
    end
    [status, headers, [text]]
  end
end

BODY = lambda do |env|
  case env["PATH_INFO"]
  when "/none" then [204, {}, []]
  when "/packed" then [200, { "content-encoding" => "br" }, ["packed"]]
  when "/no_transform" then [200, { "cache-control" => "no-transform" }, [TEXT]]
  when "/each" then [200, { "content-type" => "text/plain" },
      Enumerator.new { |out| 3.times { |at| out << "part #{at}\n" } }]
  when "/dated" then [200, { "last-modified" => "Tue, 02 Jan 2024 03:04:05 GMT" }, [TEXT]]
  else [200, { "content-type" => "text/plain", "content-length" => TEXT.bytesize.to_s }, [TEXT]]
  end
end

map "/deflate" do
  use Unpack
  use Rack::Deflater
  run BODY
end

map "/chosen" do
  use Unpack
  use Rack::Deflater, include: %w[text/html], if: ->(_env, status, _headers, _body) { status == 200 }, sync: false
  run BODY
end

map "/etag" do
  use Rack::ConditionalGet
  use Rack::ETag
  run lambda { |env|
    headers = { "content-type" => "text/plain" }
    case env["PATH_INFO"]
    when "/own" then [200, headers.merge("etag" => "\"mine\""), ["own"]]
    when "/modified" then [200, headers.merge("last-modified" => "Tue, 02 Jan 2024 03:04:05 GMT"), ["dated"]]
    when "/created" then [201, headers, ["created"]]
    when "/error" then [500, headers, ["error"]]
    when "/empty" then [200, headers, []]
    when "/parts" then [200, headers, ["one", "two", "ä"]]
    when "/no_cache" then [200, headers.merge("cache-control" => "no-store"), ["x"]]
    else [200, headers, ["hello"]]
    end
  }
end

map "/etag_rules" do
  use Rack::ETag, "no-cache", "public, max-age=60"
  run ->(env) { [200, {}, env["PATH_INFO"] == "/empty" ? [] : ["rules"]] }
end
