# A small server for Rack applications that makes requests wait in a known place:  ruby rack.rb PORT KIND RACKUP
#   alone    one connection after the other: the others are in the accept queue
#   locked   a thread for each connection, and one of them at a time in the application
#   threads  a thread for each connection
#   liar     the same; where another file than the application's own is served, one answer in ten is wrong
#   stays    the same; where another file than the application's own is served, it does not end when it should
require "socket"

Process.setproctitle("rack worker #{ARGV[1]}")
Signal.trap("TERM") { exit! 0 unless ARGV[1] == "stays" && !OWN }

# Understands `use` and `run`.
class Builder
  def initialize
    @middlewares = []
  end

  def use(kind)
    @middlewares << kind
  end

  def run(app)
    @app = app
  end

  def to_app
    @middlewares.reverse.inject(@app) { |app, kind| kind.new(app) }
  end
end

port, kind, rackup = ARGV
builder = Builder.new
builder.instance_eval(File.read(rackup), rackup)
APP = builder.to_app
ONE = Mutex.new
OWN = File.read(rackup).include?("[ANSWER]")
$answers = 0

def answer(client, kind)
  path = client.gets.to_s.split[1]
  nil until client.gets.to_s.strip.empty?
  env = { "PATH_INFO" => path, "REQUEST_METHOD" => "GET" }
  status, headers, body = kind == "locked" ? ONE.synchronize { APP.call(env) } : APP.call(env)
  body = body.to_a.join
  body = "wrong\n" if kind == "liar" && !OWN && ONE.synchronize { $answers += 1 } % 10 == 0
  headers = headers.merge("content-length" => body.bytesize, "connection" => "close")
  client.write("HTTP/1.1 #{status} OK\r\n#{headers.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n#{body}")
rescue SystemCallError
  nil
ensure
  client.close
end

server = TCPServer.new("127.0.0.1", Integer(port))
server.listen(64)
loop do
  client = server.accept
  kind == "alone" ? answer(client, kind) : Thread.new { answer(client, kind) }
end
