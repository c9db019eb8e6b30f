# Answers the requests of one application on the Ruby that runs this: `ruby control.rb APP.ru CONFIG.RU`, a line of JSON
# for each. Used by compare.rb.

# The json of Ruby 3.3, as on the embedded interpreter: json 3 takes other arguments than some of these gems give.
begin
  gem "json", "< 3"
rescue Gem::LoadError
  nil
end
require "json"
require "rack"
require "rack/mock_request"
require_relative "asked"

out = $stdout.dup
$stdout = $stderr
app = Rack::Builder.parse_file(ARGV.fetch(1))
app = app.first if app.is_a?(Array)
Asked.new(ARGV.fetch(0)).requests.each do |asked|
  env = Rack::MockRequest.env_for("http://gems.example#{asked.path}", method: asked.verb, input: asked.body.to_s,
                                  "SERVER_PROTOCOL" => "HTTP/1.1", "REMOTE_ADDR" => "127.0.0.1")
  asked.headers.each do |name, value|
    env[name == "content-type" ? "CONTENT_TYPE" : "HTTP_#{name.upcase.tr("-", "_")}"] = value
  end
  env.delete("CONTENT_LENGTH") unless asked.body
  status, headers, body = app.call(env)
  text = +"".b
  take = ->(part) { text << part.to_s.b }
  body.respond_to?(:each) ? body.each(&take) : body.call(Class.new { define_method(:write, &take) }.new)
  body.close if body.respond_to?(:close)
  fields = headers.to_h do |name, value|
    [name.downcase, Array(value).flat_map { |one| one.to_s.split("\n") }.join(", ")]
  end
  out.puts JSON.generate([status.to_i, fields.sort.to_h, [text].pack("m0")])
  out.flush
rescue Exception => error # What ends the application ends the request.
  out.puts JSON.generate([500, {}, ["#{error.class}: #{error.message} #{error.backtrace.first}"].pack("m0")])
end
