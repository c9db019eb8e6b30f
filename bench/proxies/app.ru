# The application of bin/proxies: environment, uploads, events, WebSockets, and echoes.

require "digest"
require "json"

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# The client creates a file here when it has received the first event.
FOLDER = ENV.fetch("PROXIES_FOLDER")

def text(words)
  [200, { "content-type" => "text/plain" }, [words]]
end

# Sends the second event when the client has received the first one, or `late` if it never does.
def events(name)
  body = Enumerator.new do |out|
    out << "data: first\n\n"
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
    seen = false
    until seen || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      seen = File.exist?(File.join(FOLDER, name))
      sleep 0.01
    end
    out << "data: #{seen ? "second" : "late"}\n\n"
  end
  [200, { "content-type" => "text/event-stream", "cache-control" => "no-cache" }, body]
end

# Echoes each short text message until the client is gone.
def websocket(env)
  io = env["rack.hijack"].call
  accept = [Digest::SHA1.digest(env["HTTP_SEC_WEBSOCKET_KEY"] + GUID)].pack("m0")
  io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
           "Sec-WebSocket-Accept: #{accept}\r\n\r\n")
  Thread.new do
    while (head = io.read(2))
      length = head.getbyte(1) & 127
      mask = io.read(4).bytes
      bytes = io.read(length).bytes.each_with_index.map { |byte, at| byte ^ mask[at % 4] }
      io.write([0x81, bytes.size, *bytes].pack("C*"))
      io.flush
    end
  rescue SystemCallError, NoMethodError
    nil
  ensure
    io.close
  end
  [-1, {}, []]
end

run(lambda do |env|
  case env["PATH_INFO"]
  when "/echo" then text(env["REQUEST_METHOD"] == "POST" ? env["rack.input"].read : env["QUERY_STRING"])
  when "/upload" then text(Digest::SHA256.hexdigest(env["rack.input"].read))
  when "/events" then events(env["QUERY_STRING"])
  when "/websocket" then websocket(env)
  when "/sleep" then sleep
  else text(JSON.generate(env.select { |_, value| value.is_a?(String) }))
  end
end)
