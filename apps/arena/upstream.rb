# The upstream that /feed reads: ten items in JSON, after a delay like that of a network.
#   ruby upstream.rb [PORT]
# Without PORT it listens where FEED_URL says; 0 takes a free one. The first line of output tells the address.

require "json"
require "socket"
require "uri"

STDOUT.sync = true
url = URI(ENV["FEED_URL"] || "http://127.0.0.1:9510/feed")
abort "upstream.rb: FEED_URL is #{url}: give one such as http://127.0.0.1:9510/feed" unless url.instance_of?(URI::HTTP)
path = url.request_uri[/[^?]*/]
words = ARGV[0] || url.port.to_s
abort "upstream.rb: #{words.inspect} is no port: give a number from 0 to 65535" unless
  words.match?(/\A[0-9]+\z/) && words.to_i <= 65_535

items = (1..10).map do |number|
  { title: "News <#{number}> of gold & pyrite", link: "http://example.com/news/#{number}", author: "Author #{number}",
    published: format("2024-01-%02dT12:00:00Z", number), summary: "What there is to know about vein #{number}. " * 4 }
end
BODY = JSON.generate(title: "News of the mine", items: items)

# Seconds: 50 ms, and a jitter that is mostly small and sometimes large, 10 ms in the mean.
def delay
  0.050 + [-Math.log(1.0 - rand) * 0.010, 0.100].min
end

def answer(status, type, body)
  "HTTP/1.1 #{status}\r\ncontent-type: #{type}\r\ncontent-length: #{body.bytesize}\r\nconnection: close\r\n\r\n#{body}"
end

# One request for each connection: its head is read to the end, then it waits, then it is answered.
def serve(client, path)
  asked = client.gets("\r\n", 8192).to_s.split[1].to_s
  nil until ["\r\n", nil].include?(client.gets("\r\n", 8192))
  sleep delay
  found = asked.split("?").first == path
  client.write(found ? answer("200 OK", "application/json", BODY) :
    answer("404 Not Found", "text/plain", "ask for #{path}\n"))
rescue SystemCallError, IOError
  nil # The client is gone: nobody to tell.
ensure
  client.close
end

begin
  server = TCPServer.new(url.host, words.to_i)
rescue SystemCallError, SocketError => error
  abort "upstream.rb: cannot listen on #{url.host}:#{words} (#{error.message}): give another port, or 0 for a free one"
end
%w[INT TERM].each { |signal| trap(signal) { exit!(0) } }
puts "upstream: http://#{url.host}:#{server.addr[1]}#{path}"
loop { Thread.new(server.accept) { |client| serve(client, path) } }
