# One path for each thing that a case asks of an application. For every server and for the embedded engine.

require_relative "version" if File.exist?(File.join(__dir__, "version.rb"))
RELEASE ||= "none"
BACKEND = ENV["BACKEND"] && TCPSocket.new("127.0.0.1", Integer(ENV["BACKEND"]))
LOCK = Mutex.new
TEXT = { "content-type" => "text/plain" }.freeze
HANDSHAKE = { "upgrade" => "websocket", "connection" => "Upgrade",
              "sec-websocket-accept" => "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" }.freeze

# What the backend echoes: every request must get its own word back.
def echo(word)
  LOCK.synchronize do
    BACKEND.write("#{word}\n")
    BACKEND.gets.to_s.chomp
  end
end

# Reads until the client, or the server, ends the connection.
def hold(io)
  Thread.new do
    io.readpartial(100) while true
  rescue IOError, SystemCallError
    io.close
  end
end

def upgrade(env)
  return [501, TEXT.dup, ["no hijacking"]] unless env["rack.hijack"]
  return [101, HANDSHAKE.merge("rack.hijack" => ->(io) { hold(io) }), []] if env["QUERY_STRING"] == "partial"

  io = env["rack.hijack"].call || env["rack.hijack_io"]
  io.write("HTTP/1.1 101 Switching Protocols\r\n#{HANDSHAKE.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n")
  hold(io)
  [200, {}, []]
end

run lambda { |env|
  case env["PATH_INFO"]
  when "/large" then [200, TEXT.dup, Array.new(20) { "x" * 1_000_000 }]
  when "/echo" then [200, TEXT.dup, [echo(env["QUERY_STRING"])]]
  when "/sleep"
    sleep Float(env["QUERY_STRING"])
    [200, TEXT.dup, ["slept"]]
  when "/die" then Process.kill(:KILL, Process.pid)
  when "/socket" then upgrade(env)
  when "/release" then [200, TEXT.dup, [RELEASE]]
  when "/stdin" then [200, TEXT.dup, [$stdin.tty? ? "a terminal" : "no terminal"]]
  when "/hints"
    hint = env["rack.early_hints"]
    hint&.call({ "link" => "</style.css>; rel=preload" })
    [200, TEXT.dup, [hint ? "offered" : "not offered"]]
  else [200, TEXT.dup, ["fine"]]
  end
}
