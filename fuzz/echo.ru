# The application of the target `interpreter`: gives every byte of a request to all that reads bytes, and answers with
# a summary as JSON. What bad input may raise is rescued by its name; anything else is a finding.

require "json"
require "stringio"
require "securerandom"
require "time"

# Each way of reading must see the same bytes.
def read_all_ways(input)
  whole = input.read
  input.rewind
  lines = []
  input.each { |line| lines << line }
  input.rewind
  pieces = []
  while (piece = input.read(7))
    pieces << piece
  end
  input.rewind
  first = input.gets
  rest = input.read
  raise "each lost bytes" unless lines.join == whole
  raise "read(7) lost bytes" unless pieces.join == whole
  raise "gets lost bytes" unless "#{first}#{rest}" == whole
  whole
end

# What was parsed must come back from what is generated of it.
def json_there_and_back(text)
  value = JSON.parse(text)
  again = JSON.generate(value)
  raise "JSON changed: #{again}" unless JSON.generate(JSON.parse(again)) == again
  value.class.name
rescue JSON::JSONError => error
  error.class.name
end

def text_there_and_back(text)
  url = URI.decode_www_form_component(URI.encode_www_form_component(text))
  # Decoded it is UTF-8, and a body is binary: the same bytes are not the same text then.
  raise "URL escaping changed the text" unless url.b == text.b
  html = CGI.unescapeHTML(CGI.escapeHTML(text))
  raise "HTML escaping changed the text" unless html == text
  pairs = URI.decode_www_form(text)
  pairs.length + CGI.unescape(text).length
rescue ArgumentError => error
  error.class.name
end

def store_there_and_back(key, value)
  FoolsGold.store.set(key, value, ttl: 1)
  kept = FoolsGold.store.get(key)
  raise "the store changed a value" unless kept.nil? || kept == value
end

def string_io(text)
  io = StringIO.new(text.dup)
  first = io.getc
  io.ungetc(first) if first
  io.read(3)
  io.write(text)
  io.pos = 1
  io.gets
  io.rewind
  io.each_line { |line| line.chomp }
end

def date(text)
  Time.httpdate(text).httpdate
rescue ArgumentError => error
  error.class.name
end

run lambda { |env|
  shown = env.inspect.length
  body = read_all_ways(env["rack.input"])
  answer = { "env" => shown, "body" => body.length, "json" => json_there_and_back(body) }
  [body, env["QUERY_STRING"], env["PATH_INFO"]].each do |text|
    text_there_and_back(text)
    [text.inspect, text.to_f.to_s, text.to_i, text.to_sym.inspect, text.upcase, text.reverse].each(&:to_s)
    text.split(",").map(&:strip).sort
  end
  store_there_and_back(body[0, 8].to_s, [body, { body => 1.5 }])
  string_io(body)
  answer["date"] = date(env["HTTP_DATE"].to_s)
  [200, { "content-type" => "application/json" }, [JSON.generate(answer)]]
}
