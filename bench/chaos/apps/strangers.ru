# Behaviour of users' applications: a connection opened while they are loaded, code that ends its worker, hijacked
# WebSockets, requests that hold their thread, orphans, large bodies.

# `Digest::SHA1` would load this at its first use, which fails in Ruby 3.1 if two threads do it at once.
require "digest/sha1"
require "socket"

UPSTREAM = TCPSocket.new("127.0.0.1", Integer(ENV.fetch("UPSTREAM"))) if ENV["UPSTREAM"]
LOCK = Mutex.new
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

def text(words)
  [200, { "content-type" => "text/plain" }, [words]]
end

# Sends a line to the upstream on the shared connection and returns its response.
def asked(words)
  LOCK.synchronize do
    UPSTREAM.write("#{words}\n")
    UPSTREAM.gets
  end
end

# Leaves two orphans, which exit a little later; one of them has a session of its own.
def orphans
  system("(sleep 0.3) & (setsid sleep 0.5 &)")
  text("orphans\n")
end

def websocket(env)
  io = env["rack.hijack"].call
  accept = [Digest::SHA1.digest(env["HTTP_SEC_WEBSOCKET_KEY"] + GUID)].pack("m0")
  io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
           "Sec-WebSocket-Accept: #{accept}\r\n\r\n")
  Thread.new do
    # Sends messages until the client is gone.
    loop do
      io.write("\x81\x04tick".b)
      break unless IO.select([io], nil, nil, 0.05).nil?
    end
    io.read
  rescue SystemCallError
    nil
  ensure
    io.close
  end
  [-1, {}, []]
end

run(lambda do |env|
  case env["PATH_INFO"]
  when "/ask" then text(asked(env["QUERY_STRING"]))
  when "/exit" then exit!(1)
  when "/segv" then Process.kill(:SEGV, Process.pid) && sleep
  when "/hold" then sleep(env["QUERY_STRING"].to_f) && text("held\n")
  when "/orphans" then orphans
  when "/length" then text("#{env["rack.input"].read.bytesize}\n")
  when "/websocket" then websocket(env)
  else
    sleep 0.002
    text("short\n")
  end
end)
