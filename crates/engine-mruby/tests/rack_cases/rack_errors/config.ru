# Rack::ShowExceptions, Rack::ShowStatus, and errors that nobody catches.

require "digest"
require "rack"

class Odd < StandardError
  def detailed_message(highlight: false) = "odd in detail"
end

# Ruby adds the class to a detailed message since 3.2.
module Plain
  def detailed_message(**) = message
end

class Wrong < ArgumentError
  include Plain
end

class Missing < KeyError
  include Plain
end

class Renamed < Wrong
  def self.name = "Another::Name"
end

FAIL = lambda do |env|
  case env["PATH_INFO"]
  when "/argument" then raise Wrong, "a <b> & c"
  when "/odd" then raise Odd, "odd"
  when "/deep" then [1].each { |_| {}.fetch(:none) { raise Missing, "key not found" } }
  when "/name" then raise Renamed, "no name"
  else [200, { "content-type" => "text/plain" }, ["well"]]
  end
end

# What of a page is the same on every interpreter.
class Gist
  def initialize(app) = @app = app

  def call(env)
    status, headers, body = @app.call(env)
    text = body.to_enum(:each).to_a.join
    parts = [/<title>(.*?)<\/title>/m, /<h1>(.*?)<\/h1>/m, /<h2>(.*?)<\/h2>/m].map do |part|
      text[part, 1].to_s.squeeze(" ")
    end
    ids = text.scan(/id="(?:summary|traceback|requestinfo|get-info|post-info|cookie-info|env-info|info|explanation)"/)
    headers["content-length"] = "0" if headers["content-length"]
    headers.delete("content-length")
    kind = text.include?("<html") ? "page" : text.lines.first
    [status, headers, ["#{kind.inspect}\n", "#{parts.inspect}\n", "#{ids.inspect}\n"]]
  end
end

map "/exceptions" do
  use Gist
  use Rack::ShowExceptions
  run FAIL
end

# A whole page, which is too long to be shown.
class Summed
  def initialize(app) = @app = app

  def call(env)
    status, headers, body = @app.call(env)
    text = body.to_enum(:each).to_a.join
    headers.delete("content-length")
    text = "#{text.lines.size} lines, #{Digest::SHA256.hexdigest(text)}" if text.size > 100
    [status, headers, [text]]
  end
end

map "/status" do
  use Summed
  use Rack::ShowStatus
  run lambda { |env|
    code = env["PATH_INFO"].delete("/").to_i
    env["rack.showstatus.detail"] = "detail <of> it" if env["QUERY_STRING"] == "detail"
    [code, { "content-type" => "text/plain" }, env["QUERY_STRING"] == "body" ? ["own body"] : []]
  }
end

map "/bare" do
  run FAIL
end
